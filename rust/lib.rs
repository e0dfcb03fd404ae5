//! Train and run tokenizers: exact, deterministic, parallel, in bounded memory.
//!
//! The pipeline, in the order of the modules:
//!
//! 1. [`corpus`] reads documents from files and iterables, in blocks.
//! 2. [`normalizer`] rewrites a text; [`normalizer::Aligned`] remembers from where.
//! 3. [`pre_tokenizer`] cuts it into pieces that no merge may cross.
//! 4. [`word_counts`] counts the pieces: mergeable, spillable, on disk.
//! 5. [`model`] turns a piece into ids: [`bpe`], [`wordpiece`] or [`unigram`],
//!    each with its trainer.
//! 6. [`tokenizer`] joins all: text to ids, ids to text, many at once.
//! 7. [`format`](mod@format) and [`dataset`] put tokenizers and ids on disk.
//!
//! Train, encode on all threads, save:
//!
//! ```
//! use sentitok::{BpeTrainer, EncodeOptions, Pipeline, PreTokenizer, Progress, Tokenizer, WordCounts};
//!
//! let texts = ["It was good, and it was short.", "It was long.", "Good, but it was not short."];
//! let pipeline = Pipeline::new(PreTokenizer::from_name("gpt2")?);
//! let counts = WordCounts::from_texts(&pipeline, texts)?;
//! let trainer = BpeTrainer { vocab_size: 270, ..BpeTrainer::default() };
//! let tokenizer = Tokenizer::train_bpe(&trainer, &counts, &mut Progress::silent())?;
//!
//! // The ids are the same however many threads there are.
//! let all = tokenizer.encode_batch(&texts, EncodeOptions::default())?;
//! let one = tokenizer.encode_batch(&texts, EncodeOptions { threads: Some(1), ..Default::default() })?;
//! assert_eq!(all, one);
//! assert_eq!(tokenizer.decode_batch(all.rows(), true)?, texts);
//!
//! // What the name of the file says is the format: tokenizer.json, .tiktoken, .model, .sentitok.
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path();
//! let path = folder.join("tokenizer.json");
//! tokenizer.save(&path, None)?;
//! assert_eq!(Tokenizer::from_file(&path)?.fingerprint()?, tokenizer.fingerprint()?);
//! # Ok::<(), sentitok::Error>(())
//! ```
//!
//! The Python module in `py` is glue over these and holds no logic.

pub mod added_tokens;
mod atomic;
mod automaton;
pub mod bpe;
pub mod byte_level;
pub mod corpus;
pub mod dataset;
pub mod decoder;
pub mod encoding;
pub mod error;
mod extents;
pub mod fertility;
pub mod format;
mod long_pieces;
mod memory;
pub mod model;
pub mod normalizer;
mod pair_merging;
pub mod parallel;
mod pattern;
mod piece_table;
pub mod pipeline;
pub mod pre_tokenizer;
mod pretoken_cache;
pub mod progress;
#[cfg(feature = "python")]
mod py;
mod resting;
mod sentencepiece_rules;
#[doc(hidden)]
pub mod simd;
mod spelling;
mod steps;
mod stretches;
pub mod template;
pub mod tokenizer;
mod trie;
pub mod unicode;
pub mod unigram;
pub mod vocab;
pub mod word_counts;
pub mod wordpiece;

pub use bpe::trainer::BpeTrainer;
pub use decoder::stream::StreamDecoder;
pub use encoding::{Encoding, EncodingBatch};
pub use error::{Error, Result};
pub use model::Model;
pub use pipeline::Pipeline;
pub use pre_tokenizer::PreTokenizer;
pub use progress::Progress;
pub use tokenizer::{CallDefaults, EncodeOptions, Input, Shortening, TextRow, Tokenizer, Truncation};
pub use unigram::trainer::UnigramTrainer;
pub use vocab::{TokenId, Vocab};
pub use word_counts::WordCounts;
pub use wordpiece::trainer::WordPieceTrainer;

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads may share each public type, and hand it on.
    #[test]
    fn threads_may_share_all_of_it() {
        fn shared<T: Send + Sync>() {}
        shared::<Tokenizer>();
        shared::<tokenizer::Parts>();
        shared::<EncodeOptions<'_>>();
        shared::<Input<'_>>();
        shared::<Encoding>();
        shared::<EncodingBatch>();
        shared::<encoding::Rows<'_>>();
        shared::<Model>();
        shared::<bpe::Bpe>();
        shared::<wordpiece::WordPiece>();
        shared::<unigram::Unigram>();
        shared::<Vocab>();
        shared::<normalizer::Normalizer>();
        shared::<normalizer::Aligned>();
        shared::<PreTokenizer>();
        shared::<Pipeline>();
        shared::<decoder::Decoder>();
        shared::<StreamDecoder>();
        shared::<template::Template>();
        shared::<added_tokens::AddedTokens>();
        shared::<WordCounts>();
        shared::<BpeTrainer>();
        shared::<WordPieceTrainer>();
        shared::<UnigramTrainer>();
        shared::<Error>();
    }
}
