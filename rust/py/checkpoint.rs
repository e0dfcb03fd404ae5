//! `checkpoint=`, `resume=` and `checkpoint_seconds=` of trainers, and `remove_checkpoint`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pyo3::prelude::*;

use super::error::entry;
use super::numbers::CheckpointSeconds;
use crate::error::{Error, Result};
use crate::trainers::checkpoint::{self, Checkpoint};

/// Where and when a training is saved.
pub(super) struct Saving {
    dir: Option<PathBuf>,
    resume: bool,
    every: Duration,
}

impl Saving {
    /// Takes the arguments.
    ///
    /// # Errors
    /// [`Error::Option`] for `resume` without a folder.
    pub fn new(dir: Option<PathBuf>, resume: bool, seconds: CheckpointSeconds) -> Result<Self> {
        if resume && dir.is_none() {
            return Err(Error::Option {
                option: "resume",
                value: "True".to_owned(),
                reason: "there is nothing to resume without a checkpoint; pass its folder as checkpoint="
                    .to_owned(),
            });
        }
        // A century is enough, and longer times overflow.
        let every = Duration::from_secs_f64(seconds.get().min(1e10));
        Ok(Self { dir, resume, every })
    }

    /// Opens the checkpoint, if there is one.
    ///
    /// # Errors
    /// See [`Checkpoint`].
    pub fn open(
        self,
        py: Python<'_>,
        open: impl FnOnce(&Path, bool) -> Result<Checkpoint> + Send,
    ) -> PyResult<Option<Checkpoint>> {
        let Self { dir: Some(dir), resume, every } = self else { return Ok(None) };
        let mut checkpoint = py.detach(|| open(&dir, resume))?;
        checkpoint.set_every(every);
        Ok(Some(checkpoint))
    }
}

/// Deletes the checkpoint in a folder, and the folder if nothing else is in it.
#[pyfunction]
#[pyo3(signature = (path))]
pub(super) fn remove_checkpoint(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    entry(|| Ok(py.detach(|| checkpoint::remove(&path))?))
}
