//! `Window`: the pairs that are frequent enough to be merged soon, with their positions.
//!
//! After a pair first appears its count only falls, so a pair below the `least` count of the window
//! remains rare until the window is refilled, and is not stored. When no pair in the window can be
//! the best any more, the layout is scanned again with a smaller `least`. Each scan at least halves
//! `least`, so there are few scans for any corpus.
//!
//! An [`Order`] decides which pair is best.

use super::layout::SymbolLayout;
use super::pairs::{Candidate, FrequentPair, Pairs, Positions};
use super::scan::{Scan, Sketch};
use super::tokens::Tokens;
use super::{Limits, MergeStop};
use crate::error::Result;
use crate::progress::{Progress, Stage};
use crate::vocab::TokenId;

/// The next step according to an order.
pub(crate) enum Next {
    /// Merge this pair, whose count is current.
    Pair(Candidate),
    /// Refill the window, because a rarer pair might be better.
    Rarer,
    /// Stop, because no pair improves the score, nor would a rarer one.
    NoGain,
}

/// Decides which pair of a window is merged first.
pub(crate) trait Order {
    /// Whether a rare pair may be the best, so that the window must hold all pairs.
    fn needs_all(&mut self) -> bool {
        false
    }

    /// Replaces all candidates by these pairs.
    fn fill(&mut self, tokens: &Tokens, pairs: &Pairs) -> Result<()>;

    /// Adds a pair, whose number must be the next.
    fn push(&mut self, tokens: &Tokens, pair: Candidate) -> Result<()>;

    /// The pair to merge. Removes pairs rarer than `least` that reach the front. `is_last` says
    /// that there are no pairs outside the window.
    fn best(&mut self, tokens: &Tokens, pairs: &mut Pairs, least: u64, is_last: bool) -> Next;

    /// Removes the pair that [`Order::best`] returned.
    fn remove(&mut self, tokens: &Tokens, pair: Candidate);

    /// Removes a pair whose token is counted again.
    fn forget(&mut self, _index: u32) {}

    /// Called when a pair became `id` at `by` positions, before the counts of other pairs change.
    fn merged(&mut self, _pair: (TokenId, TokenId), _id: TokenId, _by: u64) {}

    /// Called when all counts of a merge are updated, so that the order can update the other pairs
    /// of the two symbols.
    fn counts_updated(&mut self, _pairs: &Pairs, _pair: (TokenId, TokenId)) {}
}

/// Frequent pairs, and their order.
pub(crate) struct PairWindow<O> {
    pub(super) order: O,
    pairs: Pairs,
    least: u64,
    /// Pairs with a lower count are never merged.
    min_frequency: u64,
}

impl<O: Order> PairWindow<O> {
    /// An empty window.
    pub(crate) fn new(order: O, limits: &Limits) -> Self {
        Self { order, pairs: Pairs::default(), least: u64::MAX, min_frequency: limits.min_frequency }
    }

    /// The pair to merge next, if the window holds it.
    pub(super) fn best(&mut self, tokens: &Tokens) -> Next {
        let is_last = self.least <= self.min_frequency;
        self.order.best(tokens, &mut self.pairs, self.least, is_last)
    }

    /// Removes the pair that [`PairWindow::best`] returned; returns its positions.
    pub(super) fn take(&mut self, tokens: &Tokens, best: Candidate) -> Positions {
        self.order.remove(tokens, best);
        self.pairs.remove(best)
    }

    /// The least count of a stored pair.
    #[inline]
    pub(super) fn least(&self) -> u64 {
        self.least
    }

    /// Lowers the count of a pair, if it is stored.
    pub(super) fn lower(&mut self, left: TokenId, right: TokenId, by: u64) {
        if let Some(pair) = self.pairs.get_mut(left, right) {
            pair.count = pair.count.saturating_sub(by);
        }
    }

    /// Adds a pair with at least [`PairWindow::least`], for which `n` positions will follow;
    /// returns its number.
    pub(super) fn insert(
        &mut self,
        tokens: &Tokens,
        left: TokenId,
        right: TokenId,
        count: u64,
        n: u32,
    ) -> Result<u32> {
        let pair = FrequentPair { count, positions: Positions::with_room(n as usize)? };
        let index = self.pairs.insert(left, right, pair)?;
        self.order.push(tokens, Candidate { count, left, right, index })?;
        Ok(index)
    }

    /// Adds a position of the pair with this number.
    #[inline]
    pub(super) fn push_position(&mut self, index: u32, position: u32) -> Result<()> {
        self.pairs.push_position(index, position)
    }

    /// Removes all pairs of a token.
    pub(super) fn forget(&mut self, id: TokenId) {
        let Self { order, pairs, .. } = self;
        pairs.forget(id, |index| order.forget(index));
    }

    /// Notifies the order that all counts of a merge are updated.
    pub(super) fn counts_updated(&mut self, pair: (TokenId, TokenId)) {
        self.order.counts_updated(&self.pairs, pair);
    }

    /// Refills the window with rarer pairs; returns the reason to stop if there are none.
    ///
    /// # Errors
    /// [`Error::CountOverflow`](crate::Error) if the count of a pair exceeds 2^64 - 1.
    pub(super) fn refill(
        &mut self,
        layout: &mut SymbolLayout,
        tokens: &Tokens,
        limits: &Limits,
        progress: &mut Progress,
    ) -> Result<Option<MergeStop>> {
        self.pairs = Pairs::default();
        layout.compact();
        let scan = Scan { layout, tokens, limits };
        let sketch = scan.sketch(progress)?;
        while self.least > self.min_frequency {
            let bound = sketch.max().min(self.least - 1);
            self.least = self.next_least(&sketch, bound, limits.vocab_size - tokens.len());
            self.pairs = scan.pairs(&sketch, self.least, progress)?;
            if !self.pairs.is_empty() {
                progress.tick(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;
                self.order.fill(tokens, &self.pairs)?;
                progress.tick(Stage::Merge, tokens.len() as u64, limits.vocab_size as u64)?;
                return Ok(None);
            }
        }
        why_none(&scan, &sketch, progress).map(Some)
    }

    /// The least count for the next window, whose counts are at most `bound`.
    fn next_least(&mut self, sketch: &Sketch, bound: u64, n_merges: usize) -> u64 {
        if self.order.needs_all() {
            return self.min_frequency;
        }
        sketch.next_least(bound, self.min_frequency, n_merges)
    }
}

/// Why no pair is frequent enough: there are no pairs, or the most frequent is too rare.
fn why_none(scan: &Scan, sketch: &Sketch, progress: &mut Progress) -> Result<MergeStop> {
    let mut bound = sketch.max().min(scan.limits.min_frequency - 1);
    while bound > 0 {
        // Halves the bound step by step, so that not all rare pairs of a large corpus are held at
        // once.
        let least = bound.div_ceil(2);
        let pairs = scan.pairs(sketch, least, progress)?;
        if let Some(count) = pairs.iter().map(|pair| pair.count).max() {
            return Ok(MergeStop::BelowMinFrequency { count });
        }
        bound = least - 1;
    }
    Ok(MergeStop::NoPairs)
}
