//! `FileSource`: the documents of files, one file after another.
//!
//! A file is opened when it is reached, but all paths are checked at the start, so that a wrong
//! path is found before hours of work. The content decides about compression and byte order marks;
//! the caller or the suffix decides the format.
//!
//! A part of a file is cut between its units, see `UnitStarts`. It is read as the same bytes of the
//! whole file are, which for a table needs its header.
//!
//! A UTF-8 byte order mark at the start of a file is removed and counted (Hugging Face's trainer
//! keeps it as a character of the text). UTF-16 and UTF-32 are refused by name.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::block::Division;
use super::compression::Compression;
use super::input_file::{InputFile, OpeningInput, REMOTE_AHEAD_BYTES, is_remote, url_of};
use super::pipe::Pipe;
#[cfg(feature = "train")]
use super::plan::cuts_of;
use super::stream::{Cut, Stream};
use super::table::{DelimitedTable, Header};
use super::unit_starts::{UnitEnd, UnitStarts};
use super::{
    BLOCK_BYTES, Block, ByteRange, FileVersion, Format, InvalidUtf8, MAX_LINE_BYTES, Meter,
    REMOTE_BLOCK_BYTES, Shard, Source,
};
use crate::corpus::file_sniffing;
use crate::error::{Error, Result};
use crate::pipeline::Pipeline;
#[cfg(feature = "train")]
use crate::progress::Progress;

/// Options for reading files.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileOptions {
    /// How files are divided; `None` means by suffix, see [`Format::of_path`].
    pub format: Option<Format>,
    /// How to treat bytes that are not UTF-8.
    pub invalid_utf8: InvalidUtf8,
    /// Read only this part of the corpus.
    pub shard: Option<Shard>,
    /// Read only the units that begin in these bytes.
    pub byte_range: Option<ByteRange>,
    /// The approximate size of a block in bytes.
    pub block_bytes: usize,
    /// The maximum length of a line, row, or document of unknown size; longer ones are an error.
    /// Does not apply to lines that can be read in parts, see [`Source::cut_for`].
    pub max_line_bytes: usize,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self {
            format: None,
            invalid_utf8: InvalidUtf8::default(),
            shard: None,
            byte_range: None,
            block_bytes: BLOCK_BYTES,
            max_line_bytes: MAX_LINE_BYTES,
        }
    }
}

/// One file to read.
#[derive(Clone)]
pub(super) struct Input {
    pub path: PathBuf,
    pub format: Format,
    /// Whether the caller named the format; otherwise it follows from the suffix.
    is_named: bool,
    /// The size in bytes, as stored; `None` for standard input and other pipes, and if a server does
    /// not send it.
    pub size: Option<u64>,
    /// The bytes to read, counted from the start of the file.
    range: std::ops::Range<u64>,
    /// Whether units begin at both ends of the range.
    is_aligned: bool,
    /// The expected version of the file.
    version: Option<FileVersion>,
}

/// The units that no cut of a file divides.
pub(super) enum Units<'a> {
    /// Nothing: the file is a single unit.
    Whole,
    Lines,
    Rows {
        delimiter: u8,
        column: &'a str,
    },
}

impl<'a> Units<'a> {
    /// The units of a file that is not compressed.
    fn of(format: &'a Format) -> Self {
        match format {
            Format::Text => Self::Whole,
            Format::Lines | Format::Jsonl { .. } => Self::Lines,
            Format::Csv { column } => Self::Rows { delimiter: b',', column },
            Format::Tsv { column } => Self::Rows { delimiter: b'\t', column },
        }
    }
}

impl Input {
    /// Whether the range leaves out bytes of the file.
    fn is_part(&self) -> bool {
        self.range.start > 0 || self.range.end < self.size.unwrap_or(0)
    }

    /// How many bytes of the file are read; 0 if its size is not known.
    fn n_bytes(&self) -> u64 {
        self.range.end.min(self.size.unwrap_or(0)).saturating_sub(self.range.start)
    }

    /// How many bytes of a remote file are read at a time at first: few if reading begins elsewhere.
    fn first_bytes(&self) -> usize {
        if self.range.start == 0 { REMOTE_BLOCK_BYTES } else { LOOK_BYTES }
    }

    /// Checks that the file, which is `now`, still is what it must be.
    fn check(&self, now: std::io::Result<FileVersion>) -> Result<()> {
        let Some(version) = &self.version else { return Ok(()) };
        version.check(&self.path, &now.map_err(|error| Error::io(&self.path, error))?)
    }
}

enum Current {
    Stream(Stream),
    Table(Box<DelimitedTable>),
}

/// The documents of files; `-` is standard input.
pub struct FileSource {
    /// The files still to read, the next one last.
    inputs: Vec<Input>,
    /// All paths, also of files outside the shard, with their sizes.
    files: Vec<(PathBuf, Option<u64>)>,
    current: Option<(Current, Place)>,
    /// The file that is being read, which may have to stay the same meanwhile.
    watched: Option<Input>,
    /// The value of the meter at the end of the file that is being read.
    end: u64,
    /// The next files, which are being opened: the first belongs to the last of `inputs`.
    opening: VecDeque<OpeningInput>,
    options: FileOptions,
    meter: Arc<Meter>,
    cut: Option<Box<Cut>>,
    /// Asks the source to end after the current input.
    pause: Arc<AtomicBool>,
}

impl FileSource {
    /// A source for `paths`.
    ///
    /// # Errors
    /// [`Error::Io`] for a path that cannot be read or is a directory, [`Error::Option`] for a
    /// table without a named column, for a part of a pipe, or for a line limit of 0, and
    /// [`Error::Format`] for a file that changed since its range was planned.
    pub fn new<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>, options: FileOptions) -> Result<Self> {
        if options.max_line_bytes == 0 {
            return Err(Error::Option {
                option: "max_line_bytes",
                value: "0".to_owned(),
                reason: "a line has at least one byte".to_owned(),
            });
        }
        let versions = options.byte_range.as_ref().map_or(&[][..], |range| &range.versions);
        let (mut inputs, mut total) = inputs_of(paths, options.format.as_ref(), versions)?;
        let files = inputs.iter().map(|input| (input.path.clone(), input.size)).collect();
        let is_aligned = options.byte_range.as_ref().is_some_and(|range| range.aligned);
        inputs.iter_mut().for_each(|input| input.is_aligned = is_aligned);
        let range = match (options.shard, &options.byte_range) {
            (Some(_), Some(_)) => {
                return Err(Error::Option {
                    option: "shard",
                    value: "given".to_owned(),
                    reason: "the files are part of a corpus already; give one of both".to_owned(),
                });
            }
            (Some(shard), None) => Some(shard.range(total)),
            (None, range) => range.as_ref().map(|range| range.within(total)),
        };
        if let Some(mine) = range {
            if let Some(pipe) = inputs.iter().find(|input| input.size.is_none()) {
                return Err(pipe_in_parts(&pipe.path));
            }
            for input in &mut inputs {
                let start = input.range.start;
                // Both ends become offsets in the file. A file without bytes in the shard gets an
                // empty range.
                input.range = mine.start.saturating_sub(start)..mine.end.saturating_sub(start);
            }
            inputs.retain(|input| {
                let size = input.size.unwrap_or(0);
                !input.range.is_empty() && (input.range.start < size || (size == 0 && input.range.start == 0))
            });
            total = mine.end.min(total).saturating_sub(mine.start);
        } else {
            inputs.iter_mut().for_each(|input| input.range = 0..u64::MAX);
        }
        inputs.reverse();
        let meter = Arc::new(Meter::new(total));
        let pause = Arc::default();
        let (end, opening) = (0, VecDeque::new());
        Ok(Self {
            inputs,
            files,
            current: None,
            watched: None,
            end,
            opening,
            options,
            meter,
            cut: None,
            pause,
        })
    }

    /// Cuts files as [`cut_file`](super::cut_file) does into inputs of about `bytes`, between which
    /// reading can pause.
    #[cfg(feature = "train")]
    pub(crate) fn cut_into(&mut self, bytes: u64, progress: &mut Progress<'_>) -> Result<()> {
        for input in std::mem::take(&mut self.inputs).into_iter().rev() {
            let (size, range) = (input.size.unwrap_or(0), input.range.clone());
            let cuts = cuts_of(&input, size, bytes, self.options.max_line_bytes, progress)?;
            // Units begin at cuts and at the start of a file; at the ends of a range they may not.
            let mut start = (range.start, input.is_aligned || range.start == 0);
            let last = (range.end, input.is_aligned || range.end >= size);
            let inside = cuts.into_iter().filter(|cut| *cut > range.start && *cut < range.end);
            for stop in inside.map(|cut| (cut, true)).chain([last]) {
                let (range, is_aligned) = (start.0..stop.0, start.1 && stop.1);
                self.inputs.push(Input { range, is_aligned, ..input.clone() });
                start = stop;
            }
        }
        self.inputs.reverse();
        Ok(())
    }

    /// The number of inputs that are not read yet.
    #[cfg(feature = "train")]
    pub(crate) fn n_left(&self) -> u64 {
        self.inputs.len() as u64
    }

    /// Passes over the next `n` inputs, which were read before.
    #[cfg(feature = "train")]
    pub(crate) fn skip(&mut self, n: u64) {
        for _ in 0..n {
            let Some(input) = self.inputs.pop() else { return };
            self.meter.advance(input.n_bytes() as usize);
        }
    }

    /// A flag that asks the source to end after the current input. It continues when it is filled
    /// again.
    #[cfg(feature = "train")]
    pub(crate) fn pause(&self) -> Arc<AtomicBool> {
        self.pause.clone()
    }

    /// Begins to open files that will be read soon, if they are remote.
    fn look_ahead(&mut self) {
        let mut bytes = self.end.saturating_sub(self.meter.done());
        let n_opening = self.opening.len();
        for (number, input) in self.inputs.iter().rev().enumerate() {
            if bytes >= REMOTE_AHEAD_BYTES || url_of(&input.path).is_none() {
                return;
            }
            if number >= n_opening {
                // If this fails, so does opening the file when it is reached.
                let Ok(opening) = OpeningInput::new(&input.path, input.first_bytes()) else { return };
                self.opening.push_back(opening);
            }
            // Each file costs requests, so of short ones only some are opened.
            bytes += input.n_bytes().clamp(REMOTE_AHEAD_BYTES / 8, REMOTE_BLOCK_BYTES as u64);
        }
    }

    /// Opens a file; `None` if no unit of it is in the range.
    fn open(&self, input: &Input, opening: Option<OpeningInput>) -> Result<Option<(Current, Place)>> {
        let path = &input.path;
        let metered = |reader| Metered { reader, meter: self.meter.clone() };
        let mut place = Place { path: path.clone(), compression: None };
        let is_file = input.size.is_some() || url_of(path).is_some();
        let (start, reader): (Vec<u8>, Box<dyn Read + Send>) = if is_file {
            let io = |error| Error::io(path, error);
            let opening = opening.map_or_else(|| OpeningInput::new(path, input.first_bytes()), Ok);
            let mut file = opening.and_then(|opening| opening.opened(path, &self.meter)).map_err(io)?;
            input.check(file.version())?;
            let start = peek(&mut file).map_err(|error| place.error(&self.meter, error))?;
            place.compression = Compression::of(path, &start)?;
            let units = if place.compression.is_some() { Units::Whole } else { Units::of(&input.format) };
            match units {
                Units::Lines => {
                    return self
                        .open_lines(input, file, &start)
                        .map(|stream| stream.map(|stream| (Current::Stream(stream), place)));
                }
                Units::Rows { delimiter, column } if input.is_part() => {
                    return self
                        .open_rows(input, file, &start, delimiter, column)
                        .map(|table| table.map(|table| (Current::Table(Box::new(table)), place)));
                }
                // The file is a single unit, which begins before the range.
                Units::Whole if input.range.start > 0 => return Ok(None),
                Units::Whole | Units::Rows { .. } => {}
            }
            (start, Box::new(metered(Box::new(file))))
        } else {
            let pipe = if path == Path::new("-") {
                Pipe::new(|| Ok(std::io::stdin()), self.meter.clone())
            } else {
                let path = path.clone();
                Pipe::new(move || File::open(&path), self.meter.clone())
            };
            let mut pipe = pipe.map_err(|error| Error::io(path, error))?;
            let start = peek(&mut pipe).map_err(|error| place.error(&self.meter, error))?;
            place.compression = Compression::of(path, &start)?;
            (start, Box::new(metered(Box::new(pipe))))
        };
        let mut reader: Box<dyn Read + Send> = Box::new(Cursor::new(start).chain(reader));
        if let Some(compression) = place.compression {
            reader = compression.decoder(path, reader)?;
        }
        let mut start = peek(&mut reader).map_err(|error| place.error(&self.meter, error))?;
        let marks = text_start(input, &mut start)?;
        let offset = marks * BOM.len() as u64;
        let current = match (Units::of(&input.format), &input.format) {
            (Units::Rows { delimiter, column }, _) => {
                let reader: Box<dyn Read + Send> = Box::new(Cursor::new(start).chain(reader));
                let limit = self.options.max_line_bytes;
                let header = Header::read(path, reader, delimiter, column, limit, offset, |error| {
                    place.error(&self.meter, error)
                })?;
                let mut table = DelimitedTable::whole(path, header, limit);
                table.byte_order_marks = marks;
                Current::Table(Box::new(table))
            }
            (_, format) => {
                let mut stream = self.stream(reader, path, format, offset, None);
                stream.carry = start;
                stream.byte_order_marks = marks;
                if let (Format::Text, Some(size), None) = (format, input.size, place.compression) {
                    // A regular file may be read whole, because its size is known.
                    stream.max_line_bytes = stream.max_line_bytes.max(size as usize);
                }
                Current::Stream(stream)
            }
        };
        Ok(Some((current, place)))
    }

    /// The bytes of the units that begin in the range of a file, whose first unit begins at
    /// `first`; `None` if there are none.
    fn unit_bytes(
        &self,
        input: &Input,
        file: &mut InputFile,
        end: UnitEnd,
        first: u64,
    ) -> Result<Option<std::ops::Range<u64>>> {
        let std::ops::Range { start, end: stop } = input.range;
        // A file may grow while it is read; a range that reaches its end includes the new bytes.
        let reaches_end = stop >= input.size.unwrap_or(0);
        let bytes = if input.is_aligned {
            let stop = if reaches_end { u64::MAX } else { stop };
            file.set_block_bytes(REMOTE_BLOCK_BYTES);
            file.set_end(stop);
            check_aligned(&input.path, file, end, start)?;
            start.max(first)..stop
        } else {
            let check = |_| self.meter.check();
            file.set_block_bytes(end.search_bytes());
            let mut starts = UnitStarts::new(&input.path, &mut *file, end, first);
            let from = starts.at_or_after(start, check)?;
            from..if reaches_end { u64::MAX } else { starts.at_or_after(stop, check)? }
        };
        file.set_block_bytes(REMOTE_BLOCK_BYTES);
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    /// Opens the part of a plain file of lines that is in the range.
    fn open_lines(&self, input: &Input, mut file: InputFile, start: &[u8]) -> Result<Option<Stream>> {
        let path = &input.path;
        let mark = text_start(input, &mut start.to_vec())?;
        let io = |error| Error::io(path, error);
        let Some(std::ops::Range { start: mut from, end: limit }) =
            self.unit_bytes(input, &mut file, UnitEnd::Line, 0)?
        else {
            return Ok(None);
        };
        let skipped = (from > 0).then(|| (path.clone(), from));
        let marks = if from == 0 { mark } else { 0 };
        from += marks * BOM.len() as u64;
        file.seek(SeekFrom::Start(from)).map_err(io)?;
        let reader = Metered { reader: file.until(limit).map_err(io)?, meter: self.meter.clone() };
        let mut stream = self.stream(Box::new(reader), path, &input.format, from, skipped);
        stream.byte_order_marks = marks;
        Ok(Some(stream))
    }

    /// Opens the rows of a plain table that are in the range.
    fn open_rows(
        &self,
        input: &Input,
        mut file: InputFile,
        start: &[u8],
        delimiter: u8,
        column: &str,
    ) -> Result<Option<DelimitedTable>> {
        let path = &input.path;
        let io = |error| Error::io(path, error);
        let marks = text_start(input, &mut start.to_vec())?;
        let header = read_header(input, &mut file, marks, delimiter, column, self.options.max_line_bytes)?;
        // The mark is counted where the file begins, even if no row begins there.
        let marks = if input.range.start == 0 { marks } else { 0 };
        let bytes = match self.unit_bytes(input, &mut file, UnitEnd::Row(header.dialect), header.end)? {
            Some(bytes) => bytes,
            None if marks > 0 => header.end..header.end,
            None => return Ok(None),
        };
        file.seek(SeekFrom::Start(bytes.start)).map_err(io)?;
        let reader = Metered { reader: file.until(bytes.end).map_err(io)?, meter: self.meter.clone() };
        let limit = self.options.max_line_bytes;
        let mut table = DelimitedTable::part(path, header, Box::new(reader), limit, bytes.start);
        table.byte_order_marks = marks;
        Ok(Some(table))
    }

    fn stream(
        &self,
        reader: Box<dyn Read + Send>,
        path: &Path,
        format: &Format,
        offset: u64,
        skipped: Option<(PathBuf, u64)>,
    ) -> Stream {
        let division = match format {
            Format::Jsonl { field } => Division::Jsonl(field.as_str().into()),
            Format::Text => Division::Whole,
            _ => Division::Lines,
        };
        let name = path.display().to_string().into();
        let mut stream = Stream::new(reader, division, name, offset, skipped, self.options.invalid_utf8);
        stream.max_line_bytes = self.options.max_line_bytes;
        stream
    }
}

impl Source for FileSource {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        loop {
            self.meter.check()?;
            self.look_ahead();
            let Some((current, place)) = &mut self.current else {
                let Some(input) = self.inputs.pop() else { return Ok(false) };
                let opening = self.opening.pop_front();
                self.end = self.meter.done() + input.n_bytes();
                self.current = self.open(&input, opening)?;
                self.watched = Some(input);
                continue;
            };
            let io = |error| place.error(&self.meter, error);
            let (invalid_utf8, block_bytes) = (self.options.invalid_utf8, self.options.block_bytes);
            let more = match current {
                Current::Stream(stream) => {
                    stream.fill(block, block_bytes, self.cut.as_deref(), &self.meter, io)?
                }
                Current::Table(table) => table.fill(block, invalid_utf8, block_bytes, io)?,
            };
            if more {
                return Ok(true);
            }
            self.current = None;
            if let Some(input) = self.watched.take() {
                // The reader of a remote file does this itself.
                if url_of(&input.path).is_none() {
                    input.check(std::fs::metadata(&input.path).map(|found| FileVersion::of(&found)))?;
                }
            }
            if self.pause.load(Ordering::Relaxed) {
                return Ok(false);
            }
        }
    }

    fn meter(&self) -> Arc<Meter> {
        self.meter.clone()
    }

    fn n_sources(&self) -> usize {
        self.files.len()
    }

    fn corpus_bytes(&self) -> Result<u64> {
        let mut total = 0;
        for (path, size) in &self.files {
            let size = size.ok_or_else(|| super::unknown_size(&format!("{} is a pipe", path.display())))?;
            let start = InputFile::open(path, LOOK_BYTES, &self.meter).and_then(|mut file| peek(&mut file));
            let start = start.map_err(|error| Error::io(path, error))?;
            if let Some(compression) = Compression::of(path, &start)? {
                let name = compression.name();
                return Err(super::unknown_size(&format!("{} is a {name} file", path.display())));
            }
            total += size;
        }
        Ok(total)
    }

    fn cut_for(&mut self, pipeline: &Pipeline) {
        // Nothing is proven with a normalizer, which may look at the whole document.
        if pipeline.normalizer.is_none() {
            let pre_tokenizer = pipeline.pre_tokenizer.clone();
            self.cut = Some(Box::new(move |text| super::stream::safe_cut(&pre_tokenizer, text)));
        }
    }
}

/// The context for an error of reading.
struct Place {
    path: PathBuf,
    compression: Option<Compression>,
}

impl Place {
    fn error(&self, meter: &Meter, error: std::io::Error) -> Error {
        match self.compression {
            _ if meter.is_stopped() => Error::Cancelled,
            // An error of the system has a number; an error of the decoder does not.
            Some(compression) if error.raw_os_error().is_none() && !is_remote(&error) => Error::format(
                self.path.display().to_string(),
                format!(
                    "damaged or truncated {} data ({error}); get the file again, or compress it again",
                    compression.name()
                ),
            ),
            _ => Error::io(&self.path, error),
        }
    }
}

/// A reader that counts its bytes.
struct Metered {
    reader: Box<dyn Read + Send>,
    meter: Arc<Meter>,
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.reader.read(buffer)?;
        self.meter.advance(n);
        Ok(n)
    }
}

/// The files of `paths`, whole, and the sum of their sizes. A file with a version must be that.
///
/// # Errors
/// [`Error::Io`] for a path that cannot be read or is a directory, [`Error::Option`] for a table
/// without a named column, [`Error::Format`] for a file that changed.
pub(super) fn inputs_of<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
    format: Option<&Format>,
    versions: &[FileVersion],
) -> Result<(Vec<Input>, u64)> {
    let paths: Vec<PathBuf> = paths.into_iter().map(|path| path.as_ref().to_path_buf()).collect();
    // Stores are asked for all sizes together.
    let unknown: Vec<&Path> = paths
        .iter()
        .skip(versions.len())
        .map(PathBuf::as_path)
        .filter(|path| url_of(path).is_some())
        .collect();
    let urls: Vec<&str> = unknown.iter().copied().filter_map(url_of).collect();
    let sizes = InputFile::remote_sizes(&urls).map_err(|error| Error::io(unknown[0], error))?;
    let mut sizes = sizes.into_iter();
    let mut total = 0u64;
    let mut inputs = Vec::new();
    for path in paths {
        let version = versions.get(inputs.len()).cloned();
        let size = match url_of(&path) {
            None => local_size(&path, version.as_ref())?,
            Some(_) => version.as_ref().map_or_else(|| sizes.next().flatten(), |version| Some(version.size)),
        };
        let start = total;
        total += size.unwrap_or(0);
        inputs.push(Input {
            format: format.cloned().map_or_else(|| Format::of_path(&path), Ok)?,
            is_named: format.is_some(),
            path,
            size,
            range: start..total,
            is_aligned: false,
            version,
        });
    }
    if !versions.is_empty() && versions.len() != inputs.len() {
        return Err(Error::Option {
            option: "versions",
            value: format!("{} versions", versions.len()),
            reason: format!("there is one for each file, and there are {} files", inputs.len()),
        });
    }
    Ok((inputs, total))
}

/// The error for a pipe, or a file of unknown size, of which a part is to be read.
pub(super) fn pipe_in_parts(path: &Path) -> Error {
    let reason = match url_of(path) {
        Some(_) => "its server does not send its size, so it cannot be sharded; download it",
        None => "a pipe cannot be sharded, as each process reads its own; write it to a file",
    };
    Error::Option { option: "shard", value: path.display().to_string(), reason: reason.to_owned() }
}

/// The size of a regular file, which must be of its version; `None` for a pipe.
fn local_size(path: &Path, version: Option<&FileVersion>) -> Result<Option<u64>> {
    if path == Path::new("-") {
        return Ok(None);
    }
    let metadata = std::fs::metadata(path).map_err(|error| Error::io(path, error))?;
    if metadata.is_dir() {
        let reason = "is a directory; name the files in it, such as DIR/*.txt";
        return Err(Error::io(path, std::io::Error::new(ErrorKind::IsADirectory, reason)));
    }
    if let Some(version) = version {
        version.check(path, &FileVersion::of(&metadata))?;
    }
    Ok(metadata.is_file().then_some(metadata.len()))
}

/// The first bytes, as many as are needed to recognise a file.
fn peek(reader: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    reader.take(file_sniffing::START_BYTES as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// Opens a regular file, and finds what it may be cut between: the end of a unit, and the start of
/// the first one. `None` if the file is a single unit.
pub(super) fn open_units(input: &Input, max_line_bytes: usize) -> Result<Option<(InputFile, UnitEnd, u64)>> {
    let path = &input.path;
    let io = |error| Error::io(path, error);
    let mut file = InputFile::open(path, LOOK_BYTES, &Arc::default()).map_err(io)?;
    let mut start = peek(&mut file).map_err(io)?;
    if Compression::of(path, &start)?.is_some() {
        return Ok(None);
    }
    let (end, first) = match Units::of(&input.format) {
        Units::Whole => return Ok(None),
        Units::Lines => {
            text_start(input, &mut start)?;
            (UnitEnd::Line, 0)
        }
        Units::Rows { delimiter, column } => {
            let marks = text_start(input, &mut start)?;
            let header = read_header(input, &mut file, marks, delimiter, column, max_line_bytes)?;
            (UnitEnd::Row(header.dialect), header.end)
        }
    };
    file.set_block_bytes(end.search_bytes());
    Ok(Some((file, end, first)))
}

/// Reads the header of a plain table that starts with this many byte order marks.
fn read_header(
    input: &Input,
    file: &mut InputFile,
    marks: u64,
    delimiter: u8,
    column: &str,
    max_line_bytes: usize,
) -> Result<Header> {
    let (path, offset) = (&input.path, marks * BOM.len() as u64);
    file.seek(SeekFrom::Start(offset)).map_err(|error| Error::io(path, error))?;
    let io = |error| Error::io(path, error);
    Header::read(path, file, delimiter, column, max_line_bytes, offset, io).map(|(header, _)| header)
}

/// Checks that `start`, where a planned range begins, is behind the end of a line or row.
fn check_aligned(path: &Path, file: &mut InputFile, end: UnitEnd, start: u64) -> Result<()> {
    let Some(before) = start.checked_sub(1) else { return Ok(()) };
    let io = |error| Error::io(path, error);
    file.seek(SeekFrom::Start(before)).map_err(io)?;
    let mut last = Vec::new();
    file.take(1).read_to_end(&mut last).map_err(io)?;
    match (end, last.as_slice()) {
        (_, b"\n") | (UnitEnd::Row(_), b"\r") => Ok(()),
        _ => Err(Error::format(
            path.display().to_string(),
            format!("no line or row begins at byte {start}, where a shard does; plan the shards again"),
        )),
    }
}

/// How many bytes of a remote file are read at a time to look at its start.
const LOOK_BYTES: usize = 1 << 16;

/// The UTF-8 byte order mark.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// Removes a UTF-8 byte order mark from `start` and refuses bytes that are not text. Returns how
/// many marks there were (0 or 1).
fn text_start(input: &Input, start: &mut Vec<u8>) -> Result<u64> {
    let marks = byte_order_mark(&input.path, start)?;
    match file_sniffing::lines(&input.path, start) {
        Some(error) if !input.is_named && input.format == Format::Lines => Err(error),
        _ => Ok(marks),
    }
}

/// Removes a UTF-8 byte order mark from `start`; returns how many there were (0 or 1).
fn byte_order_mark(path: &Path, start: &mut Vec<u8>) -> Result<u64> {
    let encoding = match start.as_slice() {
        [0xff, 0xfe, 0, 0, ..] => "UTF-32LE",
        [0, 0, 0xfe, 0xff, ..] => "UTF-32BE",
        [0xff, 0xfe, ..] => "UTF-16LE",
        [0xfe, 0xff, ..] => "UTF-16BE",
        [0xef, 0xbb, 0xbf, ..] => {
            start.drain(..BOM.len());
            return Ok(1);
        }
        start => return file_sniffing::table(path, start).map_or(Ok(0), Err),
    };
    let from = encoding.trim_end_matches("LE").trim_end_matches("BE");
    Err(Error::format(
        path.display().to_string(),
        format!(
            "its byte order mark says {encoding}; text must be UTF-8: iconv -f {from} -t UTF-8 FILE > NEW_FILE"
        ),
    ))
}
