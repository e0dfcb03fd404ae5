//! `GivenRows`: the rows of a call, from a list of texts, a list of pairs, two lists, or lists of
//! words.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

use super::text::{Errors, Text, text_of_row};
use super::texts::{Texts, refuse_mapping};
use crate::memory;
use crate::py::gil_slices::GilSlices;
use crate::tokenizer::encoding::Side;
use crate::tokenizer::{TextRow, TruncationStrategy};

impl<'py> FromPyObject<'_, 'py> for TruncationStrategy {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyString>().ok().and_then(|name| name.to_str().ok().map(str::to_owned)).as_deref()
        {
            Some("longest_first") => Ok(Self::LongestFirst),
            Some("only_first") => Ok(Self::OnlyFirst),
            Some("only_second") => Ok(Self::OnlySecond),
            _ => {
                let found = object.repr()?.to_string();
                let found = crate::error::shown(&found);
                Err(PyValueError::new_err(format!(
                    "truncation={found}: it is 'longest_first', 'only_first' or 'only_second'; the size is max_tokens"
                )))
            }
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Side {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<PyString>().ok().and_then(|name| name.to_str().ok().map(str::to_owned)).as_deref()
        {
            Some("right") => Ok(Self::Right),
            Some("left") => Ok(Self::Left),
            _ => {
                let found = object.repr()?.to_string();
                let found = crate::error::shown(&found);
                Err(PyValueError::new_err(format!("truncation_side={found}: it is 'right' or 'left'")))
            }
        }
    }
}

/// The texts of a call, and how they form rows.
pub(super) struct GivenRows {
    pub texts: Texts,
    /// `None`: each text is a row.
    pub rows: Option<Vec<TextRow>>,
    /// Whether the texts are words.
    pub are_words: bool,
}

impl GivenRows {
    /// Takes texts, each of which may be a tuple of two, and the second texts of pairs; or lists of
    /// words. `one` is the call for one text.
    pub fn new(
        texts: &Bound<'_, PyAny>,
        pairs: Option<&Bound<'_, PyAny>>,
        are_words: bool,
        errors: Errors,
        one: &str,
    ) -> PyResult<Self> {
        if are_words {
            return Self::words(texts, pairs, errors);
        }
        if let Some(pairs) = pairs {
            let texts = Texts::several(texts, errors, one)?;
            let pairs = Texts::new(pairs, errors).map_err(|error| noted(pairs.py(), error, "in pairs"))?;
            let n = check_lengths(texts.len(), pairs.len())?;
            let row = |at: usize| TextRow { first: at..at + 1, second: Some(n + at..n + at + 1) };
            let rows = Some(memory::collected((0..n).map(row))?);
            return Ok(Self { texts: Texts::Several(vec![texts, pairs]), rows, are_words });
        }
        if texts.is_instance_of::<PyString>()
            || texts.is_instance_of::<PyBytes>()
            || texts.hasattr("__arrow_c_stream__")?
            || texts.hasattr("__arrow_c_array__")?
        {
            return Ok(Self { texts: Texts::several(texts, errors, one)?, rows: None, are_words });
        }
        refuse_mapping(texts, "texts")?;
        let (mut all, mut rows, mut has_pairs) = (Vec::new(), Vec::new(), false);
        let mut slices = GilSlices::default();
        for (number, item) in texts.try_iter()?.enumerate() {
            let item = item?;
            let start = all.len();
            if let Ok(pair) = item.cast::<PyTuple>() {
                if pair.len() != 2 {
                    return Err(PyTypeError::new_err(format!(
                        "row {number} is a tuple of {}; a pair is a tuple of two texts, and words that are split \
                         already need is_split_into_words=True",
                        pair.len()
                    )));
                }
                if !has_pairs {
                    // All earlier rows were single texts.
                    memory::extend(&mut rows, &memory::collected((0..start).map(single))?)?;
                    has_pairs = true;
                }
                for text in pair.iter() {
                    memory::push(&mut all, text_of_row(number as u64, &text, errors)?)?;
                }
                memory::push(
                    &mut rows,
                    TextRow { first: start..start + 1, second: Some(start + 1..start + 2) },
                )?;
            } else {
                memory::push(&mut all, text_of_row(number as u64, &item, errors)?)?;
                if has_pairs {
                    memory::push(&mut rows, single(start))?;
                }
            }
            slices.after(texts.py(), 1)?;
        }
        Ok(Self { texts: Texts::Objects(all), rows: has_pairs.then_some(rows), are_words })
    }

    /// Takes one text, or a pair; `several` says what to call for several texts.
    pub fn one(
        text: &Bound<'_, PyAny>,
        pair: Option<&Bound<'_, PyAny>>,
        errors: Errors,
        several: &str,
    ) -> PyResult<Self> {
        let mut texts = vec![Text::one(text, errors, several)?];
        if let Some(pair) = pair {
            texts.push(Text::one(pair, errors, several)?);
        }
        let rows = Some(vec![TextRow { first: 0..1, second: pair.map(|_| 1..2) }]);
        Ok(Self { texts: Texts::Objects(texts), rows, are_words: false })
    }

    /// The rows, also if each text is a row.
    pub fn all(&self) -> PyResult<Vec<TextRow>> {
        match &self.rows {
            Some(rows) => Ok(rows.clone()),
            None => Ok(memory::collected((0..self.texts.len()).map(single))?),
        }
    }

    /// Takes rows of words.
    fn words(texts: &Bound<'_, PyAny>, pairs: Option<&Bound<'_, PyAny>>, errors: Errors) -> PyResult<Self> {
        let mut all = Vec::new();
        let mut take = |side: &Bound<'_, PyAny>, name: &str| -> PyResult<Vec<std::ops::Range<usize>>> {
            refuse_mapping(side, name)?;
            let mut ranges = Vec::new();
            for (number, row) in side.try_iter()?.enumerate() {
                let row = row?;
                if row.is_instance_of::<PyString>() || row.is_instance_of::<PyBytes>() {
                    return Err(PyTypeError::new_err(format!(
                        "row {number} of {name} is one text; with is_split_into_words=True a row is a list of words"
                    )));
                }
                let start = all.len();
                for word in row.try_iter()? {
                    memory::push(&mut all, text_of_row(number as u64, &word?, errors)?)?;
                }
                memory::push(&mut ranges, start..all.len())?;
            }
            Ok(ranges)
        };
        let first = take(texts, "texts")?;
        let second = pairs.map(|pairs| take(pairs, "pairs")).transpose()?;
        if let Some(second) = &second {
            check_lengths(first.len(), second.len())?;
        }
        let second = |number: usize| second.as_ref().map(|ranges| ranges[number].clone());
        let row = |(number, first)| TextRow { first, second: second(number) };
        let rows = Some(memory::collected(first.into_iter().enumerate().map(row))?);
        Ok(Self { texts: Texts::Objects(all), rows, are_words: true })
    }
}

fn single(at: usize) -> TextRow {
    TextRow { first: at..at + 1, second: None }
}

fn noted(py: Python<'_>, error: PyErr, note: &str) -> PyErr {
    let _ = error.add_note(py, note);
    error
}

fn check_lengths(texts: usize, pairs: usize) -> PyResult<usize> {
    if texts == pairs {
        return Ok(texts);
    }
    Err(PyValueError::new_err(format!(
        "{texts} texts and {pairs} pairs; each text has one, the second of its row"
    )))
}
