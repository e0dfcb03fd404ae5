//! `train_wordpiece`: trains a WordPiece tokenizer from text or counts.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::checkpoint::Saving;
use super::corpus::{Corpus, Expected, Given};
use super::counting::{Reading, sample_options};
use super::error::entry;
use super::numbers::{
    CheckpointSeconds, LimitAlphabet, MaxInputChars, MaxLineBytes, MaxMemory, MaxPieceBytes, MaxTokenLength,
    MinCount, MinFrequency, SampleOf, Seed, Threads, VocabSize,
};
use super::pipeline;
use super::progress::run;
use super::report::{PyTrainReport, Trained};
use super::text::names;
use super::tokenizer::PyTokenizer;
use crate::error::Result;
use crate::models::wordpiece::WordPieceOptions;
use crate::normalizer::{Bert, Normalizer};
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::PreTokenizer;
use crate::py::foreign_kwargs;
use crate::tokenizer::Tokenizer;
use crate::trainers::wordpiece::{Score, TrainedMerges, WordPieceTrainer};

/// Trains a WordPiece tokenizer.
///
/// The text, or counts, are given as for `train_bpe`. By default text is cleaned up and split as
/// for BERT in Hugging Face's tokenizers, in lower case if `lowercase`. `score` decides which pair
/// is merged first: `"frequency"`, the default and the rule of Hugging Face's trainer,
/// `"likelihood"` or `"pmi"`. `unk_token` becomes a special token unless it is in `special_tokens`;
/// if `[CLS]` and `[SEP]` are special tokens, they are added around a text. Every token has fewer
/// than `max_token_length` characters, not counting the prefix. (Two characters may always be
/// merged.)
#[pyfunction]
#[pyo3(signature = (
    source = None, *more, texts = None, counts = None, vocab_size = VocabSize(30_522), score = "frequency", lowercase = true,
    min_frequency = MinFrequency(0),
    special_tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(str::to_owned).to_vec(),
    unk_token = "[UNK]", normalizer = None, pre_tokenizer = None, initial_alphabet = "",
    limit_alphabet = None, max_token_length = None, continuing_subword_prefix = "##",
    max_input_chars_per_word = MaxInputChars(100), format = None, invalid_utf8 = "error", max_line_bytes = None, max_memory = None,
    max_piece_bytes = None, min_count = MinCount(0), sample = None, seed = Seed(0), threads = None, checkpoint = None, resume = false,
    checkpoint_seconds = CheckpointSeconds(60.0), progress = None, **others,
))]
#[pyo3(
    text_signature = "(source=None, *, texts=None, counts=None, vocab_size=30522, score='frequency', lowercase=True, min_frequency=0, special_tokens=('[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'), unk_token='[UNK]', normalizer=None, pre_tokenizer=None, initial_alphabet='', limit_alphabet=None, max_token_length=None, continuing_subword_prefix='##', max_input_chars_per_word=100, format=None, invalid_utf8='error', max_line_bytes=None, max_memory=None, max_piece_bytes=None, min_count=0, sample=None, seed=0, threads=None, checkpoint=None, resume=False, checkpoint_seconds=60.0, progress=None)"
)]
#[allow(clippy::too_many_arguments, reason = "2026-11: each is a keyword in Python")]
pub(super) fn train_wordpiece(
    py: Python<'_>,
    source: Option<&Bound<'_, PyAny>>,
    more: &Bound<'_, PyTuple>,
    texts: Option<&Bound<'_, PyAny>>,
    counts: Option<&Bound<'_, PyAny>>,
    vocab_size: VocabSize,
    score: &str,
    lowercase: bool,
    min_frequency: MinFrequency,
    #[pyo3(from_py_with = names)] mut special_tokens: Vec<String>,
    unk_token: &str,
    normalizer: Option<&Bound<'_, PyAny>>,
    pre_tokenizer: Option<&Bound<'_, PyAny>>,
    initial_alphabet: &str,
    limit_alphabet: Option<LimitAlphabet>,
    max_token_length: Option<MaxTokenLength>,
    continuing_subword_prefix: &str,
    max_input_chars_per_word: MaxInputChars,
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
        foreign_kwargs::refuse("train_wordpiece", foreign_kwargs::TRAIN, Some(more), others)?;
        let default = || -> Result<Pipeline> {
            let normalizer = Normalizer::Bert(Bert { lowercase, ..Bert::default() });
            Ok(Pipeline { normalizer: Some(normalizer), pre_tokenizer: PreTokenizer::Bert })
        };
        let asked = pipeline::asked(normalizer, pre_tokenizer, None, default)?;
        let reading = Reading {
            format,
            invalid_utf8,
            shard: None,
            max_line_bytes: max_line_bytes.map(MaxLineBytes::get),
            max_memory: max_memory.map(MaxMemory::get),
            max_piece_bytes: max_piece_bytes.map(MaxPieceBytes::get),
            line_ends: false,
            sample: sample_options(sample, seed),
            threads: threads.map(Threads::get),
        };
        if !special_tokens.iter().any(|token| token == unk_token) {
            special_tokens.insert(0, unk_token.to_owned());
        }
        let trainer = WordPieceTrainer {
            vocab_size: vocab_size.get(),
            min_frequency: min_frequency.get(),
            special_tokens,
            score: Score::from_str(score)?,
            initial_alphabet: initial_alphabet.chars().collect(),
            limit_alphabet: limit_alphabet.map(LimitAlphabet::get),
            continuing_subword_prefix: continuing_subword_prefix.to_owned(),
            max_token_length: max_token_length.map(MaxTokenLength::get),
            threads: threads.map(Threads::get),
        };
        let options = WordPieceOptions {
            unk_token: unk_token.to_owned(),
            continuing_subword_prefix: continuing_subword_prefix.to_owned(),
            max_input_chars_per_word: max_input_chars_per_word.get(),
            ..WordPieceOptions::default()
        };
        // Checks options before the text is read.
        let cased = if lowercase { "" } else { "-cased" };
        let expected = Expected {
            count_options: format!("normalizer='hf-bert{cased}', pre_tokenizer='bert'"),
            any_splitter: false,
        };
        let given = Given::new(source, texts, counts, asked.as_ref(), &expected, default)?;
        let pipeline = given.pipeline(asked.as_ref(), default)?;
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
        let (trained, tokenizer): (TrainedMerges, Tokenizer) = run(py, progress.as_ref(), |progress| {
            let trained = match &mut checkpoint {
                None => trainer.train(counts.iter(), progress)?,
                Some(checkpoint) => trainer.train_resumable(&counts, checkpoint, progress)?,
            };
            let tokenizer = Tokenizer::from_wordpiece(options, counts.pipeline().clone(), &trained)?;
            Ok((trained, tokenizer))
        })?;
        let spelled = |symbol: &[u8]| String::from_utf8_lossy(symbol).into_owned();
        let report = PyTrainReport {
            stop: trained.stop.to_string(),
            trained: Trained::Merges(trained.merges.len()),
            dropped: trained.dropped.iter().map(|(symbol, count)| (spelled(symbol), *count)).collect(),
            ..PyTrainReport::of_counts(&counts, sources, (seconds, started), checkpoint.as_ref())
        };
        Ok(PyTokenizer::new(Arc::new(tokenizer), Some(Py::new(py, report)?)))
    })
}
