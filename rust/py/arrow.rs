//! Arrow string columns, by anything with `__arrow_c_stream__`.
//!
//! pyarrow does the reading and is imported only here: Arrow crates pin
//! another PyO3 than this one, and reading the C structs by hand would be the
//! only unsafe code of the bindings.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyModuleNotFoundError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The texts of a column, end to end.
#[derive(Default)]
pub(super) struct Column {
    data: Vec<u8>,
    ends: Vec<usize>,
}

impl Column {
    /// The rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.ends.len()).map(|row| {
            let start = if row == 0 { 0 } else { self.ends[row - 1] };
            &self.data[start..self.ends[row]]
        })
    }

    /// Appends the rows of a `pyarrow.LargeBinaryArray`.
    pub fn extend(&mut self, chunk: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = chunk.py();
        let n_rows = chunk.len()?;
        if n_rows == 0 {
            return Ok(());
        }
        if chunk.getattr("null_count")?.extract::<u64>()? > 0 {
            let row = self.ends.len() + chunk.call_method0("is_null")?.call_method1("index", (true,))?.call_method0("as_py")?.extract::<usize>()?;
            return Err(PyValueError::new_err(format!(
                "row {row} is null, not a text; drop or fill missing values first"
            )));
        }
        let first: usize = chunk.getattr("offset")?.extract()?;
        let buffers = chunk.call_method0("buffers")?;
        let offsets = PyBuffer::<u8>::get(&buffers.get_item(1)?)?.to_vec(py)?;
        let offsets: Vec<usize> = offsets
            .chunks_exact(8)
            .skip(first)
            .take(n_rows + 1)
            .map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap_or_default()) as usize)
            .collect();
        let (Some(&start), Some(&end)) = (offsets.first(), offsets.last()) else {
            return Err(PyValueError::new_err("an Arrow column without offsets"));
        };
        if start < end {
            // The slice is cut in Arrow, so that no more than these rows is copied.
            let data = buffers.get_item(2)?.call_method1("slice", (start, end - start))?;
            let copied = PyBuffer::<u8>::get(&data)?.to_vec(py)?;
            let base = self.data.len();
            self.data.extend_from_slice(&copied);
            self.ends.extend(offsets[1..].iter().map(|offset| base + offset - start));
        } else {
            self.ends.extend(std::iter::repeat_n(self.data.len(), n_rows));
        }
        Ok(())
    }
}

/// An iterator over the chunks of an Arrow object, each a
/// `pyarrow.LargeBinaryArray`; `None` if the object is not Arrow's.
pub(super) fn chunks<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    if !object.hasattr("__arrow_c_stream__")? && !object.hasattr("__arrow_c_array__")? {
        return Ok(None);
    }
    let pyarrow = match py.import("pyarrow") {
        Ok(module) => module,
        // A series of pandas or Polars can be iterated as well.
        Err(error) if error.is_instance_of::<PyModuleNotFoundError>(py) => {
            if object.hasattr("dtype")? {
                return Ok(None);
            }
            return Err(PyModuleNotFoundError::new_err(
                "reading Arrow data needs pyarrow; install it with: pip install \"sentitok[arrow]\"",
            ));
        }
        Err(error) => return Err(error),
    };
    Ok(Some(Bound::new(py, Chunks { chunks: py_chunks(&pyarrow, object)?.unbind(), binary: pyarrow.call_method0("large_binary")?.unbind() })?.into_any()))
}
