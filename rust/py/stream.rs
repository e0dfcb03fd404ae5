//! `StreamDecoder`: decodes ids as they arrive.

use std::sync::{Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::error::entry;
use super::ids::{self, Unknown};
use crate::error::Error;
use crate::tokenizer::decoder::stream::StreamDecoder;
use crate::vocab::TokenId;

/// Decodes ids as they arrive, and never returns half a character.
///
/// Created by `Tokenizer.stream_decoder()`. The only class with mutable state: each stream needs
/// its own decoder.
#[pyclass(frozen, module = "sentitok", name = "StreamDecoder")]
pub(super) struct PyStreamDecoder {
    decoder: Mutex<StreamDecoder>,
    max_id: TokenId,
}

impl PyStreamDecoder {
    pub fn new(decoder: StreamDecoder, max_id: TokenId) -> Self {
        Self { decoder: Mutex::new(decoder), max_id }
    }

    /// No code that waits runs under this lock, so it is never held during a fork or a switch of
    /// threads.
    fn locked(&self) -> PyResult<MutexGuard<'_, StreamDecoder>> {
        self.decoder
            .lock()
            .map_err(|_| Error::Internal("a push into this decoder panicked".to_owned()).into())
    }
}

#[pymethods]
impl PyStreamDecoder {
    /// Adds an id, or a list or an array of ids; returns the text that is now certain, which is
    /// often empty. Of ids among which one has no token, none is taken.
    fn push(&self, id: &Bound<'_, PyAny>) -> PyResult<String> {
        entry(|| match ids::extract_one(id, self.max_id) {
            Ok(id) => Ok(self.locked()?.push(id)?),
            Err(_) if is_several(id)? => {
                let ids = ids::extract(id, self.max_id, Unknown::Raise)?;
                Ok(self.locked()?.push_all(&ids)?)
            }
            Err(error) => Err(error),
        })
    }

    /// Ends the text and returns the remaining bytes as U+FFFD. The decoder is then ready for
    /// another text.
    fn finish(&self) -> PyResult<String> {
        entry(|| Ok(self.locked()?.finish()?))
    }
}

/// Whether an object is a list or an array of ids.
fn is_several(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_text = object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>();
    Ok(!is_text && object.hasattr("__len__")?)
}
