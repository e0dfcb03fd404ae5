//! Text below tokenizers: Unicode tables, runs of UTF-8, patterns, search for many strings at once.

pub(crate) mod automaton;
pub mod byte_level;
pub(crate) mod pattern;
pub(crate) mod spelling;
pub(crate) mod trie;
pub mod unicode;
pub(crate) mod utf8_runs;

/// Checks that bytes are UTF-8; `simdutf8` is several times as fast as the standard library.
#[cfg(feature = "corpus")]
pub(crate) use simdutf8::basic::from_utf8;
#[cfg(not(feature = "corpus"))]
pub(crate) use std::str::from_utf8;

/// What SentencePiece and `Metaspace` write for a space.
pub const SPACE_MARK: char = '▁';
pub(crate) const SPACE_MARK_STR: &str = "▁";
pub(crate) const SPACE_MARK_BYTES: [u8; 3] = [0xE2, 0x96, 0x81];

/// The character that bytes are, if they are one.
pub(crate) fn single_char(bytes: &[u8]) -> Option<char> {
    let mut chars = std::str::from_utf8(bytes).ok()?.chars();
    chars.next().filter(|_| chars.next().is_none())
}
