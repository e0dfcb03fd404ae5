//! Splitting at white space: `\w+|[^\w\s]+`, and `\S+`.
//!
//! White space is in no piece. Names and results are those of `Whitespace` and `WhitespaceSplit` in
//! Hugging Face.

use crate::text::simd::{Block, Places, Window, Words, long};
use crate::{
    text::unicode::flag::*,
    text::unicode::{end_of_run, end_of_run_without, flags, flags_at, flags_of_long},
};

/// The splitter of `\w+|[^\w\s]+`.
pub(super) struct Whitespace;

impl Words for Whitespace {
    #[inline(always)]
    fn places<B: Block>(&self, window: &Window<'_, B>) -> Places {
        let block = &window.block;
        let ([spaces, words], shape) = long(window, [SPACE, WORD], flags_of_long);
        let spaces = spaces | block.eq(b' ') | block.range(b'\t', b'\r');
        let words = words | block.letters() | block.range(b'0', b'9') | block.eq(b'_');
        let change = words ^ words << 1;
        Places {
            starts: !spaces & (change | spaces << 1 | 1),
            ends: !(spaces << 1 | 1) & (change | spaces),
            shape,
        }
    }
}

/// The splitter of `\S+`.
pub(super) struct WhitespaceSplit;

impl Words for WhitespaceSplit {
    #[inline(always)]
    fn places<B: Block>(&self, window: &Window<'_, B>) -> Places {
        let ([spaces], shape) = long(window, [SPACE], flags_of_long);
        let spaces = spaces | window.block.eq(b' ') | window.block.range(b'\t', b'\r');
        Places { starts: !spaces & (spaces << 1 | 1), ends: spaces & !(spaces << 1 | 1), shape }
    }
}

impl Whitespace {
    /// The end of `\w+|[^\w\s]+` from `start`, which must not be white space.
    #[inline]
    pub(super) fn piece_end(&self, bytes: &[u8], start: usize) -> usize {
        match flags_at(bytes, start) {
            Some((first, len)) if first & WORD != 0 => end_of_run(bytes, start + len, WORD),
            Some((_, len)) => end_of_run_without(bytes, start + len, WORD | SPACE),
            None => start,
        }
    }

    /// Whether a text may be cut between these two characters.
    ///
    /// Both alternatives are runs of one class without look-ahead, so a run ends where the class
    /// changes, as it does at the end of a text.
    pub(super) fn cut_between(&self, before: char, after: char) -> bool {
        const CLASSES: Flags = WORD | SPACE;
        flags(before) & CLASSES != flags(after) & CLASSES
    }
}

impl WhitespaceSplit {
    /// The end of `\S+` from `start`, which must not be white space.
    #[inline]
    pub(super) fn piece_end(&self, bytes: &[u8], start: usize) -> usize {
        end_of_run_without(bytes, start, SPACE)
    }

    /// Whether a text may be cut between these two characters: where white space begins or ends.
    pub(super) fn cut_between(&self, before: char, after: char) -> bool {
        flags(before) & SPACE != flags(after) & SPACE
    }
}
