//! `Normalizer`: named steps, and steps of files.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::error::entry;
use super::text::{Errors, Text, names};
use crate::error::Error;
use crate::normalizer::{Charsmap, Normalizer, SentencePiece, SentencePieceOptions};

/// Rewrites a text before it is cut into pieces.
///
/// Takes a name of `Normalizer.names()`, or several in order, joined by `+`:
/// `Normalizer("nfkc+lowercase")`.
#[pyclass(frozen, module = "sentitok", name = "Normalizer")]
pub(super) struct PyNormalizer {
    pub normalizer: Normalizer,
}

impl From<Normalizer> for PyNormalizer {
    fn from(normalizer: Normalizer) -> Self {
        Self { normalizer }
    }
}

/// Takes a name, a `Normalizer`, or `None`, which means `"none"`.
pub(super) fn extract(object: &Bound<'_, PyAny>) -> PyResult<Option<Normalizer>> {
    if let Ok(name) = object.cast::<PyString>() {
        return match name.to_str()? {
            "none" => Ok(None),
            name => Ok(Some(Normalizer::from_name(name)?)),
        };
    }
    match object.cast::<PyNormalizer>() {
        Ok(normalizer) => Ok(Some(normalizer.get().normalizer.clone())),
        Err(_) => Err(PyTypeError::new_err(format!(
            "normalizer is a name or a Normalizer, not {}",
            object.get_type().name()?
        ))),
    }
}

/// The maximum length of the steps in `repr`, because rules of SentencePiece have 300,000
/// characters.
const SHOWN: usize = 300;

/// The beginning of a long text, and its length.
fn shortened(json: &str) -> String {
    match json.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}... of {} characters", &json[..end], json.chars().count()),
        None => json.to_owned(),
    }
}

impl PyNormalizer {
    fn json(&self) -> PyResult<String> {
        Ok(serde_json::to_string(&self.normalizer).map_err(|error| Error::Internal(error.to_string()))?)
    }
}

#[pymethods]
impl PyNormalizer {
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        entry(|| Ok(Normalizer::from_name(name)?.into()))
    }

    /// The available names.
    #[staticmethod]
    fn names() -> Vec<&'static str> {
        Normalizer::names().collect()
    }

    /// SentencePiece's normalizer.
    ///
    /// Args:
    ///     rules: `"nmt_nfkc"`, its default, `"nfkc"`, `"nmt_nfkc_cf"`, `"nfkc_cf"` or `"identity"`.
    ///     add_dummy_prefix: insert a space before a text.
    ///     remove_extra_whitespaces: remove spaces at the ends and repeated spaces.
    ///     treat_whitespace_as_suffix: insert that space after the text instead.
    ///     user_defined_symbols: strings to which no rule applies.
    ///
    /// Raises:
    ///     SentitokError: for an unknown name.
    #[staticmethod]
    #[pyo3(signature = (rules = "nmt_nfkc", *, add_dummy_prefix = true, remove_extra_whitespaces = true, treat_whitespace_as_suffix = false, user_defined_symbols = Vec::new()))]
    #[pyo3(
        text_signature = "(rules='nmt_nfkc', *, add_dummy_prefix=True, remove_extra_whitespaces=True, treat_whitespace_as_suffix=False, user_defined_symbols=())"
    )]
    fn sentencepiece(
        rules: &str,
        add_dummy_prefix: bool,
        remove_extra_whitespaces: bool,
        treat_whitespace_as_suffix: bool,
        #[pyo3(from_py_with = names)] user_defined_symbols: Vec<String>,
    ) -> PyResult<Self> {
        entry(|| {
            let options = SentencePieceOptions {
                charsmap: Charsmap::published(rules)?,
                add_dummy_prefix,
                remove_extra_whitespaces,
                treat_whitespace_as_suffix,
                user_defined: user_defined_symbols,
                ..SentencePieceOptions::default()
            };
            Ok(Normalizer::SentencePiece(Box::new(SentencePiece::new(options)?)).into())
        })
    }

    /// The name; `None` for steps without one.
    #[getter]
    fn name(&self) -> Option<String> {
        self.normalizer.name()
    }

    /// The normalized text. Surrogate pairs are joined, and a lone surrogate becomes U+FFFD.
    fn normalize<'py>(&self, py: Python<'py>, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
        entry(|| {
            let text = Text::new(text, Errors::Replace)?;
            let text = text.str(py)?;
            let normalized = py.detach(|| self.normalizer.normalize_text(text))?;
            PyString::from_bytes(py, normalized.as_deref().unwrap_or(text).as_bytes())
        })
    }

    fn __repr__(&self) -> PyResult<String> {
        entry(|| match self.normalizer.name() {
            Some(name) => Ok(format!("Normalizer({name:?})")),
            None => Ok(format!("<Normalizer {}>", shortened(&self.json()?))),
        })
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().normalizer == self.normalizer)
    }

    fn __hash__(&self) -> PyResult<u64> {
        entry(|| {
            let mut hasher = DefaultHasher::new();
            self.json()?.hash(&mut hasher);
            Ok(hasher.finish())
        })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        entry(|| Ok((this.getattr("_from_json")?, (this.get().json()?,).into_pyobject(this.py())?)))
    }

    /// Unpickles a normalizer.
    #[staticmethod]
    fn _from_json(json: &str) -> PyResult<Self> {
        entry(|| {
            let normalizer: Normalizer =
                serde_json::from_str(json).map_err(|error| Error::format("normalizer", error.to_string()))?;
            Ok(normalizer.into())
        })
    }
}
