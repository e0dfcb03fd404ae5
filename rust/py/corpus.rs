//! The input of trainers: text from any source, or counts.
//!
//! The three `train_*` functions share this, so that equal content means the same to all of them.
//! `counting` reads and counts.

use std::sync::Arc;
use std::time::Instant;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use super::counting::Reading;
use super::source::Documents;
use super::word_counts::{PyWordCounts, from_mapping};
use crate::corpus::word_counts::WordCounts;
use crate::error::{Error, Result};
use crate::pipeline::Pipeline;

/// The input of a call: unread documents, or counts.
pub(super) enum Given<'py> {
    Text(Documents<'py>),
    Counts(Arc<WordCounts>),
}

/// Counted pieces, and the seconds that counting took.
pub(super) struct Corpus {
    pub counts: Arc<WordCounts>,
    pub seconds: f64,
}

impl<'py> Given<'py> {
    /// Takes the arguments. `asked` is the requested pipeline, `default` that of counts without a
    /// pipeline.
    pub fn new(
        source: Option<&Bound<'py, PyAny>>,
        texts: Option<&Bound<'py, PyAny>>,
        counts: Option<&Bound<'py, PyAny>>,
        asked: Option<&Pipeline>,
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
            (None, Some(counts)) => of_counts(counts, asked, default).map(Self::Counts),
        }
    }

    /// The pipeline that the pieces come from.
    pub fn pipeline(
        &self,
        asked: Option<&Pipeline>,
        default: impl Fn() -> Result<Pipeline>,
    ) -> Result<Pipeline> {
        match (self, asked) {
            (Self::Counts(counts), _) => Ok(counts.pipeline().clone()),
            (Self::Text(_), Some(asked)) => Ok(asked.clone()),
            (Self::Text(_), None) => default(),
        }
    }

    /// Counts documents; returns counts as they are.
    pub fn count(
        self,
        py: Python<'py>,
        reading: &Reading<'_>,
        pipeline: &Pipeline,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<Corpus> {
        let started = Instant::now();
        let (counts, n_sources) = match self {
            Self::Counts(counts) => (counts, 1),
            Self::Text(documents) => {
                let n_sources = documents.n_sources();
                (Arc::new(reading.count(py, documents, pipeline, progress)?), n_sources)
            }
        };
        if counts.is_empty() {
            return Err(Error::EmptyCorpus { sources: n_sources }.into());
        }
        Ok(Corpus { counts, seconds: started.elapsed().as_secs_f64() })
    }
}

fn of_counts(
    counts: &Bound<'_, PyAny>,
    asked: Option<&Pipeline>,
    default: impl Fn() -> Result<Pipeline>,
) -> PyResult<Arc<WordCounts>> {
    let counts = match counts.cast::<PyWordCounts>() {
        Ok(counts) => counts.get().counts.clone(),
        Err(_) => {
            let pipeline = asked.cloned().map_or_else(default, Ok)?;
            Arc::new(from_mapping(counts.cast::<PyMapping>()?, pipeline)?)
        }
    };
    match asked {
        Some(asked) if asked != counts.pipeline() => {
            let (left, right) = (asked.to_json()?, counts.pipeline().to_json()?);
            Err(Error::PipelineMismatch { left, right }.into())
        }
        _ => Ok(counts),
    }
}
