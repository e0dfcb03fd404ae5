//! From what the Unigram trainer gives to a tokenizer.
//!
//! Not a trainer: which pieces and scores is the affair of
//! [`crate::unigram::trainer`].

use std::fmt;
use std::sync::Arc;

use super::{Parts, Tokenizer};
use crate::added_tokens::AddedToken;
use crate::decoder::Decoder;
use crate::error::{Error, Result};
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::{PreTokenizer, Prepend};
use crate::progress::Progress;
use crate::template::Template;
use crate::unigram::trainer::{Stop, Trained, UnigramTrainer};
use crate::unigram::{Kind, Precision, Unigram, UnigramOptions};
use crate::vocab::{TokenId, Vocab};
use crate::word_counts::WordCounts;

impl Tokenizer {
    /// Trains a Unigram tokenizer on counted pieces, as [`Tokenizer::train_bpe`].
    ///
    /// # Errors
    /// As [`UnigramTrainer::train`].
    pub fn train_unigram(
        trainer: &UnigramTrainer,
        counts: &WordCounts,
        progress: &mut Progress,
    ) -> Result<Self> {
        let trained = trainer.train(counts.iter(), progress)?;
        Self::from_unigram(trainer, counts.pipeline().clone(), &trained)
    }

    /// Makes a tokenizer of what `trainer` gave. Scores are summed in 64 bits,
    /// so that tokenizer.json means the same to Hugging Face.
    ///
    /// # Errors
    /// As [`Unigram::new`].
    pub fn from_unigram(trainer: &UnigramTrainer, pipeline: Pipeline, trained: &Trained) -> Result<Self> {
        let id = |at: usize| TokenId::try_from(at).map_err(|_| Error::Internal(format!("id {at} is no u32")));
        let mut added = Vec::new();
        let mut unk_id = None;
        for (at, piece) in trained.pieces.iter().enumerate() {
            if piece.kind == Kind::Unknown {
                unk_id = Some(id(at)?);
            }
            if matches!(piece.kind, Kind::Unknown | Kind::Control) {
                added.push(AddedToken::special(piece.text.clone(), id(at)?));
            }
        }
        let options = UnigramOptions {
            unk_id,
            byte_fallback: trainer.byte_fallback,
            precision: Precision::F64,
            kinds: trained.pieces.iter().map(|piece| piece.kind).collect(),
            ..UnigramOptions::default()
        };
        let vocab = Vocab::from_tokens(trained.pieces.iter().map(|piece| piece.text.as_bytes()))?;
        let scores = trained.pieces.iter().map(|piece| piece.score).collect();
        let model = Unigram::new(vocab, scores, options)?;
        let decoder = decoder_of(&pipeline);
        Self::new(Parts {
            pipeline,
            model: Arc::new(model.into()),
            added,
            template: Template::default(),
            decoder,
        })
    }
}

/// `▁` is a space; that put before the text is left out again.
fn decoder_of(pipeline: &Pipeline) -> Decoder {
    let put_in = match (&pipeline.normalizer, &pipeline.pre_tokenizer) {
        (Some(normalizer), _) if normalizer.puts_space_in_front() => true,
        (_, PreTokenizer::Metaspace { prepend, .. }) => *prepend != Prepend::Never,
        (_, PreTokenizer::MetaspaceWords) => true,
        _ => false,
    };
    Decoder::ByteFallback { strip: usize::from(put_in) }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VocabFull => f.write_str("the vocabulary has the size asked for"),
            Self::NoPieces { seeds } => {
                write!(f, "no further piece was worth its place: the text holds {seeds} that could be pieces")
            }
        }
    }
}
