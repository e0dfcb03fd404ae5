//! Ids that come from Python: numpy arrays, tensors, lists, iterators.

use numpy::{PyArray1, PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyString};

use super::numbers;
use crate::error::{Error, Result};
use crate::memory;
use crate::py::gil_slices::GilSlices;
use crate::tokenizer::Tokenizer;
use crate::vocab::TokenId;

/// For a list up to this length, memory is reserved at once. A longer list may shrink while it is
/// read.
const MOST_TRUSTED: usize = 1 << 12;

/// The treatment of ids that have no token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Raise an error.
    Raise,
    /// Skip them.
    Ignore,
}

impl<'py> FromPyObject<'_, 'py> for Unknown {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyString>()?.to_str()? {
            "raise" => Ok(Self::Raise),
            "ignore" => Ok(Self::Ignore),
            other => Err(Error::Option {
                option: "errors",
                value: other.to_owned(),
                reason: "ids without a token are an error by 'raise', and left out by 'ignore'".to_owned(),
            }
            .into()),
        }
    }
}

/// Takes ids for a tokenizer.
pub(super) fn of_tokenizer(
    object: &Bound<'_, PyAny>,
    tokenizer: &Tokenizer,
    errors: Unknown,
) -> PyResult<Vec<TokenId>> {
    let mut ids = extract(object, tokenizer.max_id(), errors)?;
    if errors == Unknown::Ignore {
        ids.retain(|&id| tokenizer.id_to_bytes(id).is_some());
    }
    Ok(ids)
}

/// Takes ids. Ids that are not a `u32` are always unknown. `max` is the greatest id of the
/// vocabulary, after which an iterator is not read further.
pub(super) fn extract(object: &Bound<'_, PyAny>, max: TokenId, errors: Unknown) -> PyResult<Vec<TokenId>> {
    // Before arrays, because a failed attribute lookup takes longer than reading a short list.
    if let Ok(list) = object.cast_exact::<PyList>() {
        let room = list.len().min(MOST_TRUSTED);
        return from_objects(list.iter().map(Ok), memory::reserved(room)?, max, errors, object.py());
    }
    if let Ok(ids) = object.cast::<PyArray1<TokenId>>() {
        let ids = ids.try_readonly()?;
        return collect(ids.as_array().iter().map(|&id| Ok(id)), errors);
    }
    // For arrays of other integer types and tensors, numpy converts them.
    if object.hasattr("__array__")? {
        let array = object.py().import("numpy")?.call_method1("asarray", (object,))?;
        return from_array(&array, max, errors);
    }
    let is_iterable = object.hasattr("__iter__")? || object.hasattr("__getitem__")?;
    if !is_iterable || object.is_instance_of::<PyString>() {
        let found = numbers::given(object)?;
        return Err(PyTypeError::new_err(format!(
            "ids are a list or an array of ints, not {found}; one id goes in a list, and decode_batch takes a \
             list of rows"
        )));
    }
    // The reported length of an object is not trusted.
    from_objects(object.try_iter()?, Vec::new(), max, errors, object.py())
}

/// Appends the ids in an iterator of objects.
fn from_objects<'py>(
    objects: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    mut ids: Vec<TokenId>,
    max: TokenId,
    errors: Unknown,
    py: Python<'py>,
) -> PyResult<Vec<TokenId>> {
    let mut slices = GilSlices::default();
    for object in objects {
        let object = object?;
        match extract_one(&object, max) {
            Ok(id) if id <= max => memory::push(&mut ids, id)?,
            Ok(id) if errors == Unknown::Raise => return Err(unknown(&id.to_string(), max)),
            Err(error) if error.is_instance_of::<PyTypeError>(py) && is_row(&object)? => {
                let found = numbers::given(&object)?;
                return Err(PyTypeError::new_err(format!(
                    "an id is an int, not {found}; decode_batch(rows) takes rows of ids"
                )));
            }
            Err(error) if errors == Unknown::Raise || error.is_instance_of::<PyTypeError>(py) => {
                return Err(error);
            }
            Ok(_) | Err(_) => {}
        }
        slices.after(py, 1)?;
    }
    Ok(ids)
}

/// Whether an object, given in the place of an id, is a row of ids.
fn is_row(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.hasattr("__len__")? && !object.is_instance_of::<PyString>())
}

/// The ids of an array, or the first error.
fn collect(
    all: impl ExactSizeIterator<Item = Result<TokenId, PyErr>>,
    errors: Unknown,
) -> PyResult<Vec<TokenId>> {
    let mut ids = memory::reserved(all.len())?;
    for id in all {
        match id {
            Ok(id) => ids.push(id),
            Err(error) if errors == Unknown::Raise => return Err(error),
            Err(_) => {}
        }
    }
    Ok(ids)
}

/// Takes a single id.
pub(super) fn extract_one(object: &Bound<'_, PyAny>, max: TokenId) -> PyResult<TokenId> {
    if let Ok(id) = object.extract::<TokenId>()
        && !object.is_instance_of::<PyBool>()
    {
        return Ok(id);
    }
    let Some(id) = numbers::index(object)? else {
        return Err(PyTypeError::new_err(format!("an id is an int, not {}", numbers::given(object)?)));
    };
    Err(unknown(&numbers::spelled(&id), max))
}

fn from_array(array: &Bound<'_, PyAny>, max: TokenId, errors: Unknown) -> PyResult<Vec<TokenId>> {
    let untyped = array.cast::<PyUntypedArray>()?;
    if numpy::PyUntypedArrayMethods::ndim(untyped) != 1 {
        return Err(PyValueError::new_err("ids are an array of one dimension; pass one row at a time"));
    }
    let kind: char = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let checked = |id: i128| TokenId::try_from(id).map_err(|_| unknown(&id.to_string(), max));
    match kind {
        'i' => {
            let wide = array.call_method1("astype", ("int64",))?.cast_into::<PyArray1<i64>>()?;
            collect(wide.try_readonly()?.as_array().iter().map(|&id| checked(id.into())), errors)
        }
        'u' => {
            let wide = array.call_method1("astype", ("uint64",))?.cast_into::<PyArray1<u64>>()?;
            collect(wide.try_readonly()?.as_array().iter().map(|&id| checked(id.into())), errors)
        }
        // An empty list becomes an array of floats.
        _ if array.len()? == 0 => Ok(Vec::new()),
        _ => Err(PyTypeError::new_err(format!("ids are integers, not {}", array.getattr("dtype")?))),
    }
}

/// The error for an unknown id.
fn unknown(id: &str, max: TokenId) -> PyErr {
    Error::Decode(format!("id {id} is not in the vocabulary (ids are 0 to {max})")).into()
}

/// Takes an id to look up; `None` for an int that cannot be an id.
pub(super) fn lookup(object: &Bound<'_, PyAny>) -> PyResult<Option<TokenId>> {
    match extract_one(object, 0) {
        Ok(id) => Ok(Some(id)),
        Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => Err(error),
        Err(_) => Ok(None),
    }
}
