//! `Rewritten`: the result of a step, with the alignment if the caller needs spans.

use super::{Aligned, Alignment};
use crate::error::Result;

/// The result of a step, with the alignment if the caller needs spans.
pub(crate) enum Rewritten {
    Unchanged,
    Plain(String),
    Aligned(Aligned),
}

impl Rewritten {
    /// Runs the form of the step that the caller needs: `aligned` for spans, else `plain`.
    ///
    /// # Errors
    /// That of the step.
    pub(crate) fn new(
        keeps_alignment: bool,
        aligned: impl FnOnce() -> Result<Option<Aligned>>,
        plain: impl FnOnce() -> Result<Option<String>>,
    ) -> Result<Self> {
        let changed = if keeps_alignment { aligned()?.map(Self::Aligned) } else { plain()?.map(Self::Plain) };
        Ok(changed.unwrap_or(Self::Unchanged))
    }

    pub(crate) fn text<'a>(&'a self, original: &'a str) -> &'a str {
        match self {
            Self::Unchanged => original,
            Self::Plain(text) => text,
            Self::Aligned(aligned) => &aligned.text,
        }
    }

    /// The new text, if the step changed anything.
    pub(crate) fn into_changed(self) -> Option<String> {
        match self {
            Self::Unchanged => None,
            Self::Plain(text) => Some(text),
            Self::Aligned(aligned) => Some(aligned.text),
        }
    }

    pub(crate) fn alignment(&self) -> Option<Alignment<'_>> {
        match self {
            Self::Aligned(aligned) => Some(aligned.alignment()),
            Self::Unchanged | Self::Plain(_) => None,
        }
    }

    /// The offset in the original of the byte at `at`; `at` itself without an alignment.
    pub(crate) fn origin(&self, at: usize) -> usize {
        self.alignment().map_or(at, |alignment| alignment.to_original(at..at + 1).start)
    }
}
