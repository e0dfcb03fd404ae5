//! `train_unigram`: trains a Unigram tokenizer from text or counts.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::checkpoint::Saving;
use super::corpus::{Corpus, Expected, Given};
use super::counting::{Reading, sample_options};
use super::error::entry;
use super::numbers::{
    CharacterCoverage, CheckpointSeconds, MaxLineBytes, MaxMemory, MaxPieceBytes, MaxPieceLength, MinCount,
    SampleOf, Seed, SeedSize, ShrinkingFactor, SpecialIds, SubIterations, Threads, VocabSize,
};
use super::pipeline;
use super::progress::run;
use super::report::{PyTrainReport, Trained};
use super::text::names;
use super::tokenizer::PyTokenizer;
use super::train_sentencepiece::{BOS, EOS, special_tokens};
use crate::error::{Error, Result};
use crate::normalizer::Normalizer;
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::{PreTokenizer, Prepend};
use crate::py::foreign_kwargs;
use crate::tokenizer::Tokenizer;
use crate::trainers::unigram::{Method, PieceOptions, TrainedUnigram, UnigramTrainer};

/// SentencePiece's pipeline: inserts a space before a text, writes each space as `▁`, and begins a
/// piece at each.
fn default_pipeline() -> Result<Pipeline> {
    Ok(Pipeline {
        normalizer: Some(Normalizer::from_name("sentencepiece")?),
        pre_tokenizer: PreTokenizer::Metaspace { prepend: Prepend::Never, split: true },
    })
}

fn method(name: &str) -> Result<Method> {
    match name {
        "full" => Ok(Method::Full),
        "sentencepiece" => Ok(Method::SentencePiece),
        other => Err(Error::Option {
            option: "method",
            value: other.to_owned(),
            reason: "it is 'full' or 'sentencepiece'".to_owned(),
        }),
    }
}

/// Trains a Unigram tokenizer.
///
/// The text, or counts, are given as for `train_bpe`. By default spaces become `▁`, one is inserted
/// before the text, and a piece begins at each. Options mean the same as SentencePiece's options of
/// the same names; their defaults are ours. `special_tokens` come after `unk_token`, `bos_token`
/// and `eos_token`, unless they include these; `None` leaves one out. Special tokens get the first
/// ids, or those in `special_ids`. `method="sentencepiece"` also misses the good pieces that
/// SentencePiece misses, and has the options `treat_whitespace_as_suffix` (pieces end with spaces)
/// and `allow_whitespace_only_pieces` (runs of spaces are pieces). Saved as `.model` the tokenizer
/// loads in SentencePiece, and as tokenizer.json in Hugging Face's tokenizers.
#[pyfunction]
#[pyo3(signature = (
    source = None, *more, texts = None, counts = None, vocab_size = VocabSize(8_000), special_tokens = Vec::new(),
    user_defined_symbols = Vec::new(), unk_token = Some("<unk>".to_owned()), bos_token = Some(BOS.to_owned()),
    eos_token = Some(EOS.to_owned()), special_ids = None, normalizer = None,
    pre_tokenizer = None, byte_fallback = false, character_coverage = CharacterCoverage(0.9995), required_chars = "",
    seed_size = SeedSize(1_000_000), shrinking_factor = ShrinkingFactor(0.75), sub_iterations = SubIterations(2), max_piece_length = MaxPieceLength(16),
    split_by_unicode_script = true, split_by_number = true, split_by_whitespace = true,
    split_digits = false, treat_whitespace_as_suffix = false, allow_whitespace_only_pieces = false, hard_vocab_limit = false, method = "full", format = None, invalid_utf8 = "error",
    max_line_bytes = None, max_memory = None, max_piece_bytes = None, min_count = MinCount(0), sample = None, seed = Seed(0), threads = None, checkpoint = None, resume = false,
    checkpoint_seconds = CheckpointSeconds(60.0), progress = None, **others,
))]
#[pyo3(
    text_signature = "(source=None, *, texts=None, counts=None, vocab_size=8000, special_tokens=(), user_defined_symbols=(), unk_token='<unk>', bos_token='<s>', eos_token='</s>', special_ids=None, normalizer=None, pre_tokenizer=None, byte_fallback=False, character_coverage=0.9995, required_chars='', seed_size=1000000, shrinking_factor=0.75, sub_iterations=2, max_piece_length=16, split_by_unicode_script=True, split_by_number=True, split_by_whitespace=True, split_digits=False, treat_whitespace_as_suffix=False, allow_whitespace_only_pieces=False, hard_vocab_limit=False, method='full', format=None, invalid_utf8='error', max_line_bytes=None, max_memory=None, max_piece_bytes=None, min_count=0, sample=None, seed=0, threads=None, checkpoint=None, resume=False, checkpoint_seconds=60.0, progress=None)"
)]
#[allow(clippy::too_many_arguments, reason = "2026-11: each is a keyword in Python")]
#[allow(clippy::fn_params_excessive_bools, reason = "2026-11: each is a keyword in Python")]
pub(super) fn train_unigram(
    py: Python<'_>,
    source: Option<&Bound<'_, PyAny>>,
    more: &Bound<'_, PyTuple>,
    texts: Option<&Bound<'_, PyAny>>,
    counts: Option<&Bound<'_, PyAny>>,
    vocab_size: VocabSize,
    #[pyo3(from_py_with = names)] special_tokens: Vec<String>,
    #[pyo3(from_py_with = names)] user_defined_symbols: Vec<String>,
    unk_token: Option<String>,
    bos_token: Option<String>,
    eos_token: Option<String>,
    special_ids: Option<SpecialIds>,
    normalizer: Option<&Bound<'_, PyAny>>,
    pre_tokenizer: Option<&Bound<'_, PyAny>>,
    byte_fallback: bool,
    character_coverage: CharacterCoverage,
    required_chars: &str,
    seed_size: SeedSize,
    shrinking_factor: ShrinkingFactor,
    sub_iterations: SubIterations,
    max_piece_length: MaxPieceLength,
    split_by_unicode_script: bool,
    split_by_number: bool,
    split_by_whitespace: bool,
    split_digits: bool,
    treat_whitespace_as_suffix: bool,
    allow_whitespace_only_pieces: bool,
    hard_vocab_limit: bool,
    method: &str,
    format: Option<&str>,
    invalid_utf8: &str,
    max_line_bytes: Option<MaxLineBytes>,
    max_memory: Option<MaxMemory>,
    max_piece_bytes: Option<MaxPieceBytes>,
    min_count: MinCount,
    sample: Option<SampleOf>,
    seed: Seed,
    threads: Option<Threads>,
    checkpoint: Option<PathBuf>,
    resume: bool,
    checkpoint_seconds: CheckpointSeconds,
    progress: Option<Py<PyAny>>,
    others: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyTokenizer> {
    entry(|| {
        foreign_kwargs::refuse("train_unigram", foreign_kwargs::TRAIN, Some(more), others)?;
        let method = self::method(method)?;
        let line_ends = method == Method::SentencePiece;
        let reading = Reading {
            format,
            invalid_utf8,
            shard: None,
            max_line_bytes: max_line_bytes.map(MaxLineBytes::get),
            max_memory: max_memory.map(MaxMemory::get),
            max_piece_bytes: max_piece_bytes.map(MaxPieceBytes::get),
            line_ends,
            sample: sample_options(sample, seed),
            threads: threads.map(Threads::get),
        };
        let trainer = UnigramTrainer {
            vocab_size: vocab_size.get(),
            pieces: PieceOptions {
                special_tokens: self::special_tokens(
                    [unk_token, bos_token, eos_token],
                    special_tokens,
                    user_defined_symbols,
                ),
                special_ids: special_ids.map(SpecialIds::get).unwrap_or_default().into_iter().collect(),
                byte_fallback,
                character_coverage: character_coverage.get(),
                required_chars: required_chars.chars().collect(),
                max_piece_length: max_piece_length.get(),
                split_by_unicode_script,
                split_by_number,
                split_by_whitespace,
                split_digits,
                treat_whitespace_as_suffix,
                allow_whitespace_only_pieces,
            },
            seed_size: seed_size.get(),
            shrinking_factor: shrinking_factor.get(),
            n_sub_iterations: sub_iterations.get(),
            hard_vocab_limit,
            method,
            threads: threads.map(Threads::get),
        };
        let default_pipeline = || match method {
            Method::Full => default_pipeline(),
            Method::SentencePiece => trainer.pieces.pipeline(),
        };
        // Checks options before the text is read.
        let asked = pipeline::asked(normalizer, pre_tokenizer, None, default_pipeline)?;
        let expected = Expected::of_sentencepiece(&trainer.pieces, line_ends);
        let given = Given::new(source, texts, counts, asked.as_ref(), &expected, default_pipeline)?;
        let pipeline = given.pipeline(asked.as_ref(), default_pipeline)?;
        Tokenizer::check_unigram(&trainer, &pipeline)?;
        let saving = Saving::new(checkpoint, resume, checkpoint_seconds)?;
        let mut checkpoint = saving.open(py, |dir, resume| trainer.checkpoint(dir, resume))?;
        let Corpus { counts, seconds, sources } = given.count(
            py,
            (&reading, min_count.get()),
            &expected,
            &pipeline,
            checkpoint.as_mut(),
            progress.as_ref(),
        )?;
        let started = Instant::now();
        let (trained, tokenizer): (TrainedUnigram, Tokenizer) = run(py, progress.as_ref(), |progress| {
            let trained = match &mut checkpoint {
                None => trainer.train(counts.iter(), progress)?,
                Some(checkpoint) => trainer.train_resumable(&counts, checkpoint, progress)?,
            };
            let tokenizer = Tokenizer::from_unigram(&trainer, counts.pipeline().clone(), &trained)?;
            Ok((trained, tokenizer))
        })?;
        let report = PyTrainReport {
            stop: trained.stop.to_string(),
            trained: Trained::Pieces(tokenizer.vocab_size()),
            dropped: trained.dropped.iter().map(|(c, count)| (c.to_string(), *count)).collect(),
            ..PyTrainReport::of_counts(&counts, sources, (seconds, started), checkpoint.as_ref())
        };
        Ok(PyTokenizer::new(Arc::new(tokenizer), Some(Py::new(py, report)?)))
    })
}
