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

/// How many slots are read between two checks for progress.
const PAUSE: usize = 1 << 16;
/// The fewest slots for which another thread pays off.
const SHARE: usize = 1 << 16;

/// A compact layout to be scanned.
pub(super) struct Scan<'a> {
    pub(super) layout: &'a SymbolLayout,
    pub(super) tokens: &'a Tokens,
    pub(super) limits: &'a Limits,
}

impl Scan<'_> {
    /// The hashed sums of all pairs that may be merged.
    pub(super) fn sketch(&self, progress: &mut Progress) -> Result<Sketch> {
        let sketches = self.read(
            progress,
            || Sketch::new(self.layout.len()),
            |sketch, _, left, right, weight| {
                let cell = sketch.cell(left, right);
                sketch.sums[cell] = sketch.sums[cell].saturating_add(weight);
                Ok(())
            },
        )?;
        let sum = sketches.into_iter().reduce(|mut sum, other| {
            for (sum, other) in sum.sums.iter_mut().zip(other.sums) {
                *sum = sum.saturating_add(other);
            }
            sum
        });
        sum.ok_or_else(|| Error::Internal("a layout was read by no thread".to_owned()))
    }

    /// All pairs with at least this count, with positions.
    pub(super) fn pairs(&self, sketch: &Sketch, least: u64, progress: &mut Progress) -> Result<Pairs> {
        let found = self.read(progress, Pairs::default, |pairs, position, left, right, weight| {
            if sketch.sums[sketch.cell(left, right)] < least {
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

    fn sum(&self, a: u64, b: u64, left: TokenId, right: TokenId) -> Result<u64> {
        a.checked_add(b).ok_or_else(|| Error::CountOverflow {
            what: format!("the pair {:?}", String::from_utf8_lossy(&self.tokens.joined(left, right))),
        })
    }

    /// Calls `f` with each pair, its position and weight, and the state of its thread. Returns the
    /// state of each thread, in the order of positions.
    fn read<T: Send>(
        &self,
        progress: &mut Progress,
        empty: impl Fn() -> T + Sync,
        f: impl Fn(&mut T, usize, TokenId, TokenId, u64) -> Result<()> + Sync,
    ) -> Result<Vec<T>> {
        let threads = self.limits.threads.min(self.layout.len() / SHARE).max(1);
        let share = self.layout.len().div_ceil(threads);
        let stopped = AtomicBool::new(false);
        let read_share = |n: usize, pause: &mut dyn FnMut() -> Result<()>| {
            let mut made = empty();
            let range = n * share..self.layout.len().min((n + 1) * share);
            self.read_range(range, pause, |position, left, right, weight| {
                f(&mut made, position, left, right, weight)
            })?;
            Ok(made)
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
        parallel::shared(threads, own, other).into_iter().map(|made| made.unwrap_or_else(failed)).collect()
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
pub(super) struct Sketch {
    sums: Vec<u64>,
    shift: u32,
}

impl Sketch {
    fn new(n_slots: usize) -> Self {
        let bits = n_slots.next_power_of_two().trailing_zeros().clamp(8, 18);
        Self { sums: vec![0; 1 << bits], shift: 64 - bits }
    }

    #[inline]
    fn cell(&self, left: TokenId, right: TokenId) -> usize {
        // Fibonacci hashing: the high bits of the product are mixed best.
        (key(left, right).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    /// An upper bound of all counts.
    pub(super) fn max(&self) -> u64 {
        self.sums.iter().copied().max().unwrap_or(0)
    }

    /// A count between `low` and `high` that about `n` of the sums reach; `low` if fewer do.
    pub(super) fn reached_by(&self, n: usize, low: u64, high: u64) -> u64 {
        let mut sums: Vec<u64> = self.sums.iter().copied().filter(|sum| (low..=high).contains(sum)).collect();
        if sums.len() <= n {
            return low;
        }
        let at = sums.len() - n;
        *sums.select_nth_unstable(at).1
    }
}
