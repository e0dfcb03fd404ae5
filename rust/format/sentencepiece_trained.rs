//! From BPE trained in SentencePiece's manner to a tokenizer: the one that
//! SentencePiece's file of the same pieces describes.
//!
//! So what is trained here and what is read after it was saved are one and the
//! same. What such a file cannot say is refused before anything is trained.

use super::sentencepiece::{ModelType, SpModel, SpPiece};
use super::sentencepiece_tokenizer::parts;
use crate::bpe::trainer::{ScoredTrained, SentencePieceBpeTrainer};
use crate::error::{Error, Result};
use crate::normalizer::{Normalizer, SentencePieceOptions};
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::{PreTokenizer, Prepend};
use crate::progress::Progress;
use crate::tokenizer::Tokenizer;
use crate::unigram::Kind;
use crate::word_counts::WordCounts;

impl Tokenizer {
    /// Trains BPE in SentencePiece's manner on counted pieces.
    ///
    /// # Errors
    /// As [`SentencePieceBpeTrainer::train`]; [`Error::Option`] for counts that
    /// SentencePiece would not have, see [`Tokenizer::check_sentencepiece_bpe`].
    pub fn train_sentencepiece_bpe(
        trainer: &SentencePieceBpeTrainer,
        counts: &WordCounts,
        progress: &mut Progress,
    ) -> Result<Self> {
        Self::check_sentencepiece_bpe(trainer, counts.pipeline())?;
        let trained = trainer.train(counts.iter(), progress)?;
        Self::from_sentencepiece_bpe(trainer, counts.pipeline(), &trained)
    }

    /// Makes a tokenizer of what `trainer` gave.
    ///
    /// # Errors
    /// As [`Tokenizer::check_sentencepiece_bpe`].
    pub fn from_sentencepiece_bpe(
        trainer: &SentencePieceBpeTrainer,
        pipeline: &Pipeline,
        trained: &ScoredTrained,
    ) -> Result<Self> {
        let options = Self::check_sentencepiece_bpe(trainer, pipeline)?;
        let pieces = trained.pieces.iter().map(|piece| SpPiece {
            piece: piece.text.clone(),
            score: piece.score as f32,
            kind: piece.kind,
        });
        let name = options.rules_name();
        let file =
            SpModel::new(pieces.collect(), ModelType::Bpe, trainer.pieces.byte_fallback, name, &options)?;
        Self::new(parts(&file)?)
    }

    /// Refuses what SentencePiece's file cannot say: a text that is normalized
    /// or cut in another way, or no token for what is unknown.
    ///
    /// # Errors
    /// [`Error::Option`] naming it.
    pub fn check_sentencepiece_bpe(
        trainer: &SentencePieceBpeTrainer,
        pipeline: &Pipeline,
    ) -> Result<SentencePieceOptions> {
        let wrong = |option, value: String, reason: &str| {
            Err(Error::Option { option, value, reason: reason.to_owned() })
        };
        if !trainer.pieces.special_tokens.iter().any(|token| token.1 == Kind::Unknown) {
            let reason = "SentencePiece needs a token for what is unknown; name one, such as <unk>";
            return wrong("unk_token", "None".to_owned(), reason);
        }
        let cuts = match (&pipeline.pre_tokenizer, trainer.pieces.split_by_whitespace) {
            (PreTokenizer::Metaspace { prepend: Prepend::Never, split }, splits) => *split == splits,
            (PreTokenizer::Bytes, splits) => !splits,
            _ => false,
        };
        if !cuts {
            let reason = "SentencePiece cuts before each ▁, or, without split_by_whitespace, nowhere: \
                          metaspace-never, or metaspace-never-unsplit";
            return wrong("pre_tokenizer", pipeline.pre_tokenizer.name().to_string(), reason);
        }
        match &pipeline.normalizer {
            Some(Normalizer::SentencePiece(normalizer))
                if normalizer.options().escape_whitespaces
                    && !normalizer.options().treat_whitespace_as_suffix =>
            {
                Ok(normalizer.options().clone())
            }
            other => {
                let name = other.as_ref().map(|known| known.name().unwrap_or_else(|| "this one".to_owned()));
                let reason = "SentencePiece writes a space as ▁, before words: sentencepiece, or \
                              sentencepiece-collapse";
                wrong("normalizer", name.unwrap_or_else(|| "None".to_owned()), reason)
            }
        }
    }
}
