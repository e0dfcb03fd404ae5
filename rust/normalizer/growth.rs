//! How far a normalizer may make a text grow, and how much of it all steps may read.
//!
//! A file names the steps, and twenty that double a text make a megabyte of each
//! byte. What a text becomes is therefore bounded by its own length after each
//! step, and so is the sum of what the steps read; memory is asked for, never
//! assumed. The greatest growth of a known normalizer is that of NFKD, 11 times
//! (U+FDFA), and with each blank of it written as `▁`, 13 times; the longest known
//! list has seven steps.

use crate::error::{Error, Result};
use crate::memory;

/// How many times a text may become longer.
const TIMES: usize = 16;
/// What is allowed on top, so that a mark may be put before a short text. A text
/// of two bytes may stand between two added tokens, thousands of times.
const EXTRA: usize = 64;
/// How many times its bytes the steps may read a text, all together.
const TIMES_READ: usize = 128;
/// What is allowed on top of that.
const EXTRA_READ: usize = 1 << 10;

/// What a text of some length may become, and what may still be read of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    original: usize,
    bytes: usize,
    /// Bytes that steps may still read.
    to_read: usize,
    /// Why something was left out.
    stopped: Option<Stopped>,
}

/// Why a text is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    /// It would be longer than it may become.
    Bound,
    /// There was no memory.
    Memory,
}

impl Default for Growth {
    /// No bound.
    fn default() -> Self {
        Self { original: 0, bytes: usize::MAX, to_read: usize::MAX, stopped: None }
    }
}

impl Growth {
    /// The bound for a text of `original` bytes.
    pub(super) fn of(original: usize) -> Self {
        Self {
            original,
            bytes: original.saturating_mul(TIMES).saturating_add(EXTRA),
            to_read: original.saturating_mul(TIMES_READ).saturating_add(EXTRA_READ),
            stopped: None,
        }
    }

    /// The bound for a part of a text, which may become `times` as long, and nothing on
    /// top: of parts within theirs the text is within its own.
    pub(super) fn of_part(original: usize, times: usize) -> Self {
        Self {
            original,
            bytes: original.saturating_mul(times.min(TIMES)),
            to_read: original.saturating_mul(TIMES_READ),
            stopped: None,
        }
    }

    /// The bound for a text whose places are kept in 32 bits.
    pub(super) fn of_aligned(original: usize) -> Result<Self> {
        let limit = u32::MAX as usize;
        if original > limit {
            return Err(Error::Encode(format!(
                "a text of {original} bytes to normalize; the limit is {limit} (4 GiB); split it into documents, \
                 or pass lines"
            )));
        }
        let growth = Self::of(original);
        Ok(Self { bytes: growth.bytes.min(limit), ..growth })
    }

    /// Takes note that another step reads `len` bytes.
    pub(super) fn read(&mut self, len: usize) -> Result<()> {
        let left = self.to_read.checked_sub(len);
        self.to_read = left.ok_or_else(|| {
            Error::Encode(format!(
                "the steps of the normalizer read more than {TIMES_READ} times the text of {} bytes, and \
                 {EXTRA_READ} bytes, one after the other; join steps, or look for one that makes the text longer",
                self.original
            ))
        })?;
        Ok(())
    }

    /// Appends `more` to `text`, or leaves it out where there is no room.
    #[inline]
    pub(super) fn push(&mut self, text: &mut String, more: &str) {
        if more.len() <= text.capacity() - text.len() || self.make_room(text, more.len()) {
            text.push_str(more);
        }
    }

    /// Makes room for what `more` bytes may become, if there is any.
    pub(super) fn reserve(&self, text: &mut String, more: usize) {
        // Memory that is missing is missed where it is written to.
        let _ = text.try_reserve(more.min(self.bytes.saturating_sub(text.len())));
    }

    /// Makes room for `more` bytes, at first for about as many as the text has; `false` past
    /// the bound.
    #[cold]
    fn make_room(&mut self, text: &mut String, more: usize) -> bool {
        let fits = text.len().checked_add(more).is_some_and(|len| len <= self.bytes);
        let usual =
            if text.capacity() == 0 { (self.original + self.original / 8 + 16).min(self.bytes) } else { 0 };
        if !fits {
            self.stopped.get_or_insert(Stopped::Bound);
        } else if self.stopped.is_none() && text.try_reserve(more.max(usual)).is_err() {
            self.stopped = Some(Stopped::Memory);
        }
        self.stopped.is_none()
    }

    /// Appends an edit, or leaves it out where there is no memory: there are
    /// at most two for each byte of the text.
    #[inline]
    pub(super) fn push_edit<T>(&mut self, edits: &mut Vec<T>, edit: T) {
        if edits.len() < edits.capacity() || self.make_room_for_edits(edits, 1) {
            edits.push(edit);
        }
    }

    /// Makes room for `more` edits; `false` where there is no memory.
    #[cold]
    pub(super) fn make_room_for_edits<T>(&mut self, edits: &mut Vec<T>, more: usize) -> bool {
        if self.stopped.is_none() && edits.try_reserve(more).is_err() {
            self.give_up();
        }
        self.stopped.is_none()
    }

    /// Takes note that there was no memory for something.
    pub(super) fn give_up(&mut self) {
        self.stopped.get_or_insert(Stopped::Memory);
    }

    /// Whether all of it is there and within the bound.
    ///
    /// # Errors
    /// [`Error::Encode`] past the bound, [`Error::Memory`] where there was no memory.
    pub(super) fn check(&self, text: &str) -> Result<()> {
        match self.stopped {
            None if text.len() <= self.bytes => Ok(()),
            Some(Stopped::Memory) => Err(memory::missing::<u8>(text.len())),
            _ => Err(Error::Encode(format!(
                "the normalizer makes more than {} bytes of a text of {} bytes; the limit is {TIMES} times the \
                 text and {EXTRA} bytes; look for steps that make it longer, such as Replace or Prepend, or \
                 split the text",
                self.bytes, self.original
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_memory_and_the_bound_are_different_errors() {
        let mut growth = Growth::of(1);
        let mut text = String::new();
        growth.push(&mut text, &"a".repeat(TIMES + EXTRA + 1));
        assert!(matches!(growth.check(&text), Err(Error::Encode(_))));
        let mut growth = Growth::of(1);
        growth.give_up();
        growth.push(&mut text, "a");
        assert!(matches!(growth.check(&text), Err(Error::Memory { .. })));
        let mut edits = Vec::<u64>::new();
        let mut growth = Growth::default();
        assert!(!growth.make_room_for_edits(&mut edits, usize::MAX));
        assert!(matches!(growth.check(&text), Err(Error::Memory { .. })));
    }
}
