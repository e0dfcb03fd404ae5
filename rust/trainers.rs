//! Trainers of BPE, WordPiece and Unigram, and the merging engine that they share.

pub mod bpe;
pub mod checkpoint;
pub(crate) mod pair_merging;
pub mod parity;
mod replay;
pub mod superwords;
pub mod unigram;
pub mod wordpiece;
