//! `Few`: merges at most 16 symbols, most pieces that no cache knows.
//!
//! Nothing moves and nothing is linked: which symbols are left are the bits of a
//! word, in which a neighbour is the next bit. Rank and place of a merge are one
//! number, so the lowest rank, leftmost among equals, is the least of them. They
//! are compared one by one: vectors would wait for what was just written.
//!
//! Each merge asks for the pairs around its result and waits for the memory, so
//! several pieces are merged side by side, a merge of each in turn.

use super::Bpe;
use super::pairs::{Merged, PairTable};
use crate::vocab::TokenId;

/// The most symbols.
pub(super) const MOST: usize = 16;

/// The pieces that are merged side by side.
pub(super) const AT_ONCE: usize = 8;

const PLACE: usize = MOST - 1;
/// Numbers compared side by side.
const LANES: usize = 4;

/// Symbols while they are merged.
#[derive(Clone, Copy)]
pub(super) struct Few {
    ids: [TokenId; MOST],
    /// Rank and place of the merge with the symbol after, and its result. A place
    /// where nothing merges has the rank of [`Merged::NEVER`].
    keys: [u64; MOST],
    into: [TokenId; MOST],
    len: usize,
    /// The places of the symbols that are left, each a bit.
    left_over: u32,
    /// Where the last merge was.
    merged: usize,
}

impl Default for Few {
    fn default() -> Self {
        Self { ids: [0; MOST], keys: [u64::MAX; MOST], into: [0; MOST], len: 0, left_over: 0, merged: 0 }
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
        self.begin(pairs);
        while self.merge_least(pairs) {
            self.look_around(pairs);
        }
        self.left_over
    }

    /// The same of several pieces.
    #[inline]
    pub(super) fn merge_all(pieces: &mut [Self], pairs: &PairTable) {
        let mut unfinished = 0_u32;
        for (at, piece) in pieces.iter_mut().enumerate() {
            piece.begin(pairs);
            unfinished |= 1 << at;
        }
        while unfinished != 0 {
            let mut each = unfinished;
            while each != 0 {
                let bit = each & each.wrapping_neg();
                each ^= bit;
                let goes_on = pieces[bit.trailing_zeros() as usize].merge_least(pairs);
                unfinished ^= if goes_on { 0 } else { bit };
            }
            each = unfinished;
            while each != 0 {
                pieces[each.trailing_zeros() as usize].look_around(pairs);
                each &= each - 1;
            }
        }
    }

    /// Looks up all pairs.
    #[inline(always)]
    fn begin(&mut self, pairs: &PairTable) {
        let n = self.len.min(MOST);
        self.left_over = if n == 0 { 0 } else { u32::MAX >> (32 - n) };
        self.keys = [u64::MAX; MOST];
        for at in 1..n {
            self.set(at - 1, pairs.get(self.ids[at - 1], self.ids[at]));
        }
    }

    /// Does the merge that comes first, and asks for the memory of the pairs around its
    /// result; `false` if there is none.
    #[inline(always)]
    fn merge_least(&mut self, pairs: &PairTable) -> bool {
        let least = self.least(self.len.clamp(1, MOST) - 1);
        if least >> 32 == u64::from(u32::MAX) {
            return false;
        }
        let at = least as usize & PLACE;
        let id = self.into[at];
        self.ids[at] = id;
        self.merged = at;
        let behind = self.left_over & (u32::MAX << 1 << at);
        let after = behind & behind.wrapping_sub(1);
        self.left_over ^= behind ^ after;
        self.keys[behind.trailing_zeros() as usize & PLACE] = u64::MAX;
        if let Some(after) = self.after() {
            pairs.prefetch(id, self.ids[after]);
        }
        if let Some(before) = self.before() {
            pairs.prefetch(self.ids[before], id);
        }
        true
    }

    /// Looks up the pairs around the last merge's result.
    #[inline(always)]
    fn look_around(&mut self, pairs: &PairTable) {
        let id = self.ids[self.merged];
        let merged = self.after().map_or(Merged::NEVER, |after| pairs.get(id, self.ids[after]));
        if let Some(before) = self.before() {
            self.set(before, pairs.get(self.ids[before], id));
        }
        self.set(self.merged, merged);
    }

    /// The place of the symbol after the last merge's result.
    #[inline(always)]
    fn after(&self) -> Option<usize> {
        let after = self.left_over & (u32::MAX << 1 << self.merged);
        (after != 0).then(|| after.trailing_zeros() as usize & PLACE)
    }

    /// The place of the symbol before it.
    #[inline(always)]
    fn before(&self) -> Option<usize> {
        let before = self.left_over & !(u32::MAX << self.merged);
        (before != 0).then(|| (u32::BITS - 1 - before.leading_zeros()) as usize & PLACE)
    }

    /// The ids of the symbols that are left, in order; returns how many these are.
    #[inline(always)]
    pub(super) fn write(&self, out: &mut [TokenId; MOST]) -> usize {
        let mut left_over = self.left_over;
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
    /// Takes in a piece of at most [`MOST`] bytes, where symbols are bytes.
    #[inline(always)]
    pub(super) fn push_few(&self, piece: &[u8], few: &mut Few) {
        few.clear();
        self.atoms.push_symbols(piece, &self.byte_ids, |id, _| few.push(id));
    }
}
