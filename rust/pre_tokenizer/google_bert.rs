//! Words and single punctuation characters, as Google's BERT splits.
//!
//! As [`super::bert`], except that punctuation is the symbols of ASCII and `\p{P}` of Unicode 16,
//! the version this crate uses. (Google's code takes the version of the Python that runs it.)

#[rustfmt::skip]
mod tables;

use super::bert;
use crate::text::simd::{Block, Places, Window, Words};
use crate::{
    text::unicode::flag::*,
    text::unicode::{Flags, flags, flags_at},
};

/// The splitter.
pub(super) struct GoogleBert;

impl Words for GoogleBert {
    #[inline(always)]
    fn places<B: Block>(&self, window: &Window<'_, B>) -> Places {
        bert::places(window, |bytes, at| {
            let (flags, len) = flags_at(bytes, at).unwrap_or((0, 1));
            let is_punctuation = is_punctuation(flags, || decode(bytes.get(at..at + len)?));
            if is_punctuation { flags | BERT_PUNCTUATION } else { flags & !BERT_PUNCTUATION }
        })
    }
}

impl GoogleBert {
    /// The end of the piece that starts at `start`, which must not be white space.
    pub(super) fn piece_end(&self, bytes: &[u8], start: usize) -> usize {
        let mut at = start;
        while let Some((flags, len)) = flags_at(bytes, at) {
            if flags & SPACE != 0 {
                break;
            }
            if is_punctuation(flags, || decode(&bytes[at..at + len])) {
                return if at == start { start + len } else { at };
            }
            at += len;
        }
        at
    }

    /// Whether a text may be cut between these two characters; the proof is that of
    /// [`bert::Bert::cut_between`].
    pub(super) fn cut_between(&self, before: char, after: char) -> bool {
        [before, after].into_iter().any(|c| flags(c) & SPACE != 0 || is_punctuation(flags(c), || Some(c)))
    }
}

/// Whether a character with these flags is punctuation.
#[inline]
pub(super) fn is_punctuation(flags: Flags, c: impl Fn() -> Option<char>) -> bool {
    let is_among = |runs: &[(u32, u32)]| {
        c().is_some_and(|c| {
            let at = runs.partition_point(|&(_, last)| last < c as u32);
            runs.get(at).is_some_and(|&(first, _)| first <= c as u32)
        })
    };
    if flags & BERT_PUNCTUATION != 0 {
        !is_among(&tables::FEWER)
    } else {
        // Punctuation that is newer than Unicode 8 is in no other class.
        flags == 0 && is_among(&tables::MORE)
    }
}

/// The single character that these bytes encode.
fn decode(bytes: &[u8]) -> Option<char> {
    std::str::from_utf8(bytes).ok()?.chars().next()
}
