//! `train_bpe`: trains a BPE tokenizer from text or counts.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use super::checkpoint::Saving;
use super::corpus::{Corpus, Expected, Given};
use super::counting::{Reading, sample_options};
use super::error::entry;
use super::numbers::{
    CharacterCoverage, CheckpointSeconds, LimitAlphabet, MaxLineBytes, MaxMemory, MaxPieceBytes,
    MaxPieceLength, MaxSuperwordWords, MaxTokenLength, MinCount, MinFrequency, SampleOf, Seed, SpecialIds,
    SuperwordsFrom, Threads, VocabSize, given,
};
use super::paths::is_path;
use super::pipeline;
use super::progress::run;
use super::report::{PyTrainReport, Trained};
use super::superwords;
use super::text::maybe_names;
use super::tokenizer::PyTokenizer;
use super::train_sentencepiece::{self, GivenOptions};
use crate::corpus::word_counts::SuperwordCounts;
use crate::error::{Error, Result};
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::PreTokenizer;
use crate::py::foreign_kwargs;
use crate::tokenizer::Tokenizer;
use crate::trainers::bpe::{Alphabet, BpeTrainer, TieBreak, TrainedMerges, Unit};
use crate::trainers::checkpoint::Checkpoint;
use crate::trainers::superwords::{SuperwordRule, SuperwordTraining};

pub(super) fn default_pipeline() -> Result<Pipeline> {
    Ok(Pipeline::new(PreTokenizer::from_name("gpt2")?))
}

/// Takes `initial_alphabet`.
pub(super) fn alphabet(object: Option<&Bound<'_, PyAny>>, unit: Unit) -> PyResult<Alphabet> {
    let Some(object) = object else {
        return Ok(match unit {
            Unit::Bytes => Alphabet::ByteLevel,
            Unit::Chars => Alphabet::Seen,
        });
    };
    let refuse = |value: &str, reason: &str| {
        let (value, reason) = (value.to_owned(), reason.to_owned());
        PyErr::from(Error::Option { option: "initial_alphabet", value, reason })
    };
    if let Ok(name) = object.cast::<PyString>() {
        return match name.to_str()? {
            "bytes" => Ok(Alphabet::ByteLevel),
            "none" => Ok(Alphabet::Seen),
            other => Err(refuse(other, "it is 'bytes', 'none' or a list of characters")),
        };
    }
    let mut chars = Vec::new();
    for item in object.try_iter()? {
        let item = item?;
        let text: Cow<'_, str> = item.extract()?;
        let mut found = text.chars();
        match (found.next(), found.next()) {
            (Some(c), None) => chars.push(c),
            _ => return Err(refuse(&text, "each item is one character")),
        }
    }
    Ok(Alphabet::Chars(chars))
}

/// Takes `extend`: a tokenizer, or the path of one.
fn base_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTokenizer>> {
    if let Ok(base) = object.cast::<PyTokenizer>() {
        return Ok(base.clone());
    }
    if !is_path(object)? {
        let given = given(object)?;
        return Err(PyTypeError::new_err(format!("extend is a Tokenizer or the path of one, not {given}")));
    }
    let read = object.py().get_type::<PyTokenizer>().call_method1("from_file", (object,))?;
    Ok(read.cast_into::<PyTokenizer>()?)
}

/// Takes `unit`. The default is bytes, but characters if `▁` marks the spaces, if there is a byte
/// fallback, or if the base has them.
pub(super) fn unit(
    name: Option<&str>,
    pipeline: &Pipeline,
    byte_fallback: bool,
    base: Option<&Tokenizer>,
) -> PyResult<Unit> {
    match (name, base) {
        (Some("bytes"), _) => Ok(Unit::Bytes),
        (Some("chars"), _) => Ok(Unit::Chars),
        (Some(other), _) => Err(Error::Option {
            option: "unit",
            value: other.to_owned(),
            reason: "it is 'bytes' or 'chars'".to_owned(),
        }
        .into()),
        (None, Some(base)) => Ok(base.model().unit()),
        (None, None) => {
            let marks_blanks = matches!(pipeline.pre_tokenizer, PreTokenizer::Metaspace { .. });
            Ok(if byte_fallback || marks_blanks { Unit::Chars } else { Unit::Bytes })
        }
    }
}

fn tie_break(name: &str) -> PyResult<TieBreak> {
    match name {
        "huggingface" => Ok(TieBreak::HuggingFace),
        "bytes" => Ok(TieBreak::Bytes),
        "sentencepiece" => Ok(TieBreak::SentencePiece),
        other => Err(Error::Option {
            option: "tie_break",
            value: other.to_owned(),
            reason: "it is 'huggingface', 'bytes' or 'sentencepiece'".to_owned(),
        }
        .into()),
    }
}

/// Trains and builds the tokenizer with its report.
fn train(
    py: Python<'_>,
    trainer: &BpeTrainer,
    unk_token: Option<&str>,
    base: Option<&Tokenizer>,
    corpus: Corpus,
    mut checkpoint: Option<Checkpoint>,
    progress: Option<&Py<PyAny>>,
) -> PyResult<PyTokenizer> {
    let Corpus { counts, seconds, sources } = corpus;
    let started = Instant::now();
    let (trained, tokenizer): (TrainedMerges, Tokenizer) = run(py, progress, |progress| {
        let trained = match &mut checkpoint {
            None => trainer.train(counts.iter(), progress)?,
            Some(checkpoint) => trainer.train_resumable(&counts, checkpoint, progress)?,
        };
        let pipeline = counts.pipeline().clone();
        let tokenizer = Tokenizer::from_trained(trainer, unk_token, pipeline, &trained, base)?;
        Ok((trained, tokenizer))
    })?;
    let spelled = |bytes: &[u8]| match trainer.unit {
        Unit::Bytes => crate::text::byte_level::to_chars(bytes),
        Unit::Chars => String::from_utf8_lossy(bytes).into_owned(),
    };
    let report = PyTrainReport {
        stop: trained.stop.to_string(),
        trained: Trained::Merges(trained.merges.len()),
        dropped: trained.dropped.iter().map(|(symbol, count)| (spelled(symbol), *count)).collect(),
        ..PyTrainReport::of_counts(&counts, sources, (seconds, started), checkpoint.as_ref())
    };
    Ok(PyTokenizer::new(Arc::new(tokenizer), Some(Py::new(py, report)?)))
}

/// Trains a BPE tokenizer.
///
/// The text: `source` is a path, or a list of paths; `texts`, or an iterator, series, array or
/// Arrow column as `source`, is text in memory; or `counts`, a `WordCounts` or a mapping of pieces
/// to counts. Equal content gives the same tokenizer, however it is passed.
///
/// By default the ids are exactly those of Hugging Face's `BpeTrainer` with
/// `ByteLevel(add_prefix_space=False)` and its whole alphabet. `extend` keeps the ids and the
/// pre-tokenizer of a base, a `Tokenizer` or the path of one. `unk_token` becomes the first special token unless it is in
/// `special_tokens`.
///
/// Every token has fewer than `max_token_length` symbols, which are bytes, or characters with
/// `unit="chars"`. (Two initial symbols may always be merged.)
///
/// `method="sentencepiece"` trains as SentencePiece does: over characters, of which
/// `character_coverage` is kept (0.9995), with `▁` for a space, its tie rule, its rules for pieces,
/// and the special tokens `<unk>` (`unk_token`), `<s>` (`bos_token`), `</s>` (`eos_token`) before
/// those of `special_tokens`. They get the first ids, or those in `special_ids`. Pieces have
/// scores instead of merges: saved as `.model`, the tokenizer loads in SentencePiece. Options that
/// belong to one method are refused with the other.
///
/// Superwords are tokens of several words. With `superwords_from`, merging continues across pieces
/// once the vocabulary has that many tokens (SuperBPE); with `superwords="auto"` pieces of one token
/// each are joined as soon as they occur more often than any other pair (BoundlessBPE).
/// A superword has at most `max_superword_words` words (4), and crosses no full stop or colon that a
/// space follows (`superword_rule="sentences"`), or only no line feed (`"lines"`), or only no number and
/// no end of a document (`"documents"`). The text is read three times.
///
/// With `checkpoint`, a folder, training saves how far it is every `checkpoint_seconds`, or less
/// often if saving takes more than 2 % of the time, and when it is interrupted. With `resume` it
/// continues there, also after a kill, and ends with the same tokenizer as without a break; if
/// nothing is saved, it begins. Options and text must be the same, apart from `threads` and
/// `max_memory`. Files are cut as by `plan_shards`, and parts that were counted are not counted
/// again if counting took that long; text in memory is. The folder stays; `remove_checkpoint`
/// deletes it.
#[pyfunction]
#[pyo3(signature = (
    source = None, *more, texts = None, counts = None, vocab_size = VocabSize(32_000), min_frequency = MinFrequency(0), special_tokens = None,
    normalizer = None, pre_tokenizer = None, initial_alphabet = None, limit_alphabet = None, max_token_length = None,
    continuing_subword_prefix = None, end_of_word_suffix = None, byte_fallback = false, unit = None,
    unk_token = None, bos_token = Some(train_sentencepiece::BOS.to_owned()), eos_token = Some(train_sentencepiece::EOS.to_owned()),
    special_ids = None, tie_break = None, extend = None, method = "merges", character_coverage = None,
    required_chars = None, user_defined_symbols = None, max_piece_length = None, split_by_unicode_script = None,
    split_by_number = None, split_by_whitespace = None, split_digits = None, treat_whitespace_as_suffix = None,
    allow_whitespace_only_pieces = None, format = None, invalid_utf8 = "error",
    max_line_bytes = None, max_memory = None, max_piece_bytes = None, min_count = MinCount(0), sample = None, seed = Seed(0), threads = None,
    superwords = None, superwords_from = None, max_superword_words = None, superword_rule = None, checkpoint = None, resume = false,
    checkpoint_seconds = CheckpointSeconds(60.0), progress = None, **others,
))]
#[pyo3(
    text_signature = "(source=None, *, texts=None, counts=None, vocab_size=32000, min_frequency=0, special_tokens=None, normalizer=None, pre_tokenizer=None, initial_alphabet=None, limit_alphabet=None, max_token_length=None, continuing_subword_prefix=None, end_of_word_suffix=None, byte_fallback=False, unit=None, unk_token=None, bos_token='<s>', eos_token='</s>', special_ids=None, tie_break=None, extend=None, method='merges', character_coverage=None, required_chars=None, user_defined_symbols=None, max_piece_length=None, split_by_unicode_script=None, split_by_number=None, split_by_whitespace=None, split_digits=None, treat_whitespace_as_suffix=None, allow_whitespace_only_pieces=None, format=None, invalid_utf8='error', max_line_bytes=None, max_memory=None, max_piece_bytes=None, min_count=0, sample=None, seed=0, threads=None, superwords=None, superwords_from=None, max_superword_words=None, superword_rule=None, checkpoint=None, resume=False, checkpoint_seconds=60.0, progress=None)"
)]
#[allow(clippy::too_many_arguments, reason = "2026-11: each is a keyword in Python")]
pub(super) fn train_bpe(
    py: Python<'_>,
    source: Option<&Bound<'_, PyAny>>,
    more: &Bound<'_, PyTuple>,
    texts: Option<&Bound<'_, PyAny>>,
    counts: Option<&Bound<'_, PyAny>>,
    vocab_size: VocabSize,
    min_frequency: MinFrequency,
    #[pyo3(from_py_with = maybe_names)] special_tokens: Option<Vec<String>>,
    normalizer: Option<&Bound<'_, PyAny>>,
    pre_tokenizer: Option<&Bound<'_, PyAny>>,
    initial_alphabet: Option<&Bound<'_, PyAny>>,
    limit_alphabet: Option<LimitAlphabet>,
    max_token_length: Option<MaxTokenLength>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    byte_fallback: bool,
    unit: Option<&str>,
    unk_token: Option<String>,
    bos_token: Option<String>,
    eos_token: Option<String>,
    special_ids: Option<SpecialIds>,
    tie_break: Option<&str>,
    extend: Option<&Bound<'_, PyAny>>,
    method: &str,
    character_coverage: Option<CharacterCoverage>,
    required_chars: Option<String>,
    #[pyo3(from_py_with = maybe_names)] user_defined_symbols: Option<Vec<String>>,
    max_piece_length: Option<MaxPieceLength>,
    split_by_unicode_script: Option<bool>,
    split_by_number: Option<bool>,
    split_by_whitespace: Option<bool>,
    split_digits: Option<bool>,
    treat_whitespace_as_suffix: Option<bool>,
    allow_whitespace_only_pieces: Option<bool>,
    format: Option<&str>,
    invalid_utf8: &str,
    max_line_bytes: Option<MaxLineBytes>,
    max_memory: Option<MaxMemory>,
    max_piece_bytes: Option<MaxPieceBytes>,
    min_count: MinCount,
    sample: Option<SampleOf>,
    seed: Seed,
    threads: Option<Threads>,
    superwords: Option<&str>,
    superwords_from: Option<SuperwordsFrom>,
    max_superword_words: Option<MaxSuperwordWords>,
    superword_rule: Option<&str>,
    checkpoint: Option<PathBuf>,
    resume: bool,
    checkpoint_seconds: CheckpointSeconds,
    progress: Option<Py<PyAny>>,
    others: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyTokenizer> {
    entry(|| {
        foreign_kwargs::refuse("train_bpe", foreign_kwargs::TRAIN, Some(more), others)?;
        let text = superwords::Text { source, texts };
        let mut superword_options =
            superwords::options(superwords, superwords_from, max_superword_words, superword_rule)?;
        if superword_options.is_some() {
            text.check()?;
        }
        let saving = Saving::new(checkpoint, resume, checkpoint_seconds)?;
        let line_ends = method == "sentencepiece";
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
        let pieces = GivenOptions {
            character_coverage: character_coverage.map(CharacterCoverage::get),
            required_chars,
            user_defined_symbols,
            bos_token,
            eos_token,
            special_ids: special_ids.map(SpecialIds::get),
            max_piece_length: max_piece_length.map(MaxPieceLength::get),
            split_by_unicode_script,
            split_by_number,
            split_by_whitespace,
            split_digits,
            treat_whitespace_as_suffix,
            allow_whitespace_only_pieces,
        };
        match method {
            "merges" => pieces.refuse_any()?,
            "sentencepiece" => {
                for (option, is_given) in [
                    ("initial_alphabet", initial_alphabet.is_some()),
                    ("limit_alphabet", limit_alphabet.is_some()),
                    ("max_token_length", max_token_length.is_some()),
                    ("continuing_subword_prefix", continuing_subword_prefix.is_some()),
                    ("end_of_word_suffix", end_of_word_suffix.is_some()),
                    ("unit", unit.is_some_and(|unit| unit != "chars")),
                    ("tie_break", tie_break.is_some_and(|rule| rule != "sentencepiece")),
                    ("extend", extend.is_some()),
                    ("superwords", superword_options.is_some()),
                ] {
                    train_sentencepiece::refuse_if(is_given, option, "merges")?;
                }
                let trainer = pieces.trainer(
                    vocab_size.get(),
                    min_frequency.get(),
                    unk_token.unwrap_or_else(|| "<unk>".to_owned()),
                    special_tokens,
                    byte_fallback,
                    threads.map(Threads::get),
                );
                let asked = pipeline::asked(normalizer, pre_tokenizer, None, || trainer.default_pipeline())?;
                let expected = trainer.expected_counts();
                let default = || trainer.default_pipeline();
                let given = Given::new(source, texts, counts, asked.as_ref(), &expected, default)?;
                return trainer.train(
                    py,
                    given,
                    asked.as_ref(),
                    &expected,
                    (&reading, min_count.get()),
                    (saving, progress.as_ref()),
                );
            }
            other => {
                return Err(Error::Option {
                    option: "method",
                    value: other.to_owned(),
                    reason: "it is 'merges' or 'sentencepiece'".to_owned(),
                }
                .into());
            }
        }
        let special_tokens = special_tokens.unwrap_or_default();
        let extended = extend.map(base_of).transpose()?;
        let base = extended.as_ref().map(|base| &*base.get().tokenizer);
        let mut asked = pipeline::asked(normalizer, pre_tokenizer, base, default_pipeline)?;
        // Superwords are trained from counted stretches, or from a text that is cut at pieces first.
        let of_stretches = superword_options.is_some() && counts.is_some();
        let mut usual: fn() -> Result<Pipeline> = default_pipeline;
        if let Some(options) = superword_options.as_ref().filter(|_| of_stretches) {
            let stretches = |pipeline: &Pipeline| superwords::stretches_of(pipeline, options.rule);
            asked = asked.as_ref().map(stretches).transpose()?;
            stretches(&default_pipeline()?)?;
            usual = || superwords::stretches_of(&default_pipeline()?, SuperwordRule::Sentences);
        } else if let Some(options) = &superword_options {
            asked = Some(superwords::pieces_of(&asked.map_or_else(default_pipeline, Ok)?, options.rule)?);
        }
        let mut trainer = BpeTrainer {
            vocab_size: vocab_size.get(),
            min_frequency: min_frequency.get(),
            special_tokens,
            limit_alphabet: limit_alphabet.map(LimitAlphabet::get),
            max_token_length: max_token_length.map(MaxTokenLength::get),
            continuing_subword_prefix,
            end_of_word_suffix,
            byte_fallback,
            tie_break: self::tie_break(tie_break.unwrap_or("huggingface"))?,
            threads: threads.map(Threads::get),
            ..BpeTrainer::default()
        };
        // Checks options before the text is read.
        let expected = Expected {
            count_options: "the pre_tokenizer of the base or gpt2, and no normalizer".to_owned(),
            any_splitter: true,
        };
        let given = Given::new(source, texts, counts, asked.as_ref(), &expected, usual)?;
        let mut pipeline = given.pipeline(asked.as_ref(), usual)?;
        let (given, stretches) = match given {
            Given::Counts { parts, is_list, .. } if of_stretches => {
                (None, Some((SuperwordCounts::new(parts)?, is_list)))
            }
            given => (Some(given), None),
        };
        if let Some((stretches, _)) = &stretches {
            pipeline = stretches.pipeline();
        }
        trainer.unit = self::unit(unit, &pipeline, byte_fallback, base)?;
        trainer.initial_alphabet = alphabet(initial_alphabet, trainer.unit)?;
        let unk_token = unk_token.or_else(|| base?.model().unk_token().map(str::to_owned));
        if let Some(base) = base {
            trainer.extend = Some(py.detach(|| base.base())?);
        }
        if let Some(bpe) = base.and_then(|base| base.model().bpe()) {
            let options = bpe.options();
            trainer.byte_fallback |= options.byte_fallback;
            let affix = |own: Option<String>, of_base: &Option<String>| own.or_else(|| of_base.clone());
            trainer.continuing_subword_prefix =
                affix(trainer.continuing_subword_prefix, &options.continuing_subword_prefix);
            trainer.end_of_word_suffix = affix(trainer.end_of_word_suffix, &options.end_of_word_suffix);
        }
        let unk_is_token = unk_token.as_ref().is_none_or(|unk| {
            trainer.special_tokens.contains(unk) || base.is_some_and(|base| base.spelled_to_id(unk).is_some())
        });
        if let (false, Some(unk)) = (unk_is_token, &unk_token) {
            trainer.special_tokens.insert(0, unk.clone());
        }
        if let Some(options) = &mut superword_options {
            options.min_frequency = min_frequency.get().max(min_count.get());
            SuperwordTraining::first_phase(options, &trainer)?;
        }
        let mut checkpoint = saving.open(py, |dir, resume| match &superword_options {
            None => trainer.checkpoint(dir, resume),
            Some(options) => SuperwordTraining::checkpoint(options, &trainer, dir, resume),
        })?;
        let (limits, progress) = ((&reading, min_count.get()), progress.as_ref());
        let (corpus, input) = match (given, stretches) {
            (Some(given), _) => {
                let corpus = given.count(py, limits, &expected, &pipeline, checkpoint.as_mut(), progress)?;
                (corpus, superwords::Input::Text(&text))
            }
            (None, Some((stretches, is_list))) => {
                let (corpus, stretches) = superwords::count_pieces(py, stretches, is_list, limits, progress)?;
                (corpus, superwords::Input::Counts(Box::new(stretches)))
            }
            (None, None) => return Err(Error::Internal("neither text nor counts".to_owned()).into()),
        };
        let unk_token = unk_token.as_deref();
        match superword_options {
            None => train(py, &trainer, unk_token, base, corpus, checkpoint, progress),
            Some(options) => {
                let from = (corpus, &input, &reading);
                superwords::train(py, options, &trainer, unk_token, base, from, checkpoint, progress)
            }
        }
    })
}
