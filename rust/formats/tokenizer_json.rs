//! tokenizer.json, the file of Hugging Face's `tokenizers` 0.23.
//!
//! Files are read as that library reads them and written as it writes them, byte for byte. A
//! feature that this crate does not support is refused by its path and name; no file is read in
//! part. Truncation and padding are arguments of calls in this crate: the settings in the file are
//! kept for callers that ask for them, and written again.

mod added;
mod decoders;
pub(super) mod entries;
mod leading_marks;
mod model;
pub(super) mod node;
mod normalizers;
mod pre_tokenizers;
mod sentencepiece_steps;
mod write;
mod write_normalizers;
mod write_unigram;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize as _;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;

use self::entries::{Place, TextSeed};
pub(super) use self::model::ModelExtras;
use self::model::{ModelSeed, RawModel};
use self::node::Node;
pub(super) use self::write::Reader;
pub use self::write::spelling;
pub use self::write_normalizers::differences;
use crate::error::{Error, Result};
use crate::memory;
use crate::models::bpe::Unit;
use crate::pipeline::Pipeline;
use crate::tokenizer::decoder::Decoder;
use crate::tokenizer::template::Template;
use crate::tokenizer::{CallDefaults, Parts, Tokenizer};
use crate::vocab::TokenId;

/// The format's name in messages.
pub(super) const NAME: &str = "tokenizer.json";

/// The header of a sentitok file: what tokenizer.json cannot express.
pub(super) struct Header {
    pub(super) model: ModelExtras,
    pub(super) unit: Unit,
    pub(super) pipeline: Pipeline,
    pub(super) decoder: Decoder,
}

/// Reads a tokenizer.
///
/// # Errors
/// [`Error::Format`] with the path, the expected and the found value;
/// [`Error::Version`] for a version other than 1.0.
pub fn read(text: &str) -> Result<Parts> {
    read_with(text, None)
}

/// Writes a tokenizer.
///
/// # Errors
/// [`Error::NotRepresentable`], which names what tokenizers cannot represent.
pub fn write(tokenizer: &Tokenizer) -> Result<Vec<u8>> {
    let document = write::document(tokenizer, tokenizer.call_defaults(), Reader::HuggingFace)?;
    let mut out = Vec::new();
    serde_json::to_writer_pretty(Written(&mut out), &document).map_err(unwritten)?;
    Ok(out)
}

/// Appends the JSON that [`read_with`] reads after a header.
pub(super) fn write_compact(tokenizer: &Tokenizer, defaults: &CallDefaults, out: &mut Vec<u8>) -> Result<()> {
    let document = write::document(tokenizer, defaults, Reader::Sentitok)?;
    serde_json::to_writer(Written(out), &document).map_err(unwritten)
}

/// Writes JSON into memory. A failed allocation is an error of the kind `OutOfMemory`.
struct Written<'a>(&'a mut Vec<u8>);

impl std::io::Write for Written<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        memory::extend(self.0, bytes).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Why JSON could not be written: memory ran out, or a bug of this crate.
fn unwritten(error: serde_json::Error) -> Error {
    if error.is_io() { memory::missing::<u8>(1) } else { Error::Internal(error.to_string()) }
}

/// Reads a tokenizer. A header takes precedence over the file.
pub(super) fn read_with(text: &str, header: Option<Header>) -> Result<Parts> {
    let place = Place::default();
    place.set("$");
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let document = DocumentSeed(&place)
        .deserialize(&mut deserializer)
        .and_then(|document| deserializer.end().map(|()| document))
        .map_err(|error| place.error(&error))?;
    document.into_parts(header)
}

/// The file: its small parts as parsed values, the model as raw JSON.
#[derive(Default)]
struct Document<'a> {
    parts: Vec<(&'static str, Value)>,
    model: Option<RawModel<'a>>,
}

const KEYS: [&str; 8] = [
    "version",
    "truncation",
    "padding",
    "added_tokens",
    "normalizer",
    "pre_tokenizer",
    "post_processor",
    "decoder",
];

struct DocumentSeed<'p>(&'p Place);

impl<'de> DeserializeSeed<'de> for DocumentSeed<'_> {
    type Value = Document<'de>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for DocumentSeed<'_> {
    type Value = Document<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a model")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let mut document = Document::default();
        while let Some(key) = map.next_key_seed(TextSeed)? {
            self.0.set(&format!("$.{key}"));
            if key == "model" {
                document.model = Some(map.next_value_seed(ModelSeed(self.0))?);
            } else if let Some(known) = KEYS.iter().find(|known| **known == key) {
                document.parts.push((known, map.next_value()?));
            } else {
                return Err(A::Error::custom(format!(
                    "this field is not known; the fields are {} and model",
                    KEYS.join(", ")
                )));
            }
            self.0.set("$");
        }
        Ok(document)
    }
}

impl Document<'_> {
    /// A part that is present and not null. Of duplicates the last counts.
    fn part(&self, key: &str) -> Option<Node<'_>> {
        let (key, value) = self.parts.iter().rfind(|(known, _)| *known == key)?;
        Some(Node::top(key, value)).filter(|node| !node.is_null())
    }

    fn into_parts(mut self, header: Option<Header>) -> Result<Parts> {
        self.check_version()?;
        let Some(mut model) = self.model.take() else {
            return Err(Error::format("$", "the field \"model\" is missing: not a tokenizer.json"));
        };
        let (normalizer, is_spelled) = normalizers::read(self.part("normalizer").as_ref())?;
        let template = self
            .part("post_processor")
            .map_or_else(|| Ok(Template::default()), |node| added::template(&node))?;
        let from_file = header.is_none();
        let header = match header {
            Some(header) => header,
            None => {
                let (pre_tokenizer, unit) =
                    pre_tokenizers::read(self.part("pre_tokenizer").as_ref(), is_spelled, model.is_bpe())?;
                let decoder = decoders::read(self.part("decoder").as_ref(), unit)?;
                Header {
                    model: ModelExtras::Merges,
                    unit,
                    pipeline: Pipeline { normalizer, pre_tokenizer },
                    decoder,
                }
            }
        };
        let added_node = self.part("added_tokens");
        let mut added = added_node.as_ref().map_or_else(|| Ok(Vec::new()), added::tokens)?;
        let contents: HashSet<&str> = added.iter().map(|token| token.content.as_str()).collect();
        let tokens = model.tokens(header.unit, &contents)?;
        if let Some(node) = added_node {
            if from_file {
                added::assign_ids(&node, &mut added, &tokens, header.unit)?;
            }
            if let Some(token) = added.iter().find(|token| token.id == TokenId::MAX) {
                return Err(node.error(format!("id {} is too large; ids end below it", token.id)));
            }
            if from_file && is_spelled {
                added::check_spelled(&node, &added)?;
            }
        }
        let defaults = CallDefaults {
            truncation: self.call_default("truncation")?,
            padding: self.call_default("padding")?,
        };
        let beside = (!from_file).then_some(header.model);
        let model = model.build(tokens.vocab, header.unit, beside)?;
        Ok(Parts {
            pipeline: header.pipeline,
            model: Arc::new(model),
            added,
            template,
            decoder: header.decoder,
            defaults,
        })
    }

    fn check_version(&self) -> Result<()> {
        match self.part("version") {
            None => Ok(()),
            Some(node) => match node.str()? {
                "1.0" => Ok(()),
                found => Err(Error::Version {
                    what: "tokenizer.json, $.version".into(),
                    found: found.into(),
                    supported: "1.0".into(),
                }),
            },
        }
    }

    /// A default for calls from the file. Of duplicates the last counts.
    fn call_default<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        let Some((key, value)) = self.parts.iter().rfind(|(known, _)| *known == key) else { return Ok(None) };
        Option::deserialize(value).map_err(|error| {
            Error::format(
                format!("$.{key}"),
                format!("{error}; mend it, or write null: calls have arguments for it"),
            )
        })
    }
}
