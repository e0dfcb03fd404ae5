//! Documents from files and iterables, in blocks.
//!
//! A [`Source`] is shared by worker threads behind a lock: a worker refills
//! its [`Block`] under the lock (bytes only, no parsing of lines or JSON),
//! lets go, and turns the bytes into [`Document`]s by itself. So one large
//! file keeps all threads busy, and memory is one block per worker, whatever
//! the size of the corpus.
//!
//! Not a place for splitting or counting: see [`crate::corpus::word_counts`].

mod block;
mod compression;
mod file_sniffing;
mod files;
mod format;
mod iterables;
mod jsonl;
mod pipe;
mod quotes;
mod shard;
mod stream;
mod tab_quotes;
mod table;
pub mod word_counts;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use block::{Block, Document, Tally};
pub use files::{FileOptions, FileSource};
pub use format::Format;
pub use iterables::{DocumentSink, IterSource};
pub use shard::Shard;

use crate::error::{Error, Result};
use crate::pipeline::Pipeline;

/// About how many bytes a block holds: large enough to make the lock cheap,
/// small enough to answer a request to stop at once and to stay in the cache.
pub const BLOCK_BYTES: usize = 1 << 20;

/// The longest line, row or piped document read when no limit is named: what a
/// file without line ends could otherwise make us hold.
pub const MAX_LINE_BYTES: usize = 1 << 28;

/// The end of a message on a line, row or document that is too long.
fn too_long(what: &str, limit: usize) -> String {
    format!(
        "the {what} is longer than {limit} bytes, the most that is held at once; divide it, check the format, or raise `max_line_bytes`"
    )
}

/// Something that gives documents, block by block.
pub trait Source: Send {
    /// Fills `block` with what comes next; `false` when nothing is left.
    ///
    /// # Errors
    /// What reading can meet: [`Error::Io`], [`Error::Record`],
    /// [`Error::InvalidText`], and [`Error::Cancelled`] once the meter is stopped.
    fn fill(&mut self, block: &mut Block) -> Result<bool>;

    /// How far reading has come; valid while another thread reads.
    fn meter(&self) -> Arc<Meter>;

    /// How many files or iterables there are.
    fn n_sources(&self) -> usize {
        1
    }

    /// Allows documents longer than a block to be given in parts, cut where
    /// the pieces of `pipeline` are proven to stay the same.
    fn cut_for(&mut self, _pipeline: &Pipeline) {}
}

/// How far a source has come, and whether it should stop.
#[derive(Debug, Default)]
pub struct Meter {
    done: AtomicU64,
    total: AtomicU64,
    stopped: AtomicBool,
}

impl Meter {
    /// A meter over `total` units; 0 when unknown.
    pub fn new(total: u64) -> Self {
        Self { total: AtomicU64::new(total), ..Self::default() }
    }

    /// Bytes read, as they lie on disk (compressed bytes for a compressed file).
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Bytes in all, 0 when unknown.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Adds to what is done.
    pub fn advance(&self, by: usize) {
        self.done.fetch_add(by as u64, Ordering::Relaxed);
    }

    /// Asks the source, and whoever waits in it, to stop.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether [`Meter::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// [`Error::Cancelled`] once stopped.
    ///
    /// # Errors
    /// As said.
    pub fn check(&self) -> Result<()> {
        if self.is_stopped() { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// What happens to bytes that are not UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InvalidUtf8 {
    /// They are an error with file, offset and line.
    #[default]
    Error,
    /// Each maximal invalid part becomes U+FFFD, as in
    /// [`String::from_utf8_lossy`], and is counted.
    Replace,
    /// They stay: the valid stretches between are split as documents of their
    /// own, and each longest run of invalid bytes is one piece.
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
