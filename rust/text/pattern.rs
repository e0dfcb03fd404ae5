//! `Pattern`: a regular expression from a user or a file, compiled once.
//!
//! [`dialect`] defines what a pattern means. Two engines run it: [`linear`], without look-around,
//! whose searches take time linear in what they read; and [`backtrack`] for all other patterns.
//! Both count their steps over the whole text and give up if these exceed a bound that is
//! near-linear in the length of the text. So a text takes near-linear time or ends in an error, the
//! same on every machine.

mod backtrack;
pub(crate) mod dialect;
mod linear;
mod program;
mod set;
#[cfg(test)]
mod tests;
mod tree;

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

use self::linear::Linear;
use self::program::Program;
use crate::error::{Error, Result};

/// The maximum memory of a compiled pattern, in bytes.
const PROGRAM_BYTES: usize = 1 << 20;

/// A compiled pattern. Cloning is cheap.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    source: Arc<str>,
    engine: Engine,
}

#[derive(Clone, Debug)]
enum Engine {
    Linear(Linear),
    Backtracking(Arc<Program>),
}

impl Pattern {
    /// Compiles `pattern` for the linear-time engine, or with `look_around` for the backtracking
    /// engine.
    ///
    /// # Errors
    /// [`Error::Pattern`] if it does not compile; the message says so if it would compile with
    /// `look_around`.
    pub(crate) fn new(pattern: &str, look_around: bool) -> Result<Self> {
        let refuse = |reason: String| Error::Pattern { pattern: pattern.to_owned(), reason };
        let translated = dialect::translate(pattern).map_err(|reason| refuse(reason.to_owned()))?;
        let backtracking = || Program::new(&translated.pattern);
        let does_not_compile =
            |reason: String| refuse(format!("it does not compile: {}", innermost(&reason)));
        let engine = if look_around {
            Engine::Backtracking(Arc::new(backtracking().map_err(does_not_compile)?))
        } else {
            let linear = if translated.looks_around { None } else { Linear::new(&translated.pattern).ok() };
            Engine::Linear(linear.ok_or_else(|| match backtracking() {
                Ok(_) => refuse(
                    "the linear-time engine knows no look-around, word boundaries, backreferences or possessive \
                     quantifiers, or the pattern would take more than 1 MiB; opt in with look_around (slower, and \
                     an error on texts that make it go back too often)"
                        .to_owned(),
                ),
                Err(reason) => does_not_compile(reason),
            })?)
        };
        Ok(Self { source: pattern.into(), engine })
    }

    /// The pattern string.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Calls `f` with each match, from left to right. Matches do not overlap, and an empty match
    /// never directly follows another match.
    ///
    /// # Errors
    /// What `f` returns; [`Error::Pattern`] if the pattern needs too many steps on this text.
    pub(crate) fn for_each_match<E: From<Error>>(
        &self,
        text: &str,
        budget: &StepBudget,
        f: impl FnMut(Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        let result = match &self.engine {
            Engine::Linear(linear) => linear.for_each_match(text, budget, f),
            Engine::Backtracking(program) => backtrack::for_each_match(program, text, budget, f),
        };
        result.map_err(|stop| match stop {
            Stop::Engine(reason) => Error::Internal(reason),
            Stop::TooMuch => Error::Pattern {
                pattern: self.source().to_owned(),
                reason: format!(
                    "it backtracked too often on a text of {} bytes: more than {} steps, with the patterns before \
                     it, or too many ways back at a time; make the pattern unambiguous (possessive quantifiers \
                     such as \\s++), or split the text",
                    budget.bytes, budget.steps
                ),
            },
        })?
    }
}

/// The last line of an error message; the lines before it show the pattern.
fn innermost(reason: &str) -> &str {
    reason.trim_end().lines().next_back().unwrap_or(reason).trim_start_matches("error: ")
}

/// The steps that all patterns together may take on one text and its pieces. They share one budget,
/// because a text may be cut into thousands of pieces.
pub(crate) struct StepBudget {
    bytes: usize,
    steps: u64,
    left: Cell<u64>,
}

impl StepBudget {
    /// Steps per byte of a text.
    const STEPS_A_BYTE: u64 = 256;
    /// Additional steps for each of the first bytes. A run of blanks that is searched from each of
    /// its positions takes about as many steps per byte as it has blanks, or twice as many.
    const MORE_A_BYTE: u64 = 1 << 10;
    /// How many bytes get additional steps.
    const FIRST_BYTES: u64 = 32 << 10;
    /// Steps that any text may take.
    const LEAST: u64 = 1 << 20;

    /// The budget for a text of this many bytes.
    pub(crate) fn of(bytes: usize) -> Self {
        let n = bytes as u64;
        let more = Self::MORE_A_BYTE * n.min(Self::FIRST_BYTES);
        let steps = Self::STEPS_A_BYTE.saturating_mul(n).saturating_add(more + Self::LEAST);
        Self { bytes, steps, left: Cell::new(steps) }
    }

    #[inline]
    fn take(&self, steps: u64) -> std::result::Result<(), Stop> {
        match self.left.get().checked_sub(steps) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(Stop::TooMuch),
        }
    }
}

/// Why an engine stopped early.
enum Stop {
    /// The text exceeded its budget.
    TooMuch,
    /// The engine reported an unexpected error.
    Engine(String),
}

impl Stop {
    fn of_engine(error: impl ToString) -> Self {
        Self::Engine(error.to_string())
    }
}
