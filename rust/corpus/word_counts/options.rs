//! How counting is done.

use std::path::PathBuf;

/// How counting is done; nothing here but `max_piece_bytes` and `line_ends`
/// changes a result.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CountOptions {
    /// Worker threads; `None` takes [`default_threads`](crate::parallel::default_threads).
    pub threads: Option<usize>,
    /// Bytes the tables may take together; beyond, they spill to `temp_dir`.
    pub max_memory: Option<u64>,
    /// Longer pieces are cut at character boundaries and counted in
    /// [`Totals::pieces_cut`](super::Totals::pieces_cut).
    pub max_piece_bytes: usize,
    /// Takes each document as one line, as SentencePiece does: its line feed is
    /// no part of it, and [`LINE_END`](super::LINE_END) stands behind its last piece.
    pub line_ends: bool,
    /// Where runs are spilled; `None` takes the system's folder.
    pub temp_dir: Option<PathBuf>,
}

impl CountOptions {
    /// Longer than any piece of natural text, short enough for any trainer.
    pub const MAX_PIECE_BYTES: usize = 1 << 16;

    pub(super) fn temp_dir(&self) -> PathBuf {
        self.temp_dir.clone().unwrap_or_else(std::env::temp_dir)
    }
}

impl Default for CountOptions {
    fn default() -> Self {
        let max_piece_bytes = Self::MAX_PIECE_BYTES;
        Self { threads: None, max_memory: None, max_piece_bytes, line_ends: false, temp_dir: None }
    }
}
