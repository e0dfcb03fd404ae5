//! `PairTable`: which two adjacent tokens merge, when, and into what.
//!
//! Open addressing, at most half full, with a byte of each hash in a separate
//! array: a miss, the common answer, reads only that array, which is a
//! sixteenth of the table and stays in the second-level cache. Each table hashes
//! by its own seed, so that no file can make its pairs collide; hash order
//! never reaches a result. Pairs of the first ids, single bytes in most models,
//! with which all merging begins, have a plain array too.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use crate::text::simd::{huge_pages, prefetch};
use crate::vocab::TokenId;

/// The token that a pair merges into, and its rank: the lowest rank merges first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Merged {
    /// When.
    pub rank: u32,
    /// Into what.
    pub id: TokenId,
}

impl Merged {
    /// The answer for a pair that does not merge; greater than every other.
    pub const NEVER: Self = Self { rank: u32::MAX, id: TokenId::MAX };
}

/// The key of a pair and its [`Merged`], both packed. As plain numbers they are
/// zeroed by the system, page by page as they are used.
type Slot = [u64; 2];

/// The tag of a slot without a pair.
const EMPTY: u8 = 0;

/// Ids below this have their pairs in the array.
const CORNER: TokenId = 256;

/// An immutable table from pairs of ids to [`Merged`].
#[derive(Clone)]
pub struct PairTable {
    tags: Vec<u8>,
    slots: Vec<Slot>,
    /// Rank and id of the pairs of first ids; empty if none merges.
    corner: Vec<u64>,
    shift: u32,
    seed: u64,
    len: usize,
    greatest_rank: u32,
}

impl PairTable {
    /// An empty table for about `capacity` pairs.
    pub fn with_capacity(capacity: usize) -> Self {
        let size = (capacity * 2).next_power_of_two().max(4);
        // Both are zeroed by the system, so nothing is touched yet.
        let (tags, slots) = (vec![EMPTY; size], vec![[0; 2]; size]);
        huge_pages::advise(&tags);
        huge_pages::advise(&slots);
        Self {
            tags,
            slots,
            corner: Vec::new(),
            shift: 64 - size.trailing_zeros(),
            seed: DefaultHashBuilder::default().hash_one(size),
            len: 0,
            greatest_rank: 0,
        }
    }

    /// Sets what a pair merges into; a later call for the same pair wins, as
    /// in Hugging Face's reader.
    pub fn insert(&mut self, left: TokenId, right: TokenId, merged: Merged) {
        if (self.len + 1) * 2 > self.slots.len() {
            self.grow();
        }
        let key = pack(left, right);
        let (slot, tag) = self.find(key);
        if self.tags[slot] == EMPTY {
            self.len += 1;
            self.tags[slot] = tag;
        }
        self.slots[slot] = [key, pack(merged.rank, merged.id)];
        self.greatest_rank = merged.rank.max(self.greatest_rank);
        if left < CORNER && right < CORNER {
            if self.corner.is_empty() {
                self.corner = vec![u64::MAX; (CORNER * CORNER) as usize];
            }
            self.corner[(left * CORNER + right) as usize] = pack(merged.rank, merged.id);
        }
    }

    /// The token that a pair merges into; [`Merged::NEVER`] if it does not merge.
    // Called from few places, each in the innermost loop.
    #[inline(always)]
    pub fn get(&self, left: TokenId, right: TokenId) -> Merged {
        if left < CORNER && right < CORNER {
            let merged = self.corner.get((left * CORNER + right) as usize).copied().unwrap_or(u64::MAX);
            return Merged { rank: (merged >> 32) as u32, id: merged as u32 };
        }
        let (slot, _) = self.find(pack(left, right));
        if self.tags[slot] == EMPTY { Merged::NEVER } else { unpack(self.slots[slot]).2 }
    }

    /// Says that a pair is going to be looked up.
    #[inline(always)]
    pub(super) fn prefetch(&self, left: TokenId, right: TokenId) {
        let (slot, _) = self.place(pack(left, right));
        if let (Some(tag), Some(pair)) = (self.tags.get(slot), self.slots.get(slot)) {
            prefetch(tag);
            prefetch(pair);
        }
    }

    /// All pairs, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (TokenId, TokenId, Merged)> {
        self.tags.iter().zip(&self.slots).filter(|(tag, _)| **tag != EMPTY).map(|(_, &slot)| unpack(slot))
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.len
    }

    /// No pair has a greater rank.
    #[inline]
    pub(super) fn greatest_rank(&self) -> u32 {
        self.greatest_rank
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slot that holds `key`, or the empty one where it belongs, and the
    /// tag of the key.
    #[inline]
    fn find(&self, key: u64) -> (usize, u8) {
        let mask = self.slots.len() - 1;
        let (mut slot, tag) = self.place(key);
        loop {
            let found = self.tags[slot];
            if found == EMPTY || found == tag && self.slots[slot][0] == key {
                return (slot, tag);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The slot in which the search for `key` begins, and its tag.
    #[inline(always)]
    fn place(&self, key: u64) -> (usize, u8) {
        // Both halves of a product, with the key under the seed, as in foldhash.
        let product = u128::from(key ^ self.seed) * 0x9E37_79B9_7F4A_7C15;
        let hash = (product >> 64) as u64 ^ product as u64;
        ((hash >> self.shift) as usize & (self.slots.len() - 1), (hash >> 24) as u8 | 1)
    }

    fn grow(&mut self) {
        let mut larger = Self::with_capacity(self.slots.len());
        for (left, right, merged) in self.iter() {
            larger.insert(left, right, merged);
        }
        *self = larger;
    }
}

#[inline]
fn pack(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

#[inline]
fn unpack([key, value]: Slot) -> (TokenId, TokenId, Merged) {
    let halves = |word: u64| ((word >> 32) as u32, word as u32);
    let ((left, right), (rank, id)) = (halves(key), halves(value));
    (left, right, Merged { rank, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_in_comes_out() {
        let mut table = PairTable::with_capacity(0);
        for i in 0..1000 {
            table.insert(i, i * 7, Merged { rank: i, id: i + 1 });
        }
        table.insert(3, 21, Merged { rank: 0, id: 9 });
        assert_eq!(table.len(), 1000);
        assert_eq!(table.get(3, 21), Merged { rank: 0, id: 9 });
        assert_eq!(table.get(999, 6993), Merged { rank: 999, id: 1000 });
        assert_eq!(table.get(21, 3), Merged::NEVER);
        assert_eq!(table.iter().count(), 1000);
    }
}
