//! `train_bpe(method="sentencepiece")`: trains pieces with scores.

use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;

use super::checkpoint::Saving;
use super::corpus::{Corpus, Expected, Given};
use super::counting::Reading;
use super::progress::run;
use super::report::{PyTrainReport, Trained};
use super::tokenizer::PyTokenizer;
use crate::error::{Error, Result};
use crate::pipeline::Pipeline;
use crate::tokenizer::Tokenizer;
use crate::trainers::bpe::{MergeStop, PieceKind, PieceOptions, ScoredTrained, SentencePieceBpeTrainer};
use crate::vocab::TokenId;

/// The options that only this method has.
pub(super) struct GivenOptions {
    pub character_coverage: Option<f64>,
    pub required_chars: Option<String>,
    pub user_defined_symbols: Option<Vec<String>>,
    /// `<s>` if not given.
    pub bos_token: Option<String>,
    /// `</s>` if not given.
    pub eos_token: Option<String>,
    pub special_ids: Option<Vec<(String, TokenId)>>,
    pub max_piece_length: Option<usize>,
    pub split_by_unicode_script: Option<bool>,
    pub split_by_number: Option<bool>,
    pub split_by_whitespace: Option<bool>,
    pub split_digits: Option<bool>,
    pub treat_whitespace_as_suffix: Option<bool>,
    pub allow_whitespace_only_pieces: Option<bool>,
}

/// The default tokens before and after a text.
pub(super) const BOS: &str = "<s>";
pub(super) const EOS: &str = "</s>";

/// Special tokens with their kinds. The unknown token and the tokens before and after a text come
/// first unless they are listed; `None` leaves one out.
pub(super) fn special_tokens(
    named: [Option<String>; 3],
    listed: Vec<String>,
    user_defined: Vec<String>,
) -> Vec<(String, PieceKind)> {
    let unknown = named[0].clone();
    let kind = |token: &String| {
        if Some(token) == unknown.as_ref() { PieceKind::Unknown } else { PieceKind::Control }
    };
    let first =
        named.into_iter().flatten().filter(|token| !listed.contains(token) && !user_defined.contains(token));
    let mut tokens: Vec<(String, PieceKind)> = first
        .chain(listed.iter().cloned())
        .map(|token| {
            let kind = kind(&token);
            (token, kind)
        })
        .collect();
    tokens.extend(user_defined.into_iter().map(|token| (token, PieceKind::UserDefined)));
    tokens
}

/// Refuses an option that only the other method has.
pub(super) fn refuse_if(is_given: bool, option: &'static str, other: &str) -> Result<()> {
    if !is_given {
        return Ok(());
    }
    Err(Error::Option {
        option,
        value: "given".to_owned(),
        reason: format!("it belongs to method='{other}'; leave it out, or train by that method"),
    })
}

impl GivenOptions {
    /// Refuses all these options, for the other method.
    pub(super) fn refuse_any(&self) -> Result<()> {
        for (option, is_given) in [
            ("character_coverage", self.character_coverage.is_some()),
            ("required_chars", self.required_chars.is_some()),
            ("user_defined_symbols", self.user_defined_symbols.is_some()),
            ("bos_token", self.bos_token.as_deref() != Some(BOS)),
            ("eos_token", self.eos_token.as_deref() != Some(EOS)),
            ("special_ids", self.special_ids.is_some()),
            ("max_piece_length", self.max_piece_length.is_some()),
            ("split_by_unicode_script", self.split_by_unicode_script.is_some()),
            ("split_by_number", self.split_by_number.is_some()),
            ("split_by_whitespace", self.split_by_whitespace.is_some()),
            ("split_digits", self.split_digits.is_some()),
            ("treat_whitespace_as_suffix", self.treat_whitespace_as_suffix.is_some()),
            ("allow_whitespace_only_pieces", self.allow_whitespace_only_pieces.is_some()),
        ] {
            refuse_if(is_given, option, "sentencepiece")?;
        }
        Ok(())
    }

    /// The trainer with these options.
    pub(super) fn trainer(
        self,
        vocab_size: usize,
        min_frequency: u64,
        unk_token: String,
        special_tokens: Option<Vec<String>>,
        byte_fallback: bool,
        threads: Option<usize>,
    ) -> SentencePieceTraining {
        let defaults = PieceOptions::default();
        let named = [Some(unk_token), self.bos_token, self.eos_token];
        let special = special_tokens.unwrap_or_default();
        let tokens = self::special_tokens(named, special, self.user_defined_symbols.unwrap_or_default());
        let required = self.required_chars.map(|chars| chars.chars().collect());
        SentencePieceTraining(SentencePieceBpeTrainer {
            vocab_size,
            min_frequency,
            pieces: PieceOptions {
                special_tokens: tokens,
                special_ids: self.special_ids.unwrap_or_default().into_iter().collect(),
                byte_fallback,
                character_coverage: self.character_coverage.unwrap_or(defaults.character_coverage),
                required_chars: required.unwrap_or_default(),
                max_piece_length: self.max_piece_length.unwrap_or(defaults.max_piece_length),
                split_by_unicode_script: self
                    .split_by_unicode_script
                    .unwrap_or(defaults.split_by_unicode_script),
                split_by_number: self.split_by_number.unwrap_or(defaults.split_by_number),
                split_by_whitespace: self.split_by_whitespace.unwrap_or(defaults.split_by_whitespace),
                split_digits: self.split_digits.unwrap_or(defaults.split_digits),
                treat_whitespace_as_suffix: self.treat_whitespace_as_suffix.unwrap_or(false),
                allow_whitespace_only_pieces: self.allow_whitespace_only_pieces.unwrap_or(false),
            },
            threads,
        })
    }
}

/// A trainer that still needs text.
pub(super) struct SentencePieceTraining(SentencePieceBpeTrainer);

impl SentencePieceTraining {
    /// The default pipeline: inserts a space before a text, writes each space as `▁`, and begins a
    /// piece at each; or as the options for spaces say.
    pub(super) fn default_pipeline(&self) -> Result<Pipeline> {
        self.0.pieces.pipeline()
    }

    /// The counts that equal the text.
    pub(super) fn expected_counts(&self) -> Expected {
        Expected::of_sentencepiece(&self.0.pieces, true)
    }

    /// Trains and builds the tokenizer with its report.
    pub(super) fn train(
        &self,
        py: Python<'_>,
        given: Given<'_>,
        asked: Option<&Pipeline>,
        expected: &Expected,
        (reading, min_count): (&Reading<'_>, u64),
        (saving, progress): (Saving, Option<&Py<PyAny>>),
    ) -> PyResult<PyTokenizer> {
        let Self(trainer) = self;
        let pipeline = given.pipeline(asked, || self.default_pipeline())?;
        // Checks options before the text is read.
        Tokenizer::check_sentencepiece_bpe(trainer, &pipeline)?;
        let mut checkpoint = saving.open(py, |dir, resume| trainer.checkpoint(dir, resume))?;
        let Corpus { counts, seconds, sources } =
            given.count(py, (reading, min_count), expected, &pipeline, checkpoint.as_mut(), progress)?;
        let started = Instant::now();
        let (trained, tokenizer): (ScoredTrained, Tokenizer) = run(py, progress, |progress| {
            let trained = match &mut checkpoint {
                None => trainer.train(counts.iter(), progress)?,
                Some(checkpoint) => trainer.train_resumable(&counts, checkpoint, progress)?,
            };
            let tokenizer = Tokenizer::from_sentencepiece_bpe(trainer, counts.pipeline(), &trained)?;
            Ok((trained, tokenizer))
        })?;
        let report = PyTrainReport {
            stop: stop_text(trained.stop),
            trained: Trained::Merges(trained.n_merges),
            dropped: trained.dropped.iter().map(|(c, count)| (c.to_string(), *count)).collect(),
            ..PyTrainReport::of_counts(&counts, sources, (seconds, started), checkpoint.as_ref())
        };
        Ok(PyTokenizer::new(Arc::new(tokenizer), Some(Py::new(py, report)?)))
    }
}

/// The reason why training ended, and whether SentencePiece would have continued.
fn stop_text(stop: MergeStop) -> String {
    match stop {
        MergeStop::NoPairs => {
            format!("{stop}; SentencePiece continues with pairs of count 0, which no text needs")
        }
        other => other.to_string(),
    }
}
