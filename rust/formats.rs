//! Tokenizers on disk: recognises, reads and writes their files.
//!
//! The content of a file decides its format, never the name. Each format is a module that converts
//! bytes to the parts of a tokenizer and back. This file finds the files, names them in errors, and
//! writes all of them or none.

pub mod bert_vocab;
mod container;
pub mod gpt2;
mod huggingface;
mod kind;
pub mod protobuf;
mod reading;
pub mod sentencepiece;
pub mod sentencepiece_tokenizer;
#[cfg(feature = "train")]
mod sentencepiece_trained;
mod spelled;
mod tekken;
pub mod tiktoken;
pub mod tokenizer_json;
pub mod verify;

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sha2::{Digest, Sha256};

pub use self::huggingface::roles;
pub use self::kind::FileKind;
use self::reading::{read, read_while};
use crate::atomic;
use crate::error::{Error, Result};
use crate::memory::{self, OF_READING};
use crate::pipeline::hex;
use crate::pre_tokenizer::PreTokenizer;
use crate::pre_tokenizer::users::is_vocabulary;
use crate::text::{self, spelling::did_you_mean};
use crate::tokenizer::{CallDefaults, Parts, Tokenizer};
use crate::vocab::TokenId;

/// The largest file that is read. The largest known tokenizer has 40 MB.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// tokenizer.json of Hugging Face.
    TokenizerJson,
    /// A directory with tokenizer.json, tokenizer_config.json and special_tokens_map.json.
    HuggingFace,
    /// The ranks of tiktoken.
    Tiktoken,
    /// Mistral's file with ranks, pattern and special tokens.
    Tekken,
    /// A directory with vocab.json and merges.txt.
    Gpt2,
    /// The model file of SentencePiece.
    SentencePiece,
    /// The tokens of WordPiece, one per line.
    BertVocab,
    /// The file format of sentitok.
    Sentitok,
}

impl Format {
    /// The formats with their names.
    pub const NAMES: [(&'static str, Self); 8] = [
        ("tokenizer.json", Self::TokenizerJson),
        ("huggingface", Self::HuggingFace),
        ("tiktoken", Self::Tiktoken),
        ("tekken.json", Self::Tekken),
        ("gpt2", Self::Gpt2),
        ("sentencepiece", Self::SentencePiece),
        ("vocab.txt", Self::BertVocab),
        ("sentitok", Self::Sentitok),
    ];

    /// The format for a path to write to, by its suffix or name.
    ///
    /// # Errors
    /// [`Error::Option`] for a suffix that no format has.
    pub fn of_path(path: &Path) -> Result<Self> {
        match path.extension().and_then(|suffix| suffix.to_str()) {
            _ if path.is_dir() => Ok(Self::HuggingFace),
            // Mistral names its files tekken.json or, for example, tekken_240911.json.
            Some("json") if path.file_stem().is_some_and(|name| name.as_encoded_bytes().starts_with(b"tekken")) => Ok(Self::Tekken),
            Some("json") => Ok(Self::TokenizerJson),
            Some("tiktoken") => Ok(Self::Tiktoken),
            Some("model") => Ok(Self::SentencePiece),
            Some("txt") => Ok(Self::BertVocab),
            Some("sentitok") => Ok(Self::Sentitok),
            None => Ok(Self::HuggingFace),
            Some(_) => Err(Error::Option {
                option: "path",
                value: path.display().to_string(),
                reason:
                    "its suffix means no format; end it in .json, .tiktoken, .model, .txt or .sentitok, or name the format"
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
                reason: format!(
                    "it is one of {}{}",
                    Self::NAMES.map(|(name, _)| name).join(", "),
                    did_you_mean(name, Self::NAMES.map(|(name, _)| name))
                ),
            }
        })
    }
}

/// The result of [`Tokenizer::save`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saved {
    /// The files written.
    pub files: Vec<PathBuf>,
    /// The parts that the format cannot store, in sentences. The ids of plain text are the same in any case.
    pub left_out: Vec<String>,
}

impl Tokenizer {
    /// Reads a tokenizer from a file, or from a directory of a model.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] and [`Error::Version`] with the file and the position in
    /// it, or with the kind of the file if it is not a tokenizer.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if path.is_dir() {
            return from_directory(path);
        }
        Self::from_bytes(&tokenizer_bytes(path)?).map_err(|error| in_file(error, path))
    }

    /// Reads a tokenizer from the bytes of a file, or from [`Tokenizer::to_bytes`].
    ///
    /// # Errors
    /// As [`Tokenizer::from_file`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        memory::check_room(bytes.len(), OF_READING)?;
        from_bytes(bytes).and_then(Self::new)
    }

    /// Reads a file of ranks. The file lacks the pattern and the special tokens;
    /// [`tiktoken::pre_tokenizer`] converts a pattern to a pre-tokenizer.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Format`].
    pub fn from_tiktoken(
        path: impl AsRef<Path>,
        pre_tokenizer: PreTokenizer,
        special_tokens: &[(String, TokenId)],
    ) -> Result<Self> {
        let path = path.as_ref();
        let bytes = read(path)?;
        tiktoken::read(&bytes, pre_tokenizer, special_tokens)
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

    /// Reads BERT's vocab.txt. `lowercase` says whether text is lowered first.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Format`].
    pub fn from_bert_vocab(
        path: impl AsRef<Path>,
        lowercase: bool,
        clean_up: bert_vocab::CleanUp,
    ) -> Result<Self> {
        let path = path.as_ref();
        let bytes = read(path)?;
        utf8(&bytes)
            .and_then(|text| bert_vocab::read(text, lowercase, clean_up)?.into_parts())
            .and_then(Self::new)
            .map_err(|error| in_file(error, path))
    }

    /// Reads a SentencePiece model.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Format`].
    pub fn from_sentencepiece(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = read(path)?;
        sentencepiece_tokenizer::read(&bytes).and_then(Self::new).map_err(|error| in_file(error, path))
    }

    /// The whole tokenizer in bytes. Equal tokenizers have equal bytes.
    ///
    /// # Errors
    /// [`Error::NotRepresentable`] if a token of characters is not UTF-8.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.model().vocab().check_room()?;
        container::write(self, self.call_defaults())
    }

    /// SHA-256 of [`Tokenizer::to_bytes`] without [`Tokenizer::call_defaults`], in hexadecimal. It
    /// covers everything that decides ids and text. A conversion to a format that cannot store a
    /// part, such as sums in 64 bits in SentencePiece's, changes it; docs/reference/formats.md lists these
    /// parts.
    ///
    /// # Errors
    /// As [`Tokenizer::to_bytes`].
    pub fn fingerprint(&self) -> Result<String> {
        self.model().vocab().check_room()?;
        Ok(hex(&Sha256::digest(container::write(self, &CallDefaults::default())?)))
    }

    /// Writes a tokenizer. Without a format the path decides. Creates directories as needed.
    ///
    /// # Errors
    /// [`Error::NotRepresentable`] if the format would change ids;
    /// [`Error::Io`], [`Error::Option`].
    pub fn save(&self, path: impl AsRef<Path>, format: Option<Format>) -> Result<Saved> {
        let path = path.as_ref();
        let format = format.map_or_else(|| Format::of_path(path), Ok)?;
        self.model().vocab().check_room()?;
        let mut left_out = Vec::new();
        // Builds the contents of all files before it writes the first one.
        let files: Vec<(PathBuf, Vec<u8>)> = match format {
            Format::TokenizerJson => {
                left_out = tokenizer_json::differences(self);
                vec![(path.into(), tokenizer_json::write(self)?)]
            }
            Format::Sentitok => vec![(path.into(), self.to_bytes()?)],
            Format::BertVocab => {
                let written = bert_vocab::write_tokenizer(self)?;
                left_out = written.left_out;
                vec![(path.into(), written.bytes)]
            }
            Format::SentencePiece => {
                let written = sentencepiece_tokenizer::write(self)?;
                left_out = written.left_out;
                vec![(path.into(), written.bytes)]
            }
            Format::Tiktoken => {
                let pattern = self.pipeline().pre_tokenizer.name();
                left_out.push(match self.added_tokens().len() {
                    0 => format!("the pattern ({pattern}) is not in the file: give it to the program that reads it"),
                    n => format!(
                        "the pattern ({pattern}) and the {n} added token(s) are not in the file: give them to the program that reads it"
                    ),
                });
                vec![(path.into(), tiktoken::write(self)?)]
            }
            Format::Tekken => {
                let written = tekken::write(self)?;
                left_out = written.left_out;
                vec![(path.into(), written.bytes)]
            }
            Format::HuggingFace => {
                left_out = tokenizer_json::differences(self);
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
        let says_it = matches!(format, Format::TokenizerJson | Format::HuggingFace | Format::Sentitok);
        if !says_it && !self.call_defaults().is_empty() {
            left_out.push("truncation and padding are left out: give them to each call".into());
        }
        for (file, bytes) in &files {
            if let Some(dir) = file.parent().filter(|dir| !dir.as_os_str().is_empty()) {
                fs::create_dir_all(dir).map_err(|error| Error::io(dir, error))?;
            }
            atomic::write(file, bytes)?;
        }
        Ok(Saved { files: files.into_iter().map(|(file, _)| file).collect(), left_out })
    }
}

/// The error for a name such as `cl100k_base` that is not a file.
fn missing_vocabulary(path: &Path) -> Option<Error> {
    let name = path.file_name()?.to_str()?;
    let is_file = Format::of_path(path).is_ok_and(|format| format != Format::HuggingFace);
    if is_file || path.exists() || !is_vocabulary(name) {
        return None;
    }
    let reason = "No such file or directory; vocabularies do not come with sentitok: download the tokenizer.json, .model or .tiktoken file and give its path";
    Some(Error::io(path, std::io::Error::new(std::io::ErrorKind::NotFound, reason)))
}

fn from_bytes(bytes: &[u8]) -> Result<Parts> {
    let not_a_tokenizer = |reason: &str| Err(Error::format("tokenizer", reason));
    if wide_encoding(bytes).is_some() {
        utf8(bytes)?;
    }
    match FileKind::of(bytes) {
        FileKind::Sentitok => container::read(bytes),
        FileKind::TokenizerJson => tokenizer_json::read(utf8(bytes)?),
        FileKind::Tekken => tekken::read(utf8(bytes)?),
        FileKind::Tiktoken => not_a_tokenizer(
            "this is a .tiktoken file, which holds no pattern; call `Tokenizer::from_tiktoken`",
        ),
        FileKind::VocabJson | FileKind::MergesTxt => not_a_tokenizer(
            "this is one of the two files of GPT-2; give their directory, or call `Tokenizer::from_gpt2`",
        ),
        FileKind::Counts => {
            not_a_tokenizer("this is a file of counts; train on it by `Tokenizer::train_bpe`")
        }
        FileKind::SentencePiece => sentencepiece_tokenizer::read(bytes),
        FileKind::VocabTxt => not_a_tokenizer(
            "this is a vocab.txt of WordPiece, which does not say whether text is lowered; \
             call `Tokenizer::from_bert_vocab`",
        ),
        FileKind::Unknown => not_a_tokenizer(
            "this is not a known format; readable are tokenizer.json, tekken.json, a SentencePiece .model, .tiktoken, vocab.json with merges.txt, vocab.txt of WordPiece, and sentitok's own",
        ),
    }
}

/// The names of the two files of GPT-2.
const GPT2_FILES: [(&str, &str); 2] = [("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")];

/// The names of a SentencePiece model or a file of ranks.
const MODEL_FILES: [&str; 4] = ["tokenizer.model", "spiece.model", "tiktoken.model", "qwen.tiktoken"];

/// The files that contain a whole tokenizer. The first one found is read.
const WHOLE_FILES: [&str; 2] = ["tokenizer.json", "tekken.json"];

fn from_directory(dir: &Path) -> Result<Tokenizer> {
    if let Some(file) = WHOLE_FILES.map(|name| dir.join(name)).into_iter().find(|file| file.is_file()) {
        return Tokenizer::from_file(file);
    }
    for (vocab, merges) in GPT2_FILES {
        let (vocab, merges) = (dir.join(vocab), dir.join(merges));
        if vocab.is_file() && merges.is_file() {
            return Tokenizer::from_gpt2(vocab, merges);
        }
    }
    // Decided by content, because `tokenizer.model` may also be a file of ranks.
    if let Some(file) = MODEL_FILES.map(|name| dir.join(name)).into_iter().find(|file| file.is_file()) {
        return Tokenizer::from_file(file);
    }
    let names = "tokenizer.json, tekken.json, vocab.json with merges.txt, encoder.json with vocab.bpe, tokenizer.model, spiece.model, tiktoken.model or qwen.tiktoken";
    Err(Error::format(
        dir.display().to_string(),
        if dir.join("vocab.txt").is_file() {
            format!(
                "it holds vocab.txt, which does not say whether text is lowered, and none of {names}; \
                 call `Tokenizer::from_bert_vocab`"
            )
        } else {
            format!("it holds none of {names}")
        },
    ))
}

/// The text of a file, which must be UTF-8 without a byte order mark: tokenizers and transformers
/// refuse the mark in JSON, and read it as a part of the first token of merges.txt and vocab.txt.
fn utf8(bytes: &[u8]) -> Result<&str> {
    if bytes.starts_with(UTF8_MARK) {
        return Err(Error::format(
            "tokenizer",
            "the file begins with a byte order mark (EF BB BF), which is not part of a tokenizer; \
             save it as UTF-8 without the mark",
        ));
    }
    if let Some(encoding) = wide_encoding(bytes) {
        return Err(Error::format("tokenizer", format!("the file is {encoding}; save it as UTF-8")));
    }
    text::from_utf8(bytes)
        .or_else(|_| std::str::from_utf8(bytes))
        .map_err(|error| Error::format("tokenizer", format!("not UTF-8 at byte {}", error.valid_up_to())))
}

/// The byte order mark that some editors write before UTF-8.
const UTF8_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The encoding of a text in units of two or four bytes, recognised by its byte order mark or by
/// two leading ASCII characters.
fn wide_encoding(bytes: &[u8]) -> Option<&'static str> {
    Some(match *bytes {
        [0xFF, 0xFE, 0, 0, ..] => "UTF-32 (little-endian)",
        [0, 0, 0xFE, 0xFF, ..] => "UTF-32 (big-endian)",
        [0xFF, 0xFE, ..] => "UTF-16 (little-endian)",
        [0xFE, 0xFF, ..] => "UTF-16 (big-endian)",
        [a, 0, b, 0, ..] if a != 0 && b != 0 => "UTF-16 (little-endian)",
        [0, a, 0, b, ..] if a != 0 && b != 0 => "UTF-16 (big-endian)",
        _ => return None,
    })
}

/// The bytes of a file that contains a tokenizer.
pub(crate) fn tokenizer_bytes(path: &Path) -> Result<Vec<u8>> {
    if let Some(error) = missing_vocabulary(path) {
        return Err(error);
    }
    // Stops at an unknown beginning, because the input may be endless.
    read_while(path, |start| FileKind::of(start) != FileKind::Unknown)
}

/// Names the file in an error of its content.
pub(crate) fn in_file(error: Error, path: &Path) -> Error {
    let name = |what: String| format!("{}: {what}", path.display());
    match error {
        Error::Format { what, reason } => Error::Format { what: name(what), reason },
        Error::Version { what, found, supported } => Error::Version { what: name(what), found, supported },
        other => other,
    }
}
