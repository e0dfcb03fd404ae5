//! `Whole`: which pieces that have a key are tokens, for those that no cache knows.
//!
//! By the key itself: a slot that has the bits of its hash, and the key of the token
//! that it names. [`Vocab::id`] reads four places far from each other for the same,
//! and serves longer pieces.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use super::{Bpe, MergeOrder};
use crate::piece_table::{Key, MAX_KEY, hash, key};
use crate::pre_tokenizer::simd::prefetch;
use crate::vocab::{TokenId, Vocab};

/// The tokens of up to [`MAX_KEY`] bytes by their keys.
#[derive(Clone, Default)]
pub(super) struct Whole {
    /// At most half full: the upper half of a hash, and one more than an id.
    slots: Vec<u64>,
    /// By id; 0 of a token that has no key.
    keys: Vec<Key>,
    /// Hashed with the key, so that no file can make its tokens collide.
    seed: Key,
}

impl Whole {
    pub(super) fn new(vocab: &Vocab) -> Self {
        let hasher = DefaultHashBuilder::default();
        let seed = Key::from(hasher.hash_one(0_u8)) << 64 | Key::from(hasher.hash_one(1_u8));
        let size = (vocab.len() * 2).next_power_of_two().max(2);
        let mut whole = Self { slots: vec![0; size], keys: vec![0; vocab.id_limit()], seed };
        for (id, token) in vocab.iter().filter(|(_, token)| (1..=MAX_KEY).contains(&token.len())) {
            let key = key(token, 0, token.len());
            let (mut slot, upper) = whole.place(key);
            while whole.slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            whole.slots[slot] = upper | (u64::from(id) + 1);
            whole.keys[id as usize] = key;
        }
        whole
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
        self.whole.as_ref().and_then(|whole| whole.id(key)).filter(|id| self.may_be_text(id))
    }

    pub(super) fn may_be_text(&self, id: &TokenId) -> bool {
        self.barred.binary_search(id).is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lead_to_what_bytes_do() {
        let words = (0..5000).map(|n| format!("{:x}", n * 977)).chain([" ".repeat(15), " ".repeat(16)]);
        let pairs: Vec<(String, TokenId)> = words.zip((0..).step_by(3)).collect();
        let vocab = Vocab::from_pairs(pairs).unwrap();
        let whole = Whole::new(&vocab);
        let mut n_found = 0;
        for n in 0..20_000 {
            let text = if n < 17 { " ".repeat(n + 1) } else { format!("{n:x}") };
            let expected = vocab.id(text.as_bytes()).filter(|_| text.len() <= MAX_KEY);
            let found =
                if text.len() > MAX_KEY { None } else { whole.id(key(text.as_bytes(), 0, text.len())) };
            assert_eq!(found, expected, "{text:?}");
            n_found += usize::from(found.is_some());
        }
        assert!(n_found > 20, "{n_found}");
        assert_eq!(Whole::new(&Vocab::default()).id(key(b"a", 0, 1)), None);
    }
}
