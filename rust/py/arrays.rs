//! Arrays that leave for Python: made of a vector without a copy, read-only.

use numpy::ndarray::Array2;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::error::{Error, Result};
use crate::memory;
use crate::py::gil_slices::numbers;
use crate::tokenizer::encoding::{Span, TrimWidths};

/// Up to so many bytes are copied into memory of NumPy's own.
const COPIED: usize = 1 << 14;

/// NumPy's own function that makes zeros, imported once: what hinders that, Ctrl-C too, is an
/// error, and so is the want of memory, where that of the crate writes through a null pointer.
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

/// A read-only array of the values: a copy of few, else the vector itself.
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

/// A read-only array of int64, as whole numbers leave: unsigned ones wrap where they are subtracted.
pub(super) fn whole_numbers<T: Into<i64>>(
    py: Python<'_>,
    numbers: Vec<T>,
) -> PyResult<Bound<'_, PyArray1<i64>>> {
    read_only(py, memory::collected(numbers.into_iter().map(Into::into))?)
}

/// Spans as a read-only array of `(n, 2)`.
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

/// Makes an array object and drops it: its place is there for the next.
fn ensure_room_for_an_array(py: Python<'_>) -> PyResult<()> {
    zeros_of_numpy::<u64>(py, (0, None)).map(drop)
}

/// Spans in bytes, kept as the array that leaves where they are asked for as they are.
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

    /// Whether these are others' spans.
    pub fn equal(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        self.with(py, |spans| other.with(py, |others| spans == others))?
    }
}

/// A writable array of `rows` x `columns` zeros. NumPy asks the system for large
/// pages, which are made when they are first written: most of the time of a large
/// array is the making of its pages.
pub(super) fn zeros<T: Element>(
    py: Python<'_>,
    rows: usize,
    columns: usize,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    Ok(zeros_of_numpy::<T>(py, (rows, Some(columns)))?.cast_into::<PyArray2<T>>()?)
}

/// Spans as a read-only array of `(n, 2)`, written in place by `fill`.
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

/// The same memory, read as signed: offsets are far below the half of what is unsigned.
pub(super) fn signed<'py>(array: &Bound<'py, PyArray2<u64>>) -> PyResult<Bound<'py, PyArray2<i64>>> {
    Ok(array.call_method1("view", ("int64",))?.cast_into::<PyArray2<i64>>()?)
}

/// What offsets leave out, for pickling.
pub(super) fn trim_widths(py: Python<'_>, trim_widths: TrimWidths) -> PyResult<(bool, Bound<'_, PyAny>)> {
    let counts = read_only(py, trim_widths.counts.into_flattened())?;
    Ok((trim_widths.after_prefix_space, counts.into_any()))
}

/// Reads what [`trim_widths`] wrote.
pub(super) fn trim_widths_of_state(
    (after_prefix_space, counts): &(bool, Bound<'_, PyAny>),
) -> PyResult<TrimWidths> {
    let counts: Vec<u32> = numbers(counts, "uint32")?;
    let counts = memory::collected(counts.chunks_exact(2).map(|pair| [pair[0], pair[1]]))?;
    Ok(TrimWidths { after_prefix_space: *after_prefix_space, counts })
}
