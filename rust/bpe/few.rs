//! `Few`: merges at most 16 symbols, most pieces that no cache knows.
//!
//! Nothing moves and nothing is linked: which symbols are left are the bits of a
//! word, in which a neighbour is the next bit. Rank and place of a merge are one
//! number, so the lowest rank, leftmost among equals, is the least of them. They
//! are compared one by one: vectors would wait for what was just written.

use super::Bpe;
use super::pairs::{Merged, PairTable};
use crate::vocab::TokenId;

/// The most symbols.
pub(super) const MOST: usize = 16;

const PLACE: usize = MOST - 1;
/// Numbers compared side by side.
const LANES: usize = 4;

/// Symbols while they are merged.
pub(super) struct Few {
    ids: [TokenId; MOST],
    /// Rank and place of the merge with the symbol after, and its result. A place
    /// where nothing merges has the rank of [`Merged::NEVER`].
    keys: [u64; MOST],
    into: [TokenId; MOST],
    len: usize,
}

impl Default for Few {
    fn default() -> Self {
        Self { ids: [0; MOST], keys: [u64::MAX; MOST], into: [0; MOST], len: 0 }
    }
}

impl Few {
    /// Empties the piece.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds a symbol; one past the last place takes the place of the last.
    #[inline(always)]
    pub(super) fn push(&mut self, id: TokenId) {
        self.ids[self.len & PLACE] = id;
        self.len += 1;
    }

    /// Merges until no pair is left to merge; returns the places of the symbols
    /// that are left, each a bit.
    #[inline]
    pub(super) fn merge(&mut self, pairs: &PairTable) -> u32 {
        let n = self.len.min(MOST);
        if n == 0 {
            return 0;
        }
        self.keys = [u64::MAX; MOST];
        for at in 0..n - 1 {
            self.set(at, pairs.get(self.ids[at], self.ids[at + 1]));
        }
        let mut left_over = u32::MAX >> (32 - n);
        loop {
            let least = self.least(n - 1);
            if least >> 32 == u64::from(u32::MAX) {
                return left_over;
            }
            let at = least as usize & PLACE;
            let id = self.into[at];
            self.ids[at] = id;
            let behind = left_over & (u32::MAX << 1 << at);
            let after = behind & behind.wrapping_sub(1);
            left_over ^= behind ^ after;
            self.keys[behind.trailing_zeros() as usize & PLACE] = u64::MAX;
            let before = left_over & !(u32::MAX << at);
            let merged = if after == 0 {
                Merged::NEVER
            } else {
                pairs.get(id, self.ids[after.trailing_zeros() as usize & PLACE])
            };
            if before != 0 {
                let before = (u32::BITS - 1 - before.leading_zeros()) as usize & PLACE;
                self.set(before, pairs.get(self.ids[before], id));
            }
            self.set(at, merged);
        }
    }

    /// The ids at the places of `left_over`, in order.
    #[inline(always)]
    pub(super) fn write(&self, mut left_over: u32, out: &mut [TokenId; MOST]) -> usize {
        let n = left_over.count_ones() as usize;
        for to in out.iter_mut().take(n) {
            *to = self.ids[left_over.trailing_zeros() as usize & PLACE];
            left_over &= left_over.wrapping_sub(1);
        }
        n
    }

    #[inline(always)]
    fn set(&mut self, at: usize, merged: Merged) {
        self.keys[at] = u64::from(merged.rank) << 32 | at as u64;
        self.into[at] = merged.id;
    }

    /// The least of the first `n` numbers.
    #[inline(always)]
    fn least(&self, n: usize) -> u64 {
        let mut least = [u64::MAX; LANES];
        for keys in self.keys[..n.next_multiple_of(LANES)].as_chunks::<LANES>().0 {
            for lane in 0..LANES {
                least[lane] = least[lane].min(keys[lane]);
            }
        }
        least[0].min(least[1]).min(least[2].min(least[3]))
    }
}

impl Bpe {
    /// The tokens that a piece of at most [`MOST`] bytes is merged into, and their
    /// number, where symbols are bytes.
    pub(super) fn merge_few(&self, piece: &[u8], few: &mut Few) -> ([TokenId; MOST], usize) {
        let mut ids = [0; MOST];
        few.clear();
        self.atoms.push_symbols(piece, &self.byte_ids, |id, _| few.push(id));
        let left_over = few.merge(&self.pairs);
        let n = few.write(left_over, &mut ids);
        (ids, n)
    }
}
