//! `BpeTrainer`: from counted pieces to merges.

/// The options of training.
pub struct BpeTrainer;
