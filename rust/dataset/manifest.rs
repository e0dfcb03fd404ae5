//! `manifest.json`: describes a dataset and how much of it is written.
//!
//! Rewritten whole or not at all after each shard; a run resumes from it. It contains nothing that
//! differs between two runs over the same data: no times, and no paths except the names of the
//! sources.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{DatasetOptions, Layout};
use crate::atomic;
use crate::error::{Error, Result};
use crate::tokenizer::Tokenizer;
use crate::tokenizer::added_tokens::Specials;
use crate::vocab::TokenId;

/// The file's name in the directory.
pub(super) const FILE: &str = "manifest.json";
const SCHEMA: &str = "sentitok.dataset";
const VERSION: u64 = 1;
/// The largest file that is read; a shard takes about 300 bytes.
const MAX_BYTES: u64 = 1 << 28;
/// The longest file name in a manifest; file systems allow no longer ones.
const MAX_NAME_BYTES: usize = 255;

/// The description of a directory of token ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Manifest {
    /// Always `sentitok.dataset`.
    pub schema: String,
    /// The version of the schema.
    pub version: u64,
    /// The name of the [`Layout`].
    pub layout: String,
    /// The numpy name of the type of ids; `text` for ids as text.
    pub dtype: String,
    /// One more than the greatest possible id.
    pub vocab_size: u64,
    /// [`Tokenizer::fingerprint`].
    pub tokenizer_sha256: String,
    /// The id written after each document.
    pub separator: Option<TokenId>,
    /// Whether the special tokens of the template are added to each document.
    pub add_special_tokens: bool,
    /// Which special tokens in the text are encoded as such.
    pub specials: Vec<String>,
    /// The maximum number of ids per document.
    pub max_tokens: Option<u64>,
    /// The seed of BPE-dropout.
    pub seed: u64,
    /// The maximum number of tokens per shard.
    pub shard_tokens: u64,
    /// The sources that were encoded.
    pub sources: Vec<SourceFile>,
    /// Whether the dataset is complete.
    pub complete: bool,
    /// The number of documents in all shards.
    pub documents: u64,
    /// The number of ids in all shards, including separators.
    pub tokens: u64,
    /// The shards in order. While nanoGPT's single file grows, its parts.
    pub shards: Vec<Shard>,
}

/// A source of documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct SourceFile {
    /// The path as given, or a name such as `<iterable>`.
    pub name: String,
    /// The size on disk, if known.
    pub bytes: Option<u64>,
}

/// One shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Shard {
    /// The file of ids.
    pub file: String,
    /// The file of document ends.
    pub index: Option<String>,
    /// The number of its first document in the source, from 0.
    pub first_document: u64,
    /// The number of documents.
    pub documents: u64,
    /// The number of ids.
    pub tokens: u64,
    /// The size of `file`.
    pub bytes: u64,
    /// SHA-256 of `file`; empty for a part of a file that still grows.
    pub sha256: String,
    /// SHA-256 of `index`; `None` without one, and in older manifests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_sha256: Option<String>,
}

impl Manifest {
    /// The manifest of a dataset without documents.
    pub(super) fn new(tokenizer: &Tokenizer, options: &DatasetOptions<'_>) -> Result<Self> {
        let vocab_size = u64::from(tokenizer.max_id()) + 1;
        Ok(Self {
            schema: SCHEMA.into(),
            version: VERSION,
            layout: options.layout.name().into(),
            dtype: dtype(options.layout, vocab_size)?.into(),
            vocab_size,
            tokenizer_sha256: tokenizer.fingerprint()?,
            separator: options.separator,
            add_special_tokens: options.encode.add_special_tokens,
            specials: match options.encode.specials {
                Specials::None => vec!["none".into()],
                Specials::All => vec!["all".into()],
                Specials::Raise => vec!["raise".into()],
                Specials::Only(names) => names.iter().map(|name| format!("only {name}")).collect(),
            },
            max_tokens: options.encode.max_tokens.map(|max| max as u64),
            seed: options.encode.seed,
            shard_tokens: options.shard_tokens,
            sources: options.sources.clone(),
            complete: false,
            documents: 0,
            tokens: 0,
            shards: Vec::new(),
        })
    }

    /// Reads the manifest of a directory; `None` if there is no manifest.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Format`] and [`Error::Version`] for a file that is not a valid
    /// manifest; [`Error::Option`] for a dataset of chats.
    pub fn load(dir: &Path) -> Result<Option<Self>> {
        let path = dir.join(FILE);
        let read = File::open(&path).and_then(|file| {
            let mut bytes = Vec::new();
            file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map(|_| bytes)
        });
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(path, error)),
        };
        if bytes.len() as u64 > MAX_BYTES {
            let reason = format!("it is larger than {MAX_BYTES} bytes, the most that a manifest has");
            return Err(Error::format(path.display().to_string(), reason));
        }
        let name = || path.display().to_string();
        let value: serde_json::Value =
            serde_json::from_slice(&bytes).map_err(|error| Error::format(name(), error.to_string()))?;
        if value.get("schema").and_then(|schema| schema.as_str()) != Some(SCHEMA) {
            return Err(Error::format(
                name(),
                format!("it is not a manifest of a dataset: $.schema is not {SCHEMA:?}"),
            ));
        }
        match value.get("version") {
            Some(version) if version.as_u64() == Some(VERSION) => {}
            version => {
                return Err(Error::Version {
                    what: name(),
                    found: version.map_or_else(|| "none".into(), ToString::to_string),
                    supported: VERSION.to_string(),
                });
            }
        }
        if value.get("chats").is_some() {
            return Err(Error::Option {
                option: "out_dir",
                value: dir.display().to_string(),
                reason: "it holds chats; choose another directory, or remove this one".to_owned(),
            });
        }
        let manifest: Self =
            serde_json::from_value(value).map_err(|error| Error::format(name(), error.to_string()))?;
        match manifest.flaw() {
            None => Ok(Some(manifest)),
            Some(flaw) => Err(Error::format(name(), flaw)),
        }
    }

    /// A fault that no valid manifest has.
    fn flaw(&self) -> Option<String> {
        let width = match self.dtype.as_str() {
            "uint16" => Some(2),
            "uint32" | "int32" => Some(4),
            _ => None,
        };
        let (mut documents, mut tokens) = (0u64, 0u64);
        for shard in &self.shards {
            // A manifest may come from anywhere, so it must not name files in other directories.
            let names = [Some(&shard.file), shard.index.as_ref()];
            if let Some(name) = names.into_iter().flatten().find(|name| !is_plain(name)) {
                return Some(format!("it names {name:?}, which is not the name of a file"));
            }
            if shard.first_document != documents {
                return Some(format!(
                    "{:?} begins with document {}, where document {documents} is due",
                    shard.file, shard.first_document
                ));
            }
            if width.is_some_and(|width| shard.tokens.checked_mul(width) != Some(shard.bytes)) {
                return Some(format!(
                    "{:?} has {} tokens in {} bytes of {}",
                    shard.file, shard.tokens, shard.bytes, self.dtype
                ));
            }
            (documents, tokens) =
                match (documents.checked_add(shard.documents), tokens.checked_add(shard.tokens)) {
                    (Some(documents), Some(tokens)) => (documents, tokens),
                    _ => return Some("its counts pass 2^64 - 1".to_owned()),
                };
        }
        ((documents, tokens) != (self.documents, self.tokens)).then(|| {
            format!(
                "its shards have {documents} documents and {tokens} tokens, where it says {} and {}",
                self.documents, self.tokens
            )
        })
    }

    /// Refuses to resume if the files of shards differ from the manifest.
    pub(super) fn check_files(&self, dir: &Path) -> Result<()> {
        for shard in &self.shards {
            let files =
                [Some((&shard.file, Some(shard.bytes))), shard.index.as_ref().map(|name| (name, None))];
            for (name, bytes) in files.into_iter().flatten() {
                let path = dir.join(name);
                let found = match std::fs::metadata(&path) {
                    Ok(found) if found.is_file() => match bytes {
                        Some(bytes) if bytes != found.len() => {
                            format!("it has {} bytes where the manifest says {bytes}", found.len())
                        }
                        _ => continue,
                    },
                    Ok(_) => "it is not a file".to_owned(),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                        "it is missing, and the manifest names it".to_owned()
                    }
                    Err(error) => return Err(Error::io(path, error)),
                };
                return Err(Error::format(
                    path.display().to_string(),
                    format!("{found}; start over with `resume` off"),
                ));
            }
        }
        Ok(())
    }

    /// Writes the manifest.
    pub(super) fn save(&self, dir: &Path) -> Result<()> {
        let mut bytes =
            serde_json::to_vec_pretty(self).map_err(|error| Error::Internal(error.to_string()))?;
        bytes.push(b'\n');
        atomic::write(&dir.join(FILE), &bytes)
    }

    /// Refuses to resume a dataset with different settings; the error names the difference.
    pub(super) fn check_same(&self, wanted: &Self, dir: &Path) -> Result<()> {
        let fields = |manifest: &Self| {
            [
                ("layout", manifest.layout.clone()),
                ("dtype", manifest.dtype.clone()),
                ("tokenizer_sha256", manifest.tokenizer_sha256.clone()),
                ("separator", json(&manifest.separator)),
                ("add_special_tokens", manifest.add_special_tokens.to_string()),
                ("specials", json(&manifest.specials)),
                ("max_tokens", json(&manifest.max_tokens)),
                ("seed", manifest.seed.to_string()),
                ("shard_tokens", manifest.shard_tokens.to_string()),
                ("sources", json(&manifest.sources)),
            ]
        };
        for ((name, there), (_, wanted)) in fields(self).into_iter().zip(fields(wanted)) {
            if there != wanted {
                return Err(Error::Option {
                    option: "out_dir",
                    value: dir.display().to_string(),
                    reason: format!(
                        "it holds another dataset: {name} is {there} there and {wanted} here; \
                         choose another directory, or start over with `resume` off"
                    ),
                });
            }
        }
        Ok(())
    }
}

/// Whether a name is that of a file in the same directory.
fn is_plain(name: &str) -> bool {
    let is_short = name.len() <= MAX_NAME_BYTES;
    is_short && !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0'])
}

/// A field as written in the file.
fn json(field: &impl Serialize) -> String {
    serde_json::to_string(field).unwrap_or_default()
}

/// The type of ids on disk.
fn dtype(layout: Layout, vocab_size: u64) -> Result<&'static str> {
    match layout {
        Layout::Text => Ok("text"),
        Layout::Sentitok | Layout::NanoGpt if vocab_size <= 1 << 16 => Ok("uint16"),
        Layout::Sentitok => Ok("uint32"),
        Layout::NanoGpt => Err(Error::NotRepresentable {
            format: "nanoGPT's .bin",
            reason: format!(
                "it has 16 bits an id, and ids go up to {}; choose the layout sentitok, or a smaller vocabulary",
                vocab_size - 1
            ),
        }),
        // The rule of Megatron, including its margin.
        Layout::Megatron if vocab_size < 65_500 => Ok("uint16"),
        Layout::Megatron => Ok("int32"),
    }
}
