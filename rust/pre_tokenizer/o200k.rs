//! The patterns of o200k (GPT-4o, gpt-oss, Llama-4) and of Mistral's tekken.
//!
//! ```text
//! [^\r\n\p{L}\p{N}]?U*D+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?U+D*(?i:'s|...)?
//! |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! with U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and D = [\p{Ll}\p{Lm}\p{Lo}\p{M}]
//! ```
//! Tekken has no contractions and one digit per piece. U and D overlap, so
//! `U*D+` gives characters back; see [`word`] for why one scan is enough.

use super::{blanks, cl100k::end_of_numbers, contraction};
use crate::unicode::{end_of_run, end_of_run_without, flag::*, flags, flags_at};

/// End of the piece that starts at `start`, which is before the end of the text.
#[inline]
pub(super) fn piece_end(bytes: &[u8], start: usize, digits: usize, contractions: bool) -> usize {
    let Some((first, len)) = flags_at(bytes, start) else { return start };
    let next = start + len;
    if first & NUMBER != 0 {
        return end_of_numbers(bytes, next, digits - 1);
    }
    if let Some(end) = end_of_word(bytes, start, next, first) {
        let contraction = if contractions { contraction::end_of_any_case(bytes, end) } else { None };
        return contraction.unwrap_or(end);
    }
    if first & SPACE == 0 {
        return end_of_others(bytes, next);
    }
    match flags_at(bytes, next) {
        Some((second, len)) if second & (SPACE | NUMBER) == 0 && bytes.get(start) == Some(&b' ') => {
            end_of_others(bytes, next + len)
        }
        _ => blanks::end_of_lines(bytes, start),
    }
}

/// The first two alternatives without contractions; `first` is the character at `start..next`.
#[inline]
fn end_of_word(bytes: &[u8], start: usize, next: usize, first: Flags) -> Option<usize> {
    if first & LETTER != 0 {
        return match word(bytes, start) {
            Word::Whole(end) | Word::Head(end) => Some(end),
        };
    }
    if blanks::is_newline(bytes, start) {
        return None;
    }
    match word(bytes, next) {
        Word::Whole(end) => Some(end),
        // A mark may lead a word as any character may, but is in U and D, too:
        // `U*D+` without a leader comes before `U+D*` with one, and finds the mark.
        Word::Head(_) if first & MARK != 0 => match word(bytes, start) {
            Word::Whole(end) | Word::Head(end) => Some(end),
        },
        Word::Head(end) => (end > next).then_some(end),
    }
}

/// What starts at a place.
enum Word {
    /// `U*D+` up to here.
    Whole(usize),
    /// No `U*D+`, but `U*` up to here.
    Head(usize),
}

/// Matches `U*D+`, else `U*`.
///
/// Let `U*` end at q. If a character of D follows, `D+` runs from q. If not,
/// the pattern gives back characters until `D+` can start: at the last one
/// before q that is in D, too. What lies between it and q is not in D, so `D+`
/// is that one character. It is noted on the way to q. The next piece then
/// scans to q again and takes all of it, so no text is scanned more than twice.
#[inline]
fn word(bytes: &[u8], start: usize) -> Word {
    let mut at = start;
    let mut given_back_to = None;
    while let Some((flags, len)) = flags_at(bytes, at) {
        if flags & UPPER_ISH == 0 {
            if flags & LOWER_ISH != 0 {
                return Word::Whole(end_of_run(bytes, at + len, LOWER_ISH));
            }
            break;
        }
        at += len;
        if flags & LOWER_ISH != 0 {
            given_back_to = Some(at);
        }
    }
    given_back_to.map_or(Word::Head(at), Word::Whole)
}

/// `[^\s\p{L}\p{N}]*[\r\n/]*` from `at`.
#[inline]
fn end_of_others(bytes: &[u8], at: usize) -> usize {
    let mut end = end_of_run_without(bytes, at, SPACE | LETTER | NUMBER);
    while matches!(bytes.get(end), Some(b'\r' | b'\n' | b'/')) {
        end += 1;
    }
    end
}

/// Whether a text may be cut between these two characters.
///
/// As for cl100k, with three exceptions. A mark may go on a word, so a letter
/// must be followed by neither. An apostrophe may open a contraction that
/// belongs to the word before. A slash goes on after a newline. For the rest a
/// word is a stretch of letters and marks, cut somewhere; one that ends here
/// is cut the same way when the text ends here, since neither U nor D reaches
/// past it.
pub(super) fn cut_between(before: char, after: char) -> bool {
    let (left, right) = (flags(before), flags(after));
    if left & LETTER != 0 {
        right & (LETTER | MARK) == 0 && after != '\''
    } else if left & NUMBER != 0 {
        right & NUMBER == 0
    } else if matches!(before, '\r' | '\n') {
        right & SPACE == 0 && after != '/'
    } else {
        left & SPACE == 0 && right & (SPACE | NUMBER) != 0 && !matches!(after, '\r' | '\n')
    }
}
