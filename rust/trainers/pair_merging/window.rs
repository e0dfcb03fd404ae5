//! `Window`: the pairs frequent enough to be merged soon, with their places.
//!
//! A pair's count only falls after its birth, so a pair below the window's
//! `least` count is rare until the window is filled again. Rare pairs are
//! therefore not stored at all; when nothing in the window can be the best pair
//! any more, the layout is scanned again with a smaller `least`. `least` falls at
//! least by half, so there are few scans, whatever the corpus.
//!
//! Which pair is best is for the [`Order`] to say.

use super::layout::SymbolLayout;
use super::pairs::{Candidate, FrequentPair, Pairs, Positions};
use super::scan::{Scan, Sketch};
use super::tokens::Tokens;
use super::{Limits, MergeStop};
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

/// What an order says of the pairs of a window.
pub(crate) enum Next {
    /// This one goes first, with its live count.
    Pair(Candidate),
    /// None of them: a rarer one might go first.
    Rarer,
    /// None is worth a merge, nor is any rarer one.
    NoGain,
}

/// Which pair of a window is merged first.
pub(crate) trait Order {
    /// Whether a rare pair may go before all others, so that the window must
    /// hold every pair.
    fn needs_all(&mut self) -> bool {
        false
    }

    /// Replaces all candidates by these pairs.
    fn fill(&mut self, tokens: &Tokens, pairs: &Pairs) -> Result<()>;

    /// Adds a pair, whose number is the next.
    fn push(&mut self, tokens: &Tokens, pair: Candidate) -> Result<()>;

    /// The pair to merge. Pairs rarer than `least` that come to the front are
    /// removed; `is_last` says that outside the window there is none to come.
    fn best(&mut self, tokens: &Tokens, pairs: &mut Pairs, least: u64, is_last: bool) -> Next;

    /// Drops the pair that [`Order::best`] gave.
    fn remove(&mut self, tokens: &Tokens, pair: Candidate);

    /// Drops a pair that was forgotten.
    fn forget(&mut self, _index: u32) {}

    /// Notes that a pair became `id` at so many places, before other pairs change.
    fn merged(&mut self, _pair: (TokenId, TokenId), _id: TokenId, _by: u64) {}

    /// The changes of a merge are known: what the new counts of its two symbols
    /// mean for their other pairs can be seen to.
    fn settle(&mut self, _pairs: &Pairs, _pair: (TokenId, TokenId)) {}
}

/// Frequent pairs, and their order.
pub(crate) struct PairWindow<O> {
    pub(super) order: O,
    pairs: Pairs,
    least: u64,
    /// Rarer pairs are never merged.
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

    /// Takes out the pair that [`PairWindow::best`] gave, with its positions.
    pub(super) fn take(&mut self, tokens: &Tokens, best: Candidate) -> Positions {
        self.order.remove(tokens, best);
        self.pairs.remove(best)
    }

    /// The least count of a pair that is kept.
    #[inline]
    pub(super) fn least(&self) -> u64 {
        self.least
    }

    /// Lowers a pair's count, if the pair is kept.
    pub(super) fn lower(&mut self, left: TokenId, right: TokenId, by: u64) {
        if let Some(pair) = self.pairs.get_mut(left, right) {
            pair.count = pair.count.saturating_sub(by);
        }
    }

    /// Adds a pair of at least [`PairWindow::least`] with `n` places to come, and
    /// gives its number.
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

    /// Adds a place of a pair known by its number.
    #[inline]
    pub(super) fn push_position(&mut self, index: u32, position: u32) -> Result<()> {
        self.pairs.push_position(index, position)
    }

    /// Drops all pairs of a token.
    pub(super) fn forget(&mut self, id: TokenId) {
        let Self { order, pairs, .. } = self;
        pairs.forget(id, |index| order.forget(index));
    }

    /// The changes of a merge are known.
    pub(super) fn settle(&mut self, pair: (TokenId, TokenId)) {
        self.order.settle(&self.pairs, pair);
    }

    /// Fills the window again, with rarer pairs too; why there is none, if so.
    ///
    /// # Errors
    /// [`Error::CountOverflow`](crate::Error) when a pair's count passes 2^64 - 1.
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

    /// The least count of the next window, whose counts are at most `bound`.
    fn next_least(&mut self, sketch: &Sketch, bound: u64, n_merges: usize) -> u64 {
        if bound <= self.min_frequency || self.order.needs_all() {
            return self.min_frequency;
        }
        let low = (bound / RANGE).max(bound.min(2)).max(self.min_frequency);
        sketch.reached_by(n_merges * SPARE + MIN_PAIRS, low, bound).min(bound.div_ceil(2)).max(low)
    }
}

/// Why no pair is frequent enough: there is none, or the most frequent is too rare.
fn why_none(scan: &Scan, sketch: &Sketch, progress: &mut Progress) -> Result<MergeStop> {
    let mut bound = sketch.max().min(scan.limits.min_frequency - 1);
    while bound > 0 {
        // Halves, so that the rare pairs of a large corpus are not all held.
        let least = bound.div_ceil(2);
        let pairs = scan.pairs(sketch, least, progress)?;
        if let Some(count) = pairs.iter().map(|pair| pair.count).max() {
            return Ok(MergeStop::BelowMinFrequency { count });
        }
        bound = least - 1;
    }
    Ok(MergeStop::NoPairs)
}
