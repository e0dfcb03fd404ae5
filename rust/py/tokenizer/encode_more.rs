//! Texts that grow: `Tokenizer.encode_more` and `Tokenizer.stream_encoder`.

use numpy::PyArrayMethods;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::super::call::{Call, OwnedSpecials};
use super::super::encoding::PyEncoding;
use super::super::error::entry;
use super::super::numbers::Seed;
use super::super::progress::off;
use super::super::rows::GivenRows;
use super::super::stream_encoder::PyStreamEncoder;
use super::super::text::{Errors, Text};
use super::PyTokenizer;
use crate::tokenizer::stream_encoder::StreamEncoder;
use crate::tokenizer::{Truncation, check_beginning};

#[pymethods]
impl PyTokenizer {
    /// Encodes a text that begins with the text of `encoding`, by the options of the call that
    /// `encoding` is from. Equals encoding the whole text, but only what follows the last safe place
    /// of the earlier text is encoded: where no token can reach across, whatever follows.
    ///
    /// The encoding is one of `encode` or `encode_more`, of one text. Where a tokenizer has no safe
    /// place, as with a custom pattern and no added token in the text, and for a template that
    /// holds the text twice, the whole text is encoded. `errors` is as in `encode`.
    #[pyo3(signature = (encoding, text, *, errors = Errors::Replace))]
    #[pyo3(text_signature = "($self, encoding, text, *, errors='replace')")]
    fn encode_more(
        &self,
        py: Python<'_>,
        encoding: &Bound<'_, PyEncoding>,
        text: &Bound<'_, PyAny>,
        errors: Errors,
    ) -> PyResult<PyEncoding> {
        entry(|| {
            let encoding = encoding.get();
            let Some(earlier) = encoding.earlier(py, &self.tokenizer)? else {
                return Err(PyValueError::new_err(
                    "encode_more continues what encode made of one text with this tokenizer; this encoding is of \
                     a pair, words or segments, a row of a batch that keeps no text or was cut off, unpickled, or \
                     another tokenizer's: call encode with the whole text",
                ));
            };
            let taken = Text::new(text, errors)?;
            let (before, input) = (earlier.text, taken.input(py)?);
            let call = earlier.call;
            if earlier.is_row {
                check_beginning(before.bytes(), input.bytes())?;
                let given = GivenRows::one(text, None, errors)?;
                let call = Call { spans: true, ..call.clone() };
                let batch = self.rows(py, given, &Truncation::default(), true, call)?;
                return PyEncoding::of_row(py, Py::new(py, batch)?);
            }
            let (Some(before), Some(longer)) = (before.text(), input.text()) else {
                check_beginning(before.bytes(), input.bytes())?;
                return self.one(py, taken, call.clone());
            };
            let ids = encoding.array(py).try_readonly()?;
            let ids = ids.as_slice()?;
            let point = match encoding.resume_point() {
                Some(point) => *point,
                None => {
                    let options = call.options(None);
                    let point = py.detach(|| self.tokenizer.resume_point(before, ids, &options))?;
                    encoding.set_resume_point(point);
                    point
                }
            };
            let n_bytes = longer.len() - point.map_or(0, |point| point.at().min(longer.len()));
            let (ids, next) = off(py, n_bytes, |stop| {
                self.tokenizer.encode_from(point, before, ids, longer, &call.options(stop))
            })?;
            let made = PyEncoding::new(py, ids, None, self.tokenizer.clone(), vec![taken], call.clone())?;
            if next.is_some() {
                made.set_resume_point(next);
            }
            Ok(made)
        })
    }

    /// An encoder for a text that arrives in parts: `push` returns the ids that are final,
    /// `finish` the rest. The arguments are as in `encode`.
    #[pyo3(signature = (*, add_special_tokens = true, specials = OwnedSpecials::None, errors = Errors::Replace, seed = Seed(0)))]
    #[pyo3(text_signature = "($self, *, add_special_tokens=True, specials='none', errors='replace', seed=0)")]
    fn stream_encoder(
        &self,
        add_special_tokens: bool,
        specials: OwnedSpecials,
        errors: Errors,
        seed: Seed,
    ) -> PyResult<PyStreamEncoder> {
        entry(|| {
            let call = Call { seed: seed.get(), ..Call::new(add_special_tokens, specials) };
            let encoder = StreamEncoder::new(self.tokenizer.clone(), call.options(None))?;
            Ok(PyStreamEncoder::new(encoder, errors))
        })
    }
}
