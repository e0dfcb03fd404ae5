//! One integration binary.

mod bpe_trainer;
