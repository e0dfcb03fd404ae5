//! `Totals`: what was read and counted, for reports.

use serde::{Deserialize, Serialize};

use crate::corpus::Tally;
use crate::error::{Error, Result};

/// Sums over everything that was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Totals {
    /// Documents.
    pub documents: u64,
    /// Bytes of documents.
    pub bytes: u64,
    /// Occurrences of pieces: the sum of all counts.
    pub pieces: u64,
    /// Pieces longer than `max_piece_bytes`, which were counted in parts.
    pub pieces_cut: u64,
    /// Blank lines of JSONL, which are skipped.
    pub skipped: u64,
    /// Invalid parts replaced by U+FFFD.
    pub replaced: u64,
    /// Bytes that are not UTF-8, replaced or kept.
    pub invalid_bytes: u64,
    /// Byte order marks removed from the start of files.
    pub byte_order_marks: u64,
}

impl Totals {
    /// Totals that contain the counts of reading.
    pub(super) fn of_tally(tally: &Tally) -> Self {
        Self {
            documents: tally.documents,
            bytes: tally.bytes,
            pieces: 0,
            pieces_cut: 0,
            skipped: tally.skipped,
            replaced: tally.replaced,
            invalid_bytes: tally.invalid_bytes,
            byte_order_marks: tally.byte_order_marks,
        }
    }

    pub(super) fn add_pieces(&mut self, count: u64) -> Result<()> {
        self.pieces = sum("all pieces", self.pieces, count)?;
        Ok(())
    }

    /// The sum of both.
    ///
    /// # Errors
    /// [`Error::CountOverflow`].
    pub fn add(&self, other: &Self) -> Result<Self> {
        Ok(Self {
            documents: sum("documents", self.documents, other.documents)?,
            bytes: sum("bytes", self.bytes, other.bytes)?,
            pieces: sum("all pieces", self.pieces, other.pieces)?,
            pieces_cut: sum("pieces cut", self.pieces_cut, other.pieces_cut)?,
            skipped: sum("skipped lines", self.skipped, other.skipped)?,
            replaced: sum("replacements", self.replaced, other.replaced)?,
            invalid_bytes: sum("invalid bytes", self.invalid_bytes, other.invalid_bytes)?,
            byte_order_marks: sum("byte order marks", self.byte_order_marks, other.byte_order_marks)?,
        })
    }
}

fn sum(what: &str, left: u64, right: u64) -> Result<u64> {
    left.checked_add(right).ok_or_else(|| Error::CountOverflow { what: what.to_owned() })
}
