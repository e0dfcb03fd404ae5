//! Spans as Python asks for them: in bytes or characters, whole or trimmed.

use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::encoding::{Blanks, Span, char_offsets, trim_spans};
use crate::error::shown;

/// In what offsets count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OffsetUnit {
    Bytes,
    Chars,
}

impl<'py> FromPyObject<'_, 'py> for OffsetUnit {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match &*object.extract::<Cow<'_, str>>()? {
            "bytes" => Ok(Self::Bytes),
            "chars" => Ok(Self::Chars),
            other => {
                let other = shown(other);
                Err(PyValueError::new_err(format!("unit={other:?}: it is 'chars' or 'bytes'")))
            }
        }
    }
}

/// What is left out of offsets.
#[derive(Clone, Copy)]
pub(super) enum Trim<'a> {
    /// Nothing.
    No,
    /// The blanks around a token.
    Blanks,
    /// What the file's post-processor leaves out.
    AsFile(&'a Blanks),
}

impl<'a> Trim<'a> {
    /// What a call asks for, or else the file.
    pub fn new(asked: Option<bool>, file: Option<&'a Blanks>) -> Self {
        match (asked, file) {
            (Some(true), _) => Self::Blanks,
            (None, Some(blanks)) => Self::AsFile(blanks),
            (Some(false), _) | (None, None) => Self::No,
        }
    }
}

/// A text of which spans tell, and its characters that are two in Python.
#[derive(Clone, Copy, Default)]
pub(super) struct Source<'a> {
    pub text: &'a [u8],
    pub joined: &'a [u64],
}

impl Source<'_> {
    /// Spans in the unit asked for, of the ids `first..`.
    pub fn in_unit(&self, mut spans: Vec<Span>, unit: OffsetUnit, trim: Trim<'_>, first: usize) -> Vec<Span> {
        if matches!(trim, Trim::Blanks) {
            trim_spans(self.text, &mut spans);
        }
        if unit == OffsetUnit::Bytes {
            if let Trim::AsFile(blanks) = trim {
                blanks.trim_bytes(first, self.text, &mut spans);
            }
            return spans;
        }
        let mut offsets = char_offsets(self.text, &spans);
        for (offset, [start, end]) in offsets.iter_mut().zip(spans).filter(|_| !self.joined.is_empty()) {
            // The character of a pair has four bytes.
            let before = |place: u64| self.joined.partition_point(|&at| at + 4 <= place) as u64;
            offset[0] += before(start);
            offset[1] += if start == end { before(start) } else { before(end + 3) };
        }
        if let Trim::AsFile(blanks) = trim {
            blanks.trim_chars(first, &mut offsets);
        }
        offsets
    }
}
