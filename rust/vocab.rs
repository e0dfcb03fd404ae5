//! `Vocab`: maps the bytes of tokens to ids and back.
//!
//! All bytes are in one buffer, and the index contains ids only, so a vocabulary of 200,000 tokens
//! needs three allocations. Ids may have small gaps. Special tokens outside the model are in
//! `added_tokens`.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};

/// The memory to check for before a vocabulary is read, written, pruned or checked: [`WORK`] bytes
/// for each of its bytes, where a token counts as [`WORK_TOKEN`] bytes more. Three times what
/// vocabularies of 150,000 tokens needed.
const WORK_TOKEN: usize = 16;
const WORK: usize = 32;

/// The units into which a piece is cut before merging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, as in the byte-level BPE of GPT-2. In training they are numbered by the code points
    /// of their [`crate::text::byte_level`] characters.
    #[default]
    Bytes,
    /// Unicode characters, numbered by code point.
    Chars,
}

/// The id of a token.
pub type TokenId = u32;

/// The kind of a SentencePiece piece.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PieceKind {
    /// Found in text, with its score.
    #[default]
    Normal,
    /// Represents characters that are in no piece.
    Unknown,
    /// Frames data; never found in text.
    Control,
    /// Defined by the user; takes precedence over all normal pieces.
    UserDefined,
    /// Not used.
    Unused,
    /// Represents one byte of an unknown character.
    Byte,
}

impl PieceKind {
    /// Whether the piece can be found in text.
    pub(crate) fn is_in_text(self) -> bool {
        matches!(self, Self::Normal | Self::UserDefined)
    }
}

/// An immutable two-way table of tokens.
///
/// ```
/// let vocab = sentitok::Vocab::from_tokens(["a", "b", "ab"]).unwrap();
/// assert_eq!(vocab.id(b"ab"), Some(2));
/// assert_eq!(vocab.bytes(1), Some(&b"b"[..]));
/// ```
#[derive(Clone, Default)]
pub struct Vocab {
    slab: Vec<u8>,
    /// The start of the bytes of each id; one entry more than there are ids.
    starts: Vec<u32>,
    /// Whether each id has a token; ids without one are gaps.
    present: Vec<bool>,
    /// The id of each token, with the upper half of its hash, which distinguishes most tokens
    /// without reading their bytes.
    index: HashTable<(u32, TokenId)>,
    hasher: DefaultHashBuilder,
    len: usize,
    /// The ids of tokens that no text is encoded as, ascending. They are not in the index.
    unreachable: Vec<TokenId>,
}

impl Vocab {
    /// The maximum number of gaps. It bounds memory for a small file with a huge id.
    pub const MAX_GAPS: usize = 1 << 20;

    /// Builds a vocabulary in which the id of a token is its position.
    ///
    /// # Errors
    /// [`Error::Format`] for a token that occurs twice, or more than 4 GiB of tokens.
    pub fn from_tokens<T: AsRef<[u8]>>(tokens: impl IntoIterator<Item = T>) -> Result<Self> {
        let tokens = tokens.into_iter();
        let mut builder = VocabBuilder::with_capacity(tokens.size_hint().0)?;
        for token in tokens {
            builder.push(Some(token.as_ref()))?;
        }
        Ok(builder.finish())
    }

    /// Builds a vocabulary from tokens with ids, in any order.
    ///
    /// # Errors
    /// [`Error::Format`] for a token or an id that occurs twice, or an id so large that there are
    /// more than [`Vocab::MAX_GAPS`] gaps.
    pub fn from_pairs<T: AsRef<[u8]>>(pairs: Vec<(T, TokenId)>) -> Result<Self> {
        Self::with_unreachable(pairs, Vec::new())
    }

    /// As [`Vocab::from_pairs`], with tokens that no text is encoded as: the ids in `unreachable`
    /// have bytes, but are not in the index.
    pub(crate) fn with_unreachable<T: AsRef<[u8]>>(
        mut pairs: Vec<(T, TokenId)>,
        mut unreachable: Vec<TokenId>,
    ) -> Result<Self> {
        if !pairs.is_sorted_by_key(|pair| pair.1) {
            // Stable order is not needed, because an id that occurs twice is an error.
            pairs.sort_unstable_by_key(|pair| pair.1);
        }
        if let Some(last) = pairs.last() {
            let gaps = (last.1 as usize + 1).saturating_sub(pairs.len());
            if gaps > Self::MAX_GAPS {
                return Err(Error::format(
                    "vocabulary",
                    format!(
                        "id {} leaves {gaps} ids without a token; at most {} may be missing",
                        last.1,
                        Self::MAX_GAPS
                    ),
                ));
            }
        }
        let mut builder = VocabBuilder::with_capacity(pairs.len())?;
        unreachable.sort_unstable();
        builder.vocab.unreachable = unreachable;
        for (token, id) in &pairs {
            while builder.next_id() < *id as usize {
                builder.push(None)?;
            }
            if builder.next_id() != *id as usize {
                return Err(Error::format("vocabulary", format!("id {id} occurs twice")));
            }
            builder.push(Some(token.as_ref()))?;
        }
        Ok(builder.finish())
    }

    /// The id of a token.
    pub fn id(&self, bytes: &[u8]) -> Option<TokenId> {
        let hash = self.hasher.hash_one(bytes);
        let upper = (hash >> 32) as u32;
        let found = self.index.find(hash, |&(other, id)| other == upper && self.slice(id) == bytes);
        found.map(|&(_, id)| id)
    }

    /// The bytes of an id; `None` for an id without a token.
    pub fn bytes(&self, id: TokenId) -> Option<&[u8]> {
        match self.present.get(id as usize) {
            Some(true) => Some(self.slice(id)),
            _ => None,
        }
    }

    /// Checks that there is memory for tables built from this vocabulary.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is not.
    pub(crate) fn check_room(&self) -> Result<()> {
        memory::check_room(self.slab.len() + WORK_TOKEN * self.len, WORK)
    }

    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// One more than the greatest id.
    pub fn id_limit(&self) -> usize {
        self.present.len()
    }

    /// The tokens with their ids in ascending order, except for unreachable ones.
    pub fn iter(&self) -> impl Iterator<Item = (TokenId, &[u8])> {
        self.iter_all().filter(|&(id, _)| !self.is_unreachable(id))
    }

    /// All tokens with their ids in ascending order.
    pub(crate) fn iter_all(&self) -> impl Iterator<Item = (TokenId, &[u8])> {
        (0..self.id_limit() as TokenId).filter_map(|id| self.bytes(id).map(|bytes| (id, bytes)))
    }

    /// The ids of tokens that no text is encoded as, ascending.
    pub(crate) fn unreachable(&self) -> &[TokenId] {
        &self.unreachable
    }

    /// Whether no text is encoded as this token.
    pub(crate) fn is_unreachable(&self, id: TokenId) -> bool {
        self.unreachable.binary_search(&id).is_ok()
    }

    /// The id of an unreachable token.
    pub(crate) fn unreachable_id(&self, bytes: &[u8]) -> Option<TokenId> {
        self.unreachable.iter().copied().find(|&id| self.bytes(id) == Some(bytes))
    }

    fn slice(&self, id: TokenId) -> &[u8] {
        let id = id as usize;
        &self.slab[self.starts[id] as usize..self.starts[id + 1] as usize]
    }
}

/// Builds a [`Vocab`] id by id.
struct VocabBuilder {
    vocab: Vocab,
}

impl VocabBuilder {
    fn with_capacity(n_tokens: usize) -> Result<Self> {
        let mut vocab = Vocab::default();
        reserve_index(&mut vocab.index, n_tokens, |_| 0)?;
        vocab.slab.make_room(n_tokens * 8)?;
        vocab.starts.make_room(n_tokens + 1)?;
        vocab.present.make_room(n_tokens)?;
        Ok(Self { vocab })
    }

    fn next_id(&self) -> usize {
        self.vocab.present.len()
    }

    fn push(&mut self, token: Option<&[u8]>) -> Result<()> {
        let vocab = &mut self.vocab;
        if vocab.starts.is_empty() {
            memory::push(&mut vocab.starts, 0)?;
        }
        let bytes = token.unwrap_or_default();
        let (Ok(id), Ok(end)) =
            (TokenId::try_from(vocab.present.len()), u32::try_from(vocab.slab.len() + bytes.len()))
        else {
            return Err(Error::format("vocabulary", "more than 4 GiB of tokens; train a smaller vocabulary"));
        };
        memory::extend(&mut vocab.slab, bytes)?;
        memory::push(&mut vocab.starts, end)?;
        memory::push(&mut vocab.present, token.is_some())?;
        if token.is_none() {
            return Ok(());
        }
        vocab.len += 1;
        if vocab.unreachable.binary_search(&id).is_ok() {
            return Ok(());
        }
        let Vocab { slab, starts, index, hasher, .. } = vocab;
        let slice = |id: TokenId| &slab[starts[id as usize] as usize..starts[id as usize + 1] as usize];
        reserve_index(index, 1, |&(_, id)| hasher.hash_one(slice(id)))?;
        let hash = hasher.hash_one(bytes);
        let upper = (hash >> 32) as u32;
        match index.entry(
            hash,
            |&(other, id)| other == upper && slice(id) == bytes,
            |&(_, id)| hasher.hash_one(slice(id)),
        ) {
            hashbrown::hash_table::Entry::Occupied(other) => Err(Error::format(
                "vocabulary",
                format!(
                    "token {:?} occurs twice, as id {} and id {id}",
                    String::from_utf8_lossy(bytes),
                    other.get().1
                ),
            )),
            hashbrown::hash_table::Entry::Vacant(place) => {
                place.insert((upper, id));
                Ok(())
            }
        }
    }

    fn finish(self) -> Vocab {
        self.vocab
    }
}

/// Reserves memory for `more` ids.
fn reserve_index(
    index: &mut HashTable<(u32, TokenId)>,
    more: usize,
    hash: impl Fn(&(u32, TokenId)) -> u64,
) -> Result<()> {
    let n = index.len().saturating_add(more);
    index.try_reserve(more, hash).map_err(|_| memory::missing::<(u32, TokenId)>(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_ids_without_a_token() {
        let vocab = Vocab::from_pairs(vec![("x", 3), ("y", 1)]).unwrap();
        assert_eq!((vocab.len(), vocab.id_limit()), (2, 4));
        assert_eq!(vocab.bytes(2), None);
        assert_eq!(vocab.bytes(9), None);
        assert_eq!(vocab.iter().collect::<Vec<_>>(), [(1, &b"y"[..]), (3, &b"x"[..])]);
    }

    #[test]
    fn invalid_tables_are_refused() {
        for (pairs, expected) in [
            (vec![("a", 0), ("b", 0)], "id 0 occurs twice"),
            (vec![("a", 0), ("a", 1)], "occurs twice, as id 0 and id 1"),
            (vec![("a", u32::MAX - 1)], "without a token"),
        ] {
            let error = Vocab::from_pairs(pairs).err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
