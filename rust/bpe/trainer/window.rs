//! `Window`: the pairs frequent enough to be merged soon, with their places.
//!
//! A pair's count only falls after its birth, so a pair below the window's
//! `least` count cannot be merged while one at or above it is left. Rarer
//! pairs are therefore not stored at all; when the window is empty, the layout
//! is scanned again with a smaller `least`. `least` falls at least by half, so
//! there are few scans, whatever the corpus.

use std::collections::hash_map::Entry;

use super::TieBreak;
use super::heap::{Candidate, Heap};
use super::layout::Layout;
use super::merger::Limits;
use super::rewrite::Store;
use super::scan::{Pair, Pairs, Positions, Scan, key};
use super::tokens::Tokens;
use crate::error::Result;
use crate::progress::{Progress, Stage};
use crate::vocab::TokenId;

/// The window's greatest count is at most about this many times its least.
const RANGE: u64 = 16;
/// Pairs to hold per merge that is still to be made; most merges also take
/// others away.
const SPARE: usize = 3;
/// So many pairs are always worth holding.
const MIN_PAIRS: usize = 1 << 12;

/// Frequent pairs, by pair and by count.
pub(super) struct Window {
    least: u64,
    pairs: Pairs,
    heap: Heap,
}

impl Window {
    pub(super) fn new(tie_break: TieBreak) -> Self {
        Self { least: u64::MAX, pairs: Pairs::default(), heap: Heap::new(tie_break) }
    }

    /// The pair to merge next, its count, if the window holds one.
    pub(super) fn best(&mut self, tokens: &Tokens) -> Option<Candidate> {
        while let Some(first) = self.heap.peek() {
            let pair = &mut self.pairs.list[first.index as usize];
            if pair.count == first.count {
                return Some(first);
            }
            if pair.count >= self.least {
                self.heap.lower_first(tokens, pair.count);
            } else {
                *pair = Pair::default();
                self.heap.pop(tokens);
                if let Entry::Occupied(known) = self.pairs.index.entry(key(first.left, first.right))
                    && *known.get() == first.index
                {
                    known.remove();
                }
            }
        }
        None
    }

    /// Takes out the pair that [`Window::best`] gave, with its positions.
    pub(super) fn take(&mut self, tokens: &Tokens, best: Candidate) -> Positions {
        self.heap.pop(tokens);
        self.pairs.index.remove(&key(best.left, best.right));
        std::mem::take(&mut self.pairs.list[best.index as usize]).positions
    }
}

impl Store for Window {
    #[inline]
    fn least(&self) -> u64 {
        self.least
    }

    fn lower(&mut self, left: TokenId, right: TokenId, by: u64) {
        if let Some(&index) = self.pairs.index.get(&key(left, right)) {
            let count = &mut self.pairs.list[index as usize].count;
            *count = count.saturating_sub(by);
        }
    }

    fn insert(&mut self, tokens: &Tokens, left: TokenId, right: TokenId, count: u64, n: u32) -> u32 {
        let index = self.pairs.list.len() as u32;
        self.pairs.list.push(Pair { count, positions: Positions::with_room(n as usize) });
        self.pairs.index.insert(key(left, right), index);
        self.heap.push(tokens, Candidate { count, left, right, index });
        index
    }

    #[inline]
    fn push_position(&mut self, index: u32, position: u32) {
        self.pairs.list[index as usize].positions.push(position);
    }

    fn forget(&mut self, id: TokenId) {
        let Pairs { list: pairs, index } = &mut self.pairs;
        index.retain(|&key, &mut index| {
            let stays = (key >> 32) as TokenId != id && key as TokenId != id;
            if !stays {
                pairs[index as usize] = Pair::default();
            }
            stays
        });
    }
}

impl Window {
    /// Fills the empty window with the most frequent pairs of the layout.
    /// `false` if there is no pair.
    ///
    /// # Errors
    /// [`Error::CountOverflow`](crate::Error) when a pair's count passes 2^64 - 1.
    pub(super) fn refill(
        &mut self,
        layout: &mut Layout,
        tokens: &Tokens,
        limits: &Limits,
        progress: &mut Progress,
    ) -> Result<bool> {
        self.pairs = Pairs::default();
        layout.compact();
        let done = tokens.len() as u64;
        let tick = |progress: &mut Progress| progress.tick(Stage::Merge, done, limits.vocab_size as u64);
        let (vocab_size, threads) = (limits.vocab_size, limits.threads);
        let scan = Scan { layout, tokens, vocab_size, threads };
        let sketch = scan.sketch(progress)?;
        let mut bound = sketch.max().min(self.least - 1);
        while bound > 0 {
            let wanted = (vocab_size - tokens.len()) * SPARE + MIN_PAIRS;
            let low = (bound / RANGE).max(bound.min(2));
            self.least = sketch.reached_by(wanted, low, bound).min(bound.div_ceil(2)).max(low);
            self.pairs = scan.pairs(&sketch, self.least, progress)?;
            if !self.pairs.list.is_empty() {
                tick(progress)?;
                let Pairs { list, index } = &self.pairs;
                self.heap.refill(
                    tokens,
                    index.iter().map(|(&key, &index)| Candidate {
                        count: list[index as usize].count,
                        left: (key >> 32) as TokenId,
                        right: key as TokenId,
                        index,
                    }),
                );
                tick(progress)?;
                return Ok(true);
            }
            bound = self.least - 1;
        }
        Ok(false)
    }
}
