//! Text below tokenizers: Unicode tables, runs of UTF-8, patterns, search for many strings at once.

pub(crate) mod automaton;
pub mod byte_level;
pub(crate) mod pattern;
pub(crate) mod spelling;
pub(crate) mod trie;
pub mod unicode;
pub(crate) mod utf8_runs;
