//! The one error type of the crate.
//!
//! A variant carries the data; its message gives the value, the limit and the
//! remedy. The Python names of the variants are in `py/error.rs`.

use std::path::PathBuf;

use crate::vocab::TokenId;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, each with the values that explain it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened, read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The corpus holds no piece to train on.
    #[error(
        "the corpus is empty: no piece of text was found in {sources} source(s); check the paths and the format"
    )]
    EmptyCorpus {
        /// How many sources were read.
        sources: usize,
    },
    /// Bytes of a source are not text in the encoding expected.
    #[error(
        "{source_name}: {reason} at byte {offset} (line {line}); pass invalid_utf8 (--invalid-utf8) replace or bytes to go on"
    )]
    InvalidText {
        /// File name, or a name such as `<iterable>`.
        source_name: String,
        /// Byte offset in the (decompressed) source, from 0.
        offset: u64,
        /// Line, from 1.
        line: u64,
        /// What is wrong, such as `invalid UTF-8`.
        reason: String,
    },
    /// A record (JSON line, CSV row, compressed member) cannot be read.
    #[error("{source_name}, line {line} (byte {offset}): {reason}")]
    Record {
        /// File name.
        source_name: String,
        /// Line, from 1; 0 where lines have no meaning.
        line: u64,
        /// Byte offset in the (decompressed) source, from 0.
        offset: u64,
        /// What is wrong and what to do.
        reason: String,
    },
    /// The requested vocabulary cannot hold what must be in it.
    #[error(
        "vocab_size {requested} is too small: special tokens and alphabet, or what is extended and one token more, need {minimum}; ask for at least {minimum}"
    )]
    VocabSize {
        /// What was asked for.
        requested: u64,
        /// The smallest size possible.
        minimum: u64,
    },
    /// An option has a value it cannot have.
    #[error("{option} = {value}: {reason}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// The value given.
        value: String,
        /// The limit and the remedy.
        reason: String,
    },
    /// A split pattern does not compile, or hit its step limit.
    #[error("pattern {pattern:?}: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong and what to do.
        reason: String,
    },
    /// A count would pass 2^64 - 1.
    #[error("the count of {what} passes 2^64 - 1; train on a sample, or divide all counts by a constant")]
    CountOverflow {
        /// What was counted.
        what: String,
    },
    /// Counts made by different pipelines cannot be added.
    #[error(
        "counts of different pipelines cannot be merged: {left} and {right}; count both with the same normalizer and pre-tokenizer"
    )]
    PipelineMismatch {
        /// JSON of the first pipeline.
        left: String,
        /// JSON of the second pipeline.
        right: String,
    },
    /// A file is not what it should be.
    #[error("{what}: {reason}")]
    Format {
        /// File name or format, with a path inside such as `$.model.vocab`.
        what: String,
        /// What was expected and what was found.
        reason: String,
    },
    /// A file has a version this release cannot read.
    #[error(
        "{what} has version {found}; this release reads {supported}; upgrade sentitok or write the file again"
    )]
    Version {
        /// File name or format.
        what: String,
        /// The version found.
        found: String,
        /// The versions read.
        supported: String,
    },
    /// The tokenizer cannot be written in the format asked for.
    #[error("cannot be written as {format}: {reason}")]
    NotRepresentable {
        /// Name of the format.
        format: &'static str,
        /// What cannot be represented.
        reason: String,
    },
    /// A text cannot be encoded.
    #[error("{0}")]
    Encode(String),
    /// An id is not in the vocabulary.
    #[error("id {id} is not in the vocabulary (ids are 0 to {max})")]
    UnknownId {
        /// The id.
        id: u64,
        /// The greatest id there is.
        max: TokenId,
    },
    /// Ids cannot be decoded as asked.
    #[error("{0}")]
    Decode(String),
    /// The caller asked to stop (Ctrl-C, or a progress callback).
    #[error("stopped at the caller's request")]
    Cancelled,
    /// Our own bug; please report it.
    #[error("internal error: {0}; this is a bug of sentitok, please report it")]
    Internal(String),
}

impl Error {
    /// Makes an [`Error::Io`] of a path and what the system said.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// Makes an [`Error::Format`] of a place and a reason.
    pub fn format(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Format { what: what.into(), reason: reason.into() }
    }
}
