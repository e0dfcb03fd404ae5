//! The crate from outside: one binary, one module for each part.

mod bpe;
