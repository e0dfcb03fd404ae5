//! `Candidates`: the pairs that may be merged, the one worth most first.
//!
//! A merge lowers the counts of its two symbols, which *raises* the scores of
//! all their other pairs: the lazy heap of byte-pair encoding, where keys only
//! fall, would be wrong. A key in the queue is therefore an upper bound of its
//! pair's score, now and until it is renewed:
//!
//! - at first it is made from floors of the two symbols' counts, a little
//!   below them; when a count falls through its floor, the floor is lowered and
//!   all pairs of the symbol get new keys;
//! - a pair whose bound reaches the front of the queue becomes *exact*: its key
//!   is its score, and is renewed whenever one of the two counts falls.
//!
//! Whatever else changes (the pair's count, the number of symbols) lowers
//! scores, so a key may be too great and is looked at when it comes to the
//! front. The pair in front whose key is its score is hence the best of all.
//!
//! Where the measure bounds what rare pairs are worth, they are not kept at
//! all, as in the window of `bpe::trainer`.

use super::queue::{Queue, Waiting};
use super::score::Measure;
use crate::bpe::trainer::layout::Layout;
use crate::bpe::trainer::merger::Limits;
use crate::bpe::trainer::rewrite::Store;
use crate::bpe::trainer::scan::{Pair, Pairs, Positions, Scan, key};
use crate::bpe::trainer::tokens::Tokens;
use crate::error::Result;
use crate::progress::Progress;
use crate::vocab::TokenId;

/// A floor lies so much below the count: one part in this. Less slack renews
/// more bounds, more slack makes more pairs exact. Measured with `likelihood`
/// on film reviews: 2 to 8 do not differ beyond the noise, 32 takes twice as long.
const SLACK: u64 = 4;
/// The greatest count kept is at most about this many times the least.
const RANGE: u64 = 16;
/// Pairs to hold per merge that is still to be made.
const SPARE: usize = 4;
/// So many pairs are always worth holding.
const MIN_PAIRS: usize = 1 << 12;

/// A symbol and its pairs.
#[derive(Default)]
struct Symbol {
    count: u64,
    floor: u64,
    /// Its pairs, some of which may have gone.
    pairs: Vec<u32>,
    /// Those of them that are exact, some of which may be so no more.
    exact: Vec<u32>,
}

impl Symbol {
    fn lower_floor(&mut self) {
        self.floor = self.count - self.count / SLACK;
    }
}

/// Pairs by their scores.
pub(super) struct Candidates<M: Measure> {
    measure: M,
    least: u64,
    pairs: Pairs,
    queue: Queue<M::Key>,
    /// By the number of a pair.
    exact: Vec<bool>,
    symbols: Vec<Symbol>,
    total: u64,
}

impl<M: Measure> Candidates<M> {
    /// No pairs yet; `counts` are those of all symbols, by id.
    pub(super) fn new(measure: M, counts: &[u64]) -> Self {
        let symbol = |&count: &u64| Symbol { count, ..Symbol::default() };
        Self {
            measure,
            least: u64::MAX,
            pairs: Pairs::default(),
            queue: Queue::new(),
            exact: Vec::new(),
            symbols: counts.iter().map(symbol).collect(),
            // The caller has checked the sum.
            total: counts.iter().sum(),
        }
    }

    /// The pair worth most and its count, unless rarer ones must be looked at first.
    pub(super) fn best(&mut self, limits: &Limits) -> Option<(Waiting<M::Key>, u64)> {
        self.measure.set_total(self.total);
        while let Some(&first) = self.queue.first() {
            let Waiting { left, right, index, .. } = first;
            let count = self.pairs.list[index as usize].count;
            if count < self.least {
                self.drop_pair(index, left, right);
                continue;
            }
            let count_of = |id: TokenId| self.symbols[id as usize].count;
            let key = self.measure.key(count, count_of(left), count_of(right));
            if key == first.key {
                let all_kept = self.least <= limits.min_frequency;
                let limit = if all_kept { None } else { self.measure.limit(self.least - 1) };
                return limit.is_none_or(|limit| limit < key).then_some((first, count));
            }
            if !std::mem::replace(&mut self.exact[index as usize], true) {
                self.symbols[left as usize].exact.push(index);
                if left != right {
                    self.symbols[right as usize].exact.push(index);
                }
            }
            self.queue.update(index, key);
        }
        None
    }

    /// Takes out the pair that [`Candidates::best`] gave, with its positions.
    pub(super) fn take(&mut self, best: Waiting<M::Key>) -> Positions {
        self.drop_pair(best.index, best.left, best.right)
    }

    /// Notes that a pair became `id` at so many places.
    pub(super) fn merged(&mut self, (left, right): (TokenId, TokenId), id: TokenId, by: u64) {
        if self.symbols.len() <= id as usize {
            self.symbols.resize_with(id as usize + 1, Symbol::default);
        }
        self.symbols[left as usize].count -= by;
        self.symbols[right as usize].count -= by;
        self.symbols[id as usize].count += by;
        self.symbols[id as usize].lower_floor();
        self.total -= by;
    }

    /// Renews the keys that rose when a symbol's count fell.
    pub(super) fn refresh(&mut self, id: TokenId) {
        let Self { measure, pairs, queue, exact, symbols, .. } = self;
        let mut own = std::mem::take(&mut symbols[id as usize].exact);
        own.retain(|&index| {
            let Some(&Waiting { left, right, .. }) = queue.get(index) else { return false };
            if exact[index as usize] {
                let count_of = |id: TokenId| symbols[id as usize].count;
                let count = pairs.list[index as usize].count;
                queue.update(index, measure.key(count, count_of(left), count_of(right)));
            }
            exact[index as usize]
        });
        let symbol = &mut symbols[id as usize];
        symbol.exact = own;
        if symbol.count >= symbol.floor {
            return;
        }
        symbol.lower_floor();
        let mut all = std::mem::take(&mut symbol.pairs);
        all.retain(|&index| {
            let Some(&Waiting { left, right, .. }) = queue.get(index) else { return false };
            exact[index as usize] = false;
            let floor_of = |id: TokenId| symbols[id as usize].floor;
            let count = pairs.list[index as usize].count;
            queue.update(index, measure.key(count, floor_of(left), floor_of(right)));
            true
        });
        symbols[id as usize].pairs = all;
    }

    /// Finds pairs anew, rarer ones too; `false` if there is no rarer one to find.
    pub(super) fn refill(
        &mut self,
        layout: &mut Layout,
        tokens: &Tokens,
        limits: &Limits,
        progress: &mut Progress,
    ) -> Result<bool> {
        let all = limits.min_frequency;
        if self.least <= all {
            return Ok(false);
        }
        (self.pairs, self.queue) = (Pairs::default(), Queue::new());
        layout.compact();
        let scan = Scan { layout, tokens, vocab_size: limits.vocab_size, threads: limits.threads };
        let sketch = scan.sketch(progress)?;
        let bound = sketch.max().min(self.least - 1);
        self.least = if self.measure.limit(1).is_none() {
            all
        } else {
            let wanted = (limits.vocab_size - tokens.len()) * SPARE + MIN_PAIRS;
            let low = bound / RANGE;
            sketch.reached_by(wanted, low, bound).min(bound.div_ceil(2)).max(low).max(all)
        };
        self.pairs = scan.pairs(&sketch, self.least, progress)?;
        self.index_pairs();
        Ok(true)
    }

    /// Makes keys for all pairs.
    fn index_pairs(&mut self) {
        let Self { measure, pairs, queue, symbols, .. } = self;
        for symbol in &mut *symbols {
            symbol.lower_floor();
            symbol.pairs.clear();
            symbol.exact.clear();
        }
        let mut waiting = Vec::with_capacity(pairs.list.len());
        for (&key, &index) in &pairs.index {
            let (left, right) = ((key >> 32) as TokenId, key as TokenId);
            symbols[left as usize].pairs.push(index);
            if left != right {
                symbols[right as usize].pairs.push(index);
            }
            let floor_of = |id: TokenId| symbols[id as usize].floor;
            let count = pairs.list[index as usize].count;
            let key = measure.key(count, floor_of(left), floor_of(right));
            waiting.push(Waiting { key, left, right, index });
        }
        queue.refill(pairs.list.len(), waiting);
        self.exact = vec![false; pairs.list.len()];
    }

    fn drop_pair(&mut self, index: u32, left: TokenId, right: TokenId) -> Positions {
        self.queue.remove(index);
        self.pairs.index.remove(&key(left, right));
        std::mem::take(&mut self.pairs.list[index as usize]).positions
    }
}

impl<M: Measure> Store for Candidates<M> {
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

    fn insert(&mut self, _: &Tokens, left: TokenId, right: TokenId, count: u64, n: u32) -> u32 {
        let index = self.pairs.list.len() as u32;
        self.pairs.list.push(Pair { count, positions: Positions::with_room(n as usize) });
        self.pairs.index.insert(key(left, right), index);
        self.exact.push(false);
        let floor_of = |id: TokenId| self.symbols[id as usize].floor;
        let key = self.measure.key(count, floor_of(left), floor_of(right));
        self.queue.push(Waiting { key, left, right, index });
        self.symbols[left as usize].pairs.push(index);
        if left != right {
            self.symbols[right as usize].pairs.push(index);
        }
        index
    }

    #[inline]
    fn push_position(&mut self, index: u32, position: u32) {
        self.pairs.list[index as usize].positions.push(position);
    }

    fn forget(&mut self, id: TokenId) {
        for index in std::mem::take(&mut self.symbols[id as usize].pairs) {
            if let Some(&Waiting { left, right, .. }) = self.queue.get(index) {
                self.drop_pair(index, left, right);
            }
        }
    }
}
