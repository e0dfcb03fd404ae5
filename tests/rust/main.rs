//! The crate from outside: one binary, one module for each part.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "2026-11: a test fails by a panic"
)]

mod bpe;
mod bpe_trainer;
mod bpe_windows;
mod corpus;
mod dataset;
mod format;
mod literal_trainer;
mod pre_tokenizer;
mod sentencepiece;
mod sentencepiece_bpe;
mod tokenizer;
mod unigram;
mod unigram_trainer;
mod word_counts;
mod wordpiece;
mod wordpiece_trainer;

/// Sets fields of options and trainers, which other crates cannot name in a literal.
trait With: Sized {
    fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }
}

impl<T> With for T {}
