//! `Window`: the pairs frequent enough to be merged soon, with their places.
//!
//! A pair's count only falls after its birth, so a pair below the window's
//! `least` count cannot be merged while one at or above it is left. Rarer
//! pairs are therefore not stored at all; when the window is empty, the layout
//! is scanned again with a smaller `least`. `least` falls at least by half, so
//! there are few scans, whatever the corpus.
//!
//! A scan counts twice: first into a small table of hashed sums, which bounds
//! each pair's count from above, then exactly, only what may be frequent.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::TieBreak;
use super::heap::{Candidate, Heap};
use super::layout::{Layout, Weights};
use super::tokens::Tokens;
use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};
use crate::vocab::TokenId;

/// The window's greatest count is about this many times its least.
const RANGE: u64 = 8;

/// A frequent pair.
#[derive(Default)]
struct Pair {
    /// Its present count.
    count: u64,
    /// Where it began at its birth, ascending; some may be stale.
    positions: Vec<u32>,
}

impl Pair {
    /// The count of a pair of equal symbols when no two places may overlap.
    fn count_apart(&self, layout: &Layout, symbol: TokenId) -> u64 {
        let mut weights = Weights::default();
        let (mut count, mut free) = (0, 0);
        for &position in &self.positions {
            let position = position as usize;
            if position < free || layout.at(position) != symbol {
                continue;
            }
            let next = position + layout.span(position);
            if layout.at(next) == symbol {
                count += weights.at(layout, position);
                free = next + layout.span(next);
            }
        }
        count
    }
}

/// Frequent pairs, by pair and by count.
pub(super) struct Window {
    least: u64,
    pairs: Vec<Pair>,
    index: FxHashMap<u64, u32>,
    heap: Heap,
}

impl Window {
    pub(super) fn new(tie_break: TieBreak) -> Self {
        Self { least: u64::MAX, pairs: Vec::new(), index: FxHashMap::default(), heap: Heap::new(tie_break) }
    }

    /// The least count a pair must have to be kept.
    pub(super) fn least(&self) -> u64 {
        self.least
    }

    /// The pair to merge next, its count, if the window holds one.
    pub(super) fn best(&mut self, layout: &Layout, tokens: &Tokens) -> Option<Candidate> {
        while let Some(first) = self.heap.peek() {
            let pair = &mut self.pairs[first.index as usize];
            let count = match self.heap.tie_break() {
                TieBreak::SentencePiece if first.left == first.right => pair.count_apart(layout, first.left),
                _ => pair.count,
            };
            if count == first.count {
                return Some(first);
            }
            if count >= self.least {
                self.heap.lower_first(tokens, count);
            } else {
                *pair = Pair::default();
                self.heap.pop(tokens);
                if let Entry::Occupied(known) = self.index.entry(key(first.left, first.right))
                    && *known.get() == first.index
                {
                    known.remove();
                }
            }
        }
        None
    }

    /// Takes out the pair that [`Window::best`] gave, with its positions.
    pub(super) fn take(&mut self, tokens: &Tokens, best: Candidate) -> Vec<u32> {
        self.heap.pop(tokens);
        self.index.remove(&key(best.left, best.right));
        std::mem::take(&mut self.pairs[best.index as usize]).positions
    }

    /// Drops all pairs of a token.
    pub(super) fn forget(&mut self, id: TokenId) {
        let pairs = &mut self.pairs;
        self.index.retain(|&key, &mut index| {
            let stays = (key >> 32) as TokenId != id && key as TokenId != id;
            if !stays {
                pairs[index as usize] = Pair::default();
            }
            stays
        });
    }

    /// Lowers a pair's count, if the pair is kept.
    pub(super) fn lower(&mut self, left: TokenId, right: TokenId, by: u64) {
        if let Some(&index) = self.index.get(&key(left, right)) {
            let count = &mut self.pairs[index as usize].count;
            *count = count.saturating_sub(by);
        }
    }

    /// Adds a pair of at least `least`, and gives the list its positions go to.
    pub(super) fn insert(
        &mut self,
        tokens: &Tokens,
        left: TokenId,
        right: TokenId,
        count: u64,
        n: u32,
    ) -> u32 {
        let index = self.pairs.len() as u32;
        self.pairs.push(Pair { count, positions: Vec::with_capacity(n as usize) });
        self.index.insert(key(left, right), index);
        self.heap.push(tokens, Candidate { count, left, right, index });
        index
    }

    #[inline]
    pub(super) fn push_position(&mut self, index: u32, position: u32) {
        self.pairs[index as usize].positions.push(position);
    }
}

/// Hashed sums of pair weights: never less than a pair's count.
struct Sketch {
    sums: Vec<u64>,
    shift: u32,
}

impl Sketch {
    /// Sums up all pairs of a layout.
    fn new(layout: &Layout, mut pause: impl FnMut() -> Result<()>) -> Result<Self> {
        let bits = layout.len().next_power_of_two().trailing_zeros().clamp(8, 18);
        let mut sketch = Self { sums: vec![0; 1 << bits], shift: 64 - bits };
        layout.for_each_pair(0..layout.len(), &mut pause, |_, left, right, weight| {
            let at = sketch.place(left, right);
            sketch.sums[at] = sketch.sums[at].saturating_add(weight);
            Ok(())
        })?;
        Ok(sketch)
    }

    #[inline]
    fn place(&self, left: TokenId, right: TokenId) -> usize {
        // The multiplier of Fibonacci hashing; high bits are the best mixed.
        (key(left, right).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    #[inline]
    fn bound(&self, left: TokenId, right: TokenId) -> u64 {
        self.sums[self.place(left, right)]
    }

    fn max(&self) -> u64 {
        self.sums.iter().copied().max().unwrap_or(0)
    }
}

impl Window {
    /// Fills the empty window with the most frequent pairs of the layout.
    /// `false` if there is no pair.
    ///
    /// # Errors
    /// [`Error::CountOverflow`] when a pair's count passes 2^64 - 1.
    pub(super) fn refill(
        &mut self,
        layout: &Layout,
        tokens: &Tokens,
        size: usize,
        progress: &mut Progress,
    ) -> Result<bool> {
        let mut pause = || progress.tick(Stage::Merge, tokens.len() as u64, size as u64);
        let sketch = Sketch::new(layout, &mut pause)?;
        let mut bound = sketch.max().min(self.least - 1);
        while bound > 0 {
            self.least = (bound / RANGE).max(bound.min(2));
            self.count(layout, tokens, &sketch, &mut pause)?;
            if !self.pairs.is_empty() {
                self.locate(layout, &sketch, &mut pause)?;
                let (pairs, index) = (&self.pairs, &self.index);
                self.heap.refill(
                    tokens,
                    index.iter().map(|(&key, &index)| Candidate {
                        count: pairs[index as usize].count,
                        left: (key >> 32) as TokenId,
                        right: key as TokenId,
                        index,
                    }),
                );
                return Ok(true);
            }
            bound = self.least - 1;
        }
        Ok(false)
    }

    /// Finds the pairs of at least `least`, with room for their positions.
    fn count(
        &mut self,
        layout: &Layout,
        tokens: &Tokens,
        sketch: &Sketch,
        pause: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        let mut counts: Vec<(u64, u32)> = Vec::new();
        self.index.clear();
        let index = &mut self.index;
        layout.for_each_pair(0..layout.len(), pause, |_, left, right, weight| {
            if sketch.bound(left, right) >= self.least {
                let at = *index.entry(key(left, right)).or_insert_with(|| {
                    counts.push((0, 0));
                    counts.len() as u32 - 1
                });
                let (count, n) = &mut counts[at as usize];
                *n += 1;
                *count = count.checked_add(weight).ok_or_else(|| Error::CountOverflow {
                    what: format!("the pair {:?}", String::from_utf8_lossy(&tokens.joined(left, right))),
                })?;
            }
            Ok(())
        })?;
        self.pairs = Vec::new();
        let (pairs, least) = (&mut self.pairs, self.least);
        index.retain(|_, at| {
            let (count, n) = counts[*at as usize];
            if count < least {
                return false;
            }
            *at = pairs.len() as u32;
            pairs.push(Pair { count, positions: Vec::with_capacity(n as usize) });
            true
        });
        index.shrink_to_fit();
        Ok(())
    }

    /// Notes where the window's pairs stand.
    fn locate(&mut self, layout: &Layout, sketch: &Sketch, pause: impl FnMut() -> Result<()>) -> Result<()> {
        let Self { least, pairs, index, .. } = self;
        layout.for_each_pair(0..layout.len(), pause, |position, left, right, _| {
            if sketch.bound(left, right) >= *least
                && let Some(&at) = index.get(&key(left, right))
            {
                pairs[at as usize].positions.push(position as u32);
            }
            Ok(())
        })
    }
}

fn key(left: TokenId, right: TokenId) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}
