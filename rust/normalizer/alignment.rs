//! `Aligned`: a rewritten text, and where each of its bytes comes from in the original.
//!
//! Kept as the list of edits between stretches copied unchanged, so its size
//! follows what changed. The only place that knows how offsets survive a
//! rewrite.

use std::ops::Range;

use super::growth::Growth;
use super::rewrite::Rewrite;
use crate::error::Result;

/// A stretch of the new text that does not equal its source. Places are those
/// of texts of at most 4 GiB: a step may make an edit of each byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edit {
    /// Where it starts in the new text, and its length there.
    at: u32,
    len: u32,
    /// Where its source starts in the old text, and its length there.
    from: u32,
    from_len: u32,
}

impl Edit {
    /// Where it ends in the new text.
    fn end(self) -> u32 {
        self.at.saturating_add(self.len)
    }

    /// Where its source ends in the old text.
    fn source_end(self) -> u32 {
        self.from.saturating_add(self.from_len)
    }
}

/// Appends an edit. Deletions at one place become one edit, so that there are at most two edits for each
/// byte of the new text, however many steps made it.
#[inline]
fn append(edits: &mut Vec<Edit>, edit: Edit, growth: &mut Growth) {
    match edits.last_mut() {
        Some(last) if edit.len == 0 && last.len == 0 && last.at == edit.at => {
            last.from_len = last.source_end().max(edit.source_end()).saturating_sub(last.from);
        }
        _ => growth.push_edit(edits, edit),
    }
}

/// A place as edits keep it. Longer texts are refused before one is looked up.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// A text built from an old one by copying, replacing and inserting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aligned {
    /// The new text.
    pub text: String,
    edits: Vec<Edit>,
    /// How much of the old text is used up.
    read: usize,
    growth: Growth,
}

impl Rewrite for Aligned {
    fn copy(&mut self, unchanged: &str) {
        self.growth.push(&mut self.text, unchanged);
        self.read += unchanged.len();
    }

    fn replace(&mut self, old_len: usize, content: &str) {
        self.push_edit(old_len, content.len());
        self.growth.push(&mut self.text, content);
    }

    fn replace_padded(&mut self, old_len: usize, content: &str) {
        self.push_edit(old_len, content.len() + 2);
        for part in [" ", content, " "] {
            self.growth.push(&mut self.text, part);
        }
    }

    fn copy_lowering_ascii(&mut self, unchanged: &str) {
        let from = self.text.len();
        self.growth.push(&mut self.text, unchanged);
        self.text[from..].make_ascii_lowercase();
        self.read += unchanged.len();
    }

    fn reserve(&mut self, len: usize) {
        self.growth.reserve(&mut self.text, len);
    }

    fn give_up(&mut self) {
        self.growth.give_up();
    }
}

impl Aligned {
    pub(super) fn within(growth: Growth) -> Self {
        Self { growth, ..Self::default() }
    }

    /// Empties the text, whose memory the next one takes; that may grow without bound.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.edits.clear();
        (self.read, self.growth) = (0, Growth::default());
    }

    /// As [`Aligned::checked`], borrowed.
    ///
    /// # Errors
    /// As [`Aligned::checked`].
    pub(crate) fn text(&self) -> Result<&str> {
        self.growth.check(&self.text)?;
        Ok(&self.text)
    }

    /// The text, if all of it found room.
    ///
    /// # Errors
    /// [`crate::Error::Encode`] past the bound, [`crate::Error::Memory`] where there is none.
    pub(crate) fn checked(self) -> Result<Self> {
        self.growth.check(&self.text)?;
        Ok(self)
    }

    /// Notes that the next `old_len` bytes become the `len` that are written next.
    fn push_edit(&mut self, old_len: usize, len: usize) {
        let (at, from, from_len) = (place(self.text.len()), place(self.read), place(old_len));
        self.read += old_len;
        append(&mut self.edits, Edit { at, len: place(len), from, from_len }, &mut self.growth);
    }

    /// The stretch of the old text from which `range` of the new text came.
    ///
    /// An edit cut in two belongs to both parts as a whole.
    pub fn to_original(&self, range: Range<usize>) -> Range<usize> {
        self.alignment().to_original(range)
    }

    /// The alignment, for many places that are asked for mostly in order.
    pub fn alignment(&self) -> Alignment<'_> {
        Alignment { edits: &self.edits, n: 0 }
    }

    /// The alignment of `next`, made from this text, back to this one's old text.
    /// Both lists of edits are gone through once.
    pub fn then(self, next: Aligned) -> Aligned {
        if self.edits.is_empty() {
            return Aligned { read: self.read, ..next };
        }
        if next.edits.is_empty() {
            return Aligned { text: next.text, growth: next.growth, ..self };
        }
        let moved = |edit: Edit, shift| Edit { at: edit.at.wrapping_add(shift), ..edit };
        let mut edits = Vec::new();
        let mut growth = next.growth;
        growth.make_room_for_edits(&mut edits, self.edits.len().max(next.edits.len()));
        // Both lists are sorted. An edit of `self` that `next` copied moves along;
        // of one that `next` touched what it copied does, with the whole source.
        let mut mine = self.edits.iter().copied();
        let mut earlier = mine.next();
        // By how much what follows moves; a step back is one around 32 bits.
        let mut shift: u32 = 0;
        // How many edits of `self` start before the end and at the start of one of `next`.
        let (mut n_before, mut n_to) = (0, 0);
        for edit in &next.edits {
            let end = edit.source_end();
            n_to = self.n_from(n_to.max(n_before), |held| held.at <= edit.from);
            let mut joined = Edit { from: boundary(&self.edits, n_to, edit.from, false), ..*edit };
            let mut from_end = joined.from;
            if edit.from_len > 0 {
                n_before = self.n_from(n_to.max(n_before), |held| held.at < end);
                from_end = boundary(&self.edits, n_before, end, true);
            }
            while let Some(held) = earlier.filter(|held| held.at < end) {
                if held.end() <= edit.from {
                    append(&mut edits, moved(held, shift), &mut growth);
                } else {
                    joined.from = joined.from.min(held.from);
                    from_end = from_end.max(held.source_end());
                    if held.at < edit.from {
                        let left = Edit { len: edit.from - held.at, ..held };
                        append(&mut edits, moved(left, shift), &mut growth);
                    }
                    if held.end() > end {
                        earlier = Some(Edit { at: end, len: held.end() - end, ..held });
                        break;
                    }
                }
                earlier = mine.next();
            }
            joined.from_len = from_end.saturating_sub(joined.from);
            append(&mut edits, joined, &mut growth);
            shift = shift.wrapping_add(edit.len).wrapping_sub(edit.from_len);
        }
        for edit in earlier.into_iter().chain(mine) {
            append(&mut edits, moved(edit, shift), &mut growth);
        }
        Aligned { text: next.text, edits, read: self.read, growth }
    }

    /// How many edits come before the first that is not `before`, of which `n` are known.
    fn n_from(&self, n: usize, before: impl Fn(&Edit) -> bool) -> usize {
        n + self.edits[n..].iter().take_while(|edit| before(edit)).count()
    }
}

/// Where `at` lies in the old text; `n` edits start before it (an end), or before or at it (a start).
#[inline]
fn boundary(edits: &[Edit], n: usize, at: u32, is_end: bool) -> u32 {
    let Some(edit) = n.checked_sub(1).and_then(|last| edits.get(last)) else { return at };
    let edit_end = edit.end();
    if at >= edit_end && !(is_end && at == edit_end) {
        edit.source_end().saturating_add(at - edit_end)
    } else if is_end {
        edit.source_end()
    } else {
        edit.from
    }
}

/// Where the places of a rewritten text come from in the old one.
#[derive(Clone, Copy)]
pub struct Alignment<'a> {
    edits: &'a [Edit],
    /// How many edits came before the last place that was asked for: where the next
    /// search begins.
    n: usize,
}

/// Edits that are gone through one by one; of more, by halves.
const FEW: usize = 8;

impl Alignment<'_> {
    /// As [`Aligned::to_original`].
    #[inline]
    pub fn to_original(&mut self, range: Range<usize>) -> Range<usize> {
        if self.edits.is_empty() {
            return range;
        }
        let (start, end) = (place(range.start), place(range.end));
        self.seek(|edit| edit.at <= start);
        let from = boundary(self.edits, self.n, start, false) as usize;
        if range.is_empty() {
            return from..from;
        }
        // An edit that starts at `start` starts before `end`.
        self.seek(|edit| edit.at < end);
        from..(boundary(self.edits, self.n, end, true) as usize).max(from)
    }

    /// Goes to where all edits before are before a place, and none after. Places are
    /// mostly asked for in order.
    #[inline]
    fn seek(&mut self, is_before: impl Fn(&Edit) -> bool) {
        if self.n.checked_sub(1).is_some_and(|last| !is_before(&self.edits[last])) {
            self.n = self.edits[..self.n].partition_point(is_before);
            return;
        }
        for _ in 0..FEW {
            if self.edits.get(self.n).is_none_or(|edit| !is_before(edit)) {
                return;
            }
            self.n += 1;
        }
        self.n += self.edits[self.n..].partition_point(is_before);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A text made of `text` by steps: copy so many characters, or put others in
    /// their place.
    fn edited(text: &str, steps: &[(bool, usize, String)]) -> Aligned {
        let mut aligned = Aligned::default();
        let mut at = 0;
        for (copies, n, content) in steps {
            let len = text[at..].chars().take(*n).map(char::len_utf8).sum();
            match copies {
                true => aligned.copy(&text[at..at + len]),
                false => aligned.replace(len, content),
            }
            at += len;
        }
        aligned.copy(&text[at..]);
        aligned
    }

    fn steps() -> impl Strategy<Value = Vec<(bool, usize, String)>> {
        prop::collection::vec((any::<bool>(), 0..4_usize, "[xé中]{0,3}"), 0..8)
    }

    #[test]
    fn what_goes_step_after_step_is_one_edit() {
        let mut whole: Option<Aligned> = None;
        let text = "ab".repeat(50);
        for _ in 0..20 {
            for (from, to) in [("a", "axx"), ("x", "")] {
                let mut next = Aligned::default();
                let current = whole.as_ref().map_or(text.as_str(), |whole| whole.text.as_str());
                assert!(super::super::literal::replace(current, from, to, &mut next));
                whole = Some(match whole.take() {
                    Some(first) => first.then(next),
                    None => next,
                });
            }
        }
        let whole = whole.unwrap();
        assert_eq!(whole.text, text);
        assert!(whole.edits.len() <= 2 * text.len(), "{}", whole.edits.len());
        for at in 0..text.len() {
            assert_eq!(whole.to_original(at..at + 1), at..at + 1);
        }
    }

    proptest! {
        #[test]
        fn two_steps_lead_back_as_one_after_the_other(
            text in "[aß語]{0,12}", first in steps(), second in steps(),
        ) {
            let first = edited(&text, &first);
            let second = edited(&first.text, &second);
            let both = first.clone().then(second.clone());
            prop_assert_eq!(&both.text, &second.text);
            let mut last = 0..0;
            for (at, c) in both.text.char_indices() {
                let between = second.to_original(at..at + c.len_utf8());
                let found = both.to_original(at..at + c.len_utf8());
                prop_assert!(text.is_char_boundary(found.start) && text.is_char_boundary(found.end));
                prop_assert!(last.start <= found.start && last.end <= found.end.max(last.end));
                // What was put in came from nowhere; inside an edit it came from there.
                if !between.is_empty() {
                    prop_assert_eq!(&found, &first.to_original(between));
                }
                last = found;
            }
        }
    }
}
