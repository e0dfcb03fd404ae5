//! `file_kind`: the kind of a file, for commands that take tokenizers and texts; `read_folder`: the
//! tokenizer of a folder without its settings, for `sentitok.pretrained`.

use std::path::PathBuf;

use pyo3::prelude::*;

use super::error::entry;
use super::progress::reading;
use super::remote::with_local;
use super::tokenizer::PyTokenizer;
use crate::formats::FileKind;
use crate::tokenizer::Tokenizer;

/// The kind of a file by its first bytes: `"tokenizer.json"`, `"tiktoken"`, ..., `"unknown"`.
///
/// `None` for a path that is not a regular file, such as a directory or a pipe.
#[pyfunction]
pub(super) fn file_kind(py: Python<'_>, path: PathBuf) -> PyResult<Option<&'static str>> {
    entry(|| with_local(py, path, |path| Ok(FileKind::of_file(&path)?.map(FileKind::name))))
}

/// Reads the tokenizer of a folder, ignoring the settings in other files.
#[pyfunction]
pub(super) fn read_folder(py: Python<'_>, path: PathBuf) -> PyResult<PyTokenizer> {
    entry(|| {
        with_local(py, path, |path| {
            Ok(reading(py, &[&path.clone()], move || Tokenizer::from_file(&path))?.into())
        })
    })
}
