//! `QuickDecode`: `decode` of an accelerated tokenizer of transformers without a frame of Python.
//!
//! A window of ten ids is decoded in the time that Python takes to enter a function. So the usual
//! call, a list of ids and no option but `skip_special_tokens`, is answered here, as long as nobody
//! got the backend since it was looked at, and nobody holds it. All else is asked of the object's
//! class, as if this were not there. Not for whether a backend has changed: see
//! `python/sentitok/acceleration/backend.py`.

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

/// What decodes instead of a backend.
struct Decoding {
    /// How often the backend was handed out when it was looked at.
    seen: u64,
    tokenizer: Arc<Tokenizer>,
    /// Whether bytes that are not a character become other text there.
    joins_bytes: bool,
}

/// `decode` of one tokenizer of transformers.
///
/// `tokenizer` is that object, which has its accelerated class. `given` counts how often its
/// backend was handed out (`give`), and `decode_by` says what decodes as long as it is `seen`.
#[pyclass(frozen, module = "sentitok._sentitok")]
pub(super) struct QuickDecode {
    object: Py<PyAny>,
    attributes: Py<PyDict>,
    class: Py<PyType>,
    getrefcount: Py<PyAny>,
    /// The references to an object that one dict alone holds, counted as those of the backend are.
    alone: usize,
    given: AtomicU64,
    decoding: Mutex<Option<Decoding>>,
}

impl QuickDecode {
    /// The text of ids, or `None` if the class must be asked.
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
        // What is wrong with ids, the original says.
        let Ok(ids) = ids::of_tokenizer(ids, &tokenizer, Unknown::Raise) else { return Ok(None) };
        let bytes = off(py, ids.len() * 4, |_| tokenizer.decode_bytes(&ids, skips))?;
        if joins_bytes && std::str::from_utf8(&bytes).map_or(true, |text| text.contains(REPLACEMENT)) {
            return Ok(None);
        }
        text(py, &bytes).map(Some)
    }
}

/// The references to the backend among attributes.
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

    /// Takes note that the backend is handed out: what decodes is looked at again.
    fn give(&self) {
        self.given.fetch_add(1, Ordering::Relaxed);
    }

    /// Says what decodes while `given` is `seen`; with `None` the class is asked.
    fn decode_by(&self, seen: u64, tokenizer: Option<&Bound<'_, PyTokenizer>>, joins_bytes: bool) {
        let decoding = tokenizer.map(|tokenizer| Decoding {
            seen,
            tokenizer: Arc::clone(&tokenizer.get().tokenizer),
            joins_bytes,
        });
        *self.decoding.lock().unwrap_or_else(PoisonError::into_inner) = decoding;
    }

    /// The text of ids, as the object's class has it.
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
