//! BERT's clean-up, split and model in one walk, without a normalized text.
//!
//! The text is split as it stands into raw words ([`RawWords`]): where a character is
//! in no word, or a word of its own, whatever is around it. What a raw word becomes is
//! kept under its own bytes, ASCII letters in lower case, so that only one that is not
//! known is cleaned up: at once, where each character becomes a part of one word, and
//! otherwise by the stages. Equal to the three stages one after the other, which a
//! test in `tests/rust/wordpiece.rs` holds.

use super::worker::Scratch;
use super::{WordPiece, ideograph};
use crate::cache::long_pieces::LongPieces;
use crate::cache::piece_table::{Key, MAX_KEY, NO_KEY, key};
use crate::cache::pretoken_cache::{Misses, PretokenCache};
use crate::error::{Error, Result};
use crate::normalizer::bert::{ALONE, BLANK, CleaningTable, rewrite, rewrite_word};
use crate::normalizer::{Aligned, Bert, Plain};
use crate::pre_tokenizer::PreTokenizer;
use crate::text::Piece;
use crate::text::simd::{Block, ByLead, Level, Places, Window, Words, long_by_lead};
use crate::text::unicode::point_of_long;
use crate::vocab::TokenId;

/// Marks the key of a raw word that is not cleaned up.
const AS_IT_STANDS: Key = 1 << 127;

/// Splits a text that is not cleaned up yet.
pub(crate) struct RawWords {
    table: &'static CleaningTable,
}

impl RawWords {
    /// Those of the text that this normalizer cleans up.
    pub(crate) fn of(normalizer: Bert) -> Self {
        Self { table: normalizer.table() }
    }

    /// Writes the next raw words of a text of at most 4 GiB, from `at` on, and moves
    /// `at` behind them; returns how many, none only at the end.
    pub(crate) fn fill(&self, text: &str, at: &mut usize, out: &mut [Piece]) -> usize {
        Level::best().words(self, text.as_bytes(), at, out)
    }

    /// Whether a raw word is a character from U+4000 to U+9FFF, which stays as it is and
    /// becomes one id.
    #[inline]
    pub(crate) fn is_ideograph(&self, raw_word: &[u8]) -> bool {
        ideograph(raw_word).is_some()
    }

    /// Whether a raw word becomes one word, each character of it one as long.
    #[inline]
    pub(crate) fn keeps_places(&self, raw_word: &str) -> bool {
        raw_word.chars().all(|c| self.table.keeps_places(c))
    }

    /// Writes what a raw word becomes, with the alignment; `false` if it stays as it is.
    pub(crate) fn rewrite(&self, raw_word: &str, out: &mut Aligned) -> bool {
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

/// What is asked for raw words that the cache does not know.
struct Unknown<'a, const LOWER: bool> {
    stages: Stages<'a>,
    long: &'a mut LongPieces,
}

/// What cleans raw words up and encodes them.
struct Stages<'a> {
    model: &'a WordPiece,
    table: &'static CleaningTable,
    word: &'a mut String,
    normalized: &'a mut Plain,
    failed: Option<Error>,
}

impl Scratch {
    /// Appends the ids of raw words that follow each other in a text.
    pub(super) fn encode_raw_words(
        &mut self,
        model: &WordPiece,
        RawWords { table }: &RawWords,
        text: &[u8],
        raw_words: &[Piece],
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        if table.lowers() {
            self.look_up::<true>(model, table, text, raw_words, ids)
        } else {
            self.look_up::<false>(model, table, text, raw_words, ids)
        }
    }

    fn look_up<const LOWER: bool>(
        &mut self,
        model: &WordPiece,
        table: &'static CleaningTable,
        text: &[u8],
        raw_words: &[Piece],
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        let (Some(first), Some(last)) = (raw_words.first(), raw_words.last()) else { return Ok(()) };
        let Self { cache, normalized, word, long } = self;
        let stages = Stages { model, table, word, normalized, failed: None };
        let mut unknown = Unknown::<LOWER> { stages, long };
        if text[first.start as usize..last.end as usize].is_ascii() {
            cache.encode(text, raw_words, ids, &mut unknown);
        } else {
            let parts = raw_words.iter().map(|&part| {
                let id = ideograph(&text[part.range()]).map(|at| model.ideographs[at]);
                (part, id.map(|id| [id, 0, 0, 1]))
            });
            let key_of = |part: Piece| match part.range().len() {
                len @ ..=MAX_KEY => key_of::<LOWER>(text, part.start as usize, len),
                _ => NO_KEY,
            };
            cache.encode_parts(text, parts, key_of, ids, &mut unknown);
        }
        unknown.stages.failed.map_or(Ok(()), Err)?;
        cache.check()
    }
}

/// The key of a raw word of up to [`MAX_KEY`] bytes.
#[inline(always)]
fn key_of<const LOWER: bool>(text: &[u8], start: usize, len: usize) -> Key {
    let key = key(text, start, len);
    // The top byte, a length, is not a letter.
    let [low, high] = [key as u64, (key >> 64) as u64].map(|half| if LOWER { lower(half) } else { half });
    Key::from(low) | Key::from(high) << 64 | AS_IT_STANDS
}

/// Eight bytes with the letters of ASCII in lower case.
#[inline(always)]
const fn lower(eight: u64) -> u64 {
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    const FROM_A: u64 = u64::from_ne_bytes([0x80 - b'A'; 8]);
    const PAST_Z: u64 = u64::from_ne_bytes([0x7F - b'Z'; 8]);
    // In seven bits no sum carries into the next byte.
    let low = eight & !HIGH;
    let upper = (low + FROM_A) & !(low + PAST_Z) & !eight & HIGH;
    eight | upper >> 2
}

impl<const LOWER: bool> Misses for Unknown<'_, LOWER> {
    #[inline(always)]
    fn key(&self, text: &[u8], start: usize, len: usize) -> Key {
        key_of::<LOWER>(text, start, len)
    }

    #[inline(never)]
    fn short(&mut self, key: Key, ids: &mut Vec<TokenId>) {
        let bytes = (key & !AS_IT_STANDS).to_le_bytes();
        let raw_word = &bytes[..usize::from(bytes[15])];
        if raw_word.iter().all(u8::is_ascii_alphanumeric) {
            // All there is to do to them is done with the key.
            self.stages.model.push_ids(raw_word, ids);
        } else {
            self.stages.encode(raw_word, ids);
        }
    }

    fn long(&mut self, _: &mut PretokenCache, text: &[u8], raw_word: Piece, ids: &mut Vec<TokenId>) {
        self.keyless(text, raw_word, ids);
    }

    fn keyless(&mut self, text: &[u8], raw_word: Piece, ids: &mut Vec<TokenId>) {
        let raw_word = &text[raw_word.range()];
        self.long.encode(raw_word, false, ids, |ids| self.stages.encode(raw_word, ids));
    }
}

impl Stages<'_> {
    /// Appends the ids of a raw word.
    fn encode(&mut self, raw_word: &[u8], ids: &mut Vec<TokenId>) {
        let encoded = match std::str::from_utf8(raw_word) {
            Ok(raw_word) if rewrite_word(self.table, raw_word, self.word) => {
                self.model.push_ids(self.word.as_bytes(), ids);
                Ok(())
            }
            Ok(raw_word) => self.encode_one_by_one(raw_word, ids),
            // Raw words begin and end between characters.
            Err(error) => Err(Error::Internal(format!("a raw word that is no text: {error}"))),
        };
        if let Err(error) = encoded {
            self.failed.get_or_insert(error);
        }
    }

    /// Appends the ids of a raw word by the stages one after the other.
    fn encode_one_by_one(&mut self, raw_word: &str, ids: &mut Vec<TokenId>) -> Result<()> {
        let Self { model, table, normalized, .. } = self;
        normalized.clear();
        let text = if rewrite(table, raw_word, *normalized) { normalized.text()? } else { raw_word };
        PreTokenizer::Bert.for_each_piece(text, |piece| {
            model.push_ids(text[piece].as_bytes(), ids);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalizer::Normalizer;
    use crate::text::CHUNK;

    /// The raw words of a text by what each character is alone.
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
    fn raw_words_are_told_by_each_character() {
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
    fn classes_are_what_the_stages_do() {
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
                // One word continues, of two each ends beside a blank, the second of three stands alone.
                assert_eq!(n, n_words, "U+{:04X}", c as u32);
                assert_eq!(chunk[..n], one_by_one(raw_words.table, &text), "U+{:04X}", c as u32);
            }
        }
    }
}
