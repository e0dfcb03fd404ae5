//! `SplitPattern`: a custom pattern, compiled once.
//!
//! Matches are pieces, and so are the stretches between them, as in Hugging Face's
//! `Split(Regex(..), "isolated")`. `text::pattern` documents the dialect and the engines;
//! `look_around` selects the backtracking engine. Published patterns have hand-written splitters
//! instead.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::text::pattern::{Pattern, StepBudget};

/// A compiled pattern. Two are equal if their patterns and engines are equal.
///
/// Cloning shares the compiled form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Source", into = "Source")]
pub struct SplitPattern {
    pattern: Pattern,
    look_around: bool,
}

/// The serialized form of a pattern.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    pattern: String,
    #[serde(default)]
    look_around: bool,
}

impl PartialEq for SplitPattern {
    fn eq(&self, other: &Self) -> bool {
        self.look_around == other.look_around && self.pattern() == other.pattern()
    }
}

impl TryFrom<Source> for SplitPattern {
    type Error = Error;

    fn try_from(source: Source) -> Result<Self> {
        Self::new(&source.pattern, source.look_around)
    }
}

impl From<SplitPattern> for Source {
    fn from(split: SplitPattern) -> Self {
        Self { pattern: split.pattern().to_owned(), look_around: split.look_around }
    }
}

impl SplitPattern {
    /// Compiles `pattern`, for the linear-time engine unless `look_around`.
    ///
    /// # Errors
    /// [`Error::Pattern`] if it does not compile; the message says so if it would compile with
    /// `look_around`.
    pub fn new(pattern: &str, look_around: bool) -> Result<Self> {
        Ok(Self { pattern: Pattern::new(pattern, look_around)?, look_around })
    }

    /// The pattern string.
    pub fn pattern(&self) -> &str {
        self.pattern.source()
    }

    /// Whether the backtracking engine runs it.
    pub fn look_around(&self) -> bool {
        self.look_around
    }

    /// Calls `f` with each match, in order, including empty matches.
    ///
    /// # Errors
    /// As [`SplitPattern::visit_pieces`].
    pub(super) fn for_each_match<E: From<Error>>(
        &self,
        text: &str,
        budget: &StepBudget,
        f: impl FnMut(Range<usize>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.pattern.for_each_match(text, budget, f)
    }

    /// Calls `f` with each match and each stretch between two matches, in order.
    ///
    /// An empty match cuts the text and is not itself a piece.
    ///
    /// # Errors
    /// What `f` returns; [`Error::Pattern`] if the pattern needs too many steps on this text.
    pub(super) fn visit_pieces<E: From<Error>>(
        &self,
        text: &str,
        budget: &StepBudget,
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
        self.pattern.for_each_match(text, budget, &mut cut)?;
        cut(text.len()..text.len())
    }
}
