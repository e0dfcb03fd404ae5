//! `Encoding`: what one text, or a pair, became.
//!
//! Holds the ids as the array that Python gets, and what the rest is made of
//! when it is asked for: spans, the texts they lie in, the tokens' spelling.

use std::borrow::Cow;
use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use super::arrays;
use super::error::entry;
use super::html;
use super::text::{Errors, Text};
use crate::encoding::{Encoding, Span, char_offsets, trim_spans};
use crate::tokenizer::Tokenizer;
use crate::vocab::TokenId;

/// In what offsets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Bytes,
    Chars,
}

impl<'py> FromPyObject<'_, 'py> for Unit {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match &*object.extract::<Cow<'_, str>>()? {
            "bytes" => Ok(Self::Bytes),
            "chars" => Ok(Self::Chars),
            other => Err(PyValueError::new_err(format!("unit={other:?}: it is 'chars' or 'bytes'"))),
        }
    }
}

/// Spans of one text in the unit asked for.
pub(super) fn in_unit(text: &[u8], mut spans: Vec<Span>, unit: Unit, trim: bool) -> Vec<Span> {
    if trim {
        trim_spans(text, &mut spans);
    }
    match unit {
        Unit::Bytes => spans,
        Unit::Chars => char_offsets(text, &spans),
    }
}

/// What spells the ids.
enum Spelling {
    /// The tokenizer that made them.
    Tokenizer(Arc<Tokenizer>),
    /// Nothing but the spelled tokens: an encoding that was pickled.
    Tokens(Vec<String>),
}

/// The ids of a text or of a pair, and where in the text each came from.
#[pyclass(frozen, module = "sentitok", name = "Encoding")]
pub(super) struct PyEncoding {
    ids: Py<PyArray1<TokenId>>,
    encoding: Encoding,
    spelling: Spelling,
    /// One text, or two.
    texts: Vec<Text>,
    type_ids: PyOnceLock<Py<PyArray1<u32>>>,
    special_mask: PyOnceLock<Py<PyArray1<bool>>>,
}

impl PyEncoding {
    pub fn new(py: Python<'_>, encoding: Encoding, tokenizer: Arc<Tokenizer>, texts: Vec<Text>) -> Self {
        Self::with_spelling(py, encoding, Spelling::Tokenizer(tokenizer), texts)
    }

    fn with_spelling(py: Python<'_>, mut encoding: Encoding, spelling: Spelling, texts: Vec<Text>) -> Self {
        Self {
            ids: arrays::read_only(py, std::mem::take(&mut encoding.ids)).unbind(),
            encoding,
            spelling,
            texts,
            type_ids: PyOnceLock::new(),
            special_mask: PyOnceLock::new(),
        }
    }

    fn spelled(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        match &self.spelling {
            Spelling::Tokens(tokens) => Ok(tokens.clone()),
            Spelling::Tokenizer(tokenizer) => Ok(self
                .ids
                .bind(py)
                .try_readonly()?
                .as_array()
                .iter()
                .map(|&id| tokenizer.id_to_token(id).unwrap_or_default())
                .collect()),
        }
    }
}

/// All that a pickled encoding is: ids, spans, type ids, mask, the second
/// text's ids, tokens, texts.
type State = (Vec<TokenId>, Vec<Span>, Vec<u32>, Vec<bool>, (usize, usize), Vec<String>, Vec<Py<PyAny>>);

#[pymethods]
impl PyEncoding {
    /// The ids, a read-only array of uint32.
    #[getter]
    fn ids(&self, py: Python<'_>) -> Py<PyArray1<TokenId>> {
        self.ids.clone_ref(py)
    }

    /// The tokens as tokenizer.json spells them: `"Ġfilm"` for `" film"`.
    #[getter]
    fn tokens(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        entry(|| self.spelled(py))
    }

    /// The tokens in colour, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        entry(|| {
            let ids = self.ids.bind(py).try_readonly()?;
            let ids = ids.as_slice()?;
            Ok(match &self.spelling {
                Spelling::Tokens(tokens) => {
                    html::tokens(ids.iter().copied().zip(tokens.iter().map(String::as_bytes)))
                }
                Spelling::Tokenizer(tokenizer) => {
                    html::tokens(ids.iter().map(|&id| (id, tokenizer.id_to_bytes(id).unwrap_or_default())))
                }
            })
        })
    }

    /// The number of the segment of each id, a read-only array of uint32.
    #[getter]
    fn type_ids(&self, py: Python<'_>) -> Py<PyArray1<u32>> {
        let make = || arrays::read_only(py, self.encoding.type_ids.clone()).unbind();
        self.type_ids.get_or_init(py, make).clone_ref(py)
    }

    /// Whether the template put the id in, a read-only array of bool.
    #[getter]
    fn special_tokens_mask(&self, py: Python<'_>) -> Py<PyArray1<bool>> {
        let make = || arrays::read_only(py, self.encoding.special_mask.clone()).unbind();
        self.special_mask.get_or_init(py, make).clone_ref(py)
    }

    /// Where each token came from: start and end in the original text, an array
    /// of shape `(n, 2)`.
    ///
    /// `unit="chars"` counts characters as `text[start:end]` does; of bytes
    /// that are no UTF-8, those of `text.decode("utf-8", "replace")`. A token
    /// that holds a part of a character takes in the whole. `unit="bytes"`
    /// counts bytes of the UTF-8; those spans tile the text. `trim` leaves out
    /// the blanks around a token, as `trim_offsets` of Hugging Face does. In a
    /// pair each span lies in its own text; what a template put in is `(0, 0)`.
    #[pyo3(signature = (unit = Unit::Chars, *, trim = false))]
    #[pyo3(text_signature = "($self, unit='chars', *, trim=False)")]
    fn offsets<'py>(&self, py: Python<'py>, unit: Unit, trim: bool) -> PyResult<Bound<'py, PyArray2<u64>>> {
        entry(|| {
            let encoding = &self.encoding;
            let text = |number: usize| self.texts.get(number).map_or(Ok(&[][..]), |text| text.bytes(py));
            let (first, second) = (text(0)?, text(1)?);
            let spans = py.detach(|| {
                let mut spans = in_unit(first, encoding.spans.clone(), unit, trim);
                if !encoding.second.is_empty() {
                    let of_second = encoding.spans[encoding.second.clone()].to_vec();
                    spans.splice(encoding.second.clone(), in_unit(second, of_second, unit, trim));
                }
                spans
            });
            arrays::spans(py, spans)
        })
    }

    fn __len__(&self) -> usize {
        self.encoding.type_ids.len()
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        entry(|| {
            let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
            let other = other.get();
            let same_ids =
                self.ids.bind(py).try_readonly()?.as_array() == other.ids.bind(py).try_readonly()?.as_array();
            (same_ids && self.encoding == other.encoding)
                .into_pyobject(py)
                .map(|same| same.to_owned().into_any().unbind())
                .map_err(Into::into)
        })
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        entry(|| {
            let ids = self.ids.bind(py).call_method0("tobytes")?;
            ids.hash()
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        entry(|| {
            let shown = 8;
            let tokens = self.spelled(py)?;
            let more = if tokens.len() > shown { ", …" } else { "" };
            let first: Vec<String> = tokens.iter().take(shown).map(|token| format!("{token:?}")).collect();
            Ok(format!("Encoding({} ids: [{}{more}])", tokens.len(), first.join(", ")))
        })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        entry(|| {
            let py = this.py();
            let Self { ids, encoding, texts, .. } = this.get();
            let state: State = (
                ids.bind(py).try_readonly()?.as_array().to_vec(),
                encoding.spans.clone(),
                encoding.type_ids.clone(),
                encoding.special_mask.clone(),
                (encoding.second.start, encoding.second.end),
                this.get().spelled(py)?,
                texts.iter().map(|text| text.to_object(py)).collect::<PyResult<_>>()?,
            );
            Ok((this.getattr("_from_state")?, state.into_pyobject(py)?))
        })
    }

    /// Makes an encoding again of what was pickled.
    #[staticmethod]
    #[pyo3(signature = (*state))]
    fn _from_state(py: Python<'_>, state: &Bound<'_, PyTuple>) -> PyResult<Self> {
        entry(|| {
            let (ids, spans, type_ids, special_mask, (start, end), tokens, texts): State = state.extract()?;
            let n = ids.len();
            if [spans.len(), type_ids.len(), special_mask.len(), tokens.len()] != [n; 4]
                || start > end
                || end > n
            {
                return Err(PyValueError::new_err("a pickled Encoding whose parts differ in length"));
            }
            let encoding = Encoding { ids, spans, type_ids, special_mask, second: start..end };
            let texts = texts.iter().map(|text| Text::new(text.bind(py), Errors::Replace));
            Ok(Self::with_spelling(py, encoding, Spelling::Tokens(tokens), texts.collect::<PyResult<_>>()?))
        })
    }
}
