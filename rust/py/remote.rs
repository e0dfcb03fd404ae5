//! Files behind URLs, which `sentitok.remote` reads with fsspec, and local copies of them.

use std::io::{self, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::corpus::{Bytes, OpeningFile, RemoteError, RemoteFile, RemoteFiles, set_remote_files, url_of};

/// Lets the crate read URLs; `sentitok.remote` is imported for the first one.
pub(super) fn register() {
    set_remote_files(Box::new(Stores));
}

/// What `sentitok.remote` reads.
struct Stores;

impl RemoteFiles for Stores {
    fn open(&self, url: &str, first_bytes: usize) -> Result<Box<dyn OpeningFile>> {
        Python::attach(|py| {
            let future = module(py)?.call_method1("open_input", (url, first_bytes))?;
            Ok(Box::new(PyOpening(future.unbind())) as Box<dyn OpeningFile>)
        })
        .map_err(error)
    }

    fn sizes(&self, urls: &[&str]) -> Result<Vec<Option<u64>>> {
        Python::attach(|py| module(py)?.call_method1("sizes", (urls,))?.extract()).map_err(error)
    }
}

/// A future of a `sentitok.remote.Input`.
struct PyOpening(Py<PyAny>);

impl OpeningFile for PyOpening {
    fn opened(self: Box<Self>) -> Result<Box<dyn RemoteFile>> {
        Python::attach(|py| {
            let file = self.0.bind(py).call_method0("result")?;
            let (size, mark) = (file.getattr("size")?.extract()?, file.getattr("mark")?.extract()?);
            Ok(Box::new(PyFile { file: file.unbind(), size, mark }) as Box<dyn RemoteFile>)
        })
        .map_err(error)
    }
}

fn module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("sentitok.remote")
}

/// An error that `py::error` gives back to Python as it was raised.
fn error(error: PyErr) -> io::Error {
    io::Error::other(RemoteError(Box::new(error)))
}

/// The exception of an error of a remote file.
pub(super) fn exception(py: Python<'_>, source: &io::Error) -> Option<PyErr> {
    let error = source.get_ref()?.downcast_ref::<RemoteError>()?;
    error.0.downcast_ref::<PyErr>().map(|error| error.clone_ref(py))
}

/// A `sentitok.remote.Input`.
struct PyFile {
    file: Py<PyAny>,
    size: Option<u64>,
    mark: String,
}

impl RemoteFile for PyFile {
    fn size(&self) -> Option<u64> {
        self.size
    }

    fn mark(&self) -> &str {
        &self.mark
    }

    fn read_at(&mut self, offset: u64, length: usize, until: u64, wait: Duration) -> Result<Option<Bytes>> {
        Python::attach(|py| {
            let block = self.file.call_method1(py, "read_at", (offset, length, wait.as_secs_f64(), until))?;
            let block: Option<PyBackedBytes> = block.extract(py)?;
            Ok(block.map(|block| Box::new(block) as Bytes))
        })
        .map_err(error)
    }

    fn check(&mut self) -> Result<()> {
        Python::attach(|py| self.file.call_method0(py, "check").map(drop)).map_err(error)
    }
}

/// A path as `sentitok.remote` takes it: a URL as a string, because `pathlib` makes one slash of two.
pub(super) fn given<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
    match url_of(path) {
        Some(url) => Ok(url.into_pyobject(py)?.into_any()),
        None => Ok(path.into_pyobject(py)?.into_any()),
    }
}

/// The files that paths, folders, globs and URLs name. Python is asked only if one of them is not
/// the plain path of a file.
pub(super) fn expanded(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<Vec<PathBuf>> {
    let is_plain = |path: &PathBuf| {
        let text = path.to_string_lossy();
        !text.contains(":/") && !text.contains(['*', '?', '[']) && !path.is_dir()
    };
    if paths.iter().all(is_plain) {
        return Ok(paths);
    }
    let module = module(py)?;
    let paths: Vec<_> = paths.iter().map(|path| given(py, path)).collect::<PyResult<_>>()?;
    let files: Vec<String> = module.call_method1("expand", (paths,))?.extract()?;
    files.iter().map(|file| module.call_method1("named", (file,))?.extract()).collect()
}

/// A path as it is if it is local; the name of a URL without credentials.
pub(super) fn named(py: Python<'_>, path: &Path) -> PyResult<PathBuf> {
    match url_of(path) {
        Some(url) => module(py)?.call_method1("named", (url,))?.extract(),
        None => Ok(path.to_path_buf()),
    }
}

/// The size of a file behind a URL; `None` for a path, or if the server does not send it.
pub(super) fn size_of(py: Python<'_>, path: &Path) -> PyResult<Option<u64>> {
    match url_of(path) {
        Some(url) => module(py)?.call_method1("size", (url,))?.extract(),
        None => Ok(None),
    }
}

/// A path as it is if it is local; else the name of a URL.
fn local_or_url<'py>(
    py: Python<'py>,
    path: &Path,
) -> PyResult<std::result::Result<PathBuf, Bound<'py, PyAny>>> {
    if !path.to_string_lossy().contains(":/") || path.exists() {
        return Ok(Ok(path.to_path_buf()));
    }
    let name = module(py)?.call_method1("local_name", (given(py, path)?,))?;
    let path: PathBuf = name.extract()?;
    Ok(if url_of(&path).is_some() { Err(name) } else { Ok(path) })
}

/// Calls `read` with the path of a local file: a path as it is, or a temporary copy of a URL.
pub(super) fn with_local<T>(
    py: Python<'_>,
    path: PathBuf,
    read: impl FnOnce(PathBuf) -> PyResult<T>,
) -> PyResult<T> {
    match local_or_url(py, &path)? {
        Ok(path) => read(path),
        Err(url) => finished(py, &module(py)?.call_method1("local_copy", (url,))?, read, |_| Ok(())),
    }
}

/// [`with_local`] for several files.
pub(super) fn with_all_local<T>(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    read: impl FnOnce(Vec<PathBuf>) -> PyResult<T>,
) -> PyResult<T> {
    let mut local = Vec::with_capacity(paths.len());
    let mut copies = Vec::new();
    let mut result = Ok(());
    for path in &paths {
        let one = local_or_url(py, path).and_then(|found| {
            let url = match found {
                Ok(path) => return Ok(path),
                Err(url) => url,
            };
            let copy = module(py)?.call_method1("local_copy", (url,))?;
            copies.push(copy.clone());
            copy.getattr("path")?.extract()
        });
        match one {
            Ok(path) => local.push(path),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    let result = result.and_then(|()| read(local));
    let result = copies.iter().fold(result, |result, copy| result.map_err(|error| renamed(py, copy, error)));
    for copy in copies {
        copy.call_method0("close")?;
    }
    result
}

/// Calls `write` with the path of a local file or folder, and brings what it writes to the store if
/// `path` is a URL.
pub(super) fn with_output<T>(
    py: Python<'_>,
    path: PathBuf,
    write: impl FnOnce(PathBuf) -> PyResult<T>,
) -> PyResult<T> {
    match local_or_url(py, &path)? {
        Ok(path) => write(path),
        Err(url) => {
            let output = module(py)?.call_method1("LocalOutput", (url,))?;
            finished(py, &output, write, |output| output.call_method0("finish").map(drop))
        }
    }
}

/// As [`with_output`], for token shards: each is brought to the store when it is whole.
pub(super) fn with_shards<T>(
    py: Python<'_>,
    path: PathBuf,
    resume: bool,
    write: impl FnOnce(PathBuf) -> PyResult<T>,
) -> PyResult<T> {
    match local_or_url(py, &path)? {
        Ok(path) => write(path),
        Err(url) => {
            let output = module(py)?.call_method1("shards_output", (url, resume))?;
            finished(py, &output, write, |output| output.call_method0("finish").map(drop))
        }
    }
}

/// Runs `work` on the path of a temporary copy, which is removed at the end; errors name the URL.
fn finished<T>(
    py: Python<'_>,
    copy: &Bound<'_, PyAny>,
    work: impl FnOnce(PathBuf) -> PyResult<T>,
    finish: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>,
) -> PyResult<T> {
    let result = work(copy.getattr("path")?.extract()?);
    // Whole files are kept after a failure too, so that the same call can resume.
    let kept = finish(copy);
    copy.call_method0("close")?;
    let result = result.map_err(|error| renamed(py, copy, error))?;
    kept?;
    Ok(result)
}

/// An error of a temporary copy as one of the URL.
fn renamed(py: Python<'_>, copy: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    match copy.call_method1("renamed", (error.value(py),)) {
        Ok(renamed) => PyErr::from_value(renamed),
        Err(_) => error,
    }
}
