//! Documents from files, columns of Parquet files, or Python iterables.
//!
//! A `CorpusShard` given as `source` is a part of files. A list or tuple given as `source` contains
//! paths, as in Hugging Face's `train(files=[...])`; a list of texts is given as `texts`. Any other iterable contains texts in both cases. It never
//! matters whether a file happens to exist.
//!
//! The calling thread reads iterators; see `feeding`.

use std::path::PathBuf;
use std::time::Instant;

use pyo3::exceptions::{PyFileNotFoundError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PyString, PyTuple};

use super::arrow::{Chunks, Column};
use super::feeding::feed;
use super::paths::{Files, is_path, paths_of};
use super::progress::run;
use super::remote::given;
use super::text::{Errors, Lone, join_pairs, surrogates_passed, text_of_row};
use super::texts::refuse_mapping;
use crate::corpus::word_counts::{self, CountOptions, WordCounts};
use crate::corpus::{FileOptions, FileSource, Format, InvalidUtf8, MAX_LINE_BYTES, Shard, Source};
use crate::error::{Error, Result};
use crate::pipeline::Pipeline;
use crate::progress::Progress;
use crate::trainers::checkpoint::{Checkpoint, Purpose};

/// The approximate size of a batch of documents in bytes.
const BATCH_BYTES: usize = 256 << 10;

/// The format of a file.
pub(super) enum FileFormat {
    /// A format that the crate reads.
    Text(Format),
    /// A column of Parquet files, which pyarrow reads.
    Parquet(String),
}

impl FileFormat {
    /// Parses the name of a format.
    pub fn of(name: &str) -> Result<Self> {
        match name.split_once(':') {
            Some(("parquet", column)) if !column.is_empty() => Ok(Self::Parquet(column.to_owned())),
            _ => name.parse().map(Self::Text),
        }
    }
}

/// Options for reading documents.
pub(super) struct SourceOptions {
    pub format: Option<FileFormat>,
    pub invalid_utf8: InvalidUtf8,
    pub shard: Option<Shard>,
    pub max_line_bytes: Option<usize>,
}

/// Documents that are not read yet.
pub(super) enum Documents<'py> {
    Files(Files),
    Items(Bound<'py, PyIterator>),
    Column(Chunks<'py>),
}

impl<'py> Documents<'py> {
    /// The documents of `source` and `texts`; `None` if both are missing.
    pub fn new(
        source: Option<&Bound<'py, PyAny>>,
        texts: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Self>> {
        match (source, texts) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => {
                Err(PyTypeError::new_err("source and texts are both given; pass one of them"))
            }
            (Some(source), None) => Self::of_source(source).map(Some),
            (None, Some(texts)) => Self::of_texts(texts).map(Some),
        }
    }

    /// The files; `None` for texts in memory.
    pub fn files(&self) -> Option<&Files> {
        match self {
            Self::Files(files) => Some(files),
            Self::Items(_) | Self::Column(_) => None,
        }
    }

    /// The paths of files of text, and the options to read them; `None` for all else.
    pub fn files_of_text(&self, options: &SourceOptions) -> Option<(Vec<PathBuf>, FileOptions)> {
        let Self::Files(Files { paths, byte_range }) = self else { return None };
        let format = match &options.format {
            None => None,
            Some(FileFormat::Text(format)) => Some(format.clone()),
            Some(FileFormat::Parquet(_)) => return None,
        };
        let files = FileOptions {
            format,
            invalid_utf8: options.invalid_utf8,
            shard: options.shard,
            byte_range: byte_range.clone(),
            max_line_bytes: options.max_line_bytes.unwrap_or(MAX_LINE_BYTES),
            ..FileOptions::default()
        };
        Some((paths.clone(), files))
    }

    fn of_source(source: &Bound<'py, PyAny>) -> PyResult<Self> {
        refuse_mapping(source, "source")?;
        let is_list = source.is_instance_of::<PyList>() || source.is_instance_of::<PyTuple>();
        if is_list || is_path(source)? {
            return Ok(Self::Files(Files { paths: paths_of(source)?, byte_range: None }));
        }
        if let Some(files) = Files::of_shard(source)? {
            return Ok(Self::Files(files));
        }
        Self::of_texts(source)
    }

    fn of_texts(texts: &Bound<'py, PyAny>) -> PyResult<Self> {
        refuse_mapping(texts, "texts")?;
        if texts.is_instance_of::<PyString>()
            || texts.is_instance_of::<PyBytes>()
            || texts.hasattr("__fspath__")?
        {
            return Err(PyTypeError::new_err(
                "texts is one text or path; pass a list of texts, or paths as source",
            ));
        }
        match Chunks::new(texts)? {
            Some(chunks) => Ok(Self::Column(chunks)),
            None => Ok(Self::Items(texts.try_iter()?)),
        }
    }

    /// The number of files or iterables.
    pub fn n_sources(&self) -> usize {
        match self {
            Self::Files(files) => files.paths.len(),
            Self::Items(_) | Self::Column(_) => 1,
        }
    }

    /// Counts the pieces of documents, and saves the counts of files that the crate reads to a
    /// checkpoint.
    pub fn count(
        self,
        py: Python<'py>,
        options: SourceOptions,
        callback: Option<&Py<PyAny>>,
        pipeline: &Pipeline,
        counting: &CountOptions,
        checkpoint: Option<&mut Checkpoint>,
    ) -> PyResult<WordCounts> {
        let files = self.files_of_text(&options);
        match (self, checkpoint, files, options) {
            (Self::Files(_), Some(checkpoint), Some((paths, files)), _) => {
                run(py, callback, |progress| checkpoint.count(&paths, files, pipeline, counting, progress))
                    .map_err(|error| with_texts(py, error))
            }
            (
                Self::Files(Files { paths, byte_range: None }),
                Some(checkpoint),
                None,
                SourceOptions {
                    format: Some(FileFormat::Parquet(column)),
                    invalid_utf8,
                    shard: None,
                    max_line_bytes: _,
                },
            ) => {
                let column = ParquetColumn { paths, column, invalid_utf8 };
                column.count(py, callback, pipeline, counting, checkpoint)
            }
            (documents, _, _, options) => documents.run(py, options, callback, |source, progress| {
                word_counts::count(source, pipeline, counting, progress)
            }),
        }
    }

    /// Runs a job on a source of these documents.
    pub fn run<T: Send>(
        self,
        py: Python<'py>,
        options: SourceOptions,
        callback: Option<&Py<PyAny>>,
        job: impl FnOnce(&mut dyn Source, &mut Progress<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let SourceOptions { format, invalid_utf8, shard, max_line_bytes } = options;
        match self {
            Self::Files(Files { paths, byte_range }) => {
                let max_line_bytes = max_line_bytes.unwrap_or(MAX_LINE_BYTES);
                let format = match format {
                    Some(FileFormat::Parquet(column)) => {
                        let shard = shard.map(Shard::place);
                        let chunks = Chunks::of_parquet(
                            py,
                            &paths,
                            &column,
                            shard,
                            byte_range.as_ref(),
                            invalid_utf8.name(),
                        )?;
                        // The reader of Parquet has applied the shard to row groups already.
                        return feed_chunks(py, chunks, invalid_utf8, None, callback, job);
                    }
                    Some(FileFormat::Text(format)) => Some(format),
                    None => None,
                };
                let options = FileOptions {
                    format,
                    invalid_utf8,
                    shard,
                    byte_range,
                    max_line_bytes,
                    ..FileOptions::default()
                };
                run(py, callback, |progress| job(&mut FileSource::new(&paths, options)?, progress))
                    .map_err(|error| with_texts(py, error))
            }
            Self::Items(_) | Self::Column(_) if format.is_some() => Err(Error::Option {
                option: "format",
                value: "given".to_owned(),
                reason: "it says what a document of a file is; an iterable gives documents".to_owned(),
            }
            .into()),
            Self::Items(items) => {
                let mut items = Items { items, row: 0, invalid_utf8 };
                feed(py, |batch| items.fill(batch), invalid_utf8, shard, callback, job)
            }
            Self::Column(chunks) => feed_chunks(py, chunks, invalid_utf8, shard, callback, job),
        }
    }
}

/// A column of Parquet files.
struct ParquetColumn {
    paths: Vec<PathBuf>,
    column: String,
    invalid_utf8: InvalidUtf8,
}

impl ParquetColumn {
    /// Counts it shard by shard, and saves the counts of each to a checkpoint.
    fn count(
        self,
        py: Python<'_>,
        callback: Option<&Py<PyAny>>,
        pipeline: &Pipeline,
        counting: &CountOptions,
        checkpoint: &mut Checkpoint,
    ) -> PyResult<WordCounts> {
        let format = format!("parquet:{}", self.column);
        let mut shards = planned(py, &self.paths, &format)?;
        let invalid_utf8 = self.invalid_utf8;
        let (total, files) = (shards.len() as u64, FileOptions { invalid_utf8, ..FileOptions::default() });
        let done = match total {
            0 | 1 => None,
            _ => checkpoint.begin_shards(&self.paths, &format, &files, pipeline, counting, total)?,
        };
        let mut bytes = 0;
        let mut count = |files| {
            let format = Some(FileFormat::Parquet(self.column.clone()));
            let options = SourceOptions { format, invalid_utf8, shard: None, max_line_bytes: None };
            Documents::Files(files).run(py, options, callback, |source, progress| {
                let mut report = |stage, done, total| progress.report(stage, bytes + done, total).is_ok();
                let counts = word_counts::count(source, pipeline, counting, &mut Progress::new(&mut report));
                bytes += source.meter().done();
                counts
            })
        };
        let Some(done) = done else { return count(Files { paths: self.paths.clone(), byte_range: None }) };
        for (number, files) in (0..total).zip(shards.drain(..)).skip(done as usize) {
            let counts = count(files)?;
            py.detach(|| checkpoint.save_part(Purpose::Pieces, &counts, total - number - 1))?;
        }
        run(py, callback, |progress| checkpoint.sum(Purpose::Pieces, counting, progress))
    }
}

/// The shards of files that Python plans.
fn planned(py: Python<'_>, paths: &[PathBuf], format: &str) -> PyResult<Vec<Files>> {
    let names: Vec<_> = paths.iter().map(|path| given(py, path)).collect::<PyResult<_>>()?;
    let named = PyDict::new(py);
    named.set_item("format", format)?;
    let module = py.import("sentitok.corpus_shards")?;
    let arguments = (names, module.getattr("CHECKPOINT_BYTES")?);
    let shards: Vec<Bound<'_, PyAny>> =
        module.call_method("plan_shards", arguments, Some(&named))?.extract()?;
    shards.iter().filter_map(|shard| Files::of_shard(shard).transpose()).collect()
}

/// Says in the error of a file that is not there how texts are passed, if its name looks like one: if
/// it has white space, or neither a folder nor an extension.
fn with_texts(py: Python<'_>, error: PyErr) -> PyErr {
    let hinted = || {
        let value = error.value(py);
        let name: PathBuf = value.getattr("filename")?.extract()?;
        let text = name.to_string_lossy();
        let has_extension = name.extension().is_some_and(|extension| !extension.is_empty());
        let is_name = has_extension || text.contains(['/', '\\']);
        if is_name && !text.contains(char::is_whitespace) {
            return PyResult::Ok(None);
        }
        let (number, said) = (value.getattr("errno")?, value.getattr("strerror")?);
        // `cli/command.py` takes this off, because a command takes files.
        let said = format!("{said}; texts in memory are texts=[...]");
        Ok(Some(PyErr::from_value(value.get_type().call1((number, said, name.as_os_str()))?)))
    };
    if !error.is_instance_of::<PyFileNotFoundError>(py) {
        return error;
    }
    hinted().ok().flatten().unwrap_or(error)
}

/// Runs a job on the rows of Arrow arrays.
fn feed_chunks<T: Send>(
    py: Python<'_>,
    mut chunks: Chunks<'_>,
    invalid_utf8: InvalidUtf8,
    shard: Option<Shard>,
    callback: Option<&Py<PyAny>>,
    job: impl FnOnce(&mut dyn Source, &mut Progress<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let mut row = 0;
    let next = |batch: &mut Column| match chunks.next() {
        None => Ok(false),
        Some(chunk) => {
            batch.extend(&chunk?, row)?;
            row += batch.n_rows() as u64;
            Ok(true)
        }
    };
    feed(py, next, invalid_utf8, shard, callback, job)
}

/// Documents of an iterator.
struct Items<'py> {
    items: Bound<'py, PyIterator>,
    row: u64,
    invalid_utf8: InvalidUtf8,
}

impl Items<'_> {
    /// Fills a batch; returns `false` at the end. Ends early if the iterator is slow.
    fn fill(&mut self, batch: &mut Column) -> PyResult<bool> {
        let py = self.items.py();
        let started = Instant::now();
        loop {
            let Some(item) = self.items.next() else { return Ok(false) };
            let item = item?;
            match item.cast::<PyString>() {
                Ok(text) => match text.to_str() {
                    Ok(text) => batch.push(text.as_bytes()),
                    Err(_) => batch.push(&self.with_surrogates(text)?),
                },
                Err(_) => batch.push(text_of_row(self.row, &item, Errors::Replace)?.bytes(py)?),
            }
            self.row += 1;
            if batch.n_bytes() >= BATCH_BYTES
                || batch.n_rows() >= BATCH_BYTES / 16
                || started.elapsed() >= Progress::INTERVAL / 2
            {
                return Ok(true);
            }
        }
    }

    /// A text with surrogates: joins pairs. Lone surrogates are replaced as in a text to encode, or
    /// else become bytes that are always invalid.
    fn with_surrogates(&self, text: &Bound<'_, PyString>) -> PyResult<Vec<u8>> {
        let mut bytes = surrogates_passed(text)?.as_bytes().to_vec();
        let replaces = self.invalid_utf8 == InvalidUtf8::Replace;
        join_pairs(&mut bytes, if replaces { Lone::Replace } else { Lone::Keep });
        Ok(bytes)
    }
}
