//! `AddedToken` and `Special`: tokens outside the model, and one among segments.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::error::entry;
use super::text::{Errors, Text, name};
use crate::added_tokens::AddedToken;
use crate::tokenizer::Segment;
use crate::vocab::TokenId;

/// A special token among the segments of `Tokenizer.encode_segments`.
#[pyclass(frozen, eq, hash, module = "sentitok", name = "Special")]
#[derive(PartialEq, Eq, Hash)]
pub(super) struct PySpecial {
    content: String,
}

#[pymethods]
impl PySpecial {
    #[new]
    fn new(#[pyo3(from_py_with = name)] content: String) -> Self {
        Self { content }
    }

    /// The token's text.
    #[getter]
    pub fn content(&self) -> &str {
        &self.content
    }

    fn __repr__(&self) -> String {
        format!("Special({:?})", self.content)
    }

    fn __getnewargs__(&self) -> (&str,) {
        (&self.content,)
    }
}

/// A string that is one token wherever it stands in a text.
///
/// A `special` one frames data: it is a token only when a call says so.
/// `single_word` asks that no word character touches it; `lstrip` and `rstrip`
/// take white space along; `normalized` looks for it in the normalized text.
#[pyclass(frozen, eq, hash, module = "sentitok", name = "AddedToken")]
#[derive(PartialEq, Eq, Hash)]
pub(super) struct PyAddedToken {
    token: AddedToken,
}

impl From<AddedToken> for PyAddedToken {
    fn from(token: AddedToken) -> Self {
        Self { token }
    }
}

#[pymethods]
impl PyAddedToken {
    #[new]
    #[pyo3(signature = (content, id, *, special = true, single_word = false, lstrip = false, rstrip = false, normalized = false))]
    fn new(
        #[pyo3(from_py_with = name)] content: String,
        id: TokenId,
        special: bool,
        single_word: bool,
        lstrip: bool,
        rstrip: bool,
        normalized: bool,
    ) -> Self {
        Self { token: AddedToken { content, id, special, single_word, lstrip, rstrip, normalized } }
    }

    /// The token's text.
    #[getter]
    fn content(&self) -> &str {
        &self.token.content
    }

    /// Its id.
    #[getter]
    fn id(&self) -> TokenId {
        self.token.id
    }

    /// Whether it frames data.
    #[getter]
    fn special(&self) -> bool {
        self.token.special
    }

    /// Whether it matches only where no word character touches it.
    #[getter]
    fn single_word(&self) -> bool {
        self.token.single_word
    }

    /// Whether it takes the white space before it along.
    #[getter]
    fn lstrip(&self) -> bool {
        self.token.lstrip
    }

    /// Whether it takes the white space after it along.
    #[getter]
    fn rstrip(&self) -> bool {
        self.token.rstrip
    }

    /// Whether it is looked for in the normalized text.
    #[getter]
    fn normalized(&self) -> bool {
        self.token.normalized
    }

    fn __repr__(&self) -> String {
        let AddedToken { content, id, special, .. } = &self.token;
        format!("AddedToken({content:?}, {id}, special={})", if *special { "True" } else { "False" })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        entry(|| {
            let token = &this.get().token;
            let state = (
                &token.content,
                token.id,
                [token.special, token.single_word, token.lstrip, token.rstrip, token.normalized],
            );
            Ok((this.get_type().getattr("_from_state")?, state.into_pyobject(this.py())?))
        })
    }

    /// Makes a token again of what was pickled.
    #[staticmethod]
    fn _from_state(content: String, id: TokenId, rules: [bool; 5]) -> Self {
        let [special, single_word, lstrip, rstrip, normalized] = rules;
        Self::new(content, id, special, single_word, lstrip, rstrip, normalized)
    }
}

/// A segment of `Tokenizer.encode_segments`, kept alive.
pub(super) enum Part {
    Special(Py<PySpecial>),
    Text(Text),
}

impl Part {
    pub fn new(object: &Bound<'_, PyAny>, errors: Errors) -> PyResult<Self> {
        match object.cast::<PySpecial>() {
            Ok(special) => Ok(Self::Special(special.clone().unbind())),
            Err(_) => Text::new(object, errors).map(Self::Text),
        }
    }

    pub fn segment<'a>(&'a self, py: Python<'a>) -> PyResult<Segment<'a>> {
        match self {
            Self::Special(special) => Ok(Segment::Special(&special.get().content)),
            Self::Text(text) => text.bytes(py).map(Segment::Text),
        }
    }
}
