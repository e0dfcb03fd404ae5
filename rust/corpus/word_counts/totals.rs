//! `Totals`: totals of the input and of the counts, for reports.

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
    /// Documents outside the sample.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub documents_left_out: u64,
    /// Bytes of documents outside the sample.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes_left_out: u64,
    /// Occurrences of pieces that were rarer than the minimum count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub pieces_dropped: u64,
    /// Distinct pieces that were rarer than the minimum count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub distinct_dropped: u64,
}

/// Files of counts have some totals only if they say something.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "2026-11-30: serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Totals {
    /// Totals that contain the counts of reading.
    pub(super) fn of_tally(tally: &Tally) -> Self {
        Self {
            documents: tally.documents,
            bytes: tally.bytes,
            skipped: tally.skipped,
            replaced: tally.replaced,
            invalid_bytes: tally.invalid_bytes,
            byte_order_marks: tally.byte_order_marks,
            ..Self::default()
        }
    }

    pub(super) fn add_pieces(&mut self, count: u64) -> Result<()> {
        self.pieces = sum("all pieces", self.pieces, count)?;
        Ok(())
    }

    /// Notes a distinct piece that is rarer than the minimum count.
    pub(super) fn drop_piece(&mut self, count: u64) -> Result<()> {
        self.pieces_dropped = sum("dropped pieces", self.pieces_dropped, count)?;
        self.distinct_dropped = sum("dropped pieces", self.distinct_dropped, 1)?;
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
            documents_left_out: sum("documents", self.documents_left_out, other.documents_left_out)?,
            bytes_left_out: sum("bytes", self.bytes_left_out, other.bytes_left_out)?,
            pieces_dropped: sum("dropped pieces", self.pieces_dropped, other.pieces_dropped)?,
            distinct_dropped: sum("dropped pieces", self.distinct_dropped, other.distinct_dropped)?,
        })
    }
}

fn sum(what: &str, left: u64, right: u64) -> Result<u64> {
    left.checked_add(right).ok_or_else(|| Error::CountOverflow { what: what.to_owned() })
}
