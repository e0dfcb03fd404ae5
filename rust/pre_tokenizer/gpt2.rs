//! The pattern of GPT-2, also called r50k and p50k.
//!
//! ```text
//! 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//! ```
//! The possessive spelling of tiktoken 0.14 gives the same pieces. Every character is in a piece,
//! and the end of a piece depends only on its start and what follows.

use super::{blanks, contraction};
use crate::text::simd::{Block, EARLY, Starts, Tiles, WINDOW, Window, bits, long};
use crate::{
    text::unicode::flag::*,
    text::unicode::{end_of_run, end_of_run_without, flags, flags_at, flags_of_long},
};

/// The splitter.
pub(super) struct Gpt2;

impl Tiles for Gpt2 {
    /// A piece starts where the class changes, except after a U+0020, and at the last character of
    /// white space. Contractions are then cut one by one.
    #[inline(always)]
    fn starts<B: Block>(&self, window: &Window<'_, B>) -> Starts {
        let block = &window.block;
        let ([letters, numbers, spaces], shape) = long(window, [LETTER, NUMBER, SPACE], flags_of_long);
        let letters = letters | block.letters();
        let numbers = numbers | block.range(b'0', b'9');
        let space = block.eq(b' ');
        let spaces = spaces | space | block.range(b'\t', b'\r');
        let apostrophes = block.eq(b'\'');
        let change = (letters ^ letters << 1) | (numbers ^ numbers << 1) | (spaces ^ spaces << 1);
        let mut places = 1 | change & !(space << 1) | shape.back(spaces & !(spaces >> 1));
        for place in bits(apostrophes & EARLY & places & letters >> 1) {
            if let Some(end) = contraction::end_of_lowercase(window.bytes, window.at + place) {
                places = places & !(2 << place) | 1 << (end - window.at);
            }
        }
        let decided = window.decided(spaces, apostrophes);
        // A run of one class ends at the same byte from each of its characters, except from an
        // apostrophe.
        let is_open = decided == WINDOW && spaces >> (WINDOW - 1) == 0;
        let resume = shape.resume(places, is_open);
        Starts { places, decided, resume }
    }

    #[inline]
    fn piece_end(&self, bytes: &[u8], start: usize) -> usize {
        piece_end(bytes, start)
    }
}

/// The end of the piece that starts at `start`, which must be before the end of the text.
#[inline]
pub(super) fn piece_end(bytes: &[u8], start: usize) -> usize {
    let Some((first, len)) = flags_at(bytes, start) else { return start };
    let next = start + len;
    if first & SPACE == 0 {
        return contraction::end_of_lowercase(bytes, start)
            .unwrap_or_else(|| end_of_same_class(bytes, next, first));
    }
    match flags_at(bytes, next) {
        Some((second, len)) if second & SPACE == 0 && bytes.get(start) == Some(&b' ') => {
            end_of_same_class(bytes, next + len, second)
        }
        _ => blanks::end_of_blanks(bytes, start),
    }
}

/// The end of the run of letters, numbers or others that `member` belongs to.
#[inline]
fn end_of_same_class(bytes: &[u8], at: usize, member: Flags) -> usize {
    if member & LETTER != 0 {
        end_of_run(bytes, at, LETTER)
    } else if member & NUMBER != 0 {
        end_of_run(bytes, at, NUMBER)
    } else {
        end_of_run_without(bytes, at, SPACE | LETTER | NUMBER)
    }
}

impl Gpt2 {
    /// Whether a text may be cut between these two characters.
    ///
    /// Proof: let `before` not be white space, and let `after` be of a different class (letters,
    /// numbers, white space, others). Apart from one leading U+0020 and from contractions, a piece
    /// contains one class, so the piece with `before` ends here. A contraction crosses a change of
    /// class only after its apostrophe, which is excluded unless white space follows. Nothing before
    /// the cut looks beyond it, because only white space has look-ahead. A run that ends at the cut
    /// also ends there when the text does.
    pub(super) fn cut_between(&self, before: char, after: char) -> bool {
        const CLASSES: Flags = SPACE | LETTER | NUMBER;
        let (left, right) = (flags(before) & CLASSES, flags(after) & CLASSES);
        left & SPACE == 0 && left != right && (before != '\'' || right & SPACE != 0)
    }
}
