//! The text that follows a segment. The two [`Method`]s differ in which followers they distinguish, and thus
//! in which strings become seeds.

use super::Method;
use crate::corpus::word_counts::LINE_END;
use crate::sentencepiece_rules::segments::After;

/// The follower of a segment at all its occurrences.
pub(super) type Follower = u32;
/// Different followers occur.
pub(super) const MANY: Follower = 0;
/// The first byte of U+2581, the space that begins the next word, and also of U+2585, which
/// SentencePiece writes for characters outside the alphabet.
const SPACE: Follower = 0xE2;
/// SentencePiece writes this for special tokens. Here it also represents line ends, which are in no
/// piece either.
const SEPARATOR: Follower = 0x1F;

impl Method {
    /// The follower that a character counts as.
    pub(super) fn follower(self, c: u32) -> Follower {
        match (self, c) {
            (Self::Full, _) | (_, 0..0x80) => c,
            (_, 0x80..0x800) => 0xC0 | c >> 6,
            (_, 0x800..0x1_0000) => 0xE0 | c >> 12,
            _ => 0xF0 | c >> 18,
        }
    }

    /// The follower of a segment after one more occurrence.
    pub(super) fn note(self, before: Option<&Follower>, after: After) -> Follower {
        let follower = match (self, after) {
            (_, After::Char(c)) | (Self::Full, After::Foreign(c)) => self.follower(c.into()),
            (Self::Full, After::Special | After::Word) => MANY,
            (Self::SentencePiece, After::Special | After::Foreign(LINE_END)) => SEPARATOR,
            (Self::SentencePiece, After::Word | After::Foreign(_)) => SPACE,
        };
        match before {
            Some(&known) if known != follower => MANY,
            _ => follower,
        }
    }
}
