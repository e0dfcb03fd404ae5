//! The pattern of cl100k (GPT-4, Llama-3) and its relatives with other groups of digits.
//!
//! ```text
//! (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
//! | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! ```
//! The possessive spelling of tiktoken 0.14 keeps white space at the end of a
//! text together where the classic one parts it behind its last newline. Every
//! character is in a piece; a text is scanned a constant number of times.

use super::{blanks, contraction};
use crate::unicode::{end_of_run, end_of_run_without, flag::*, flags, flags_at};

/// End of the piece that starts at `start`, which is before the end of the text.
#[inline]
pub(super) fn piece_end(bytes: &[u8], start: usize, digits: usize, possessive: bool) -> usize {
    let Some((first, len)) = flags_at(bytes, start) else { return start };
    let next = start + len;
    if first & LETTER != 0 {
        return end_of_run(bytes, next, LETTER);
    }
    if first & NUMBER != 0 {
        return end_of_numbers(bytes, next, digits - 1);
    }
    if let Some(end) = contraction::end_of_any_case(bytes, start) {
        return end;
    }
    let second = flags_at(bytes, next);
    if let Some((second, len)) = second
        && second & LETTER != 0
        && !blanks::is_newline(bytes, start)
    {
        return end_of_run(bytes, next + len, LETTER);
    }
    if first & SPACE == 0 {
        return end_of_others(bytes, next);
    }
    match second {
        Some((second, len)) if second & (SPACE | NUMBER) == 0 && bytes.get(start) == Some(&b' ') => {
            end_of_others(bytes, next + len)
        }
        _ if possessive => blanks::end_of_lines_or_text(bytes, start),
        _ => blanks::end_of_lines(bytes, start),
    }
}

/// End of at most `limit` numbers from `at`.
#[inline]
pub(super) fn end_of_numbers(bytes: &[u8], mut at: usize, limit: usize) -> usize {
    for _ in 0..limit {
        match flags_at(bytes, at) {
            Some((flags, len)) if flags & NUMBER != 0 => at += len,
            _ => break,
        }
    }
    at
}

/// `[^\s\p{L}\p{N}]*[\r\n]*` from `at`.
#[inline]
fn end_of_others(bytes: &[u8], at: usize) -> usize {
    let mut end = end_of_run_without(bytes, at, SPACE | LETTER | NUMBER);
    while blanks::is_newline(bytes, end) {
        end += 1;
    }
    end
}

/// Whether a text may be cut between these two characters.
///
/// - A letter, then none: whatever holds a letter (a word, a contraction) holds
///   nothing but letters behind its first character, so it ends here.
/// - A number, then none: numbers are never joined with anything.
/// - Another character, then white space but no newline, or a number: it is
///   the end of `[^\s\p{L}\p{N}]+`, or would lead a word, were this a letter.
/// - A newline, then no white space: `[\r\n]*` and `\s*[\r\n]+` both end here,
///   at the last newline of the white space there is.
///
/// In each case a class ends at the cut, as it does when the text ends there,
/// and the only look-ahead, at the end of white space without a newline, lies
/// on one side of it. `\s++$` takes the white space before the cut, which ends
/// with a newline: the same characters as `\s*[\r\n]`.
pub(super) fn cut_between(before: char, after: char) -> bool {
    let (left, right) = (flags(before), flags(after));
    if left & (LETTER | NUMBER) != 0 {
        left & right & (LETTER | NUMBER) == 0
    } else if matches!(before, '\r' | '\n') {
        right & SPACE == 0
    } else {
        left & SPACE == 0 && right & (SPACE | NUMBER) != 0 && !matches!(after, '\r' | '\n')
    }
}
