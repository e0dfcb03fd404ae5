//! Texts that steps rewrote, and the way from their places to the original.

use crate::encoding::Span;
use crate::error::Result;
use crate::normalizer::{Aligned, WayBack};

/// A text as a step rewrote it, with the way back if spans are wanted.
pub(super) enum Rewritten {
    Unchanged,
    Plain(String),
    Aligned(Aligned),
}

impl Rewritten {
    /// Takes what the step gives: an `Aligned` for spans, else text alone.
    ///
    /// # Errors
    /// That of the step.
    pub(super) fn new(
        with_spans: bool,
        aligned: impl FnOnce() -> Result<Option<Aligned>>,
        plain: impl FnOnce() -> Result<Option<String>>,
    ) -> Result<Self> {
        let changed = if with_spans { aligned()?.map(Self::Aligned) } else { plain()?.map(Self::Plain) };
        Ok(changed.unwrap_or(Self::Unchanged))
    }

    pub(super) fn text<'a>(&'a self, original: &'a str) -> &'a str {
        match self {
            Self::Unchanged => original,
            Self::Plain(text) => text,
            Self::Aligned(aligned) => &aligned.text,
        }
    }

    pub(super) fn into_text(self, original: &str) -> String {
        match self {
            Self::Unchanged => original.to_owned(),
            Self::Plain(text) => text,
            Self::Aligned(aligned) => aligned.text,
        }
    }

    pub(super) fn way_back(&self) -> Option<WayBack<'_>> {
        match self {
            Self::Aligned(aligned) => Some(aligned.way_back()),
            Self::Unchanged | Self::Plain(_) => None,
        }
    }
}

/// A stretch of rewritten text and the way back to the original.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    /// Where the stretch's source begins in the source of `normalized`, or in
    /// the original.
    pub(super) start: usize,
    pub(super) normalized: Option<WayBack<'a>>,
    pub(super) rewritten: Option<WayBack<'a>>,
    /// Where the source of `normalized` begins in the original.
    pub(super) base: usize,
}

impl Origin<'_> {
    #[inline]
    pub(super) fn span(&mut self, start: usize, end: usize) -> Span {
        let mut range = start..end;
        if let Some(rewritten) = &mut self.rewritten {
            range = rewritten.to_original(range);
        }
        range = range.start + self.start..range.end + self.start;
        if let Some(normalized) = &mut self.normalized {
            range = normalized.to_original(range);
        }
        [(range.start + self.base) as u64, (range.end + self.base) as u64]
    }
}
