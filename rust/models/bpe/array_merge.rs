//! `Scan`: merges at most 64 symbols by looking at all of them for each merge.
//!
//! Quadratic, but in few symbols: rank and place of a merge are one number, so
//! the lowest rank, leftmost among equals, is the least of an array that lies
//! in registers, and nothing moves but two links.

use super::pairs::{Merged, PairTable};
use crate::vocab::TokenId;

/// The most symbols.
///
/// Measured on Chinese and on mixed scripts with cl100k, where pieces are long:
/// 16 is slower; 32 to 256 do not differ beyond the noise.
pub(super) const MOST: usize = 64;
/// The greatest rank that fits in a word with a place.
pub(super) const GREATEST_RANK: u32 = (i32::MAX as u32 >> PLACE_BITS) - 1;

const PLACE_BITS: u32 = MOST.trailing_zeros();
const PLACE_MASK: usize = MOST - 1;
/// The number of a place where nothing merges.
const NEVER: i32 = i32::MAX;
/// Numbers compared at once.
const LANES: usize = 8;

const NEXT: [u8; MOST] = {
    let mut next = [0; MOST];
    let mut at = 0;
    while at < MOST {
        next[at] = at as u8 + 1;
        at += 1;
    }
    next
};
const PREV: [u8; MOST] = {
    let mut prev = [0; MOST];
    let mut at = 1;
    while at < MOST {
        prev[at] = at as u8 - 1;
        at += 1;
    }
    prev
};

/// Symbols while they are merged, as a linked list by place.
pub(super) struct Scan {
    ids: [TokenId; MOST],
    /// Rank and place of the merge with the symbol after, and its result.
    keys: [i32; MOST],
    into: [TokenId; MOST],
    next: [u8; MOST],
    prev: [u8; MOST],
    len: usize,
}

impl Default for Scan {
    fn default() -> Self {
        Self { ids: [0; MOST], keys: [NEVER; MOST], into: [0; MOST], next: NEXT, prev: PREV, len: 0 }
    }
}

impl Scan {
    /// Merges symbols, at most [`MOST`], until no pair is left to merge. No rank
    /// is above [`GREATEST_RANK`].
    pub(super) fn run(&mut self, pairs: &PairTable, symbols: &[TokenId]) {
        let n = symbols.len();
        self.len = n;
        self.ids[..n].copy_from_slice(symbols);
        (self.next, self.prev) = (NEXT, PREV);
        let width = n.next_multiple_of(LANES);
        self.keys[..width].fill(NEVER);
        for (at, pair) in symbols.windows(2).enumerate() {
            self.set(at, pairs.get(pair[0], pair[1]));
        }
        loop {
            let least = least(&self.keys[..width]);
            if least == NEVER {
                return;
            }
            let at = least as usize & PLACE_MASK;
            let right = usize::from(self.next[at]) & PLACE_MASK;
            let id = self.into[at];
            self.ids[at] = id;
            self.keys[right] = NEVER;
            self.next[at] = self.next[right];
            let after = usize::from(self.next[at]);
            if after < n {
                self.prev[after] = at as u8;
                self.set(at, pairs.get(id, self.ids[after]));
            } else {
                self.keys[at] = NEVER;
            }
            if at > 0 {
                let before = usize::from(self.prev[at]) & PLACE_MASK;
                self.set(before, pairs.get(self.ids[before], id));
            }
        }
    }

    /// The tokens: where each begins and ends, in symbols, and its id.
    pub(super) fn tokens(&self) -> impl Iterator<Item = (usize, usize, TokenId)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            if start >= self.len {
                return None;
            }
            at = usize::from(self.next[start]);
            Some((start, at, self.ids[start]))
        })
    }

    #[inline]
    fn set(&mut self, at: usize, merged: Merged) {
        let key = (merged.rank << PLACE_BITS) as i32 | at as i32;
        self.keys[at] = if merged.rank > GREATEST_RANK { NEVER } else { key };
        self.into[at] = merged.id;
    }
}

/// The least of some numbers, as many as fill the lanes.
#[inline]
fn least(keys: &[i32]) -> i32 {
    let mut least = [NEVER; LANES];
    for keys in keys.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            least[lane] = least[lane].min(keys[lane]);
        }
    }
    least.into_iter().fold(NEVER, i32::min)
}
