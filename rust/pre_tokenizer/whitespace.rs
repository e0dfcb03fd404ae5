//! Splitting at white space: `\w+|[^\w\s]+`, and `\S+`.
//!
//! White space is in no piece. Names and results are those of tokenizers'
//! `Whitespace` and `WhitespaceSplit`.

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

/// End of `\w+|[^\w\s]+` from `start`, which is not white space.
#[inline]
pub(super) fn piece_end(bytes: &[u8], start: usize) -> usize {
    match flags_at(bytes, start) {
        Some((first, len)) if first & WORD != 0 => end_of_run(bytes, start + len, WORD),
        Some((_, len)) => end_of_run_without(bytes, start + len, WORD | SPACE),
        None => start,
    }
}

/// End of `\S+` from `start`, which is not white space.
#[inline]
pub(super) fn blank_free_end(bytes: &[u8], start: usize) -> usize {
    end_of_run_without(bytes, start, SPACE)
}

/// Whether a text of [`piece_end`] may be cut between these two characters.
///
/// Both alternatives are runs of one class, without look-ahead: a change of
/// class is the end of a run, and the end of a text is one, too.
pub(super) fn cut_between(before: char, after: char) -> bool {
    const CLASSES: Flags = WORD | SPACE;
    flags(before) & CLASSES != flags(after) & CLASSES
}

/// Whether a text of [`blank_free_end`] may be cut between these two characters: as there.
pub(super) fn cut_between_blank_free(before: char, after: char) -> bool {
    flags(before) & SPACE != flags(after) & SPACE
}
