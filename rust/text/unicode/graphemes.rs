//! Extended grapheme clusters (UAX 29), fixed at Unicode 17: those of unicode-segmentation 1.13.3,
//! with which tokenizers 0.23.3 applies the rules of a SentencePiece file.

#[rustfmt::skip]
mod table;

use self::table::RUNS;

/// The class of a character at grapheme boundaries: `Grapheme_Cluster_Break` and
/// `Indic_Conjunct_Break`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Other,
    CarriageReturn,
    LineFeed,
    Control,
    HangulL,
    HangulV,
    HangulT,
    HangulLv,
    HangulLvt,
    Extend,
    /// Extends, and may be between consonants that a linker joins.
    ConjoiningExtend,
    /// Extends, and joins consonants.
    Linker,
    Joiner,
    SpacingMark,
    Prepend,
    Consonant,
    Pictographic,
    Regional,
}

/// The syllables of Hangul. The first of each [`HANGUL_TAILS`] syllables has no final consonant.
const HANGUL: std::ops::Range<u32> = 0xAC00..0xD7A4;
const HANGUL_TAILS: u32 = 28;

/// The graphemes of a text, from left to right.
pub(crate) struct Graphemes<'a> {
    rest: &'a str,
    /// The run of characters of one class that was looked up last.
    run: std::ops::Range<u32>,
    class: Class,
}

impl<'a> Graphemes<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self { rest: text, run: 0..0, class: Class::Other }
    }

    #[inline]
    fn class(&mut self, c: char) -> Class {
        let c = u32::from(c);
        if HANGUL.contains(&c) {
            let is_open = (c - HANGUL.start).is_multiple_of(HANGUL_TAILS);
            return if is_open { Class::HangulLv } else { Class::HangulLvt };
        }
        if !self.run.contains(&c) {
            let after = RUNS.partition_point(|(first, _)| *first <= c);
            let (first, class) = RUNS[after.saturating_sub(1)];
            let end = RUNS.get(after).map_or(u32::MAX, |(next, _)| *next);
            (self.run, self.class) = (first..end, class);
        }
        self.class
    }
}

impl<'a> Iterator for Graphemes<'a> {
    type Item = &'a str;

    #[inline]
    fn next(&mut self) -> Option<&'a str> {
        let mut chars = self.rest.char_indices();
        let mut before = self.class(chars.next()?.1);
        let mut context = Context::default();
        context.push(before);
        for (at, c) in chars {
            let after = self.class(c);
            if context.breaks(before, after) {
                let (grapheme, rest) = self.rest.split_at(at);
                self.rest = rest;
                return Some(grapheme);
            }
            context.push(after);
            before = after;
        }
        Some(std::mem::take(&mut self.rest))
    }
}

/// The state of the rules from the text before, beyond the last character.
#[derive(Default)]
struct Context {
    /// Whether the text ends in an odd number of regional indicators.
    is_half_flag: bool,
    /// Whether the text ends in a pictogram and marks after it.
    has_pictogram: bool,
    /// Whether the text ends in a pictogram, marks, and a joiner.
    has_joined_pictogram: bool,
    /// Whether the text ends in a consonant and characters that may precede another one.
    has_consonant: bool,
    /// The same, including a linker.
    has_linked_consonant: bool,
}

impl Context {
    #[inline]
    fn push(&mut self, class: Class) {
        use Class::*;
        self.is_half_flag = class == Regional && !self.is_half_flag;
        self.has_joined_pictogram = class == Joiner && self.has_pictogram;
        let is_extend = matches!(class, Extend | ConjoiningExtend | Linker);
        self.has_pictogram = class == Pictographic || is_extend && self.has_pictogram;
        let is_between = matches!(class, ConjoiningExtend | Linker | Joiner);
        self.has_linked_consonant = match class {
            Linker => self.has_consonant,
            _ => is_between && self.has_linked_consonant,
        };
        self.has_consonant = class == Consonant || is_between && self.has_consonant;
    }

    /// Whether a grapheme ends between two characters.
    #[inline]
    fn breaks(&self, before: Class, after: Class) -> bool {
        use Class::*;
        match (before, after) {
            (Other, Other) => true,
            (CarriageReturn, LineFeed) => false,
            (Control | CarriageReturn | LineFeed, _) | (_, Control | CarriageReturn | LineFeed) => true,
            (HangulL, HangulL | HangulV | HangulLv | HangulLvt) => false,
            (HangulLv | HangulV, HangulV | HangulT) | (HangulLvt | HangulT, HangulT) => false,
            (_, Extend | ConjoiningExtend | Linker | Joiner | SpacingMark) | (Prepend, _) => false,
            (_, Consonant) => !self.has_linked_consonant,
            (Joiner, Pictographic) => !self.has_joined_pictogram,
            (Regional, Regional) => !self.is_half_flag,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;
    use crate::models::unigram::Random;

    fn check(text: &str) {
        assert!(
            Graphemes::of(text).eq(text.graphemes(true)),
            "{text:?} {:x?}",
            text.chars().collect::<Vec<_>>()
        );
    }

    #[test]
    fn graphemes_agree_with_unicode_segmentation() {
        assert_eq!(unicode_segmentation::UNICODE_VERSION, (17, 0, 0));
        // Each character between two characters of each class.
        let frames = [
            "a",
            "\r",
            "\u{1100}",
            "\u{1161}",
            "\u{AC00}",
            "\u{AC01}",
            "\u{301}",
            "\u{200D}",
            "\u{903}",
            "\u{600}",
            "क",
            "क\u{94D}",
            "☺\u{200D}",
            "🇩",
        ];
        for c in
            (0..=0x10_FFFF).filter_map(char::from_u32).filter(|c| !('\u{20000}'..'\u{E0000}').contains(c))
        {
            let mut text = String::new();
            for frame in frames {
                text.extend([frame, c.encode_utf8(&mut [0; 4]), frame]);
            }
            check(&text);
        }
    }

    #[test]
    fn random_joining_runs_agree() {
        let parts = [
            "a",
            "\r",
            "\n",
            "\u{1100}",
            "\u{1161}",
            "\u{11A8}",
            "\u{AC00}",
            "\u{AC01}",
            "\u{301}",
            "\u{200C}",
            "\u{200D}",
            "\u{903}",
            "\u{600}",
            "क",
            "\u{94D}",
            "\u{93C}",
            "☺",
            "🏽",
            "🇩",
            "🇪",
            "\u{E0020}",
            "ក",
            "\u{17D2}",
            "\u{1A60}",
            "語",
            " ",
        ];
        let mut random = Random::new(3);
        for _ in 0..100_000 {
            let n = (random.next_f64() * 12.0) as usize;
            check(
                &(0..n).map(|_| parts[(random.next_f64() * parts.len() as f64) as usize]).collect::<String>(),
            );
        }
    }
}
