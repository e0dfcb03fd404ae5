//! `SymbolTable`: ids that one lookup gives, where the vocabulary or merging would take longer.
//!
//! Two tables, each for the models that read it: tokens of one character by code point (models over
//! characters), and tokens by the key of their bytes (models that emit a piece that is a token).

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use super::{Bpe, MergeOrder};
use crate::cache::piece_table::{Key, MAX_KEY, hash, key};
use crate::text::simd::prefetch;
use crate::text::single_char;
use crate::vocab::{TokenId, Vocab};

/// The tables of a model; tables that it does not read are empty.
#[derive(Clone, Default)]
pub(super) struct SymbolTable {
    pub(super) chars: CharTokens,
    pub(super) tokens: Option<TokensByKey>,
}

/// No token.
const NONE: TokenId = TokenId::MAX;
const PAGE: usize = 256;
const PAGES: usize = 0x11_0000 / PAGE;

/// The tokens that are one character, by code point.
///
/// An array in pages of 256 characters, of which only those are there that hold a token: one lookup for each
/// character of a text, where a hash costs ten times as much.
#[derive(Clone, Default)]
pub(super) struct CharTokens {
    /// The number of each page; the first, empty one is used for the pages that are
    /// not there.
    pages: Vec<u16>,
    ids: Vec<TokenId>,
}

impl CharTokens {
    pub(super) fn new(vocab: &Vocab) -> Self {
        let mut table = Self { pages: vec![0; PAGES], ids: vec![NONE; PAGE] };
        for (id, token) in vocab.iter() {
            if let Some(c) = single_char(token) {
                table.set(c as usize, id);
            }
        }
        table
    }

    /// Gives a character a token.
    pub(super) fn set(&mut self, c: usize, id: TokenId) {
        let page = &mut self.pages[c / PAGE];
        if *page == 0 {
            *page = (self.ids.len() / PAGE) as u16;
            self.ids.resize(self.ids.len() + PAGE, NONE);
        }
        self.ids[usize::from(*page) * PAGE + c % PAGE] = id;
    }

    /// The token of a text, if the text is one character; an error if it is not.
    #[inline]
    pub(super) fn id(&self, text: &[u8]) -> Result<Option<TokenId>, NotOne> {
        let c = match *text {
            [byte @ 0..=0x7F] => usize::from(byte),
            _ if text.len() > 4 => return Err(NotOne),
            _ => single_char(text).ok_or(NotOne)? as usize,
        };
        self.known(c).ok_or(NotOne).map(|id| Some(id).filter(|&id| id != NONE))
    }

    /// The token of a character.
    #[inline(always)]
    pub(super) fn of(&self, c: char) -> Option<TokenId> {
        self.known(c as usize).filter(|&id| id != NONE)
    }

    /// The same by code point, with the mark of none; nothing if the alphabet is empty.
    #[inline(always)]
    fn known(&self, c: usize) -> Option<TokenId> {
        let page = self.pages.get(c / PAGE)?;
        Some(self.ids[usize::from(*page) * PAGE + c % PAGE])
    }
}

/// A text is not one character, or the alphabet is empty.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotOne;

/// The tokens of up to [`MAX_KEY`] bytes by their keys, for pieces that no cache knows.
///
/// A slot has bits of the key's hash and names a token, whose key decides. [`Vocab::id`] reads four places far
/// from each other for the same, and serves longer pieces: with it alone a first pass over 16 MB of English takes
/// 1.16 (GPT-2, cl100k) to 1.21 (o200k) times as long.
#[derive(Clone, Default)]
pub(super) struct TokensByKey {
    /// At most half full: the upper half of a hash, and one more than an id.
    slots: Vec<u64>,
    /// By id; 0 of a token that has no key.
    keys: Vec<Key>,
    /// Hashed with the key, so that no file can make its tokens collide.
    seed: Key,
}

impl TokensByKey {
    pub(super) fn new(vocab: &Vocab) -> Self {
        let hasher = DefaultHashBuilder::default();
        let seed = Key::from(hasher.hash_one(0_u8)) << 64 | Key::from(hasher.hash_one(1_u8));
        let size = (vocab.len() * 2).next_power_of_two().max(2);
        let mut table = Self { slots: vec![0; size], keys: vec![0; vocab.id_limit()], seed };
        for (id, token) in vocab.iter().filter(|(_, token)| (1..=MAX_KEY).contains(&token.len())) {
            let key = key(token, 0, token.len());
            let (mut slot, upper) = table.place(key);
            while table.slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            table.slots[slot] = upper | (u64::from(id) + 1);
            table.keys[id as usize] = key;
        }
        table
    }

    /// The slot in which the search for a key begins, and the upper half of all its slots.
    #[inline]
    fn place(&self, key: Key) -> (usize, u64) {
        let hash = hash(key ^ self.seed);
        (hash as usize & (self.slots.len() - 1), hash & !u64::from(u32::MAX))
    }

    /// Says that a key is going to be looked up.
    #[inline(always)]
    pub(super) fn prefetch(&self, key: Key) {
        if let Some(slot) = self.slots.get(self.place(key).0) {
            prefetch(slot);
        }
    }

    /// Says it again, once its slot has come: the token that it names will be read.
    #[inline(always)]
    pub(super) fn prefetch_token(&self, key: Key) {
        let (slot, upper) = self.place(key);
        if let Some(&found) = self.slots.get(slot)
            && found & !u64::from(u32::MAX) == upper
            && let Some(key) = self.keys.get((found as u32).wrapping_sub(1) as usize)
        {
            prefetch(key);
        }
    }

    /// The token that a key spells.
    #[inline]
    pub(super) fn id(&self, key: Key) -> Option<TokenId> {
        let (mut slot, upper) = self.place(key);
        loop {
            let found = *self.slots.get(slot)?;
            if found == 0 {
                return None;
            }
            let id = found as u32 - 1;
            if found & !u64::from(u32::MAX) == upper && self.keys[id as usize] == key {
                return Some(id);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }
}

impl Bpe {
    /// Whether a piece that is a token is that token.
    pub(crate) fn emits_whole_tokens(&self) -> bool {
        self.order == MergeOrder::Ranks || self.options.ignore_merges
    }

    /// The token that a piece is as a whole.
    pub(super) fn whole_token(&self, piece: &[u8]) -> Option<TokenId> {
        if piece.len() > self.max_token_len { None } else { self.id_from_text(piece) }
    }

    /// The id of a token that text may become.
    pub(super) fn id_from_text(&self, bytes: &[u8]) -> Option<TokenId> {
        self.vocab.id(bytes).filter(|id| self.may_be_text(id))
    }

    /// The token that the text of a key is as a piece, where symbols are bytes.
    pub(super) fn whole_token_of(&self, key: Key) -> Option<TokenId> {
        self.symbols.tokens.as_ref().and_then(|tokens| tokens.id(key)).filter(|id| self.may_be_text(id))
    }

    pub(super) fn may_be_text(&self, id: &TokenId) -> bool {
        self.excluded.binary_search(id).is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_characters_have_their_tokens() {
        let tokens = [&b"a"[..], b"ab", "é".as_bytes(), "\u{10FFFF}".as_bytes(), b"\xFF", b""];
        let table = CharTokens::new(&Vocab::from_tokens(tokens).unwrap());
        for (text, expected) in [
            (&b"a"[..], Ok(Some(0))),
            (b"b", Ok(None)),
            ("é".as_bytes(), Ok(Some(2))),
            ("è".as_bytes(), Ok(None)),
            ("\u{10FFFF}".as_bytes(), Ok(Some(3))),
            (b"ab", Err(NotOne)),
            (b"\xFF", Err(NotOne)),
            (b"", Err(NotOne)),
        ] {
            assert_eq!(table.id(text), expected, "{text:?}");
            if let Some(c) = single_char(text) {
                assert_eq!(table.of(c), expected.unwrap());
            }
        }
        assert_eq!(CharTokens::default().id(b"a"), Err(NotOne));
    }

    #[test]
    fn keys_lead_to_what_bytes_do() {
        let words = (0..5000).map(|n| format!("{:x}", n * 977)).chain([" ".repeat(15), " ".repeat(16)]);
        let pairs: Vec<(String, TokenId)> = words.zip((0..).step_by(3)).collect();
        let vocab = Vocab::from_pairs(pairs).unwrap();
        let table = TokensByKey::new(&vocab);
        let mut n_found = 0;
        for n in 0..20_000 {
            let text = if n < 17 { " ".repeat(n + 1) } else { format!("{n:x}") };
            let expected = vocab.id(text.as_bytes()).filter(|_| text.len() <= MAX_KEY);
            let found =
                if text.len() > MAX_KEY { None } else { table.id(key(text.as_bytes(), 0, text.len())) };
            assert_eq!(found, expected, "{text:?}");
            n_found += usize::from(found.is_some());
        }
        assert!(n_found > 20, "{n_found}");
        assert_eq!(TokensByKey::new(&Vocab::default()).id(key(b"a", 0, 1)), None);
    }
}
