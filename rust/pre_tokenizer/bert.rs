//! Words and single punctuation characters, as BERT splits.
//!
//! White space is in no piece. Punctuation is what tokenizers 0.23 takes for
//! it (a table of Unicode 8), not what Google's Python takes.

use crate::unicode::{end_of_run_without, flag::*, flags, flags_at};

/// End of the piece that starts at `start`, which is no white space.
#[inline]
pub(super) fn piece_end(bytes: &[u8], start: usize) -> usize {
    match flags_at(bytes, start) {
        Some((first, len)) if first & BERT_PUNCTUATION != 0 => start + len,
        _ => end_of_run_without(bytes, start, SPACE | BERT_PUNCTUATION),
    }
}

/// Whether a text may be cut between these two characters.
///
/// Characters stay together only when neither is white space or punctuation,
/// and that is decided by each alone.
pub(super) fn cut_between(before: char, after: char) -> bool {
    (flags(before) | flags(after)) & (SPACE | BERT_PUNCTUATION) != 0
}
