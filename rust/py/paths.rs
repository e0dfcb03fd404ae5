//! Paths and shards of files from Python, distinguished from texts that were given by mistake.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::remote::{expanded, named};
use crate::corpus::{ByteRange, FileVersion};
use crate::error::shown;

/// Files, and the part of them to read.
#[derive(Clone, Debug)]
pub(super) struct Files {
    pub paths: Vec<PathBuf>,
    pub byte_range: Option<ByteRange>,
}

impl Files {
    /// Takes a path, several, or a `CorpusShard`.
    pub fn of(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        match Self::of_shard(source)? {
            Some(files) => Ok(files),
            None => Ok(Self { paths: paths_of(source)?, byte_range: None }),
        }
    }

    /// Takes a `sentitok.corpus_shards.CorpusShard`; `None` for other objects.
    pub fn of_shard(source: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let py = source.py();
        let class = py.import("sentitok.corpus_shards")?.getattr("CorpusShard")?;
        if !source.is_instance(&class)? {
            return Ok(None);
        }
        let (start, stop) = (source.getattr("start")?.extract()?, source.getattr("stop")?.extract()?);
        let mut byte_range = ByteRange::new(start, stop)?;
        byte_range.aligned = source.getattr("is_aligned")?.extract()?;
        let versions: Option<Vec<(u64, String)>> = source.getattr("versions")?.extract()?;
        byte_range.versions =
            versions.unwrap_or_default().into_iter().map(|(size, mark)| FileVersion { size, mark }).collect();
        // The files are as they were planned, without folders and globs.
        let paths: Vec<PathBuf> = source.getattr("paths")?.extract()?;
        let paths = paths.iter().map(|path| named(py, path)).collect::<PyResult<_>>()?;
        Ok(Some(Self { paths, byte_range: Some(byte_range) }))
    }
}

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
