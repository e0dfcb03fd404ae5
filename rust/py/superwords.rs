//! `superwords=` and `superwords_from=` of `train_bpe`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use pyo3::prelude::*;

use super::corpus::Corpus;
use super::counting::Reading;
use super::numbers::{MaxSuperwordWords, SuperwordsFrom};
use super::progress::run;
use super::report::{PyTrainReport, Trained};
use super::source::Documents;
use super::tokenizer::PyTokenizer;
use crate::corpus::word_counts::SuperwordCounts;
use crate::corpus::{FileOptions, Source, url_of};
use crate::error::{Error, Result};
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::{PreTokenizer, SuperwordPieces};
use crate::progress::Progress;
use crate::tokenizer::Tokenizer;
use crate::trainers::bpe::{BpeTrainer, TrainedMerges};
use crate::trainers::checkpoint::Checkpoint;
use crate::trainers::superwords::{SuperwordBegin, SuperwordOptions, SuperwordRule, SuperwordTraining};

/// Takes the options of superwords; `None` if there are none.
pub(super) fn options(
    superwords: Option<&str>,
    from: Option<SuperwordsFrom>,
    max_words: Option<MaxSuperwordWords>,
    rule: Option<&str>,
) -> Result<Option<SuperwordOptions>> {
    let refuse = |option, value: &str, reason: &str| {
        Err(Error::Option { option, value: value.to_owned(), reason: reason.to_owned() })
    };
    let begin = match (superwords, from) {
        (None, None) if max_words.is_some() => {
            return refuse("max_superword_words", "given", "there are no superwords; pass superwords_from");
        }
        (None, None) if rule.is_some() => {
            return refuse("superword_rule", "given", "there are no superwords; pass superwords_from");
        }
        (None, None) => return Ok(None),
        (Some("auto"), None) => SuperwordBegin::Auto,
        (None, Some(from)) => SuperwordBegin::At(from.get()),
        (Some("auto"), Some(_)) => {
            return refuse("superwords", "auto", "superwords_from already says when they begin; pass one");
        }
        (Some(other), _) => {
            return refuse("superwords", other, "it is 'auto'; superwords_from takes a size");
        }
    };
    let mut options = SuperwordOptions::new(begin);
    if let Some(max_words) = max_words {
        options.max_words = max_words.get();
    }
    options.rule = match rule {
        None | Some("sentences") => SuperwordRule::Sentences,
        Some("lines") => SuperwordRule::Lines,
        Some("documents") => SuperwordRule::Documents,
        Some(other) => return refuse("superword_rule", other, "it is 'sentences', 'lines' or 'documents'"),
    };
    Ok(Some(options))
}

/// Input that is read several times.
pub(super) enum Input<'a, 'py> {
    Text(&'a Text<'a, 'py>),
    Counts(Box<SuperwordCounts>),
}

/// Text that can be read again.
pub(super) struct Text<'a, 'py> {
    pub source: Option<&'a Bound<'py, PyAny>>,
    pub texts: Option<&'a Bound<'py, PyAny>>,
}

impl<'py> Text<'_, 'py> {
    fn documents(&self) -> PyResult<Documents<'py>> {
        match Documents::new(self.source, self.texts)? {
            Some(documents) => Ok(documents),
            None => Err(Error::Internal("superwords without a text".to_owned()).into()),
        }
    }

    /// Refuses text that can be read only once.
    pub fn check(&self) -> PyResult<()> {
        let refuse = |option, value: String, reason: &str| {
            Err(PyErr::from(Error::Option { option, value, reason: reason.to_owned() }))
        };
        let reason =
            "the text of superwords is read three times; pass files, or a list of texts, or count it";
        for object in [self.source, self.texts].into_iter().flatten() {
            if object.hasattr("__next__")? {
                return refuse("superwords", object.get_type().name()?.to_string(), reason);
            }
        }
        let Some(documents) = Documents::new(self.source, self.texts)? else { return Ok(()) };
        let paths = documents.files().map(|files| files.paths.as_slice()).unwrap_or_default();
        let is_once = |path: &&std::path::PathBuf| {
            let is_pipe = || std::fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir());
            url_of(path).is_none() && (path.as_os_str() == "-" || is_pipe())
        };
        match paths.iter().find(is_once) {
            Some(path) => refuse("superwords", path.display().to_string(), reason),
            None => Ok(()),
        }
    }
}

/// What is read once: a source, or files with a checkpoint.
enum Opened<'a> {
    Source(&'a mut dyn Source),
    Files(&'a [PathBuf], FileOptions, &'a mut Checkpoint),
}

impl Input<'_, '_> {
    /// Calls `f` with the text, or with the source of the stretches.
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        reading: &Reading<'_>,
        checkpoint: Option<&mut Checkpoint>,
        progress: Option<&Py<PyAny>>,
        f: impl FnOnce(Opened<'_>, &mut Progress) -> Result<T> + Send,
    ) -> PyResult<T> {
        let text = match self {
            Self::Text(text) => text,
            Self::Counts(counts) => {
                return run(py, progress, |progress| f(Opened::Source(&mut counts.source()), progress));
            }
        };
        let (documents, options) = (text.documents()?, reading.source_options()?);
        match (checkpoint, documents.files_of_text(&options)) {
            (Some(checkpoint), Some((paths, files))) => {
                run(py, progress, |progress| f(Opened::Files(&paths, files, checkpoint), progress))
            }
            _ => documents.run(py, options, progress, |source, progress| f(Opened::Source(source), progress)),
        }
    }
}

/// Counts of stretches as the input, and the counted pieces of it.
pub(super) fn count_pieces(
    py: Python<'_>,
    counts: SuperwordCounts,
    is_list: bool,
    (reading, min_count): (&Reading<'_>, u64),
    progress: Option<&Py<PyAny>>,
) -> PyResult<(Corpus, SuperwordCounts)> {
    let started = Instant::now();
    if reading.sample.is_some() {
        let reason = "it samples documents, which counts do not hold; pass it to count".to_owned();
        return Err(Error::Option { option: "sample", value: "given".to_owned(), reason }.into());
    }
    let options = reading.count_options();
    let (pieces, counts) = run(py, progress, move |progress| {
        let mut pieces = counts.count_pieces(&options, progress)?;
        if min_count > 1 {
            pieces = pieces.without_rare(min_count)?;
        }
        Ok((pieces, counts))
    })?;
    if pieces.is_empty() {
        return Err(Error::EmptyCorpus { sources: counts.sources().len() }.into());
    }
    let sources = if is_list { counts.sources().to_vec() } else { Vec::new() };
    let seconds = started.elapsed().as_secs_f64();
    Ok((Corpus { counts: Arc::new(pieces), seconds, sources }, counts))
}

/// The pipeline of stretches of a pipeline of pieces.
///
/// # Errors
/// [`Error::Option`] for a rule that is not trained from counts.
pub(super) fn stretches_of(pipeline: &Pipeline, rule: SuperwordRule) -> Result<Pipeline> {
    if rule == SuperwordRule::Documents {
        return Err(Error::Option {
            option: "superword_rule",
            value: "documents".to_owned(),
            reason: "counts of stretches do not say where their white space is cut; train from the text"
                .to_owned(),
        });
    }
    Ok(SuperwordTraining::pipeline_of(pipeline, rule)?.0)
}

/// The pipeline of the pieces, if that of a base has stretches.
///
/// # Errors
/// [`Error::Option`] for a base whose superwords cross what a rule forbids.
pub(super) fn pieces_of(pipeline: &Pipeline, rule: SuperwordRule) -> Result<Pipeline> {
    if let PreTokenizer::Superwords { pieces } = pipeline.pre_tokenizer
        && pieces.crosses_lines()
        && rule != SuperwordRule::Documents
    {
        return Err(Error::Option {
            option: "superword_rule",
            value: if rule == SuperwordRule::Lines { "lines" } else { "sentences" }.to_owned(),
            reason: "the base joins words across lines; pass 'documents'".to_owned(),
        });
    }
    let (joined, pieces) = SuperwordTraining::pipeline_of(pipeline, SuperwordRule::Sentences)?;
    let pre_tokenizer: PreTokenizer = SuperwordPieces::pre_tokenizer(pieces);
    Ok(Pipeline { pre_tokenizer, ..joined })
}

/// Trains both phases and builds the tokenizer with its report.
#[allow(clippy::too_many_arguments, reason = "2026-11: each is an argument of train_bpe")]
pub(super) fn train(
    py: Python<'_>,
    options: SuperwordOptions,
    trainer: &BpeTrainer,
    unk_token: Option<&str>,
    base: Option<&Tokenizer>,
    (corpus, input, reading): (Corpus, &Input<'_, '_>, &Reading<'_>),
    mut checkpoint: Option<Checkpoint>,
    progress: Option<&Py<PyAny>>,
) -> PyResult<PyTokenizer> {
    let Corpus { counts, seconds, sources } = corpus;
    let started = Instant::now();
    let (totals, samples) = (*counts.totals(), counts.samples().to_vec());
    let distinct_pieces = counts.len();
    let pipeline = counts.pipeline().clone();
    let first_trainer = SuperwordTraining::first_phase(&options, trainer)?;
    let of_counts = matches!(input, Input::Counts(_));
    let mut training = run(py, progress, |progress| {
        let first = match &mut checkpoint {
            None => first_trainer.train(counts.iter(), progress)?,
            Some(checkpoint) => first_trainer.train_resumable(&counts, checkpoint, progress)?,
        };
        let training = SuperwordTraining::new(options, trainer, &pipeline, first)?;
        Ok(if of_counts { training.of_counts() } else { training })
    })?;
    drop(counts);
    let counting = reading.count_options();
    input.read(py, reading, checkpoint.as_mut(), progress, |text, progress| match text {
        Opened::Source(source) => training.add_neighbours(source, &counting, progress),
        Opened::Files(paths, files, checkpoint) => {
            training.add_neighbours_of_files(paths, files, &counting, checkpoint, progress)
        }
    })?;
    if let Some(checkpoint) = &checkpoint {
        training.resume_from(checkpoint);
    }
    let trained: TrainedMerges = loop {
        let segments =
            input.read(py, reading, checkpoint.as_mut(), progress, |text, progress| match text {
                Opened::Source(source) => training.count_segments(source, &counting, progress),
                Opened::Files(paths, files, checkpoint) => {
                    training.count_segments_of_files(paths, files, &counting, checkpoint, progress)
                }
            })?;
        let merged = run(py, progress, |progress| match &mut checkpoint {
            None => training.merge(&segments, progress),
            Some(checkpoint) => training.merge_resumable(&segments, checkpoint, progress),
        })?;
        if let Some(trained) = merged {
            break trained;
        }
    };
    let pipeline = training.pipeline().clone();
    let tokenizer = py.detach(|| Tokenizer::from_trained(trainer, unk_token, pipeline, &trained, base))?;
    let report = PyTrainReport {
        stop: trained.stop.to_string(),
        totals,
        samples,
        sources,
        languages: Vec::new(),
        distinct_pieces,
        trained: Trained::Merges(trained.merges.len()),
        dropped: Vec::new(),
        count_seconds: seconds,
        merge_seconds: started.elapsed().as_secs_f64(),
        resumed: checkpoint.and_then(|checkpoint| checkpoint.resumed().map(str::to_owned)),
        superwords_from: Some(training.begins_at()),
    };
    Ok(PyTokenizer::new(Arc::new(tokenizer), Some(Py::new(py, report)?)))
}
