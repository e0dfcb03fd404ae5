//! `WordCounts`: pieces with their counts, a mapping of `bytes` to `int`.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyIterator, PyList, PyMapping, PyTuple};

use super::arrays::read_only;
use super::arrow::{self, Chunks, Column};
use super::error::entry;
use super::pipeline;
use super::progress::reading;
use super::remote::{with_local, with_output};
use super::text::{Text, byte_string, collect};
use crate::corpus::word_counts::{Sample, Totals, WordCounts};
use crate::error::{Error, shown};
use crate::memory;
use crate::pipeline::Pipeline;
use crate::py::gil_slices::GilSlices;

/// Pieces of text with their counts, and the pipeline that split the text.
///
/// A read-only mapping with pieces in ascending order of bytes. `a + b` adds counts of the same
/// pipeline; training on the sum equals training on all the text.
#[pyclass(frozen, mapping, module = "sentitok", name = "WordCounts")]
pub(super) struct PyWordCounts {
    pub counts: Arc<WordCounts>,
}

impl From<WordCounts> for PyWordCounts {
    fn from(counts: WordCounts) -> Self {
        Self { counts: Arc::new(counts) }
    }
}

/// Takes the counts of a mapping.
pub(super) fn from_mapping(counts: &Bound<'_, PyMapping>, pipeline: Pipeline) -> PyResult<WordCounts> {
    let py = counts.py();
    let mut pairs = Vec::new();
    let mut slices = GilSlices::default();
    for item in counts.call_method0("items")?.try_iter()? {
        let (piece, count): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item?.extract()?;
        let number = if count.is_instance_of::<PyBool>() { None } else { count.extract::<u64>().ok() };
        let count = number.ok_or_else(|| {
            // Python may refuse to print very long numbers.
            let written = |object: &Bound<'_, PyAny>| {
                object
                    .repr()
                    .map(|text| text.to_string())
                    .unwrap_or_else(|_| "a number too long to write".to_owned())
            };
            let (piece, count) = (written(&piece), written(&count));
            let (piece, count) = (shown(&piece), shown(&count));
            PyValueError::new_err(format!("the count of {piece} is {count}; counts are from 0 to 2^64 - 1"))
        })?;
        memory::push(&mut pairs, (Text::piece(&piece)?, count))?;
        slices.after(py, 1)?;
    }
    let pairs = collect(pairs.iter().map(|(piece, count)| Ok((piece.bytes(py)?, *count))))?;
    Ok(py.detach(|| WordCounts::from_pairs(pipeline, pairs))?)
}

impl PyWordCounts {
    /// The pieces, ascending.
    fn pieces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (all, mut slices) = (PyList::empty(py), GilSlices::default());
        for (piece, _) in self.counts.iter() {
            all.append(byte_string(py, piece)?)?;
            slices.after(py, 1)?;
        }
        Ok(all)
    }
}

/// Takes a column of whole numbers, without missing and negative ones.
fn counts_of_column(pyarrow: &Bound<'_, PyModule>, column: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let refuse = |reason: String| {
        Err(PyValueError::new_err(format!("the column \"count\" {reason}; counts are from 0 to 2^64 - 1")))
    };
    let types = pyarrow.getattr("types")?;
    let mut column = column.clone();
    if types.call_method1("is_dictionary", (column.getattr("type")?,))?.is_truthy()? {
        column = column.call_method1("cast", (column.getattr("type")?.getattr("value_type")?,))?;
    }
    let kind = column.getattr("type")?;
    let n_null: u64 = column.getattr("null_count")?.extract()?;
    if n_null > 0 {
        return refuse(format!("has {n_null} null values"));
    }
    // DuckDB sums to decimals without a fraction.
    if !types.call_method1("is_integer", (&kind,))?.is_truthy()?
        && !types.call_method1("is_decimal", (&kind,))?.is_truthy()?
    {
        return refuse(format!("has the type {kind}, not whole numbers"));
    }
    let cast = match column.call_method1("cast", (pyarrow.call_method0("uint64")?,)) {
        Ok(cast) => cast,
        Err(error) => return refuse(format!("has another value: {}", error.value(column.py()))),
    };
    let numbers = cast.call_method0("to_numpy")?.cast_into::<PyArray1<u64>>()?;
    Ok(numbers.readonly().as_array().iter().copied().collect())
}

/// The totals by name.
pub(super) fn totals_dict<'py>(py: Python<'py>, totals: &Totals) -> PyResult<Bound<'py, PyDict>> {
    let Totals {
        documents,
        bytes,
        pieces,
        pieces_cut,
        skipped,
        replaced,
        invalid_bytes,
        byte_order_marks,
        documents_left_out,
        bytes_left_out,
        pieces_dropped,
        distinct_dropped,
    } = *totals;
    let dict = PyDict::new(py);
    for (name, value) in [
        ("documents", documents),
        ("bytes", bytes),
        ("pieces", pieces),
        ("pieces_cut", pieces_cut),
        ("skipped", skipped),
        ("replaced", replaced),
        ("invalid_bytes", invalid_bytes),
        ("byte_order_marks", byte_order_marks),
        ("documents_left_out", documents_left_out),
        ("bytes_left_out", bytes_left_out),
        ("pieces_dropped", pieces_dropped),
        ("distinct_dropped", distinct_dropped),
    ] {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

/// The samples as dicts.
pub(super) fn samples_list<'py>(py: Python<'py>, samples: &[Sample]) -> PyResult<Bound<'py, PyList>> {
    let all = PyList::empty(py);
    for sample in samples {
        let dict = PyDict::new(py);
        dict.set_item("share", sample.share)?;
        dict.set_item("seed", sample.seed)?;
        all.append(dict)?;
    }
    Ok(all)
}

#[pymethods]
impl PyWordCounts {
    /// Takes counts from elsewhere: a mapping of `str` or `bytes` to `int`, whose pieces are
    /// already normalized by `normalizer` and split by `pre_tokenizer`.
    #[new]
    #[pyo3(signature = (counts, *, normalizer = None, pre_tokenizer = None))]
    fn new(
        counts: &Bound<'_, PyMapping>,
        normalizer: Option<&Bound<'_, PyAny>>,
        pre_tokenizer: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        entry(|| Ok(from_mapping(counts, pipeline::of_counts(normalizer, pre_tokenizer)?)?.into()))
    }

    /// Reads a count file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        entry(|| {
            with_local(py, path, |path| {
                Ok(reading(py, &[&path.clone()], move || WordCounts::load(&path))?.into())
            })
        })
    }

    /// Reads the bytes of a count file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        entry(|| Ok(py.detach(|| WordCounts::from_bytes(data))?.into()))
    }

    /// Takes a table with two columns, `piece` (strings or binary) and `count` (integers); counts
    /// of equal pieces are added.
    #[staticmethod]
    #[pyo3(signature = (table, *, normalizer = None, pre_tokenizer = None))]
    fn from_arrow(
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        normalizer: Option<&Bound<'_, PyAny>>,
        pre_tokenizer: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        entry(|| {
            let pyarrow = arrow::import(py)?;
            let table = pyarrow.call_method1("table", (table,))?;
            let names: Vec<String> = table.getattr("column_names")?.extract()?;
            let column = |name: &str| match names.iter().filter(|known| *known == name).count() {
                1 => table.call_method1("column", (name,)),
                n => Err(PyValueError::new_err(format!(
                    "a table with {n} columns called {name:?} among {names:?}; name one \"piece\" and one \
                     \"count\""
                ))),
            };
            let mut pieces = Column::default();
            let chunks = Chunks::new(&column("piece")?)?;
            for chunk in chunks.into_iter().flatten() {
                let before = pieces.n_rows() as u64;
                pieces.extend(&chunk?, before)?;
            }
            let counts = counts_of_column(&pyarrow, &column("count")?)?;
            let pipeline = pipeline::of_counts(normalizer, pre_tokenizer)?;
            Ok(py.detach(|| WordCounts::from_pairs(pipeline, pieces.rows().zip(counts)))?.into())
        })
    }

    /// Writes a count file, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        entry(|| with_output(py, path, |path| Ok(py.detach(|| self.counts.save(&path))?)))
    }

    /// The bytes of a count file. Equal counts give equal bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        entry(|| byte_string(py, &py.detach(|| self.counts.to_bytes())?))
    }

    /// A `pyarrow.Table` with `piece` (large_binary) and `count` (int64).
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        entry(|| {
            let pyarrow = arrow::import(py)?;
            let (mut data, mut ends, mut counts) = (Vec::new(), vec![0i64], Vec::new());
            py.detach(|| -> crate::error::Result<()> {
                for (piece, count) in self.counts.iter() {
                    memory::extend(&mut data, piece)?;
                    memory::push(&mut ends, data.len() as i64)?;
                    let count = i64::try_from(count).map_err(|_| Error::CountOverflow {
                        what: format!("{:?} in a column of int64", String::from_utf8_lossy(piece)),
                    })?;
                    memory::push(&mut counts, count)?;
                }
                Ok(())
            })?;
            let n = counts.len();
            let array = |kind, buffers: Vec<Bound<'py, PyAny>>| {
                let kind = pyarrow.call_method0(kind)?;
                let mut all = vec![py.None().into_bound(py)];
                for buffer in buffers {
                    all.push(pyarrow.call_method1("py_buffer", (buffer,))?);
                }
                pyarrow.getattr("Array")?.call_method1("from_buffers", (kind, n, all))
            };
            let ends = read_only(py, ends)?.into_any();
            let pieces = array("large_binary", vec![ends, read_only(py, data)?.into_any()])?;
            let columns = PyDict::new(py);
            columns.set_item("piece", pieces)?;
            columns.set_item("count", array("int64", vec![read_only(py, counts)?.into_any()])?)?;
            pyarrow.call_method1("table", (columns,))
        })
    }

    /// The pipeline as JSON.
    #[getter]
    fn pipeline(&self) -> PyResult<String> {
        entry(|| Ok(self.counts.pipeline().to_json()?))
    }

    /// SHA-256 of the pipeline, in hexadecimal. Counts can be added if it is equal.
    #[getter]
    fn pipeline_hash(&self) -> PyResult<String> {
        entry(|| Ok(self.counts.pipeline().fingerprint()?))
    }

    /// Numbers of documents, bytes and pieces that were read, cut, skipped or replaced.
    #[getter]
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        entry(|| totals_dict(py, self.counts.totals()))
    }

    /// The random samples of documents that were counted, each with its `share` and `seed`; empty if
    /// every document was counted.
    #[getter]
    fn samples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        entry(|| samples_list(py, self.counts.samples()))
    }

    /// Whether the last piece of each line is marked, as `count(line_ends=True)` does.
    #[getter]
    fn line_ends(&self) -> bool {
        self.counts.line_ends()
    }

    fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        entry(|| {
            let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
            let other = &*other.get().counts;
            let sum = py.detach(|| self.counts.add(other))?;
            Ok(Py::new(py, Self::from(sum))?.into_any())
        })
    }

    fn __getitem__(&self, py: Python<'_>, piece: &Bound<'_, PyAny>) -> PyResult<u64> {
        entry(|| {
            let text = Text::piece(piece)?;
            self.counts.get(text.bytes(py)?).ok_or_else(|| PyKeyError::new_err(piece.clone().unbind()))
        })
    }

    fn __contains__(&self, py: Python<'_>, piece: &Bound<'_, PyAny>) -> PyResult<bool> {
        entry(|| match Text::piece(piece) {
            Ok(text) => Ok(self.counts.get(text.bytes(py)?).is_some()),
            Err(error)
                if error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyValueError>(py) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        })
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        entry(|| self.pieces(py)?.try_iter())
    }

    fn __len__(&self) -> usize {
        self.counts.len()
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        entry(|| {
            let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
            let same = self.counts == other.get().counts;
            Ok(same.into_pyobject(py)?.to_owned().into_any().unbind())
        })
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        entry(|| self.to_bytes(py)?.hash())
    }

    fn __repr__(&self) -> String {
        let name = self.counts.pipeline().pre_tokenizer.name();
        format!("WordCounts({} pieces, {name})", self.counts.len())
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        entry(|| {
            let py = this.py();
            Ok((this.getattr("from_bytes")?, (this.get().to_bytes(py)?,).into_pyobject(py)?))
        })
    }
}

/// Makes the class a `collections.abc.Mapping`: adds its mixin methods, which work on any class
/// with the abstract ones, and registers it.
pub(super) fn register_mapping(py: Python<'_>) -> PyResult<()> {
    let mapping = py.import("collections.abc")?.getattr("Mapping")?;
    let class = py.get_type::<PyWordCounts>();
    for name in ["keys", "items", "values", "get"] {
        class.setattr(name, mapping.getattr(name)?)?;
    }
    mapping.call_method1("register", (class,))?;
    Ok(())
}
