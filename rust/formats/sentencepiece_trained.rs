//! Converts BPE trained in SentencePiece's manner to a tokenizer, by way of SentencePiece's file.
//!
//! So a trained tokenizer equals the one that is read after it was saved. Options that such a file
//! cannot store are refused before training begins.

use super::sentencepiece::{ModelType, SpModel, SpPiece};
use super::sentencepiece_tokenizer::parts;
use crate::corpus::word_counts::WordCounts;
use crate::error::{Error, Result};
use crate::models::unigram::PieceKind;
use crate::normalizer::SentencePieceOptions;
use crate::pipeline::Pipeline;
use crate::progress::Progress;
use crate::sentencepiece_rules::{PieceOptions, TrainedPiece};
use crate::tokenizer::Tokenizer;
use crate::trainers::bpe::{ScoredTrained, SentencePieceBpeTrainer};
use crate::trainers::unigram::UnigramTrainer;

impl Tokenizer {
    /// Trains BPE in SentencePiece's manner on counted pieces.
    ///
    /// # Errors
    /// As [`SentencePieceBpeTrainer::train`]; [`Error::Option`] for counts from a pipeline that
    /// SentencePiece does not have, see [`Tokenizer::check_sentencepiece_bpe`].
    pub fn train_sentencepiece_bpe(
        trainer: &SentencePieceBpeTrainer,
        counts: &WordCounts,
        progress: &mut Progress,
    ) -> Result<Self> {
        Self::check_sentencepiece_bpe(trainer, counts.pipeline())?;
        let trained = trainer.train(counts.iter(), progress)?;
        Self::from_sentencepiece_bpe(trainer, counts.pipeline(), &trained)
    }

    /// The tokenizer for the result of a Unigram `trainer` in SentencePiece's manner; `None` if its
    /// file cannot store how text is normalized and cut.
    ///
    /// # Errors
    /// As [`SpModel::new`].
    pub(crate) fn from_sentencepiece_unigram(
        trainer: &UnigramTrainer,
        pipeline: &Pipeline,
        trained: &crate::trainers::unigram::TrainedUnigram,
    ) -> Result<Option<Self>> {
        let Some(options) = options_in_a_file(&trainer.pieces, pipeline) else { return Ok(None) };
        let file = file(&trained.pieces, ModelType::Unigram, trainer.pieces.byte_fallback, options)?;
        Self::new(parts(&file)?).map(Some)
    }

    /// The tokenizer for the result of `trainer`.
    ///
    /// # Errors
    /// As [`Tokenizer::check_sentencepiece_bpe`].
    pub fn from_sentencepiece_bpe(
        trainer: &SentencePieceBpeTrainer,
        pipeline: &Pipeline,
        trained: &ScoredTrained,
    ) -> Result<Self> {
        let options = Self::check_sentencepiece_bpe(trainer, pipeline)?;
        let file = file(&trained.pieces, ModelType::Bpe, trainer.pieces.byte_fallback, &options)?;
        Self::new(parts(&file)?)
    }

    /// Refuses what SentencePiece's file cannot store: a text that is normalized or cut in another
    /// way, or a missing unknown token.
    ///
    /// # Errors
    /// [`Error::Option`], which names it.
    pub fn check_sentencepiece_bpe(
        trainer: &SentencePieceBpeTrainer,
        pipeline: &Pipeline,
    ) -> Result<SentencePieceOptions> {
        let wrong = |option, value: String, reason: &str| {
            Err(Error::Option { option, value, reason: reason.to_owned() })
        };
        if !trainer.pieces.special_tokens.iter().any(|token| token.1 == PieceKind::Unknown) {
            let reason = "SentencePiece needs a token for unknown characters; name one, such as <unk>";
            return wrong("unk_token", "None".to_owned(), reason);
        }
        if let Some(options) = trainer.pieces.normalizer_of(pipeline) {
            return Ok(options.clone());
        }
        if trainer.pieces.pre_tokenizer()? != pipeline.pre_tokenizer {
            let reason = "SentencePiece splits at each ▁ (metaspace-never), or, without split_by_whitespace, \
                          nowhere (metaspace-never-unsplit): leave it out, as spaces behind words and runs of \
                          them are cut by their own options, or give the text instead of counts";
            return wrong("pre_tokenizer", pipeline.pre_tokenizer.name().to_string(), reason);
        }
        let name = pipeline.normalizer.as_ref();
        let name = name.map(|known| known.name().unwrap_or_else(|| "this one".to_owned()));
        let reason = match trainer.pieces.treat_whitespace_as_suffix {
            true => {
                "treat_whitespace_as_suffix needs a normalizer that writes spaces behind words: leave it out, \
                     or pass a SentencePiece normalizer with `treat_whitespace_as_suffix`"
            }
            false => {
                "SentencePiece writes a space as ▁, before words: sentencepiece, or \
                      sentencepiece-collapse; behind words with `treat_whitespace_as_suffix`"
            }
        };
        wrong("normalizer", name.unwrap_or_else(|| "None".to_owned()), reason)
    }
}

/// Trained pieces as a file.
fn file(
    pieces: &[TrainedPiece],
    model_type: ModelType,
    byte_fallback: bool,
    options: &SentencePieceOptions,
) -> Result<SpModel> {
    let pieces = pieces.iter().map(|piece| SpPiece {
        piece: piece.text.clone(),
        score: piece.score as f32,
        kind: piece.kind,
    });
    SpModel::new(pieces.collect(), model_type, byte_fallback, options.rules_name(), options)
}

/// The normalizer, if a file can store it together with the pre-tokenizer.
fn options_in_a_file<'a>(pieces: &PieceOptions, pipeline: &'a Pipeline) -> Option<&'a SentencePieceOptions> {
    let is_unknown_named = pieces.special_tokens.iter().any(|token| token.1 == PieceKind::Unknown);
    pieces.normalizer_of(pipeline).filter(|_| is_unknown_named)
}
