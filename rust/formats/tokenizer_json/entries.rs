//! Streams of the long parts of a model: vocabularies and merges.
//!
//! Strings without escapes borrow from the file, so a vocabulary of 200,000 tokens needs no
//! allocation per token. The current path is tracked separately, so that errors of the JSON reader
//! include it.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::error::Error;
use crate::memory;
use crate::vocab::TokenId;

/// The path of the value that is being read.
#[derive(Default)]
pub(in crate::formats) struct Place {
    key: RefCell<String>,
    index: Cell<Option<usize>>,
}

impl Place {
    /// Sets the path.
    pub(in crate::formats) fn set(&self, key: &str) {
        self.index.set(None);
        let mut path = self.key.borrow_mut();
        path.clear();
        path.push_str(key);
    }

    /// Sets the index in the array at the path.
    pub(in crate::formats) fn at(&self, index: usize) {
        self.index.set(Some(index));
    }

    /// Adds the path to an error of the reader.
    pub(in crate::formats) fn error(&self, error: &serde_json::Error) -> Error {
        let index = self.index.get().map(|at| format!("[{at}]")).unwrap_or_default();
        Error::format(format!("{}{index}", self.key.borrow()), error.to_string())
    }
}

/// A string, borrowed if it has no escapes.
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

/// An object from token to id, as in vocab.json.
pub(in crate::formats) struct VocabSeed<'p>(pub(in crate::formats) &'p Place);

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
                Ok(id) => memory::push(&mut vocab, (token, id)).map_err(A::Error::custom)?,
                Err(error) => {
                    self.0.set(&format!("$.model.vocab[{:?}]", &*token));
                    return Err(error);
                }
            }
        }
        Ok(vocab)
    }
}

/// The vocabulary of a model.
pub(super) enum Entries<'a> {
    /// An object of tokens and ids.
    Ids(Vec<(Cow<'a, str>, TokenId)>),
    /// An array of tokens and their scores, in the order of ids.
    Scores(Vec<(Cow<'a, str>, f64)>),
}

/// Reads [`Entries`] of either kind.
pub(super) struct EntriesSeed<'p>(pub(super) &'p Place);

impl<'de> DeserializeSeed<'de> for EntriesSeed<'_> {
    type Value = Entries<'de>;

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EntriesSeed<'_> {
    type Value = Entries<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tokens and ids, or an array of tokens and scores")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<Self::Value, A::Error> {
        VocabSeed(self.0).visit_map(map).map(Entries::Ids)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        for at in 0.. {
            self.0.index.set(Some(at));
            match seq.next_element_seed(ScoredSeed)? {
                Some(entry) => memory::push(&mut entries, entry).map_err(A::Error::custom)?,
                None => break,
            }
        }
        Ok(Entries::Scores(entries))
    }
}

/// A token and its score.
struct ScoredSeed;

impl<'de> DeserializeSeed<'de> for ScoredSeed {
    type Value = (Cow<'de, str>, f64);

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> std::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ScoredSeed {
    type Value = (Cow<'de, str>, f64);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[token, score]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Self::Value, A::Error> {
        let token = seq.next_element_seed(TextSeed)?;
        let score = seq.next_element::<f64>()?;
        match (token, score, seq.next_element::<IgnoredAny>()?) {
            (Some(token), Some(score), None) => Ok((token, score)),
            _ => Err(A::Error::custom("an entry has two parts, a token and its score")),
        }
    }
}

/// Reads merges in either format.
pub(super) struct MergesSeed<'p>(pub(super) &'p Place);

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
                Some(Some(merge)) => memory::push(&mut merges, merge).map_err(A::Error::custom)?,
                Some(None) => {}
                None => break,
            }
        }
        Ok(merges)
    }
}

/// A merge in either format; `None` for the version line of merges.txt, which old files contain.
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
