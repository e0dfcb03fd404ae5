//! Runs of white space: the last alternatives of every published pattern.
//!
//! They look one character beyond the run at most and scan it once. A run is cut into at most three
//! pieces, so a text needs a constant number of passes. [`places`] implements the same rules with
//! bit masks for a window.

use crate::step_counter::step;
use crate::text::simd::{Shape, WINDOW, bits};
use crate::text::unicode::{flag, flags_at};

/// A run of white space.
struct WhiteSpace {
    /// The end of the run.
    end: usize,
    /// The start of its last character.
    last: usize,
    /// The end of its last `\r` or `\n`, if it has one.
    after_newline: Option<usize>,
}

#[inline]
fn run(bytes: &[u8], start: usize) -> WhiteSpace {
    let mut run = WhiteSpace { end: start, last: start, after_newline: None };
    while let Some((flags, len)) = flags_at(bytes, run.end) {
        if flags & flag::SPACE == 0 {
            break;
        }
        run.last = run.end;
        run.end += len;
        if is_newline(bytes, run.last) {
            run.after_newline = Some(run.end);
        }
    }
    run
}

impl WhiteSpace {
    /// `\s+(?!\S)|\s+`: the whole run at the end of the text, else all but its last character.
    #[inline]
    fn end_of_blanks(&self, bytes: &[u8], start: usize) -> usize {
        if self.end == bytes.len() || self.last == start { self.end } else { self.last }
    }
}

/// `\s+(?!\S)|\s+` from `start`, which is white space.
#[inline]
pub(super) fn end_of_blanks(bytes: &[u8], start: usize) -> usize {
    run(bytes, start).end_of_blanks(bytes, start)
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+` from `start`, which is white space.
#[inline]
pub(super) fn end_of_lines(bytes: &[u8], start: usize) -> usize {
    let run = run(bytes, start);
    run.after_newline.unwrap_or_else(|| run.end_of_blanks(bytes, start))
}

/// [`end_of_lines`] for a text that ends where `is_end` is true.
#[inline]
pub(super) fn end_of_lines_before(bytes: &[u8], start: usize, is_end: impl Fn(usize) -> bool) -> usize {
    let run = run(bytes, start);
    run.after_newline.unwrap_or_else(
        || {
            if is_end(run.end) { run.end } else { run.end_of_blanks(bytes, start) }
        },
    )
}

/// `\s++$|\s*[\r\n]|\s+(?!\S)|\s` from `start`, which is white space.
#[inline]
pub(super) fn end_of_lines_or_text(bytes: &[u8], start: usize) -> usize {
    let run = run(bytes, start);
    if run.end == bytes.len() {
        return run.end;
    }
    run.after_newline.unwrap_or_else(|| run.end_of_blanks(bytes, start))
}

/// Whether the character at `at` is one of `[\r\n]`.
#[inline]
pub(super) fn is_newline(bytes: &[u8], at: usize) -> bool {
    step();
    matches!(bytes.get(at), Some(b'\r' | b'\n'))
}

/// How the white space in a window affects the pieces.
pub(super) struct Places {
    /// The positions where pieces of white space start.
    pub(super) starts: u64,
    /// The last characters of runs of white space, except newlines. Each starts a piece.
    pub(super) last: u64,
    /// White space that the alternative for other characters takes along.
    pub(super) taken: u64,
    /// The positions right after such white space.
    pub(super) after_taken: u64,
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+`, and the `tail` after others: `[\r\n]*`, `[\r\n/]*`.
///
/// White space starts a piece at the start of its run, unless others took it; after its last
/// newline; and at its last character, unless that is a newline. A run that reaches the end of the
/// window is left undecided. Before a character of `closing`, as at the end of a text, the run is
/// not cut before its last character.
#[inline(always)]
pub(super) fn places(
    shape: Shape,
    spaces: u64,
    newlines: u64,
    others: u64,
    tail: u64,
    closing: u64,
) -> Places {
    let blanks = spaces & !newlines;
    // The sum carries from the first newline after others to the end of the tail. A second newline
    // after a slash remains in the sum, because it is added twice.
    let first = newlines & others << 1;
    let sum = tail.wrapping_add(first);
    let taken = tail & !sum | first;
    let mut after = newlines << 1 & blanks;
    // For each newline with only blanks between it and an earlier newline:
    for newline in bits(blanks.wrapping_add(after) & !blanks & newlines) {
        let earlier = u64::BITS - (!blanks & ((1 << newline) - 1)).leading_zeros();
        // the earlier one ends a piece only if others took it.
        after &= !(1 << earlier) | taken << 1;
    }
    let last = shape.back(blanks & !(spaces >> 1 | closing >> 1));
    let starts = spaces & !(spaces << 1 | taken) | after | last;
    Places { starts, last, taken, after_taken: sum & !tail }
}

/// The position where a piece that fills a window can be resumed if it ends in others; 0 if
/// nowhere.
///
/// The position is after two others, because a single one may lead a word or open a contraction.
#[inline(always)]
pub(super) fn resume_others(shape: Shape, others: u64) -> usize {
    if shape.first(others) >> (WINDOW - 2) == 0b11 { WINDOW - 2 } else { 0 }
}
