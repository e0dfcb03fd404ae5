//! From what the Unigram trainer gives to a tokenizer.
//!
//! Not a trainer: which pieces and scores is the affair of
//! [`crate::trainers::unigram`].

use std::fmt;
use std::sync::Arc;

use super::{CallDefaults, Parts, Tokenizer};
use crate::corpus::word_counts::WordCounts;
use crate::error::{Error, Result};
use crate::models::unigram::{PieceKind, Precision, Unigram, UnigramOptions};
use crate::normalizer::{Normalizer, SentencePiece, SentencePieceOptions};
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::{PreTokenizer, Prepend};
use crate::progress::Progress;
use crate::tokenizer::added_tokens::AddedToken;
use crate::tokenizer::decoder::Decoder;
use crate::tokenizer::template::Template;
use crate::trainers::unigram::{Method, TrainedUnigram, UnigramStop, UnigramTrainer};
use crate::vocab::{TokenId, Vocab};

impl Tokenizer {
    /// Trains a Unigram tokenizer on counted pieces, as [`Tokenizer::train_bpe`].
    ///
    /// # Errors
    /// As [`UnigramTrainer::train`] and [`Tokenizer::check_unigram`].
    pub fn train_unigram(
        trainer: &UnigramTrainer,
        counts: &WordCounts,
        progress: &mut Progress,
    ) -> Result<Self> {
        Self::check_unigram(trainer, counts.pipeline())?;
        let trained = trainer.train(counts.iter(), progress)?;
        Self::from_unigram(trainer, counts.pipeline().clone(), &trained)
    }

    /// Refuses text that is cut where pieces would have to continue: at spaces which
    /// pieces may hold, or before the ones at the end of words.
    ///
    /// # Errors
    /// [`Error::Option`] naming what to pass instead.
    pub fn check_unigram(trainer: &UnigramTrainer, pipeline: &Pipeline) -> Result<()> {
        let pieces = &trainer.pieces;
        let of_spaces = [
            ("treat_whitespace_as_suffix", pieces.treat_whitespace_as_suffix),
            ("allow_whitespace_only_pieces", pieces.allow_whitespace_only_pieces),
        ];
        if let Some((option, _)) = of_spaces.into_iter().find(|(_, is_set)| *is_set) {
            let reason = match (trainer.method, pieces.normalizer_of(pipeline)) {
                (Method::SentencePiece, Some(_)) => return Ok(()),
                (Method::Full, _) => {
                    "it belongs to the method `sentencepiece`; leave it out, or train by that method"
                }
                _ => {
                    "it needs SentencePiece's normalizer and its own way of cutting: leave out pre_tokenizer and \
                      counts, and pass a SentencePiece normalizer whose `treat_whitespace_as_suffix` has the same \
                      value, or no normalizer"
                }
            };
            return Err(Error::Option { option, value: "True".into(), reason: reason.into() });
        }
        if let Some(normalizer) = &pipeline.normalizer
            && normalizer.puts_space_behind()
        {
            return Err(Error::Option {
                option: "normalizer",
                value: normalizer.name().unwrap_or_else(|| "this one".into()),
                reason: "it writes spaces behind words, and pieces begin with them: pass \
                         the normalizer `sentencepiece` or `sentencepiece-collapse`"
                    .into(),
            });
        }
        let cuts = matches!(
            pipeline.pre_tokenizer,
            PreTokenizer::Metaspace { split: true, .. } | PreTokenizer::MetaspaceWords
        );
        if trainer.pieces.split_by_whitespace || !cuts {
            return Ok(());
        }
        Err(Error::Option {
            option: "split_by_whitespace",
            value: "False".into(),
            reason: format!(
                "the pre-tokenizer {} cuts at each space; pass the pre-tokenizer `metaspace-never-unsplit`, \
                 or `bytes` with a normalizer that writes spaces as ▁",
                pipeline.pre_tokenizer.name()
            ),
        })
    }

    /// Makes a tokenizer of what `trainer` gave. Scores are summed in 64 bits,
    /// so that tokenizer.json means the same to Hugging Face; with
    /// [`Method::SentencePiece`] the tokenizer is that of SentencePiece's file, and sums in 32.
    ///
    /// # Errors
    /// As [`Unigram::new`].
    pub fn from_unigram(
        trainer: &UnigramTrainer,
        mut pipeline: Pipeline,
        trained: &TrainedUnigram,
    ) -> Result<Self> {
        if trainer.method == Method::SentencePiece
            && let Some(tokenizer) = Self::from_sentencepiece_unigram(trainer, &pipeline, trained)?
        {
            return Ok(tokenizer);
        }
        shield(&mut pipeline, trained)?;
        let id =
            |at: usize| TokenId::try_from(at).map_err(|_| Error::Internal(format!("id {at} is not a u32")));
        let mut added = Vec::new();
        let mut unk_id = None;
        for (at, piece) in trained.pieces.iter().enumerate() {
            if piece.kind == PieceKind::Unknown {
                unk_id = Some(id(at)?);
            }
            if matches!(piece.kind, PieceKind::Unknown | PieceKind::Control) {
                added.push(AddedToken::special(piece.text.clone(), id(at)?));
            }
        }
        let options = UnigramOptions {
            unk_id,
            byte_fallback: trainer.pieces.byte_fallback,
            precision: Precision::F64,
            kinds: trained.pieces.iter().map(|piece| piece.kind).collect(),
            ..UnigramOptions::default()
        };
        let vocab = Vocab::from_tokens(trained.pieces.iter().map(|piece| piece.text.as_bytes()))?;
        let scores = trained.pieces.iter().map(|piece| piece.score).collect();
        let model = Unigram::new(vocab, scores, options)?;
        let decoder = decoder_of(&pipeline, trainer.pieces.byte_fallback);
        Self::new(Parts {
            pipeline,
            model: Arc::new(model.into()),
            added,
            template: Template::default(),
            decoder,
            defaults: CallDefaults::default(),
        })
    }
}

/// Keeps SentencePiece's rules off the user's symbols, as its file would.
fn shield(pipeline: &mut Pipeline, trained: &TrainedUnigram) -> Result<()> {
    if let Some(Normalizer::SentencePiece(normalizer)) = &mut pipeline.normalizer {
        let symbols = trained.pieces.iter().filter(|piece| piece.kind == PieceKind::UserDefined);
        let user_defined: Vec<String> = symbols.map(|piece| piece.text.clone()).collect();
        if !user_defined.is_empty() {
            let options = normalizer.options().clone();
            **normalizer = SentencePiece::new(SentencePieceOptions { user_defined, ..options })?;
        }
    }
    Ok(())
}

/// `▁` is a space; that put before the text is left out again. Only where bytes
/// are tokens is the text `<0x41>` a byte.
fn decoder_of(pipeline: &Pipeline, byte_fallback: bool) -> Decoder {
    let put_in = match (&pipeline.normalizer, &pipeline.pre_tokenizer) {
        (Some(normalizer), _) if normalizer.puts_space_in_front() => true,
        (_, PreTokenizer::Metaspace { prepend, .. }) => *prepend != Prepend::Never,
        (_, PreTokenizer::MetaspaceWords) => true,
        _ => false,
    };
    let strip = usize::from(put_in);
    if byte_fallback { Decoder::ByteFallback { strip } } else { Decoder::Stripped { strip } }
}

impl fmt::Display for UnigramStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VocabFull => f.write_str("the vocabulary has the size asked for"),
            Self::NoPieces { seeds } => {
                write!(
                    f,
                    "no further piece makes the text more likely: it holds {seeds} that could be pieces"
                )
            }
        }
    }
}
