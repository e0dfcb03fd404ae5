//! `PreTokenizer`: named splitters, and custom patterns.

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use super::error::entry;
use super::text::{Errors, Text, string};
use crate::error::{Error, Result};
use crate::memory;
use crate::normalizer::Aligned;
use crate::pipeline::Pipeline;
use crate::pre_tokenizer::{PreTokenizer, SplitPattern};
use crate::py::gil_slices::{GilSlices, list};
use crate::text::pattern::StepBudget;
use crate::tokenizer::encoding::char_offsets;

/// Cuts a text into pieces that no merge may cross.
///
/// Takes a name of `PreTokenizer.names()`, or a `pattern` instead, whose matches are pieces, as are
/// the stretches between them. `\w`, `\b`, `[[:alpha:]]` and `\p{...}` mean the same as in
/// tokenizers. A pattern runs on an engine that takes linear time; look-around, including `\b`,
/// needs `look_around=True` and a backtracking engine. Steps are counted: a text that takes more
/// than its length allows raises an error instead of hanging.
#[pyclass(frozen, module = "sentitok", name = "PreTokenizer")]
pub(super) struct PyPreTokenizer {
    pub pre_tokenizer: PreTokenizer,
}

impl From<PreTokenizer> for PyPreTokenizer {
    fn from(pre_tokenizer: PreTokenizer) -> Self {
        Self { pre_tokenizer }
    }
}

/// Takes a name or a `PreTokenizer`.
pub(super) fn extract(object: &Bound<'_, PyAny>) -> PyResult<PreTokenizer> {
    if let Ok(name) = object.cast::<PyString>() {
        return Ok(PreTokenizer::from_name(name.to_str()?)?);
    }
    match object.cast::<PyPreTokenizer>() {
        Ok(pre_tokenizer) => Ok(pre_tokenizer.get().pre_tokenizer.clone()),
        Err(_) => Err(PyTypeError::new_err(format!(
            "pre_tokenizer is a name or a PreTokenizer, not {}",
            object.get_type().name()?
        ))),
    }
}

impl PyPreTokenizer {
    /// The Python call that creates it.
    fn written(&self) -> String {
        match (&self.pre_tokenizer, self.pre_tokenizer.pattern()) {
            (PreTokenizer::Regex(pattern), Some(text)) if pattern.look_around() => {
                format!("PreTokenizer(pattern={text:?}, look_around=True)")
            }
            (PreTokenizer::Regex(_), Some(text)) => format!("PreTokenizer(pattern={text:?})"),
            _ => format!("PreTokenizer({:?})", self.pre_tokenizer.name()),
        }
    }

    /// The spans of the pieces in the given text.
    fn spans(&self, text: &str) -> Result<Vec<[u64; 2]>> {
        let mut spans = Vec::new();
        let budget = StepBudget::of(text.len());
        self.pre_tokenizer.for_each_stretch(
            text,
            |place| place == 0,
            &budget,
            |step, stretch, at_start| {
                let (base, text) = (stretch.start, &text[stretch]);
                let rewritten = step.rewrite_aligned(text, at_start)?;
                let split = rewritten.as_ref().map_or(text, |aligned| aligned.text.as_str());
                let alignment = rewritten.as_ref().map(Aligned::alignment);
                step.for_each_piece(split, |piece| {
                    let range =
                        alignment.as_ref().map_or(piece.clone(), |alignment| alignment.to_original(piece));
                    memory::push(&mut spans, [(base + range.start) as u64, (base + range.end) as u64])
                })
            },
        )?;
        Ok(spans)
    }
}

#[pymethods]
impl PyPreTokenizer {
    #[new]
    #[pyo3(signature = (name = None, *, pattern = None, look_around = false))]
    fn new(name: Option<&str>, pattern: Option<&str>, look_around: bool) -> PyResult<Self> {
        entry(|| {
            if let (Some(name), Some(_)) = (name, pattern) {
                return Err(Error::Option {
                    option: "pre_tokenizer",
                    value: name.to_owned(),
                    reason: "a pattern is given as well; give one of the two".to_owned(),
                }
                .into());
            }
            let pre_tokenizer = match pattern {
                None => PreTokenizer::from_name(name.unwrap_or("gpt2"))?,
                Some(pattern) if look_around => PreTokenizer::Regex(SplitPattern::new(pattern, look_around)?),
                Some(pattern) => PreTokenizer::from_pattern(pattern)?,
            };
            Ok(Self { pre_tokenizer })
        })
    }

    /// The available names.
    #[staticmethod]
    fn names() -> PyResult<Vec<&'static str>> {
        entry(|| Ok(PreTokenizer::names().collect()))
    }

    /// The name, or `"regex"` for a custom pattern.
    #[getter]
    fn name(&self) -> PyResult<&'static str> {
        entry(|| Ok(self.pre_tokenizer.name()))
    }

    /// The pattern whose matches are the pieces; `None` if no pattern describes them completely.
    #[getter]
    fn pattern(&self) -> PyResult<Option<&str>> {
        entry(|| Ok(self.pre_tokenizer.pattern()))
    }

    /// The start and end of each piece, in characters of the text.
    fn split<'py>(&self, py: Python<'py>, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyList>> {
        entry(|| {
            let text = Text::new(text, Errors::Replace)?;
            let text = text.str(py)?;
            let spans = py.detach(|| -> Result<_> { char_offsets(text.as_bytes(), &self.spans(text)?) })?;
            list(py, spans.into_iter().map(|[start, end]| (start, end)))
        })
    }

    /// The pieces as the model gets them, after rewriting (an inserted space, `▁` for a space). If
    /// a piece ends inside a character, its part of the character is shown as U+FFFD.
    fn pieces<'py>(&self, py: Python<'py>, text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyList>> {
        entry(|| {
            let text = Text::new(text, Errors::Replace)?;
            let text = text.str(py)?;
            let (mut all, mut ends) = (Vec::new(), Vec::new());
            py.detach(|| {
                Pipeline::new(self.pre_tokenizer.clone()).for_each_piece(text, |piece| {
                    memory::extend(&mut all, piece)?;
                    memory::push(&mut ends, all.len())
                })
            })?;
            let (mut slices, mut start) = (GilSlices::default(), 0);
            let pieces = PyList::empty(py);
            for end in ends {
                pieces.append(string(py, &String::from_utf8_lossy(&all[start..end]))?)?;
                slices.after(py, 1)?;
                start = end;
            }
            Ok(pieces)
        })
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        entry(|| {
            let Ok(other) = other.cast::<Self>() else { return Ok(py.NotImplemented()) };
            let same = self.pre_tokenizer == other.get().pre_tokenizer;
            Ok(same.into_pyobject(py)?.to_owned().into_any().unbind())
        })
    }

    fn __hash__(&self) -> PyResult<u64> {
        entry(|| {
            let mut hasher = DefaultHasher::new();
            (self.pre_tokenizer.name(), self.pre_tokenizer.pattern()).hash(&mut hasher);
            Ok(hasher.finish())
        })
    }

    fn __repr__(&self) -> PyResult<String> {
        entry(|| Ok(self.written()))
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        entry(|| {
            let json = serde_json::to_string(&this.get().pre_tokenizer);
            let json = json.map_err(|error| Error::Internal(error.to_string()))?;
            Ok((this.getattr("_from_state")?, (json,).into_pyobject(this.py())?))
        })
    }

    /// Unpickles a pre-tokenizer.
    #[staticmethod]
    fn _from_state(json: &str) -> PyResult<Self> {
        entry(|| {
            let pre_tokenizer = serde_json::from_str(json);
            let pre_tokenizer =
                pre_tokenizer.map_err(|error| Error::format("pre_tokenizer", error.to_string()))?;
            Ok(Self { pre_tokenizer })
        })
    }
}
