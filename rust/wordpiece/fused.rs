//! BERT's clean-up, split and model in one walk, without a normalized text.
//!
//! A word of ASCII letters and digits is lowered in a register and looked up
//! there; ASCII punctuation and Chinese characters are words of their own.
//! Everything else is cleaned up, split and encoded in stretches, which begin
//! and end where no step sees across. Equal to the three stages one after the
//! other, which a test in `tests/rust/wordpiece.rs` holds.

use super::WordPiece;
use super::worker::{Scratch, miss};
use crate::error::Result;
use crate::normalizer::Bert;
use crate::normalizer::bert::{Table, rewrite};
use crate::piece_table::{MAX_KEY, key_of_word};
use crate::pre_tokenizer::PreTokenizer;
use crate::unicode::{flag::BERT_PUNCTUATION, flags};
use crate::vocab::TokenId;

/// How far a walk goes before whoever asked can look at what came.
const WALK_BYTES: usize = 64 << 10;

const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

const fn every(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The top bit of each byte that is in `from..=to`, both ASCII.
#[inline(always)]
const fn in_range(eight: u64, from: u8, to: u8) -> u64 {
    // In seven bits no sum carries into the next byte.
    let low = eight & !HIGH;
    (low + every(0x80 - from)) & !(low + every(0x7F - to)) & !eight & HIGH
}

/// Eight bytes with their letters in lower case, and the top bit of each byte
/// that is neither an ASCII letter nor a digit.
#[inline(always)]
const fn word_bytes(eight: u64, lower: bool) -> (u64, u64) {
    let upper = in_range(eight, b'A', b'Z');
    let folded = eight | upper >> 2;
    let inside = in_range(folded, b'a', b'z') | in_range(eight, b'0', b'9');
    (if lower { folded } else { eight }, !inside & HIGH)
}

/// The sixteen bytes at `at`, zeros after the end.
#[inline(always)]
fn sixteen(bytes: &[u8], at: usize) -> [u8; 16] {
    let mut word = [0; 16];
    match bytes.get(at..at + 16) {
        Some(sixteen) => word.copy_from_slice(sixteen),
        None => {
            let rest = bytes.get(at..).unwrap_or_default();
            word[..rest.len()].copy_from_slice(rest);
        }
    }
    word
}

/// What a byte is to the walk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Byte {
    /// A letter or a digit.
    Word,
    /// A word of its own.
    Punctuation,
    /// In no word, and ends one.
    Space,
    /// Left to the stages: it may vanish and join what is around it, or is
    /// part of a longer character.
    Other,
}

const BYTES: [Byte; 256] = {
    let mut bytes = [Byte::Other; 256];
    let mut byte = 0;
    while byte < 128 {
        let b = byte as u8;
        bytes[byte] = if b.is_ascii_alphanumeric() {
            Byte::Word
        } else if b.is_ascii_punctuation() {
            Byte::Punctuation
        } else if matches!(b, b' ' | b'\t' | b'\n' | b'\r') {
            Byte::Space
        } else {
            Byte::Other
        };
        byte += 1;
    }
    bytes
};

impl Scratch {
    /// As [`Worker::encode_words`](super::Worker::encode_words), of a model.
    pub(super) fn encode_words(
        &mut self,
        model: &WordPiece,
        normalizer: Bert,
        text: &str,
        start: usize,
        ids: &mut Vec<TokenId>,
    ) -> Result<usize> {
        let table = normalizer.table();
        if normalizer.lowercase {
            self.walk::<true>(model, table, text, start, ids)
        } else {
            self.walk::<false>(model, table, text, start, ids)
        }
    }

    /// Walks to the end of the text, or some way if that is far.
    fn walk<const LOWER: bool>(
        &mut self,
        model: &WordPiece,
        table: &Table,
        text: &str,
        start: usize,
        ids: &mut Vec<TokenId>,
    ) -> Result<usize> {
        let bytes = text.as_bytes();
        let near = start.saturating_add(WALK_BYTES).min(bytes.len());
        let mut at = start;
        while at < near {
            match BYTES[usize::from(bytes[at])] {
                Byte::Space => at += 1,
                Byte::Punctuation => {
                    ids.push(model.ascii[usize::from(bytes[at])]);
                    at += 1;
                }
                Byte::Word => {
                    let word = u128::from_le_bytes(sixteen(bytes, at));
                    let low = word_bytes(word as u64, LOWER);
                    let high = word_bytes((word >> 64) as u64, LOWER);
                    let others = u128::from(low.1) | u128::from(high.1) << 64;
                    let len = (others.trailing_zeros() / 8) as usize;
                    let after = bytes.get(at + len).map_or(Byte::Space, |&byte| BYTES[usize::from(byte)]);
                    if len <= MAX_KEY && matches!(after, Byte::Space | Byte::Punctuation) {
                        let key = key_of_word(u128::from(low.0) | u128::from(high.0) << 64, len);
                        if !self.cache.hit(key, ids) {
                            miss(model, &mut self.cache, key, ids);
                        }
                        at += len;
                    } else {
                        at = self.stretch(model, table, text, at, ids)?;
                    }
                }
                Byte::Other => {
                    let Some(c) = text[at..].chars().next() else { break };
                    if stands_alone(table, c) {
                        self.encode(model, bytes, at, at + c.len_utf8(), ids);
                        at += c.len_utf8();
                    } else {
                        at = self.stretch(model, table, text, at, ids)?;
                    }
                }
            }
        }
        Ok(at)
    }

    /// Encodes the stretch that begins at `start` by the stages; returns its end.
    #[inline(never)]
    fn stretch(
        &mut self,
        model: &WordPiece,
        table: &Table,
        text: &str,
        start: usize,
        ids: &mut Vec<TokenId>,
    ) -> Result<usize> {
        let bytes = text.as_bytes();
        let mut end = start;
        while let Some(&byte) = bytes.get(end) {
            match BYTES[usize::from(byte)] {
                Byte::Word => end += 1,
                Byte::Space | Byte::Punctuation => break,
                Byte::Other => {
                    let Some(c) = text[end..].chars().next() else { break };
                    if stands_alone(table, c) {
                        break;
                    }
                    end += c.len_utf8();
                }
            }
        }
        let source = &text[start..end];
        let mut normalized = std::mem::take(&mut self.normalized);
        normalized.clear();
        let text = if rewrite(table, source, &mut normalized) { normalized.text()? } else { source };
        let result = PreTokenizer::Bert.for_each_piece(text, |piece| {
            self.encode(model, text.as_bytes(), piece.start, piece.end, ids);
            Ok(())
        });
        self.normalized = normalized;
        result.map(|()| end)
    }
}

/// Whether a character stays as it is and is a word, whatever is around it.
#[inline]
fn stands_alone(table: &Table, c: char) -> bool {
    let entry = table.entry(c);
    entry.is_copy_padded() || entry.is_copy() && flags(c) & BERT_PUNCTUATION != 0
}
