//! `FileSource`: the documents of files, one file after another.
//!
//! A file is opened when it is reached, but all paths are checked at the start, so that a wrong
//! path is found before hours of work. The content decides about compression and byte order marks;
//! the caller or the suffix decides the format.
//!
//! A UTF-8 byte order mark at the start of a file is removed and counted (Hugging Face's trainer
//! keeps it as a character of the text). UTF-16 and UTF-32 are refused by name.

use std::fs::File;
use std::io::{Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::block::Division;
use super::compression::Compression;
use super::input_file::{InputFile, is_remote, url_of};
use super::pipe::Pipe;
use super::stream::{Cut, Stream};
use super::table::DelimitedTable;
use super::{BLOCK_BYTES, Block, Format, InvalidUtf8, MAX_LINE_BYTES, Meter, Shard, Source};
use crate::corpus::file_sniffing;
use crate::error::{Error, Result};
use crate::pipeline::Pipeline;

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
            block_bytes: BLOCK_BYTES,
            max_line_bytes: MAX_LINE_BYTES,
        }
    }
}

/// One file to read.
struct Input {
    path: PathBuf,
    format: Format,
    /// Whether the caller named the format; otherwise it follows from the suffix.
    is_named: bool,
    /// The size on disk in bytes; `None` for standard input and other pipes.
    size: Option<u64>,
    /// The bytes of the shard, counted from the start of the file.
    range: std::ops::Range<u64>,
}

enum Current {
    Stream(Stream),
    Table(Box<DelimitedTable>),
}

/// The documents of files; `-` is standard input.
pub struct FileSource {
    /// The files still to read, the next one last.
    inputs: Vec<Input>,
    n_files: usize,
    current: Option<(Current, Place)>,
    options: FileOptions,
    meter: Arc<Meter>,
    cut: Option<Box<Cut>>,
}

impl FileSource {
    /// A source for `paths`.
    ///
    /// # Errors
    /// [`Error::Io`] for a path that cannot be read or is a directory, [`Error::Option`] for a
    /// table without a named column, for a shard of a pipe, or for a line limit of 0.
    pub fn new<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>, options: FileOptions) -> Result<Self> {
        if options.max_line_bytes == 0 {
            return Err(Error::Option {
                option: "max_line_bytes",
                value: "0".to_owned(),
                reason: "a line has at least one byte".to_owned(),
            });
        }
        let mut inputs = Vec::new();
        let mut total = 0u64;
        for path in paths {
            let path = path.as_ref().to_path_buf();
            let format = options.format.clone().map_or_else(|| Format::of_path(&path), Ok)?;
            let size = size_of(&path)?;
            if size.is_none() && options.shard.is_some() {
                return Err(Error::Option {
                    option: "shard",
                    value: path.display().to_string(),
                    reason: "a pipe cannot be sharded, as each process reads its own; write it to a file"
                        .to_owned(),
                });
            }
            let start = total;
            total += size.unwrap_or(0);
            let is_named = options.format.is_some();
            inputs.push(Input { path, format, is_named, size, range: start..total });
        }
        let n_files = inputs.len();
        if let Some(shard) = options.shard {
            let mine = shard.range(total);
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
            total = mine.end.min(total) - mine.start;
        } else {
            inputs.iter_mut().for_each(|input| input.range = 0..u64::MAX);
        }
        inputs.reverse();
        Ok(Self { inputs, n_files, current: None, options, meter: Arc::new(Meter::new(total)), cut: None })
    }

    /// Opens a file; `None` if no part of it is in this shard.
    fn open(&self, input: &Input) -> Result<Option<(Current, Place)>> {
        let path = &input.path;
        let metered = |reader| Metered { reader, meter: self.meter.clone() };
        let mut place = Place { path: path.clone(), compression: None };
        let is_file = input.size.is_some() || url_of(path).is_some();
        let (start, reader): (Vec<u8>, Box<dyn Read + Send>) = if is_file {
            let mut file = InputFile::open(path, &self.meter).map_err(|error| Error::io(path, error))?;
            let start = peek(&mut file).map_err(|error| place.error(&self.meter, error))?;
            place.compression = Compression::of(path, &start)?;
            let lines = matches!(input.format, Format::Lines | Format::Jsonl { .. });
            if place.compression.is_none() && lines {
                return self
                    .open_lines(input, file, &start)
                    .map(|stream| stream.map(|stream| (Current::Stream(stream), place)));
            }
            if input.range.start > 0 {
                // The file is a single unit, which begins in an earlier shard.
                return Ok(None);
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
        let current = match &input.format {
            Format::Csv { column } | Format::Tsv { column } => {
                let delimiter = if matches!(input.format, Format::Csv { .. }) { b',' } else { b'\t' };
                let reader = Box::new(Cursor::new(start).chain(reader));
                let limit = self.options.max_line_bytes;
                let table =
                    DelimitedTable::open(path.clone(), reader, delimiter, column, limit, marks, |error| {
                        place.error(&self.meter, error)
                    })?;
                Current::Table(Box::new(table))
            }
            format => {
                let mut stream = self.stream(reader, path, format, marks * BOM.len() as u64, None);
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

    /// Opens the part of a plain file of lines that is in the shard.
    fn open_lines(&self, input: &Input, mut file: InputFile, start: &[u8]) -> Result<Option<Stream>> {
        let path = &input.path;
        let size = input.size.unwrap_or(0);
        let mark = text_start(input, &mut start.to_vec())?;
        let io = |error| Error::io(path, error);
        let mut from = line_start(&mut file, input.range.start).map_err(io)?;
        // A file may grow while it is read; without a shard all of it is read.
        let limit = if input.range.end >= size {
            u64::MAX
        } else {
            line_start(&mut file, input.range.end).map_err(io)?
        };
        let skipped = (from > 0).then(|| (path.clone(), from));
        let marks = if from == 0 { mark } else { 0 };
        from += marks * BOM.len() as u64;
        if from >= limit {
            return Ok(None);
        }
        file.seek(SeekFrom::Start(from)).map_err(io)?;
        let reader = Metered { reader: file.until(limit).map_err(io)?, meter: self.meter.clone() };
        let mut stream = self.stream(Box::new(reader), path, &input.format, from, skipped);
        stream.byte_order_marks = marks;
        Ok(Some(stream))
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
            let Some((current, place)) = &mut self.current else {
                let Some(input) = self.inputs.pop() else { return Ok(false) };
                self.current = self.open(&input)?;
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
        }
    }

    fn meter(&self) -> Arc<Meter> {
        self.meter.clone()
    }

    fn n_sources(&self) -> usize {
        self.n_files
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

/// The size of a regular file or of a file behind a URL; `None` for a pipe, or if it is not known.
fn size_of(path: &Path) -> Result<Option<u64>> {
    if path == Path::new("-") {
        return Ok(None);
    }
    if let Some(url) = url_of(path) {
        return InputFile::remote_size(url).map_err(|error| Error::io(path, error));
    }
    let metadata = std::fs::metadata(path).map_err(|error| Error::io(path, error))?;
    if metadata.is_dir() {
        let reason = "is a directory; name the files in it, such as DIR/*.txt";
        return Err(Error::io(path, std::io::Error::new(ErrorKind::IsADirectory, reason)));
    }
    Ok(metadata.is_file().then_some(metadata.len()))
}

/// The first bytes, as many as are needed to recognise a file.
fn peek(reader: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut start = Vec::new();
    reader.take(file_sniffing::START_BYTES as u64).read_to_end(&mut start)?;
    Ok(start)
}

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

/// The start of the first line that begins at or after `at`.
fn line_start(file: &mut InputFile, at: u64) -> std::io::Result<u64> {
    let Some(before) = at.checked_sub(1) else { return Ok(0) };
    file.seek(SeekFrom::Start(before))?;
    let (mut buffer, mut offset) = (vec![0; 1 << 16], before);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(u64::MAX),
            Ok(n) => match memchr::memchr(b'\n', &buffer[..n]) {
                Some(found) => return Ok(offset + found as u64 + 1),
                None => offset += n as u64,
            },
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
