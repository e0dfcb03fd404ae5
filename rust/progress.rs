//! Reports the progress of long work and asks whether to stop.
//!
//! Only the calling thread reports; workers only check a flag of their job. Callers draw progress
//! bars.

use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// A named part of a long job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading, splitting and counting; units are bytes of the sources.
    Count,
    /// Merging spilled runs; units are pieces.
    Spill,
    /// Merging pairs; units are vocabulary entries.
    Merge,
    /// Finding the initial pieces; units are positions in distinct words.
    Seed,
    /// Dropping pieces; units are dropped pieces.
    Prune,
    /// Encoding to files; units are bytes of the sources.
    Encode,
    /// Finding where to cut files; units are bytes of the files.
    Plan,
}

impl Stage {
    /// The name of the stage for callbacks.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Count => "count",
            Stage::Spill => "spill",
            Stage::Merge => "merge",
            Stage::Seed => "seed",
            Stage::Prune => "prune",
            Stage::Encode => "encode",
            Stage::Plan => "plan",
        }
    }
}

/// Receives the stage, the units done, and the total units (0 if unknown). Returns `false` to stop
/// the job.
pub type Callback<'a> = dyn FnMut(Stage, u64, u64) -> bool + 'a;

/// Limits a callback to one call per [`Progress::INTERVAL`].
pub struct Progress<'a> {
    callback: Option<&'a mut Callback<'a>>,
    last: Option<Instant>,
    /// Whether the callback only decides about stopping and shows nothing.
    only_asks: bool,
}

impl<'a> Progress<'a> {
    /// The time between two reports. Half of the delay that users notice after Ctrl-C.
    pub const INTERVAL: Duration = Duration::from_millis(50);

    /// Reports to `callback`.
    pub fn new(callback: &'a mut Callback<'a>) -> Self {
        Self { callback: Some(callback), last: None, only_asks: false }
    }

    /// Asks `callback` whether to stop, without showing anything. Never asks before the first
    /// [`Progress::INTERVAL`] is over, so short work does not call it at all.
    pub fn asking(callback: &'a mut Callback<'a>) -> Self {
        Self { callback: Some(callback), last: Some(Instant::now()), only_asks: true }
    }

    /// Reports nothing.
    pub fn silent() -> Self {
        Self { callback: None, last: None, only_asks: true }
    }

    /// Reports if the last report is at least [`Progress::INTERVAL`] old.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the callback asks to stop.
    pub fn tick(&mut self, stage: Stage, done: u64, total: u64) -> Result<()> {
        if self.callback.is_none() || self.last.is_some_and(|at| at.elapsed() < Self::INTERVAL) {
            return Ok(());
        }
        self.call(stage, done, total)
    }

    /// Reports at once, unless the callback only decides about stopping.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the callback asks to stop.
    pub fn report(&mut self, stage: Stage, done: u64, total: u64) -> Result<()> {
        if self.only_asks { self.tick(stage, done, total) } else { self.call(stage, done, total) }
    }

    fn call(&mut self, stage: Stage, done: u64, total: u64) -> Result<()> {
        self.last = Some(Instant::now());
        match &mut self.callback {
            None => Ok(()),
            Some(callback) => {
                if callback(stage, done, total) {
                    Ok(())
                } else {
                    Err(Error::Cancelled)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_waits_for_the_interval() {
        let mut asked = 0;
        let mut callback = |_: Stage, _: u64, _: u64| {
            asked += 1;
            asked < 2
        };
        let mut progress = Progress::asking(&mut callback);
        let started = Instant::now();
        for unit in 0..1000 {
            progress.tick(Stage::Encode, unit, 1000).unwrap();
            progress.report(Stage::Encode, unit, 1000).unwrap();
        }
        if started.elapsed() >= Progress::INTERVAL {
            return; // The machine is too busy for this test.
        }
        for (number, stopped) in [(1, false), (2, true)] {
            std::thread::sleep(Progress::INTERVAL);
            assert_eq!(progress.tick(Stage::Encode, number, 2).is_err(), stopped);
            assert!(progress.tick(Stage::Encode, number, 2).is_ok());
        }
        assert_eq!(asked, 2);
    }

    #[test]
    fn report_is_immediate() {
        let mut reports = Vec::new();
        let mut callback = |_: Stage, done: u64, _: u64| {
            reports.push(done);
            true
        };
        let mut progress = Progress::new(&mut callback);
        for done in 0..5 {
            progress.tick(Stage::Count, done, 5).unwrap();
        }
        progress.report(Stage::Count, 5, 5).unwrap();
        assert_eq!((reports.first(), reports.last()), (Some(&0), Some(&5)));
    }
}
