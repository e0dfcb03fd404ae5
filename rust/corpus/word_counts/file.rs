//! Count files: readable, sorted, and merged in constant memory.
//!
//! The first line is `#sentitok-counts 1 ` and a JSON object with the pipeline and the totals. Then
//! one line `base64(piece) SP count` for each piece, in strictly ascending order of bytes. Equal
//! counts give equal bytes. The totals contain the sum of all counts, so a file that was truncated
//! between two lines is recognised.

use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;
#[cfg(feature = "train")]
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::run::{self, SortedRun, SpillWriter};
use super::sample::{self, Sample};
use super::{Totals, WordCounts};
use crate::atomic::{self, AtomicFile};
use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::pipeline::Pipeline;
use crate::progress::Progress;

/// The first bytes of a count file.
const MAGIC: &str = "#sentitok-counts ";
const VERSION: &str = "1";

/// The maximum length of a line: a piece of 192 MiB. It bounds memory for a damaged file.
const MAX_LINE: usize = 1 << 28;

/// The first line of a count file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Header {
    /// The pipeline that split the text.
    pub pipeline: Pipeline,
    /// Whether the last piece of each line is marked ([`super::CountOptions::line_ends`]).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub line_ends: bool,
    /// The samples of documents that were counted; none if every document was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
    /// The totals of the input and of the counts.
    pub totals: Totals,
}

impl Header {
    /// The header of counts without pieces.
    pub(super) fn new(pipeline: Pipeline) -> Self {
        Self { pipeline, line_ends: false, samples: Vec::new(), totals: Totals::default() }
    }

    /// The header of the sum of two counts, which are called `left` and `right` in errors.
    pub(super) fn add(&self, other: &Self, left: &str, right: &str) -> Result<Self> {
        let described = |header: &Self, name: &str| {
            let ends = if header.line_ends { " and line ends" } else { "" };
            let has = if name.is_empty() { "" } else { " has " };
            Ok::<_, Error>(format!("{name}{has}{}{ends}", header.pipeline.to_json()?))
        };
        // Nothing is known of the lines of counts from elsewhere.
        let knows_lines = self.totals.documents > 0 && other.totals.documents > 0;
        if self.pipeline.fingerprint()? != other.pipeline.fingerprint()?
            || (knows_lines && self.line_ends != other.line_ends)
        {
            let (left, right) = (described(self, left)?, described(other, right)?);
            return Err(Error::PipelineMismatch { left, right });
        }
        Ok(Self {
            pipeline: self.pipeline.clone(),
            line_ends: self.line_ends || other.line_ends,
            samples: sample::union(&self.samples, &other.samples),
            totals: self.totals.add(&other.totals)?,
        })
    }
}

/// Reads the header of a count file.
///
/// # Errors
/// [`Error::Io`], [`Error::Format`], [`Error::Version`].
pub fn read_header(path: &Path) -> Result<Header> {
    Ok(CountsReader::open(path)?.header)
}

/// Adds count files into a new one, in constant memory; drops pieces whose sum is below
/// `min_count`. Up to 32 inputs may be pipes.
///
/// # Errors
/// [`Error::PipelineMismatch`], [`Error::CountOverflow`], and errors of reading and writing count
/// files. On an error no output is left.
pub fn merge_files<P: AsRef<Path>>(
    inputs: &[P],
    output: &Path,
    min_count: u64,
    progress: &mut Progress,
) -> Result<Header> {
    let (mut header, runs) = open_all(inputs)?;
    let dir = atomic::directory(output);
    if min_count <= 1 {
        let mut writer = CountsWriter::create(output, &header)?;
        run::merge(runs, dir, progress, |piece, count| writer.push(piece, count))?;
        writer.finish()?;
        return Ok(header);
    }
    // The header comes first in the file, but its totals are known last.
    let mut kept = SpillWriter::new(dir)?;
    header.totals.pieces = 0;
    run::merge(runs, dir, progress, |piece, count| {
        if count < min_count {
            return header.totals.drop_piece(count);
        }
        header.totals.add_pieces(count)?;
        kept.push(piece, count)
    })?;
    let mut writer = CountsWriter::create(output, &header)?;
    let runs = vec![SortedRun::Spilled(kept.finish_run()?)];
    run::merge(runs, dir, progress, |piece, count| writer.push(piece, count))?;
    writer.finish()?;
    Ok(header)
}

/// Opens count files, and adds their headers before any other work, so that a mismatch is found early.
///
/// Files that one merge takes stay open, so each is read once and may be a pipe. More files are opened again
/// when their merge begins, to keep few descriptors.
fn open_all<P: AsRef<Path>>(inputs: &[P]) -> Result<(Header, Vec<SortedRun<'static>>)> {
    let mut total: Option<Header> = None;
    let mut runs = Vec::with_capacity(inputs.len());
    let name = |path: &P| path.as_ref().display().to_string();
    for input in inputs {
        let reader = CountsReader::open(input.as_ref())?;
        total = Some(match total {
            None => reader.header.clone(),
            Some(total) => total.add(&reader.header, &name(&inputs[0]), &name(input))?,
        });
        runs.push(if inputs.len() <= run::FAN_IN {
            SortedRun::File(Box::new(reader))
        } else {
            SortedRun::Path(input.as_ref().to_path_buf())
        });
    }
    match total {
        Some(header) => Ok((header, runs)),
        None => Err(Error::Option {
            option: "inputs",
            value: "none".to_owned(),
            reason: "name at least one count file".to_owned(),
        }),
    }
}

/// Reads a count file piece by piece.
pub struct CountsReader<R> {
    input: R,
    name: String,
    header: Header,
    line: Vec<u8>,
    number: u64,
    piece: Vec<u8>,
    before: Vec<u8>,
    count: u64,
    sum: u64,
}

impl CountsReader<BufReader<File>> {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Format`], [`Error::Version`].
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io(path, error))?;
        Self::new(BufReader::with_capacity(1 << 16, file), &path.display().to_string())
    }
}

impl<R: BufRead> CountsReader<R> {
    /// Reads the header. `name` is used in messages.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Format`], [`Error::Version`].
    pub fn new(input: R, name: &str) -> Result<Self> {
        let header = Header::new(Pipeline::new(crate::pre_tokenizer::PreTokenizer::Bytes));
        let mut reader = Self {
            input,
            name: name.to_owned(),
            header,
            line: Vec::new(),
            number: 0,
            piece: Vec::new(),
            before: Vec::new(),
            count: 0,
            sum: 0,
        };
        // Checks the beginning first, because the first line of another file may be endless.
        let start = reader.input.fill_buf().map_err(|error| Error::io(&reader.name, error))?;
        let n = start.len().min(MAGIC.len());
        let is_ours = start[..n] == MAGIC.as_bytes()[..n];
        reader.number = u64::from(!is_ours);
        let has_line = is_ours && reader.read_line()?;
        let rest = std::str::from_utf8(&reader.line).ok().and_then(|line| line.strip_prefix(MAGIC));
        let Some((version, json)) = rest.filter(|_| has_line).and_then(|rest| rest.split_once(' ')) else {
            return Err(reader.error(format!("no count file: it does not start with {MAGIC:?}")));
        };
        if version != VERSION {
            return Err(Error::Version {
                what: reader.name,
                found: version.to_owned(),
                supported: VERSION.to_owned(),
            });
        }
        match serde_json::from_str(json) {
            Ok(header) => reader.header = header,
            Err(error) => return Err(reader.error(format!("bad header: {error}"))),
        }
        Ok(reader)
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Moves to the next piece; returns `false` at the end of a valid file.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] naming the line.
    pub fn advance(&mut self) -> Result<bool> {
        if !self.read_line()? {
            if self.sum != self.header.totals.pieces {
                let (sum, pieces) = (self.sum, self.header.totals.pieces);
                return Err(self.error(format!(
                    "the counts add up to {sum}, but the header says {pieces}; the file was cut short or changed; \
                     count the text again"
                )));
            }
            return Ok(false);
        }
        let Some(space) = memchr::memchr(b' ', &self.line) else {
            return Err(self.error("expected base64(piece), a space, and the count"));
        };
        std::mem::swap(&mut self.piece, &mut self.before);
        self.piece.clear();
        self.piece.make_room(space)?;
        if let Err(error) = STANDARD.decode_vec(&self.line[..space], &mut self.piece) {
            return Err(self.error(format!("the piece is not base64: {error}")));
        }
        let Some(count) = parse_count(&self.line[space + 1..]) else {
            let count = String::from_utf8_lossy(&self.line[space + 1..]).into_owned();
            return Err(self.error(format!("the count is {count:?}, expected 1 to 2^64 - 1")));
        };
        if self.piece <= self.before {
            // `self.piece` is empty before the first piece, and an empty piece is invalid.
            return Err(self.error(if self.piece.is_empty() {
                "the piece is empty"
            } else {
                "the piece is not greater than the one before; sort by piece bytes, each piece once"
            }));
        }
        let Some(sum) = self.sum.checked_add(count) else {
            return Err(Error::CountOverflow { what: "all pieces".to_owned() });
        };
        (self.count, self.sum) = (count, sum);
        Ok(true)
    }

    /// The current piece.
    pub fn piece(&self) -> &[u8] {
        &self.piece
    }

    /// Its count.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Reads a line without its line feed; returns `false` at the end.
    fn read_line(&mut self) -> Result<bool> {
        self.number += 1;
        self.line.clear();
        loop {
            // Avoids `read_until`, which aborts if memory runs out.
            let part = match self.input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                part => part.map_err(|error| Error::io(&self.name, error))?,
            };
            let end = memchr::memchr(b'\n', part);
            let (n, is_empty) = (end.unwrap_or(part.len()), part.is_empty());
            if is_empty && self.line.is_empty() {
                return Ok(false);
            }
            if is_empty || self.line.len() + n > MAX_LINE {
                return Err(self.error(
                    "the line has no end; the file was cut short, or is not a count file; count the text \
                     again",
                ));
            }
            memory::extend(&mut self.line, &part[..n])?;
            self.input.consume(n + usize::from(end.is_some()));
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn error(&self, reason: impl std::fmt::Display) -> Error {
        Error::format(&self.name, format!("line {}: {reason}", self.number))
    }
}

/// Parses a count: digits without a leading zero, not 0.
fn parse_count(digits: &[u8]) -> Option<u64> {
    if digits.first() == Some(&b'0') || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Writes a count file piece by piece. The file appears under its name only after
/// [`CountsWriter::finish`].
pub struct CountsWriter {
    file: AtomicFile,
    line: String,
}

impl CountsWriter {
    /// Starts a file.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(path: &Path, header: &Header) -> Result<Self> {
        let mut writer = Self { file: AtomicFile::create(path)?, line: String::new() };
        push_header(&mut writer.line, header)?;
        writer.file.write(writer.line.as_bytes())?;
        Ok(writer)
    }

    /// Writes a piece, which must be greater than the previous one.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn push(&mut self, piece: &[u8], count: u64) -> Result<()> {
        self.line.clear();
        push_piece(&mut self.line, piece, count)?;
        self.file.write(self.line.as_bytes())
    }

    /// Renames the file to its final name.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(self) -> Result<()> {
        self.file.finish()
    }
}

fn push_header(out: &mut String, header: &Header) -> Result<()> {
    let json = serde_json::to_string(header).map_err(|error| Error::Internal(error.to_string()))?;
    out.push_str(&format!("{MAGIC}{VERSION} {json}\n"));
    Ok(())
}

fn push_piece(out: &mut String, piece: &[u8], count: u64) -> Result<()> {
    // Four characters for three bytes, a count of at most 20 digits, and two separators.
    out.make_room(piece.len().div_ceil(3).saturating_mul(4).saturating_add(24))?;
    STANDARD.encode_string(piece, out);
    // Writing to a String cannot fail.
    let _ = writeln!(out, " {count}");
    Ok(())
}

impl WordCounts {
    /// Writes a count file, whole or not at all.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut writer = CountsWriter::create(path, &self.header)?;
        for (piece, count) in self.iter() {
            writer.push(piece, count)?;
        }
        writer.finish()
    }

    /// Reads a count file.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Format`] naming the line, [`Error::Version`].
    pub fn load(path: &Path) -> Result<Self> {
        Self::read(CountsReader::open(path)?)
    }

    /// The sum of count files of one pipeline, which are read at once.
    ///
    /// # Errors
    /// As [`merge_files`].
    #[cfg(feature = "train")]
    pub(crate) fn load_sum(inputs: &[PathBuf], temp_dir: &Path, progress: &mut Progress) -> Result<Self> {
        let (header, runs) = open_all(inputs)?;
        let mut words = Self::of_header(header);
        run::merge(runs, temp_dir, progress, |piece, count| words.push(piece, count))?;
        Ok(words)
    }

    /// The bytes of a count file. Equal counts give equal bytes.
    ///
    /// # Errors
    /// [`Error::Memory`] if memory runs out; [`Error::Internal`] if they cannot be written, which
    /// would be a bug.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut text = String::new();
        push_header(&mut text, &self.header)?;
        self.iter().try_for_each(|(piece, count)| push_piece(&mut text, piece, count))?;
        Ok(text.into_bytes())
    }

    /// Reads the bytes of a count file.
    ///
    /// # Errors
    /// As [`WordCounts::load`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(CountsReader::new(bytes, "counts")?)
    }

    fn read<R: BufRead>(mut reader: CountsReader<R>) -> Result<Self> {
        let mut words = Self::of_header(reader.header.clone());
        while reader.advance()? {
            words.push(reader.piece(), reader.count())?;
        }
        Ok(words)
    }
}
