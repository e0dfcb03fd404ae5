//! `Aligned`: a rewritten text and the way from its bytes back to the original.
//!
//! Kept as the list of edits between stretches copied unchanged, so its size
//! follows what changed. The only place that knows how offsets survive a
//! rewrite.

use std::ops::Range;

/// A stretch of the new text that does not equal its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edit {
    /// Where it starts in the new text, and its length there.
    at: usize,
    len: usize,
    /// Where its source starts in the old text, and its length there.
    from: usize,
    from_len: usize,
}

/// Where a rewritten text goes, step by step through the old one.
///
/// A rewriter is written once against this; whether it keeps the way back is
/// the choice of the caller: [`Aligned`] does, a plain [`String`] does not.
pub trait Rewrite {
    /// Takes the next `unchanged.len()` bytes of the old text over.
    fn copy(&mut self, unchanged: &str);

    /// Puts `content` in the place of the next `old_len` bytes of the old text.
    fn replace(&mut self, old_len: usize, content: &str);

    /// Puts `content` before the next byte of the old text.
    fn insert(&mut self, content: &str) {
        self.replace(0, content);
    }

    /// Puts `content`, one character, in the place of one of the same length.
    fn substitute(&mut self, content: &str) {
        // Every boundary stays where it is, as in a copy.
        self.copy(content);
    }

    /// As [`Rewrite::copy`], with ASCII letters in lower case.
    fn copy_lowering_ascii(&mut self, unchanged: &str);

    /// Replaces the next `old_len` bytes by `content` between two spaces.
    fn replace_padded(&mut self, old_len: usize, content: &str);

    /// Makes room for `len` bytes.
    fn reserve(&mut self, len: usize);
}

impl Rewrite for String {
    fn copy(&mut self, unchanged: &str) {
        self.push_str(unchanged);
    }

    fn replace(&mut self, _: usize, content: &str) {
        self.push_str(content);
    }

    fn replace_padded(&mut self, _: usize, content: &str) {
        self.push(' ');
        self.push_str(content);
        self.push(' ');
    }

    fn copy_lowering_ascii(&mut self, unchanged: &str) {
        let from = self.len();
        self.push_str(unchanged);
        self[from..].make_ascii_lowercase();
    }

    fn reserve(&mut self, len: usize) {
        Self::reserve(self, len);
    }
}

/// A text built from an old one by copying, replacing and inserting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aligned {
    /// The new text.
    pub text: String,
    edits: Vec<Edit>,
    /// How much of the old text is used up.
    read: usize,
}

impl Rewrite for Aligned {
    fn copy(&mut self, unchanged: &str) {
        self.text.push_str(unchanged);
        self.read += unchanged.len();
    }

    fn replace(&mut self, old_len: usize, content: &str) {
        self.push_edit(old_len, content.len());
        self.text.push_str(content);
    }

    fn replace_padded(&mut self, old_len: usize, content: &str) {
        self.push_edit(old_len, content.len() + 2);
        self.text.replace_padded(old_len, content);
    }

    fn copy_lowering_ascii(&mut self, unchanged: &str) {
        self.text.copy_lowering_ascii(unchanged);
        self.read += unchanged.len();
    }

    fn reserve(&mut self, len: usize) {
        self.text.reserve(len);
    }
}

impl Aligned {
    /// Notes that the next `old_len` bytes become the `len` that are written next.
    fn push_edit(&mut self, old_len: usize, len: usize) {
        self.edits.push(Edit { at: self.text.len(), len, from: self.read, from_len: old_len });
        self.read += old_len;
    }

    /// The stretch of the old text from which `range` of the new text came.
    ///
    /// An edit cut in two belongs to both parts as a whole.
    pub fn to_original(&self, range: Range<usize>) -> Range<usize> {
        let start = self.boundary(range.start, false);
        if range.is_empty() { start..start } else { start..self.boundary(range.end, true).max(start) }
    }

    fn boundary(&self, at: usize, is_end: bool) -> usize {
        // The last edit that starts before `at`, or at it when `at` starts a range.
        let after = self.edits.partition_point(|edit| if is_end { edit.at < at } else { edit.at <= at });
        let Some(edit) = after.checked_sub(1).and_then(|last| self.edits.get(last)) else { return at };
        let edit_end = edit.at + edit.len;
        if at >= edit_end && !(is_end && at == edit_end) {
            edit.from + edit.from_len + (at - edit_end)
        } else if is_end {
            edit.from + edit.from_len
        } else {
            edit.from
        }
    }

    /// The alignment of `next`, made from this text, back to this one's old text.
    pub fn then(self, next: Aligned) -> Aligned {
        let mut edits = Vec::with_capacity(self.edits.len() + next.edits.len());
        // Both lists are sorted; an edit of `self` that `next` copied moves along,
        // one that `next` touched is swallowed by the touching edit.
        let mut mine = self.edits.iter().peekable();
        let mut shift: isize = 0;
        for edit in &next.edits {
            let mut joined = Edit { from: self.boundary(edit.from, false), ..*edit };
            let mut from_end =
                if edit.from_len == 0 { joined.from } else { self.boundary(edit.from + edit.from_len, true) };
            while let Some(earlier) = mine.next_if(|mine| mine.at < edit.from + edit.from_len) {
                if earlier.at + earlier.len <= edit.from {
                    edits.push(Edit { at: earlier.at.saturating_add_signed(shift), ..*earlier });
                } else {
                    joined.from = joined.from.min(earlier.from);
                    from_end = from_end.max(earlier.from + earlier.from_len);
                }
            }
            joined.from_len = from_end.saturating_sub(joined.from);
            edits.push(joined);
            shift += edit.len as isize - edit.from_len as isize;
        }
        edits.extend(mine.map(|edit| Edit { at: edit.at.saturating_add_signed(shift), ..*edit }));
        Aligned { text: next.text, edits, read: self.read }
    }
}
