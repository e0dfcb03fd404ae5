//! How far a normalizer may make a text grow.
//!
//! A file names the steps, and twenty that double a text make a megabyte of each
//! byte. What a text becomes is therefore bounded by its own length, after each
//! step and with the way back from the new text to the old; memory is asked for,
//! never assumed. The greatest growth of a known normalizer is that of NFKD, 11
//! times (U+FDFA), and with each blank of it written as `▁`, 13 times.

use crate::error::{Error, Result};

/// How many times a text may become longer.
const TIMES: usize = 64;
/// What is allowed on top, so that something may be put before a short text.
const EXTRA: usize = 1 << 10;

/// What a text of some length may become: bytes, and edits of its alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    original: usize,
    bytes: usize,
    edits: usize,
    /// Whether something found no room and was left out.
    stopped: bool,
}

impl Default for Growth {
    /// No bound.
    fn default() -> Self {
        Self { original: 0, bytes: usize::MAX, edits: usize::MAX, stopped: false }
    }
}

impl Growth {
    /// The bound for a text of `original` bytes.
    pub(super) fn of(original: usize) -> Self {
        Self {
            original,
            bytes: original.saturating_mul(TIMES).saturating_add(EXTRA),
            edits: original.saturating_mul(TIMES / 8).saturating_add(EXTRA),
            stopped: false,
        }
    }

    /// Appends `more` to `text`, or leaves it out where there is no room.
    #[inline]
    pub(super) fn push(&mut self, text: &mut String, more: &str) {
        if more.len() <= text.capacity() - text.len() || self.make_room(text, more.len()) {
            text.push_str(more);
        }
    }

    /// Makes room for `more` bytes; `false` past the bound.
    #[cold]
    pub(super) fn make_room(&mut self, text: &mut String, more: usize) -> bool {
        let fits = text.len().checked_add(more).is_some_and(|len| len <= self.bytes);
        let made = fits && !self.stopped && text.try_reserve(more).is_ok();
        self.stopped |= !made;
        made
    }

    /// Appends an edit, or leaves it out where there is no room.
    #[inline]
    pub(super) fn push_edit<T>(&mut self, edits: &mut Vec<T>, edit: T) {
        if edits.len() < edits.capacity() || self.make_room_for_edits(edits, 1) {
            edits.push(edit);
        }
    }

    /// Makes room for `more` edits; `false` past the bound.
    #[cold]
    pub(super) fn make_room_for_edits<T>(&mut self, edits: &mut Vec<T>, more: usize) -> bool {
        let fits = edits.len().checked_add(more).is_some_and(|len| len <= self.edits);
        let made = fits && !self.stopped && edits.try_reserve(more).is_ok();
        self.stopped |= !made;
        made
    }

    /// Whether all of it is there and within the bound.
    pub(super) fn check(&self, text: &str, n_edits: usize) -> Result<()> {
        if !self.stopped && text.len() <= self.bytes && n_edits <= self.edits {
            return Ok(());
        }
        Err(Error::Encode(format!(
            "the normalizer makes more than {} bytes or {} changes of a text of {} bytes, or there is no memory \
             for them; the limit is {TIMES} times the text and {EXTRA} bytes; look for steps that make it longer \
             each time, such as Replace, or split the text",
            self.bytes, self.edits, self.original
        )))
    }
}
