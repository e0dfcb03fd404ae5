//! `cut_file`: finds where a file may be cut, for `sentitok.corpus_shards`.

use std::path::PathBuf;

use pyo3::prelude::*;

use super::error::entry;
use super::numbers::PartBytes;
use super::progress::run;
use crate::corpus::{self, Format};

/// Returns where the parts of a file begin: at lines or rows, `part_bytes` or less apart.
#[pyfunction]
#[pyo3(signature = (path, part_bytes, *, format = None, progress = None))]
pub(super) fn cut_file(
    py: Python<'_>,
    path: PathBuf,
    part_bytes: PartBytes,
    format: Option<&str>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<u64>> {
    entry(|| {
        let format = format.map(str::parse::<Format>).transpose()?;
        run(py, progress.as_ref(), |progress| {
            corpus::cut_file(&path, format.as_ref(), part_bytes.get(), progress)
        })
    })
}
