//! `EncodingBatch`: what many texts became, as flat arrays.

mod spans;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyTuple};

use self::spans::{Spans, Trimming};
use super::arrays::{self, KeptSpans};
use super::call::Call;
use super::error::entry;
use super::spans::Trim;
use super::text::{Errors, Texts};
use super::turns::{Turns, list, numbers};
use crate::encoding::{EncodingBatch, OffsetUnit, Rows, Side, Span, Surfaces};
use crate::error::{Error, shown};
use crate::memory;
use crate::tokenizer::Tokenizer;
use crate::vocab::TokenId;

/// The texts that spans lie in.
pub(super) enum Sources {
    /// None were kept: the batch was made without offsets.
    None,
    /// One for each row.
    Rows(Texts),
    /// One for all rows, which are windows of it.
    One(Texts),
}

/// The ids of many texts: one flat array, and where its rows end.
#[pyclass(frozen, module = "sentitok", name = "EncodingBatch")]
pub(super) struct PyEncodingBatch {
    ids: Py<PyArray1<TokenId>>,
    row_offsets: Py<PyArray1<i64>>,
    spans: Spans,
    sources: Sources,
    trimming: Trimming,
    /// The id that stands for padding where the caller names none.
    pad_id: TokenId,
}

impl PyEncodingBatch {
    pub fn new(
        py: Python<'_>,
        batch: EncodingBatch,
        sources: Sources,
        tokenizer: &Arc<Tokenizer>,
    ) -> PyResult<Self> {
        let pad_id = tokenizer.pad_id().unwrap_or(0);
        let mut batch = batch;
        let spans = Spans::Kept(KeptSpans::new(py, batch.spans.take().unwrap_or_default())?);
        let trimming = Trimming::Tokenizer(tokenizer.clone(), std::mem::take(&mut batch.surfaces));
        Self::with_trimming(py, batch, spans, sources, trimming, pad_id)
    }

    /// A batch of which the spans are sums, of most rows at least.
    pub fn with_sums(
        py: Python<'_>,
        batch: EncodingBatch,
        around: [usize; 2],
        call: Call,
        texts: Texts,
        tokenizer: &Arc<Tokenizer>,
    ) -> PyResult<Self> {
        let pad_id = tokenizer.pad_id().unwrap_or(0);
        let trimming = Trimming::Tokenizer(tokenizer.clone(), Surfaces::default());
        let spans = Spans::Sums { around, call };
        Self::with_trimming(py, batch, spans, Sources::Rows(texts), trimming, pad_id)
    }

    fn with_trimming(
        py: Python<'_>,
        batch: EncodingBatch,
        spans: Spans,
        sources: Sources,
        trimming: Trimming,
        pad_id: TokenId,
    ) -> PyResult<Self> {
        Ok(Self {
            ids: arrays::read_only(py, batch.ids)?.unbind(),
            row_offsets: arrays::read_only(py, batch.row_offsets)?.unbind(),
            spans,
            sources,
            trimming,
            pad_id,
        })
    }

    /// Runs `work` on the rows, the interpreter left to others.
    pub fn with_rows<T: Send>(&self, py: Python<'_>, work: impl FnOnce(Rows<'_>) -> T + Send) -> PyResult<T> {
        let (ids, row_offsets) = self.borrowed(py)?;
        let rows = Rows { ids: ids.as_slice()?, row_offsets: row_offsets.as_slice()? };
        Ok(py.detach(|| work(rows)))
    }

    /// Runs `work` on the rows.
    pub fn with_borrowed_rows<T>(&self, py: Python<'_>, work: impl FnOnce(Rows<'_>) -> T) -> PyResult<T> {
        let (ids, row_offsets) = self.borrowed(py)?;
        Ok(work(Rows { ids: ids.as_slice()?, row_offsets: row_offsets.as_slice()? }))
    }

    fn borrowed<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(PyReadonlyArray1<'py, TokenId>, PyReadonlyArray1<'py, i64>)> {
        Ok((self.ids.bind(py).try_readonly()?, self.row_offsets.bind(py).try_readonly()?))
    }

    /// A view of a row's ids; `None` past the last row.
    fn view<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (ids, row_offsets) = self.borrowed(py)?;
        let rows = Rows { ids: ids.as_slice()?, row_offsets: row_offsets.as_slice()? };
        let Some(range) = rows.row(row) else { return Ok(None) };
        let slice = PySlice::new(py, range.start as isize, range.end as isize, 1);
        self.ids.bind(py).as_any().get_item(slice).map(Some)
    }

    fn n_rows(&self, py: Python<'_>) -> usize {
        self.row_offsets.bind(py).as_any().len().unwrap_or(1).saturating_sub(1)
    }
}

/// Ids and mask, both of as many rows and columns.
type Padded<'py> = (Bound<'py, PyArray2<TokenId>>, Bound<'py, PyArray2<bool>>);

/// All that a pickled batch is: ids, row offsets, spans, texts (`None`: none
/// kept), whether there is one text for all rows, the id of padding, what offsets
/// leave out.
type State<'py> = (
    Bound<'py, PyArray1<TokenId>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyAny>,
    Option<Vec<Py<PyAny>>>,
    bool,
    TokenId,
    Option<(bool, Bound<'py, PyAny>)>,
);

#[pymethods]
impl PyEncodingBatch {
    /// The ids of all rows, one after the other: a read-only array of uint32.
    #[getter]
    fn ids(&self, py: Python<'_>) -> Py<PyArray1<TokenId>> {
        self.ids.clone_ref(py)
    }

    /// Where each row starts, one more than there are rows: a read-only array
    /// of int64.
    #[getter]
    fn row_offsets(&self, py: Python<'_>) -> Py<PyArray1<i64>> {
        self.row_offsets.clone_ref(py)
    }

    /// Start and end of each id in its own text, an array of shape `(len(ids), 2)`;
    /// see `Encoding.offsets`. Needs `encode_batch(..., offsets=True)`.
    #[pyo3(signature = (unit = OffsetUnit::Chars, *, trim = None))]
    #[pyo3(text_signature = "($self, unit='chars', *, trim=None)")]
    fn offsets<'py>(
        &self,
        py: Python<'py>,
        unit: OffsetUnit,
        trim: Option<bool>,
    ) -> PyResult<Bound<'py, PyArray2<u64>>> {
        entry(|| {
            if matches!(self.sources, Sources::None) {
                let error = "this batch has no offsets; call encode_batch(..., offsets=True)";
                return Err(Error::Encode(error.to_owned()).into());
            }
            let blanks = if trim.is_none() { self.blanks(py)? } else { None };
            let trim = Trim::new(trim, blanks.as_deref());
            if let Some(array) = self.summed_offsets(py, unit, trim)? {
                return Ok(array);
            }
            let (sources, one) = self.texts(py)?;
            let kept = self.spans(py)?;
            if matches!(trim, Trim::No) && sources.iter().all(|source| source.counts_bytes(unit)) {
                return Ok(kept.array(py));
            }
            kept.with(py, |spans| {
                self.with_borrowed_rows(py, |rows| {
                    arrays::filled_spans(py, spans.len(), |cells| {
                        if one && blanks.is_none() {
                            return sources[0].write(spans, unit, trim, 0, cells);
                        }
                        for row in 0..rows.len() {
                            let range = rows.row(row).unwrap_or_default();
                            let before = match &blanks {
                                Some(_) => self.n_before(&rows.ids[range.clone()], &spans[range.clone()]),
                                None => 0,
                            };
                            let text = range.start + before..range.end;
                            cells[range.start..text.start].copy_from_slice(&spans[range.start..text.start]);
                            let source = sources[if one { 0 } else { row }];
                            source.write(&spans[text.clone()], unit, trim, text.start, &mut cells[text])?;
                        }
                        Ok(())
                    })
                })
            })??
        })
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.n_rows(py)
    }

    /// The ids of a row: a view, no copy.
    fn __getitem__<'py>(&self, py: Python<'py>, row: isize) -> PyResult<Bound<'py, PyAny>> {
        entry(|| {
            let n_rows = self.n_rows(py);
            let at = if row < 0 { row.checked_add_unsigned(n_rows) } else { Some(row) };
            let view = match at.and_then(|at| usize::try_from(at).ok()) {
                Some(at) => self.view(py, at)?,
                None => None,
            };
            view.ok_or_else(|| PyIndexError::new_err(format!("row {row} of a batch of {n_rows} rows")))
        })
    }

    fn __iter__(this: Py<Self>) -> EncodingRows {
        EncodingRows { batch: this, next: AtomicUsize::new(0) }
    }

    /// Makes a rectangle: ids, and a mask that is true where an id is real.
    ///
    /// `length` is the number of columns, by default the longest row's; it is
    /// rounded up to `multiple_of`. `pad_id` is by default the tokenizer's pad
    /// token if it has one, else 0: the mask says which ids are real.
    #[pyo3(signature = (length = None, pad_id = None, side = "right", multiple_of = None))]
    fn pad<'py>(
        &self,
        py: Python<'py>,
        length: Option<usize>,
        pad_id: Option<TokenId>,
        side: &str,
        multiple_of: Option<usize>,
    ) -> PyResult<Padded<'py>> {
        entry(|| {
            let side = match side {
                "left" => Side::Left,
                "right" => Side::Right,
                _ => {
                    let side = shown(side);
                    return Err(PyValueError::new_err(format!("side={side:?}: it is 'left' or 'right'")));
                }
            };
            let pad_id = pad_id.unwrap_or(self.pad_id);
            let n_rows = self.n_rows(py);
            let (ids, row_offsets) = self.borrowed(py)?;
            let rows = Rows { ids: ids.as_slice()?, row_offsets: row_offsets.as_slice()? };
            let columns = py.detach(|| rows.columns(length, multiple_of))?;
            let (matrix, mask) = (arrays::zeros(py, n_rows, columns)?, arrays::zeros(py, n_rows, columns)?);
            {
                let (mut matrix, mut mask) = (matrix.readwrite(), mask.readwrite());
                let (matrix, mask) = (matrix.as_slice_mut()?, mask.as_slice_mut()?);
                py.detach(|| rows.pad(columns, pad_id, side, matrix, mask));
            }
            Ok((matrix, mask))
        })
    }

    /// The rows as lists of int.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        entry(|| {
            let (ids, row_offsets) = self.borrowed(py)?;
            let rows = Rows { ids: ids.as_slice()?, row_offsets: row_offsets.as_slice()? };
            let all = PyList::empty(py);
            let mut turns = Turns::default();
            for range in (0..rows.len()).filter_map(|row| rows.row(row)) {
                turns.after(py, 1 + range.len())?;
                all.append(list(py, rows.ids[range].iter().copied())?)?;
            }
            Ok(all)
        })
    }

    /// The rows as a `pyarrow.LargeListArray` of uint32 over the same memory.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        entry(|| {
            let pyarrow = super::arrow::import(py)?;
            let array = |values: &Bound<'py, PyAny>| pyarrow.call_method1("array", (values,));
            let (offsets, ids) = (array(self.row_offsets.bind(py))?, array(self.ids.bind(py))?);
            pyarrow.getattr("LargeListArray")?.call_method1("from_arrays", (offsets, ids))
        })
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        entry(|| {
            let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
            let ((ids, row_offsets), (other_ids, other_offsets)) =
                (self.borrowed(py)?, other.get().borrowed(py)?);
            let same = row_offsets.as_slice()? == other_offsets.as_slice()?
                && ids.as_slice()? == other_ids.as_slice()?
                && self.spans(py)?.equal(py, &other.get().spans(py)?)?;
            Ok(same.into_pyobject(py)?.to_owned().into_any().unbind())
        })
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        entry(|| self.ids.bind(py).call_method0("tobytes")?.hash())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        entry(|| {
            Ok(format!("EncodingBatch({} rows, {} ids)", self.n_rows(py), self.ids.bind(py).as_any().len()?))
        })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        entry(|| {
            let py = this.py();
            let batch = this.get();
            let (texts, one) = match &batch.sources {
                Sources::None => (None, false),
                Sources::Rows(texts) => (Some(texts.to_objects(py)?), false),
                Sources::One(texts) => (Some(texts.to_objects(py)?), true),
            };
            let (ids, row_offsets) = (batch.ids.bind(py).clone(), batch.row_offsets.bind(py).clone());
            let spans = batch.spans(py)?.array(py).into_any();
            let blanks =
                batch.blanks(py)?.map(|blanks| arrays::blanks(py, blanks.into_owned())).transpose()?;
            let state: State<'py> = (ids, row_offsets, spans, texts, one, batch.pad_id, blanks);
            Ok((this.getattr("_from_state")?, state.into_pyobject(py)?))
        })
    }

    /// Makes a batch again of what was pickled.
    #[staticmethod]
    #[pyo3(signature = (*state))]
    fn _from_state(py: Python<'_>, state: &Bound<'_, PyTuple>) -> PyResult<Self> {
        entry(|| {
            let (ids, row_offsets, spans, texts, one, pad_id, blanks): State<'_> = state.extract()?;
            let spans: Vec<u64> = numbers(&spans, "uint64")?;
            let spans: Vec<Span> =
                py.detach(|| memory::collected(spans.chunks_exact(2).map(|span| [span[0], span[1]])))?;
            let blanks = blanks.map(|state| arrays::blanks_again(&state)).transpose()?;
            let batch = EncodingBatch {
                ids: memory::collected(ids.try_readonly()?.as_array().iter().copied())?,
                row_offsets: memory::collected(row_offsets.try_readonly()?.as_array().iter().copied())?,
                spans: None,
                surfaces: Surfaces::default(),
            };
            let n_ids = batch.ids.len();
            let n_texts = texts.as_ref().map(Vec::len);
            let sound = batch.row_offsets.first() == Some(&0)
                && batch.row_offsets.is_sorted()
                && batch.row_offsets.last() == Some(&(n_ids as i64))
                && n_texts.is_none_or(|n| n == if one { 1 } else { batch.len() })
                && spans.len() == if n_texts.is_some() { n_ids } else { 0 }
                && blanks.as_ref().is_none_or(|blanks| blanks.counts.len() == n_ids);
            if !sound {
                return Err(PyValueError::new_err("a pickled EncodingBatch whose parts do not fit"));
            }
            let texts = texts.map(|texts| Texts::new(texts.into_pyobject(py)?.as_any(), Errors::Replace));
            let sources = match texts.transpose()? {
                None => Sources::None,
                Some(texts) if one => Sources::One(texts),
                Some(texts) => Sources::Rows(texts),
            };
            let spans = Spans::Kept(KeptSpans::new(py, spans)?);
            Self::with_trimming(py, batch, spans, sources, Trimming::Blanks(blanks), pad_id)
        })
    }
}

/// The rows of a batch, one after the other.
#[pyclass(frozen, module = "sentitok")]
pub(super) struct EncodingRows {
    batch: Py<PyEncodingBatch>,
    next: AtomicUsize,
}

#[pymethods]
impl EncodingRows {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        entry(|| self.batch.get().view(py, self.next.fetch_add(1, Ordering::Relaxed)))
    }
}
