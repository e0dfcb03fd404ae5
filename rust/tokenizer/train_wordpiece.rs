//! From what the WordPiece trainer gives to a tokenizer.
//!
//! Not a trainer: which merges is the affair of [`crate::trainers::wordpiece`].

use std::sync::Arc;

use super::{CallDefaults, Parts, Tokenizer};
use crate::corpus::word_counts::WordCounts;
use crate::error::Result;
use crate::models::wordpiece::{WordPiece, WordPieceOptions};
use crate::pipeline::Pipeline;
use crate::progress::Progress;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::decoder::Decoder;
use crate::tokenizer::template::{Part, Template};
use crate::trainers::wordpiece::{TrainedMerges, WordPieceTrainer};
use crate::vocab::{TokenId, Vocab};

impl Tokenizer {
    /// Trains a WordPiece tokenizer on counted pieces, as [`Tokenizer::train_bpe`].
    ///
    /// # Errors
    /// As [`WordPieceTrainer::train`]; [`crate::Error::Format`] if `[UNK]` is none of
    /// the special tokens.
    pub fn train_wordpiece(
        trainer: &WordPieceTrainer,
        counts: &WordCounts,
        progress: &mut Progress,
    ) -> Result<Self> {
        let trained = trainer.train(counts.iter(), progress)?;
        let options = WordPieceOptions {
            continuing_subword_prefix: trainer.continuing_subword_prefix.clone(),
            ..WordPieceOptions::default()
        };
        Self::from_wordpiece(options, counts.pipeline().clone(), &trained)
    }

    /// Makes a tokenizer of what the trainer gave; `[CLS]` and `[SEP]` go around
    /// a text if they are special tokens.
    ///
    /// # Errors
    /// [`crate::Error::Format`] if the unknown token is not a token.
    pub fn from_wordpiece(
        options: WordPieceOptions,
        pipeline: Pipeline,
        trained: &TrainedMerges,
    ) -> Result<Self> {
        let tokens = trained.tokens.iter().map(|token| token.as_deref().unwrap_or_default());
        let added: Vec<_> = trained
            .special_tokens
            .iter()
            .map(|(content, id)| AddedToken::special(content.clone(), *id))
            .collect();
        let template = bert_template(&added);
        let decoder =
            Decoder::WordPiece { prefix: options.continuing_subword_prefix.clone(), cleanup: false };
        let model = WordPiece::new(Vocab::from_tokens(tokens)?, options)?;
        Self::new(Parts {
            pipeline,
            model: Arc::new(model.into()),
            added,
            template,
            decoder,
            defaults: CallDefaults::default(),
        })
    }
}

/// `[CLS] A [SEP]` and `[CLS] A [SEP] B [SEP]`, where there are these tokens.
pub(crate) fn bert_template(added: &[AddedToken]) -> Template {
    let id = |name: &str| added.iter().find(|token| token.content == name).map(|token| token.id);
    let (Some(cls), Some(sep)) = (id("[CLS]"), id("[SEP]")) else { return Template::default() };
    let special = |id: TokenId, type_id| Part::Special { id, type_id };
    let single = vec![special(cls, 0), Part::First { type_id: 0 }, special(sep, 0)];
    let pair = [&single[..], &[Part::Second { type_id: 1 }, special(sep, 1)]].concat();
    Template { single, pair, ..Template::default() }
}
