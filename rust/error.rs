//! The error type of the crate.
//!
//! A variant carries the data; its message states the value, the limit and the remedy.
//! `py/error.rs` maps variants to Python exceptions.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, with the values that explain it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened, read or written.
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The corpus contains no piece to train on.
    EmptyCorpus {
        /// How many sources were read.
        sources: usize,
    },
    /// Bytes of a source are not text in the expected encoding.
    InvalidText {
        /// File name, or a name such as `<iterable>`.
        source_name: String,
        /// Byte offset in the (decompressed) source, from 0.
        offset: u64,
        /// Line, from 1.
        line: u64,
        /// The mistake, such as `invalid UTF-8`.
        reason: String,
    },
    /// A record (JSON line, CSV row, compressed member) cannot be read.
    Record {
        /// File name.
        source_name: String,
        /// Line, from 1; 0 where lines have no meaning.
        line: u64,
        /// Byte offset in the (decompressed) source, from 0.
        offset: u64,
        /// The mistake and its remedy.
        reason: String,
    },
    /// The requested vocabulary cannot hold what must be in it.
    VocabSize {
        /// The requested size.
        requested: u64,
        /// The smallest possible size.
        minimum: u64,
    },
    /// There is not enough memory.
    Memory {
        /// The number of values.
        n: usize,
        /// The size of each in bytes.
        size: usize,
    },
    /// An option has an invalid value.
    Option {
        /// Name of the option.
        option: &'static str,
        /// The value given.
        value: String,
        /// The limit and the remedy.
        reason: String,
    },
    /// A split pattern does not compile, or hit its step limit.
    Pattern {
        /// The pattern.
        pattern: String,
        /// The mistake and its remedy.
        reason: String,
    },
    /// A count would exceed 2^64 - 1.
    CountOverflow {
        /// The counted things.
        what: String,
    },
    /// Counts made by different pipelines cannot be added.
    PipelineMismatch {
        /// JSON of the first pipeline.
        left: String,
        /// JSON of the second pipeline.
        right: String,
    },
    /// A file has invalid contents.
    Format {
        /// File name or format, with a path inside such as `$.model.vocab`.
        what: String,
        /// The expected and the found value.
        reason: String,
    },
    /// A file has a version this release cannot read.
    Version {
        /// File name or format.
        what: String,
        /// The version found.
        found: String,
        /// The versions that can be read.
        supported: String,
    },
    /// The tokenizer cannot be written in the requested format.
    NotRepresentable {
        /// Name of the format.
        format: &'static str,
        /// The part that cannot be represented.
        reason: String,
    },
    /// A text cannot be encoded.
    Encode(String),
    /// An id is not in the vocabulary.
    UnknownId {
        /// The id.
        id: u64,
        /// The greatest id.
        max: u32,
    },
    /// Ids cannot be decoded as requested.
    Decode(String),
    /// The caller asked to stop (Ctrl-C, or a progress callback).
    Cancelled,
    /// A bug of this crate; please report it.
    Internal(String),
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::EmptyCorpus { sources } => write!(
                f,
                "the corpus is empty: no piece of text was found in {sources} source(s); check the paths and \
                 the format"
            ),
            Self::InvalidText { source_name, offset, line, reason } => write!(
                f,
                "{source_name}: {reason} at byte {offset} (line {line}); set `invalid_utf8` to \
                 replace or bytes to continue"
            ),
            Self::Record { source_name, line, offset, reason } => {
                write!(
                    f,
                    "{}, line {line} (byte {offset}): {}",
                    cut(source_name, MAX_MESSAGE),
                    cut(reason, MAX_MESSAGE)
                )
            }
            Self::VocabSize { requested, minimum } => write!(
                f,
                "vocab_size {requested} is too small: special tokens and alphabet, or the base and one more \
                 token, need {minimum}; ask for at least {minimum}"
            ),
            Self::Memory { n, size } => write!(
                f,
                "{n} values of {size} bytes ({:.1} MB) do not fit in memory; encode fewer texts at once, or \
                 shorter ones",
                *n as f64 * *size as f64 / 1e6
            ),
            Self::Option { option, value, reason } => {
                write!(f, "{option} = {}: {}", cut(value, MAX_VALUE), cut(reason, MAX_MESSAGE))
            }
            Self::Pattern { pattern, reason } => {
                write!(f, "pattern {:?}: {}", cut(pattern, MAX_VALUE), cut(reason, MAX_MESSAGE))
            }
            Self::CountOverflow { what } => write!(
                f,
                "the count of {} passes 2^64 - 1; train on a sample, or divide all counts by a constant",
                cut(what, MAX_VALUE)
            ),
            Self::PipelineMismatch { left, right } => write!(
                f,
                "counts of different pipelines cannot be merged: {} and {}; count both with the same \
                 normalizer and pre-tokenizer",
                cut(left, MAX_MESSAGE),
                cut(right, MAX_MESSAGE)
            ),
            Self::Format { what, reason } => {
                write!(f, "{}: {}", cut(what, MAX_MESSAGE), cut(reason, MAX_MESSAGE))
            }
            Self::Version { what, found, supported } => write!(
                f,
                "{what} has version {}; this release reads {supported}; upgrade sentitok or write the file again",
                cut(found, MAX_VALUE)
            ),
            Self::NotRepresentable { format, reason } => {
                write!(f, "cannot be written as {format}: {}", cut(reason, MAX_MESSAGE))
            }
            Self::Encode(message) | Self::Decode(message) => f.write_str(&cut(message, MAX_MESSAGE)),
            Self::UnknownId { id, max } => {
                write!(f, "id {id} is not in the vocabulary (ids are 0 to {max})")
            }
            Self::Cancelled => f.write_str("stopped at the caller's request"),
            Self::Internal(message) => {
                write!(f, "internal error: {message}; this is a bug of sentitok, please report it")
            }
        }
    }
}

/// The maximum length of a value in a message, in characters.
const MAX_VALUE: usize = 200;
/// The maximum length of a message, in characters.
const MAX_MESSAGE: usize = 1200;

/// A value for a message that is not an [`Error`], shortened if it is long.
#[cfg(feature = "python")]
pub(crate) fn shown(value: &str) -> Cow<'_, str> {
    cut(value, MAX_VALUE)
}

/// The text of a message, shortened if it is long.
#[cfg(feature = "python")]
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    cut(text, MAX_MESSAGE)
}

/// Shortens a text to its beginning, its length, and its end, where the remedy usually is.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    let n = text.chars().count();
    if n <= most {
        return Cow::Borrowed(text);
    }
    let place = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (&text[..place(most * 3 / 4)], &text[place(n - most / 4)..]);
    Cow::Owned(format!("{head} […, {n} characters in all, …] {tail}"))
}

impl Error {
    /// An [`Error::Io`] for a path and an error of the system.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// An [`Error::Format`] for a position and a reason.
    pub fn format(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Format { what: what.into(), reason: reason.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_shortened() {
        let long = "é(".repeat(50_000);
        for error in [
            Error::Pattern { pattern: long.clone(), reason: long.clone() },
            Error::Option { option: "x", value: long.clone(), reason: long.clone() },
            Error::PipelineMismatch { left: long.clone(), right: long.clone() },
            Error::format(long.clone(), long.clone()),
            Error::Encode(long.clone()),
            Error::CountOverflow { what: long.clone() },
            Error::Version { what: "x".to_owned(), found: long.clone(), supported: "1".to_owned() },
            Error::Record { source_name: long.clone(), line: 1, offset: 0, reason: "no text".to_owned() },
        ] {
            let message = error.to_string();
            assert!(message.len() < 6000 && message.contains("100000 characters"), "{}", message.len());
        }
        let message = Error::Encode(format!("{long}; pass less")).to_string();
        assert!(message.ends_with("; pass less"), "{message}");
        assert_eq!(Error::format("a", "b").to_string(), "a: b");
    }
}
