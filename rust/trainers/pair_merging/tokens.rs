//! `Tokens`: the vocabulary during training.
//!
//! Unlike in the [`crate::Vocab`] of a finished model, ids are only appended, special tokens may
//! have no byte form, and each token has its length in initial symbols. All bytes are in one
//! buffer.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::Unit;
use super::word_shape::{WordRules, WordShape};
use crate::error::{Error, Result};
use crate::sentencepiece_rules::rules::{Class, Rules, Shape};
use crate::text::byte_level;
use crate::vocab::TokenId;

/// Texts of special tokens with their ids.
type SpecialTokens = Vec<(String, TokenId)>;

/// Which tokens may be formed.
enum Bound {
    /// All tokens.
    None,
    /// Tokens with fewer initial symbols than this.
    Length(usize),
    /// Tokens whose characters may be combined; with the shape of each token.
    Rules(Rules, Vec<Shape>),
    /// Superwords; with the shape of each token.
    Words(WordRules, Vec<WordShape>),
}

/// Tokens by id, ids by bytes.
pub(crate) struct Tokens {
    unit: Unit,
    bound: Bound,
    /// The prefix that the right part of a merge drops.
    prefix: Vec<u8>,
    slab: Vec<u8>,
    ends: Vec<usize>,
    /// Whether the id has a byte form, and so is in `index`.
    named: Vec<bool>,
    /// Lengths in initial symbols; 0 until the token occurs in a piece.
    lengths: Vec<u32>,
    index: HashTable<TokenId>,
    special_tokens: SpecialTokens,
}

impl Tokens {
    /// Tokens shorter than `max_length`, if there is a limit. The right part of a merge drops
    /// `prefix`.
    pub(crate) fn new(unit: Unit, prefix: Vec<u8>, max_length: Option<usize>) -> Self {
        Self::bounded(unit, prefix, max_length.map_or(Bound::None, Bound::Length))
    }

    /// Tokens of characters, which `rules` allow to combine.
    pub(crate) fn by_rules(rules: Rules) -> Self {
        Self::bounded(Unit::Chars, Vec::new(), Bound::Rules(rules, Vec::new()))
    }

    /// Tokens of bytes, which `rules` allow to join.
    pub(crate) fn by_words(rules: WordRules) -> Self {
        Self::bounded(Unit::Bytes, Vec::new(), Bound::Words(rules, Vec::new()))
    }

    fn bounded(unit: Unit, prefix: Vec<u8>, bound: Bound) -> Self {
        Self {
            unit,
            bound,
            prefix,
            slab: Vec::new(),
            ends: Vec::new(),
            named: Vec::new(),
            lengths: Vec::new(),
            index: HashTable::new(),
            special_tokens: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn bytes(&self, id: TokenId) -> &[u8] {
        let id = id as usize;
        let start = if id == 0 { 0 } else { self.ends[id - 1] };
        &self.slab[start..self.ends[id]]
    }

    /// The key that compares as the text of a token: its bytes, or the code points of its byte-level
    /// characters.
    pub(crate) fn text_order(&self, id: TokenId) -> impl Iterator<Item = u32> {
        let is_bytes = self.unit == Unit::Bytes;
        self.bytes(id).iter().map(move |&byte| match is_bytes {
            true => byte_level::BYTE_TO_CHAR[usize::from(byte)].into(),
            false => byte.into(),
        })
    }

    pub(crate) fn find(&self, bytes: &[u8]) -> Option<TokenId> {
        self.index.find(hash(bytes), |&id| self.bytes(id) == bytes).copied()
    }

    /// The length in initial symbols; 0 for a token that occurs in no piece.
    pub(crate) fn length(&self, id: TokenId) -> usize {
        self.lengths[id as usize] as usize
    }

    /// Whether a pair may be merged: its token must be shorter than the limit (unless both are
    /// initial symbols) and keep the rules.
    #[inline]
    pub(crate) fn may_form(&self, left: TokenId, right: TokenId) -> bool {
        matches!(self.bound, Bound::None) || self.keeps_bound(left, right)
    }

    /// Not inlined, because most trainers have no bound and `may_form` runs at each position.
    #[inline(never)]
    fn keeps_bound(&self, left: TokenId, right: TokenId) -> bool {
        match &self.bound {
            Bound::None => true,
            Bound::Length(_) => {
                let length = self.length(left) + self.length(right);
                length == 2 || self.is_short(length)
            }
            Bound::Rules(rules, shapes) => rules.join(shapes[left as usize], shapes[right as usize]),
            Bound::Words(rules, shapes) => rules.join(shapes[left as usize], shapes[right as usize]),
        }
    }

    /// Whether a token of this many initial symbols is shorter than the limit.
    pub(super) fn is_short(&self, length: usize) -> bool {
        match self.bound {
            Bound::Length(most) => length < most,
            _ => true,
        }
    }

    /// Records that a token occurs in pieces, with this many initial symbols.
    pub(crate) fn set_length(&mut self, id: TokenId, length: usize) {
        let known = &mut self.lengths[id as usize];
        if *known == 0 {
            *known = u32::try_from(length).unwrap_or(u32::MAX);
        }
    }

    /// The id of these bytes, added if they are new.
    pub(crate) fn intern(&mut self, bytes: &[u8]) -> TokenId {
        self.find(bytes).unwrap_or_else(|| self.push(Some(bytes)))
    }

    /// The bytes of the token that two tokens merge into.
    pub(crate) fn joined(&self, left: TokenId, right: TokenId) -> Vec<u8> {
        let right = self.bytes(right);
        let right = right.strip_prefix(self.prefix.as_slice()).unwrap_or(right);
        [self.bytes(left), right].concat()
    }

    /// Adds a special token, unless there is one with this text.
    pub(crate) fn add_special(&mut self, text: &str) {
        if self.special_tokens.iter().any(|(known, _)| known == text) {
            return;
        }
        let id = match self.special_bytes(text) {
            Some(bytes) => self.intern(&bytes),
            None => self.push(None),
        };
        self.special_tokens.push((text.to_owned(), id));
    }

    /// Appends a token of a base vocabulary; `None` keeps an id free.
    ///
    /// # Errors
    /// [`Error::Option`] for a token that occurs twice.
    pub(crate) fn push_base(&mut self, token: Option<&[u8]>) -> Result<()> {
        if let Some(known) = token.and_then(|bytes| self.find(bytes)) {
            return Err(Error::Option {
                option: "extend",
                value: format!("{:?}", String::from_utf8_lossy(token.unwrap_or_default())),
                reason: format!("the base has this token twice, as id {known} and id {}", self.len()),
            });
        }
        self.push(token);
        Ok(())
    }

    /// Records the text of a special token of the base.
    ///
    /// # Errors
    /// [`Error::UnknownId`] for an id that the base does not have.
    pub(crate) fn name_special(&mut self, text: &str, id: TokenId) -> Result<()> {
        if id as usize >= self.len() {
            return Err(Error::UnknownId { id: id.into(), max: (self.len() as TokenId).saturating_sub(1) });
        }
        self.special_tokens.push((text.to_owned(), id));
        Ok(())
    }

    /// Removes all ids from `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        while self.len() > len {
            let id = (self.len() - 1) as TokenId;
            let hash = hash(self.bytes(id));
            if let Ok(entry) = self.index.find_entry(hash, |&other| other == id) {
                entry.remove();
            }
            self.ends.pop();
            self.named.pop();
            self.lengths.pop();
            match &mut self.bound {
                Bound::Rules(_, shapes) => drop(shapes.pop()),
                Bound::Words(_, shapes) => drop(shapes.pop()),
                Bound::None | Bound::Length(_) => {}
            }
        }
        self.slab.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// The tokens by id, and the special tokens.
    pub(crate) fn into_parts(self) -> (Vec<Option<Vec<u8>>>, SpecialTokens) {
        let tokens =
            (0..self.len()).map(|id| self.named[id].then(|| self.bytes(id as TokenId).to_vec())).collect();
        (tokens, self.special_tokens)
    }

    /// The bytes that a special token shares with tokens of the same spelling.
    fn special_bytes(&self, text: &str) -> Option<Vec<u8>> {
        match self.unit {
            Unit::Bytes => byte_level::to_bytes(text),
            Unit::Chars => Some(text.as_bytes().to_vec()),
        }
    }

    fn push(&mut self, bytes: Option<&[u8]>) -> TokenId {
        let id = self.len() as TokenId;
        self.slab.extend_from_slice(bytes.unwrap_or_default());
        self.ends.push(self.slab.len());
        self.named.push(bytes.is_some());
        self.lengths.push(0);
        match &mut self.bound {
            Bound::Rules(rules, shapes) => {
                let text = String::from_utf8_lossy(bytes.unwrap_or_default());
                shapes.push(rules.shape(text.chars().map(Class::of)));
            }
            Bound::Words(_, shapes) => shapes.push(WordShape::of(bytes.unwrap_or_default())),
            Bound::None | Bound::Length(_) => {}
        }
        if let Some(bytes) = bytes {
            let Self { slab, ends, index, .. } = self;
            let slice = |id: TokenId| {
                let id = id as usize;
                &slab[if id == 0 { 0 } else { ends[id - 1] }..ends[id]]
            };
            index.insert_unique(hash(bytes), id, |&other| hash(slice(other)));
        }
        id
    }
}

fn hash(bytes: &[u8]) -> u64 {
    FxBuildHasher.hash_one(bytes)
}
