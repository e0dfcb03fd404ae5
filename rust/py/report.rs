//! `TrainReport`: the results of training.

use std::time::Instant;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::error::entry;
use super::word_counts::{samples_list, totals_dict};
use crate::corpus::word_counts::{MixedSource, Sample, Totals, WordCounts};
use crate::error::Error;
use crate::trainers::checkpoint::Checkpoint;
use crate::trainers::parity::TrainedLanguage;

/// The tokens that a trainer adds to the vocabulary one by one.
#[derive(Clone, Copy)]
pub(super) enum Trained {
    /// Merges.
    Merges(usize),
    /// Pieces of Unigram, which are not made by merges.
    Pieces(usize),
}

/// The results of training.
#[pyclass(frozen, module = "sentitok", name = "TrainReport")]
pub(super) struct PyTrainReport {
    pub stop: String,
    pub totals: Totals,
    pub samples: Vec<Sample>,
    pub sources: Vec<MixedSource>,
    /// Of parity-aware training.
    pub languages: Vec<TrainedLanguage>,
    pub distinct_pieces: usize,
    pub trained: Trained,
    pub dropped: Vec<(String, u64)>,
    pub count_seconds: f64,
    pub merge_seconds: f64,
    pub resumed: Option<String>,
    pub superwords_from: Option<usize>,
}

impl PyTrainReport {
    /// The report of a training on these counts; the trainer adds `stop`, `trained` and `dropped`.
    pub fn of_counts(
        counts: &WordCounts,
        sources: Vec<MixedSource>,
        (count_seconds, started): (f64, Instant),
        checkpoint: Option<&Checkpoint>,
    ) -> Self {
        Self {
            stop: String::new(),
            totals: *counts.totals(),
            samples: counts.samples().to_vec(),
            sources,
            languages: Vec::new(),
            distinct_pieces: counts.len(),
            trained: Trained::Merges(0),
            dropped: Vec::new(),
            count_seconds,
            merge_seconds: started.elapsed().as_secs_f64(),
            resumed: checkpoint.and_then(Checkpoint::resumed).map(str::to_owned),
            superwords_from: None,
        }
    }
}

#[pymethods]
impl PyTrainReport {
    /// The reason why training ended, in words.
    #[getter]
    fn stop(&self) -> &str {
        &self.stop
    }

    /// Numbers of documents, bytes and pieces that were read, cut, skipped or replaced.
    #[getter]
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        entry(|| totals_dict(py, &self.totals))
    }

    /// The random samples of documents that were counted, each with its `share` and `seed`; empty if
    /// every document was counted.
    #[getter]
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        entry(|| samples_list(py, &self.samples))
    }

    /// The counts that were mixed: `path`, `weight`, the `factor` of their counts, `totals`, and their
    /// `share` of all weighted pieces; empty unless counts were given in a list.
    #[getter]
    fn sources<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        entry(|| {
            let all = PyList::empty(py);
            for source in &self.sources {
                let dict = PyDict::new(py);
                dict.set_item("path", source.path.as_ref().map(|path| path.display().to_string()))?;
                dict.set_item("weight", &source.weight)?;
                dict.set_item("factor", source.factor)?;
                dict.set_item("totals", totals_dict(py, &source.totals)?)?;
                dict.set_item("share", source.share)?;
                all.append(dict)?;
            }
            Ok(all)
        })
    }

    /// What `train_parity_bpe` did for each language: `language`, its `merges`, and the tokens of its
    /// development text, or of its text if there is none, before the first merge (`initial_tokens`)
    /// and after the last (`tokens`); empty for other trainers.
    #[getter]
    fn languages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        entry(|| {
            let all = PyList::empty(py);
            for language in &self.languages {
                let dict = PyDict::new(py);
                dict.set_item("language", &language.name)?;
                dict.set_item("merges", language.merges)?;
                dict.set_item("initial_tokens", language.initial_tokens)?;
                dict.set_item("tokens", language.tokens)?;
                all.append(dict)?;
            }
            Ok(all)
        })
    }

    /// The number of distinct pieces.
    #[getter]
    fn distinct_pieces(&self) -> usize {
        self.distinct_pieces
    }

    /// The number of trained merges, without those of a base; 0 for Unigram.
    #[getter]
    fn merges(&self) -> usize {
        match self.trained {
            Trained::Merges(n) => n,
            Trained::Pieces(_) => 0,
        }
    }

    /// The number of tokens before the first superword; `None` without superwords.
    #[getter]
    fn superwords_from(&self) -> Option<usize> {
        self.superwords_from
    }

    /// The symbols that `limit_alphabet` left out, with their counts, the most frequent first.
    #[getter]
    fn dropped(&self) -> Vec<(String, u64)> {
        self.dropped.clone()
    }

    /// Seconds of `"count"` and `"merge"`.
    #[getter]
    fn seconds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        entry(|| {
            let seconds = PyDict::new(py);
            seconds.set_item("count", self.count_seconds)?;
            seconds.set_item("merge", self.merge_seconds)?;
            Ok(seconds)
        })
    }

    /// Where training was resumed from a checkpoint, in words; `None` if it was not.
    #[getter]
    fn resumed(&self) -> Option<&str> {
        self.resumed.as_deref()
    }

    fn __repr__(&self) -> String {
        let (n, stop) = (self.distinct_pieces, &self.stop);
        match self.trained {
            Trained::Merges(trained) => format!("TrainReport({trained} merges from {n} pieces: {stop})"),
            Trained::Pieces(trained) => format!("TrainReport({trained} pieces from {n} words: {stop})"),
        }
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        entry(|| {
            let report = this.get();
            let state = (&report.totals, &report.samples, &report.sources, &report.languages);
            let read = serde_json::to_string(&state);
            let read = read.map_err(|error| Error::Internal(error.to_string()))?;
            let (merges, pieces) = match report.trained {
                Trained::Merges(n) => (Some(n), 0),
                Trained::Pieces(n) => (None, n),
            };
            let state = (
                &report.stop,
                read,
                (report.distinct_pieces, merges, pieces),
                report.dropped.clone(),
                (report.count_seconds, report.merge_seconds),
                (&report.resumed, report.superwords_from),
            );
            Ok((this.getattr("_from_state")?, state.into_pyobject(this.py())?))
        })
    }

    /// Unpickles a report.
    #[staticmethod]
    fn _from_state(
        stop: String,
        read: &str,
        sizes: (usize, Option<usize>, usize),
        dropped: Vec<(String, u64)>,
        seconds: (f64, f64),
        rest: (Option<String>, Option<usize>),
    ) -> PyResult<Self> {
        entry(|| {
            let ((distinct_pieces, merges, pieces), (count_seconds, merge_seconds)) = (sizes, seconds);
            let (resumed, superwords_from) = rest;
            let read = serde_json::from_str(read);
            let (totals, samples, sources, languages) =
                read.map_err(|error| Error::format("totals", error.to_string()))?;
            let trained = merges.map_or(Trained::Pieces(pieces), Trained::Merges);
            Ok(Self {
                stop,
                totals,
                samples,
                sources,
                languages,
                distinct_pieces,
                trained,
                dropped,
                count_seconds,
                merge_seconds,
                resumed,
                superwords_from,
            })
        })
    }
}
