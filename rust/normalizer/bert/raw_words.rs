//! `RawWords`: splits a text into words before BERT's clean-up, so that each word is cleaned alone.
//!
//! Raw words are separated by characters that end a word in any context, and a character that is a
//! word in any context is a raw word. Most raw words become one word; when one may become several,
//! the normalizer and the pre-tokenizer decide.

use super::table::{ALONE, BLANK, CleaningTable};
use super::{Bert, rewrite, rewrite_word};
use crate::error::Result;
use crate::normalizer::{Aligned, Plain};
use crate::text::Piece;
use crate::text::simd::{Block, ByLead, Level, Places, Window, Words, long_by_lead};
use crate::text::unicode::point_of_long;

/// Splits a text before clean-up.
#[derive(Clone, Copy)]
pub(crate) struct RawWords {
    table: &'static CleaningTable,
}

impl RawWords {
    /// Splits for this normalizer.
    pub(crate) fn of(normalizer: Bert) -> Self {
        Self { table: normalizer.table() }
    }

    /// Writes the next raw words of a text of at most 4 GiB from offset `at`, and moves `at` after
    /// them. Returns how many; 0 only at the end.
    pub(crate) fn fill(&self, text: &str, at: &mut usize, out: &mut [Piece]) -> usize {
        Level::best().words(self, text.as_bytes(), at, out)
    }

    /// Whether letters become lower case.
    #[inline(always)]
    pub(crate) fn lowers(&self) -> bool {
        self.table.lowers()
    }

    /// Whether a raw word becomes one word in which each character keeps its length.
    #[inline]
    pub(crate) fn keeps_places(&self, raw_word: &str) -> bool {
        raw_word.chars().all(|c| self.table.keeps_places(c))
    }

    /// Writes the word that a raw word becomes over `word`. Returns `false`, with `word` undefined,
    /// if the result may be more than one word.
    #[inline]
    pub(crate) fn clean_word(&self, raw_word: &str, word: &mut String) -> bool {
        rewrite_word(self.table, raw_word, word)
    }

    /// The cleaned form of a raw word; `None` if it stays as it is.
    pub(crate) fn clean(&self, raw_word: &str) -> Result<Option<String>> {
        let mut cleaned = Plain::default();
        let changed = rewrite(self.table, raw_word, &mut cleaned);
        changed.then(|| cleaned.checked()).transpose()
    }

    /// Writes what a raw word becomes, with the alignment; returns `false` if it stays as it is.
    pub(crate) fn clean_aligned(&self, raw_word: &str, out: &mut Aligned) -> bool {
        out.clear();
        rewrite(self.table, raw_word, out)
    }
}

impl Words for RawWords {
    #[inline(always)]
    fn places<B: Block>(&self, window: &Window<'_, B>) -> Places {
        // U+00C0 to U+033F and U+0400 to U+053F: letters and marks.
        let none = |block: &B| block.range(0xC3, 0xCC) | block.range(0xD0, 0xD4);
        let by_lead = ByLead { ideographs: self.table.class_of_ideographs(), syllables: 0, none };
        let look_up = |bytes: &[u8], at| self.table.word_class(point_of_long(bytes, at));
        let ([blanks, alone], shape) = long_by_lead(window, [BLANK, ALONE], by_lead, look_up);
        let block = &window.block;
        let blanks = blanks | block.either(b' ', b'\t') | block.either(b'\n', b'\r');
        let printable = block.range(b'!', b'~');
        let alone = alone | printable & !(block.letters() | block.range(b'0', b'9'));
        Places::of_words(blanks, alone, shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PreTokenizer;
    use crate::normalizer::Normalizer;
    use crate::text::CHUNK;

    /// Reference implementation: the raw words by the class of each character.
    fn one_by_one(table: &CleaningTable, text: &str) -> Vec<Piece> {
        let class = |c: char| match c {
            ' ' | '\t' | '\n' | '\r' => BLANK,
            _ if c.is_ascii_punctuation() => ALONE,
            _ if c.is_ascii() => 0,
            _ => table.word_class(c as u32),
        };
        let mut raw_words: Vec<Piece> = Vec::new();
        let mut goes_on = false;
        for (at, c) in text.char_indices() {
            let (start, end) = (at as u32, (at + c.len_utf8()) as u32);
            match (class(c), raw_words.last_mut()) {
                (BLANK, _) => {}
                (0, Some(last)) if goes_on => last.end = end,
                _ => raw_words.push(Piece { start, end }),
            }
            goes_on = class(c) == 0;
        }
        raw_words
    }

    #[test]
    fn fill_equals_the_reference_implementation() {
        let text =
            "It's 12345 words,\tnot\u{B} more.\n \n// x/\n/y 中文，字\u{3000}é😀 don'T ABCdef \u{85}ΑΣ䷀가나…";
        let long = ["é", "б", "ก", "中"].map(|c| c.repeat(150)).join(" ");
        for lowercase in [false, true] {
            for [clean_text, handle_chinese_chars] in
                [[false, false], [false, true], [true, false], [true, true]]
            {
                let bert = Bert { clean_text, handle_chinese_chars, lowercase, ..Bert::default() };
                let raw_words = RawWords::of(bert);
                for start in text.char_indices().map(|(at, _)| at).step_by(if cfg!(miri) { 9 } else { 1 }) {
                    let text = text[start..].repeat(2) + &long;
                    for level in Level::all() {
                        let (mut found, mut at, mut chunk) = (Vec::new(), 0, [Piece::default(); CHUNK]);
                        loop {
                            let n = level.words(&raw_words, text.as_bytes(), &mut at, &mut chunk);
                            if n == 0 {
                                break;
                            }
                            found.extend_from_slice(&chunk[..n]);
                        }
                        let expected = one_by_one(raw_words.table, &text);
                        assert_eq!(found, expected, "{} {bert:?} {text:?}", level.name());
                    }
                }
            }
        }
    }

    #[test]
    fn word_classes_agree_with_clean_up_and_split() {
        for bert in [
            Bert::default(),
            Bert { clean_text: false, handle_chinese_chars: false, strip_accents: None, lowercase: false },
        ] {
            let raw_words = RawWords::of(bert);
            for c in ('\u{80}'..'\u{30000}').chain('\u{E0000}'..'\u{E0200}') {
                let text = format!("a{c}b{}", " ".repeat(64));
                let (mut at, mut chunk) = (0, [Piece::default(); CHUNK]);
                let n = raw_words.fill(&text, &mut at, &mut chunk);
                let normalized = Normalizer::Bert(bert).normalize_text(&text).unwrap();
                let n_words = PreTokenizer::Bert.split(normalized.as_deref().unwrap_or(&text)).unwrap().len();
                // `a{c}b` is one word if `c` is part of words, two if `c` is a blank, three if `c`
                // is a word.
                assert_eq!(n, n_words, "U+{:04X}", c as u32);
                assert_eq!(chunk[..n], one_by_one(raw_words.table, &text), "U+{:04X}", c as u32);
            }
        }
    }
}
