//! `Encoding`: the encoding of one text, or of a pair.
//!
//! Holds the ids as the array that Python gets, and what the rest is made of
//! when it is asked for: spans, the texts they lie in, the tokens' spelling.

mod on_demand;
mod places;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyIterator, PyList, PyTuple};

use super::arrays::{self, KeptSpans};
use super::batch::PyEncodingBatch;
use super::call::Call;
use super::error::entry;
use super::html;
use super::spans::Source;
use super::text::{Errors, Text};
use crate::memory;
use crate::py::gil_slices::{GilSlices, numbers};
use crate::tokenizer::encoding::{Encoding, OffsetUnit, SourceTexts, TrimWidths};
use crate::tokenizer::{Input, ResumePoint, Tokenizer};
use crate::vocab::TokenId;

/// The source of the spelling of ids.
pub(super) enum Spelling {
    /// The tokenizer that made them.
    Tokenizer(Arc<Tokenizer>),
    /// Nothing but the spelled tokens, and the white space that offsets leave out: an encoding
    /// that was pickled.
    Tokens(Py<PyList>, Option<TrimWidths>),
    /// The batch of one row that it is.
    Row(Py<PyEncodingBatch>),
}

/// The ids of a text or of a pair, and where in the text each came from.
///
/// It keeps the text as long as it lives: a `str` or `bytes` itself, of other
/// buffers a copy. Offsets and source texts are made of the ids when they are asked for:
/// for most byte-level models of the lengths of the tokens, else by normalizing and
/// splitting the text once more; then spans are kept, too: 16 bytes an id. Take
/// `.ids` and let the encoding go where a long text should be freed.
#[pyclass(frozen, module = "sentitok", name = "Encoding")]
pub(super) struct PyEncoding {
    ids: Py<PyArray1<TokenId>>,
    n_ids: usize,
    /// Which ids are the second text's, of a pair.
    second: Option<Range<usize>>,
    spelling: Spelling,
    texts: Vec<Text>,
    /// How the ids were made; `None` where the rest was there from the start.
    call: Option<Call>,
    /// Where in the texts the ids came from, once somebody asked.
    traces: PyOnceLock<(KeptSpans, SourceTexts)>,
    type_ids: PyOnceLock<Py<PyArray1<i64>>>,
    special_mask: PyOnceLock<Py<PyArray1<bool>>>,
    words: PyOnceLock<Py<PyArray1<i64>>>,
    /// Where a longer text is encoded from, once that was looked for; `None` where that is the start.
    resume_point: OnceLock<Option<TextPoint>>,
}

/// Where a longer text is encoded from.
#[derive(Clone, Copy)]
pub(super) struct TextPoint {
    pub point: ResumePoint,
    /// The characters of the text before it.
    pub n_chars: usize,
}

/// A text that is encoded, and the call that encoded it.
pub(super) struct Earlier<'a> {
    pub text: EarlierText<'a>,
    pub call: &'a Call,
}

/// What an earlier text is.
pub(super) enum EarlierText<'a> {
    /// The text of a row that a template made.
    Row(Input<'a>),
    /// Any other text.
    One(&'a Text),
}

impl PyEncoding {
    /// An encoding of a text, or of two where `second` are the ids of the other.
    pub fn new(
        py: Python<'_>,
        ids: Vec<TokenId>,
        second: Option<Range<usize>>,
        tokenizer: Arc<Tokenizer>,
        texts: Vec<Text>,
        call: Call,
    ) -> PyResult<Self> {
        Ok(Self {
            n_ids: ids.len(),
            ids: arrays::read_only(py, ids)?.unbind(),
            second,
            spelling: Spelling::Tokenizer(tokenizer),
            texts,
            call: Some(call),
            traces: PyOnceLock::new(),
            type_ids: PyOnceLock::new(),
            special_mask: PyOnceLock::new(),
            words: PyOnceLock::new(),
            resume_point: OnceLock::new(),
        })
    }

    /// The one row of a batch.
    pub fn of_row(py: Python<'_>, batch: Py<PyEncodingBatch>) -> PyResult<Self> {
        let ids = batch.get().ids(py);
        Ok(Self {
            n_ids: ids.bind(py).len()?,
            ids,
            second: batch.get().second_ids(),
            spelling: Spelling::Row(batch),
            texts: Vec::new(),
            call: None,
            traces: PyOnceLock::new(),
            type_ids: PyOnceLock::new(),
            special_mask: PyOnceLock::new(),
            words: PyOnceLock::new(),
            resume_point: OnceLock::new(),
        })
    }

    /// An encoding of which all is known.
    pub fn whole(py: Python<'_>, encoding: Encoding, spelling: Spelling, texts: Vec<Text>) -> PyResult<Self> {
        let Encoding { ids, spans, type_ids, special_mask, second, source_texts } = encoding;
        let encoding = Self {
            n_ids: ids.len(),
            ids: arrays::read_only(py, ids)?.unbind(),
            second: Some(second).filter(|second| !second.is_empty()),
            spelling,
            texts,
            call: None,
            traces: PyOnceLock::new(),
            type_ids: PyOnceLock::new(),
            special_mask: PyOnceLock::new(),
            words: PyOnceLock::new(),
            resume_point: OnceLock::new(),
        };
        // There was nothing.
        let _ = encoding.traces.set(py, (KeptSpans::new(py, spans.unwrap_or_default())?, source_texts));
        let _ = encoding.type_ids.set(py, arrays::whole_numbers(py, type_ids)?.unbind());
        let _ = encoding.special_mask.set(py, arrays::read_only(py, special_mask)?.unbind());
        Ok(encoding)
    }

    /// The earlier encoding that a longer text continues, if `tokenizer` made this one of one text.
    pub fn earlier<'a>(
        &'a self,
        py: Python<'a>,
        tokenizer: &Arc<Tokenizer>,
    ) -> PyResult<Option<Earlier<'a>>> {
        if let Spelling::Row(batch) = &self.spelling {
            let single = batch.get().single_text(py, tokenizer)?;
            return Ok(single.map(|(text, call)| Earlier { text: EarlierText::Row(text), call }));
        }
        let is_same = matches!(&self.spelling, Spelling::Tokenizer(maker) if Arc::ptr_eq(maker, tokenizer));
        match (&self.call, &self.texts[..]) {
            (Some(call), [text]) if is_same && self.second.is_none() => {
                Ok(Some(Earlier { text: EarlierText::One(text), call }))
            }
            _ => Ok(None),
        }
    }

    /// The ids.
    pub fn array<'py>(&self, py: Python<'py>) -> &Bound<'py, PyArray1<TokenId>> {
        self.ids.bind(py)
    }

    /// Where a longer text is encoded from, if that was looked for.
    pub fn resume_point(&self) -> Option<Option<TextPoint>> {
        self.resume_point.get().copied()
    }

    /// Keeps where a longer text is encoded from, unless that is kept already.
    pub fn set_resume_point(&self, point: Option<TextPoint>) {
        let _ = self.resume_point.set(point);
    }

    /// The text that an id at `place` lies in, with its properties.
    fn sources<'a>(&'a self, py: Python<'a>) -> PyResult<[Source<'a>; 2]> {
        let source = |number: usize| match self.texts.get(number) {
            Some(text) => text.source(py),
            None => Ok(Source { text: Input::Text(""), joined: &[] }),
        };
        Ok([source(0)?, source(1)?])
    }
}

/// All that a pickled encoding is: ids, spans, type ids, mask, the second
/// text's ids, tokens, texts; places and texts of source texts; what offsets leave
/// out.
type State<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    (usize, usize),
    Bound<'py, PyList>,
    Vec<Py<PyAny>>,
    (Bound<'py, PyAny>, Vec<String>),
    Option<(bool, Bound<'py, PyAny>)>,
);

#[pymethods]
impl PyEncoding {
    /// The ids, a read-only array of uint32.
    #[getter]
    fn ids(&self, py: Python<'_>) -> Py<PyArray1<TokenId>> {
        self.ids.clone_ref(py)
    }

    /// The ids for numpy: `np.asarray(encoding)` is `encoding.ids`.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        entry(|| {
            let ids = self.ids.bind(py).as_any();
            let dtype = dtype.filter(|dtype| !dtype.is_none());
            match (dtype, copy) {
                (None, Some(true)) => ids.call_method0("copy"),
                (None, _) => Ok(ids.clone()),
                (Some(dtype), _) => ids.call_method1("astype", (dtype,)),
            }
        })
    }

    /// The tokens as tokenizer.json spells them: `"Ġfilm"` for `" film"`. An
    /// unknown token is its own spelling, such as `"<unk>"`; see `surfaces`.
    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        entry(|| self.spelled(py))
    }

    /// The tokens as in `tokens`, but the normalized text itself for
    /// each unknown token, and for each added token with the white space it took
    /// along. sentencepiece's pieces are these, and the tokens that tokenizers
    /// shows for Unigram.
    #[getter]
    fn surfaces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        entry(|| {
            let tokens = self.spelled(py)?;
            let mut slices = GilSlices::default();
            for (place, text) in self.surfaces_found(py)?.iter() {
                tokens.set_item(place, text)?;
                slices.after(py, 1)?;
            }
            Ok(tokens)
        })
    }

    /// The tokens in colour, for notebooks.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        entry(|| {
            let ids = self.ids.bind(py).try_readonly()?;
            let ids = ids.as_slice()?;
            Ok(match &self.spelling {
                Spelling::Tokens(tokens, _) => {
                    let tokens: Vec<String> = tokens.extract(py)?;
                    html::tokens(ids.iter().copied().zip(tokens.iter().map(String::as_bytes)))
                }
                Spelling::Tokenizer(tokenizer) => {
                    html::tokens(ids.iter().map(|&id| (id, tokenizer.id_to_bytes(id).unwrap_or_default())))
                }
                Spelling::Row(batch) => {
                    let bytes: Vec<Vec<u8>> = ids.iter().map(|&id| batch.get().bytes(id)).collect();
                    html::tokens(ids.iter().copied().zip(bytes.iter().map(Vec::as_slice)))
                }
            })
        })
    }

    /// The number of the segment of each id, a read-only array of int64.
    #[getter]
    fn type_ids(&self, py: Python<'_>) -> PyResult<Py<PyArray1<i64>>> {
        if let Spelling::Row(batch) = &self.spelling {
            return batch.get().type_ids(py);
        }
        let make = || PyResult::Ok(arrays::whole_numbers(py, self.marks(py)?.0)?.unbind());
        Ok(self.type_ids.get_or_try_init(py, make)?.clone_ref(py))
    }

    /// The ids as whole numbers of Python, in a list.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        entry(|| self.ids.bind(py).call_method0("tolist"))
    }

    /// The ids, one after the other.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        entry(|| self.ids.bind(py).call_method0("tolist")?.try_iter())
    }

    /// Whether the template put the id in, a read-only array of bool.
    #[getter]
    fn special_tokens_mask(&self, py: Python<'_>) -> PyResult<Py<PyArray1<bool>>> {
        if let Spelling::Row(batch) = &self.spelling {
            return batch.get().special_tokens_mask(py);
        }
        let make = || PyResult::Ok(arrays::read_only(py, self.marks(py)?.1)?.unbind());
        Ok(self.special_mask.get_or_try_init(py, make)?.clone_ref(py))
    }

    /// Where each token came from: start and end in the original text, an int64 array
    /// of shape `(n, 2)`.
    ///
    /// `unit="chars"` counts characters as `text[start:end]` does; of bytes
    /// that are not UTF-8, those of `text.decode("utf-8", "replace")`. A token
    /// that holds a part of a character takes in the whole. `unit="bytes"`
    /// counts bytes of the UTF-8. By default white space around a token is left
    /// out where the file's post-processor says so, as Hugging Face does it;
    /// with `trim=False` nothing is, and the spans of a lossless tokenizer tile
    /// the text; with `trim=True` the blanks are, whatever the file says. In a
    /// pair each span lies in its own text; tokens of a template have `(0, 0)`.
    #[pyo3(signature = (unit = OffsetUnit::Chars, *, trim = None))]
    #[pyo3(text_signature = "($self, unit='chars', *, trim=None)")]
    fn offsets<'py>(
        &self,
        py: Python<'py>,
        unit: OffsetUnit,
        trim: Option<bool>,
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        entry(|| match &self.spelling {
            Spelling::Row(batch) => batch.get().offsets(py, unit, trim),
            _ => arrays::signed(&self.compute_offsets(py, unit, trim)?),
        })
    }

    fn __len__(&self) -> usize {
        self.n_ids
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        entry(|| {
            let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
            let other = other.get();
            let same_ids =
                self.ids.bind(py).try_readonly()?.as_array() == other.ids.bind(py).try_readonly()?.as_array();
            let same = same_ids
                && self.second == other.second
                && self.same_traces(py, other)?
                && self.type_ids(py)?.bind(py).try_readonly()?.as_array()
                    == other.type_ids(py)?.bind(py).try_readonly()?.as_array()
                && self.special_tokens_mask(py)?.bind(py).try_readonly()?.as_array()
                    == other.special_tokens_mask(py)?.bind(py).try_readonly()?.as_array();
            same.into_pyobject(py).map(|same| same.to_owned().into_any().unbind()).map_err(Into::into)
        })
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        entry(|| {
            let ids = self.ids.bind(py).call_method0("tobytes")?;
            ids.hash()
        })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        entry(|| {
            const SHOWN: usize = 8;
            let first: Vec<String> = match &self.spelling {
                Spelling::Tokens(tokens, _) => tokens.bind(py).get_slice(0, SHOWN).extract()?,
                Spelling::Tokenizer(tokenizer) => {
                    let ids = self.ids.bind(py).try_readonly()?;
                    let ids = ids.as_array();
                    ids.iter().take(SHOWN).map(|&id| tokenizer.id_to_token(id).unwrap_or_default()).collect()
                }
                Spelling::Row(batch) => {
                    let ids = self.ids.bind(py).try_readonly()?;
                    ids.as_array().iter().take(SHOWN).map(|&id| batch.get().token(id)).collect()
                }
            };
            let n = self.__len__();
            let more = if n > SHOWN { ", …" } else { "" };
            let first: Vec<String> = first.iter().map(|token| format!("{token:?}")).collect();
            Ok(format!("Encoding({n} ids: [{}{more}])", first.join(", ")))
        })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        entry(|| {
            let py = this.py();
            if let Spelling::Row(batch) = &this.get().spelling {
                return Ok((this.getattr("_of_row")?, (batch,).into_pyobject(py)?));
            }
            let Self { ids, texts, .. } = this.get();
            let (spans, source_texts) = this.get().traces(py)?;
            let second = this.get().second.clone().unwrap_or_default();
            let spelled = this.get().spelled(py)?;
            let trim_widths = this.get().trim_widths(py)?.map(Cow::into_owned);
            let (places, source_texts): (Vec<u64>, Vec<String>) =
                source_texts.iter().map(|(place, text)| (place as u64, text.to_owned())).unzip();
            let state: State<'py> = (
                ids.bind(py).clone().into_any(),
                spans.array(py).into_any(),
                this.get().type_ids(py)?.into_bound(py).into_any(),
                this.get().special_tokens_mask(py)?.into_bound(py).into_any(),
                (second.start, second.end),
                spelled,
                texts.iter().map(|text| text.to_object(py)).collect::<PyResult<_>>()?,
                (arrays::read_only(py, places)?.into_any(), source_texts),
                trim_widths.map(|trim_widths| arrays::trim_widths(py, trim_widths)).transpose()?,
            );
            Ok((this.getattr("_from_state")?, state.into_pyobject(py)?))
        })
    }

    /// Makes an encoding again of the one row of a batch.
    #[staticmethod]
    fn _of_row(py: Python<'_>, batch: Py<PyEncodingBatch>) -> PyResult<Self> {
        entry(|| match batch.get().n_rows(py) {
            1 => Self::of_row(py, batch),
            _ => Err(PyValueError::new_err("a pickled Encoding that is not one row")),
        })
    }

    /// Makes an encoding again from its pickled state.
    #[staticmethod]
    #[pyo3(signature = (*state))]
    fn _from_state(py: Python<'_>, state: &Bound<'_, PyTuple>) -> PyResult<Self> {
        entry(|| {
            let (ids, spans, type_ids, special_mask, (start, end), tokens, texts, source_texts, trim_widths): State<
                '_,
            > = state.extract()?;
            let ids: Vec<TokenId> = numbers(&ids, "uint32")?;
            let spans: Vec<u64> = numbers(&spans, "uint64")?;
            let type_ids: Vec<u32> = numbers(&type_ids, "uint32")?;
            let special_mask: Vec<bool> = numbers(&special_mask, "bool")?;
            let (places, source_texts) = (numbers::<u64>(&source_texts.0, "uint64")?, source_texts.1);
            let trim_widths = trim_widths.map(|state| arrays::trim_widths_of_state(&state)).transpose()?;
            let n = ids.len();
            let sound = [type_ids.len(), special_mask.len(), tokens.len()] == [n; 3]
                && spans.len() == 2 * n
                && start <= end
                && end <= n
                && places.len() == source_texts.len()
                && places.is_sorted()
                && places.last().is_none_or(|&place| place < n as u64)
                && trim_widths.as_ref().is_none_or(|trim_widths| trim_widths.counts.len() == n);
            if !sound {
                return Err(PyValueError::new_err("a pickled Encoding whose parts differ in length"));
            }
            let mut kept = SourceTexts::default();
            for (place, text) in places.into_iter().zip(source_texts) {
                kept.push(place as usize, text.as_bytes())?;
            }
            let spans =
                py.detach(|| memory::collected(spans.chunks_exact(2).map(|span| [span[0], span[1]])))?;
            let encoding = Encoding {
                ids,
                spans: Some(spans),
                type_ids,
                special_mask,
                second: start..end,
                source_texts: kept,
            };
            let texts = texts.iter().map(|text| Text::new(text.bind(py), Errors::Replace));
            let spelling = Spelling::Tokens(tokens.unbind(), trim_widths);
            Self::whole(py, encoding, spelling, texts.collect::<PyResult<_>>()?)
        })
    }
}
