//! The patterns of o200k (GPT-4o, gpt-oss, Llama-4) and of Mistral's tekken.
//!
//! ```text
//! [^\r\n\p{L}\p{N}]?U*D+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?U+D*(?i:'s|...)?
//! |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! with U = [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and D = [\p{Ll}\p{Lm}\p{Lo}\p{M}]
//! ```
//! Tekken has no contractions and one digit per piece. U and D overlap, so `U*D+` backtracks;
//! [`word`] shows why one scan is enough.

use super::{
    blanks,
    cl100k::{end_of_numbers, number_places},
    contraction,
};
use crate::step_counter::step;
use crate::text::simd::{Block, EARLY, Starts, Tiles, WINDOW, Window, bits, long};
use crate::{
    text::unicode::flag::*,
    text::unicode::{end_of_run, end_of_run_without, flags, flags_at, flags_of_long},
};

/// The splitter.
pub(super) struct O200k {
    pub(super) digits: usize,
    pub(super) contractions: bool,
}

impl Tiles for O200k {
    /// As for cl100k, with words (U and D together) instead of letters.
    ///
    /// Within a word, a piece starts where a character only in U follows one only in D. Two cases
    /// are left to the scalar rule: a character only in U after one in both, where the piece
    /// depends on its beginning; and a mark that follows no word, which counts both as another
    /// character and as a word.
    #[inline(always)]
    fn starts<B: Block>(&self, window: &Window<'_, B>) -> Starts {
        let block = &window.block;
        let ([upper, lower, numbers, spaces, marks], shape) =
            long(window, [UPPER_ISH, LOWER_ISH, NUMBER, SPACE, MARK], flags_of_long);
        let upper = upper | block.range(b'A', b'Z');
        let lower = lower | block.range(b'a', b'z');
        let numbers = numbers | block.range(b'0', b'9');
        let space = block.eq(b' ');
        let spaces = spaces | space | block.range(b'\t', b'\r');
        let newlines = block.either(b'\n', b'\r');
        let words = upper | lower;
        let others = !(words | numbers | spaces);
        let blanks = blanks::places(shape, spaces, newlines, others, newlines | block.eq(b'/'), 0);
        let other_starts = others & !(others << 1 | space << 1 | blanks.taken) | others & blanks.after_taken;
        let led = shape.next(other_starts | blanks.last);
        let mut places = 1
            | blanks.starts
            | other_starts
            | words & !(words << 1 | led)
            | upper & !lower & (lower & !upper) << 1
            | number_places(shape, numbers, self.digits);
        let mut apostrophes = 0;
        if self.contractions {
            apostrophes = block.eq(b'\'');
            let mut contraction_end = 0;
            for place in bits(apostrophes & EARLY & words << 1 & words >> 1) {
                // A contraction that ends here is not a word, so no contraction can follow it.
                if place != contraction_end
                    && let Some(end) = contraction::end_of_any_case(window.bytes, window.at + place)
                {
                    contraction_end = end - window.at;
                    places = places & !((1 << contraction_end) - (1 << place)) | 1 << contraction_end;
                }
            }
        }
        let doubtful = marks & !(words << 1) | upper & !lower & (upper & lower) << 1;
        let decided = window.decided(spaces, apostrophes).min(doubtful.trailing_zeros() as usize);
        // A word ends at the same byte from its last character on if that character is only in U or
        // only in D, or if it is in both and everything before it in the piece is in U.
        let piece = u64::MAX << (WINDOW - 1 - places.leading_zeros() as usize);
        let is_capital = lower & !upper & piece == 0;
        let ends_in_one = (upper ^ lower) >> (WINDOW - 1) != 0;
        let ends_in_both = (upper & lower) >> (WINDOW - 1) != 0;
        let is_open = decided == WINDOW && (ends_in_one || ends_in_both && is_capital);
        let mut resume = shape.resume(places, is_open);
        if places == 1 && resume == 0 && decided == WINDOW {
            // A slash in the tail would look like another character there.
            resume = blanks::resume_others(shape, others & !blanks.taken);
        }
        Starts { places, decided, resume }
    }

    #[inline]
    fn piece_end(&self, bytes: &[u8], start: usize) -> usize {
        piece_end(bytes, start, self.digits, self.contractions)
    }
}

/// The end of the piece that starts at `start`, which must be before the end of the text.
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
        // A mark may lead a word like any other character, but it is also in U and D. `U*D+`
        // without a leader is tried before `U+D*` with one, and matches the mark.
        Word::Head(_) if first & MARK != 0 => match word(bytes, start) {
            Word::Whole(end) | Word::Head(end) => Some(end),
        },
        Word::Head(end) => (end > next).then_some(end),
    }
}

/// The result of [`word`].
enum Word {
    /// `U*D+` matches up to here.
    Whole(usize),
    /// `U*D+` does not match; `U*` matches up to here.
    Head(usize),
}

/// Matches `U*D+`, else `U*`.
///
/// Let `U*` end at q. If a character of D follows, `D+` runs from q. Otherwise the pattern
/// backtracks until `D+` can start: at the last character before q that is also in D. The
/// characters between it and q are not in D, so `D+` is that one character; the scan records it on
/// the way to q. The next piece scans to q again and takes all of it, so no text is scanned more
/// than twice.
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
        step();
        end += 1;
    }
    end
}

impl O200k {
    /// Whether a text may be cut between these two characters.
    ///
    /// The proof is that of cl100k with three exceptions. A mark may continue a word, so neither a
    /// letter nor a mark may follow a letter. An apostrophe may open a contraction that belongs to the
    /// word before it. A slash continues after a newline. Otherwise a word is a stretch of letters and
    /// marks that is cut somewhere inside; a stretch that ends at the cut is cut the same way when the
    /// text ends there, because neither U nor D reaches beyond it.
    pub(super) fn cut_between(&self, before: char, after: char) -> bool {
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
}
