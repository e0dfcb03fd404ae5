//! The pattern of cl100k (GPT-4, Llama-3) and its relatives with other groups of digits.
//!
//! ```text
//! (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
//! | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! ```
//! The possessive spelling of tiktoken 0.14 keeps white space at the end of a text together; the
//! classic spelling cuts it after its last newline. Every character is in a piece. A text is
//! scanned a constant number of times.

use serde::{Deserialize, Serialize};

use super::{blanks, contraction};
use crate::error::{Error, Result};
use crate::text::simd::{Block, EARLY, Shape, Starts, Tiles, WINDOW, Window, bits, long};
use crate::{
    text::unicode::flag::*,
    text::unicode::{end_of_run, end_of_run_without, flags, flags_at, flags_of_long},
};

/// The maximum number of digits in a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Digits {
    /// `\p{N}`, as in Qwen.
    One = 1,
    /// `\p{N}{1,2}`, as in nanochat.
    Two = 2,
    /// `\p{N}{1,3}`, as in GPT-4 and Llama-3.
    Three = 3,
}

impl TryFrom<u8> for Digits {
    type Error = Error;

    fn try_from(digits: u8) -> Result<Self> {
        match digits {
            1 => Ok(Self::One),
            2 => Ok(Self::Two),
            3 => Ok(Self::Three),
            _ => Err(Error::Option {
                option: "digits",
                value: digits.to_string(),
                reason: "a piece holds at most 1, 2 or 3 digits".to_owned(),
            }),
        }
    }
}

impl From<Digits> for u8 {
    fn from(digits: Digits) -> Self {
        digits as Self
    }
}

/// The splitter.
pub(super) struct Cl100k {
    pub(super) digits: usize,
    pub(super) possessive: bool,
    /// The class of word characters: letters, or letters and marks. In this file, "others" are the
    /// characters that are neither word characters nor numbers nor white space.
    pub(super) letters: Flags,
}

/// The pattern of Qwen 3.5: words include marks, and each digit is a piece. It has no name, so
/// files and users give the pattern itself.
const WITH_MARKS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

impl Cl100k {
    /// The splitter of a pattern that has no name; `None` for any other pattern.
    ///
    /// A mark before a word needs no separate rule, because it is part of the word anyway.
    pub(super) fn of_pattern(pattern: &str) -> Option<Self> {
        (pattern == WITH_MARKS).then_some(Self { digits: 1, possessive: false, letters: LETTER | MARK })
    }
}

impl Tiles for Cl100k {
    /// Others start a piece where their run starts, except after U+0020. Letters start a piece
    /// where their run starts, except after a single other character or white space that itself
    /// starts a piece and thus leads the word. Contractions are then cut one by one.
    #[inline(always)]
    fn starts<B: Block>(&self, window: &Window<'_, B>) -> Starts {
        let block = &window.block;
        let ([letters, numbers, spaces], shape) = long(window, [self.letters, NUMBER, SPACE], flags_of_long);
        let letters = letters | block.letters();
        let numbers = numbers | block.range(b'0', b'9');
        let space = block.eq(b' ');
        let spaces = spaces | space | block.range(b'\t', b'\r');
        let newlines = block.either(b'\n', b'\r');
        let apostrophes = block.eq(b'\'');
        let others = !(letters | numbers | spaces);
        let blanks = blanks::places(shape, spaces, newlines, others, newlines, 0);
        let other_starts = others & !(others << 1 | space << 1);
        let led = shape.next(other_starts | blanks.last);
        let mut places = 1
            | blanks.starts
            | other_starts
            | letters & !(letters << 1 | led)
            | number_places(shape, numbers, self.digits);
        for place in bits(apostrophes & EARLY & other_starts & letters >> 1) {
            if let Some(end) = contraction::end_of_any_case(window.bytes, window.at + place) {
                places |= 1 << (end - window.at);
            }
        }
        let decided = window.decided(spaces, apostrophes);
        // From each of its characters a run of letters ends at the same byte; a run of others does
        // if it has two or more.
        let is_open = decided == WINDOW && letters >> (WINDOW - 1) != 0;
        let mut resume = shape.resume(places, is_open);
        if places == 1 && resume == 0 && decided == WINDOW {
            resume = blanks::resume_others(shape, others);
        }
        Starts { places, decided, resume }
    }

    #[inline]
    fn piece_end(&self, bytes: &[u8], start: usize) -> usize {
        piece_end(bytes, start, self.digits, self.possessive, self.letters)
    }
}

/// The positions where runs of numbers start, and every `digits` numbers after that.
#[inline(always)]
pub(super) fn number_places(shape: Shape, numbers: u64, digits: usize) -> u64 {
    let (mut places, mut next) = (0, numbers & !(numbers << 1));
    while next != 0 {
        places |= next;
        for _ in 0..digits {
            next = shape.next(next) & numbers;
        }
    }
    places
}

/// The end of the piece that starts at `start`, which must be before the end of the text.
#[inline]
pub(super) fn piece_end(
    bytes: &[u8],
    start: usize,
    digits: usize,
    possessive: bool,
    letters: Flags,
) -> usize {
    let Some((first, len)) = flags_at(bytes, start) else { return start };
    let next = start + len;
    if first & letters != 0 {
        return end_of_run(bytes, next, letters);
    }
    if first & NUMBER != 0 {
        return end_of_numbers(bytes, next, digits - 1);
    }
    if let Some(end) = contraction::end_of_any_case(bytes, start) {
        return end;
    }
    let second = flags_at(bytes, next);
    if let Some((second, len)) = second
        && second & letters != 0
        && !blanks::is_newline(bytes, start)
    {
        return end_of_run(bytes, next + len, letters);
    }
    if first & SPACE == 0 {
        return end_of_others(bytes, next, letters);
    }
    match second {
        Some((second, len)) if second & (SPACE | NUMBER) == 0 && bytes.get(start) == Some(&b' ') => {
            end_of_others(bytes, next + len, letters)
        }
        _ if possessive => blanks::end_of_lines_or_text(bytes, start),
        _ => blanks::end_of_lines(bytes, start),
    }
}

/// The end of at most `limit` numbers from `at`.
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
fn end_of_others(bytes: &[u8], at: usize, letters: Flags) -> usize {
    let mut end = end_of_run_without(bytes, at, SPACE | NUMBER | letters);
    while blanks::is_newline(bytes, end) {
        end += 1;
    }
    end
}

impl Cl100k {
    /// Whether a text may be cut between these two characters. Proof by case:
    ///
    /// - A letter, then a non-letter: a piece with a letter (a word, a contraction) contains only
    ///   letters after its first character, so it ends here.
    /// - A number, then a non-number: numbers are only joined with numbers.
    /// - Another character, then a number, or white space other than a newline: the character ends
    ///   `[^\s\p{L}\p{N}]+`; it could lead a word only if a letter followed.
    /// - A newline, then no white space: `[\r\n]*` and `\s*[\r\n]+` both end here, at the last newline
    ///   of the white space.
    ///
    /// In each case a class ends at the cut, as it does when the text ends there. The only look-ahead
    /// is at the end of white space without a newline, which is entirely on one side. `\s++$` matches
    /// the white space before the cut, which ends in a newline: the same characters as `\s*[\r\n]`.
    pub(super) fn cut_between(&self, before: char, after: char) -> bool {
        let class = |c| match flags(c) {
            flags if flags & self.letters != 0 => LETTER,
            flags => flags,
        };
        let (left, right) = (class(before), class(after));
        if left & (LETTER | NUMBER) != 0 {
            left & right & (LETTER | NUMBER) == 0
        } else if matches!(before, '\r' | '\n') {
            right & SPACE == 0
        } else {
            left & SPACE == 0 && right & (SPACE | NUMBER) != 0 && !matches!(after, '\r' | '\n')
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pattern_with_marks_is_known() {
        let letters = Cl100k::of_pattern(WITH_MARKS).map(|splitter| splitter.letters);
        assert_eq!(letters, Some(LETTER | MARK));
        assert!(Cl100k::of_pattern(r"[\p{L}\p{M}]+").is_none());
    }
}
