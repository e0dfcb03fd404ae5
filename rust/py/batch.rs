//! `EncodingBatch`: the encodings of many texts, as flat arrays.
//!
//! `parts` has the parts of each row: a text and the template around it, a pair, words, or a
//! window of these. What a row has in addition to its ids is made when it is asked for: `marks`, `offsets`.

mod marks;
mod offsets;
mod padded;
mod selected;
mod state;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PySlice, PyTuple};

use self::offsets::Spans;
use self::state::State;
use super::arrays::{self, KeptSpans};
use super::call::Call;
use super::encoding::PyEncoding;
use super::error::entry;
use super::html;
use super::numbers::{place, spelled};
use super::padding::Padding;
use super::texts::Texts;
use super::tokenizer::PyTokenizer;
use crate::tokenizer::encoding::{
    EncodingBatch, OffsetUnit, RowParts, Rows, SourceTexts, TextPart, TrimWidths,
};
use crate::tokenizer::{EncodedRows, Input, Tokenizer};
use crate::vocab::TokenId;

/// The parts of rows.
pub(super) enum Parts {
    /// Each of the text of its number, and so many ids of the template before and behind it.
    Whole([usize; 2]),
    /// Each row its own text.
    Each(Vec<RowParts>),
}

/// The source of the tokens of ids.
enum Maker {
    /// The tokenizer that made them, its call, and the source texts it found.
    Tokenizer(Arc<Tokenizer>, Arc<Call>, SourceTexts),
    /// The tokens themselves, of a batch that was pickled.
    Known(Box<Known>),
}

/// The properties that a batch takes from its tokenizer.
struct Known {
    tokens: Arc<HashMap<TokenId, String>>,
    source_texts: SourceTexts,
    trim_widths: Option<TrimWidths>,
    type_ids: Py<PyArray1<i64>>,
    special_mask: Py<PyArray1<bool>>,
}

/// The ids of many texts: one flat array, and where its rows end.
#[pyclass(frozen, module = "sentitok", name = "EncodingBatch")]
pub(super) struct PyEncodingBatch {
    ids: Py<PyArray1<TokenId>>,
    row_offsets: Py<PyArray1<i64>>,
    spans: Spans,
    /// Where they are kept, for offsets.
    texts: Option<Arc<Texts>>,
    parts: Parts,
    /// The row of the call that each is of; `None` where it is its own number.
    source_rows: Option<Vec<i64>>,
    /// Whether the texts are words.
    are_words: bool,
    maker: Maker,
    padding: Padding,
    /// The word of each id, where it was asked for.
    words: PyOnceLock<Py<PyArray1<i64>>>,
}

impl PyEncodingBatch {
    /// A batch of texts, each a row. Spans are in `batch`, or sums where `are_by_length`.
    pub fn whole(
        py: Python<'_>,
        mut batch: EncodingBatch,
        are_by_length: bool,
        texts: Option<Texts>,
        call: Call,
        tokenizer: &PyTokenizer,
    ) -> PyResult<Self> {
        let (before, after) = if call.add_special_tokens {
            tokenizer.tokenizer.template().around_single()
        } else {
            Default::default()
        };
        let spans = match batch.spans.take() {
            Some(spans) if texts.is_some() => Spans::Kept(KeptSpans::new(py, spans)?),
            _ if are_by_length => Spans::ByLength,
            _ => Spans::None,
        };
        let parts = Parts::Whole([before.len(), after.len()]);
        Self::new(py, batch, spans, texts, parts, call, tokenizer)
    }

    /// A batch of rows of one or two texts.
    pub fn joined(
        py: Python<'_>,
        joined: EncodedRows,
        texts: Option<Texts>,
        call: Call,
        tokenizer: &PyTokenizer,
    ) -> PyResult<Self> {
        let EncodedRows { mut batch, parts, source_rows, words } = joined;
        let spans = match batch.spans.take() {
            Some(spans) => Spans::Kept(KeptSpans::new(py, spans)?),
            None => Spans::None,
        };
        let mut batch = Self::new(py, batch, spans, texts, Parts::Each(parts), call, tokenizer)?;
        batch.source_rows = Some(source_rows);
        batch.are_words = words.is_some();
        if let Some(words) = words {
            // There was nothing.
            let _ = batch.words.set(py, arrays::read_only(py, words)?.unbind());
        }
        Ok(batch)
    }

    /// The windows of a text, each `step` ids after the one before.
    pub fn windows(
        py: Python<'_>,
        mut batch: EncodingBatch,
        step: usize,
        texts: Texts,
        call: Call,
        tokenizer: &PyTokenizer,
    ) -> PyResult<Self> {
        let (before, after) = if call.add_special_tokens {
            tokenizer.tokenizer.template().around_single()
        } else {
            Default::default()
        };
        let parts = |(row, ids): (usize, &[TokenId])| {
            let ids = before.len()..ids.len() - after.len();
            RowParts { first: TextPart { ids, texts: 0..1, before: row * step }, ..RowParts::default() }
        };
        let parts: Vec<RowParts> = batch.rows().iter().enumerate().map(parts).collect();
        let spans = Spans::Kept(KeptSpans::new(py, batch.spans.take().unwrap_or_default())?);
        let n = parts.len();
        let mut batch = Self::new(py, batch, spans, Some(texts), Parts::Each(parts), call, tokenizer)?;
        batch.source_rows = Some(vec![0; n]);
        Ok(batch)
    }

    fn new(
        py: Python<'_>,
        batch: EncodingBatch,
        spans: Spans,
        texts: Option<Texts>,
        parts: Parts,
        call: Call,
        tokenizer: &PyTokenizer,
    ) -> PyResult<Self> {
        Ok(Self {
            ids: arrays::read_only(py, batch.ids)?.unbind(),
            row_offsets: arrays::read_only(py, int64(batch.row_offsets))?.unbind(),
            spans,
            texts: texts.map(Arc::new),
            parts,
            source_rows: None,
            are_words: false,
            maker: Maker::Tokenizer(tokenizer.tokenizer.clone(), Arc::new(call), batch.source_texts),
            padding: tokenizer.padding.clone(),
            words: PyOnceLock::new(),
        })
    }

    /// Runs `work` on the rows, while other threads may use the interpreter.
    pub fn with_rows<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(Rows<'_, i64>) -> T + Send,
    ) -> PyResult<T> {
        let (ids, row_offsets) = self.borrowed(py)?;
        let rows = Rows { ids: ids.as_slice()?, row_offsets: row_offsets.as_slice()? };
        Ok(py.detach(|| work(rows)))
    }

    /// Runs `work` on the rows.
    pub fn with_borrowed_rows<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(Rows<'_, i64>) -> T,
    ) -> PyResult<T> {
        let (ids, row_offsets) = self.borrowed(py)?;
        Ok(work(Rows { ids: ids.as_slice()?, row_offsets: row_offsets.as_slice()? }))
    }

    fn borrowed<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(PyReadonlyArray1<'py, TokenId>, PyReadonlyArray1<'py, i64>)> {
        Ok((self.ids.bind(py).try_readonly()?, self.row_offsets.bind(py).try_readonly()?))
    }

    pub fn n_rows(&self, py: Python<'_>) -> usize {
        self.row_offsets.bind(py).as_any().len().unwrap_or(1).saturating_sub(1)
    }

    /// The parts of a row of `n` ids.
    fn parts(&self, row: usize, n: usize) -> Cow<'_, RowParts> {
        match &self.parts {
            Parts::Each(parts) => Cow::Borrowed(&parts[row]),
            Parts::Whole([before, after]) => {
                let ids = (*before).min(n)..n.saturating_sub(*after).max((*before).min(n));
                let first = TextPart { ids, texts: row..row + 1, before: 0 };
                Cow::Owned(RowParts { first, ..RowParts::default() })
            }
        }
    }

    /// The source texts that were found.
    pub fn surfaces(&self) -> &SourceTexts {
        match &self.maker {
            Maker::Tokenizer(_, _, source_texts) => source_texts,
            Maker::Known(known) => &known.source_texts,
        }
    }

    /// A token as tokenizer.json spells it.
    pub fn token(&self, id: TokenId) -> String {
        match &self.maker {
            Maker::Tokenizer(tokenizer, ..) => tokenizer.id_to_token(id),
            Maker::Known(known) => known.tokens.get(&id).cloned(),
        }
        .unwrap_or_default()
    }

    /// The bytes of a token, or its spelling where nothing else is known.
    pub fn bytes(&self, id: TokenId) -> Vec<u8> {
        match &self.maker {
            Maker::Tokenizer(tokenizer, ..) => tokenizer.id_to_bytes(id).unwrap_or_default().to_vec(),
            Maker::Known(_) => self.token(id).into_bytes(),
        }
    }

    /// Which ids of the first row are a second text's.
    pub fn second_ids(&self) -> Option<Range<usize>> {
        match &self.parts {
            Parts::Each(parts) => parts.first().and_then(RowParts::second_ids),
            Parts::Whole(_) => None,
        }
    }

    /// The text of the only row and the call that encoded it, if `tokenizer` made all of its ids of one text.
    pub fn single_text<'a>(
        &'a self,
        py: Python<'a>,
        tokenizer: &Arc<Tokenizer>,
    ) -> PyResult<Option<(Input<'a>, &'a Call)>> {
        let (Maker::Tokenizer(maker, call, _), Some(texts)) = (&self.maker, &self.texts) else {
            return Ok(None);
        };
        let is_whole = Arc::ptr_eq(maker, tokenizer) && call.max_tokens.is_none() && !self.are_words;
        let first = match &self.parts {
            Parts::Each(parts) if parts.len() == 1 && parts[0].second_ids().is_none() => &parts[0].first,
            Parts::Each(_) | Parts::Whole(_) => return Ok(None),
        };
        if !is_whole || first.texts.len() != 1 {
            return Ok(None);
        }
        Ok(Some((texts.source(py, first.texts.start)?.text, call)))
    }

    /// A row as an encoding; `None` past the last row.
    fn row(this: &Bound<'_, Self>, row: usize) -> PyResult<Option<PyEncoding>> {
        let py = this.py();
        if row >= this.get().n_rows(py) {
            return Ok(None);
        }
        let selected = this.get().selected(py, &[row])?;
        PyEncoding::of_row(py, Py::new(py, selected)?).map(Some)
    }
}

#[pymethods]
impl PyEncodingBatch {
    /// The ids of all rows, one after the other: a read-only array of uint32.
    #[getter]
    pub fn ids(&self, py: Python<'_>) -> Py<PyArray1<TokenId>> {
        self.ids.clone_ref(py)
    }

    /// Where each row starts, one more than there are rows: a read-only array
    /// of int64.
    #[getter]
    fn row_offsets(&self, py: Python<'_>) -> Py<PyArray1<i64>> {
        self.row_offsets.clone_ref(py)
    }

    /// Start and end of each id in its own text, an array of int64 of shape `(len(ids), 2)`;
    /// see `Encoding.offsets`. Needs `encode_batch(..., offsets=True)`.
    #[pyo3(signature = (unit = OffsetUnit::Chars, *, trim = None))]
    #[pyo3(text_signature = "($self, unit='chars', *, trim=None)")]
    pub fn offsets<'py>(
        &self,
        py: Python<'py>,
        unit: OffsetUnit,
        trim: Option<bool>,
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        entry(|| arrays::signed(&self.compute_offsets(py, unit, trim)?))
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.n_rows(py)
    }

    /// A row as an `Encoding`, or the rows of a slice as a batch; ids are not copied where rows
    /// are adjacent.
    fn __getitem__<'py>(this: &Bound<'py, Self>, row: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        entry(|| {
            let py = this.py();
            let n_rows = this.get().n_rows(py);
            if let Ok(slice) = row.cast::<PySlice>() {
                let taken = slice.indices(n_rows as isize)?;
                let place = |at: usize| (taken.start + at as isize * taken.step) as usize;
                let rows: Vec<usize> = (0..taken.slicelength).map(place).collect();
                return Ok(Bound::new(py, this.get().selected(py, &rows)?)?.into_any());
            }
            let view = match place("row", row, n_rows)? {
                Some(at) => Self::row(this, at)?,
                None => None,
            };
            match view {
                Some(view) => Ok(Bound::new(py, view)?.into_any()),
                None => {
                    let row = spelled(row);
                    Err(PyIndexError::new_err(format!("row {row} of a batch of {n_rows} rows")))
                }
            }
        })
    }

    fn __iter__(this: Py<Self>) -> EncodingRows {
        EncodingRows { batch: this, next: AtomicUsize::new(0) }
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

    /// The first rows in colour, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        entry(|| self.with_borrowed_rows(py, |rows| html::rows(&rows, |id| self.bytes(id))))
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        entry(|| {
            let state = this.get().to_state(this.py())?;
            Ok((this.getattr("_from_state")?, state.into_pyobject(this.py())?))
        })
    }

    /// Makes a batch again from its pickled state.
    #[staticmethod]
    #[pyo3(signature = (*state))]
    fn _from_state(py: Python<'_>, state: &Bound<'_, PyTuple>) -> PyResult<Self> {
        entry(|| Self::of_state(py, state.extract::<State<'_>>()?))
    }
}

/// Places as int64, as NumPy and Arrow hold them; in the same memory.
fn int64(places: Vec<usize>) -> Vec<i64> {
    places.into_iter().map(|place| place as i64).collect()
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

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<PyEncoding>> {
        entry(|| PyEncodingBatch::row(self.batch.bind(py), self.next.fetch_add(1, Ordering::Relaxed)))
    }
}
