//! `StreamDecoder`: push an id, get text.

use std::sync::{Mutex, MutexGuard};

use pyo3::prelude::*;

use super::error::entry;
use super::ids;
use crate::error::Error;
use crate::tokenizer::decoder::stream::StreamDecoder;
use crate::vocab::TokenId;

/// Decodes ids as they come, never half a character.
///
/// Made by `Tokenizer.stream_decoder()`. The only class with a state: one
/// decoder serves one stream.
#[pyclass(frozen, module = "sentitok", name = "StreamDecoder")]
pub(super) struct PyStreamDecoder {
    decoder: Mutex<StreamDecoder>,
    max_id: TokenId,
}

impl PyStreamDecoder {
    pub fn new(decoder: StreamDecoder, max_id: TokenId) -> Self {
        Self { decoder: Mutex::new(decoder), max_id }
    }

    /// Nothing that waits runs under the lock, so it cannot be held across a fork or a switch.
    fn locked(&self) -> PyResult<MutexGuard<'_, StreamDecoder>> {
        self.decoder
            .lock()
            .map_err(|_| Error::Internal("a push into this decoder panicked".to_owned()).into())
    }
}

#[pymethods]
impl PyStreamDecoder {
    /// Takes an id; returns the text that is certain now, often empty.
    fn push(&self, id: &Bound<'_, PyAny>) -> PyResult<String> {
        entry(|| {
            let id = ids::extract_one(id, self.max_id)?;
            Ok(self.locked()?.push(id)?)
        })
    }

    /// Ends the text: what was held back comes out, as U+FFFD. The decoder is
    /// then at the start of another text.
    fn finish(&self) -> PyResult<String> {
        entry(|| Ok(self.locked()?.finish()?))
    }
}
