//! `Estimate`: what counting will take, before it is done.

use super::count::CountOptions;
use crate::corpus::BLOCK_BYTES;
use crate::parallel;

/// What counting is expected to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Bytes of text.
    pub bytes: u64,
    /// Distinct pieces.
    pub distinct_pieces: u64,
    /// Bytes of memory while counting.
    pub memory: u64,
}

/// Heaps' law, `a * n ^ b`, fitted to English reviews split by the GPT-2
/// pattern. Languages without spaces have several times more pieces.
const HEAPS: (f64, f64) = (3.45, 0.62);

/// Bytes of a worker's table per distinct piece, with its free slots, and of
/// the result.
const TABLE_BYTES: u64 = 60;
const RESULT_BYTES: u64 = 24;

/// Estimates what counting `bytes` of text takes.
pub fn estimate(bytes: u64, options: &CountOptions) -> Estimate {
    let distinct_pieces = (HEAPS.0 * (bytes as f64).powf(HEAPS.1)) as u64;
    let distinct_pieces = distinct_pieces.min(bytes);
    let threads = parallel::n_threads(options.threads) as u64;
    let tables = (threads * distinct_pieces).saturating_mul(TABLE_BYTES);
    let tables = options.max_memory.map_or(tables, |most| tables.min(most));
    let blocks = threads * 2 * BLOCK_BYTES as u64;
    Estimate { bytes, distinct_pieces, memory: tables + blocks + distinct_pieces * RESULT_BYTES }
}
