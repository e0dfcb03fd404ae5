//! How much a normalizer may lengthen a text, and how much of it all steps may read.
//!
//! A file defines the steps, and twenty steps that each double a text would turn a byte into a
//! megabyte. Therefore the length after each step is bounded by the original length, and so is the
//! sum of what the steps read; memory is always requested fallibly. Among known normalizers NFKD
//! grows most, 11 times (U+FDFA), or 13 times with each space written as `▁`. The longest known
//! list has seven steps.

use crate::error::{Error, Result};
use crate::memory;

/// A text may become this many times as long.
const TIMES: usize = 16;
/// Bytes allowed in addition, so that a mark may be inserted before a short text. It is small
/// because a text of two bytes may occur thousands of times between added tokens.
const EXTRA: usize = 64;
/// All steps together may read this many times the bytes of the text.
const TIMES_READ: usize = 128;
/// Bytes that the steps may read in addition.
const EXTRA_READ: usize = 1 << 10;

/// The bound on the length of a text, and on what steps may still read of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    original: usize,
    bytes: usize,
    /// Bytes that steps may still read.
    to_read: usize,
    /// Why the text is incomplete, if it is.
    stopped: Option<Stopped>,
}

/// Why a text is incomplete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    /// It would exceed the bound.
    Bound,
    /// Memory ran out.
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

    /// The bound for a part of a text: `times` its length, with nothing in addition. If all parts
    /// keep to theirs, the text keeps to its own.
    pub(super) fn of_part(original: usize, times: usize) -> Self {
        Self {
            original,
            bytes: original.saturating_mul(times.min(TIMES)),
            to_read: original.saturating_mul(TIMES_READ),
            stopped: None,
        }
    }

    /// The bound for a text with an alignment, whose offsets have 32 bits.
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

    /// Counts `len` bytes that another step reads.
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

    /// Appends `more` to `text`, or drops it if the bound or memory does not allow it.
    #[inline]
    pub(super) fn push(&mut self, text: &mut String, more: &str) {
        if more.len() <= text.capacity() - text.len() || self.make_room(text, more.len()) {
            text.push_str(more);
        }
    }

    /// Appends `more` between two spaces, as [`Growth::push`] does.
    #[inline]
    pub(super) fn push_padded(&mut self, text: &mut String, more: &str) {
        let len = more.len() + 2;
        if len <= text.capacity() - text.len() || self.make_room(text, len) {
            text.push(' ');
            text.push_str(more);
            text.push(' ');
        }
    }

    /// Reserves memory for the result of `more` bytes, as far as possible.
    pub(super) fn reserve(&self, text: &mut String, more: usize) {
        // A failed reservation shows up when text is written.
        let _ = text.try_reserve(more.min(self.bytes.saturating_sub(text.len())));
    }

    /// Reserves memory for `more` bytes; a first reservation is about as long as the text. Returns
    /// `false` past the bound.
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

    /// Appends an edit, or drops it if memory runs out. There are at most two edits for each byte
    /// of the text.
    #[inline]
    pub(super) fn push_edit<T>(&mut self, edits: &mut Vec<T>, edit: T) {
        if edits.len() < edits.capacity() || self.make_room_for_edits(edits, 1) {
            edits.push(edit);
        }
    }

    /// Reserves memory for `more` edits; returns `false` if memory runs out.
    #[cold]
    pub(super) fn make_room_for_edits<T>(&mut self, edits: &mut Vec<T>, more: usize) -> bool {
        if self.stopped.is_none() && edits.try_reserve(more).is_err() {
            self.give_up();
        }
        self.stopped.is_none()
    }

    /// Records that memory ran out.
    pub(super) fn give_up(&mut self) {
        self.stopped.get_or_insert(Stopped::Memory);
    }

    /// Checks that the text is complete and within the bound.
    ///
    /// # Errors
    /// [`Error::Encode`] past the bound, [`Error::Memory`] if memory ran out.
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
    fn memory_and_bound_give_different_errors() {
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
