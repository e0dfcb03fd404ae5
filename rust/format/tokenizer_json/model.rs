//! The `model` of tokenizer.json, read as a stream.
//!
//! Strings without escapes are borrowed from the file, so a vocabulary of
//! 200,000 tokens makes no allocation a token. The place being read is kept
//! aside, so that an error of the JSON reader still has its path.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::bpe::{Bpe, BpeOptions, MergeOrder, Unit};
use crate::byte_level;
use crate::error::{Error, Result};
use crate::format::spelled::{id_of, merges, vocab};
use crate::vocab::{TokenId, Vocab};

/// What reading is at.
#[derive(Default)]
pub(in crate::format) struct Place {
    key: RefCell<String>,
    index: Cell<Option<usize>>,
}

impl Place {
    /// Sets the path.
    pub(in crate::format) fn set(&self, key: &str) {
        self.index.set(None);
        let mut path = self.key.borrow_mut();
        path.clear();
        path.push_str(key);
    }

    /// The error of the reader, with the path.
    pub(in crate::format) fn error(&self, error: &serde_json::Error) -> Error {
        let index = self.index.get().map(|at| format!("[{at}]")).unwrap_or_default();
        Error::format(format!("{}{index}", self.key.borrow()), error.to_string())
    }
}

/// A model as the file has it.
#[derive(Default)]
pub(super) struct RawModel<'a> {
    options: BpeOptions,
    vocab: Option<Vec<(Cow<'a, str>, TokenId)>>,
    merges: Option<Vec<(Cow<'a, str>, Cow<'a, str>)>>,
}

/// Reads a [`RawModel`].
pub(super) struct ModelSeed<'p>(pub(super) &'p Place);

impl<'de> DeserializeSeed<'de> for ModelSeed<'_> {
    type Value = RawModel<'de>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ModelSeed<'_> {
    type Value = RawModel<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a model")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let place = self.0;
        let mut model = RawModel::default();
        let options = &mut model.options;
        while let Some(key) = map.next_key_seed(TextSeed)? {
            place.set(&format!("$.model.{key}"));
            match &*key {
                "type" => {
                    let kind: String = map.next_value()?;
                    if kind != "BPE" {
                        return Err(A::Error::custom(format!(
                            "{kind:?} is not supported in this release; supported: BPE"
                        )));
                    }
                }
                "dropout" => options.dropout = map.next_value()?,
                "unk_token" => options.unk_token = map.next_value()?,
                "continuing_subword_prefix" => options.continuing_subword_prefix = map.next_value()?,
                "end_of_word_suffix" => options.end_of_word_suffix = map.next_value()?,
                "fuse_unk" => options.fuse_unk = map.next_value::<Option<bool>>()?.unwrap_or(false),
                "byte_fallback" => options.byte_fallback = map.next_value::<Option<bool>>()?.unwrap_or(false),
                "ignore_merges" => options.ignore_merges = map.next_value::<Option<bool>>()?.unwrap_or(false),
                "vocab" => model.vocab = Some(map.next_value_seed(VocabSeed(place))?),
                "merges" => model.merges = Some(map.next_value_seed(MergesSeed(place))?),
                // Fields it does not know change nothing for tokenizers either.
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        place.set("$.model");
        Ok(model)
    }
}

/// A string, borrowed where it has no escapes.
pub(super) struct TextSeed;

impl<'de> DeserializeSeed<'de> for TextSeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for TextSeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> std::result::Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> std::result::Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// An object of token to id; vocab.json is one alone.
pub(in crate::format) struct VocabSeed<'p>(pub(in crate::format) &'p Place);

impl<'de> DeserializeSeed<'de> for VocabSeed<'_> {
    type Value = Vec<(Cow<'de, str>, TokenId)>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for VocabSeed<'_> {
    type Value = Vec<(Cow<'de, str>, TokenId)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tokens and ids")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let mut vocab = Vec::new();
        while let Some(token) = map.next_key_seed(TextSeed)? {
            match map.next_value::<TokenId>() {
                Ok(id) => vocab.push((token, id)),
                Err(error) => {
                    self.0.set(&format!("$.model.vocab[{:?}]", &*token));
                    return Err(error);
                }
            }
        }
        Ok(vocab)
    }
}

struct MergesSeed<'p>(&'p Place);

impl<'de> DeserializeSeed<'de> for MergesSeed<'_> {
    type Value = Vec<(Cow<'de, str>, Cow<'de, str>)>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for MergesSeed<'_> {
    type Value = Vec<(Cow<'de, str>, Cow<'de, str>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of merges")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Self::Value, A::Error> {
        let mut merges = Vec::new();
        for at in 0.. {
            self.0.index.set(Some(at));
            match seq.next_element_seed(MergeSeed)? {
                Some(Some(merge)) => merges.push(merge),
                Some(None) => {}
                None => break,
            }
        }
        Ok(merges)
    }
}

/// A merge in either spelling; `None` for the version line of merges.txt,
/// which old files carried along.
struct MergeSeed;

impl<'de> DeserializeSeed<'de> for MergeSeed {
    type Value = Option<(Cow<'de, str>, Cow<'de, str>)>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MergeSeed {
    type Value = Option<(Cow<'de, str>, Cow<'de, str>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a merge: \"a b\" or [\"a\", \"b\"]")
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, text: &'de str) -> std::result::Result<Self::Value, E> {
        Ok(split_merge(text)?.map(|(left, right)| (Cow::Borrowed(left), Cow::Borrowed(right))))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Self::Value, E> {
        Ok(split_merge(text)?
            .map(|(left, right)| (Cow::Owned(left.to_owned()), Cow::Owned(right.to_owned()))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Self::Value, A::Error> {
        let left = seq.next_element_seed(TextSeed)?;
        let right = seq.next_element_seed(TextSeed)?;
        match (left, right, seq.next_element::<IgnoredAny>()?) {
            (Some(left), Some(right), None) => Ok(Some((left, right))),
            _ => Err(A::Error::custom("a merge has two parts")),
        }
    }
}

fn split_merge<E: serde::de::Error>(text: &str) -> std::result::Result<Option<(&str, &str)>, E> {
    if text.starts_with("#version") {
        return Ok(None);
    }
    match text.split_once(' ') {
        Some((left, right)) if !right.contains(' ') => Ok(Some((left, right))),
        _ => Err(E::custom(format!("expected two tokens with one space between them, found {text:?}"))),
    }
}

/// The tokens of a model, and what stands in its vocabulary without being one.
pub(super) struct Tokens {
    pub(super) vocab: Vocab,
    /// Added tokens that no bytes spell, such as `<a b>` beside ByteLevel.
    pub(super) outside: HashMap<String, TokenId>,
}

impl Tokens {
    /// The id of a token as the file spells it.
    pub(super) fn id(&self, spelling: &str, unit: Unit) -> Option<TokenId> {
        id_of(&self.vocab, spelling, unit).or_else(|| self.outside.get(spelling).copied())
    }

    /// The number of entries in the file's vocabulary.
    pub(super) fn len(&self) -> usize {
        self.vocab.len() + self.outside.len()
    }
}

impl RawModel<'_> {
    /// The tokens; `added` are the contents of the added tokens.
    pub(super) fn tokens(&mut self, unit: Unit, added: &HashSet<&str>) -> Result<Tokens> {
        let Some(mut spelled) = self.vocab.take() else {
            return Err(Error::format("$.model", "the field \"vocab\" is missing"));
        };
        let mut outside = HashMap::new();
        if unit == Unit::Bytes && added.iter().any(|content| byte_level::to_bytes(content).is_none()) {
            spelled.retain(|(spelling, id)| {
                let is_outside = added.contains(&**spelling) && byte_level::to_bytes(spelling).is_none();
                if is_outside {
                    outside.insert(spelling.to_string(), *id);
                }
                !is_outside
            });
        }
        let vocab = vocab(&spelled, unit, "$.model.vocab")?;
        if let Some((token, id)) = outside.iter().find(|(_, id)| vocab.bytes(**id).is_some()) {
            return Err(Error::format("$.model.vocab", format!("id {id} stands twice, once for {token:?}")));
        }
        Ok(Tokens { vocab, outside })
    }

    /// Checks the model and builds its tables; `ranks` leaves the merges out.
    pub(super) fn build(self, vocab: Vocab, unit: Unit, ranks: bool) -> Result<Bpe> {
        let mut options = BpeOptions { unit, ..self.options };
        if unit == Unit::Bytes {
            check_byte_level(&options, &vocab)?;
        }
        if ranks {
            options.ignore_merges = false;
            return Bpe::new(vocab, MergeOrder::Ranks, options);
        }
        let Some(spelled) = self.merges else {
            return Err(Error::format(
                "$.model",
                "the field \"merges\" is missing: no BPE model; other models are not supported in this release",
            ));
        };
        let merges = merges(&spelled, &vocab, unit, "$.model.merges")?;
        Bpe::new(vocab, MergeOrder::List(merges), options)
    }
}

/// Byte-level tokens and the options that add to them must agree on bytes.
fn check_byte_level(options: &BpeOptions, vocab: &Vocab) -> Result<()> {
    let affixes = [
        ("continuing_subword_prefix", &options.continuing_subword_prefix),
        ("end_of_word_suffix", &options.end_of_word_suffix),
    ];
    for (name, affix) in affixes {
        if let Some(text) = affix.as_deref().filter(|text| !text.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            return Err(Error::format(
                format!("$.model.{name}"),
                format!("{text:?} beside ByteLevel is not supported; only visible ASCII is"),
            ));
        }
    }
    if options.byte_fallback && !(0..=255u8).all(|byte| vocab.id(&[byte]).is_some()) {
        return Err(Error::format(
            "$.model.byte_fallback",
            "beside ByteLevel it is not supported unless all 256 bytes are tokens",
        ));
    }
    Ok(())
}
