//! Words and single punctuation characters, as BERT splits.
//!
//! White space is in no piece. Punctuation follows tokenizers 0.23 (a table of Unicode 8), not
//! Google's Python code.

use crate::text::simd::{Block, Places, Window, Words, long};
use crate::{
    text::unicode::flag::*,
    text::unicode::{Flags, end_of_run_without, flags, flags_at, flags_of_long},
};

/// The splitter.
pub(super) struct Bert;

impl Words for Bert {
    #[inline(always)]
    fn places<B: Block>(&self, window: &Window<'_, B>) -> Places {
        places(window, flags_of_long)
    }
}

/// Pieces start at the start of words and at each punctuation character.
#[inline(always)]
pub(super) fn places<B: Block>(window: &Window<'_, B>, look_up: impl Fn(&[u8], usize) -> Flags) -> Places {
    let block = &window.block;
    let ([spaces, punctuation], shape) = long(window, [SPACE, BERT_PUNCTUATION], look_up);
    let spaces = spaces | block.eq(b' ') | block.range(b'\t', b'\r');
    let printable = block.range(b'!', b'~');
    let punctuation = punctuation | printable & !(block.letters() | block.range(b'0', b'9'));
    Places::of_words(spaces, punctuation, shape)
}

impl Bert {
    /// The end of the piece that starts at `start`, which must not be white space.
    #[inline]
    pub(super) fn piece_end(&self, bytes: &[u8], start: usize) -> usize {
        match flags_at(bytes, start) {
            Some((first, len)) if first & BERT_PUNCTUATION != 0 => start + len,
            _ => end_of_run_without(bytes, start, SPACE | BERT_PUNCTUATION),
        }
    }

    /// Whether a text may be cut between these two characters.
    ///
    /// Characters stay together only if neither is white space or punctuation, which depends on each
    /// character alone.
    pub(super) fn cut_between(&self, before: char, after: char) -> bool {
        (flags(before) | flags(after)) & (SPACE | BERT_PUNCTUATION) != 0
    }
}
