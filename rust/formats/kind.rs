//! Recognises the kind of a file by its first bytes, never by its name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::reading::START_BYTES;
use super::{UTF8_MARK, container, sentencepiece, tekken};
use crate::error::{Error, Result};

/// The kind of a file, as far as its first bytes show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// The file format of sentitok.
    Sentitok,
    /// A JSON object with a model.
    TokenizerJson,
    /// A JSON object with ranks and a pattern.
    Tekken,
    /// A JSON object of tokens and ids.
    VocabJson,
    /// Lines of two tokens.
    MergesTxt,
    /// The ranks of tiktoken.
    Tiktoken,
    /// Counted pieces.
    Counts,
    /// A SentencePiece model.
    SentencePiece,
    /// The tokens of WordPiece, one per line.
    VocabTxt,
    /// None of these.
    Unknown,
}

impl FileKind {
    /// Reads the beginning of a file. `None` for a path that is not a regular file, such as a
    /// directory or a pipe, whose bytes could not be read again.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn of_file(path: &Path) -> Result<Option<Self>> {
        let io = |error| Error::io(path, error);
        if !std::fs::metadata(path).map_err(io)?.is_file() {
            return Ok(None);
        }
        let mut start = Vec::new();
        File::open(path).map_err(io)?.take(START_BYTES).read_to_end(&mut start).map_err(io)?;
        Ok(Some(Self::of(&start)))
    }

    /// The name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sentitok => "sentitok",
            Self::TokenizerJson => "tokenizer.json",
            Self::Tekken => "tekken.json",
            Self::VocabJson => "vocab.json",
            Self::MergesTxt => "merges.txt",
            Self::Tiktoken => "tiktoken",
            Self::Counts => "counts",
            Self::SentencePiece => "sentencepiece",
            Self::VocabTxt => "vocab.txt",
            Self::Unknown => "unknown",
        }
    }

    /// The kind of these bytes, ignoring a byte order mark.
    pub fn of(bytes: &[u8]) -> Self {
        let bytes = bytes.strip_prefix(UTF8_MARK).unwrap_or(bytes);
        let first_line = bytes.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let is_ranks = || {
            let mut fields = first_line.trim_ascii().split(|&byte| byte == b' ');
            let is_base64 = |field: &[u8]| {
                field.len().is_multiple_of(4)
                    && field.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte))
            };
            fields.next().is_some_and(|token| !token.is_empty() && is_base64(token))
                && fields.next().is_some_and(|rank| !rank.is_empty() && rank.iter().all(u8::is_ascii_digit))
                && fields.next().is_none()
        };
        if bytes.starts_with(container::MAGIC.as_bytes()) {
            Self::Sentitok
        } else if bytes.starts_with(b"#sentitok-counts ") {
            Self::Counts
        } else if bytes.starts_with(b"#version") {
            Self::MergesTxt
        } else if bytes.trim_ascii_start().starts_with(b"{") {
            if is_flat_vocab(bytes) {
                Self::VocabJson
            } else if tekken::is_tekken(bytes) {
                Self::Tekken
            } else {
                Self::TokenizerJson
            }
        } else if sentencepiece::is_model(bytes) {
            Self::SentencePiece
        } else if is_ranks() {
            Self::Tiktoken
        } else if ["[UNK]", "[PAD]"]
            .iter()
            .any(|token| memchr::memmem::find(bytes, token.as_bytes()).is_some())
        {
            Self::VocabTxt
        } else {
            Self::Unknown
        }
    }
}

/// Whether the first value of an object is a number, as in vocab.json but in no tokenizer.json.
fn is_flat_vocab(bytes: &[u8]) -> bool {
    let inside = bytes.trim_ascii_start().get(1..).unwrap_or_default();
    let mut keys = serde_json::Deserializer::from_slice(inside).into_iter::<String>();
    let Some(Ok(key)) = keys.next() else { return false };
    let after = inside.get(keys.byte_offset()..).unwrap_or_default().trim_ascii_start();
    let value = after.strip_prefix(b":").unwrap_or_default().trim_ascii_start();
    key != "version" && value.first().is_some_and(u8::is_ascii_digit)
}
