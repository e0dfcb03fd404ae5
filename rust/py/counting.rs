//! `count` and `merge_counts`: count the pieces of text, and add counts.

use std::path::PathBuf;
use std::str::FromStr;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::error::entry;
use super::numbers::{
    MaxLineBytes, MaxMemory, MaxPieceBytes, MinCount, SampleOf, Seed, ShardBytes, ShardOf, Threads,
};
use super::pipeline;
use super::progress::run;
use super::remote::{expanded, with_all_local, with_output};
use super::source::{Documents, FileFormat, SourceOptions};
use super::word_counts::{PyWordCounts, totals_dict};
use crate::corpus::{InvalidUtf8, Shard};
use crate::pipeline::Pipeline;
use crate::trainers::checkpoint::Checkpoint;
use crate::{
    corpus::word_counts,
    corpus::word_counts::{CountOptions, SampleOptions, SampleSize, WordCounts},
};

/// Options for reading and counting text.
pub(super) struct Reading<'a> {
    pub format: Option<&'a str>,
    pub invalid_utf8: &'a str,
    pub shard: Option<(u64, u64)>,
    pub max_line_bytes: Option<usize>,
    pub max_memory: Option<u64>,
    pub max_piece_bytes: Option<usize>,
    pub line_ends: bool,
    pub sample: Option<SampleOptions>,
    pub threads: Option<usize>,
}

impl Reading<'_> {
    pub fn source_options(&self) -> PyResult<SourceOptions> {
        Ok(SourceOptions {
            format: self.format.map(FileFormat::of).transpose()?,
            invalid_utf8: InvalidUtf8::from_str(self.invalid_utf8)?,
            shard: self.shard.map(|(index, count)| Shard::new(index, count)).transpose()?,
            max_line_bytes: self.max_line_bytes,
        })
    }

    pub fn count_options(&self) -> CountOptions {
        let defaults = CountOptions::default();
        CountOptions {
            threads: self.threads,
            max_memory: self.max_memory,
            max_piece_bytes: self.max_piece_bytes,
            line_ends: self.line_ends,
            sample: self.sample,
            ..defaults
        }
    }

    pub fn count(
        &self,
        py: Python<'_>,
        documents: Documents<'_>,
        pipeline: &Pipeline,
        checkpoint: Option<&mut Checkpoint>,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<WordCounts> {
        documents.count(py, self.source_options()?, progress, pipeline, &self.count_options(), checkpoint)
    }
}

/// Counts the pieces of text.
///
/// `source` is a path, or a list of paths; `texts`, or an iterator, series, array or Arrow column
/// as `source`, is text in memory. With `out` the counts are written to that file in bounded
/// memory, and `None` is returned. `line_ends` treats each document as a line and marks its end,
/// which `method="sentencepiece"` of `train_unigram` and `train_bpe` uses.
///
/// `sample` counts a random sample of the documents: a whole number of bytes of uncompressed files,
/// as they are stored, or a share of the documents, such as 0.1. A hash of its text and `seed`
/// decides on each document, so the sample is the same for any number of threads and shards, and
/// equal documents are sampled together.
///
/// With `executor`, a `concurrent.futures.Executor` such as a process pool or
/// `dask.distributed.Client.get_executor()`, its workers count parts of about `shard_bytes` of the
/// files, one thread each, and merge them; the result has the same bytes. Finished parts are kept
/// in the folder `<out>.parts` until all is done, so the same call resumes after an interruption.
/// Workers read `source` and write there by path, so all machines must see both. A part that fails
/// is tried again, and then raises the error (`on_error="stop"`), or is left out with a warning
/// (`"skip"`).
#[pyfunction]
#[pyo3(signature = (source = None, *, texts = None, normalizer = None, pre_tokenizer = None, format = None, invalid_utf8 = "error", shard = None, max_line_bytes = None, max_memory = None, max_piece_bytes = None, line_ends = false, sample = None, seed = Seed(0), threads = None, progress = None, out = None, executor = None, on_error = "stop", shard_bytes = None))]
#[pyo3(
    text_signature = "(source=None, *, texts=None, normalizer=None, pre_tokenizer=None, format=None, invalid_utf8='error', shard=None, max_line_bytes=None, max_memory=None, max_piece_bytes=None, line_ends=False, sample=None, seed=0, threads=None, progress=None, out=None, executor=None, on_error='stop', shard_bytes=None)"
)]
#[allow(clippy::too_many_arguments, reason = "2026-11: each is a keyword in Python")]
pub(super) fn count<'py>(
    py: Python<'py>,
    source: Option<&Bound<'py, PyAny>>,
    texts: Option<&Bound<'py, PyAny>>,
    normalizer: Option<&Bound<'py, PyAny>>,
    pre_tokenizer: Option<&Bound<'py, PyAny>>,
    format: Option<&str>,
    invalid_utf8: &str,
    shard: Option<ShardOf>,
    max_line_bytes: Option<MaxLineBytes>,
    max_memory: Option<MaxMemory>,
    max_piece_bytes: Option<MaxPieceBytes>,
    line_ends: bool,
    sample: Option<SampleOf>,
    seed: Seed,
    threads: Option<Threads>,
    progress: Option<Py<PyAny>>,
    out: Option<PathBuf>,
    executor: Option<&Bound<'py, PyAny>>,
    on_error: &str,
    shard_bytes: Option<ShardBytes>,
) -> PyResult<Bound<'py, PyAny>> {
    entry(|| {
        if let Some(executor) = executor {
            let options = PyDict::new(py);
            for (name, number) in [
                ("max_line_bytes", max_line_bytes.map(|it| it.get() as u64)),
                ("max_memory", max_memory.map(MaxMemory::get)),
                ("max_piece_bytes", max_piece_bytes.map(|it| it.get() as u64)),
                ("threads", threads.map(|it| it.get() as u64)),
                ("shard_bytes", shard_bytes.map(ShardBytes::get)),
            ] {
                options.set_item(name, number)?;
            }
            for (name, object) in [
                ("texts", texts),
                ("normalizer", normalizer),
                ("pre_tokenizer", pre_tokenizer),
                ("executor", Some(executor)),
                ("progress", progress.as_ref().map(|progress| progress.bind(py))),
            ] {
                options.set_item(name, object)?;
            }
            options.set_item("format", format)?;
            options.set_item("invalid_utf8", invalid_utf8)?;
            options.set_item("shard", shard.map(ShardOf::get))?;
            options.set_item("line_ends", line_ends)?;
            match sample.map(SampleOf::get) {
                None => options.set_item("sample", py.None())?,
                Some(SampleSize::Bytes(bytes)) => options.set_item("sample", bytes)?,
                Some(SampleSize::Share(share)) => options.set_item("sample", share)?,
            }
            options.set_item("seed", seed.get())?;
            options.set_item("on_error", on_error)?;
            options.set_item("out", out)?;
            return py.import("sentitok.distributed")?.call_method("count", (source,), Some(&options));
        }
        let reading = Reading {
            format,
            invalid_utf8,
            shard: shard.map(ShardOf::get),
            max_line_bytes: max_line_bytes.map(MaxLineBytes::get),
            max_memory: max_memory.map(MaxMemory::get),
            max_piece_bytes: max_piece_bytes.map(MaxPieceBytes::get),
            line_ends,
            sample: sample_options(sample, seed),
            threads: threads.map(Threads::get),
        };
        let pipeline = pipeline::of_counts(normalizer, pre_tokenizer)?;
        let Some(documents) = Documents::new(source, texts)? else {
            return Err(PyTypeError::new_err(
                "there is nothing to count; pass paths as source, or texts=[...]",
            ));
        };
        let Some(out) = out else {
            let counts =
                PyWordCounts::from(reading.count(py, documents, &pipeline, None, progress.as_ref())?);
            return Ok(Bound::new(py, counts)?.into_any());
        };
        let options = reading.count_options();
        with_output(py, out, |out| {
            documents.run(py, reading.source_options()?, progress.as_ref(), |source, progress| {
                word_counts::count_to_file(source, &pipeline, &options, &out, progress)
            })
        })?;
        Ok(py.None().into_bound(py))
    })
}

/// The sample that a call asks for.
pub(super) fn sample_options(sample: Option<SampleOf>, seed: Seed) -> Option<SampleOptions> {
    sample.map(|sample| SampleOptions { size: sample.get(), seed: seed.get() })
}

/// Adds count files into a new one, in constant memory; returns the totals.
///
/// Pieces that occur fewer than `min_count` times in all files together are dropped. Few files are
/// open at a time, however many there are.
#[pyfunction]
#[pyo3(signature = (paths, out, *, min_count = MinCount(0), progress = None))]
#[pyo3(text_signature = "(paths, out, *, min_count=0, progress=None)")]
pub(super) fn merge_counts<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    out: PathBuf,
    min_count: MinCount,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    entry(|| {
        let min_count = min_count.get();
        let header = with_all_local(py, expanded(py, paths)?, |paths| {
            with_output(py, out, |out| {
                run(py, progress.as_ref(), |progress| {
                    word_counts::merge_files(&paths, &out, min_count, progress)
                })
            })
        })?;
        totals_dict(py, &header.totals)
    })
}
