//! `Tokenizer`: the class, and encoding. Each method converts its arguments, calls the crate
//! without the interpreter, and wraps the result.

mod call_defaults;
mod decode;
mod encode_more;
mod files;
mod hugging_face;
mod pretrained;
mod segmentations;
mod vocabulary;

use std::sync::{Arc, OnceLock};

use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

pub(super) use self::decode::text;
use super::added_token::Part;
use super::arrays;
use super::batch::PyEncodingBatch;
use super::call::{Call, OwnedSpecials};
use super::encoding::{PyEncoding, Spelling};
use super::error::entry;
use super::numbers::{Limit, MaxTokens, Seed, Size, Stride, Threads};
use super::padding::Padding;
use super::progress::off;
use super::report::PyTrainReport;
use super::rows::GivenRows;
use super::text::{Errors, Text, collect};
use super::texts::Texts;
use crate::py::foreign_kwargs;
use crate::tokenizer::encoding::Side;
use crate::tokenizer::template::TrimOffsets;
use crate::tokenizer::{Segment, Tokenizer, Truncation, TruncationStrategy};

/// What to call where `encode` is given several texts.
const SEVERAL: &str = "a pair is encode(text, pair), several texts encode_batch(texts)";
/// What to call where `windows` is given several texts.
const SEVERAL_WINDOWS: &str = "several texts are windows_batch(texts, size)";

/// Converts text to ids and ids to text. Immutable: can be used in threads, after a fork, and in
/// sets.
#[pyclass(frozen, module = "sentitok", name = "Tokenizer", weakref)]
pub(super) struct PyTokenizer {
    pub tokenizer: Arc<Tokenizer>,
    report: Option<Py<PyTrainReport>>,
    /// A `sentitok.Settings`: the contents of a folder in addition to tokenizer.json.
    settings: Option<Py<PyAny>>,
    pub padding: Padding,
    fingerprint: OnceLock<String>,
}

impl From<Tokenizer> for PyTokenizer {
    fn from(tokenizer: Tokenizer) -> Self {
        Self::new(Arc::new(tokenizer), None)
    }
}

impl PyTokenizer {
    pub fn new(tokenizer: Arc<Tokenizer>, report: Option<Py<PyTrainReport>>) -> Self {
        let padding = Padding::of(&tokenizer);
        Self { tokenizer, report, settings: None, padding, fingerprint: OnceLock::new() }
    }

    fn hash(&self, py: Python<'_>) -> PyResult<&str> {
        if let Some(hash) = self.fingerprint.get() {
            return Ok(hash);
        }
        let hash = py.detach(|| self.tokenizer.fingerprint())?;
        Ok(self.fingerprint.get_or_init(|| hash))
    }

    fn one(&self, py: Python<'_>, text: Text, call: Call) -> PyResult<PyEncoding> {
        let input = text.input(py)?;
        let ids = off(py, input.len(), |stop| self.tokenizer.encode_ids(input, &call.options(stop)))?;
        PyEncoding::new(py, ids, None, self.tokenizer.clone(), vec![text], call)
    }

    /// The ids of rows.
    fn rows(
        &self,
        py: Python<'_>,
        given: GivenRows,
        truncation: &Truncation,
        keeps_texts: bool,
        call: Call,
    ) -> PyResult<PyEncodingBatch> {
        let rows = given.all()?;
        let inputs = given.texts.inputs(py)?;
        let n_bytes = inputs.iter().map(|text| text.len()).sum();
        let joined = off(py, n_bytes, |stop| {
            self.tokenizer.encode_rows(&inputs, &rows, given.are_words, truncation, call.options(stop))
        })?;
        drop(inputs);
        let texts = keeps_texts.then_some(given.texts);
        PyEncodingBatch::joined(py, joined, texts, call, self)
    }

    fn pair(&self, py: Python<'_>, texts: [Text; 2], call: Call) -> PyResult<PyEncoding> {
        let (first, second) = (texts[0].input(py)?, texts[1].input(py)?);
        let n_bytes = first.len() + second.len();
        let (ids, second) =
            off(py, n_bytes, |stop| self.tokenizer.encode_pair_ids([first, second], &call.options(stop)))?;
        PyEncoding::new(py, ids, Some(second), self.tokenizer.clone(), texts.into(), call)
    }
}

#[pymethods]
impl PyTokenizer {
    /// Refused, because a tokenizer is read or trained.
    #[new]
    #[pyo3(signature = (*_given, **_others))]
    fn refuse_new(_given: &Bound<'_, PyTuple>, _others: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Err(PyTypeError::new_err(
            "a tokenizer is read by Tokenizer.from_file(path), Tokenizer.from_pretrained(folder) or \
             sentitok.get_encoding(name), or trained by sentitok.train_bpe(...)",
        ))
    }

    /// Encodes a text, or a pair of texts.
    ///
    /// `add_special_tokens` adds the special tokens of the template. `specials` says which special
    /// tokens in the text are encoded as such: `"none"`, `"all"`, a set, or `"raise"`. Ids after
    /// `max_tokens` are cut off. `errors="replace"` joins surrogate pairs, replaces a lone
    /// surrogate by U+FFFD, and encodes bytes that are not UTF-8 as they are; `"strict"` raises.
    /// `seed` is the seed of dropout. `truncation` says which text of a pair is cut:
    /// `"longest_first"`, `"only_first"` or `"only_second"`; `truncation_side="left"` cuts at the
    /// beginning of a text and keeps its last ids. With `is_split_into_words` a text is a list of
    /// words.
    #[pyo3(signature = (text, pair = None, *, add_special_tokens = true, specials = OwnedSpecials::None, max_tokens = None, truncation = TruncationStrategy::LongestFirst, truncation_side = Side::Right, is_split_into_words = false, errors = Errors::Replace, seed = Seed(0), **others))]
    #[pyo3(
        text_signature = "($self, text, pair=None, *, add_special_tokens=True, specials='none', max_tokens=None, truncation='longest_first', truncation_side='right', is_split_into_words=False, errors='replace', seed=0)"
    )]
    #[allow(clippy::too_many_arguments, reason = "2026-11: each is a keyword in Python")]
    fn encode(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        pair: Option<&Bound<'_, PyAny>>,
        add_special_tokens: bool,
        specials: OwnedSpecials,
        max_tokens: Option<MaxTokens>,
        truncation: TruncationStrategy,
        truncation_side: Side,
        is_split_into_words: bool,
        errors: Errors,
        seed: Seed,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyEncoding> {
        entry(|| {
            foreign_kwargs::refuse("Tokenizer.encode", foreign_kwargs::ENCODE, None, others)?;
            let max_tokens = max_tokens.map(MaxTokens::get);
            let call = Call { max_tokens, seed: seed.get(), ..Call::new(add_special_tokens, specials) };
            let is_cut_left = max_tokens.is_some() && truncation_side == Side::Left;
            let is_plain = self.tokenizer.template().is_plain();
            if is_split_into_words
                || truncation != TruncationStrategy::LongestFirst
                || is_cut_left
                || !is_plain
            {
                let given = if is_split_into_words {
                    let pairs = pair.map(|pair| PyList::new(py, [pair])).transpose()?;
                    let pairs = pairs.as_ref().map(Bound::as_any);
                    GivenRows::new(PyList::new(py, [text])?.as_any(), pairs, true, errors, "encode(text)")?
                } else {
                    GivenRows::one(text, pair, errors, SEVERAL)?
                };
                let call = Call { spans: true, ..call };
                let truncation = Truncation { strategy: truncation, stride: None, side: truncation_side };
                let batch = self.rows(py, given, &truncation, true, call)?;
                return PyEncoding::of_row(py, Py::new(py, batch)?);
            }
            let text = Text::one(text, errors, SEVERAL)?;
            match pair {
                None => self.one(py, text, call),
                Some(pair) => self.pair(py, [text, Text::one(pair, errors, SEVERAL)?], call),
            }
        })
    }

    /// Encodes many texts: a list, an iterator, an array, a series, an Arrow column. `threads`
    /// defaults to all; `offsets=True` keeps the texts, so that the batch can map ids to spans. A
    /// tuple of two texts is a pair; alternatively `pairs` contains the second texts. All other
    /// arguments are as in `encode`.
    #[pyo3(signature = (texts, pairs = None, *, threads = None, add_special_tokens = true, specials = OwnedSpecials::None, max_tokens = None, truncation = TruncationStrategy::LongestFirst, truncation_side = Side::Right, is_split_into_words = false, errors = Errors::Replace, offsets = false, seed = Seed(0), **others))]
    #[pyo3(
        text_signature = "($self, texts, pairs=None, *, threads=None, add_special_tokens=True, specials='none', max_tokens=None, truncation='longest_first', truncation_side='right', is_split_into_words=False, errors='replace', offsets=False, seed=0)"
    )]
    #[allow(clippy::too_many_arguments, reason = "2026-11: each is a keyword in Python")]
    fn encode_batch(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        pairs: Option<&Bound<'_, PyAny>>,
        threads: Option<Threads>,
        add_special_tokens: bool,
        specials: OwnedSpecials,
        max_tokens: Option<MaxTokens>,
        truncation: TruncationStrategy,
        truncation_side: Side,
        is_split_into_words: bool,
        errors: Errors,
        offsets: bool,
        seed: Seed,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyEncodingBatch> {
        entry(|| {
            foreign_kwargs::refuse("Tokenizer.encode_batch", foreign_kwargs::ENCODE, None, others)?;
            let (threads, max_tokens) = (threads.map(Threads::get), max_tokens.map(MaxTokens::get));
            let call =
                Call { max_tokens, seed: seed.get(), threads, ..Call::new(add_special_tokens, specials) };
            let given = GivenRows::new(texts, pairs, is_split_into_words, errors, "encode(text)")?;
            let is_cut_left = max_tokens.is_some() && truncation_side == Side::Left;
            let holds_text_once = self.tokenizer.template().holds_text_once();
            if given.rows.is_some()
                || truncation != TruncationStrategy::LongestFirst
                || is_cut_left
                || !holds_text_once
            {
                let call = Call { spans: offsets, ..call };
                let truncation = Truncation { strategy: truncation, stride: None, side: truncation_side };
                return self.rows(py, given, &truncation, offsets, call);
            }
            // If the file trims offsets, the source texts are needed, which are found with spans.
            let is_whole = self.tokenizer.template().trim_offsets == TrimOffsets::No;
            let are_by_length =
                offsets && is_whole && self.tokenizer.by_length_around(add_special_tokens).is_some();
            let call = Call { spans: offsets && !are_by_length, ..call };
            let inputs = given.texts.inputs(py)?;
            let n_bytes = inputs.iter().map(|text| text.len()).sum();
            let batch = off(py, n_bytes, |stop| self.tokenizer.encode_batch(&inputs, call.options(stop)))?;
            drop(inputs);
            let texts = offsets.then_some(given.texts);
            PyEncodingBatch::whole(py, batch, are_by_length, texts, call, self)
        })
    }

    /// Cuts long texts, or pairs, into windows of `size` ids, including special tokens; each window
    /// repeats the last `stride` ids of the previous one. For a pair `truncation` says which text
    /// is cut: with `"only_second"` each window contains the whole first text.
    /// `truncation_side="left"` begins with the window at the end. `source_rows` of the batch says
    /// which text each row is a window of. All other arguments are as in `encode_batch`.
    #[pyo3(signature = (texts, size, stride = Stride(0), pairs = None, *, threads = None, add_special_tokens = true, specials = OwnedSpecials::None, truncation = TruncationStrategy::LongestFirst, truncation_side = Side::Right, is_split_into_words = false, errors = Errors::Replace, seed = Seed(0), **others))]
    #[pyo3(
        text_signature = "($self, texts, size, stride=0, pairs=None, *, threads=None, add_special_tokens=True, specials='none', truncation='longest_first', truncation_side='right', is_split_into_words=False, errors='replace', seed=0)"
    )]
    #[allow(clippy::too_many_arguments, reason = "2026-11: each is a keyword in Python")]
    fn windows_batch(
        &self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        size: Size,
        stride: Stride,
        pairs: Option<&Bound<'_, PyAny>>,
        threads: Option<Threads>,
        add_special_tokens: bool,
        specials: OwnedSpecials,
        truncation: TruncationStrategy,
        truncation_side: Side,
        is_split_into_words: bool,
        errors: Errors,
        seed: Seed,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyEncodingBatch> {
        entry(|| {
            foreign_kwargs::refuse("Tokenizer.windows_batch", foreign_kwargs::ENCODE, None, others)?;
            let (max_tokens, stride) = (Some(size.get()), Some(stride.get()));
            let threads = threads.map(Threads::get);
            let call =
                Call { max_tokens, seed: seed.get(), threads, ..Call::new(add_special_tokens, specials) };
            let one = "windows(text, size)";
            let given = GivenRows::new(texts, pairs, is_split_into_words, errors, one)?;
            let call = Call { spans: true, ..call };
            self.rows(
                py,
                given,
                &Truncation { strategy: truncation, stride, side: truncation_side },
                true,
                call,
            )
        })
    }

    /// Encodes a sequence of segments: texts, in which nothing is special, and `Special` tokens.
    /// Offsets refer to the joined segments, including the texts of special tokens.
    #[pyo3(signature = (segments, *, errors = Errors::Replace))]
    #[pyo3(text_signature = "($self, segments, *, errors='replace')")]
    fn encode_segments(
        &self,
        py: Python<'_>,
        segments: &Bound<'_, PyAny>,
        errors: Errors,
    ) -> PyResult<PyEncoding> {
        entry(|| {
            if segments.is_instance_of::<PyString>() {
                return Err(PyTypeError::new_err(
                    "segments is one text; pass a list of segments, or call encode",
                ));
            }
            let parts: Vec<Part> = collect(segments.try_iter()?.map(|part| Part::new(&part?, errors)))?;
            let segments: Vec<Segment<'_>> = collect(parts.iter().map(|part| part.segment(py)))?;
            let n_bytes = segments.iter().map(|segment| segment.bytes().len()).sum();
            let joined = PyBytes::new_with(py, n_bytes, |mut rest| {
                for segment in &segments {
                    let (place, after) = rest.split_at_mut(segment.bytes().len());
                    place.copy_from_slice(segment.bytes());
                    rest = after;
                }
                Ok(())
            })?;
            let encoding = off(py, n_bytes, |stop| self.tokenizer.encode_segments(&segments, stop))?;
            let spelling = Spelling::Tokenizer(self.tokenizer.clone());
            PyEncoding::whole(py, encoding, spelling, vec![Text::Bytes(joined.unbind())])
        })
    }

    /// Cuts a long text into windows of `size` ids, including special tokens; each window repeats
    /// the last `stride` ids of the previous one. `truncation_side="left"` begins with the window
    /// at the end.
    #[pyo3(signature = (text, size, stride = Stride(0), *, add_special_tokens = true, specials = OwnedSpecials::None, truncation_side = Side::Right, errors = Errors::Replace))]
    #[pyo3(
        text_signature = "($self, text, size, stride=0, *, add_special_tokens=True, specials='none', truncation_side='right', errors='replace')"
    )]
    #[allow(clippy::too_many_arguments, reason = "2026-11: each is a keyword in Python")]
    fn windows(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        size: Size,
        stride: Stride,
        add_special_tokens: bool,
        specials: OwnedSpecials,
        truncation_side: Side,
        errors: Errors,
    ) -> PyResult<PyEncodingBatch> {
        entry(|| {
            let (size, stride) = (size.get(), stride.get());
            let call = Call::new(add_special_tokens, specials);
            if truncation_side == Side::Left || !self.tokenizer.template().holds_text_once() {
                let given = GivenRows::one(text, None, errors, SEVERAL_WINDOWS)?;
                let truncation =
                    Truncation { stride: Some(stride), side: truncation_side, ..Truncation::default() };
                let call = Call { max_tokens: Some(size), spans: true, ..call };
                return self.rows(py, given, &truncation, true, call);
            }
            let text = Text::one(text, errors, SEVERAL_WINDOWS)?;
            let input = text.input(py)?;
            let batch =
                off(py, input.len(), |stop| self.tokenizer.windows(input, size, stride, call.options(stop)))?;
            let around = if add_special_tokens { self.tokenizer.template().n_special(false) } else { 0 };
            let step = size.saturating_sub(stride + around);
            PyEncodingBatch::windows(py, batch, step, Texts::Objects(vec![text]), call, self)
        })
    }

    /// The number of ids that `encode` would return.
    #[pyo3(signature = (text, *, add_special_tokens = true, specials = OwnedSpecials::None, errors = Errors::Replace))]
    #[pyo3(text_signature = "($self, text, *, add_special_tokens=True, specials='none', errors='replace')")]
    fn count(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        add_special_tokens: bool,
        specials: OwnedSpecials,
        errors: Errors,
    ) -> PyResult<usize> {
        entry(|| {
            let call = Call::new(add_special_tokens, specials);
            let text = Text::one(text, errors, "several texts are count_batch(texts)")?;
            let input = text.input(py)?;
            off(py, input.len(), |stop| self.tokenizer.count(input, call.options(stop)))
        })
    }

    /// The number of ids of each text, as an array of int64.
    #[pyo3(signature = (texts, *, threads = None, add_special_tokens = true, specials = OwnedSpecials::None, errors = Errors::Replace))]
    #[pyo3(
        text_signature = "($self, texts, *, threads=None, add_special_tokens=True, specials='none', errors='replace')"
    )]
    fn count_batch<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        threads: Option<Threads>,
        add_special_tokens: bool,
        specials: OwnedSpecials,
        errors: Errors,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        entry(|| {
            let threads = threads.map(Threads::get);
            let call = Call { threads, ..Call::new(add_special_tokens, specials) };
            let texts = Texts::several(texts, errors, "count(text)")?;
            let inputs = texts.inputs(py)?;
            let n_bytes = inputs.iter().map(|text| text.len()).sum();
            let counts = off(py, n_bytes, |stop| self.tokenizer.count_batch(&inputs, call.options(stop)))?;
            arrays::read_only(py, counts.into_iter().map(|count| count as i64).collect())
        })
    }

    /// Whether a text has at most `limit` ids. Stops reading when it has more.
    #[pyo3(signature = (text, limit, *, add_special_tokens = true, specials = OwnedSpecials::None, errors = Errors::Replace))]
    #[pyo3(
        text_signature = "($self, text, limit, *, add_special_tokens=True, specials='none', errors='replace')"
    )]
    fn fits(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        limit: Limit,
        add_special_tokens: bool,
        specials: OwnedSpecials,
        errors: Errors,
    ) -> PyResult<bool> {
        entry(|| {
            let limit = limit.get();
            let call = Call::new(add_special_tokens, specials);
            let text = Text::one(text, errors, "of several texts compare count_batch(texts)")?;
            let input = text.input(py)?;
            off(py, input.len(), |stop| self.tokenizer.fits(input, limit, call.options(stop)))
        })
    }
}
