//! Spans as Python asks for them: in bytes or characters, whole or trimmed.

use std::borrow::Cow;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::{Result, shown};
use crate::memory;
use crate::tokenizer::Input;
use crate::tokenizer::encoding::{OffsetUnit, Span, TrimWidths, trim_spans, write_char_offsets};

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

/// The white space that offsets leave out.
#[derive(Clone, Copy)]
pub(super) enum Trim<'a> {
    /// Nothing.
    No,
    /// The blanks around a token.
    Blanks,
    /// The white space that the file's post-processor leaves out.
    AsFile(&'a TrimWidths),
}

impl<'a> Trim<'a> {
    /// The choice of a call, or else that of the file.
    pub fn new(asked: Option<bool>, file: Option<&'a TrimWidths>) -> Self {
        match (asked, file) {
            (Some(true), _) => Self::Blanks,
            (None, Some(trim_widths)) => Self::AsFile(trim_widths),
            (Some(false), _) | (None, None) => Self::No,
        }
    }
}

/// A text that spans lie in, and its characters that are two in Python.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub text: Input<'a>,
    pub joined: &'a [u64],
}

impl Source<'_> {
    /// Whether offsets are spans in bytes, without conversion.
    pub fn counts_bytes(&self, unit: OffsetUnit) -> bool {
        unit == OffsetUnit::Bytes || self.joined.is_empty() && self.text.bytes().is_ascii()
    }

    /// Writes spans in the unit asked for, of the ids `first..`. `begins` says whether they
    /// begin a text, or a list of words.
    pub fn write(
        &self,
        spans: &[Span],
        unit: OffsetUnit,
        trim: Trim<'_>,
        (first, begins): (usize, bool),
        offsets: &mut [Span],
    ) -> Result<()> {
        let text = self.text.bytes();
        let mut trimmed = Vec::new();
        if matches!(trim, Trim::Blanks) {
            memory::extend(&mut trimmed, spans)?;
            trim_spans(text, &mut trimmed);
        }
        let spans = if matches!(trim, Trim::Blanks) { &trimmed } else { spans };
        if unit == OffsetUnit::Bytes {
            offsets.copy_from_slice(spans);
            if let Trim::AsFile(trim_widths) = trim {
                trim_widths.trim_bytes(first, begins, text, offsets)?;
            }
            return Ok(());
        }
        write_char_offsets(text, spans, offsets)?;
        for (offset, &[start, end]) in offsets.iter_mut().zip(spans).filter(|_| !self.joined.is_empty()) {
            // The character of a pair has four bytes. Of a span that ends inside one, the end counts both.
            let before = |place: u64| self.joined.partition_point(|&at| at + 4 <= place) as u64;
            offset[0] += before(start);
            offset[1] += if start == end { before(start) } else { before(end + 3) };
        }
        if let Trim::AsFile(trim_widths) = trim {
            trim_widths.trim_chars(first, begins, offsets);
        }
        Ok(())
    }
}
