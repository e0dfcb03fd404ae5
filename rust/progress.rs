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
}

impl<'a> Progress<'a> {
    /// The time between two reports; half of what a reader of Ctrl-C notices.
    pub const INTERVAL: Duration = Duration::from_millis(50);

    /// Reports to `callback`.
    pub fn new(callback: &'a mut Callback<'a>) -> Self {
        Self { callback: Some(callback), last: None }
    }

    /// Reports to nobody.
    pub fn silent() -> Self {
        Self { callback: None, last: None }
    }

    /// Reports if the last report is at least [`Progress::INTERVAL`] old.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the callback asks to stop.
    pub fn tick(&mut self, stage: Stage, done: u64, total: u64) -> Result<()> {
        if self.callback.is_none() || self.last.is_some_and(|at| at.elapsed() < Self::INTERVAL) {
            return Ok(());
        }
        self.report(stage, done, total)
    }

    /// Reports at once.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when the callback asks to stop.
    pub fn report(&mut self, stage: Stage, done: u64, total: u64) -> Result<()> {
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
