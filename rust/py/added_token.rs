//! `AddedToken` and `Special`: a token outside the model, and a special token as a segment.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::error::entry;
use super::numbers::Id;
use super::text::{Errors, Text, items, name};
use crate::tokenizer::Segment;
use crate::tokenizer::added_tokens::{AddedToken, NewToken};
use crate::vocab::TokenId;

/// A special token as a segment of `Tokenizer.encode_segments`.
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

/// A string that is one token wherever it occurs in a text.
///
/// A `special` token frames data: it is only found in a text if a call says so. With `single_word`
/// it must not touch a word character; `lstrip` and `rstrip` include adjacent white space;
/// `normalized` searches the normalized text. A token without an `id` is for
/// `Tokenizer.with_specials`, which assigns one.
#[pyclass(frozen, eq, hash, module = "sentitok", name = "AddedToken")]
#[derive(PartialEq, Eq, Hash)]
pub(super) struct PyAddedToken {
    /// The id is 0 if none is assigned yet.
    token: AddedToken,
    id: Option<TokenId>,
}

impl From<AddedToken> for PyAddedToken {
    fn from(token: AddedToken) -> Self {
        Self { id: Some(token.id), token }
    }
}

/// Takes a list of tokens to add: strings, or objects with a `content` and rules, such as ours and
/// those of tokenizers. The id is `None` if none was given.
pub(super) fn new_tokens(object: &Bound<'_, PyAny>) -> PyResult<Vec<(NewToken, Option<TokenId>)>> {
    items(object)?.iter().map(new_token).collect()
}

fn new_token(object: &Bound<'_, PyAny>) -> PyResult<(NewToken, Option<TokenId>)> {
    if let Ok(token) = object.cast::<PyAddedToken>() {
        let token = token.get();
        return Ok((NewToken::Ruled(token.token.clone()), token.id));
    }
    let Some(content) = object.getattr_opt("content")? else {
        return Ok((NewToken::Special(name(object)?), None));
    };
    let flag = |rule: &str| object.getattr(rule)?.extract::<bool>();
    let token = AddedToken {
        content: name(&content)?,
        id: 0,
        special: flag("special")?,
        single_word: flag("single_word")?,
        lstrip: flag("lstrip")?,
        rstrip: flag("rstrip")?,
        normalized: flag("normalized")?,
    };
    Ok((NewToken::Ruled(token), None))
}

#[pymethods]
impl PyAddedToken {
    #[new]
    #[pyo3(signature = (content, id = None, *, special = true, single_word = false, lstrip = false, rstrip = false, normalized = false))]
    fn new(
        #[pyo3(from_py_with = name)] content: String,
        id: Option<Id>,
        special: bool,
        single_word: bool,
        lstrip: bool,
        rstrip: bool,
        normalized: bool,
    ) -> Self {
        let id = id.map(Id::get);
        let given = id.unwrap_or_default();
        let token = AddedToken { content, id: given, special, single_word, lstrip, rstrip, normalized };
        Self { token, id }
    }

    /// The token's text.
    #[getter]
    fn content(&self) -> &str {
        &self.token.content
    }

    /// The id; an error if none is assigned yet.
    #[getter]
    fn id(&self) -> PyResult<TokenId> {
        self.id.ok_or_else(|| {
            PyValueError::new_err(format!(
                "{:?} has no id yet; Tokenizer.with_specials gives it one",
                self.token.content
            ))
        })
    }

    /// Whether it frames data.
    #[getter]
    fn special(&self) -> bool {
        self.token.special
    }

    /// Whether it only matches if no word character touches it.
    #[getter]
    fn single_word(&self) -> bool {
        self.token.single_word
    }

    /// Whether it includes the white space before it.
    #[getter]
    fn lstrip(&self) -> bool {
        self.token.lstrip
    }

    /// Whether it includes the white space after it.
    #[getter]
    fn rstrip(&self) -> bool {
        self.token.rstrip
    }

    /// Whether it is searched in the normalized text.
    #[getter]
    fn normalized(&self) -> bool {
        self.token.normalized
    }

    fn __repr__(&self) -> String {
        let AddedToken { content, special, .. } = &self.token;
        let id = self.id.map_or_else(String::new, |id| format!("{id}, "));
        format!("AddedToken({content:?}, {id}special={})", if *special { "True" } else { "False" })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        entry(|| {
            let Self { token, id } = this.get();
            let state = (
                &token.content,
                *id,
                [token.special, token.single_word, token.lstrip, token.rstrip, token.normalized],
            );
            Ok((this.get_type().getattr("_from_state")?, state.into_pyobject(this.py())?))
        })
    }

    /// Unpickles a token.
    #[staticmethod]
    fn _from_state(content: String, id: Option<TokenId>, rules: [bool; 5]) -> Self {
        let [special, single_word, lstrip, rstrip, normalized] = rules;
        Self::new(content, id.map(Id), special, single_word, lstrip, rstrip, normalized)
    }
}

/// A segment of `Tokenizer.encode_segments`, as an owned reference.
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
            Self::Text(text) => text.input(py).map(Segment::Text),
        }
    }
}
