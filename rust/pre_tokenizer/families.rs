//! `Family`: the splitters with a rule for windows, in one table.
//!
//! Each has a file in this folder, which says where pieces end one character at a time (`piece_end`), how a
//! window is cut ([`Tiles`], [`Words`](crate::text::simd::Words)), and between which
//! characters a text may be cut (`cut_between`, with its proof). All else follows from a row of the table and an
//! arm of [`Family::of`].

use std::ops::Range;

use super::{
    PreTokenizer, bert, cl100k, deepseek, google_bert, gpt2, metaspace, o200k, tiles, whitespace, words,
};
use crate::text::Piece;
use crate::text::simd::{Level, Tiles};
use crate::text::unicode::flag::LETTER;

/// Declares the families. Pieces of `tiles` follow each other without gaps; between `words` white space is dropped.
macro_rules! families {
    ($($name:ident($splitter:ty): $kind:ident,)*) => {
        /// A splitter with a rule for windows.
        pub(super) enum Family {
            $($name($splitter),)*
        }

        impl Family {
            /// Calls `f` with the range of each piece, found one character at a time.
            #[inline(always)]
            pub(super) fn visit_pieces<E>(
                &self,
                text: &str,
                f: impl FnMut(Range<usize>) -> Result<(), E>,
            ) -> Result<(), E> {
                match self {
                    $(Self::$name(splitter) => {
                        $kind(text, |bytes, start| splitter.piece_end(bytes, start), f)
                    })*
                }
            }

            /// Fills `out` with the pieces from `at` on, and moves `at` after them.
            pub(super) fn fill(&self, level: Level, text: &str, at: &mut usize, out: &mut [Piece]) -> usize {
                match self {
                    $(Self::$name(splitter) => level.$kind(splitter, text.as_bytes(), at, out),)*
                }
            }

            /// Whether a text may be cut between these two characters, in any context.
            pub(super) fn cut_between(&self, before: char, after: char) -> bool {
                match self {
                    $(Self::$name(splitter) => splitter.cut_between(before, after),)*
                }
            }

            /// Whether white space between pieces is in no piece.
            pub(super) fn drops_white_space(&self) -> bool {
                match self {
                    $(Self::$name(_) => families!(@drops $kind),)*
                }
            }
        }
    };
    (@drops tiles) => { false };
    (@drops words) => { true };
}

families! {
    Gpt2(gpt2::Gpt2): tiles,
    Cl100k(cl100k::Cl100k): tiles,
    O200k(o200k::O200k): tiles,
    DeepSeek(deepseek::DeepSeek): tiles,
    Metaspace(metaspace::Metaspace): tiles,
    Whitespace(whitespace::Whitespace): words,
    WhitespaceSplit(whitespace::WhitespaceSplit): words,
    Bert(bert::Bert): words,
    GoogleBert(google_bert::GoogleBert): words,
}

impl Family {
    /// The family whose pieces are those of a pre-tokenizer, after it has rewritten the text.
    #[inline]
    pub(super) fn of(pre_tokenizer: &PreTokenizer) -> Option<Self> {
        Some(match pre_tokenizer {
            PreTokenizer::Gpt2 { .. } => Self::Gpt2(gpt2::Gpt2),
            &PreTokenizer::Cl100k { digits, possessive } => {
                Self::Cl100k(cl100k::Cl100k { digits: digits as usize, possessive, letters: LETTER })
            }
            PreTokenizer::O200k => Self::O200k(o200k::O200k { digits: 3, contractions: true }),
            PreTokenizer::Tekken => Self::O200k(o200k::O200k { digits: 1, contractions: false }),
            PreTokenizer::Metaspace { split: true, .. } | PreTokenizer::MetaspaceWords => {
                Self::Metaspace(metaspace::Metaspace)
            }
            PreTokenizer::Whitespace => Self::Whitespace(whitespace::Whitespace),
            PreTokenizer::WhitespaceSplit => Self::WhitespaceSplit(whitespace::WhitespaceSplit),
            PreTokenizer::Bert => Self::Bert(bert::Bert),
            PreTokenizer::GoogleBert => Self::GoogleBert(google_bert::GoogleBert),
            PreTokenizer::Regex(pattern) => {
                return cl100k::Cl100k::of_pattern(pattern.pattern()).map(Self::Cl100k);
            }
            PreTokenizer::Sequence { steps } => {
                return deepseek::DeepSeek::is(steps).then_some(Self::DeepSeek(deepseek::DeepSeek));
            }
            PreTokenizer::Bytes
            | PreTokenizer::PrefixSpace
            | PreTokenizer::Metaspace { split: false, .. }
            | PreTokenizer::Marked(_)
            | PreTokenizer::Split(_)
            | PreTokenizer::FixedLength { .. }
            | PreTokenizer::UnicodeScripts
            | PreTokenizer::Superwords { .. }
            | PreTokenizer::ByteLevel { .. }
            | PreTokenizer::ByteSpelled { .. }
            | PreTokenizer::Within { .. } => return None,
        })
    }
}
