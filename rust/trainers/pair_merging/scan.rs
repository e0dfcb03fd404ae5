//! Finds the frequent pairs of a layout by scanning all of it twice.
//!
//! The first scan fills a small table of hashed sums, which bounds the count of each pair from
//! above. The second counts exactly, and only pairs that may be frequent. So rare pairs, which are
//! most, take no memory. Both scans run on several threads.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Limits;
use super::layout::{SEPARATOR, SymbolLayout, Weights};
use super::pairs::{Pairs, key};
use super::tokens::Tokens;
use crate::error::{Error, Result};
use crate::parallel;
use crate::progress::{Progress, Stage};
use crate::vocab::TokenId;

/// The greatest count in a window is at most about this many times the least.
const RANGE: u64 = 16;
/// How many pairs to hold per merge still to be made, because most merges also remove other pairs.
const SPARE: usize = 3;
/// A window holds at least this many pairs, if there are any.
const MIN_PAIRS: usize = 1 << 12;
/// How many slots are read between two checks for progress.
const PAUSE: usize = 1 << 16;
/// The fewest slots for which another thread pays off.
const SHARE: usize = 1 << 16;

/// A compact layout to be scanned.
pub(crate) struct Scan<'a> {
    pub(crate) layout: &'a SymbolLayout,
    pub(crate) tokens: &'a Tokens,
    pub(crate) limits: &'a Limits,
}

impl Scan<'_> {
    /// The hashed sums of all pairs that may be merged.
    pub(super) fn sketch(&self, progress: &mut Progress) -> Result<Sketch> {
        let sketches = self.read(
            progress,
            || Sketch::new(self.layout.len().next_power_of_two().trailing_zeros().clamp(8, 18)),
            |sketch, _, left, right, weight| {
                sketch.add(left, right, weight);
                Ok(())
            },
        )?;
        let sum = sketches.into_iter().reduce(|mut sum, other| {
            sum.add_all(&other);
            sum
        });
        sum.ok_or_else(|| Error::Internal("a layout was read by no thread".to_owned()))
    }

    /// All pairs with at least this count, with positions.
    pub(super) fn pairs(&self, sketch: &Sketch, least: u64, progress: &mut Progress) -> Result<Pairs> {
        let found = self.read(progress, Pairs::default, |pairs, position, left, right, weight| {
            if sketch.bound(left, right) < least {
                return Ok(());
            }
            let pair = pairs.entry(left, right)?;
            pair.positions.push(position as u32)?;
            pair.count = self.sum(pair.count, weight, left, right)?;
            Ok(())
        })?;
        self.tick(progress)?;
        let mut found = found.into_iter();
        let mut pairs = found.next().unwrap_or_default();
        for others in found {
            for (left, right, other) in others.into_each() {
                let pair = pairs.entry(left, right)?;
                pair.count = self.sum(pair.count, other.count, left, right)?;
                pair.positions.append(&other.positions)?;
            }
        }
        self.tick(progress)?;
        pairs.keep(least)
    }

    fn tick(&self, progress: &mut Progress) -> Result<()> {
        progress.tick(Stage::Merge, self.tokens.len() as u64, self.limits.vocab_size as u64)
    }

    /// Adds two counts of a pair.
    pub(crate) fn sum(&self, a: u64, b: u64, left: TokenId, right: TokenId) -> Result<u64> {
        a.checked_add(b).ok_or_else(|| Error::CountOverflow {
            what: format!("the pair {:?}", String::from_utf8_lossy(&self.tokens.joined(left, right))),
        })
    }

    /// Calls `f` with each pair, its position and weight, and the state of its thread. Returns the
    /// state of each thread, in the order of positions.
    pub(crate) fn read<T: Send>(
        &self,
        progress: &mut Progress,
        empty: impl Fn() -> T + Sync,
        f: impl Fn(&mut T, usize, TokenId, TokenId, u64) -> Result<()> + Sync,
    ) -> Result<Vec<T>> {
        let threads = self.limits.threads.min(self.layout.len() / SHARE).max(1);
        let share = self.layout.len().div_ceil(threads);
        let stopped = AtomicBool::new(false);
        let read_share = |n: usize, pause: &mut dyn FnMut() -> Result<()>| {
            let mut found = empty();
            let range = n * share..self.layout.len().min((n + 1) * share);
            self.read_range(range, pause, |position, left, right, weight| {
                f(&mut found, position, left, right, weight)
            })?;
            Ok(found)
        };
        let own = || {
            let first = read_share(0, &mut || self.tick(progress));
            stopped.store(first.is_err(), Ordering::Relaxed);
            first
        };
        let other = |n: usize| {
            read_share(n, &mut || match stopped.load(Ordering::Relaxed) {
                true => Err(Error::Cancelled),
                false => Ok(()),
            })
        };
        let failed = |_| Err(Error::Internal("a thread failed".to_owned()));
        parallel::shared(threads, own, other).into_iter().map(|found| found.unwrap_or_else(failed)).collect()
    }

    #[inline]
    fn read_range(
        &self,
        range: Range<usize>,
        pause: &mut dyn FnMut() -> Result<()>,
        mut f: impl FnMut(usize, TokenId, TokenId, u64) -> Result<()>,
    ) -> Result<()> {
        let mut weights = Weights::default();
        let slots = self.layout.compact_slots();
        for from in range.clone().step_by(PAUSE) {
            let to = range.end.min(from + PAUSE);
            // A pair belongs to the thread where it begins, so the last pair reads one slot more.
            for (at, pair) in slots[from..slots.len().min(to + 1)].windows(2).enumerate() {
                let (left, right) = (pair[0], pair[1]);
                if left != SEPARATOR && right != SEPARATOR && self.tokens.may_form(left, right) {
                    f(from + at, left, right, weights.at(self.layout, from + at))?;
                }
            }
            pause()?;
        }
        Ok(())
    }
}

/// Hashed sums of the weights of pairs. A sum is never less than the count of its pair.
pub(crate) struct Sketch {
    sums: Vec<u64>,
    shift: u32,
}

impl Sketch {
    /// A table of `2^bits` sums.
    pub(crate) fn new(bits: u32) -> Self {
        Self { sums: vec![0; 1 << bits], shift: 64 - bits }
    }

    #[inline]
    pub(crate) fn add(&mut self, left: TokenId, right: TokenId, weight: u64) {
        let cell = self.cell(left, right);
        self.sums[cell] = self.sums[cell].saturating_add(weight);
    }

    /// Adds the sums of a sketch of the same size.
    pub(crate) fn add_all(&mut self, other: &Self) {
        for (sum, other) in self.sums.iter_mut().zip(&other.sums) {
            *sum = sum.saturating_add(*other);
        }
    }

    /// An upper bound of the count of a pair.
    #[inline]
    pub(crate) fn bound(&self, left: TokenId, right: TokenId) -> u64 {
        self.sums[self.cell(left, right)]
    }

    #[inline]
    fn cell(&self, left: TokenId, right: TokenId) -> usize {
        // Fibonacci hashing: the high bits of the product are mixed best.
        (key(left, right).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    /// An upper bound of all counts.
    pub(crate) fn max(&self) -> u64 {
        self.sums.iter().copied().max().unwrap_or(0)
    }

    /// A count between `low` and `high` that about `n` of the sums reach; `low` if fewer do.
    pub(crate) fn reached_by(&self, n: usize, low: u64, high: u64) -> u64 {
        let mut sums: Vec<u64> = self.sums.iter().copied().filter(|sum| (low..=high).contains(sum)).collect();
        if sums.len() <= n {
            return low;
        }
        let at = sums.len() - n;
        *sums.select_nth_unstable(at).1
    }

    /// The least count for a window whose counts are at most `bound`, from which `n_merges` merges
    /// will be made. Pairs with a lower count than `min_frequency` are never merged.
    pub(super) fn next_least(&self, bound: u64, min_frequency: u64, n_merges: usize) -> u64 {
        if bound <= min_frequency {
            return min_frequency;
        }
        let low = (bound / RANGE).max(bound.min(2)).max(min_frequency);
        self.reached_by(n_merges * SPARE + MIN_PAIRS, low, bound).min(bound.div_ceil(2)).max(low)
    }
}
