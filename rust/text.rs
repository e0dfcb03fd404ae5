//! The layer below tokenizers: Unicode tables, runs of UTF-8, patterns, string search, vector code.

use std::ops::Range;

pub(crate) mod automaton;
pub mod byte_level;
pub(crate) mod pattern;
#[doc(hidden)]
pub mod simd;
pub(crate) mod spelling;
pub(crate) mod trie;
pub mod unicode;
pub(crate) mod utf8_runs;

/// Checks that bytes are UTF-8; `simdutf8` is several times as fast as the standard library.
#[cfg(feature = "corpus")]
pub(crate) use simdutf8::basic::from_utf8;
#[cfg(not(feature = "corpus"))]
pub(crate) use std::str::from_utf8;

/// The character that SentencePiece and `Metaspace` write for a space.
pub const SPACE_MARK: char = '▁';
pub(crate) const SPACE_MARK_STR: &str = "▁";
pub(crate) const SPACE_MARK_BYTES: [u8; 3] = [0xE2, 0x96, 0x81];

/// The usual number of pieces in a chunk.
pub(crate) const CHUNK: usize = 128;
/// The maximum number of pieces in a chunk.
pub(crate) const LONG_CHUNK: usize = 512;

/// The range of a piece: bytes `start..end` of a text of at most 4 GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Piece {
    /// The range as `usize`.
    #[inline(always)]
    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The character that these bytes encode, if they are exactly one.
pub(crate) fn single_char(bytes: &[u8]) -> Option<char> {
    let mut chars = std::str::from_utf8(bytes).ok()?.chars();
    chars.next().filter(|_| chars.next().is_none())
}
