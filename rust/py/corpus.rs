//! The input of trainers: text from any source, or counts.
//!
//! The three `train_*` functions share this, so that equal content means the same to all of them.
//! `counting` reads and counts.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMapping, PyTuple};

use super::counting::Reading;
use super::numbers::{given, index};
use super::paths::is_path;
use super::progress::run;
use super::remote::with_local;
use super::source::Documents;
use super::word_counts::{PyWordCounts, from_mapping};
use crate::corpus::url_of;
use crate::corpus::word_counts::{MixedSource, Part, Weight, WordCounts, mix, read_header};
use crate::error::{Error, Result};
use crate::pipeline::Pipeline;
use crate::trainers::checkpoint::Checkpoint;
use crate::trainers::unigram::PieceOptions;

/// The input of a call: unread documents, or counts.
pub(super) enum Given<'py> {
    Text(Documents<'py>),
    Counts {
        parts: Vec<(Part, Weight)>,
        /// Whether they were given in a list, whose shares are reported.
        is_list: bool,
        pipeline: Box<Pipeline>,
    },
}

/// The counts that equal the text for a trainer.
pub(super) struct Expected {
    /// The options of `count` that make them.
    pub count_options: String,
    /// Whether any pre-tokenizer will do for text that was not normalized.
    pub any_splitter: bool,
}

/// Counted pieces, and the seconds that counting took.
pub(super) struct Corpus {
    pub counts: Arc<WordCounts>,
    pub seconds: f64,
    pub sources: Vec<MixedSource>,
}

impl<'py> Given<'py> {
    /// Takes the arguments. `asked` is the requested pipeline, `default` that of the trainer.
    pub fn new(
        source: Option<&Bound<'py, PyAny>>,
        texts: Option<&Bound<'py, PyAny>>,
        counts: Option<&Bound<'py, PyAny>>,
        asked: Option<&Pipeline>,
        expected: &Expected,
        default: impl Fn() -> Result<Pipeline>,
    ) -> PyResult<Self> {
        match (Documents::new(source, texts)?, counts) {
            (Some(_), Some(_)) => {
                Err(PyTypeError::new_err("text and counts are both given; pass one of them"))
            }
            (None, None) => Err(PyTypeError::new_err(
                "there is nothing to train on; pass paths as source, texts=[...] or counts=...",
            )),
            (Some(documents), None) => Ok(Self::Text(documents)),
            (None, Some(counts)) => {
                let usual = asked.cloned().map_or_else(default, Ok)?;
                let is_list = counts.is_instance_of::<PyList>() || counts.is_instance_of::<PyTuple>();
                let parts = match is_list {
                    true => {
                        counts.try_iter()?.map(|item| weighted(&item?, &usual)).collect::<PyResult<_>>()?
                    }
                    false => vec![(part(counts, &usual)?, Weight::ONE)],
                };
                let pipeline = match parts.first() {
                    Some((Part::Counts(counts, _), _)) => counts.pipeline().clone(),
                    Some((Part::File(path), _)) => read_header(path)?.pipeline,
                    None => return Err(PyTypeError::new_err("counts is an empty list; name a counts file")),
                };
                expected.check_pipeline(&pipeline, asked, &usual)?;
                Ok(Self::Counts { parts, is_list, pipeline: Box::new(pipeline) })
            }
        }
    }

    /// The pipeline that the pieces come from.
    pub fn pipeline(
        &self,
        asked: Option<&Pipeline>,
        default: impl Fn() -> Result<Pipeline>,
    ) -> Result<Pipeline> {
        match (self, asked) {
            (Self::Counts { pipeline, .. }, _) => Ok((**pipeline).clone()),
            (Self::Text(_), Some(asked)) => Ok(asked.clone()),
            (Self::Text(_), None) => default(),
        }
    }

    /// Counts documents, or mixes counts, and drops pieces that occur fewer than `min_count` times.
    pub fn count(
        self,
        py: Python<'py>,
        (reading, min_count): (&Reading<'_>, u64),
        expected: &Expected,
        pipeline: &Pipeline,
        checkpoint: Option<&mut Checkpoint>,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<Corpus> {
        let started = Instant::now();
        let (counts, sources, n_sources) = match self {
            Self::Counts { .. } if reading.sample.is_some() => {
                return Err(Error::Option {
                    option: "sample",
                    value: "given".to_owned(),
                    reason: "it samples documents, which counts do not hold; pass it to count".to_owned(),
                }
                .into());
            }
            Self::Counts { parts, is_list, .. } => {
                let n_sources = parts.len();
                let (counts, sources) = match &parts[..] {
                    [(Part::Counts(counts, _), weight)]
                        if *weight == Weight::ONE && min_count <= 1 && !is_list =>
                    {
                        (counts.clone(), Vec::new())
                    }
                    parts => {
                        let (counts, sources) =
                            run(py, progress, |progress| mix(parts, min_count, progress))?;
                        (Arc::new(counts), if is_list { sources } else { Vec::new() })
                    }
                };
                expected.check_line_ends(&counts, reading.line_ends)?;
                (counts, sources, n_sources)
            }
            Self::Text(documents) => {
                let n_sources = documents.n_sources();
                let mut counts = reading.count(py, documents, pipeline, checkpoint, progress)?;
                if min_count > 1 {
                    counts = py.detach(|| counts.without_rare(min_count))?;
                }
                (Arc::new(counts), Vec::new(), n_sources)
            }
        };
        if counts.is_empty() {
            return Err(Error::EmptyCorpus { sources: n_sources }.into());
        }
        Ok(Corpus { counts, seconds: started.elapsed().as_secs_f64(), sources })
    }
}

impl Expected {
    /// The counts of trainers in SentencePiece's manner.
    pub fn of_sentencepiece(pieces: &PieceOptions, line_ends: bool) -> Self {
        let count_options = match (pieces.treat_whitespace_as_suffix, pieces.allow_whitespace_only_pieces) {
            (false, false) => {
                let line_ends = if line_ends { ", line_ends=True" } else { "" };
                format!("normalizer='sentencepiece', pre_tokenizer='metaspace-never'{line_ends}")
            }
            _ => "a pre_tokenizer that has no name, so give the text".to_owned(),
        };
        Self { count_options, any_splitter: false }
    }

    /// Refuses counts that were made with another pipeline than the requested one, or than the
    /// trainer's own if none was.
    fn check_pipeline(&self, pipeline: &Pipeline, asked: Option<&Pipeline>, usual: &Pipeline) -> Result<()> {
        if pipeline == usual {
            return Ok(());
        }
        if asked.is_some() {
            return Err(Error::PipelineMismatch { left: usual.to_json()?, right: pipeline.to_json()? });
        }
        if self.any_splitter && pipeline.normalizer.is_none() {
            return Ok(());
        }
        Err(Error::Option {
            option: "counts",
            value: pipeline.to_json()?,
            reason: format!(
                "training on counts of this pipeline is not training on the text; count it again with {}, or \
                 pass the normalizer and pre_tokenizer of the counts if that is meant",
                self.count_options
            ),
        })
    }

    /// Refuses counts that mark line ends for a trainer that does not read the marks, and the
    /// reverse.
    fn check_line_ends(&self, counts: &WordCounts, line_ends: bool) -> Result<()> {
        // Of counts that were made elsewhere nothing is known.
        if counts.totals().documents == 0 || counts.line_ends() == line_ends {
            return Ok(());
        }
        Err(Error::Option {
            option: "counts",
            value: format!("line_ends={}", if line_ends { "False" } else { "True" }),
            reason: format!(
                "these counts {} where lines end; count the text again with {}",
                if line_ends { "do not mark" } else { "mark" },
                self.count_options
            ),
        })
    }
}

/// Takes counts, or a pair of counts and a weight.
fn weighted(item: &Bound<'_, PyAny>, pipeline: &Pipeline) -> PyResult<(Part, Weight)> {
    let Ok(pair) = item.cast::<PyTuple>() else { return Ok((part(item, pipeline)?, Weight::ONE)) };
    let Ok((counts, weight)) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() else {
        return Err(PyTypeError::new_err(format!(
            "counts of {} values; a tuple is of counts and a weight, as in (\"en.counts\", 4)",
            pair.len()
        )));
    };
    // Fractions and decimals write themselves exactly, and floats as their shortest decimals.
    let number = index(&weight)?.unwrap_or(weight);
    Ok((part(&counts, pipeline)?, number.str()?.to_string_lossy().parse()?))
}

/// Takes counts: a path, `WordCounts`, or a mapping of pieces of `pipeline`.
fn part(object: &Bound<'_, PyAny>, pipeline: &Pipeline) -> PyResult<Part> {
    if let Ok(counts) = object.cast::<PyWordCounts>() {
        return Ok(Part::Counts(counts.get().counts.clone(), None));
    }
    if is_path(object)? {
        let path: PathBuf = object.extract()?;
        if url_of(&path).is_none() {
            return Ok(Part::File(path));
        }
        let py = object.py();
        let counts = with_local(py, path.clone(), |path| Ok(py.detach(|| WordCounts::load(&path))?))?;
        return Ok(Part::Counts(Arc::new(counts), Some(path)));
    }
    let Ok(mapping) = object.cast::<PyMapping>() else {
        return Err(PyTypeError::new_err(format!(
            "counts={} is neither WordCounts, a mapping, a path, nor a list of these, each alone or with a \
             weight as in (\"en.counts\", 4)",
            given(object)?
        )));
    };
    Ok(Part::Counts(Arc::new(from_mapping(mapping, pipeline.clone())?), None))
}
