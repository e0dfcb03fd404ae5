//! `ByScore`: merges the pair with the greatest score first.
//!
//! A merge lowers the counts of its two symbols, which *raises* the scores of all their other
//! pairs. The lazy heap of byte-pair encoding, whose keys only fall, would be wrong. So each key in
//! the queue is an upper bound of the score of its pair until the key is updated:
//!
//! - A key is first computed from floors slightly below the counts of the two symbols. When a count
//!   falls below its floor, the floor is lowered and all pairs of the symbol get new keys.
//! - A pair whose bound reaches the front of the queue becomes *exact*: its key is its score, and
//!   is updated whenever one of the two counts falls.
//!
//! All other changes (of the count of the pair, or of the number of symbols) lower scores, so a key
//! may be too great; it is checked when it reaches the front. If the key of the front pair is its
//! score, that pair is therefore the best of all.
//!
//! If the measure bounds the score of rare pairs, the window need not hold them; the front must
//! then exceed that bound.

use super::queue::{Queue, Waiting};
use super::score::Measure;
use crate::error::Result;
use crate::memory;
use crate::trainers::pair_merging::pairs::{Candidate, Pairs};
use crate::trainers::pair_merging::tokens::Tokens;
use crate::trainers::pair_merging::window::{Next, Order};
use crate::vocab::TokenId;

/// A floor is below its count by this fraction (one in `SLACK`). Less slack updates more bounds;
/// more slack makes more pairs exact. Measured with `likelihood` on film reviews: 2 to 8 differ
/// only by noise; 32 takes twice as long.
const SLACK: u64 = 4;

/// A symbol and its pairs.
#[derive(Default)]
struct Symbol {
    count: u64,
    floor: u64,
    /// Its pairs. Some may have been removed.
    pairs: Vec<u32>,
    /// Its exact pairs. Some may no longer be exact.
    exact: Vec<u32>,
}

impl Symbol {
    fn lower_floor(&mut self) {
        self.floor = self.count - self.count / SLACK;
    }
}

/// A queue of pairs ordered by score.
pub(super) struct ByScore<M: Measure> {
    measure: M,
    queue: Queue<M::Key>,
    /// Whether each pair, by its number, is exact.
    exact: Vec<bool>,
    symbols: Vec<Symbol>,
    total: u64,
}

impl<M: Measure> ByScore<M> {
    /// An empty queue. `counts` are the counts of all symbols, by id.
    pub(super) fn new(measure: M, counts: &[u64]) -> Self {
        let symbol = |&count: &u64| Symbol { count, ..Symbol::default() };
        Self {
            measure,
            queue: Queue::new(),
            exact: Vec::new(),
            symbols: counts.iter().map(symbol).collect(),
            // The caller has checked the sum for overflow.
            total: counts.iter().sum(),
        }
    }

    fn key(&mut self, count: u64, left: TokenId, right: TokenId) -> M::Key {
        let Self { measure, symbols, .. } = self;
        measure.key(count, symbols[left as usize].count, symbols[right as usize].count)
    }

    /// The key computed from floors; an upper bound until a count falls below its floor.
    fn bound(&mut self, pair: Candidate) -> Waiting<M::Key> {
        let Self { measure, symbols, .. } = self;
        let Candidate { count, left, right, index } = pair;
        let key = measure.key(count, symbols[left as usize].floor, symbols[right as usize].floor);
        Waiting { key, left, right, index }
    }

    /// Updates the keys that rose because the count of a symbol fell.
    fn refresh(&mut self, pairs: &Pairs, id: TokenId) {
        let mut own = std::mem::take(&mut self.symbols[id as usize].exact);
        own.retain(|&index| {
            let Some(&Waiting { left, right, .. }) = self.queue.get(index) else { return false };
            if self.exact[index as usize] {
                let key = self.key(pairs.count(index), left, right);
                self.queue.update(index, key);
            }
            self.exact[index as usize]
        });
        let symbol = &mut self.symbols[id as usize];
        symbol.exact = own;
        if symbol.count >= symbol.floor {
            return;
        }
        symbol.lower_floor();
        let mut all = std::mem::take(&mut symbol.pairs);
        all.retain(|&index| {
            let Some(&Waiting { left, right, .. }) = self.queue.get(index) else { return false };
            self.exact[index as usize] = false;
            let waiting = self.bound(Candidate { count: pairs.count(index), left, right, index });
            self.queue.update(index, waiting.key);
            true
        });
        self.symbols[id as usize].pairs = all;
    }

    /// Records a pair in the lists of its two symbols.
    fn list(&mut self, pair: Candidate) -> Result<()> {
        memory::push(&mut self.symbols[pair.left as usize].pairs, pair.index)?;
        if pair.left != pair.right {
            memory::push(&mut self.symbols[pair.right as usize].pairs, pair.index)?;
        }
        Ok(())
    }
}

impl<M: Measure> Order for ByScore<M> {
    fn needs_all(&mut self) -> bool {
        self.measure.limit(1).is_none()
    }

    fn fill(&mut self, _: &Tokens, pairs: &Pairs) -> Result<()> {
        for symbol in &mut self.symbols {
            symbol.lower_floor();
            symbol.pairs.clear();
            symbol.exact.clear();
        }
        let mut waiting = memory::reserved(pairs.len())?;
        for pair in pairs.iter() {
            self.list(pair)?;
            waiting.push(self.bound(pair));
        }
        self.queue.refill(pairs.len(), waiting)?;
        self.exact.clear();
        memory::resize(&mut self.exact, pairs.len(), false)
    }

    fn push(&mut self, _: &Tokens, pair: Candidate) -> Result<()> {
        memory::push(&mut self.exact, false)?;
        let waiting = self.bound(pair);
        self.queue.push(waiting)?;
        self.list(pair)
    }

    fn best(&mut self, _: &Tokens, pairs: &mut Pairs, least: u64, is_last: bool) -> Next {
        self.measure.set_total(self.total);
        while let Some(&first) = self.queue.first() {
            let Waiting { left, right, index, .. } = first;
            let pair = Candidate { count: pairs.count(index), left, right, index };
            if pair.count < least {
                self.queue.remove(index);
                pairs.remove(pair);
                continue;
            }
            let key = self.key(pair.count, left, right);
            if key == first.key {
                let limit = if is_last { None } else { self.measure.limit(least - 1) };
                return match limit {
                    Some(limit) if limit >= key => Next::Rarer,
                    _ if M::gains(key) => Next::Pair(pair),
                    _ => Next::NoGain,
                };
            }
            if !std::mem::replace(&mut self.exact[index as usize], true) {
                self.symbols[left as usize].exact.push(index);
                if left != right {
                    self.symbols[right as usize].exact.push(index);
                }
            }
            self.queue.update(index, key);
        }
        Next::Rarer
    }

    fn remove(&mut self, _: &Tokens, pair: Candidate) {
        self.queue.remove(pair.index);
    }

    fn forget(&mut self, index: u32) {
        self.queue.remove(index);
    }

    fn merged(&mut self, (left, right): (TokenId, TokenId), id: TokenId, by: u64) {
        if self.symbols.len() <= id as usize {
            self.symbols.resize_with(id as usize + 1, Symbol::default);
        }
        self.symbols[left as usize].count -= by;
        self.symbols[right as usize].count -= by;
        self.symbols[id as usize].count += by;
        self.symbols[id as usize].lower_floor();
        self.total -= by;
    }

    fn counts_updated(&mut self, pairs: &Pairs, (left, right): (TokenId, TokenId)) {
        self.refresh(pairs, left);
        self.refresh(pairs, right);
    }
}
