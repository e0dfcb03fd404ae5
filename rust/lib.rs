//! Train and run tokenizers: exact, deterministic, parallel, in bounded memory.
//!
//! The pipeline, in the order of the modules:
//!
//! 1. [`corpus`] reads documents from files and iterables in blocks and counts their pieces
//!    ([`corpus::word_counts`]); counts can be merged, spilled to disk and saved.
//! 2. [`normalizer`] rewrites a text; [`normalizer::Aligned`] maps the result back to the original.
//! 3. [`pre_tokenizer`] cuts it into pieces (pre-tokens) that no merge may cross.
//! 4. [`models`] encode a piece as ids: [`models::bpe`], [`models::wordpiece`] or
//!    [`models::unigram`].
//! 5. [`trainers`] train a model from counted pieces.
//! 6. [`tokenizer`] combines them: text to ids and ids to text, in batches.
//! 7. [`formats`] and [`dataset`] write and read tokenizers and ids on disk.
//!
//! [`text`] contains what these share: Unicode tables, patterns, string search, vector code.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | none (`default-features = false`) | loads and saves tokenizers, encodes, decodes |
//! | `corpus` | `corpus` (text, JSON Lines, CSV, `.gz`, `.bz2`), `dataset`, `fertility` |
//! | `train` (on by default) | `trainers` and `Tokenizer::train_*`; `corpus` with it |
//! | `compression` | reads `.zst` and `.xz`, which compiles C; `corpus` with it |
//! | `python` | the extension module `sentitok._sentitok`, for maturin; all of the above with it |
//!
//! Train, encode on all threads, save:
//!
//! ```
//! use sentitok::{BpeTrainer, EncodeOptions, Pipeline, PreTokenizer, Progress, Tokenizer, WordCounts};
//!
//! let texts = ["It was good, and it was short.", "It was long.", "Good, but it was not short."];
//! let pipeline = Pipeline::new(PreTokenizer::from_name("gpt2")?);
//! let counts = WordCounts::from_texts(&pipeline, texts)?;
//! let mut trainer = BpeTrainer::default();
//! trainer.vocab_size = 270;
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
//! The Python module in `py` only wraps these and contains no logic.

mod atomic;
mod cache;
#[cfg(feature = "corpus")]
pub mod corpus;
#[cfg(feature = "corpus")]
pub mod dataset;
pub mod error;
#[cfg(feature = "corpus")]
pub mod fertility;
pub mod formats;
mod memory;
pub mod models;
pub mod normalizer;
pub mod parallel;
pub mod pipeline;
pub mod pre_tokenizer;
pub mod progress;
#[cfg(feature = "python")]
mod py;
mod random;
mod scratch_pool;
#[cfg(feature = "train")]
mod sentencepiece_rules;
mod step_counter;
pub mod text;
mod token_lengths;
pub mod tokenizer;
#[cfg(feature = "train")]
pub mod trainers;
pub mod vocab;

#[cfg(feature = "corpus")]
pub use crate::corpus::word_counts::WordCounts;
pub use crate::tokenizer::decoder::stream::StreamDecoder;
pub use crate::tokenizer::encoding::{Encoding, EncodingBatch};
#[cfg(feature = "train")]
pub use crate::trainers::bpe::BpeTrainer;
#[cfg(feature = "train")]
pub use crate::trainers::unigram::UnigramTrainer;
#[cfg(feature = "train")]
pub use crate::trainers::wordpiece::WordPieceTrainer;
pub use error::{Error, Result};
pub use models::Model;
pub use pipeline::Pipeline;
pub use pre_tokenizer::PreTokenizer;
pub use progress::Progress;
pub use tokenizer::{CallDefaults, EncodeOptions, Input, TextRow, Tokenizer, Truncation, TruncationStrategy};
pub use vocab::{TokenId, Vocab};

#[cfg(all(test, feature = "train"))]
mod tests {
    use crate::*;

    /// All public types are `Send` and `Sync`.
    #[test]
    fn public_types_are_send_and_sync() {
        fn shared<T: Send + Sync>() {}
        shared::<Tokenizer>();
        shared::<tokenizer::Parts>();
        shared::<EncodeOptions<'_>>();
        shared::<Input<'_>>();
        shared::<Encoding>();
        shared::<EncodingBatch>();
        shared::<tokenizer::encoding::Rows<'_>>();
        shared::<Model>();
        shared::<models::bpe::Bpe>();
        shared::<models::wordpiece::WordPiece>();
        shared::<models::unigram::Unigram>();
        shared::<Vocab>();
        shared::<normalizer::Normalizer>();
        shared::<normalizer::Aligned>();
        shared::<PreTokenizer>();
        shared::<Pipeline>();
        shared::<tokenizer::decoder::Decoder>();
        shared::<StreamDecoder>();
        shared::<tokenizer::template::Template>();
        shared::<tokenizer::added_tokens::AddedTokens>();
        shared::<WordCounts>();
        shared::<BpeTrainer>();
        shared::<WordPieceTrainer>();
        shared::<UnigramTrainer>();
        shared::<Error>();
    }
}
