//! Paths from Python, distinguished from texts that were given by mistake.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::remote::expanded;
use crate::error::shown;

/// Takes a path, or several; folders, globs and URLs become the files that they name.
pub(super) fn paths_of(source: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    if is_path(source)? {
        return expanded(source.py(), vec![path_of(source, "source is a path")?]);
    }
    let mut paths = Vec::new();
    for item in source.try_iter()? {
        let item = item?;
        if !is_path(&item)? {
            return Err(PyTypeError::new_err(format!(
                "a list as source holds paths, not {}; pass texts in memory as texts=[...]",
                item.get_type().name()?
            )));
        }
        paths.push(path_of(&item, "a list as source holds paths")?);
    }
    expanded(source.py(), paths)
}

/// Takes a path; `expected` describes it in errors.
fn path_of(given: &Bound<'_, PyAny>, expected: &str) -> PyResult<PathBuf> {
    if let Ok(text) = given.cast::<PyString>()
        && is_no_path(text)
    {
        let text = text.to_string_lossy();
        return Err(PyTypeError::new_err(format!(
            "{expected}, and {:?} is none; pass texts in memory as texts=[...]",
            shown(&text)
        )));
    }
    given.extract()
}

/// Whether a `str` cannot be a path: it contains a line end, or is longer than any system allows.
fn is_no_path(text: &Bound<'_, PyString>) -> bool {
    const LONGEST: usize = 4096;
    let text = text.to_string_lossy();
    let longest_name = text.split(['/', '\\']).map(str::len).max().unwrap_or(0);
    text.contains('\n') || text.len() > LONGEST || longest_name > 255
}

pub(super) fn is_path(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.is_instance_of::<PyString>() || object.hasattr("__fspath__")?)
}
