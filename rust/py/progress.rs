//! Runs long jobs for Python: releases the interpreter, handles Ctrl-C, and calls a callback that
//! reports progress.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel, sync_channel};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::error::{Error, Result};
use crate::parallel;
use crate::progress::{Progress, Stage};

/// Reports to Python while a job runs.
pub(super) struct Listener<'a> {
    callback: Option<&'a Py<PyAny>>,
    raised: Option<PyErr>,
}

impl<'a> Listener<'a> {
    /// A listener that calls `callback` with stage, done and total.
    pub fn new(callback: Option<&'a Py<PyAny>>) -> Self {
        Self { callback, raised: None }
    }

    /// Checks for signals and calls the callback; returns `false` if one of them raised.
    pub fn report(&mut self, py: Python<'_>, stage: Stage, done: u64, total: u64) -> bool {
        let answer = py.check_signals().and_then(|()| match self.callback {
            Some(callback) => callback.call1(py, (stage.name(), done, total)).map(drop),
            None => Ok(()),
        });
        match answer {
            Ok(()) => true,
            Err(error) => {
                self.raised.get_or_insert(error);
                false
            }
        }
    }

    /// The result of the job, or the exception that was raised during it.
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
        let mut report = |stage, done, total| Python::attach(|py| listener.report(py, stage, done, total));
        // Without a callback, the interpreter is only needed for signals, and rarely, because
        // acquiring it may make the work wait.
        let mut progress = match callback {
            Some(_) => Progress::new(&mut report),
            None => Progress::asking(&mut report),
        };
        job(&mut progress)
    });
    listener.finish(result)
}

/// Runs work that may block forever, such as reading a pipe without a writer, on a separate thread,
/// while the calling thread handles signals. A signal that raises leaves the thread blocked.
pub(super) fn waiting<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = sync_channel(1);
    let started = std::thread::Builder::new().name("sentitok-wait".to_owned()).spawn(move || {
        // Fails only if the receiver is gone.
        let _ = sender.send(work());
    });
    started.map_err(|error| Error::Internal(format!("no thread can be started: {error}")))?;
    let mut receiver = receiver;
    loop {
        let waited = &mut receiver;
        match py.detach(move || waited.recv_timeout(Progress::INTERVAL)) {
            Ok(result) => return Ok(result?),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::Internal("a reading thread panicked".to_owned()).into());
            }
        }
    }
}

/// Reads files for Python: directly if they are regular files, else by [`waiting`].
pub(super) fn reading<T: Send + 'static>(
    py: Python<'_>,
    paths: &[&Path],
    read: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let waits = |path: &&Path| std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
    if paths.iter().any(waits) { waiting(py, read) } else { Ok(py.detach(read)?) }
}

/// Below this many bytes the interpreter is not released, because releasing and acquiring it takes
/// as long as the work.
const DETACH_BYTES: usize = 4 << 10;
/// From this many bytes on the work can be interrupted.
const STOPPABLE_BYTES: usize = 1 << 23;

/// Runs work on this many bytes. It gets a flag to check if it may take long.
pub(super) fn off<T: Send>(
    py: Python<'_>,
    n_bytes: usize,
    work: impl FnOnce(Option<&AtomicBool>) -> Result<T> + Send,
) -> PyResult<T> {
    match n_bytes {
        ..DETACH_BYTES => Ok(work(None)?),
        DETACH_BYTES..STOPPABLE_BYTES => Ok(py.detach(|| work(None))?),
        _ => stoppable(py, work),
    }
}

/// Runs work on a separate thread, while the calling thread handles signals. A signal that raises
/// sets the flag, and the work is awaited. If the system cannot start a thread, the work runs on
/// the calling thread.
fn stoppable<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(Option<&AtomicBool>) -> Result<T> + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let (ended, end) = channel::<()>();
    // Taken by the thread that runs it.
    let work = Mutex::new(Some(work));
    let run_work = |stop: Option<&AtomicBool>| {
        let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
        work.map_or_else(|| Err(Error::Internal("a job was taken twice".to_owned())), |work| work(stop))
    };
    std::thread::scope(|scope| {
        let (stop, run_work) = (&stop, &run_work);
        let worker = parallel::spawn(scope, move || {
            // Dropped at the end, also by a panic, which ends the wait of the calling thread.
            let _ended = ended;
            run_work(Some(stop))
        });
        let Some(worker) = worker else {
            return Ok(py.detach(|| run_work(None))?);
        };
        let mut end = end;
        let mut raised = None;
        loop {
            let waited = &mut end;
            if py.detach(move || waited.recv_timeout(Progress::INTERVAL)) != Err(RecvTimeoutError::Timeout) {
                break;
            }
            if let Err(error) = py.check_signals() {
                stop.store(true, Ordering::Relaxed);
                raised.get_or_insert(error);
            }
        }
        let result = worker.join();
        match raised {
            Some(error) => Err(error),
            None => Ok(result.map_err(|_| Error::Internal("a thread panicked".to_owned()))??),
        }
    })
}
