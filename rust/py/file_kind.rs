//! `file_kind`: what a file is, for commands that take tokenizers and texts; `read_folder`: the tokenizer of a
//! folder's files alone, for `sentitok.pretrained`.

use std::path::PathBuf;

use pyo3::prelude::*;

use super::error::entry;
use super::progress::reading;
use super::tokenizer::PyTokenizer;
use crate::formats::FileKind;
use crate::tokenizer::Tokenizer;

/// What a file is by its beginning: `"tokenizer.json"`, `"tiktoken"`, ..., `"unknown"`.
///
/// `None` of what is not a file, such as a directory or a pipe.
#[pyfunction]
pub(super) fn file_kind(path: PathBuf) -> PyResult<Option<&'static str>> {
    entry(|| Ok(FileKind::of_file(&path)?.map(FileKind::name)))
}

/// The tokenizer of the files in a folder, whatever the settings beside them say.
#[pyfunction]
pub(super) fn read_folder(py: Python<'_>, path: PathBuf) -> PyResult<PyTokenizer> {
    entry(|| Ok(reading(py, &[&path.clone()], move || Tokenizer::from_file(&path))?.into()))
}
