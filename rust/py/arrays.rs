//! Arrays that leave for Python: made of a vector without a copy, read-only.

use numpy::ndarray::Array2;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::encoding::Span;
use crate::error::Error;

/// A read-only array that owns the vector.
pub(super) fn read_only<T: Element>(py: Python<'_>, values: Vec<T>) -> Bound<'_, PyArray1<T>> {
    let array = PyArray1::from_vec(py, values);
    array.readwrite().make_nonwriteable();
    array
}

/// Spans as a read-only array of `(n, 2)`.
pub(super) fn spans(py: Python<'_>, spans: Vec<Span>) -> PyResult<Bound<'_, PyArray2<u64>>> {
    let array = rectangle(py, spans.len(), 2, spans.into_flattened())?;
    array.readwrite().make_nonwriteable();
    Ok(array)
}

/// A writable array of `rows` x `columns`.
pub(super) fn rectangle<T: Element>(
    py: Python<'_>,
    rows: usize,
    columns: usize,
    values: Vec<T>,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    let array = Array2::from_shape_vec((rows, columns), values)
        .map_err(|error| Error::Internal(format!("{rows} x {columns}: {error}")))?;
    Ok(PyArray2::from_owned_array(py, array))
}
