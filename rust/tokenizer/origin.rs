//! The way from places of rewritten text to the original.

use crate::normalizer::WayBack;
use crate::tokenizer::encoding::Span;

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
