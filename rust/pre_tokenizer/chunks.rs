//! Pieces in chunks: what encoding and counting loop over.
//!
//! One call per chunk in place of one per piece lets what comes after run as
//! short loops of its own: keys, then look-ups, then output.

use super::PreTokenizer;
use crate::error::Error;

/// The most pieces of a chunk.
pub(crate) const CHUNK: usize = 256;

/// Where a piece lies: bytes `start..end` of a text of at most 4 GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl PreTokenizer {
    /// Calls `f` with the pieces of a text of at most 4 GiB, in order, in chunks
    /// of 1 to [`CHUNK`].
    pub(crate) fn for_each_chunk<E: From<Error>>(
        &self,
        text: &str,
        mut f: impl FnMut(&[Piece]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut chunk = [Piece::default(); CHUNK];
        let mut n = 0;
        self.walk(text, |piece| {
            chunk[n] = Piece { start: piece.start as u32, end: piece.end as u32 };
            n += 1;
            if n < CHUNK {
                return Ok(());
            }
            n = 0;
            f(&chunk)
        })?;
        if n > 0 { f(&chunk[..n]) } else { Ok(()) }
    }
}
