//! `train_parity_bpe`: trains one BPE tokenizer for several languages.

use std::sync::Arc;
use std::time::Instant;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyTuple};

use super::corpus::{Expected, Given};
use super::counting::{Reading, sample_options};
use super::error::entry;
use super::numbers::{
    GlobalMerges, LimitAlphabet, MaxLineBytes, MaxMemory, MaxMerges, MaxPieceBytes, MaxTokenLength, MinCount,
    MinFrequency, Ratio, SampleOf, Seed, Threads, VocabSize, WindowAlpha, WindowSize, given,
};
use super::pipeline;
use super::progress::run;
use super::report::{PyTrainReport, Trained};
use super::text::maybe_names;
use super::tokenizer::PyTokenizer;
use super::train::{alphabet, default_pipeline, unit};
use super::word_counts::PyWordCounts;
use crate::corpus::word_counts::{MixedSource, Sample, Totals, WordCounts};
use crate::error::{Error, shown};
use crate::pipeline::Pipeline;
use crate::py::foreign_kwargs;
use crate::tokenizer::Tokenizer;
use crate::trainers::bpe::{BpeTrainer, Unit};
use crate::trainers::parity::{Language, ParityBpeTrainer, ParityTrained, Variant};

/// The values of an argument for each language, in its order.
type ByName<'py> = Vec<(String, Bound<'py, PyAny>)>;

/// Takes a mapping of languages to something.
fn by_name<'py>(argument: &str, object: &Bound<'py, PyAny>, values: &str) -> PyResult<ByName<'py>> {
    let Ok(mapping) = object.cast::<PyMapping>() else {
        return Err(PyTypeError::new_err(format!(
            "{argument}={} is not a mapping of languages to {values}, as in {{\"en\": ...}}",
            given(object)?
        )));
    };
    mapping.items()?.iter().map(|item| item.extract()).collect()
}

/// Puts what an argument has for each language in the order of `names`.
fn in_order<'py>(argument: &'static str, names: &[String], found: ByName<'py>) -> PyResult<ByName<'py>> {
    let refuse =
        |name: &str, reason| Error::Option { option: argument, value: shown(name).into_owned(), reason };
    if let Some((name, _)) = found.iter().find(|(name, _)| !names.contains(name)) {
        let reason = format!("no such language is trained; there are {}", shown(&names.join(", ")));
        return Err(refuse(name, reason).into());
    }
    let one = |name: &String| match found.iter().find(|(known, _)| known == name) {
        Some(found) => Ok(found.clone()),
        None => Err(refuse(name, format!("this language has no {argument}; name it, or give none")).into()),
    };
    names.iter().map(one).collect()
}

/// Counts the text of a language; refuses a language without text.
fn counted(
    py: Python<'_>,
    (argument, name): (&'static str, &str),
    given: Given<'_>,
    (reading, min_count): (&Reading<'_>, u64),
    expected: &Expected,
    pipeline: &Pipeline,
    progress: Option<&Py<PyAny>>,
) -> PyResult<(Arc<WordCounts>, Vec<MixedSource>)> {
    match given.count(py, (reading, min_count), expected, pipeline, None, progress) {
        Ok(corpus) => Ok((corpus.counts, corpus.sources)),
        Err(error) if error.value(py).to_string().starts_with("the corpus is empty") => Err(Error::Option {
            option: argument,
            value: shown(name).into_owned(),
            reason: "its text is empty; give text, or leave the language out".to_owned(),
        }
        .into()),
        Err(error) => Err(error),
    }
}

/// Trains one BPE tokenizer for several languages, which favours none: parity-aware BPE.
///
/// Each merge is made for the language whose text has the most tokens, so that a language with
/// little text gets its share of the vocabulary. `source`, `texts` or `counts` is a mapping of
/// languages to what `train_bpe` takes by this name. `development` maps each language to a
/// development text, which should say the same in every language; its tokens then decide. It is
/// given as `texts` are if those are given, otherwise as `source` is, or as `WordCounts`.
/// `ratios` instead maps each language to the wanted compression of its text, relative to the
/// other languages. With neither, the tokens of all text decide.
///
/// `variant="window"` lets no language have more than `alpha / languages` of the last `window_size`
/// merges. The first `global_merges` are those of all text together, as in `train_bpe`.
/// `max_merges` limits the merges apart from `vocab_size`.
///
/// The merges are those of Hugging Face's `ParityBpeTrainer` 0.23.3 after the same pre-tokenizer.
/// Other options are those of `train_bpe`. `tokenizer.report.languages` says how many merges were
/// made for each language, and its tokens before and after.
#[pyfunction]
#[pyo3(signature = (
    source = None, *more, texts = None, counts = None, development = None, ratios = None, variant = "base",
    window_size = WindowSize(100), alpha = WindowAlpha(2.0), global_merges = GlobalMerges(0), max_merges = None,
    vocab_size = VocabSize(32_000), min_frequency = MinFrequency(0), special_tokens = None,
    normalizer = None, pre_tokenizer = None, initial_alphabet = None, limit_alphabet = None, max_token_length = None,
    continuing_subword_prefix = None, end_of_word_suffix = None, unit = None, unk_token = None,
    format = None, invalid_utf8 = "error", max_line_bytes = None, max_memory = None, max_piece_bytes = None,
    min_count = MinCount(0), sample = None, seed = Seed(0), threads = None, progress = None, **others,
))]
#[pyo3(
    text_signature = "(source=None, *, texts=None, counts=None, development=None, ratios=None, variant='base', window_size=100, alpha=2.0, global_merges=0, max_merges=None, vocab_size=32000, min_frequency=0, special_tokens=None, normalizer=None, pre_tokenizer=None, initial_alphabet=None, limit_alphabet=None, max_token_length=None, continuing_subword_prefix=None, end_of_word_suffix=None, unit=None, unk_token=None, format=None, invalid_utf8='error', max_line_bytes=None, max_memory=None, max_piece_bytes=None, min_count=0, sample=None, seed=0, threads=None, progress=None)"
)]
#[allow(clippy::too_many_arguments, reason = "2026-11: each is a keyword in Python")]
pub(super) fn train_parity_bpe<'py>(
    py: Python<'py>,
    source: Option<&Bound<'py, PyAny>>,
    more: &Bound<'_, PyTuple>,
    texts: Option<&Bound<'py, PyAny>>,
    counts: Option<&Bound<'py, PyAny>>,
    development: Option<&Bound<'py, PyAny>>,
    ratios: Option<&Bound<'py, PyAny>>,
    variant: &str,
    window_size: WindowSize,
    alpha: WindowAlpha,
    global_merges: GlobalMerges,
    max_merges: Option<MaxMerges>,
    vocab_size: VocabSize,
    min_frequency: MinFrequency,
    #[pyo3(from_py_with = maybe_names)] special_tokens: Option<Vec<String>>,
    normalizer: Option<&Bound<'py, PyAny>>,
    pre_tokenizer: Option<&Bound<'py, PyAny>>,
    initial_alphabet: Option<&Bound<'py, PyAny>>,
    limit_alphabet: Option<LimitAlphabet>,
    max_token_length: Option<MaxTokenLength>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    unit: Option<&str>,
    unk_token: Option<String>,
    format: Option<&str>,
    invalid_utf8: &str,
    max_line_bytes: Option<MaxLineBytes>,
    max_memory: Option<MaxMemory>,
    max_piece_bytes: Option<MaxPieceBytes>,
    min_count: MinCount,
    sample: Option<SampleOf>,
    seed: Seed,
    threads: Option<Threads>,
    progress: Option<Py<PyAny>>,
    others: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyTokenizer> {
    entry(|| {
        foreign_kwargs::refuse("train_parity_bpe", foreign_kwargs::TRAIN, Some(more), others)?;
        let threads = threads.map(Threads::get);
        let reading = Reading {
            format,
            invalid_utf8,
            shard: None,
            max_line_bytes: max_line_bytes.map(MaxLineBytes::get),
            max_memory: max_memory.map(MaxMemory::get),
            max_piece_bytes: max_piece_bytes.map(MaxPieceBytes::get),
            line_ends: false,
            sample: sample_options(sample, seed),
            threads,
        };
        let variant = match variant {
            "base" => Variant::Base,
            "window" => Variant::Window { size: window_size.get(), alpha: alpha.get() },
            other => {
                return Err(Error::Option {
                    option: "variant",
                    value: shown(other).into_owned(),
                    reason: "it is 'base' or 'window'".to_owned(),
                }
                .into());
            }
        };
        let asked = pipeline::asked(normalizer, pre_tokenizer, None, default_pipeline)?;
        let expected = Expected {
            count_options: "the pre_tokenizer gpt2, and no normalizer".to_owned(),
            any_splitter: true,
        };

        // Checks all options before text is read.
        let (argument, all) = match [("source", source), ("texts", texts), ("counts", counts)]
            .into_iter()
            .filter_map(|(argument, object)| Some((argument, object?)))
            .collect::<Vec<_>>()[..]
        {
            [one] => one,
            [] => {
                return Err(PyTypeError::new_err(
                    "there is nothing to train on; pass a mapping of languages as source, texts or counts",
                ));
            }
            _ => return Err(PyTypeError::new_err("source, texts and counts exclude each other; pass one")),
        };
        let found = by_name(argument, all, "their texts or counts")?;
        let names: Vec<String> = found.iter().map(|(name, _)| name.clone()).collect();
        let take = |argument: &str, object: &Bound<'py, PyAny>| -> PyResult<Given<'py>> {
            let only = |name: &str| (argument == name).then(|| object.clone());
            let [source, texts, counts] = [only("source"), only("texts"), only("counts")];
            let all = (source.as_ref(), texts.as_ref(), counts.as_ref());
            Given::new(all.0, all.1, all.2, asked.as_ref(), &expected, default_pipeline)
        };
        let mut languages = Vec::new();
        for (name, object) in &found {
            languages.push((name.as_str(), take(argument, object)?));
        }
        let Some((_, first)) = languages.first() else {
            return Err(PyTypeError::new_err(format!("{argument} has no languages; name at least one")));
        };
        let pipeline = first.pipeline(asked.as_ref(), default_pipeline)?;
        let mut development_texts = Vec::new();
        if let Some(development) = development {
            for (_, object) in in_order("development", &names, by_name("development", development, "texts")?)?
            {
                let kind = match argument {
                    _ if object.is_instance_of::<PyWordCounts>() => "counts",
                    "texts" => "texts",
                    _ => "source",
                };
                development_texts.push(take(kind, &object)?);
            }
        }
        let mut wanted = vec![None; names.len()];
        if let Some(ratios) = ratios {
            let found = in_order("ratios", &names, by_name("ratios", ratios, "numbers")?)?;
            for (ratio, (_, object)) in wanted.iter_mut().zip(found) {
                *ratio = Some(object.extract::<Ratio>()?.get());
            }
            if development.is_some() {
                return Err(Error::Option {
                    option: "ratios",
                    value: "given".to_owned(),
                    reason: "development texts and ratios exclude each other; give one of them".to_owned(),
                }
                .into());
            }
        }
        let unit = self::unit(unit, &pipeline, false, None)?;
        let bpe = BpeTrainer {
            vocab_size: vocab_size.get(),
            min_frequency: min_frequency.get(),
            special_tokens: special_tokens.unwrap_or_default(),
            unit,
            initial_alphabet: alphabet(initial_alphabet, unit)?,
            limit_alphabet: limit_alphabet.map(LimitAlphabet::get),
            max_token_length: max_token_length.map(MaxTokenLength::get),
            continuing_subword_prefix,
            end_of_word_suffix,
            threads,
            ..BpeTrainer::default()
        };
        let mut trainer = ParityBpeTrainer {
            bpe,
            variant,
            global_merges: global_merges.get(),
            max_merges: max_merges.map(MaxMerges::get),
        };
        if let Some(unk) = unk_token.as_ref().filter(|unk| !trainer.bpe.special_tokens.contains(unk)) {
            trainer.bpe.special_tokens.insert(0, unk.clone());
        }

        let started = Instant::now();
        let progress = progress.as_ref();
        let (mut counts, mut sources) = (Vec::new(), Vec::new());
        for (name, given) in languages {
            let about = (&reading, min_count.get());
            let (counted, mixed) =
                counted(py, (argument, name), given, about, &expected, &pipeline, progress)?;
            counts.push(counted);
            sources.extend(mixed);
        }
        // A development text is small, and all of it is wanted.
        let whole = Reading { sample: None, ..reading };
        let mut development = Vec::new();
        for (name, given) in names.iter().zip(development_texts) {
            let about = ("development", name.as_str());
            development.push(counted(py, about, given, (&whole, 0), &expected, &pipeline, progress)?.0);
        }
        let count_seconds = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let languages: Vec<Language<'_>> = (names.iter().zip(&counts).zip(wanted).enumerate())
            .map(|(at, ((name, counts), ratio))| Language {
                name,
                counts,
                development: development.get(at).map(AsRef::as_ref),
                ratio,
            })
            .collect();
        let (trained, tokenizer): (ParityTrained, Tokenizer) = run(py, progress, |progress| {
            let trained = trainer.train(&languages, progress)?;
            let unk_token = unk_token.as_deref();
            let tokenizer =
                Tokenizer::from_trained(&trainer.bpe, unk_token, pipeline.clone(), &trained.merges, None)?;
            Ok((trained, tokenizer))
        })?;
        let report = report(trainer.bpe.unit, &counts, sources, trained, (count_seconds, started))?;
        Ok(PyTokenizer::new(Arc::new(tokenizer), Some(Py::new(py, report)?)))
    })
}

fn report(
    unit: Unit,
    counts: &[Arc<WordCounts>],
    sources: Vec<MixedSource>,
    trained: ParityTrained,
    (count_seconds, started): (f64, Instant),
) -> PyResult<PyTrainReport> {
    let spelled = |bytes: &[u8]| match unit {
        Unit::Bytes => crate::text::byte_level::to_chars(bytes),
        Unit::Chars => String::from_utf8_lossy(bytes).into_owned(),
    };
    let totals = counts.iter().try_fold(Totals::default(), |sum, counts| sum.add(counts.totals()))?;
    let mut samples: Vec<Sample> = Vec::new();
    for sample in counts.iter().flat_map(|counts| counts.samples()) {
        if !samples.contains(sample) {
            samples.push(*sample);
        }
    }
    let ParityTrained { merges, languages, .. } = trained;
    Ok(PyTrainReport {
        stop: merges.stop.to_string(),
        totals,
        samples,
        sources,
        languages,
        superwords_from: None,
        distinct_pieces: counts.iter().map(|counts| counts.len()).sum(),
        trained: Trained::Merges(merges.merges.len()),
        dropped: merges.dropped.iter().map(|(symbol, count)| (spelled(symbol), *count)).collect(),
        count_seconds,
        merge_seconds: started.elapsed().as_secs_f64(),
        resumed: None,
    })
}
