//! `QuickDecode`: a fast `decode` for an accelerated tokenizer of transformers, without a Python
//! frame.
//!
//! Decoding a window of ten ids takes about as long as Python needs to call a function. So the
//! usual call, a list of ids with no option but `skip_special_tokens`, is answered here, as long as
//! the backend was not handed out since it was last inspected and nobody holds a reference to it.
//! All other calls go to the class of the object. `python/sentitok/acceleration/backend.py` decides
//! whether a backend has changed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};

use super::error::entry;
use super::ids::{self, Unknown};
use super::progress::off;
use super::tokenizer::{PyTokenizer, text};
use crate::tokenizer::Tokenizer;

const REPLACEMENT: &str = "\u{FFFD}";

/// The tokenizer that decodes instead of a backend.
struct Decoding {
    /// The value of `given` when the backend was inspected.
    seen: u64,
    tokenizer: Arc<Tokenizer>,
    /// Whether the backend decodes bytes that are not a character differently.
    joins_bytes: bool,
}

/// `decode` of one tokenizer of transformers.
///
/// `tokenizer` is that object, with its accelerated class. `given` counts how often its backend was
/// handed out (`give`), and `decode_by` sets the tokenizer that decodes as long as `given` equals
/// `seen`.
#[pyclass(frozen, module = "sentitok._sentitok")]
pub(super) struct QuickDecode {
    object: Py<PyAny>,
    attributes: Py<PyDict>,
    class: Py<PyType>,
    getrefcount: Py<PyAny>,
    /// The reference count of an object that only one dict holds, measured as that of the backend
    /// is.
    alone: usize,
    given: AtomicU64,
    decoding: Mutex<Option<Decoding>>,
}

impl QuickDecode {
    /// The text of ids, or `None` if the class must be called.
    fn text<'py>(
        &self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
        skip_special_tokens: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyString>>> {
        let (tokenizer, joins_bytes) = {
            let decoding = self.decoding.lock().unwrap_or_else(PoisonError::into_inner);
            match &*decoding {
                Some(decoding) if decoding.seen == self.given.load(Ordering::Relaxed) => {
                    (Arc::clone(&decoding.tokenizer), decoding.joins_bytes)
                }
                _ => return Ok(None),
            }
        };
        let attributes = self.attributes.bind(py);
        let cleans = attributes.get_item(intern!(py, "clean_up_tokenization_spaces"))?;
        if cleans.is_none_or(|cleans| cleans.is_truthy().unwrap_or(true))
            || !self.object.bind(py).get_type().is(&self.class)
            || references(self.getrefcount.bind(py), attributes)? != self.alone
        {
            return Ok(None);
        }
        let skips = match skip_special_tokens {
            Some(skips) => skips.is_truthy()?,
            None => false,
        };
        // The original reports invalid ids.
        let Ok(ids) = ids::of_tokenizer(ids, &tokenizer, Unknown::Raise) else { return Ok(None) };
        let bytes = off(py, ids.len() * 4, |_| tokenizer.decode_bytes(&ids, skips))?;
        if joins_bytes && std::str::from_utf8(&bytes).map_or(true, |text| text.contains(REPLACEMENT)) {
            return Ok(None);
        }
        text(py, &bytes).map(Some)
    }
}

/// The reference count of the backend in these attributes.
fn references(getrefcount: &Bound<'_, PyAny>, attributes: &Bound<'_, PyDict>) -> PyResult<usize> {
    match attributes.get_item(intern!(getrefcount.py(), "_tokenizer"))? {
        Some(backend) => getrefcount.call1((backend,))?.extract(),
        None => Ok(0),
    }
}

#[pymethods]
impl QuickDecode {
    #[new]
    fn new(tokenizer: &Bound<'_, PyAny>) -> PyResult<Self> {
        entry(|| {
            let py = tokenizer.py();
            let getrefcount = py.import("sys")?.getattr("getrefcount")?;
            let alone = PyDict::new(py);
            alone.set_item("_tokenizer", PyList::empty(py))?;
            Ok(Self {
                attributes: tokenizer.getattr("__dict__")?.cast_into::<PyDict>()?.unbind(),
                class: tokenizer.get_type().unbind(),
                object: tokenizer.clone().unbind(),
                alone: references(&getrefcount, &alone)?,
                getrefcount: getrefcount.unbind(),
                given: AtomicU64::new(0),
                decoding: Mutex::new(None),
            })
        })
    }

    /// How often the backend was handed out.
    #[getter]
    fn given(&self) -> u64 {
        self.given.load(Ordering::Relaxed)
    }

    /// Counts that the backend is handed out, so that it is inspected again.
    fn give(&self) {
        self.given.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the tokenizer that decodes while `given` equals `seen`; with `None` the class decodes.
    fn decode_by(&self, seen: u64, tokenizer: Option<&Bound<'_, PyTokenizer>>, joins_bytes: bool) {
        let decoding = tokenizer.map(|tokenizer| Decoding {
            seen,
            tokenizer: Arc::clone(&tokenizer.get().tokenizer),
            joins_bytes,
        });
        *self.decoding.lock().unwrap_or_else(PoisonError::into_inner) = decoding;
    }

    /// The text of ids, as the class of the object would return it.
    #[pyo3(signature = (token_ids, skip_special_tokens = None, *cleans, **options))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        token_ids: &Bound<'py, PyAny>,
        skip_special_tokens: Option<&Bound<'py, PyAny>>,
        cleans: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        entry(|| {
            let is_usual =
                options.is_none() && cleans.is_empty() && token_ids.is_exact_instance_of::<PyList>();
            if is_usual && let Some(text) = self.text(py, token_ids, skip_special_tokens)? {
                return Ok(text.into_any());
            }
            let object = self.object.bind(py);
            let decode = object.get_type().getattr(intern!(py, "decode"))?;
            let mut given = vec![object.clone(), token_ids.clone()];
            match skip_special_tokens {
                Some(skips) => given.push(skips.clone()),
                None if !cleans.is_empty() => given.push(py.None().into_bound(py)),
                None => {}
            }
            given.extend(cleans.iter());
            decode.call(PyTuple::new(py, given)?, options)
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.object)?;
        visit.call(&self.attributes)?;
        visit.call(&self.class)
    }
}
