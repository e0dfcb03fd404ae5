//! `Block`: some documents of a source, and their positions.
//!
//! A source fills in raw bytes. The worker that owns the block finds the documents, checks that
//! they are UTF-8 and applies the policy for invalid bytes. The buffer is reused for the next
//! block, so no document needs an allocation.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use super::input_file::InputFile;
use super::{InvalidUtf8, REMOTE_BLOCK_BYTES, jsonl, too_long};
use crate::error::{Error, Result};
use crate::memory;
use crate::pipeline::{Pieces, Pipeline};
use crate::text::utf8_runs::{Run, for_each_run};

/// Counts of documents, bytes and mistakes in the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Documents.
    pub documents: u64,
    /// Bytes of documents.
    pub bytes: u64,
    /// Blank lines of JSONL, which are skipped.
    pub skipped: u64,
    /// Invalid parts replaced by U+FFFD.
    pub replaced: u64,
    /// Bytes that are not UTF-8, replaced or kept.
    pub invalid_bytes: u64,
    /// Byte order marks removed from the start of files.
    pub byte_order_marks: u64,
}

/// How the bytes of a block are divided into documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Division {
    /// Documents pushed one by one by an iterable.
    #[default]
    Iterable,
    /// Documents pushed one by one from the records at [`Block::places`].
    Records,
    /// One document, or a part of one.
    Whole,
    /// Lines with their line ends.
    Lines,
    /// The value of a field on each line.
    Jsonl(Arc<str>),
}

/// The start of a pushed document or record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub offset: u64,
    /// Counted from 1: the line of a row in what the source reads, or the number of a document of an
    /// iterable. Counted from 0 and from the start of the block: the line of a JSON record.
    pub line: u64,
}

/// The start of a block in its source.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockStart {
    pub name: Arc<str>,
    /// The offset of the first byte, in the decompressed source.
    pub offset: u64,
    /// The number of line feeds before the block.
    pub lines: u64,
    /// The path and the number of bytes of the file that this shard skipped. Their lines are only
    /// counted if an error has to name its line.
    pub skipped: Option<(PathBuf, u64)>,
}

impl BlockStart {
    /// The number, from 1, of the line after this many line feeds of the block.
    pub(super) fn line(&self, line_feeds: u64) -> u64 {
        self.before() + self.lines + line_feeds + 1
    }

    /// The error for a line longer than `limit`. `line_feeds` and `bytes` are counted from the
    /// start of the block.
    pub(super) fn too_long(&self, what: &str, line_feeds: u64, bytes: usize, limit: usize) -> Error {
        Error::Record {
            source_name: self.name.to_string(),
            line: self.line(line_feeds),
            offset: self.offset + bytes as u64,
            reason: too_long(what, limit),
        }
    }

    fn before(&self) -> u64 {
        let Some((path, bytes)) = &self.skipped else { return 0 };
        let Ok(file) = InputFile::open(path, REMOTE_BLOCK_BYTES, &Arc::default()) else { return 0 };
        let mut rest = file.take(*bytes);
        let (mut buffer, mut lines) = (vec![0; 1 << 16], 0);
        while let Ok(n @ 1..) = rest.read(&mut buffer) {
            lines += line_feeds(&buffer[..n]);
        }
        lines
    }
}

/// A document as a worker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document<'a> {
    /// UTF-8 text.
    Text(&'a str),
    /// Bytes that are not UTF-8; only with [`InvalidUtf8::Bytes`].
    Bytes(&'a [u8]),
}

impl<'a> Document<'a> {
    /// The same document without a final line feed.
    #[must_use]
    pub fn without_line_feed(&self) -> Self {
        match self {
            Self::Text(text) => Self::Text(text.strip_suffix('\n').unwrap_or(text)),
            Self::Bytes(bytes) => Self::Bytes(bytes.strip_suffix(b"\n").unwrap_or(bytes)),
        }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &'a [u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    /// Calls `f` with the pieces in order, in chunks. For invalid bytes see [`InvalidUtf8::Bytes`].
    ///
    /// # Errors
    /// As [`Pipeline::for_each_piece`].
    pub(crate) fn for_each_chunk(
        &self,
        pipeline: &Pipeline,
        mut f: impl FnMut(Pieces<'_>) -> Result<()>,
    ) -> Result<()> {
        let bytes = match self {
            Self::Text(text) => return pipeline.for_each_chunk(text, f),
            Self::Bytes(bytes) => bytes,
        };
        for_each_run(bytes, |_, run| match run {
            Run::Text(text) => pipeline.for_each_chunk(text, &mut f),
            Run::Invalid(run) => f(Pieces::One(run)),
        })
    }
}

/// The bytes of some documents, filled by a source and read by a worker.
#[derive(Debug, Default)]
pub struct Block {
    pub(super) data: Vec<u8>,
    pub(super) division: Division,
    /// The end of each document; for lines, computed from `data`.
    pub(super) ends: Vec<usize>,
    pub(super) places: Vec<Place>,
    pub(super) origin: BlockStart,
    pub(super) invalid_utf8: InvalidUtf8,
    /// Whether the last document continues in the next block.
    pub(super) continues: bool,
    pub(super) byte_order_marks: u64,
    /// The maximum length of a line.
    pub(super) max_line_bytes: usize,
    /// The values of the JSON field; swapped with `data`.
    fields: Vec<u8>,
}

impl Block {
    /// Removes the documents but keeps the memory.
    pub(super) fn clear(&mut self, division: Division, origin: BlockStart, invalid_utf8: InvalidUtf8) {
        self.data.clear();
        self.ends.clear();
        self.places.clear();
        (self.division, self.origin, self.invalid_utf8) = (division, origin, invalid_utf8);
        (self.continues, self.byte_order_marks, self.max_line_bytes) = (false, 0, usize::MAX);
    }

    /// Adds one document.
    pub(super) fn push(&mut self, document: &[u8]) -> Result<()> {
        memory::extend(&mut self.data, document)?;
        memory::push(&mut self.ends, self.data.len())
    }

    /// Calls `f` with each document in order, and adds to `tally`. Call it once each time a source
    /// has filled the block.
    ///
    /// # Errors
    /// [`Error::Record`] for an invalid line of JSON, [`Error::InvalidText`] for invalid UTF-8
    /// under [`InvalidUtf8::Error`], and what `f` returns.
    pub fn for_each_document(
        &mut self,
        tally: &mut Tally,
        mut f: impl FnMut(Document) -> Result<()>,
    ) -> Result<()> {
        tally.byte_order_marks += self.byte_order_marks;
        self.check_lines()?;
        self.find_documents(tally)?;
        tally.documents += (self.ends.len() - usize::from(self.continues)) as u64;
        let mut start = 0;
        match simdutf8::basic::from_utf8(&self.data) {
            // Every document must also end between characters: two invalid documents may form a
            // valid whole.
            Ok(text) if self.ends.iter().all(|&end| text.is_char_boundary(end)) => {
                tally.bytes += text.len() as u64;
                for &end in &self.ends {
                    f(Document::Text(&text[start..end]))?;
                    start = end;
                }
            }
            _ => {
                for (index, &end) in self.ends.iter().enumerate() {
                    self.checked(index, start, end, tally, &mut f)?;
                    start = end;
                }
            }
        }
        Ok(())
    }

    /// Handles one document of a block that contains invalid UTF-8 somewhere.
    fn checked(
        &self,
        index: usize,
        start: usize,
        end: usize,
        tally: &mut Tally,
        f: &mut impl FnMut(Document) -> Result<()>,
    ) -> Result<()> {
        let bytes = &self.data[start..end];
        let error = match std::str::from_utf8(bytes) {
            Ok(text) => {
                tally.bytes += text.len() as u64;
                return f(Document::Text(text));
            }
            Err(error) => error,
        };
        if self.invalid_utf8 == InvalidUtf8::Error {
            return Err(self.invalid_text(index, start, start + error.valid_up_to()));
        }
        for invalid in bytes.utf8_chunks().map(|chunk| chunk.invalid()).filter(|part| !part.is_empty()) {
            tally.invalid_bytes += invalid.len() as u64;
            tally.replaced += u64::from(self.invalid_utf8 == InvalidUtf8::Replace);
        }
        if self.invalid_utf8 == InvalidUtf8::Replace {
            let text = String::from_utf8_lossy(bytes);
            tally.bytes += text.len() as u64;
            f(Document::Text(&text))
        } else {
            tally.bytes += bytes.len() as u64;
            f(Document::Bytes(bytes))
        }
    }

    /// Refuses a line that is too long. (A stream only refuses lines that it would have to hold.)
    fn check_lines(&self) -> Result<()> {
        let is_lines = matches!(self.division, Division::Lines | Division::Jsonl(_));
        if !is_lines || self.data.len() <= self.max_line_bytes {
            return Ok(());
        }
        let mut start = 0;
        for (number, line) in self.data.split_inclusive(|&byte| byte == b'\n').enumerate() {
            if line.len() > self.max_line_bytes {
                return Err(self.origin.too_long("line", number as u64, start, self.max_line_bytes));
            }
            start += line.len();
        }
        Ok(())
    }

    /// Computes `ends` (and for JSON `data` and `places`) from the bytes read.
    fn find_documents(&mut self, tally: &mut Tally) -> Result<()> {
        match &self.division {
            Division::Iterable | Division::Records => {}
            Division::Whole => self.ends.push(self.data.len()),
            Division::Lines => {
                self.ends.extend(memchr::memchr_iter(b'\n', &self.data).map(|at| at + 1));
                if self.ends.last().copied().unwrap_or(0) < self.data.len() {
                    self.ends.push(self.data.len());
                }
            }
            Division::Jsonl(field) => {
                self.fields.clear();
                let mut start = 0;
                for (number, line) in self.data.split_inclusive(|&byte| byte == b'\n').enumerate() {
                    let offset = self.origin.offset + start as u64;
                    start += line.len();
                    if line.iter().all(u8::is_ascii_whitespace) {
                        tally.skipped += 1;
                        continue;
                    }
                    if let Err(reason) = jsonl::field_of(line, field, &mut self.fields) {
                        let line = self.origin.line(number as u64);
                        return Err(Error::Record {
                            source_name: self.origin.name.to_string(),
                            line,
                            offset,
                            reason,
                        });
                    }
                    self.ends.push(self.fields.len());
                    self.places.push(Place { offset, line: number as u64 });
                }
                std::mem::swap(&mut self.data, &mut self.fields);
            }
        }
        Ok(())
    }

    /// The error for invalid bytes at `at`, in the document that starts at `start`.
    fn invalid_text(&self, index: usize, start: usize, at: usize) -> Error {
        let reason = "invalid UTF-8".to_owned();
        let place = self.places.get(index).copied().unwrap_or(Place { offset: 0, line: 0 });
        let (source_name, offset, line) = match &self.division {
            Division::Iterable => (
                format!("{}, document {}", self.origin.name, place.line),
                (at - start) as u64,
                line_feeds(&self.data[start..at]) + 1,
            ),
            Division::Whole | Division::Lines => (
                self.origin.name.to_string(),
                self.origin.offset + at as u64,
                self.origin.line(line_feeds(&self.data[..at])),
            ),
            // The value differs from the bytes of the file (escapes), so the error names the start
            // of the record.
            Division::Records | Division::Jsonl(_) => {
                let line = match self.division {
                    Division::Records => self.origin.line(place.line.saturating_sub(1)),
                    _ => self.origin.line(place.line),
                };
                return Error::InvalidText {
                    source_name: self.origin.name.to_string(),
                    offset: place.offset,
                    line,
                    reason: format!("{reason} in the record"),
                };
            }
        };
        Error::InvalidText { source_name, offset, line, reason }
    }
}

/// Counts line feeds.
pub(super) fn line_feeds(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}
