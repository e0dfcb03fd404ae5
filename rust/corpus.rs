//! Reads documents from files and iterables, in blocks.
//!
//! Worker threads share a [`Source`] behind a lock. A worker fills its [`Block`] under the lock
//! (bytes only, without parsing lines or JSON), releases the lock, and parses the bytes into
//! [`Document`]s alone. So a single large file keeps all threads busy, and each worker holds one
//! block in memory, whatever the size of the corpus. Splitting and counting are in
//! [`crate::corpus::word_counts`].

mod block;
mod byte_range;
mod compression;
mod file_sniffing;
mod files;
mod format;
mod input_file;
mod iterables;
mod jsonl;
mod pipe;
mod plan;
mod quotes;
mod shard;
mod stream;
mod tab_quotes;
mod table;
mod unit_starts;
pub mod word_counts;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use block::{Block, Document, Tally};
pub use byte_range::{ByteRange, FileVersion};
pub use files::{FileOptions, FileSource};
pub use format::Format;
#[cfg(feature = "train")]
pub(crate) use input_file::remote_version;
pub use input_file::{
    Bytes, OpeningFile, REMOTE_BLOCK_BYTES, RemoteError, RemoteFile, RemoteFiles, set_remote_files, url_of,
};
pub use iterables::{DocumentSink, IterSource};
pub use plan::cut_file;
pub use shard::Shard;

use crate::error::{Error, Result};
use crate::pipeline::Pipeline;

/// The approximate size of a block in bytes: large enough that locking is cheap, small enough to
/// stop promptly and to stay in the cache.
pub const BLOCK_BYTES: usize = 1 << 20;

/// The default limit for the length of a line, row or piped document. It bounds memory for a file
/// without line ends.
pub const MAX_LINE_BYTES: usize = 1 << 28;

/// The end of the message for a line, row or document that is too long.
fn too_long(what: &str, limit: usize) -> String {
    format!(
        "the {what} is longer than {limit} bytes, the most that is held at once; divide it, check the format, or raise `max_line_bytes`"
    )
}

/// The error for a sample in bytes of a corpus of unknown size.
fn unknown_size(source: &str) -> Error {
    Error::Option {
        option: "sample",
        value: "a number of bytes".to_owned(),
        reason: format!(
            "the size of the text is unknown before it is read ({source}); give a share, such as 0.1"
        ),
    }
}

/// A source of documents, read block by block.
pub trait Source: Send {
    /// Fills `block` with the next documents; returns `false` if none are left.
    ///
    /// # Errors
    /// Errors of reading: [`Error::Io`], [`Error::Record`],
    /// [`Error::InvalidText`], and [`Error::Cancelled`] once the meter is stopped.
    fn fill(&mut self, block: &mut Block) -> Result<bool>;

    /// The progress of reading; may be used while another thread reads.
    fn meter(&self) -> Arc<Meter>;

    /// The number of files or iterables.
    fn n_sources(&self) -> usize {
        1
    }

    /// The bytes of the corpus, of which a shard is a part.
    ///
    /// # Errors
    /// [`Error::Option`] if they are unknown before it is read; errors of looking into files.
    fn corpus_bytes(&self) -> Result<u64> {
        Err(unknown_size("texts in memory"))
    }

    /// Allows the source to return documents longer than a block in parts, cut only where that
    /// provably does not change the pieces of `pipeline`.
    fn cut_for(&mut self, _pipeline: &Pipeline) {}
}

/// The progress of a source, and a flag that asks it to stop.
#[derive(Debug, Default)]
pub struct Meter {
    done: AtomicU64,
    total: AtomicU64,
    stopped: AtomicBool,
}

impl Meter {
    /// A meter for `total` bytes; 0 if unknown.
    pub fn new(total: u64) -> Self {
        Self { total: AtomicU64::new(total), ..Self::default() }
    }

    /// Bytes read, as stored on disk (compressed bytes for a compressed file).
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Total bytes; 0 if unknown.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Adds to the bytes read.
    pub fn advance(&self, by: usize) {
        self.done.fetch_add(by as u64, Ordering::Relaxed);
    }

    /// Asks the source, and threads that wait for it, to stop.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether [`Meter::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Checks that the source should not stop.
    ///
    /// # Errors
    /// [`Error::Cancelled`] after [`Meter::stop`].
    pub fn check(&self) -> Result<()> {
        if self.is_stopped() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// How to treat bytes that are not UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InvalidUtf8 {
    /// Report an error with file, offset and line.
    #[default]
    Error,
    /// Replace each maximal invalid part by U+FFFD, as [`String::from_utf8_lossy`] does, and count
    /// them.
    Replace,
    /// Keep them. The valid stretches between are split as separate documents, and each maximal run
    /// of invalid bytes is one piece.
    Bytes,
}

impl InvalidUtf8 {
    /// The name, as [`FromStr`](std::str::FromStr) reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Replace => "replace",
            Self::Bytes => "bytes",
        }
    }
}

impl std::str::FromStr for InvalidUtf8 {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "error" => Ok(Self::Error),
            "replace" => Ok(Self::Replace),
            "bytes" => Ok(Self::Bytes),
            _ => Err(Error::Option {
                option: "invalid_utf8",
                value: text.to_owned(),
                reason: "it is one of error, replace, bytes".to_owned(),
            }),
        }
    }
}
