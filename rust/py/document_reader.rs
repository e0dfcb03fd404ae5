//! `DocumentReader`: reads the documents of files in batches (`DocumentBatch`), which create Python
//! objects only on access.
//!
//! For measuring and comparing texts in Python (`sentitok.documents`). Training, counting and
//! encoding of files read in blocks instead.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use super::arrow::Column;
use super::error::entry;
use super::numbers::MaxLineBytes;
use super::paths::Files;
use super::progress::waiting;
use super::text::{byte_string, string};
use crate::corpus::{
    Block, FileOptions, FileSource, Format, InvalidUtf8, MAX_LINE_BYTES, Meter, Source, Tally,
};
use crate::error::Result;

/// The approximate size of a batch in bytes.
const BATCH_BYTES: usize = 4 << 20;
/// The approximate maximum number of documents in a batch, which may be empty.
const BATCH_ROWS: usize = BATCH_BYTES / 16;

/// A batch of documents.
///
/// A sequence of `str`; a document that is not UTF-8 is `bytes`.
#[pyclass(frozen, sequence, name = "DocumentBatch", module = "sentitok._sentitok")]
pub(super) struct PyDocumentBatch {
    pub(super) column: Arc<Column>,
}

#[pymethods]
impl PyDocumentBatch {
    fn __len__(&self) -> usize {
        self.column.n_rows()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        entry(|| {
            let texts: Vec<_> = self.column.rows().map(|row| object(py, row)).collect::<PyResult<_>>()?;
            PyList::new(py, texts)?.try_iter()
        })
    }
}

/// A document as a Python object.
fn object<'py>(py: Python<'py>, row: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    Ok(match simdutf8::basic::from_utf8(row) {
        Ok(text) => string(py, text)?.into_any(),
        Err(_) => byte_string(py, row)?.into_any(),
    })
}

/// Yields the documents of files, or of a `CorpusShard` of files, in order, in batches.
///
/// `invalid_utf8` is as in `count`.
#[pyclass(frozen, name = "DocumentReader", module = "sentitok._sentitok")]
pub(super) struct PyDocumentReader {
    reader: Arc<Mutex<Reader>>,
    meter: Arc<Meter>,
    /// Whether reading may block forever, as with a pipe.
    waits: bool,
}

struct Reader {
    source: FileSource,
    /// The last block, to reuse its memory.
    block: Block,
    tally: Tally,
}

#[pymethods]
impl PyDocumentReader {
    #[new]
    #[pyo3(signature = (paths, *, format = None, invalid_utf8 = "error", max_line_bytes = None))]
    fn new(
        paths: &Bound<'_, PyAny>,
        format: Option<&str>,
        invalid_utf8: &str,
        max_line_bytes: Option<MaxLineBytes>,
    ) -> PyResult<Self> {
        entry(|| {
            let Files { paths, byte_range } = Files::of(paths)?;
            let options = FileOptions {
                byte_range,
                format: format.map(Format::from_str).transpose()?,
                invalid_utf8: InvalidUtf8::from_str(invalid_utf8)?,
                max_line_bytes: max_line_bytes.map_or(MAX_LINE_BYTES, MaxLineBytes::get),
                ..FileOptions::default()
            };
            let is_file = |path: &PathBuf| path != Path::new("-") && path.is_file();
            let waits = !paths.iter().all(is_file);
            let source = FileSource::new(paths, options)?;
            let meter = source.meter();
            let reader = Reader { source, block: Block::default(), tally: Tally::default() };
            Ok(Self { reader: Arc::new(Mutex::new(reader)), meter, waits })
        })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyDocumentBatch>> {
        entry(|| {
            let reader = Arc::clone(&self.reader);
            let read = move || reader.lock().unwrap_or_else(PoisonError::into_inner).batch();
            let column = if self.waits {
                waiting(py, read).inspect_err(|_| self.meter.stop())?
            } else {
                py.detach(read)?
            };
            Ok(column.map(|column| PyDocumentBatch { column: Arc::new(column) }))
        })
    }

    /// How many invalid parts of UTF-8 became U+FFFD so far.
    #[getter]
    fn replaced(&self) -> u64 {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).tally.replaced
    }
}

impl Reader {
    /// Reads the next batch; `None` at the end.
    fn batch(&mut self) -> Result<Option<Column>> {
        let mut column = Column::default();
        let has_room = |column: &Column| column.n_bytes() < BATCH_BYTES && column.n_rows() < BATCH_ROWS;
        while has_room(&column) && self.source.fill(&mut self.block)? {
            self.block.for_each_document(&mut self.tally, |document| {
                column.push(document.as_bytes());
                Ok(())
            })?;
        }
        Ok((column.n_rows() > 0).then_some(column))
    }
}
