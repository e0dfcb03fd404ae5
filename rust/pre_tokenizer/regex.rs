//! `SplitPattern`: a pattern of the user's, compiled once.
//!
//! Matches are pieces and so is what lies between them, as tokenizers'
//! `Split(Regex(..), "isolated")` has it. The engine is `regex-automata`: each
//! search is linear, no look-around, no backreferences. `look_around` opts into
//! `fancy-regex`, which backtracks; a step limit turns a runaway into an error.
//! Not for the published patterns: those have hand-written splitters.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How often one search may backtrack. A run of some 200,000 characters that
/// has to be given up one by one is inside; catastrophic patterns are not.
const BACKTRACK_LIMIT: usize = 1_000_000;

/// Instructions a pattern with look-around may compile to.
const PROGRAM_LIMIT: usize = 1 << 20;

/// A compiled pattern; equal to another when the pattern and the engine are.
///
/// Cloning shares the compiled form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Source", into = "Source")]
pub struct SplitPattern {
    source: Source,
    engine: Engine,
}

/// What a pattern is on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    pattern: String,
    #[serde(default)]
    look_around: bool,
}

#[derive(Clone, Debug)]
enum Engine {
    // A clone shares the program and gets scratch space of its own.
    Linear(regex_automata::meta::Regex),
    Backtracking(Arc<fancy_regex::Regex>),
}

impl PartialEq for SplitPattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl TryFrom<Source> for SplitPattern {
    type Error = Error;

    fn try_from(source: Source) -> Result<Self> {
        Self::new(&source.pattern, source.look_around)
    }
}

impl From<SplitPattern> for Source {
    fn from(pattern: SplitPattern) -> Self {
        pattern.source
    }
}

impl SplitPattern {
    /// Compiles `pattern`, for the linear-time engine unless `look_around`.
    ///
    /// # Errors
    /// [`Error::Pattern`] if it does not compile; it says so if it would with
    /// `look_around`.
    pub fn new(pattern: &str, look_around: bool) -> Result<Self> {
        let engine = if look_around {
            Engine::Backtracking(Arc::new(backtracking(pattern)?))
        } else {
            Engine::Linear(linear(pattern)?)
        };
        Ok(Self { source: Source { pattern: pattern.to_owned(), look_around }, engine })
    }

    /// The pattern as it was given.
    pub fn pattern(&self) -> &str {
        &self.source.pattern
    }

    /// Whether the backtracking engine runs it.
    pub fn look_around(&self) -> bool {
        self.source.look_around
    }

    /// Calls `f` with each match and each stretch between two, in order.
    ///
    /// An empty match cuts the text and is no piece. One search is linear in
    /// what it reads; a pattern whose search reads far past the match it finds
    /// reads that again for the next one.
    ///
    /// # Errors
    /// What `f` returns; [`Error::Pattern`] past the step limit.
    pub(super) fn walk<E: From<Error>>(
        &self,
        text: &str,
        mut f: impl FnMut(Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut end = 0;
        let mut cut = |found: Range<usize>| {
            let start = found.start.max(end);
            if start > end {
                f(end..start)?;
            }
            end = found.end.max(start);
            if end > start { f(start..end) } else { Ok(()) }
        };
        match &self.engine {
            Engine::Linear(regex) => {
                for found in regex.find_iter(text) {
                    cut(found.range())?;
                }
            }
            Engine::Backtracking(regex) => {
                for found in regex.find_iter(text) {
                    let found = found.map_err(|error| self.gave_up(&error))?;
                    cut(found.start()..found.end())?;
                }
            }
        }
        cut(text.len()..text.len())
    }

    fn gave_up(&self, error: &fancy_regex::Error) -> Error {
        Error::Pattern {
            pattern: self.source.pattern.clone(),
            reason: format!(
                "{error}: one search backtracked more than {BACKTRACK_LIMIT} times; make the pattern \
                 unambiguous (possessive quantifiers such as \\s++), or do without look-around"
            ),
        }
    }
}

fn linear(pattern: &str) -> Result<regex_automata::meta::Regex> {
    regex_automata::meta::Regex::new(pattern).map_err(|error| {
        // The outer message names only the stage that failed.
        let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        let reason = if backtracking(pattern).is_ok() {
            "the linear-time engine knows no look-around, backreferences or possessive quantifiers; \
             opt in with look_around (slower, and an error on texts that make it backtrack too often)"
                .to_owned()
        } else {
            format!("it does not compile: {cause}")
        };
        Error::Pattern { pattern: pattern.to_owned(), reason }
    })
}

fn backtracking(pattern: &str) -> Result<fancy_regex::Regex> {
    fancy_regex::RegexBuilder::new(pattern)
        .backtrack_limit(BACKTRACK_LIMIT)
        .max_prog_size(PROGRAM_LIMIT)
        .build()
        .map_err(|error| Error::Pattern {
            pattern: pattern.to_owned(),
            reason: format!("it does not compile: {error}"),
        })
}
