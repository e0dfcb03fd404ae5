//! `StreamEncoder`: encodes a text part by part.

use std::borrow::Cow;
use std::sync::Mutex;

use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::arrays;
use super::error::entry;
use super::progress::off;
use super::text::{Errors, Lone, join_pairs, surrogates_passed};
use crate::error::{Error, Result};
use crate::tokenizer::stream_encoder::StreamEncoder;
use crate::vocab::TokenId;

/// Encodes a text that arrives in parts, and returns ids as soon as no later text changes them.
///
/// Created by `Tokenizer.stream_encoder()`. All ids, joined, are those of `encode` on the joined
/// parts. It holds the end of the text whose ids are not final: a few words, or all text where the
/// tokenizer has no place at which a text can be cut.
#[pyclass(frozen, module = "sentitok", name = "StreamEncoder")]
pub(super) struct PyStreamEncoder {
    stream: Mutex<Stream>,
}

/// An encoder, and the bytes of half a character at the end of the last part.
struct Stream {
    encoder: StreamEncoder,
    errors: Errors,
    /// A surrogate whose other half may come.
    half: Vec<u8>,
}

impl PyStreamEncoder {
    pub fn new(encoder: StreamEncoder, errors: Errors) -> Self {
        Self { stream: Mutex::new(Stream { encoder, errors, half: Vec::new() }) }
    }

    /// Runs work on so many bytes. Nobody waits for the stream, so it cannot block the interpreter.
    fn with<'py>(
        &self,
        py: Python<'py>,
        n_bytes: usize,
        work: impl FnOnce(&mut Stream) -> Result<Vec<TokenId>> + Send,
    ) -> PyResult<Bound<'py, PyArray1<TokenId>>> {
        let ids = off(py, n_bytes, |_| match self.stream.try_lock() {
            Ok(mut stream) => work(&mut stream),
            Err(_) => Err(Error::Encode(
                "this StreamEncoder is in use by another thread; each text needs its own".to_owned(),
            )),
        })?;
        arrays::read_only(py, ids)
    }
}

impl Stream {
    /// The text of a part: a `str`, or the bytes of one with surrogates.
    fn text<'a>(&mut self, part: &'a std::result::Result<&'a str, Vec<u8>>) -> Result<Cow<'a, str>> {
        let mut bytes = match part {
            Ok(text) if self.half.is_empty() || text.is_empty() => return Ok(Cow::Borrowed(text)),
            Ok(text) => [&self.half, text.as_bytes()].concat(),
            Err(bytes) => [&self.half[..], bytes].concat(),
        };
        let mut half = Vec::new();
        if let [.., 0xED, 0xA0..=0xAF, _] = bytes[..] {
            half = bytes.split_off(bytes.len() - 3);
        }
        let lone = if self.errors == Errors::Replace { Lone::Replace } else { Lone::Keep };
        join_pairs(&mut bytes, lone);
        let text = String::from_utf8(bytes).map_err(|_| lone_surrogate())?;
        self.half = half;
        Ok(Cow::Owned(text))
    }
}

fn lone_surrogate() -> Error {
    Error::Encode(
        "a surrogate without its other half; pass errors=\"replace\" to encode U+FFFD for it".to_owned(),
    )
}

#[pymethods]
impl PyStreamEncoder {
    /// Adds the next part of the text, a `str`; returns the ids that are now final, often none: a
    /// read-only array of uint32. Raises after `finish`.
    fn push<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<TokenId>>> {
        entry(|| {
            let Ok(text) = text.cast::<PyString>() else {
                let kind = text.get_type().name()?;
                return Err(PyTypeError::new_err(format!("a part of a text is str, not {kind}")));
            };
            let part = match text.to_str() {
                Ok(text) => Ok(text),
                Err(_) => Err(surrogates_passed(text)?.as_bytes().to_vec()),
            };
            let n_bytes = part.as_ref().map_or_else(Vec::len, |text| text.len());
            self.with(py, n_bytes, |stream| {
                stream.encoder.check_open()?;
                let text = stream.text(&part)?;
                stream.encoder.push(&text)
            })
        })
    }

    /// Ends the text and returns the ids that are left. The encoder is then finished.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<TokenId>>> {
        entry(|| {
            self.with(py, self.n_held()?, |stream| {
                let rest = match (stream.half.is_empty(), stream.errors) {
                    (true, _) => "",
                    (false, Errors::Replace) => "\u{FFFD}",
                    (false, Errors::Strict) => return Err(lone_surrogate()),
                };
                let mut ids = stream.encoder.push(rest)?;
                stream.half.clear();
                ids.extend(stream.encoder.finish()?);
                Ok(ids)
            })
        })
    }

    /// How many bytes of the text, as UTF-8, are held because their ids are not final.
    #[getter]
    fn n_held(&self) -> PyResult<usize> {
        let held = self.stream.try_lock().map_or(0, |stream| stream.encoder.n_held() + stream.half.len());
        Ok(held)
    }
}
