//! How long work reports its progress and is asked to stop.
//!
//! Only the calling thread reports; workers look at nothing but a flag of
//! their own job. Not a progress bar: callers draw.

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
    /// Looking for pieces to begin with; units are places in distinct words.
    Seed,
    /// Dropping pieces; units are those dropped.
    Prune,
    /// Encoding to files; units are bytes of the sources.
    Encode,
}

impl Stage {
    /// The stage's name as callbacks see it.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Count => "count",
            Stage::Spill => "spill",
            Stage::Merge => "merge",
            Stage::Seed => "seed",
            Stage::Prune => "prune",
            Stage::Encode => "encode",
        }
    }
}

/// What a callback gets: stage, units done, units in all (0 when unknown).
/// `false` asks the job to stop.
pub type Callback<'a> = dyn FnMut(Stage, u64, u64) -> bool + 'a;

/// Throttles a callback to one call each [`Progress::INTERVAL`].
pub struct Progress<'a> {
    callback: Option<&'a mut Callback<'a>>,
    last: Option<Instant>,
    /// Nobody looks at what is reported.
    only_asks: bool,
}

impl<'a> Progress<'a> {
    /// The time between two reports; half of what a reader of Ctrl-C notices.
    pub const INTERVAL: Duration = Duration::from_millis(50);

    /// Reports to `callback`.
    pub fn new(callback: &'a mut Callback<'a>) -> Self {
        Self { callback: Some(callback), last: None, only_asks: false }
    }

    /// Asks `callback` whether to stop and shows nothing: never before the first
    /// [`Progress::INTERVAL`] is over, so that short work asks nobody.
    pub fn asking(callback: &'a mut Callback<'a>) -> Self {
        Self { callback: Some(callback), last: Some(Instant::now()), only_asks: true }
    }

    /// Reports to nobody.
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
        self.tell(stage, done, total)
    }

    /// Reports at once; one that only asks has nothing to report.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the callback asks to stop.
    pub fn report(&mut self, stage: Stage, done: u64, total: u64) -> Result<()> {
        if self.only_asks { self.tick(stage, done, total) } else { self.tell(stage, done, total) }
    }

    fn tell(&mut self, stage: Stage, done: u64, total: u64) -> Result<()> {
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
    fn one_that_asks_is_quiet_until_it_is_time() {
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
            return; // A machine this busy says nothing.
        }
        for (number, stopped) in [(1, false), (2, true)] {
            std::thread::sleep(Progress::INTERVAL);
            assert_eq!(progress.tick(Stage::Encode, number, 2).is_err(), stopped);
            assert!(progress.tick(Stage::Encode, number, 2).is_ok());
        }
        assert_eq!(asked, 2);
    }

    #[test]
    fn one_that_reports_does_so_at_once() {
        let mut told = Vec::new();
        let mut callback = |_: Stage, done: u64, _: u64| {
            told.push(done);
            true
        };
        let mut progress = Progress::new(&mut callback);
        for done in 0..5 {
            progress.tick(Stage::Count, done, 5).unwrap();
        }
        progress.report(Stage::Count, 5, 5).unwrap();
        assert_eq!((told.first(), told.last()), (Some(&0), Some(&5)));
    }
}
