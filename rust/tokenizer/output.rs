//! `Output`: the ids of a text as they come, with spans and surfaces where they
//! are wanted.

use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::walk::{Ended, Walk};
use super::words::WordOfIds;
use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::models::Worker;
use crate::text::pattern::Work;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::encoding::{Span, Surfaces};
use crate::vocab::TokenId;

/// What is kept beside ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    /// Nothing.
    Ids,
    /// Spans, as the ids tell them.
    Spans,
    /// Spans, as the model tells them with the ids: the definition, and slower.
    SpansByModel,
}

/// How far an output has come.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The number of ids, or of spans where ids are known.
    pub(super) id: usize,
    /// The number of surfaces.
    pub(super) surface: usize,
}

/// Where ids go, with a limit at which encoding stops.
pub(super) struct Output<'a> {
    /// The ids; where they are only counted, those since the last look.
    pub(super) ids: Vec<TokenId>,
    pub(super) spans: Option<Vec<Span>>,
    /// Kept where they are asked for.
    pub(super) surfaces: Option<Surfaces>,
    pub(super) keeps: Keeps,
    /// Where the ids are known already: those to come. None are put out.
    pub(super) known: Option<&'a [TokenId]>,
    /// The word of each id, where they are asked for.
    pub(super) words: Option<WordOfIds>,
    /// The number of ids at which to stop, those that were there included.
    limit: usize,
    /// The ids that were counted and are gone; `None` where ids are kept.
    counted: Option<usize>,
    /// The ids of a piece that the model encodes for its spans, and the bytes that
    /// each covers; kept for their memory.
    pub(super) piece: (Vec<TokenId>, Vec<u32>),
    /// Whether the caller wants to stop.
    stop: Option<&'a AtomicBool>,
    /// What patterns may still do on the whole text, however it is cut.
    work: Rc<Work>,
}

impl<'a> Output<'a> {
    pub(super) fn new(keeps: Keeps, limit: Option<usize>, stop: Option<&'a AtomicBool>) -> Self {
        Self {
            ids: Vec::new(),
            spans: (keeps != Keeps::Ids).then(Vec::new),
            surfaces: None,
            keeps,
            known: None,
            words: None,
            limit: limit.unwrap_or(usize::MAX),
            counted: None,
            piece: Default::default(),
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

    /// An output for the spans and surfaces alone of `n` ids that are known.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is not enough.
    pub(super) fn of_known(n: usize, stop: Option<&'a AtomicBool>) -> Result<Self> {
        let mut output = Self::new(Keeps::Spans, None, stop);
        output.surfaces = Some(Surfaces::default());
        let spans = output.spans.get_or_insert_default();
        spans.try_reserve_exact(n).map_err(|_| Error::Memory { n, size: size_of::<Span>() })?;
        Ok(output)
    }

    /// An output that counts ids and keeps none.
    pub(super) fn counting(limit: Option<usize>, stop: Option<&'a AtomicBool>) -> Self {
        Self { counted: Some(0), ..Self::new(Keeps::Ids, limit, stop) }
    }

    /// Sets the limit to count from ids that are there already.
    pub(super) fn start_at(&mut self, n_ids: usize) {
        self.limit = self.limit.saturating_add(n_ids);
    }

    /// The number of ids, those that were there included.
    pub(super) fn n_ids(&self) -> usize {
        self.ids.len() + self.counted.unwrap_or(0)
    }

    /// How far it has come.
    pub(super) fn place(&self) -> Place {
        Place {
            id: self.spans.as_ref().map_or_else(|| self.n_ids(), Vec::len),
            surface: self.surfaces.as_ref().map_or(0, Surfaces::len),
        }
    }

    /// Appends once more the `n` ids that begin at a place, for a text `further` on.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is not enough.
    pub(super) fn repeat(&mut self, place: Place, n: usize, further: u64) -> Result<()> {
        if let Some(counted) = &mut self.counted {
            *counted += n;
            return Ok(());
        }
        let n = match &mut self.known {
            Some(known) => {
                let n = n.min(known.len());
                *known = &known[n..];
                n
            }
            None => {
                self.ids.make_room(n)?;
                self.ids.extend_from_within(place.id..place.id + n);
                n
            }
        };
        if let Some(spans) = &mut self.spans {
            if let Some(surfaces) = &mut self.surfaces {
                surfaces.repeat(place.surface, place.id..place.id + n, spans.len())?;
            }
            spans.make_room(n)?;
            for at in place.id..place.id + n {
                spans.push(spans[at].map(|end| end + further));
            }
        }
        Ok(())
    }

    /// Makes room for the ids of so many bytes: a byte is at most one.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is not enough.
    #[inline]
    pub(super) fn reserve(&mut self, n_bytes: usize) -> Result<()> {
        if self.known.is_some() {
            return Ok(());
        }
        self.ids.make_room(n_bytes)?;
        self.spans.as_mut().map_or(Ok(()), |spans| spans.make_room(n_bytes))
    }

    /// Encodes something that has no spans; where ids are counted, most are never put out.
    #[inline]
    pub(super) fn count_or_keep<T>(
        &mut self,
        worker: &mut Worker<'_>,
        encode: impl FnOnce(&mut Worker<'_>, &mut Vec<TokenId>) -> T,
    ) -> T {
        let Self { ids, counted, .. } = self;
        match counted {
            Some(counted) => {
                let (done, n) = worker.counting(|worker| encode(worker, ids));
                *counted += n;
                done
            }
            None => encode(worker, ids),
        }
    }

    /// Ends the walk at the limit, or when the caller wants to stop.
    #[inline]
    pub(super) fn room_left(&mut self) -> Walk {
        if let Some(counted) = &mut self.counted {
            *counted += self.ids.len();
            self.ids.clear();
        }
        if self.n_ids() >= self.limit || self.known.is_some_and(<[TokenId]>::is_empty) {
            return Err(Ended::Full);
        }
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::Cancelled.into()),
            _ => Ok(()),
        }
    }

    /// Pushes an added token found as `text`.
    ///
    /// # Errors
    /// [`Error::Internal`] where another id is known to stand there.
    pub(super) fn push_token(
        &mut self,
        token: &AddedToken,
        start: usize,
        end: usize,
        text: &[u8],
    ) -> Result<()> {
        if let Some(surfaces) = self.surfaces.as_mut().filter(|_| token.content.as_bytes() != text) {
            surfaces.push(self.spans.as_ref().map_or(0, Vec::len), text)?;
        }
        if let Some(spans) = &mut self.spans {
            memory::push(spans, [start as u64, end as u64])?;
        }
        if let (Some(words), Some(spans)) = (&mut self.words, &self.spans) {
            words.end(spans.len())?;
        }
        match &mut self.known {
            None => memory::push(&mut self.ids, token.id)?,
            Some(known) => match known.split_first() {
                Some((&id, rest)) if id == token.id => *known = rest,
                _ => return Err(other_ids()),
            },
        }
        Ok(())
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
            spans.truncate(self.limit);
        }
    }
}

/// That a text did not become the ids it had become before.
pub(super) fn other_ids() -> Error {
    Error::Internal("a text encoded twice became two lists of ids".to_owned())
}
