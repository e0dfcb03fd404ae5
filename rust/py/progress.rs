//! Long jobs on behalf of Python: the interpreter left to others, Ctrl-C
//! answered, a callback told how far the work is.

use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::progress::{Progress, Stage};

/// What Python is told while a job runs.
pub(super) struct Listener<'a> {
    callback: Option<&'a Py<PyAny>>,
    raised: Option<PyErr>,
}

impl<'a> Listener<'a> {
    /// A listener; `callback` is called with stage, done and total.
    pub fn new(callback: Option<&'a Py<PyAny>>) -> Self {
        Self { callback, raised: None }
    }

    /// Looks for signals and tells the callback; `false` when one of them raised.
    pub fn tell(&mut self, py: Python<'_>, stage: Stage, done: u64, total: u64) -> bool {
        let told = py.check_signals().and_then(|()| match self.callback {
            Some(callback) => callback.call1(py, (stage.name(), done, total)).map(drop),
            None => Ok(()),
        });
        match told {
            Ok(()) => true,
            Err(error) => {
                self.raised.get_or_insert(error);
                false
            }
        }
    }

    /// The result of the job, or what was raised meanwhile.
    pub fn finish<T>(self, result: Result<T>) -> PyResult<T> {
        match self.raised {
            Some(error) => Err(error),
            None => Ok(result?),
        }
    }
}

/// Runs a job on the calling thread.
pub(super) fn run<T: Send>(
    py: Python<'_>,
    callback: Option<&Py<PyAny>>,
    job: impl FnOnce(&mut Progress<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let mut listener = Listener::new(callback);
    let result = py.detach(|| {
        let mut report = |stage, done, total| Python::attach(|py| listener.tell(py, stage, done, total));
        job(&mut Progress::new(&mut report))
    });
    listener.finish(result)
}

/// Below this many bytes work is done without leaving the interpreter to
/// others: giving it up and getting it back costs as much.
const DETACH_BYTES: usize = 4 << 10;

/// Runs short work on so many bytes.
pub(super) fn off<T: Send>(
    py: Python<'_>,
    n_bytes: usize,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    let result = if n_bytes < DETACH_BYTES { work() } else { py.detach(work) };
    result.map_err(|error: Error| error.into())
}
