//! `file_kind`: what a file is, for commands that take tokenizers and texts.

use std::path::PathBuf;

use pyo3::prelude::*;

use super::error::entry;
use crate::format::FileKind;

/// What a file is by its beginning: `"tokenizer.json"`, `"tiktoken"`, ..., `"unknown"`.
///
/// `None` of what is no file, such as a directory or a pipe.
#[pyfunction]
pub(super) fn file_kind(path: PathBuf) -> PyResult<Option<&'static str>> {
    entry(|| Ok(FileKind::of_file(&path)?.map(FileKind::name)))
}
