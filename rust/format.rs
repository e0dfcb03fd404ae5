//! Tokenizers on disk: what a file is, reading it, writing it.
//!
//! A file is known by its content, never by its name. Each format is a module
//! that turns bytes into the parts of a tokenizer and back; this one finds
//! files, names them in errors and writes them whole or not at all.

pub(crate) mod atomic;
mod container;
pub mod gpt2;
mod huggingface;
mod spelled;
pub mod tiktoken;
pub mod tokenizer_json;
pub mod verify;

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::pipeline::hex;
use crate::pre_tokenizer::PreTokenizer;
use crate::tokenizer::{Parts, Tokenizer};
use crate::vocab::TokenId;

/// The largest file read; the largest known tokenizer has 40 MB.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The file of Hugging Face's tokenizers.
    TokenizerJson,
    /// A directory of it with tokenizer_config.json and special_tokens_map.json.
    HuggingFace,
    /// Ranks.
    Tiktoken,
    /// A directory with vocab.json and merges.txt.
    Gpt2,
    /// Our own file.
    Sentitok,
}

impl Format {
    /// The formats by name.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("tokenizer.json", Self::TokenizerJson),
        ("huggingface", Self::HuggingFace),
        ("tiktoken", Self::Tiktoken),
        ("gpt2", Self::Gpt2),
        ("sentitok", Self::Sentitok),
    ];

    /// The format that a path to write to means.
    ///
    /// # Errors
    /// [`Error::Option`] for a suffix that means none.
    pub fn of_path(path: &Path) -> Result<Self> {
        match path.extension().and_then(|suffix| suffix.to_str()) {
            _ if path.is_dir() => Ok(Self::HuggingFace),
            Some("json") => Ok(Self::TokenizerJson),
            Some("tiktoken") => Ok(Self::Tiktoken),
            Some("sentitok") => Ok(Self::Sentitok),
            None => Ok(Self::HuggingFace),
            Some(_) => Err(Error::Option {
                option: "path",
                value: path.display().to_string(),
                reason:
                    "its suffix means no format; end it in .json, .tiktoken or .sentitok, or name the format"
                        .into(),
            }),
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, format)| *format).ok_or_else(|| {
            Error::Option {
                option: "format",
                value: name.into(),
                reason: format!("it is one of {}", Self::NAMES.map(|(name, _)| name).join(", ")),
            }
        })
    }
}

/// What [`Tokenizer::save`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// The files written.
    pub files: Vec<PathBuf>,
    /// What the format has no place for, in sentences; ids of plain text are
    /// the same all the same.
    pub left_out: Vec<String>,
}

impl Tokenizer {
    /// Reads a tokenizer from a file, or from a directory of a model.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] and [`Error::Version`] with the file
    /// and the place in it, or naming what the file is when it is something else.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if path.is_dir() {
            return from_directory(path);
        }
        from_bytes(&read(path)?).and_then(Self::new).map_err(|error| in_file(error, path))
    }

    /// Reads a tokenizer from the bytes of a file, or from [`Tokenizer::to_bytes`].
    ///
    /// # Errors
    /// As [`Tokenizer::from_file`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        from_bytes(bytes).and_then(Self::new)
    }

    /// Reads a file of ranks, which needs the pattern and special tokens told;
    /// [`tiktoken::pre_tokenizer`] makes a pattern into a pre-tokenizer.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Format`].
    pub fn from_tiktoken(
        path: impl AsRef<Path>,
        pre_tokenizer: PreTokenizer,
        special_tokens: &[(String, TokenId)],
    ) -> Result<Self> {
        let path = path.as_ref();
        tiktoken::read(&read(path)?, pre_tokenizer, special_tokens)
            .and_then(Self::new)
            .map_err(|error| in_file(error, path))
    }

    /// Reads vocab.json and merges.txt.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Format`].
    pub fn from_gpt2(vocab: impl AsRef<Path>, merges: impl AsRef<Path>) -> Result<Self> {
        let (vocab, merges) = (vocab.as_ref(), merges.as_ref());
        let (vocab_json, merges_txt) = (read(vocab)?, read(merges)?);
        let vocab_json = utf8(&vocab_json).map_err(|error| in_file(error, vocab))?;
        let merges_txt = utf8(&merges_txt).map_err(|error| in_file(error, merges))?;
        gpt2::read(vocab_json, merges_txt).and_then(Self::new).map_err(|error| in_file(error, vocab))
    }

    /// All of a tokenizer in bytes that equal tokenizers have in common.
    ///
    /// # Errors
    /// [`Error::NotRepresentable`] for tokens of characters that are no UTF-8.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        container::write(self)
    }

    /// SHA-256 of [`Tokenizer::to_bytes`], in hexadecimal.
    ///
    /// # Errors
    /// As [`Tokenizer::to_bytes`].
    pub fn fingerprint(&self) -> Result<String> {
        Ok(hex(&Sha256::digest(self.to_bytes()?)))
    }

    /// Writes a tokenizer; without a format the path decides. Directories are
    /// made as needed.
    ///
    /// # Errors
    /// [`Error::NotRepresentable`] when the format would change ids;
    /// [`Error::Io`], [`Error::Option`].
    pub fn save(&self, path: impl AsRef<Path>, format: Option<Format>) -> Result<Saved> {
        let path = path.as_ref();
        let format = format.map_or_else(|| Format::of_path(path), Ok)?;
        let mut left_out = Vec::new();
        // Everything is made before the first file is touched.
        let files: Vec<(PathBuf, Vec<u8>)> = match format {
            Format::TokenizerJson => vec![(path.into(), tokenizer_json::write(self)?)],
            Format::Sentitok => vec![(path.into(), self.to_bytes()?)],
            Format::Tiktoken => {
                left_out.push(format!(
                    "the pattern ({}) and the {} added token(s) are not in the file: give them to whoever reads it",
                    self.pipeline().pre_tokenizer.name(),
                    self.added_tokens().len()
                ));
                vec![(path.into(), tiktoken::write(self)?)]
            }
            Format::HuggingFace => {
                let [config, special_tokens] = huggingface::write(self)?;
                vec![
                    (path.join("tokenizer.json"), tokenizer_json::write(self)?),
                    (path.join("tokenizer_config.json"), config),
                    (path.join("special_tokens_map.json"), special_tokens),
                ]
            }
            Format::Gpt2 => {
                let written = gpt2::write(self)?;
                left_out = written.left_out;
                vec![
                    (path.join("vocab.json"), written.vocab_json),
                    (path.join("merges.txt"), written.merges_txt),
                ]
            }
        };
        for (file, bytes) in &files {
            if let Some(dir) = file.parent().filter(|dir| !dir.as_os_str().is_empty()) {
                fs::create_dir_all(dir).map_err(|error| Error::io(dir, error))?;
            }
            atomic::write(file, bytes)?;
        }
        Ok(Saved { files: files.into_iter().map(|(file, _)| file).collect(), left_out })
    }
}

/// What the bytes of a file are, by how they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Our own file.
    Sentitok,
    /// A JSON object with a model, as far as its beginning tells.
    TokenizerJson,
    /// A JSON object of tokens and ids.
    VocabJson,
    /// Lines of two tokens.
    MergesTxt,
    /// Ranks.
    Tiktoken,
    /// Counted pieces.
    Counts,
    /// A SentencePiece model.
    SentencePiece,
    /// WordPiece's tokens, a line each.
    VocabTxt,
    /// None of these.
    Unknown,
}

impl Kind {
    /// Looks at the bytes of a file.
    pub fn of(bytes: &[u8]) -> Self {
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
            if is_flat_vocab(bytes) { Self::VocabJson } else { Self::TokenizerJson }
        } else if bytes.first() == Some(&0x0A) && bytes.iter().take(1024).any(|&byte| byte == 0) {
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

/// Whether an object's first value is a number, as that of no tokenizer.json is.
fn is_flat_vocab(bytes: &[u8]) -> bool {
    let inside = bytes.trim_ascii_start().get(1..).unwrap_or_default();
    let mut keys = serde_json::Deserializer::from_slice(inside).into_iter::<String>();
    let Some(Ok(key)) = keys.next() else { return false };
    let after = inside.get(keys.byte_offset()..).unwrap_or_default().trim_ascii_start();
    let value = after.strip_prefix(b":").unwrap_or_default().trim_ascii_start();
    key != "version" && value.first().is_some_and(u8::is_ascii_digit)
}

fn from_bytes(bytes: &[u8]) -> Result<Parts> {
    let not_a_tokenizer = |reason: &str| Err(Error::format("tokenizer", reason));
    match Kind::of(bytes) {
        Kind::Sentitok => container::read(bytes),
        Kind::TokenizerJson => tokenizer_json::read(utf8(bytes)?),
        Kind::Tiktoken => not_a_tokenizer(
            "this is a .tiktoken file, which holds no pattern; call Tokenizer.from_tiktoken(path, pattern, special_tokens)",
        ),
        Kind::VocabJson | Kind::MergesTxt => not_a_tokenizer(
            "this is one of the two files of GPT-2; give their directory, or call Tokenizer.from_gpt2(vocab, merges)",
        ),
        Kind::Counts => not_a_tokenizer("this is a file of counts; train on it with train-bpe --counts"),
        Kind::SentencePiece => not_a_tokenizer(
            "this is a SentencePiece model, which this release does not read; convert it to tokenizer.json with transformers",
        ),
        Kind::VocabTxt => {
            not_a_tokenizer("this is a vocab.txt of WordPiece, which this release does not read; only BPE is")
        }
        Kind::Unknown => not_a_tokenizer(
            "this is no known format; readable are tokenizer.json, .tiktoken, vocab.json with merges.txt, and sentitok's own",
        ),
    }
}

/// The names under which the two files of GPT-2 go.
const GPT2_FILES: [(&str, &str); 2] = [("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")];

fn from_directory(dir: &Path) -> Result<Tokenizer> {
    let file = dir.join("tokenizer.json");
    if file.is_file() {
        return Tokenizer::from_file(file);
    }
    for (vocab, merges) in GPT2_FILES {
        let (vocab, merges) = (dir.join(vocab), dir.join(merges));
        if vocab.is_file() && merges.is_file() {
            return Tokenizer::from_gpt2(vocab, merges);
        }
    }
    let unread =
        ["tokenizer.model", "spiece.model", "vocab.txt"].into_iter().find(|name| dir.join(name).is_file());
    Err(Error::format(
        dir.display().to_string(),
        match unread {
            Some(name) => format!("it holds {name}, which this release does not read, and no tokenizer.json"),
            None => "it holds neither tokenizer.json nor vocab.json with merges.txt".into(),
        },
    ))
}

/// Reads a file that is not larger than any tokenizer.
fn read(path: &Path) -> Result<Vec<u8>> {
    let io = |error| Error::io(path, error);
    let size = fs::metadata(path).map_err(io)?.len();
    if size > MAX_FILE_BYTES {
        return Err(Error::format(
            path.display().to_string(),
            format!("{size} bytes; a tokenizer has at most {MAX_FILE_BYTES}"),
        ));
    }
    fs::read(path).map_err(io)
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|error| Error::format("tokenizer", format!("not UTF-8 at byte {}", error.valid_up_to())))
}

/// Puts the file's name before the place in it.
fn in_file(error: Error, path: &Path) -> Error {
    let name = |what: String| format!("{}: {what}", path.display());
    match error {
        Error::Format { what, reason } => Error::Format { what: name(what), reason },
        Error::Version { what, found, supported } => Error::Version { what: name(what), found, supported },
        other => other,
    }
}
