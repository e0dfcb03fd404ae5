//! Character classes of one fixed Unicode version.
//!
//! One byte of flags per code point, in two-stage tables written by `scripts/unicode_tables.py`.
//! General categories are those of [`UNICODE_VERSION`], as in tiktoken 0.14 and tokenizers 0.23.
//! They do not change with Rust's own tables, because a split must not depend on the compiler.
//! Normalization and case are in [`crate::normalizer`].

pub(crate) mod graphemes;
pub(crate) mod properties;
#[rustfmt::skip]
mod scripts;
#[rustfmt::skip]
mod tables;

pub use self::flag::Flags;
use crate::step_counter::step;

/// The Unicode version of the general categories.
pub const UNICODE_VERSION: &str = tables::UNICODE_VERSION;

/// Properties of characters; a character may have any number of them.
pub mod flag {
    /// A set of flags.
    pub type Flags = u8;
    /// `\p{L}`: any letter.
    pub const LETTER: Flags = 1;
    /// `\p{N}`: any number.
    pub const NUMBER: Flags = 1 << 1;
    /// `\p{M}`: any mark.
    pub const MARK: Flags = 1 << 2;
    /// `\s`: the property `White_Space`.
    pub const SPACE: Flags = 1 << 3;
    /// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`: may begin a capitalised word.
    pub const UPPER_ISH: Flags = 1 << 4;
    /// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`: may continue a capitalised word.
    pub const LOWER_ISH: Flags = 1 << 5;
    /// `\w`: the properties `Alphabetic` and `Join_Control`, marks, decimal digits, connectors.
    pub const WORD: Flags = 1 << 6;
    /// Punctuation of BERT in tokenizers 0.23: ASCII symbols and `\p{P}` of Unicode 8.
    pub const BERT_PUNCTUATION: Flags = 1 << 7;
}

/// A script, such as Latin or Han. Only equality and the named constants have a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script(u8);

impl Script {
    /// Digits, punctuation, symbols, and all code points without a script.
    pub const COMMON: Self = Self(0);
    /// Marks that take the script of their base character.
    pub const INHERITED: Self = Self(1);
    /// Chinese characters.
    pub const HAN: Self = Self(2);
    /// A syllabary of Japanese.
    pub const HIRAGANA: Self = Self(3);
    /// The other syllabary of Japanese.
    pub const KATAKANA: Self = Self(4);
}

/// The script of a character, by binary search: fast enough to build tables, not for each character
/// of a text.
pub fn script(c: char) -> Script {
    let run = scripts::RUNS.partition_point(|run| run.0 <= c as u32);
    run.checked_sub(1).map_or(Script::COMMON, |run| Script(scripts::RUNS[run].1))
}

/// The flags of a character.
#[inline]
pub fn flags(c: char) -> Flags {
    flags_of(c as u32)
}

#[inline]
fn flags_of(point: u32) -> Flags {
    const IN_BLOCK: u32 = (1 << tables::SHIFT) - 1;
    let Some(block) = tables::BLOCKS.get((point >> tables::SHIFT) as usize) else { return 0 };
    let at = (usize::from(*block) << tables::SHIFT) | (point & IN_BLOCK) as usize;
    tables::FLAGS.get(at).copied().unwrap_or(0)
}

/// The flags of each ASCII byte; 0 for bytes of longer characters.
static ASCII: [Flags; 256] = {
    let mut ascii = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        // ASCII is in the first block, whose number is 0.
        ascii[byte] = tables::FLAGS[byte];
        byte += 1;
    }
    ascii
};

/// The flags of every character from U+5000 to U+9FFF and from U+B000 to U+CFFF: most of the
/// Chinese characters and Hangul syllables in text.
pub(crate) const IDEOGRAPH: Flags = flag::LETTER | flag::UPPER_ISH | flag::LOWER_ISH | flag::WORD;

/// The flags and the length in bytes of the character at `at`; `None` at the end.
///
/// `bytes` must be those of a `str`, and `at` a character boundary. Otherwise the flags are
/// meaningless, but the length is at least 1 and stays inside `bytes`.
#[inline(always)]
pub fn flags_at(bytes: &[u8], at: usize) -> Option<(Flags, usize)> {
    step();
    let first = *bytes.get(at)?;
    if first < 0x80 { Some((ASCII[usize::from(first)], 1)) } else { Some(long_flags_at(bytes, at)) }
}

/// The flags of the character at `at`, which has two bytes or more.
///
/// As [`flags_at`], but without the shortcut for [`IDEOGRAPH`] characters.
#[inline(always)]
pub(crate) fn flags_of_long(bytes: &[u8], at: usize) -> Flags {
    let low = |byte: u8| u32::from(byte & 0x3F);
    match bytes.get(at..).unwrap_or(&[]) {
        // The first blocks of the tables are in order, so one lookup is enough.
        [a @ ..=0xDF, b, ..] => tables::FLAGS[usize::from(a & 0x1F) << 6 | usize::from(b & 0x3F)],
        [a @ ..=0xEF, b, c, ..] => flags_of(u32::from(a & 0x0F) << 12 | low(*b) << 6 | low(*c)),
        [a, b, c, d, ..] => flags_of(u32::from(a & 0x07) << 18 | low(*b) << 12 | low(*c) << 6 | low(*d)),
        _ => 0,
    }
}

/// The code point of the character at `at`, which has two bytes or more; meaningless for other
/// bytes.
#[inline(always)]
pub(crate) fn point_of_long(bytes: &[u8], at: usize) -> u32 {
    let low = |byte: u8| u32::from(byte & 0x3F);
    match bytes.get(at..).unwrap_or(&[]) {
        [a @ ..=0xDF, b, ..] => u32::from(a & 0x1F) << 6 | low(*b),
        [a @ ..=0xEF, b, c, ..] => u32::from(a & 0x0F) << 12 | low(*b) << 6 | low(*c),
        [a, b, c, d, ..] => u32::from(a & 0x07) << 18 | low(*b) << 12 | low(*c) << 6 | low(*d),
        _ => 0,
    }
}

/// [`flags_at`] for a character of two bytes or more.
#[inline]
fn long_flags_at(bytes: &[u8], at: usize) -> (Flags, usize) {
    let low = |byte: u8| u32::from(byte & 0x3F);
    match bytes.get(at..).unwrap_or(&[]) {
        // All characters with these lead bytes have the same flags, so no lookup is needed.
        [0xE5..=0xE9 | 0xEB..=0xEC, _, _, ..] => (IDEOGRAPH, 3),
        [a @ 0xE0..=0xEF, b, c, ..] => (flags_of(u32::from(a & 0x0F) << 12 | low(*b) << 6 | low(*c)), 3),
        [a @ 0x80..=0xDF, b, ..] => (flags_of(u32::from(a & 0x1F) << 6 | low(*b)), 2),
        [a @ 0xF0..=0xFF, b, c, d, ..] => {
            (flags_of(u32::from(a & 0x07) << 18 | low(*b) << 12 | low(*c) << 6 | low(*d)), 4)
        }
        _ => (0, 1),
    }
}

/// The end of the longest run from `at` of characters that have any flag of `any`.
///
/// If `any` is a constant, ASCII letters are read eight at a time without a branch for each; words
/// cost most of the time.
#[inline(always)]
pub fn end_of_run(bytes: &[u8], at: usize, any: Flags) -> usize {
    let start = if any & (flag::LETTER | flag::WORD) != 0 {
        end_of_ascii_letters(bytes, at, 0x20)
    } else if any & flag::LOWER_ISH != 0 {
        end_of_ascii_letters(bytes, at, 0)
    } else {
        at
    };
    end_while(bytes, start, |flags| flags & any != 0)
}

/// The end of the longest run from `at` of characters that have no flag of `none`.
#[inline(always)]
pub fn end_of_run_without(bytes: &[u8], at: usize, none: Flags) -> usize {
    const LETTER: Flags = flag::LETTER | flag::UPPER_ISH | flag::LOWER_ISH | flag::WORD;
    let start = if none & LETTER == 0 { end_of_ascii_letters(bytes, at, 0x20) } else { at };
    end_while(bytes, start, |flags| flags & none == 0)
}

#[inline(always)]
fn end_while(bytes: &[u8], mut at: usize, is_inside: impl Fn(Flags) -> bool) -> usize {
    while let Some((flags, len)) = flags_at(bytes, at) {
        if !is_inside(flags) {
            break;
        }
        at += len;
    }
    at
}

/// The end of the run from `at` of the letters a to z, and with `fold` 0x20 also A to Z. May stop
/// early in the last seven bytes.
#[inline(always)]
fn end_of_ascii_letters(bytes: &[u8], mut at: usize, fold: u8) -> usize {
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let every = |byte: u8| u64::from_ne_bytes([byte; 8]);
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        step();
        let eight = u64::from_le_bytes(*eight);
        // No sum carries into the next byte, because none exceeds 0xFF.
        let low = (eight | every(fold)) & !HIGH;
        let from_a = low + every(0x80 - b'a');
        let past_z = low + every(0x7F - b'z');
        let others = !(from_a & !past_z & !eight) & HIGH;
        if others != 0 {
            return at + (others.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(is_counted: impl Fn(Flags) -> bool) -> usize {
        ('\0'..=char::MAX).filter(|c| is_counted(flags(*c))).count()
    }

    #[test]
    fn sizes_of_the_classes() {
        use flag::*;
        let both = UPPER_ISH | LOWER_ISH;
        let only = |flags: Flags, bit| flags & LETTER != 0 && flags & both == bit;
        for (name, found, expected) in [
            ("L", count(|f| f & LETTER != 0), 141_028),
            ("N", count(|f| f & NUMBER != 0), 1_911),
            ("M", count(|f| f & MARK != 0), 2_501),
            ("Lu and Lt", count(|f| only(f, UPPER_ISH)), 1_858 + 31),
            ("Ll", count(|f| only(f, LOWER_ISH)), 2_258),
            ("Lm and Lo", count(|f| only(f, both)), 404 + 136_477),
            ("marks in both", count(|f| f & MARK != 0 && f & both == both), 2_501),
            ("White_Space", count(|f| f & SPACE != 0), 25),
            ("BERT punctuation", count(|f| f & BERT_PUNCTUATION != 0), 726),
        ] {
            assert_eq!(found, expected, "{name}");
        }
        assert_eq!(UNICODE_VERSION, "16.0.0");
    }

    #[test]
    fn classes_agree_with_the_pattern_engine() {
        let engine = |class: &str| regex_automata::meta::Regex::new(&format!("^{class}$")).unwrap();
        for (class, any) in [
            (r"\p{L}", flag::LETTER),
            (r"\p{N}", flag::NUMBER),
            (r"\p{M}", flag::MARK),
            (r"\s", flag::SPACE),
            (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", flag::UPPER_ISH),
            (r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", flag::LOWER_ISH),
            (r"\w", flag::WORD),
        ] {
            let engine = engine(class);
            for c in '\0'..=char::MAX {
                let mut buffer = [0; 4];
                let text: &str = c.encode_utf8(&mut buffer);
                let is_inside = engine.is_match(text);
                assert_eq!(flags(c) & any != 0, is_inside, "{class} and U+{:04X}", c as u32);
            }
        }
    }

    #[test]
    fn scripts_agree_with_the_pattern_engine() {
        let engine =
            |name: &str| regex_automata::meta::Regex::new(&format!(r"^\p{{Script={name}}}$")).unwrap();
        let mut buffer = [0; 4];
        for (name, expected) in [
            ("Inherited", Script::INHERITED),
            ("Han", Script::HAN),
            ("Hiragana", Script::HIRAGANA),
            ("Katakana", Script::KATAKANA),
            ("Latin", script('a')),
            ("Cyrillic", script('я')),
            ("Thai", script('ก')),
        ] {
            let engine = engine(name);
            for c in '\0'..=char::MAX {
                let is_inside = engine.is_match(&*c.encode_utf8(&mut buffer));
                assert_eq!(script(c) == expected, is_inside, "{name} and U+{:04X}", c as u32);
            }
        }
        let found: std::collections::BTreeSet<u8> = ('\0'..=char::MAX).map(|c| script(c).0).collect();
        assert_eq!(found.len(), usize::from(scripts::N_SCRIPTS));
        assert_eq!([script('7'), script('\u{378}'), script('\u{E000}')], [Script::COMMON; 3]);
    }

    #[test]
    fn decoding_agrees_with_the_standard_library() {
        for c in '\0'..=char::MAX {
            let text = format!("é{c}x");
            assert_eq!(flags_at(text.as_bytes(), 2), Some((flags(c), c.len_utf8())), "U+{:04X}", c as u32);
        }
        assert_eq!(flags_at(b"a", 1), None);
    }

    #[test]
    fn long_characters_have_their_flags_anywhere_in_a_text() {
        for c in '\u{80}'..=char::MAX {
            for after in ["", "x", "xyz"] {
                let text = format!("é{c}{after}");
                assert_eq!(flags_of_long(text.as_bytes(), 2), flags(c), "U+{:04X}", c as u32);
                assert_eq!(point_of_long(text.as_bytes(), 2), c as u32);
            }
        }
    }

    #[test]
    fn runs_of_letters_agree_with_single_steps() {
        let mut state = 1_u32;
        for _ in 0..20_000 {
            let text: String = (0..20)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    ["a", "z", "Z", "A", "q", "k", "`", "{", "@", "[", "é", "中"][(state >> 28) as usize % 12]
                })
                .collect();
            for any in [flag::LETTER, flag::UPPER_ISH, flag::LOWER_ISH, flag::WORD, flag::BERT_PUNCTUATION] {
                let expected: usize =
                    text.chars().take_while(|c| flags(*c) & any != 0).map(char::len_utf8).sum();
                assert_eq!(end_of_run(text.as_bytes(), 0, any), expected, "{text}, {any}");
                let expected: usize =
                    text.chars().take_while(|c| flags(*c) & any == 0).map(char::len_utf8).sum();
                assert_eq!(end_of_run_without(text.as_bytes(), 0, any), expected, "{text}, {any}");
            }
        }
    }

    #[test]
    fn invalid_bytes_stay_in_bounds() {
        for bytes in [&b"\xE4"[..], b"\xE4\xB8", b"\xF0\x9F\x98", b"\xFF", b"\xF5\xFF\xFF\xFF", b"\x80"] {
            let (_, len) = flags_at(bytes, 0).unwrap();
            assert!((1..=bytes.len()).contains(&len), "{bytes:?}");
        }
    }
}
