//! Ids of raw words: words as they are in a text, before BERT's clean-up.
//!
//! A cache keeps what a raw word becomes under its own bytes, ASCII letters in lower case, so only words
//! that it does not know are cleaned up, by the [`Cleaner`] that the caller brings: at once where one word
//! becomes one word, else by the stages. Equal to the stages one after the other, which
//! `tests/rust/wordpiece.rs` checks.

use super::worker::Scratch;
use super::{WordPiece, ideograph};
use crate::cache::long_pieces::LongPieces;
use crate::cache::piece_table::{Key, MAX_KEY, NO_KEY, key};
use crate::cache::pretoken_cache::{Misses, PretokenCache};
use crate::error::{Error, Result};
use crate::text::Piece;
use crate::vocab::TokenId;

/// Marks the key of a raw word that is not cleaned up.
const AS_IT_STANDS: Key = 1 << 127;

/// The words that raw words become, in any context. ASCII letters and digits become themselves, or lower
/// case; a character from U+4000 to U+9FFF becomes itself.
pub(crate) trait Cleaner {
    /// Whether letters become lower case.
    fn lowers(&self) -> bool;

    /// Writes the word that a raw word becomes instead of `word`; `false`, and `word` means nothing,
    /// where that may be more than one word.
    fn clean_word(&self, raw_word: &str, word: &mut String) -> bool;

    /// Calls `f` with each word that a raw word becomes.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is none to clean it up.
    fn for_each_word(&self, raw_word: &str, f: impl FnMut(&[u8])) -> Result<()>;
}

/// Whether a raw word is a character from U+4000 to U+9FFF, which becomes one id.
#[inline]
pub(crate) fn is_ideograph(raw_word: &[u8]) -> bool {
    ideograph(raw_word).is_some()
}

/// Encodes the raw words that the cache does not know.
struct Unknown<'a, C, const LOWER: bool> {
    stages: Stages<'a, C>,
    long: &'a mut LongPieces,
}

/// Cleans raw words up and encodes them.
struct Stages<'a, C> {
    model: &'a WordPiece,
    cleaner: &'a C,
    word: &'a mut String,
    failed: Option<Error>,
}

impl Scratch {
    /// Appends the ids of raw words that follow each other in a text.
    pub(super) fn encode_raw_words(
        &mut self,
        model: &WordPiece,
        cleaner: &impl Cleaner,
        text: &[u8],
        raw_words: &[Piece],
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        if cleaner.lowers() {
            self.look_up::<_, true>(model, cleaner, text, raw_words, ids)
        } else {
            self.look_up::<_, false>(model, cleaner, text, raw_words, ids)
        }
    }

    fn look_up<C: Cleaner, const LOWER: bool>(
        &mut self,
        model: &WordPiece,
        cleaner: &C,
        text: &[u8],
        raw_words: &[Piece],
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        let (Some(first), Some(last)) = (raw_words.first(), raw_words.last()) else { return Ok(()) };
        let Self { cache, word, long } = self;
        let stages = Stages { model, cleaner, word, failed: None };
        let mut unknown = Unknown::<_, LOWER> { stages, long };
        if text[first.start as usize..last.end as usize].is_ascii() {
            cache.encode(text, raw_words, ids, &mut unknown);
        } else {
            let known = |part: Piece| {
                let id = ideograph(&text[part.range()]).map(|at| model.ideographs[at]);
                id.map(|id| [id, 0, 0, 1])
            };
            let key_of = |part: Piece| match part.range().len() {
                len @ ..=MAX_KEY => key_of::<LOWER>(text, part.start as usize, len),
                _ => NO_KEY,
            };
            cache.encode_parts(text, raw_words.iter().copied(), known, key_of, ids, &mut unknown);
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

impl<C: Cleaner, const LOWER: bool> Misses for Unknown<'_, C, LOWER> {
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

impl<C: Cleaner> Stages<'_, C> {
    /// Appends the ids of a raw word.
    fn encode(&mut self, raw_word: &[u8], ids: &mut Vec<TokenId>) {
        let Self { model, cleaner, word, .. } = self;
        let encoded = match std::str::from_utf8(raw_word) {
            Ok(raw_word) if cleaner.clean_word(raw_word, word) => {
                model.push_ids(word.as_bytes(), ids);
                Ok(())
            }
            Ok(raw_word) => cleaner.for_each_word(raw_word, |word| {
                model.push_ids(word, ids);
            }),
            // Raw words begin and end between characters.
            Err(error) => Err(Error::Internal(format!("a raw word is not UTF-8: {error}"))),
        };
        if let Err(error) = encoded {
            self.failed.get_or_insert(error);
        }
    }
}
