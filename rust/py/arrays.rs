//! Arrays for Python, built from vectors without a copy, read-only.

use numpy::ndarray::Array2;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::error::{Error, Result};
use crate::memory;
use crate::py::gil_slices::numbers;
use crate::tokenizer::encoding::{Span, TrimWidths};

/// Arrays of at most this many bytes are copied into memory of NumPy.
const COPIED: usize = 1 << 14;

/// NumPy's function `zeros`, imported once. Unlike the binding of the crate, which writes through a
/// null pointer when memory runs out, it reports all errors (also Ctrl-C) as exceptions.
fn zeros_of_numpy<T: Element>(py: Python<'_>, shape: (usize, Option<usize>)) -> PyResult<Bound<'_, PyAny>> {
    static ZEROS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let zeros =
        ZEROS.get_or_try_init(py, || Ok::<_, PyErr>(py.import("numpy")?.getattr("zeros")?.unbind()))?;
    let dtype = T::get_dtype(py);
    match shape {
        (n, None) => zeros.bind(py).call1((n, dtype)),
        (rows, Some(columns)) => zeros.bind(py).call1(((rows, columns), dtype)),
    }
}

/// A read-only array of the values: a copy of a few, otherwise the vector itself.
pub(super) fn read_only<T: Element + Copy>(
    py: Python<'_>,
    values: Vec<T>,
) -> PyResult<Bound<'_, PyArray1<T>>> {
    let array = if size_of_val(&values[..]) <= COPIED {
        let array = zeros_of_numpy::<T>(py, (values.len(), None))?.cast_into::<PyArray1<T>>()?;
        array.readwrite().as_slice_mut()?.copy_from_slice(&values);
        array
    } else {
        ensure_room_for_an_array(py)?;
        PyArray1::from_vec(py, values)
    };
    array.readwrite().make_nonwriteable();
    Ok(array)
}

/// A read-only array of int64. (Unsigned integers would wrap when they are subtracted.)
pub(super) fn whole_numbers<T: Into<i64>>(
    py: Python<'_>,
    numbers: Vec<T>,
) -> PyResult<Bound<'_, PyArray1<i64>>> {
    read_only(py, memory::collected(numbers.into_iter().map(Into::into))?)
}

/// Spans as a read-only array of shape `(n, 2)`.
pub(super) fn spans(py: Python<'_>, spans: Vec<Span>) -> PyResult<Bound<'_, PyArray2<u64>>> {
    let n = spans.len();
    let array = if size_of_val(&spans[..]) <= COPIED {
        let array = zeros::<u64>(py, n, 2)?;
        array.readwrite().as_slice_mut()?.copy_from_slice(spans.as_flattened());
        array
    } else {
        ensure_room_for_an_array(py)?;
        let array = Array2::from_shape_vec((n, 2), spans.into_flattened())
            .map_err(|error| Error::Internal(format!("{n} spans: {error}")))?;
        PyArray2::from_owned_array(py, array)
    };
    array.readwrite().make_nonwriteable();
    Ok(array)
}

/// Creates and drops an array object, so that memory for the next one is known to be available.
fn ensure_room_for_an_array(py: Python<'_>) -> PyResult<()> {
    zeros_of_numpy::<u64>(py, (0, None)).map(drop)
}

/// Spans in bytes, stored as the array that Python gets if it asks for bytes.
pub(super) struct KeptSpans(Py<PyArray2<u64>>);

impl From<Bound<'_, PyArray2<u64>>> for KeptSpans {
    fn from(array: Bound<'_, PyArray2<u64>>) -> Self {
        Self(array.unbind())
    }
}

impl KeptSpans {
    pub fn new(py: Python<'_>, spans: Vec<Span>) -> PyResult<Self> {
        Ok(Self(self::spans(py, spans)?.unbind()))
    }

    /// The array.
    pub fn array<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<u64>> {
        self.0.bind(py).clone()
    }

    /// Runs `work` on the spans.
    pub fn with<T>(&self, py: Python<'_>, work: impl FnOnce(&[Span]) -> T) -> PyResult<T> {
        let spans = self.0.bind(py).try_readonly()?;
        Ok(work(spans.as_slice()?.as_chunks().0))
    }

    /// Whether both have equal spans.
    pub fn equal(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        self.with(py, |spans| other.with(py, |others| spans == others))?
    }
}

/// A writable array of `rows` x `columns` zeros. NumPy requests huge pages from the system, which
/// are created on the first write; creating pages takes most of the time of a large array.
pub(super) fn zeros<T: Element>(
    py: Python<'_>,
    rows: usize,
    columns: usize,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    Ok(zeros_of_numpy::<T>(py, (rows, Some(columns)))?.cast_into::<PyArray2<T>>()?)
}

/// Spans as a read-only array of shape `(n, 2)`, which `fill` writes in place.
pub(super) fn filled_spans(
    py: Python<'_>,
    n: usize,
    fill: impl FnOnce(&mut [Span]) -> Result<()> + Send,
) -> PyResult<Bound<'_, PyArray2<u64>>> {
    let array = zeros(py, n, 2)?;
    {
        let mut array = array.readwrite();
        let (cells, _) = array.as_slice_mut()?.as_chunks_mut();
        py.detach(|| fill(cells))?;
    }
    array.readwrite().make_nonwriteable();
    Ok(array)
}

/// The same memory as signed integers. Offsets are far below 2^63.
pub(super) fn signed<'py>(array: &Bound<'py, PyArray2<u64>>) -> PyResult<Bound<'py, PyArray2<i64>>> {
    Ok(array.call_method1("view", ("int64",))?.cast_into::<PyArray2<i64>>()?)
}

/// The trim widths for pickling.
pub(super) fn trim_widths(py: Python<'_>, trim_widths: TrimWidths) -> PyResult<(bool, Bound<'_, PyAny>)> {
    let counts = read_only(py, trim_widths.counts.into_flattened())?;
    Ok((trim_widths.after_prefix_space, counts.into_any()))
}

/// Unpickles trim widths.
pub(super) fn trim_widths_of_state(
    (after_prefix_space, counts): &(bool, Bound<'_, PyAny>),
) -> PyResult<TrimWidths> {
    let counts: Vec<u32> = numbers(counts, "uint32")?;
    let counts = memory::collected(counts.chunks_exact(2).map(|pair| [pair[0], pair[1]]))?;
    Ok(TrimWidths { after_prefix_space: *after_prefix_space, counts })
}
