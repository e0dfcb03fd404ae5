//! Texts that grow: `Tokenizer.encode_more` and `Tokenizer.stream_encoder`.

use numpy::PyArrayMethods;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyString};

use super::super::call::{Call, OwnedSpecials};
use super::super::encoding::{EarlierText, PyEncoding, TextPoint};
use super::super::error::entry;
use super::super::numbers::Seed;
use super::super::progress::off;
use super::super::rows::GivenRows;
use super::super::stream_encoder::PyStreamEncoder;
use super::super::text::{Errors, Text};
use super::PyTokenizer;
use crate::tokenizer::stream_encoder::StreamEncoder;
use crate::tokenizer::{ResumePoint, Truncation, check_beginning};
use crate::vocab::TokenId;

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
            let call = earlier.call;
            let before = match earlier.text {
                EarlierText::Row(before) => {
                    let taken = Text::new(text, errors)?;
                    check_beginning(before.bytes(), taken.input(py)?.bytes())?;
                    let given = GivenRows::one(text, None, errors, "")?;
                    let call = Call { spans: true, ..call.clone() };
                    let batch = self.rows(py, given, &Truncation::default(), true, call)?;
                    return PyEncoding::of_row(py, Py::new(py, batch)?);
                }
                EarlierText::One(before) => before,
            };
            if let Some(encoding) = self.encode_tail(py, encoding, before, text, call)? {
                return Ok(encoding);
            }
            let taken = Text::new(text, errors)?;
            let (before, input) = (before.input(py)?, taken.input(py)?);
            check_beginning(before.bytes(), input.bytes())?;
            let (Some(before), Some(longer)) = (before.text(), input.text()) else {
                return self.one(py, taken, call.clone());
            };
            let ids = encoding.array(py).try_readonly()?;
            let ids = ids.as_slice()?;
            let point = match encoding.resume_point() {
                Some(point) => point,
                None => {
                    let options = call.options(None);
                    let point = py.detach(|| self.tokenizer.resume_point(before, ids, &options))?;
                    let point =
                        point.map(|point| TextPoint { point, n_chars: n_chars(&before[..point.at()]) });
                    encoding.set_resume_point(point);
                    point
                }
            };
            let grown = match point {
                Some(from) => {
                    let tail = &longer[from.point.at()..];
                    let grown = off(py, tail.len(), |stop| {
                        self.tokenizer.encode_tail(from.point, ids, tail, &call.options(stop))
                    })?;
                    grown.map(|(ids, next)| (ids, next.map(|next| from.moved(next, tail))))
                }
                None => None,
            };
            match grown {
                Some((ids, next)) => self.grown(py, ids, next, taken, call),
                None => self.one(py, taken, call.clone()),
            }
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

impl PyTokenizer {
    /// Encodes a longer `str` from the place that an earlier one keeps, without the UTF-8 of either, which takes
    /// longer than all else where a text is not ASCII. `None` where this is not possible.
    fn encode_tail(
        &self,
        py: Python<'_>,
        encoding: &PyEncoding,
        before: &Text,
        text: &Bound<'_, PyAny>,
        call: &Call,
    ) -> PyResult<Option<PyEncoding>> {
        let (Text::Str(before), Some(Some(from)), Ok(text)) =
            (before, encoding.resume_point(), text.cast_exact::<PyString>())
        else {
            return Ok(None);
        };
        // The UTF-8 of ASCII is there, and compared in half the time.
        let is_ascii = from.n_chars == from.point.at();
        if is_ascii || !text.call_method1(intern!(py, "startswith"), (before,))?.is_truthy()? {
            return Ok(None);
        }
        let tail = text.get_item(PySlice::new(py, from.n_chars.try_into()?, isize::MAX, 1))?;
        // A surrogate is not UTF-8.
        let Ok(tail) = tail.cast::<PyString>()?.to_str() else { return Ok(None) };
        let ids = encoding.array(py).try_readonly()?;
        let ids = ids.as_slice()?;
        let grown = off(py, tail.len(), |stop| {
            self.tokenizer.encode_tail(from.point, ids, tail, &call.options(stop))
        })?;
        let Some((ids, next)) = grown else { return Ok(None) };
        let next = next.map(|next| from.moved(next, tail));
        self.grown(py, ids, next, Text::Str(text.clone().unbind()), call).map(Some)
    }

    /// An encoding with the place from which a longer text is encoded.
    fn grown(
        &self,
        py: Python<'_>,
        ids: Vec<TokenId>,
        next: Option<TextPoint>,
        text: Text,
        call: &Call,
    ) -> PyResult<PyEncoding> {
        let encoding = PyEncoding::new(py, ids, None, self.tokenizer.clone(), vec![text], call.clone())?;
        if next.is_some() {
            encoding.set_resume_point(next);
        }
        Ok(encoding)
    }
}

impl TextPoint {
    /// The place that a longer text continues from, whose text behind this place is `tail`.
    fn moved(self, next: ResumePoint, tail: &str) -> Self {
        let moved = &tail[..next.at() - self.point.at()];
        Self { point: next, n_chars: self.n_chars + n_chars(moved) }
    }
}

fn n_chars(text: &str) -> usize {
    text.chars().count()
}
