//! Pieces in chunks: the loop of encoding and counting.
//!
//! Encoding handles a chunk in three short loops (keys, lookups, output), which is faster than one
//! call per piece. The hand-written splitters fill chunks with vector instructions; other
//! pre-tokenizers find one piece at a time.

use std::ops::Range;

use super::PreTokenizer;
use super::families::Family;
use super::superwords;
use crate::error::Error;
use crate::text::pattern::StepBudget;
use crate::text::simd::Level;
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
        let Some(family) = Family::of(self) else {
            let mut n = 0;
            self.visit_pieces_by_character(text, budget, |piece| {
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
            let n = family.fill(level, text, &mut at, chunk);
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
            None => self.visit_pieces_by_character(text, &budget, f),
        }
    }
}
