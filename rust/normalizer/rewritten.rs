//! `Rewritten`: a text as a step left or changed it, with the alignment where it is wanted.

use super::{Aligned, Alignment};
use crate::error::Result;

/// A text as a step rewrote it, with the alignment if spans are wanted.
pub(crate) enum Rewritten {
    Unchanged,
    Plain(String),
    Aligned(Aligned),
}

impl Rewritten {
    /// Takes what the step gives: an `Aligned` for spans, else text alone.
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

    /// The new text, if there is one.
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
    /// Where a place comes from, if the alignment was wanted.
    pub(crate) fn origin(&self, place: usize) -> usize {
        self.alignment().map_or(place, |mut alignment| alignment.to_original(place..place + 1).start)
    }
}
