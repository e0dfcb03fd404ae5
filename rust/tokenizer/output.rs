//! `Output`: the ids of a text as they come, with spans and surfaces where they
//! are wanted.

use std::sync::atomic::{AtomicBool, Ordering};

use super::walk::{Ended, Walk};
use crate::added_tokens::AddedToken;
use crate::encoding::{Span, Surfaces};
use crate::error::Error;
use crate::vocab::TokenId;

/// Ids between two looks at whether the caller wants to stop.
const IDS_BETWEEN_LOOKS: usize = 1 << 16;

/// Where ids go, with a limit at which encoding stops.
pub(super) struct Output<'a> {
    pub(super) ids: Vec<TokenId>,
    pub(super) spans: Option<Vec<Span>>,
    /// Kept for single texts alone.
    pub(super) surfaces: Option<Surfaces>,
    /// The number of ids at which to stop, those that were there included.
    pub(super) limit: usize,
    /// The ids that were there before this text.
    start: usize,
    /// Bytes that each id of a piece covers; kept for its memory.
    pub(super) lens: Vec<u32>,
    /// Whether the caller wants to stop.
    stop: Option<&'a AtomicBool>,
    /// The number of ids at which the walk looks at the limit and at `stop`.
    next_look: usize,
}

impl<'a> Output<'a> {
    pub(super) fn new(with_spans: bool, limit: Option<usize>, stop: Option<&'a AtomicBool>) -> Self {
        Self {
            ids: Vec::new(),
            spans: with_spans.then(Vec::new),
            surfaces: None,
            limit: limit.unwrap_or(usize::MAX),
            start: 0,
            lens: Vec::new(),
            stop,
            next_look: 0,
        }
    }

    /// Whether nothing but ids is wanted, all of them.
    pub(super) fn is_plain(&self) -> bool {
        self.spans.is_none() && self.limit == usize::MAX
    }

    /// Whether the caller may want to stop.
    pub(super) fn may_stop(&self) -> bool {
        self.stop.is_some()
    }

    /// Sets the limit to count from ids that are there already.
    pub(super) fn start_at(&mut self, n_ids: usize) {
        self.limit = self.limit.saturating_add(n_ids);
        self.start = n_ids;
    }

    /// Ends the walk at the limit, or when the caller wants to stop.
    #[inline]
    pub(super) fn room_left(&mut self) -> Walk {
        if self.ids.len() < self.next_look { Ok(()) } else { self.look() }
    }

    #[cold]
    fn look(&mut self) -> Walk {
        if self.ids.len() >= self.limit {
            return Err(Ended::Full);
        }
        if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Error::Cancelled.into());
        }
        self.next_look = self.ids.len().saturating_add(IDS_BETWEEN_LOOKS).min(self.limit);
        Ok(())
    }

    /// Pushes an added token found as `text`.
    pub(super) fn push_token(&mut self, token: &AddedToken, start: usize, end: usize, text: &[u8]) {
        if let Some(surfaces) = self.surfaces.as_mut().filter(|_| token.content.as_bytes() != text) {
            surfaces.push(self.ids.len(), text);
        }
        self.ids.push(token.id);
        if let Some(spans) = &mut self.spans {
            spans.push([start as u64, end as u64]);
        }
    }

    /// Cuts off what came after the limit.
    pub(super) fn truncate(&mut self) {
        self.ids.truncate(self.limit);
        if let Some(surfaces) = &mut self.surfaces {
            surfaces.truncate(self.limit);
        }
        if let Some(spans) = &mut self.spans {
            spans.truncate(self.limit - self.start);
        }
    }
}
