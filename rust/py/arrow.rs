//! Arrow string columns, from any object with `__arrow_c_stream__`.
//!
//! pyarrow reads them and is only imported here. The Arrow crates require a different version of
//! PyO3, and reading the C structs by hand would need unsafe code.

use std::ops::Range;
use std::path::PathBuf;

use pyo3::exceptions::{PyModuleNotFoundError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator};

use super::remote::given;
use crate::corpus::ByteRange;
use crate::tokenizer::Input;

/// The texts of a column in one buffer.
#[derive(Default)]
pub(super) struct Column {
    data: Vec<u8>,
    ends: Vec<usize>,
}

impl Column {
    /// The rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.n_rows()).map(|row| self.row(row))
    }

    /// The rows, marked as UTF-8 if all of them are.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = Input<'_>> {
        // One check of the whole buffer is faster than one per row.
        let text = simdutf8::basic::from_utf8(&self.data).ok();
        (0..self.n_rows()).map(move |row| match text.and_then(|text| text.get(self.place(row))) {
            Some(text) => Input::Text(text),
            None => Input::Bytes(self.row(row)),
        })
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of all rows.
    pub fn n_bytes(&self) -> usize {
        self.data.len()
    }

    /// A row.
    pub fn row(&self, row: usize) -> &[u8] {
        &self.data[self.place(row)]
    }

    fn place(&self, row: usize) -> Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        start..self.ends[row]
    }

    /// Appends a row.
    pub fn push(&mut self, text: &[u8]) {
        self.data.extend_from_slice(text);
        self.ends.push(self.data.len());
    }

    /// Appends the rows of a `pyarrow.LargeBinaryArray`. `before` is the number of earlier rows,
    /// for errors.
    pub fn extend(&mut self, chunk: &Bound<'_, PyAny>, before: u64) -> PyResult<()> {
        let n_rows = chunk.len()?;
        if n_rows == 0 {
            return Ok(());
        }
        if chunk.getattr("null_count")?.extract::<u64>()? > 0 {
            let first = chunk.call_method0("is_null")?.call_method1("index", (true,))?;
            let row = before + first.call_method0("as_py")?.extract::<u64>()?;
            return Err(PyValueError::new_err(format!(
                "row {row} is null, not a text; drop or fill missing values first"
            )));
        }
        let first: usize = chunk.getattr("offset")?.extract()?;
        let buffers = chunk.call_method0("buffers")?;
        // Slices in Arrow first, so that only these rows are copied.
        let bytes_of = |buffer: usize, start: usize, end: usize| -> PyResult<Bound<'_, PyBytes>> {
            let slice = buffers.get_item(buffer)?.call_method1("slice", (start, end - start))?;
            Ok(slice.call_method0("to_pybytes")?.cast_into::<PyBytes>()?)
        };
        let offsets: Vec<usize> = bytes_of(1, first * 8, (first + n_rows + 1) * 8)?
            .as_bytes()
            .as_chunks::<8>()
            .0
            .iter()
            .map(|offset| u64::from_le_bytes(*offset) as usize)
            .collect();
        let (Some(&start), Some(&end)) = (offsets.first(), offsets.last()) else {
            return Err(PyValueError::new_err("an Arrow array without offsets"));
        };
        let base = self.data.len();
        if start < end {
            self.data.extend_from_slice(bytes_of(2, start, end)?.as_bytes());
        }
        self.ends.extend(offsets.iter().skip(1).map(|offset| base + offset - start));
        Ok(())
    }
}

/// The chunks of an Arrow object, as arrays of few rows, each converted to a
/// `pyarrow.LargeBinaryArray`.
pub(super) struct Chunks<'py> {
    chunks: Bound<'py, PyIterator>,
    /// The current chunk, and how many of its rows were returned.
    current: Option<(Bound<'py, PyAny>, usize)>,
    large_binary: Bound<'py, PyAny>,
}

impl<'py> Chunks<'py> {
    /// The chunks of an object; `None` if it is not an Arrow object, or if it can also be iterated
    /// and pyarrow is not installed.
    pub fn new(object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        let is_stream = object.hasattr("__arrow_c_stream__")?;
        if !is_stream && !object.hasattr("__arrow_c_array__")? {
            return Ok(None);
        }
        let pyarrow = match import(py) {
            Ok(pyarrow) => pyarrow,
            // A series of pandas or Polars can also be iterated.
            Err(error) if error.is_instance_of::<PyModuleNotFoundError>(py) && object.hasattr("dtype")? => {
                return Ok(None);
            }
            Err(_) if object.hasattr("columns")? => {
                return Err(PyValueError::new_err(
                    "a table, not a column of texts; select that, as in frame[\"text\"]",
                ));
            }
            Err(error) => return Err(error),
        };
        // A table is read in batches. `from_stream` refuses anything else.
        let table =
            is_stream.then(|| pyarrow.getattr("RecordBatchReader")?.call_method1("from_stream", (object,)));
        let chunks = match table {
            Some(Ok(reader)) => {
                one_column(reader.getattr("schema")?.len()?)?;
                reader
            }
            _ => pyarrow.call_method1("chunked_array", (object,))?.getattr("chunks")?,
        };
        Ok(Some(Self {
            chunks: chunks.try_iter()?,
            current: None,
            large_binary: pyarrow.call_method0("large_binary")?,
        }))
    }

    /// The chunks of a column of Parquet files, or of a part of them, read row group by row group.
    pub fn of_parquet(
        py: Python<'py>,
        paths: &[PathBuf],
        column: &str,
        shard: Option<(u64, u64)>,
        byte_range: Option<&ByteRange>,
        invalid_utf8: &str,
    ) -> PyResult<Self> {
        let pyarrow = import(py)?;
        let read = py.import("sentitok.parquet")?.getattr("chunks")?;
        let bytes = byte_range.map(|range| (range.start, range.stop));
        let versions: Option<Vec<_>> = byte_range.map(|range| {
            range.versions.iter().map(|version| (version.size, version.mark.as_str())).collect()
        });
        let paths: Vec<_> = paths.iter().map(|path| given(py, path)).collect::<PyResult<_>>()?;
        let chunks = read.call1((paths, column, shard, invalid_utf8, bytes, versions))?;
        let large_binary = pyarrow.call_method0("large_binary")?;
        Ok(Self { chunks: chunks.try_iter()?, current: None, large_binary })
    }

    /// The maximum number of rows in one array, so that a large chunk is copied in parts.
    const ROWS: usize = 1 << 14;

    fn advance(&mut self) -> PyResult<Option<Bound<'py, PyAny>>> {
        loop {
            if let Some((chunk, given)) = &mut self.current
                && *given < chunk.len()?
            {
                let rows = chunk.call_method1("slice", (*given, Self::ROWS))?;
                *given += Self::ROWS;
                return self.as_binary(rows).map(Some);
            }
            match self.chunks.next() {
                Some(chunk) => self.current = Some((self.one_array(chunk?)?, 0)),
                None => return Ok(None),
            }
        }
    }

    /// The one column of a chunk.
    fn one_array(&self, chunk: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        // A record batch has columns, an array of structs fields.
        let array = if chunk.hasattr("num_columns")? {
            chunk.call_method1("column", (0,))?
        } else if let Ok(n_fields) = chunk.getattr("type")?.getattr("num_fields")?.extract::<usize>()
            && n_fields > 0
            && chunk.hasattr("field")?
        {
            one_column(n_fields)?;
            chunk.call_method1("field", (0,))?
        } else {
            chunk
        };
        if !array.hasattr("dictionary")? {
            return Ok(array);
        }
        // The texts of categories are converted once, not for each slice.
        let texts = self.as_binary(array.getattr("dictionary")?)?;
        array.get_type().call_method1("from_arrays", (array.getattr("indices")?, texts))
    }

    fn as_binary(&self, array: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if array.hasattr("dictionary")? {
            return array.call_method0("dictionary_decode");
        }
        let kind = array.getattr("type")?;
        array.call_method1("cast", (&self.large_binary,)).map_err(|_| {
            PyTypeError::new_err(format!("an Arrow column of {kind}; it must be of strings or binary"))
        })
    }
}

impl<'py> Iterator for Chunks<'py> {
    type Item = PyResult<Bound<'py, PyAny>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

/// The module `pyarrow`, or an error that names the extra to install.
pub(super) fn import(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("pyarrow").map_err(|error| {
        if !error.is_instance_of::<PyModuleNotFoundError>(py) {
            return error;
        }
        let needed = PyModuleNotFoundError::new_err(
            "Arrow needs pyarrow; install it: pip install \"sentitok[arrow]\"",
        );
        needed.set_cause(py, Some(error));
        needed
    })
}

fn one_column(n_columns: usize) -> PyResult<()> {
    if n_columns == 1 {
        return Ok(());
    }
    Err(PyValueError::new_err(format!(
        "a table of {n_columns} columns; select the column of text, as in table.select([\"text\"])"
    )))
}
