//! The three patterns of DeepSeek-V3 and R1, in one pass.
//!
//! ```text
//! \p{N}{1,3}
//! [一-龥぀-ゟ゠-ヿ]+
//! [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+
//! | ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
//! ```
//! In the file, each pattern isolates its matches in what the previous one left. So a text falls
//! into numbers, runs of CJK, and stretches of everything else, and the last pattern runs inside
//! each stretch without looking beyond its end. What no alternative matches (mostly control
//! characters) is also a piece.
//!
//! This is a fast path without its own variant: a file contains the three patterns, and the regex
//! engine that runs them is the reference implementation. Windows handle printable ASCII and white
//! space; the scalar rule handles the rest.

use std::sync::LazyLock;

use super::cl100k::{end_of_numbers, number_places};
use super::{PreTokenizer, blanks};
use crate::text::simd::{Block, Shape, Starts, Tiles, WINDOW, Window};
use crate::text::unicode::flag::*;
use crate::text::unicode::{flags, flags_at, point_of_long, properties};

const NUMBERS: &str = r"\p{N}{1,3}";
const CJK: &str = "[一-龥぀-ゟ゠-ヿ]+";
/// The last pattern as the published file spells it, with a literal carriage return and line feed,
/// and with escapes.
const WORDS: [&str; 2] = [
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
    r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##,
];
/// The maximum number of digits in a piece.
const DIGITS: usize = 3;

/// The splitter.
pub(super) struct DeepSeek;

impl DeepSeek {
    /// Whether a sequence of splitters is this one.
    pub(super) fn is(steps: &[PreTokenizer]) -> bool {
        let is = |step: &PreTokenizer, known: &str| matches!(step, PreTokenizer::Regex(pattern) if pattern.pattern() == known);
        matches!(steps, [numbers, cjk, words]
            if WORDS.iter().any(|known| is(words, known)) && is(cjk, CJK) && is(numbers, NUMBERS))
    }

    /// Whether a text may be cut between these two characters.
    ///
    /// Numbers and CJK are isolated first. In the rest, a match that holds a letter or a mark continues only with
    /// such, and no other one holds any.
    pub(super) fn cut_between(&self, before: char, after: char) -> bool {
        let (left, right) = (flags(before), flags(after));
        let is_cjk = |c| matches!(c, '一'..='龥' | '\u{3040}'..='ゟ' | '゠'..='ヿ');
        if (left | right) & NUMBER != 0 {
            return left & NUMBER != right & NUMBER;
        }
        if is_cjk(before) || is_cjk(after) {
            return is_cjk(before) != is_cjk(after);
        }
        left & (LETTER | MARK) != 0 && right & (LETTER | MARK) == 0
    }
}

impl Tiles for DeepSeek {
    /// As for cl100k, except that white space before a number stays together, and that the window
    /// is undecided from the first byte that is neither printable ASCII nor white space.
    #[inline(always)]
    fn starts<B: Block>(&self, window: &Window<'_, B>) -> Starts {
        let block = &window.block;
        let letters = block.letters();
        let numbers = block.range(b'0', b'9');
        let space = block.eq(b' ');
        let spaces = space | block.range(b'\t', b'\r');
        let newlines = block.either(b'\n', b'\r');
        let symbols = block.range(b'!', b'~') & !(letters | numbers);
        let known = (letters | numbers | spaces | symbols).trailing_ones() as usize;
        let symbol_starts = symbols & !(symbols << 1 | space << 1);
        let blanks = blanks::places(Shape::ASCII, spaces, newlines, symbols, newlines, numbers);
        let led = (symbol_starts | blanks.last) << 1;
        let places = 1
            | blanks.starts
            | symbol_starts
            | letters & !(letters << 1 | led)
            | number_places(Shape::ASCII, numbers, DIGITS);
        let known = known.min(window.len);
        let trailing = (spaces << (WINDOW - known).min(WINDOW - 1)).leading_ones() as usize;
        let decided = if trailing == 0 || known == 0 { known } else { known - trailing + 1 };
        Starts { places, decided, resume: 0 }
    }

    #[inline]
    fn piece_end(&self, bytes: &[u8], start: usize) -> usize {
        piece_end(bytes, start)
    }
}

/// A character of a stretch.
#[derive(Clone, Copy)]
struct Member {
    flags: Flags,
    /// The offset after the character.
    end: usize,
}

impl Member {
    fn is_word(self) -> bool {
        self.flags & (LETTER | MARK) != 0
    }
}

/// A stretch between two numbers that is either all CJK or contains none.
#[derive(Clone, Copy)]
struct Stretch<'a> {
    bytes: &'a [u8],
    is_cjk: bool,
}

impl Stretch<'_> {
    /// The character at `at`; `None` at the end of the stretch.
    #[inline]
    fn at(self, at: usize) -> Option<Member> {
        let (flags, len) = flags_at(self.bytes, at)?;
        let is_in = flags & NUMBER == 0 && is_cjk(self.bytes, at) == self.is_cjk;
        is_in.then_some(Member { flags, end: at + len })
    }

    /// The end of the run from `at` of characters for which `is_in` holds.
    #[inline]
    fn end_of(self, mut at: usize, is_in: impl Fn(usize, Member) -> bool) -> usize {
        while let Some(member) = self.at(at).filter(|member| is_in(at, *member)) {
            at = member.end;
        }
        at
    }

    /// `[\p{L}\p{M}]*`
    #[inline]
    fn end_of_word(self, at: usize) -> usize {
        self.end_of(at, |_, member| member.is_word())
    }

    /// `[\p{P}\p{S}]*[\r\n]*`
    #[inline]
    fn end_of_symbols(self, at: usize) -> usize {
        let mut end = self.end_of(at, |at, member| is_symbol(self.bytes, at, member.flags));
        while !self.is_cjk && blanks::is_newline(self.bytes, end) {
            end += 1;
        }
        end
    }

    /// The end of a run of characters that no alternative matches, of which `first` is the end of
    /// the first one. The last one leads a word if a word follows.
    #[inline]
    fn end_of_others(self, first: usize) -> usize {
        let (mut last, mut end) = (first, first);
        while let Some(member) = self.at(end) {
            if member.is_word() {
                return last;
            }
            if member.flags & SPACE != 0 || is_symbol(self.bytes, end, member.flags) {
                break;
            }
            (last, end) = (end, member.end);
        }
        end
    }
}

/// The end of the piece that starts at `start`, which must be before the end of the text.
#[inline]
fn piece_end(bytes: &[u8], start: usize) -> usize {
    let Some((flags, len)) = flags_at(bytes, start) else { return start };
    let next = start + len;
    if flags & NUMBER != 0 {
        return end_of_numbers(bytes, next, DIGITS - 1);
    }
    let stretch = Stretch { bytes, is_cjk: is_cjk(bytes, start) };
    if flags & (LETTER | MARK) != 0 {
        return stretch.end_of_word(next);
    }
    let is_symbol_here = is_symbol(bytes, start, flags);
    let second = stretch.at(next);
    if is_symbol_here {
        let is_letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
        let is_led = bytes.get(start).is_some_and(u8::is_ascii) && is_letter(next);
        return if is_led {
            (next..).find(|at| !is_letter(*at)).unwrap_or(next)
        } else {
            stretch.end_of_symbols(next)
        };
    }
    if let Some(second) = second
        && second.is_word()
        && !blanks::is_newline(bytes, start)
    {
        return stretch.end_of_word(second.end);
    }
    if flags & SPACE == 0 {
        return stretch.end_of_others(next);
    }
    match second {
        Some(second) if bytes.get(start) == Some(&b' ') && is_symbol(bytes, next, second.flags) => {
            stretch.end_of_symbols(second.end)
        }
        _ => blanks::end_of_lines_before(bytes, start, |end| stretch.at(end).is_none()),
    }
}

/// Whether the character at `at` is one of `[一-龥぀-ゟ゠-ヿ]`. All have three bytes, whose order is that
/// of the characters.
#[inline]
fn is_cjk(bytes: &[u8], at: usize) -> bool {
    let Some(&character) = bytes.get(at..).and_then(<[u8]>::first_chunk::<3>) else { return false };
    matches!(character, [0xE3..=0xE9, ..])
        && (([0xE4, 0xB8, 0x80]..=[0xE9, 0xBE, 0xA5]).contains(&character)
            || ([0xE3, 0x81, 0x80]..=[0xE3, 0x83, 0xBF]).contains(&character))
}

/// Whether the character at `at`, with these flags, is in `[\p{P}\p{S}]`.
#[inline]
fn is_symbol(bytes: &[u8], at: usize, flags: Flags) -> bool {
    match bytes.get(at) {
        Some(byte) if byte.is_ascii() => byte.is_ascii_punctuation(),
        Some(_) => flags & (LETTER | MARK | NUMBER | SPACE) == 0 && is_long_symbol(point_of_long(bytes, at)),
        None => false,
    }
}

/// The same for a character that is not ASCII.
fn is_long_symbol(point: u32) -> bool {
    static RANGES: LazyLock<Vec<(u32, u32)>> = LazyLock::new(|| {
        let mut ranges = [properties::ranges("gc", "p"), properties::ranges("gc", "s")].concat();
        ranges.sort_unstable();
        ranges
    });
    let n_before = RANGES.partition_point(|(first, _)| *first <= point);
    n_before.checked_sub(1).and_then(|at| RANGES.get(at)).is_some_and(|(_, last)| point <= *last)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{SplitPattern, tiles};
    use super::*;

    /// The steps as a file defines them.
    fn steps(words: &str) -> Vec<PreTokenizer> {
        [NUMBERS, CJK, words]
            .map(|pattern| PreTokenizer::Regex(SplitPattern::new(pattern, true).unwrap()))
            .into()
    }

    #[test]
    fn only_these_steps_are_recognised() {
        for words in WORDS {
            let mut steps = steps(words);
            assert!(DeepSeek::is(&steps));
            steps.swap(0, 1);
            assert!(!DeepSeek::is(&steps) && !DeepSeek::is(&steps[1..]));
        }
    }

    proptest! {
        /// Windows decide nearly all of ASCII, so this tests the scalar rule alone.
        #[test]
        fn scalar_rule_equals_the_patterns(
            text in "([a-z]{1,3}| {1,3}|[\\n\\t]{1,2}|[0-9]{1,7}|[!-/]{1,3}|[カ中・゛\u{3097}]{1,3}|[é\u{301}。€\u{1}\u{200D}٣]{1,2}){0,14}",
        ) {
            let mut expected = Vec::new();
            let sequence = PreTokenizer::sequence(steps(WORDS[0])).unwrap();
            sequence.for_each_piece_by(None, &text, |piece| { expected.push(piece); Ok(()) }).unwrap();
            let mut found = Vec::new();
            let done: Result<(), ()> = tiles(&text, piece_end, |piece| { found.push(piece); Ok(()) });
            prop_assert_eq!((done, found), (Ok(()), expected), "{:?}", text);
        }
    }
}
