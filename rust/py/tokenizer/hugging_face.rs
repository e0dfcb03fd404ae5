//! `Tokenizer`: conversion to and from objects of Hugging Face's libraries.
//!
//! Converts by way of the text of tokenizer.json, in memory. What a file cannot store is refused or
//! warned about, as for a file.

use pyo3::exceptions::{PyImportError, PyModuleNotFoundError, PyTypeError};
use pyo3::prelude::*;

use super::super::error::{entry, warn};
use super::super::loaded;
use super::PyTokenizer;
use crate::formats::tokenizer_json;

#[pymethods]
impl PyTokenizer {
    /// This tokenizer as a `tokenizers.Tokenizer`. Warns about differences.
    ///
    /// `transformers.PreTrainedTokenizerFast(tokenizer_object=...)` accepts it.
    fn to_hf<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        entry(|| {
            let library = py.import("tokenizers").map_err(|error| {
                if !error.is_instance_of::<PyModuleNotFoundError>(py) {
                    return error;
                }
                PyImportError::new_err("to_hf makes an object of tokenizers; pip install tokenizers")
            })?;
            let json = py.detach(|| tokenizer_json::write(&self.tokenizer))?;
            warn(py, &tokenizer_json::differences(&self.tokenizer))?;
            library.getattr("Tokenizer")?.call_method1("from_str", (String::from_utf8_lossy(&json),))
        })
    }

    /// Converts a `tokenizers.Tokenizer`, or a fast tokenizer of transformers.
    ///
    /// Truncation and padding that are set in it are in `call_defaults`, because here they are
    /// arguments of a call. For a tokenizer of transformers, `settings` contains the roles of its
    /// special tokens, its chat templates and its `padding_side`. Parts that are not supported are
    /// refused by name.
    #[staticmethod]
    fn from_hf(py: Python<'_>, tokenizer: &Bound<'_, PyAny>) -> PyResult<Self> {
        entry(|| {
            let backend = tokenizer.getattr_opt("backend_tokenizer")?;
            let settings = match &backend {
                Some(_) => {
                    Some(py.import(super::pretrained::ROOM)?.call_method1("settings_of", (tokenizer,))?)
                }
                None => None,
            };
            let backend = backend.unwrap_or_else(|| tokenizer.clone());
            let Some(to_str) = backend.getattr_opt("to_str")? else {
                let found = tokenizer.get_type().fully_qualified_name()?;
                return Err(PyTypeError::new_err(format!(
                    "expected a tokenizers.Tokenizer or a fast tokenizer of transformers, not {found}; \
                     of a slow one save its files and read them by Tokenizer.from_file"
                )));
            };
            let json: String = to_str.call0()?.extract()?;
            let tokenizer = Self::new(py.detach(|| loaded::from_bytes(json.as_bytes()))?, None);
            match settings {
                Some(settings) => tokenizer.apply_settings(&settings),
                None => Ok(tokenizer),
            }
        })
    }
}
