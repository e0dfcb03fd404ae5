//! `Aligned`: a rewritten text, and where each of its bytes comes from in the original.
//!
//! Only the edits are kept, not the stretches copied between them, so the size of an alignment follows
//! what changed. All mapping of offsets through a rewrite is in this file.

use std::ops::Range;

use super::growth::Growth;
use super::rewrite::Rewrite;
use crate::error::Result;
use crate::step_counter::step;
use crate::text::simd::bits;
use crate::text::{SPACE_MARK_BYTES, SPACE_MARK_STR};
use crate::token_lengths::Span;

/// A stretch of the new text that replaces a stretch of the old one (its source).
/// Offsets have 32 bits, because a step may make one edit of each byte.
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

/// Appends an edit. Joins deletions at the same offset, so that there are at most two edits for each
/// byte of the new text after any number of steps.
#[inline]
fn append(edits: &mut Vec<Edit>, edit: Edit, growth: &mut Growth) {
    match edits.last_mut() {
        Some(last) if edit.len == 0 && last.len == 0 && last.at == edit.at => {
            last.from_len = last.source_end().max(edit.source_end()).saturating_sub(last.from);
        }
        _ => growth.push_edit(edits, edit),
    }
}

/// An offset or length as edits store it. [`Growth::of_aligned`] has refused longer texts.
fn narrow(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// A text built from an old one by copying, replacing and inserting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aligned {
    /// The new text.
    pub text: String,
    edits: Vec<Edit>,
    /// How many bytes of the old text have been copied or replaced.
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
        self.growth.push_padded(&mut self.text, content);
    }

    fn copy_lowering_ascii(&mut self, unchanged: &str) {
        let from = self.text.len();
        self.growth.push(&mut self.text, unchanged);
        self.text[from..].make_ascii_lowercase();
        self.read += unchanged.len();
    }

    fn copy_marking_spaces(&mut self, words: &[u8], marked: &str) {
        let (at, from) = (narrow(self.text.len()), narrow(self.read));
        // Each mark is two bytes longer than its space.
        let n_spaces = (marked.len() - words.len()) / 2;
        if self.edits.capacity() - self.edits.len() >= n_spaces
            || self.growth.make_room_for_edits(&mut self.edits, n_spaces)
        {
            let first = self.edits.len();
            self.edits.resize(first + n_spaces, NO_EDIT);
            let (mut edits, mut further) = (self.edits[first..].iter_mut(), 0);
            for_each_space(words, |space| {
                if let Some(edit) = edits.next() {
                    let (at, from) = (at.wrapping_add(space + further), from.wrapping_add(space));
                    *edit = Edit { at, len: SPACE_MARK_STR.len() as u32, from, from_len: 1 };
                }
                further += 2;
            });
        }
        self.growth.push(&mut self.text, marked);
        self.read += words.len();
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

    /// Empties the text and removes the bound on its growth; keeps its memory for the next text.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.edits.clear();
        (self.read, self.growth) = (0, Growth::default());
    }

    /// The text, borrowed, if it is within the bound and memory sufficed.
    ///
    /// # Errors
    /// As [`Aligned::checked`].
    pub(crate) fn text(&self) -> Result<&str> {
        self.growth.check(&self.text)?;
        Ok(&self.text)
    }

    /// The text, if it is within the bound and memory sufficed.
    ///
    /// # Errors
    /// [`crate::Error::Encode`] past the bound, [`crate::Error::Memory`] if memory ran out.
    pub(crate) fn checked(self) -> Result<Self> {
        self.growth.check(&self.text)?;
        Ok(self)
    }

    /// Records that the next `old_len` bytes of the old text become the next `len` bytes written.
    fn push_edit(&mut self, old_len: usize, len: usize) {
        let (at, from, from_len) = (narrow(self.text.len()), narrow(self.read), narrow(old_len));
        self.read += old_len;
        append(&mut self.edits, Edit { at, len: narrow(len), from, from_len }, &mut self.growth);
    }

    /// The range of the old text from which `range` of the new text came.
    ///
    /// A range that touches part of an edit gets the whole source of the edit.
    pub fn to_original(&self, range: Range<usize>) -> Range<usize> {
        self.alignment().to_original(range)
    }

    /// The alignment, for looking up many ranges.
    pub fn alignment(&self) -> Alignment<'_> {
        Alignment { edits: &self.edits }
    }

    /// Composes two rewrites: `self` made this text from the old one, and `next` made another from this
    /// text. The result has the text of `next` and leads back to the old text.
    ///
    /// Each edit of `next` takes over the sources of all edits of `self` that it overlaps; the parts of
    /// the edits that it leaves, and all edits in text that `next` copied, stay and only move:
    ///
    /// ```text
    /// old     a b c d e f       self: "bc" became "XYZ"
    /// middle  a X Y Z d e f     next: "Zd" becomes "-"
    /// new     a X Y - e f       composed: "XY" comes from "bc", "-" from "bcd"
    /// ```
    ///
    /// Linear: reads both lists of edits, which are sorted, once.
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
        let mut earlier_edits = self.edits.iter().copied();
        let mut earlier = earlier_edits.next();
        // How far `next` moves what follows its last edit. Negative shifts wrap around.
        let mut shift: u32 = 0;
        // How many edits of `self` start at or before the start of the edit of `next`, and before its end.
        let (mut n_by_start, mut n_by_end) = (0, 0);
        for edit in &next.edits {
            let end = edit.source_end();
            n_by_start = self.count_edits(n_by_start.max(n_by_end), |earlier| earlier.at <= edit.from);
            let mut composed =
                Edit { from: boundary(last_of(&self.edits, n_by_start), edit.from, false), ..*edit };
            let mut composed_end = composed.from;
            if edit.from_len > 0 {
                n_by_end = self.count_edits(n_by_start.max(n_by_end), |earlier| earlier.at < end);
                composed_end = boundary(last_of(&self.edits, n_by_end), end, true);
            }
            while let Some(earlier_edit) = earlier.filter(|earlier| earlier.at < end) {
                if earlier_edit.end() <= edit.from {
                    append(&mut edits, moved(earlier_edit, shift), &mut growth);
                } else {
                    composed.from = composed.from.min(earlier_edit.from);
                    composed_end = composed_end.max(earlier_edit.source_end());
                    if earlier_edit.at < edit.from {
                        let left = Edit { len: edit.from - earlier_edit.at, ..earlier_edit };
                        append(&mut edits, moved(left, shift), &mut growth);
                    }
                    if earlier_edit.end() > end {
                        earlier = Some(Edit { at: end, len: earlier_edit.end() - end, ..earlier_edit });
                        break;
                    }
                }
                earlier = earlier_edits.next();
            }
            composed.from_len = composed_end.saturating_sub(composed.from);
            append(&mut edits, composed, &mut growth);
            shift = shift.wrapping_add(edit.len).wrapping_sub(edit.from_len);
        }
        for edit in earlier.into_iter().chain(earlier_edits) {
            append(&mut edits, moved(edit, shift), &mut growth);
        }
        Aligned { text: next.text, edits, read: self.read, growth }
    }

    /// How many edits at the front of the list satisfy `is_before`, given that the first `n` do.
    fn count_edits(&self, n: usize, is_before: impl Fn(&Edit) -> bool) -> usize {
        n + self.edits[n..].iter().take_while(|edit| is_before(edit)).count()
    }
}

/// Used as the edit before the first: offsets stay the same.
const NO_EDIT: Edit = Edit { at: 0, len: 0, from: 0, from_len: 0 };

/// The last of the first `n` edits.
fn last_of(edits: &[Edit], n: usize) -> Edit {
    n.checked_sub(1).and_then(|last| edits.get(last)).copied().unwrap_or(NO_EDIT)
}

/// The offset in the old text of `at`, the start or the end of a range of the new one. `edit` is the last that starts
/// before `at`, or for a start, before or at it.
#[inline(always)]
fn boundary(edit: Edit, at: u32, is_end: bool) -> u32 {
    if at < edit.end() && !is_end {
        return edit.from;
    }
    edit.source_end().saturating_add(at.saturating_sub(edit.end()))
}

/// Calls `f` with the offset of each space. Finds those of 64 bytes together: a loop
/// that ends at each of them is mispredicted at each.
#[inline(always)]
fn for_each_space(text: &[u8], mut f: impl FnMut(u32)) {
    let (windows, rest) = text.as_chunks::<64>();
    let masks = windows.iter().map(spaces_of_window);
    let rest = rest.iter().rev().fold(0, |mask, byte| mask << 1 | u64::from(*byte == b' '));
    for (n, mask) in masks.chain([rest]).enumerate() {
        bits(mask).for_each(|bit| f((64 * n + bit) as u32));
    }
}

/// One bit for each byte, set where it is a space.
#[inline(always)]
fn spaces_of_window(window: &[u8; 64]) -> u64 {
    const EACH: u64 = u64::MAX / 255;
    const LOW: u64 = EACH * 0x7F;
    /// Brings the lowest bit of each byte together in the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (words, _) = window.as_chunks::<8>();
    words.iter().rev().fold(0, |mask, word| {
        let others = u64::from_le_bytes(*word) ^ (EACH * u64::from(b' '));
        // The highest bit of each byte that is zero in `others`.
        let spaces = !(((others & LOW) + LOW) | others | LOW);
        mask << 8 | (spaces >> 7).wrapping_mul(GATHER) >> 56
    })
}

/// Maps ranges of a rewritten text to the old one.
#[derive(Clone, Copy)]
pub struct Alignment<'a> {
    edits: &'a [Edit],
}

impl Alignment<'_> {
    /// The same as [`Aligned::to_original`].
    pub fn to_original(self, range: Range<usize>) -> Range<usize> {
        let mut span = [range.start as u64, range.end as u64];
        self.to_originals(std::slice::from_mut(&mut span));
        span[0] as usize..span[1] as usize
    }

    /// Replaces each range of the new text by [`Aligned::to_original`] of it; fast for ranges in order.
    pub(crate) fn to_originals(self, spans: &mut [Span]) {
        let Some(&[first, _]) = spans.first().filter(|_| !self.edits.is_empty()) else { return };
        self.to_originals_after(self.n_up_to(narrow(first as usize)), spans);
    }

    /// How many edits start at or before an offset of the new text.
    fn n_up_to(self, start: u32) -> usize {
        self.edits.partition_point(|edit| edit.at <= start)
    }

    /// As [`Alignment::to_originals`]; the first `n` edits start at or before the first range.
    fn to_originals_after(self, mut n: usize, spans: &mut [Span]) {
        let edits = self.edits;
        // The last of the edits up to an offset, and where the next one starts.
        let (mut last, mut next) = (last_of(edits, n), start_of(edits, n));
        for span in spans {
            let (start, end) = (narrow(span[0] as usize), narrow(span[1] as usize));
            if start < last.at {
                n = self.n_up_to(start);
                (last, next) = (last_of(edits, n), start_of(edits, n));
            }
            while next <= start && n < edits.len() {
                (last, next) = (edits[n], start_of(edits, n + 1));
                n += 1;
            }
            let from = boundary(last, start, false);
            let mut to = from;
            if start < end {
                // An edit that starts at `start` starts before `end`.
                while next < end && n < edits.len() {
                    (last, next) = (edits[n], start_of(edits, n + 1));
                    n += 1;
                }
                to = boundary(last, end, true).max(from);
            }
            *span = [u64::from(from), u64::from(to)];
        }
    }
}

/// How many edits [`MarkedRuns::new`] looks at.
const LOOKED_AT: usize = 16;

/// Goes through a rewritten text in order and finds runs that are the old text, but with `▁` for some single bytes.
///
/// In such a run the lengths of tokens and the number of their `▁` give the spans in the old text, without a look at
/// each edit. Nearly all edits of SentencePiece's normalizer and of Metaspace are such marks.
pub(crate) struct MarkedRuns<'a> {
    edits: &'a [Edit],
    text: &'a [u8],
    /// Edits from here on do not matter.
    end: u32,
    /// How many edits start before the place that was reached.
    n: usize,
    /// How many edits, at least `n`, come before the next one that is not a mark, as far as that is known.
    n_marks: usize,
}

impl<'a> MarkedRuns<'a> {
    /// The runs of a part of a text that an alignment leads back from; `None` if most of the next edits are not
    /// marks, since short runs take longer than a look at each edit.
    pub(crate) fn new(alignment: Alignment<'a>, text: &'a [u8], (at, end): (u32, u32)) -> Option<Self> {
        let n = alignment.edits.partition_point(|edit| edit.at < at);
        let runs = Self { edits: alignment.edits, text, end, n, n_marks: n };
        let looked_at = n..alignment.edits.len().min(n + LOOKED_AT);
        let n_marks = looked_at.clone().filter(|&edit| runs.is_mark(edit)).count();
        (2 * n_marks >= looked_at.len()).then_some(runs)
    }

    /// Where `at` is in the old text, and where the run that starts there ends, at most at the next edit behind the
    /// part; `None` inside an edit.
    pub(crate) fn run(&mut self, at: u32) -> Option<(u32, u32)> {
        let last = last_of(self.edits, self.n);
        if at < last.end() {
            return None;
        }
        self.n_marks = self.n_marks.max(self.n);
        while start_of(self.edits, self.n_marks) < self.end && self.is_mark(self.n_marks) {
            step();
            self.n_marks += 1;
        }
        Some((boundary(last, at, true), start_of(self.edits, self.n_marks)))
    }

    /// Whether the `n`th edit writes a `▁` for a byte, and all text between it and the edit before is copied.
    fn is_mark(&self, n: usize) -> bool {
        let Some(edit) = self.edits.get(n) else { return false };
        let before = last_of(self.edits, n);
        let written = self.text.get(edit.at as usize..).and_then(<[u8]>::first_chunk);
        written == Some(&SPACE_MARK_BYTES)
            && edit.len == SPACE_MARK_BYTES.len() as u32
            && edit.from_len == 1
            && edit.from.wrapping_sub(before.source_end()) == edit.at.wrapping_sub(before.end())
    }

    /// Moves to `at`, behind tokens of the run with so many `▁`; `false` where the old text has some of them, too.
    pub(crate) fn pass_run(&mut self, at: u32, n_marks: u32) -> bool {
        self.n += n_marks as usize;
        let is_behind = self.n.checked_sub(1).is_none_or(|last| start_of(self.edits, last) < at);
        is_behind && start_of(self.edits, self.n) >= at
    }

    /// Moves behind a range of the new text and replaces it by [`Aligned::to_original`] of it.
    pub(crate) fn pass_token(&mut self, span: &mut Span) {
        let end = narrow(span[1] as usize);
        let alignment = Alignment { edits: self.edits };
        alignment.to_originals_after(self.n, std::slice::from_mut(span));
        while start_of(self.edits, self.n) < end {
            self.n += 1;
        }
    }
}

/// Where the `n`th edit starts in the new text.
#[inline(always)]
fn start_of(edits: &[Edit], n: usize) -> u32 {
    edits.get(n).map_or(u32::MAX, |edit| edit.at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rewrites `text` by steps; each copies `n` characters or replaces them by its content.
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

    /// The example in the documentation of [`Aligned::then`].
    #[test]
    fn then_composes_overlapping_edits() {
        let first = edited("abcdef", &[(true, 1, String::new()), (false, 2, "XYZ".into())]);
        let next = edited(&first.text, &[(true, 3, String::new()), (false, 2, "-".into())]);
        let both = first.then(next);
        assert_eq!(both.text, "aXY-ef");
        assert_eq!([0..1, 1..3, 3..4, 4..6].map(|range| both.to_original(range)), [0..1, 1..3, 1..4, 4..6]);
    }

    #[test]
    fn then_joins_deletions_of_many_steps() {
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

    /// Writes spaces as marks. At each of some places, inserts a string and removes the next characters.
    fn marked(text: &str, other_edits: &[(usize, usize, String)]) -> Aligned {
        let mut aligned = Aligned::default();
        let mut others = other_edits.iter().peekable();
        let mut skipped = 0;
        for (at, c) in text.char_indices() {
            if let Some((_, n, content)) = others.next_if(|(place, ..)| *place <= at) {
                skipped = *n;
                aligned.replace(0, content);
            }
            match c {
                _ if skipped > 0 => aligned.replace(c.len_utf8(), ""),
                ' ' => aligned.replace(1, SPACE_MARK_STR),
                _ => aligned.copy(&text[at..at + c.len_utf8()]),
            }
            skipped = skipped.saturating_sub(1);
        }
        aligned
    }

    proptest! {
        #[test]
        fn runs_of_marks_give_the_spans_of_each_token(
            text in "([ab ]{0,8}[ab é▁]{1,2}){0,6}",
            others in prop::collection::btree_map(0..50_usize, (0..3_usize, "(▁|x|▁x|é)?"), 0..5),
            first in steps(),
            is_composed in any::<bool>(),
            lens in prop::collection::vec(1..4_usize, 1..80),
        ) {
            let others: Vec<_> = others.into_iter().map(|(at, (n, content))| (at, n, content)).collect();
            let aligned = if is_composed {
                let first = edited(&text, &first);
                let next = marked(&first.text, &others);
                first.then(next)
            } else {
                marked(&text, &others)
            };
            let mut chars = aligned.text.char_indices().map(|(at, c)| at + c.len_utf8());
            let tokens: Vec<usize> = lens.iter().cycle().map_while(|len| chars.by_ref().take(*len).last()).collect();
            let mut runs =
                MarkedRuns { edits: &aligned.edits, text: aligned.text.as_bytes(), end: u32::MAX, n: 0, n_marks: 0 };
            let (mut at, mut ends, mut spans) = (0, tokens.iter().copied().peekable(), Vec::new());
            while ends.peek().is_some() {
                if let Some((mut from, run_end)) = runs.run(at as u32) {
                    let mut n_marks = 0;
                    while let Some(end) = ends.next_if(|end| *end <= run_end as usize) {
                        let marks = aligned.text[at..end].matches(SPACE_MARK_STR).count() as u32;
                        let to = from + (end - at) as u32 - 2 * marks;
                        spans.push([u64::from(from), u64::from(to)]);
                        (at, from, n_marks) = (end, to, n_marks + marks);
                    }
                    // The old text has marks, too.
                    prop_assume!(runs.pass_run(at as u32, n_marks));
                }
                if let Some(end) = ends.next() {
                    let mut span = [at as u64, end as u64];
                    runs.pass_token(&mut span);
                    spans.push(span);
                    at = end;
                }
            }
            let mut at = 0;
            for (end, span) in tokens.into_iter().zip(spans) {
                let expected = aligned.to_original(at..end);
                prop_assert_eq!([expected.start as u64, expected.end as u64], span, "{}..{}", at, end);
                at = end;
            }
        }

        #[test]
        fn then_maps_as_both_steps_in_sequence(
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
                // Inserted text has an empty source; inside an edit it may get the source of the edit.
                if !between.is_empty() {
                    prop_assert_eq!(&found, &first.to_original(between));
                }
                last = found;
            }
            // All at once, in order and not.
            let spans: Vec<Span> =
                both.text.char_indices().map(|(at, c)| [at as u64, (at + c.len_utf8()) as u64]).collect();
            for mut spans in [spans.clone(), spans.into_iter().rev().collect()] {
                let one_by_one: Vec<_> = spans.iter().map(|span| both.to_original(span[0] as usize..span[1] as usize)).collect();
                both.alignment().to_originals(&mut spans);
                let at_once: Vec<_> = spans.iter().map(|span| span[0] as usize..span[1] as usize).collect();
                prop_assert_eq!(at_once, one_by_one);
            }
        }
    }
}
