//! `Pattern`: a regular expression that users or files give, compiled once.
//!
//! What a pattern means is [`dialect`]'s affair. Two engines run it: [`linear`],
//! whose searches are linear in what they read, without look-around; and
//! [`backtrack`] for the others. Both count their work over all of a text and
//! give up where it is out of all proportion to the text's length, so that time
//! is near-linear in the text or ends in an error, the same on every machine.

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

/// The bytes a compiled pattern may take.
const PROGRAM_BYTES: usize = 1 << 20;

/// A compiled pattern. Cloning shares it.
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
    /// Compiles `pattern`, for the linear-time engine unless `look_around`.
    ///
    /// # Errors
    /// [`Error::Pattern`] if it does not compile; it says so if it would with
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

    /// The pattern as it was given.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Calls `f` with each match, from left to right; matches do not overlap,
    /// and one of nothing does not follow another match at once.
    ///
    /// # Errors
    /// What `f` returns; [`Error::Pattern`] for a text that is too much work.
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

/// The last line of a message of several, which shows the pattern before.
fn innermost(reason: &str) -> &str {
    reason.trim_end().lines().next_back().unwrap_or(reason).trim_start_matches("error: ")
}

/// The steps that one text may take, by all patterns that run on it or on pieces
/// of it. A text may be cut into thousands of pieces, so what a short one may take
/// follows its length as well.
pub(crate) struct StepBudget {
    bytes: usize,
    steps: u64,
    left: Cell<u64>,
}

impl StepBudget {
    /// Steps for each byte of a text.
    const STEPS_A_BYTE: u64 = 256;
    /// Steps more for each of its first bytes: a run of blanks that is gone
    /// through from each of its places takes as many as it has blanks, or twice.
    const MORE_A_BYTE: u64 = 1 << 10;
    /// The bytes that get more.
    const FIRST_BYTES: u64 = 32 << 10;
    /// Steps that any text may take.
    const LEAST: u64 = 1 << 20;

    /// What a text of so many bytes may take.
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

/// Why an engine gave up.
enum Stop {
    /// The text is too much work.
    TooMuch,
    /// The engine met what it should not.
    Engine(String),
}

impl Stop {
    fn of_engine(error: impl ToString) -> Self {
        Self::Engine(error.to_string())
    }
}
