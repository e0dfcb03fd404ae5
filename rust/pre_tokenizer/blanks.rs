//! Runs of white space: the last alternatives of every published pattern.
//!
//! They look one character past the run and no further, and scan it once. A
//! run is cut into at most three pieces, so a text costs a constant number of
//! passes whatever it holds. [`places`] says the same of a window's masks.

use crate::step_counter::step;
use crate::text::simd::{Shape, WINDOW, bits};
use crate::text::unicode::{flag, flags_at};

/// A run of white space.
struct WhiteSpace {
    /// Where it ends.
    end: usize,
    /// Where its last character starts.
    last: usize,
    /// Behind its last `\r` or `\n`, if it has one.
    behind_newline: Option<usize>,
}

#[inline]
fn run(bytes: &[u8], start: usize) -> WhiteSpace {
    let mut run = WhiteSpace { end: start, last: start, behind_newline: None };
    while let Some((flags, len)) = flags_at(bytes, run.end) {
        if flags & flag::SPACE == 0 {
            break;
        }
        run.last = run.end;
        run.end += len;
        if is_newline(bytes, run.last) {
            run.behind_newline = Some(run.end);
        }
    }
    run
}

impl WhiteSpace {
    /// `\s+(?!\S)|\s+`: all at the end of the text, else all but the last character.
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
    run.behind_newline.unwrap_or_else(|| run.end_of_blanks(bytes, start))
}

/// The same, for a text that ends where `is_end` says.
#[inline]
pub(super) fn end_of_lines_before(bytes: &[u8], start: usize, is_end: impl Fn(usize) -> bool) -> usize {
    let run = run(bytes, start);
    run.behind_newline.unwrap_or_else(
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
    run.behind_newline.unwrap_or_else(|| run.end_of_blanks(bytes, start))
}

/// Whether the character at `at` is one of `[\r\n]`.
#[inline]
pub(super) fn is_newline(bytes: &[u8], at: usize) -> bool {
    step();
    matches!(bytes.get(at), Some(b'\r' | b'\n'))
}

/// What the white space of a window does to its pieces.
pub(super) struct Places {
    /// Where pieces of white space start.
    pub(super) starts: u64,
    /// The last characters of white space, but no newlines: each starts a piece.
    pub(super) last: u64,
    /// What the alternative of other characters takes behind them.
    pub(super) taken: u64,
    /// The places right behind that.
    pub(super) behind: u64,
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+`, and the `tail` after others: `[\r\n]*`, `[\r\n/]*`.
///
/// White space starts a piece where it begins, unless others took it; behind
/// its last newline; and at its last character, if that is not a newline. What
/// reaches the end of the window is left undecided by it. Before a character of
/// `closing`, as at the end of a text, all of it stays together.
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
    // The sum carries from the first newline behind others to the end of the
    // tail; another one behind a slash stays in the sum, being added twice.
    let first = newlines & others << 1;
    let sum = tail.wrapping_add(first);
    let taken = tail & !sum | first;
    let mut after = newlines << 1 & blanks;
    // Newlines with nothing but blanks between them and an earlier one.
    for newline in bits(blanks.wrapping_add(after) & !blanks & newlines) {
        let earlier = u64::BITS - (!blanks & ((1 << newline) - 1)).leading_zeros();
        // That earlier one is the last of its piece only if others took it.
        after &= !(1 << earlier) | taken << 1;
    }
    let last = shape.back(blanks & !(spaces >> 1 | closing >> 1));
    let starts = spaces & !(spaces << 1 | taken) | after | last;
    Places { starts, last, taken, behind: sum & !tail }
}

/// Where a piece that fills a window can be resumed if it ends with others; 0 for nowhere.
///
/// Two of them cannot lead a word or open a contraction as one could.
#[inline(always)]
pub(super) fn resume_others(shape: Shape, others: u64) -> usize {
    if shape.first(others) >> (WINDOW - 2) == 0b11 { WINDOW - 2 } else { 0 }
}
