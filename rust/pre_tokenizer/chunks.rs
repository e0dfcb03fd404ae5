//! Pieces in chunks: the loop of encoding and counting.
//!
//! Encoding handles a chunk in three short loops (keys, lookups, output), which is faster than one
//! call per piece. The hand-written splitters fill chunks with vector instructions; other
//! pre-tokenizers find one piece at a time.

use std::ops::Range;

use super::PreTokenizer;
use super::{bert, cl100k, deepseek, google_bert, gpt2, metaspace, o200k, superwords, whitespace};
use crate::error::Error;
use crate::text::pattern::StepBudget;
use crate::text::simd::Level;
use crate::text::unicode::flag::LETTER;
use crate::text::{CHUNK, LONG_CHUNK, Piece};

/// Texts shorter than this use short chunks.
const SHORT_TEXT: usize = 1 << 9;

impl PreTokenizer {
    /// Calls `f` with the pieces of a text of at most 4 GiB, in order, in chunks of 1 to
    /// [`LONG_CHUNK`]. `budget` limits the work of patterns.
    pub(crate) fn for_each_chunk<E: From<Error>>(
        &self,
        text: &str,
        budget: &StepBudget,
        f: impl FnMut(&[Piece]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.for_each_chunk_by(Level::best(), text, budget, f)
    }

    /// The same, with the given instruction set.
    pub(super) fn for_each_chunk_by<E: From<Error>>(
        &self,
        level: Level,
        text: &str,
        budget: &StepBudget,
        mut f: impl FnMut(&[Piece]) -> Result<(), E>,
    ) -> Result<(), E> {
        // Initializing a long chunk does not pay off for a short text.
        let (mut short, mut long);
        let chunk: &mut [Piece] = if text.len() <= SHORT_TEXT {
            short = [Piece::default(); CHUNK];
            &mut short
        } else {
            long = [Piece::default(); LONG_CHUNK];
            &mut long
        };
        if let &Self::Superwords { pieces } = self {
            let mut stretches = superwords::Stretches::new(pieces, text);
            let mut out = superwords::Chunks { chunk, n: 0, f };
            let mut join = |chunk: &[Piece]| {
                chunk.iter().try_for_each(|piece| stretches.push(piece.range(), |stretch| out.push(stretch)))
            };
            // One type, because this function calls itself.
            let join: &mut dyn FnMut(&[Piece]) -> Result<(), E> = &mut join;
            pieces.pre_tokenizer().for_each_chunk_by(level, text, budget, join)?;
            stretches.finish(|stretch| out.push(stretch))?;
            return out.finish();
        }
        let Some(splitter) = Splitter::of(self) else {
            let mut n = 0;
            self.walk_by_character(text, budget, |piece| {
                chunk[n] = Piece { start: piece.start as u32, end: piece.end as u32 };
                n += 1;
                if n < chunk.len() {
                    return Ok(());
                }
                n = 0;
                f(chunk)
            })?;
            return if n > 0 { f(&chunk[..n]) } else { Ok(()) };
        };
        let mut at = 0;
        loop {
            let n = splitter.fill(level, text, &mut at, chunk);
            if n == 0 {
                return Ok(());
            }
            f(&chunk[..n])?;
        }
    }

    /// [`PreTokenizer::for_each_piece`] with the given instruction set, or one character at a time
    /// for `None`. The text has at most 4 GiB.
    ///
    /// # Errors
    /// As [`PreTokenizer::for_each_piece`].
    #[doc(hidden)]
    pub fn for_each_piece_by(
        &self,
        form: Option<Level>,
        text: &str,
        mut f: impl FnMut(Range<usize>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let budget = StepBudget::of(text.len());
        match form {
            Some(level) => self.for_each_chunk_by(level, text, &budget, |chunk| {
                chunk.iter().try_for_each(|piece| f(piece.range()))
            }),
            None => self.walk_by_character(text, &budget, f),
        }
    }
}

/// A hand-written splitter that has a rule for windows.
enum Splitter {
    Gpt2(gpt2::Gpt2),
    Cl100k(cl100k::Cl100k),
    O200k(o200k::O200k),
    DeepSeek(deepseek::DeepSeek),
    Metaspace(metaspace::Metaspace),
    Whitespace(whitespace::Whitespace),
    WhitespaceSplit(whitespace::WhitespaceSplit),
    Bert(bert::Bert),
    GoogleBert(google_bert::GoogleBert),
}

impl Splitter {
    fn of(pre_tokenizer: &PreTokenizer) -> Option<Self> {
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

    /// Fills `out` with the pieces from `at` on, and moves `at` after them.
    fn fill(&self, level: Level, text: &str, at: &mut usize, out: &mut [Piece]) -> usize {
        let bytes = text.as_bytes();
        match self {
            Self::Gpt2(family) => level.tiles(family, bytes, at, out),
            Self::Cl100k(family) => level.tiles(family, bytes, at, out),
            Self::O200k(family) => level.tiles(family, bytes, at, out),
            Self::DeepSeek(family) => level.tiles(family, bytes, at, out),
            Self::Metaspace(family) => level.tiles(family, bytes, at, out),
            Self::Whitespace(family) => level.words(family, bytes, at, out),
            Self::WhitespaceSplit(family) => level.words(family, bytes, at, out),
            Self::Bert(family) => level.words(family, bytes, at, out),
            Self::GoogleBert(family) => level.words(family, bytes, at, out),
        }
    }
}
