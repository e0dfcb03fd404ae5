//! `DocumentReader`: documents of files for Python, a block at a time.
//!
//! Not for training, counting or encoding files, which read in blocks without making objects:
//! for what measures or compares texts in Python (`sentitok.documents`).

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};

use super::error::entry;
use super::numbers::MaxLineBytes;
use super::progress::waiting;
use crate::corpus::{
    Block, Document, FileOptions, FileSource, Format, InvalidUtf8, MAX_LINE_BYTES, Meter, Source, Tally,
};
use crate::error::Result;

/// Yields lists of the documents of files, in order.
///
/// `invalid_utf8` is that of `count`; with `"bytes"` a document that is no UTF-8 is `bytes`.
#[pyclass(frozen, name = "DocumentReader", module = "sentitok._sentitok")]
pub(super) struct PyDocumentReader {
    reader: Arc<Mutex<Reader>>,
    meter: Arc<Meter>,
    /// Whether reading may wait for ever, as that of a pipe.
    waits: bool,
}

struct Reader {
    source: FileSource,
    /// The last one, for its memory.
    block: Block,
    tally: Tally,
}

#[pymethods]
impl PyDocumentReader {
    #[new]
    #[pyo3(signature = (paths, *, format = None, invalid_utf8 = "error", max_line_bytes = None))]
    fn new(
        paths: Vec<PathBuf>,
        format: Option<&str>,
        invalid_utf8: &str,
        max_line_bytes: Option<MaxLineBytes>,
    ) -> PyResult<Self> {
        entry(|| {
            let options = FileOptions {
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

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        entry(|| {
            let Some(mut block) = self.fill(py)? else { return Ok(None) };
            let mut objects: Vec<Bound<'py, PyAny>> = Vec::new();
            let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
            block.for_each_document(&mut reader.tally, |document| {
                objects.push(match document {
                    Document::Text(text) => PyString::new(py, text).into_any(),
                    Document::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
                });
                Ok(())
            })?;
            reader.block = block;
            PyList::new(py, objects).map(Some)
        })
    }

    /// Invalid parts of UTF-8 that became U+FFFD, so far.
    #[getter]
    fn replaced(&self) -> u64 {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner).tally.replaced
    }
}

impl PyDocumentReader {
    /// Reads the next block, which is the caller's then; `None` at the end.
    fn fill(&self, py: Python<'_>) -> PyResult<Option<Block>> {
        let reader = Arc::clone(&self.reader);
        let fill = move || -> Result<Option<Block>> {
            let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
            let mut block = std::mem::take(&mut reader.block);
            Ok(reader.source.fill(&mut block)?.then_some(block))
        };
        if !self.waits {
            return Ok(py.detach(fill)?);
        }
        waiting(py, fill).inspect_err(|_| self.meter.stop())
    }
}
