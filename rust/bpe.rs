//! `Bpe`: the model.

pub mod trainer;
