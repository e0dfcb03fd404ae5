//! `Texts`: many texts from any container, as owned references.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyMapping, PyString, PyTuple};

use super::arrow::{Chunks, Column};
use super::document_reader::PyDocumentBatch;
use super::numbers::given;
use super::spans::Source;
use super::text::{Errors, Text, byte_string, collect, text_of_row};
use super::word_counts::PyWordCounts;
use crate::error::Error;
use crate::memory;
use crate::py::gil_slices::GilSlices;
use crate::tokenizer::Input;

/// Many texts.
pub(super) enum Texts {
    /// One object per text.
    Objects(Vec<Text>),
    /// A copy of an Arrow column, or documents of files.
    Column(Arc<Column>),
    /// Several groups of texts in order.
    Several(Vec<Self>),
}

/// Refuses a mapping, such as the rows that `datasets.map` passes: iterating it gives keys, which
/// are not texts.
pub(super) fn refuse_mapping(object: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        return Ok(());
    }
    let Ok(mapping) = object.cast::<PyMapping>() else { return Ok(()) };
    let kind = mapping.get_type().name()?;
    if object.is_instance_of::<PyWordCounts>() {
        return Err(PyTypeError::new_err(format!("{name} is a {kind}; pass counts as counts=")));
    }
    let keys: Vec<String> = mapping.try_iter()?.take(3).map(|key| given(&key?)).collect::<PyResult<_>>()?;
    let first = keys.first().map_or("\"text\"", String::as_str);
    let has = if keys.is_empty() { String::new() } else { format!(" with {}", keys.join(", ")) };
    Err(PyTypeError::new_err(format!(
        "{name} is a {kind}{has}: it is not read, as its keys are not texts; pass the texts of one key, as in \
         {name}[{first}]"
    )))
}

impl Texts {
    /// Takes the texts of a list, iterator, array, series or Arrow column.
    pub fn new(object: &Bound<'_, PyAny>, errors: Errors) -> PyResult<Self> {
        Self::several(object, errors, "")
    }

    /// Takes the texts of a call; `one` is the call for one text, which errors name.
    pub fn several(object: &Bound<'_, PyAny>, errors: Errors, one: &str) -> PyResult<Self> {
        refuse_mapping(object, "texts")?;
        if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
            let or = if one.is_empty() { String::new() } else { format!(", or call {one}") };
            return Err(PyTypeError::new_err(format!("texts is one text; pass a list of texts{or}")));
        }
        if let Ok(batch) = object.cast::<PyDocumentBatch>() {
            return Ok(Self::Column(Arc::clone(&batch.get().column)));
        }
        if let Some(chunks) = Chunks::new(object)? {
            let mut column = Column::default();
            for chunk in chunks {
                let before = column.n_rows() as u64;
                column.extend(&chunk?, before)?;
            }
            return Ok(Self::Column(Arc::new(column)));
        }
        // The reported length of an object is not trusted.
        let mut texts = Vec::new();
        let mut slices = GilSlices::default();
        for (row, item) in object.try_iter()?.enumerate() {
            memory::push(&mut texts, text_of_row(row as u64, &item?, errors)?)?;
            slices.after(object.py(), 1)?;
        }
        Ok(Self::Objects(texts))
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        match self {
            Self::Objects(texts) => texts.len(),
            Self::Column(column) => column.n_rows(),
            Self::Several(parts) => parts.iter().map(Self::len).sum(),
        }
    }

    /// The bytes of each text, marked as UTF-8 if that is known.
    pub fn inputs<'a>(&'a self, py: Python<'a>) -> PyResult<Vec<Input<'a>>> {
        match self {
            Self::Objects(texts) => collect(texts.iter().map(|text| text.input(py))),
            Self::Column(column) => collect(column.inputs().map(Ok)),
            Self::Several(parts) => flat(parts.iter().map(|part| part.inputs(py))),
        }
    }

    /// The text to which spans refer.
    pub fn source<'a>(&'a self, py: Python<'a>, at: usize) -> PyResult<Source<'a>> {
        match self {
            Self::Objects(texts) => texts.get(at).ok_or_else(no_text)?.source(py),
            Self::Column(column) => Ok(Source { text: Input::Bytes(column.row(at)), joined: &[] }),
            Self::Several(parts) => {
                let (part, at) = part_of(parts, at)?;
                part.source(py, at)
            }
        }
    }

    /// A text as a Python object.
    pub fn to_object(&self, py: Python<'_>, at: usize) -> PyResult<Py<PyAny>> {
        match self {
            Self::Objects(texts) => texts.get(at).ok_or_else(no_text)?.to_object(py),
            Self::Column(column) => Ok(byte_string(py, column.row(at))?.into_any().unbind()),
            Self::Several(parts) => {
                let (part, at) = part_of(parts, at)?;
                part.to_object(py, at)
            }
        }
    }
}

/// The group that contains a text, and the index in it.
fn part_of(parts: &[Texts], at: usize) -> PyResult<(&Texts, usize)> {
    let mut at = at;
    for part in parts {
        match at.checked_sub(part.len()) {
            None => return Ok((part, at)),
            Some(after) => at = after,
        }
    }
    Err(no_text())
}

fn no_text() -> PyErr {
    Error::Internal("a text that is not there".to_owned()).into()
}

/// The concatenation of several lists, or the first error.
fn flat<T>(lists: impl Iterator<Item = PyResult<Vec<T>>>) -> PyResult<Vec<T>> {
    let mut all = Vec::new();
    for list in lists {
        for item in list? {
            memory::push(&mut all, item)?;
        }
    }
    Ok(all)
}
