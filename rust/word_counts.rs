//! `WordCounts`: piece to count, with the pipeline that made it.

/// Pieces with their counts, sorted by piece bytes.
pub struct WordCounts;
