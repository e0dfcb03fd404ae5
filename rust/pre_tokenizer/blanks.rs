//! Runs of white space: the last alternatives of every published pattern.
//!
//! They look one character past the run and no further, and scan it once. A
//! run is cut into at most three pieces, so a text costs a constant number of
//! passes whatever it holds.

use crate::unicode::{flag, flags_at};

/// A run of white space.
struct Run {
    /// Where it ends.
    end: usize,
    /// Where its last character starts.
    last: usize,
    /// Behind its last `\r` or `\n`, if it has one.
    behind_newline: Option<usize>,
}

#[inline]
fn run(bytes: &[u8], start: usize) -> Run {
    let mut run = Run { end: start, last: start, behind_newline: None };
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

impl Run {
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
    matches!(bytes.get(at), Some(b'\r' | b'\n'))
}
