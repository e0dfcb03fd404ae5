//! A batch for other libraries: rectangles as arrays and PyTorch's tensors, lists, Arrow's columns.

use numpy::{Element, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyImportError, PyModuleNotFoundError, PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::PyEncodingBatch;
use crate::error::shown;
use crate::py::error::entry;
use crate::py::gil_slices::{GilSlices, list};
use crate::py::numbers::{Length, MultipleOf, PadId};
use crate::py::{arrays, arrow, foreign_kwargs};
use crate::tokenizer::encoding::{Rows, Side};
use crate::vocab::TokenId;

/// A rectangle: its columns, and which side of a row is padded.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    columns: usize,
    side: Side,
}

#[pymethods]
impl PyEncodingBatch {
    /// Makes a rectangle: ids, and a mask that is true where an id is real.
    ///
    /// `length` is the number of columns, by default the longest row's; it is
    /// rounded up to `multiple_of`. `pad_id` and `side` are by default the ones that the
    /// settings name, as `pad_token` and `padding_side`, or else those of the padding that
    /// the file asks for; else `pad_id` is that of `[PAD]`, `<pad>` or `<|pad|>`, or 0, and
    /// `side` is `"right"`. The mask says which ids are real. `dtype` is that of the ids:
    /// int64, as PyTorch looks them up, or int32 or uint32, by name or as NumPy's.
    #[pyo3(signature = (length = None, pad_id = None, side = None, multiple_of = None, *, dtype = None, **others))]
    #[pyo3(
        text_signature = "($self, length=None, pad_id=None, side=None, multiple_of=None, *, dtype='int64')"
    )]
    #[allow(clippy::too_many_arguments, reason = "2026-11: each is a keyword in Python")]
    fn pad<'py>(
        &self,
        py: Python<'py>,
        length: Option<Length>,
        pad_id: Option<PadId>,
        side: Option<&str>,
        multiple_of: Option<MultipleOf>,
        dtype: Option<&Bound<'py, PyAny>>,
        others: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray2<bool>>)> {
        entry(|| {
            foreign_kwargs::refuse("EncodingBatch.pad", foreign_kwargs::PAD, None, others)?;
            let shape = self.shape(py, length, side, multiple_of)?;
            let dtype = dtype.map_or_else(|| Ok("int64".to_owned()), type_name)?;
            let ids = self.padded_ids(py, shape, self.padding.id(pad_id)?, &dtype)?;
            Ok((ids, self.padded(py, shape, self.ids.bind(py), false, |_| true)?))
        })
    }

    /// `pad` as a dict of PyTorch's int64 tensors, as models of transformers take them:
    /// `input_ids`, `attention_mask` and, with `type_ids=True`, `token_type_ids`. The
    /// tensors are the arrays' memory.
    #[pyo3(signature = (length = None, pad_id = None, side = None, multiple_of = None, *, type_ids = false, **others))]
    #[pyo3(
        text_signature = "($self, length=None, pad_id=None, side=None, multiple_of=None, *, type_ids=False)"
    )]
    #[allow(clippy::too_many_arguments, reason = "2026-11: each is a keyword in Python")]
    fn to_torch<'py>(
        &self,
        py: Python<'py>,
        length: Option<Length>,
        pad_id: Option<PadId>,
        side: Option<&str>,
        multiple_of: Option<MultipleOf>,
        type_ids: bool,
        others: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        entry(|| {
            foreign_kwargs::refuse("EncodingBatch.to_torch", foreign_kwargs::PAD, None, others)?;
            let shape = self.shape(py, length, side, multiple_of)?;
            self.tensors(py, shape, self.padding.id(pad_id)?, type_ids)
        })
    }

    /// The rows as lists of int.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        entry(|| {
            let (ids, row_offsets) = self.borrowed(py)?;
            let rows = Rows { ids: ids.as_slice()?, row_offsets: row_offsets.as_slice()? };
            let all = PyList::empty(py);
            let mut slices = GilSlices::default();
            for range in (0..rows.len()).filter_map(|row| rows.row(row)) {
                slices.after(py, 1 + range.len())?;
                all.append(list(py, rows.ids[range].iter().copied())?)?;
            }
            Ok(all)
        })
    }

    /// The rows as a `pyarrow.LargeListArray` of uint32 over the same memory.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        entry(|| {
            let pyarrow = arrow::import(py)?;
            let array = |values: &Bound<'py, PyAny>| pyarrow.call_method1("array", (values,));
            let (offsets, ids) = (array(self.row_offsets.bind(py))?, array(self.ids.bind(py))?);
            pyarrow.getattr("LargeListArray")?.call_method1("from_arrays", (offsets, ids))
        })
    }

    /// The rows as a `pyarrow.Table`, which a function of `datasets.map` returns: columns
    /// `input_ids`, `attention_mask` and, with `type_ids=True`, `token_type_ids`, of the types that
    /// transformers gives them there. Nothing is padded: each list has the length of its row.
    /// `beside` are columns to put before them: a table, or the rows that the function was given.
    #[pyo3(signature = (beside = None, *, type_ids = false))]
    fn to_table<'py>(
        this: &Bound<'py, Self>,
        beside: Option<&Bound<'py, PyAny>>,
        type_ids: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        entry(|| {
            let py = this.py();
            arrow::import(py)?;
            py.import("sentitok.tables")?.getattr("table")?.call1((this, beside, type_ids))
        })
    }
}

impl PyEncodingBatch {
    /// The rectangle that a call asks for.
    pub(super) fn shape(
        &self,
        py: Python<'_>,
        length: Option<Length>,
        side: Option<&str>,
        multiple_of: Option<MultipleOf>,
    ) -> PyResult<Shape> {
        let side = match side.map(|side| one_of("side", side, &["left", "right"])).transpose()? {
            Some("left") => Side::Left,
            Some(_) => Side::Right,
            None => self.padding.side,
        };
        let (length, multiple_of) = (length.map(Length::get), multiple_of.map(MultipleOf::get));
        Ok(Shape { columns: self.with_rows(py, |rows| rows.columns(length, multiple_of))??, side })
    }

    /// The ids as a rectangle of a type by its name.
    pub(super) fn padded_ids<'py>(
        &self,
        py: Python<'py>,
        shape: Shape,
        pad_id: TokenId,
        dtype: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let ids = self.ids.bind(py);
        Ok(match one_of("dtype", dtype, &["int64", "int32", "uint32"])? {
            "int64" => self.padded(py, shape, ids, i64::from(pad_id), i64::from)?.into_any(),
            "uint32" => self.padded(py, shape, ids, pad_id, |id| id)?.into_any(),
            _ => {
                let most = ids.try_readonly()?.as_slice()?.iter().copied().max().unwrap_or(0).max(pad_id);
                if i32::try_from(most).is_err() {
                    return Err(PyOverflowError::new_err(format!(
                        "dtype='int32' has no place for the id {most}; use 'int64'"
                    )));
                }
                self.padded(py, shape, ids, pad_id as i32, |id| id as i32)?.into_any()
            }
        })
    }

    /// One value for each id as a rectangle; `fill` is written where there is no id.
    pub(super) fn padded<'py, T, U>(
        &self,
        py: Python<'py>,
        Shape { columns, side }: Shape,
        values: &Bound<'py, PyArray1<T>>,
        fill: U,
        convert: impl Fn(T) -> U + Send,
    ) -> PyResult<Bound<'py, PyArray2<U>>>
    where
        T: Element + Copy + Sync,
        U: Element + Copy + Default + PartialEq + Send,
    {
        let (_, row_offsets) = self.borrowed(py)?;
        let matrix = arrays::zeros(py, self.n_rows(py), columns)?;
        {
            let values = values.try_readonly()?;
            let (values, row_offsets) = (values.as_slice()?, row_offsets.as_slice()?);
            let mut cells = matrix.readwrite();
            let cells = cells.as_slice_mut()?;
            py.detach(|| Rows { ids: &[], row_offsets }.pad(columns, side, values, fill, convert, cells))?;
        }
        Ok(matrix)
    }

    /// Tensors over the memory of rectangles.
    pub(super) fn tensors<'py>(
        &self,
        py: Python<'py>,
        shape: Shape,
        pad_id: TokenId,
        type_ids: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let torch = py.import("torch").map_err(|error| {
            if !error.is_instance_of::<PyModuleNotFoundError>(py) {
                return error;
            }
            PyImportError::new_err("to_torch makes tensors of PyTorch; pip install torch, or use pad")
        })?;
        let from_numpy = torch.getattr("from_numpy")?;
        let tensors = PyDict::new(py);
        let ids = self.ids.bind(py);
        let input_ids = self.padded(py, shape, ids, i64::from(pad_id), i64::from)?;
        tensors.set_item("input_ids", from_numpy.call1((input_ids,))?)?;
        tensors
            .set_item("attention_mask", from_numpy.call1((self.padded(py, shape, ids, 0_i64, |_| 1)?,))?)?;
        if type_ids {
            let types = self.type_ids(py)?;
            let types = self.padded(py, shape, types.bind(py), 0_i64, i64::from)?;
            tensors.set_item("token_type_ids", from_numpy.call1((types,))?)?;
        }
        Ok(tensors.into_any())
    }
}

/// The name of a type of NumPy, which may come as its name.
fn type_name(dtype: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(name) = dtype.extract() {
        return Ok(name);
    }
    let named = dtype.py().import("numpy")?.call_method1("dtype", (dtype,));
    let name = named.and_then(|dtype| dtype.getattr("name")?.extract());
    name.or_else(|_: PyErr| Ok(dtype.repr()?.to_string()))
}

/// A name that an argument may have, or an error that says which.
fn one_of<'a>(argument: &str, value: &'a str, names: &[&str]) -> PyResult<&'a str> {
    if names.contains(&value) {
        return Ok(value);
    }
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let (last, others) =
        names.split_last().map_or(("", Vec::new()), |(last, others)| (last, others.to_vec()));
    Err(PyValueError::new_err(format!(
        "{argument}={:?}: it is {} or {last}",
        shown(value),
        others.join(", ")
    )))
}
