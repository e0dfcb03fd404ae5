//! `Output`: the ids of a text as they come, with spans and surfaces where they
//! are wanted.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::walk::{Ended, Walk};
use crate::added_tokens::AddedToken;
use crate::encoding::{Span, Surfaces};
use crate::error::{Error, Result};
use crate::memory;
use crate::pattern::Work;
use crate::vocab::TokenId;

/// Where ids go, with a limit at which encoding stops.
pub(super) struct Output<'a> {
    /// The ids; where they are only counted, those since the last look.
    pub(super) ids: Vec<TokenId>,
    pub(super) spans: Option<Vec<Span>>,
    /// Kept for single texts alone.
    pub(super) surfaces: Option<Surfaces>,
    /// The number of ids at which to stop, those that were there included.
    limit: usize,
    /// The ids that were there before this text.
    start: usize,
    /// The ids that were counted and are gone; `None` where ids are kept.
    counted: Option<usize>,
    /// Bytes that each id of a piece covers; kept for its memory.
    pub(super) lens: Vec<u32>,
    /// Whether the caller wants to stop.
    stop: Option<&'a AtomicBool>,
    /// What patterns may still do on the whole text, however it is cut.
    work: Rc<Work>,
}

impl<'a> Output<'a> {
    pub(super) fn new(with_spans: bool, limit: Option<usize>, stop: Option<&'a AtomicBool>) -> Self {
        Self {
            ids: Vec::new(),
            spans: with_spans.then(Vec::new),
            surfaces: None,
            limit: limit.unwrap_or(usize::MAX),
            start: 0,
            counted: None,
            lens: Vec::new(),
            stop,
            work: Rc::new(Work::of(0)),
        }
    }

    /// Says how long the text is: patterns may do work by its length.
    pub(super) fn begin(&mut self, n_bytes: usize) {
        self.work = Rc::new(Work::of(n_bytes));
    }

    /// What patterns may still do on the text.
    pub(super) fn work(&self) -> Rc<Work> {
        self.work.clone()
    }

    /// An output that counts ids and keeps none.
    pub(super) fn counting(limit: Option<usize>, stop: Option<&'a AtomicBool>) -> Self {
        Self { counted: Some(0), ..Self::new(false, limit, stop) }
    }

    /// Sets the limit to count from ids that are there already.
    pub(super) fn start_at(&mut self, n_ids: usize) {
        self.limit = self.limit.saturating_add(n_ids);
        self.start = n_ids;
    }

    /// The number of ids, those that were there included.
    pub(super) fn n_ids(&self) -> usize {
        self.ids.len() + self.counted.unwrap_or(0)
    }

    /// Makes room for the ids of so many bytes: a byte is at most one.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is not enough.
    #[inline]
    pub(super) fn reserve(&mut self, n_bytes: usize) -> Result<()> {
        memory::reserve(&mut self.ids, n_bytes)?;
        self.spans.as_mut().map_or(Ok(()), |spans| memory::reserve(spans, n_bytes))
    }

    /// Ends the walk at the limit, or when the caller wants to stop.
    #[inline]
    pub(super) fn room_left(&mut self) -> Walk {
        if let Some(counted) = &mut self.counted {
            *counted += self.ids.len();
            self.ids.clear();
        }
        if self.n_ids() >= self.limit {
            return Err(Ended::Full);
        }
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::Cancelled.into()),
            _ => Ok(()),
        }
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
        match &mut self.counted {
            Some(counted) => {
                *counted = self.limit.min(*counted + self.ids.len());
                self.ids.clear();
            }
            None => self.ids.truncate(self.limit),
        }
        if let Some(surfaces) = &mut self.surfaces {
            surfaces.truncate(self.limit);
        }
        if let Some(spans) = &mut self.spans {
            spans.truncate(self.limit - self.start);
        }
    }
}
