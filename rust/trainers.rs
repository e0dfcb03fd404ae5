//! Trainers of BPE, WordPiece and Unigram, and the merging engine that they share.

pub mod bpe;
pub(crate) mod pair_merging;
pub mod unigram;
pub mod wordpiece;
