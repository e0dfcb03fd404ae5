//! The spans of a batch, and what offsets leave out: made when they are asked for.

use std::borrow::Cow;
use std::sync::Arc;

use numpy::PyArray2;
use pyo3::prelude::*;

use super::{PyEncodingBatch, Sources};
use crate::encoding::{Blanks, Rows, Span};
use crate::error::Error;
use crate::py::arrays;
use crate::py::spans::{OffsetUnit, Source};
use crate::template::TrimOffsets;
use crate::tokenizer::Tokenizer;
use crate::vocab::TokenId;

/// Where spans are.
pub(super) enum Spans {
    /// Here.
    Kept(Vec<Span>),
    /// Nowhere: they are sums of the lengths of the tokens of a row, which begins with
    /// so many ids of the template's and ends with so many.
    Sums { around: [usize; 2] },
}

/// What says what offsets leave out.
pub(super) enum Trimming {
    /// The tokenizer that made the ids.
    Tokenizer(Arc<Tokenizer>),
    /// What it said: a batch that was pickled.
    Blanks(Option<Blanks>),
}

impl PyEncodingBatch {
    /// The spans, made where they are not kept.
    pub(super) fn spans<'a>(&'a self, py: Python<'a>) -> PyResult<Cow<'a, [Span]>> {
        match (&self.spans, &self.trimming) {
            (Spans::Kept(spans), _) => Ok(Cow::Borrowed(spans)),
            (Spans::Sums { around }, Trimming::Tokenizer(tokenizer)) => {
                let around = *around;
                self.with_rows(py, |rows| {
                    let mut spans = vec![[0, 0]; rows.ids.len()];
                    tokenizer.fill_sums(rows, around, spans.as_flattened_mut());
                    Cow::Owned(spans)
                })
            }
            (Spans::Sums { .. }, Trimming::Blanks(_)) => {
                Err(Error::Internal("sums of tokens that are not known".to_owned()).into())
            }
        }
    }

    /// The texts that spans lie in, and whether there is one for all rows.
    pub(super) fn texts<'a>(&'a self, py: Python<'a>) -> PyResult<(Vec<Source<'a>>, bool)> {
        let (texts, one) = match &self.sources {
            Sources::None => return Ok((Vec::new(), false)),
            Sources::Rows(texts) => (texts, false),
            Sources::One(texts) => (texts, true),
        };
        let source = |(row, text): (usize, &'a [u8])| Source { text, joined: texts.joined(row) };
        Ok((texts.slices(py)?.into_iter().enumerate().map(source).collect(), one))
    }

    /// What offsets leave out by the file.
    pub(super) fn blanks<'a>(&'a self, py: Python<'a>, all: &[Span]) -> PyResult<Option<Cow<'a, Blanks>>> {
        let tokenizer = match &self.trimming {
            Trimming::Blanks(blanks) => return Ok(blanks.as_ref().map(Cow::Borrowed)),
            Trimming::Tokenizer(_) if all.is_empty() => return Ok(None),
            Trimming::Tokenizer(tokenizer) => tokenizer,
        };
        let (texts, one) = self.texts(py)?;
        let blanks = self.with_rows(py, |rows| {
            let mut row = 0;
            tokenizer.blanks(rows.ids, |at| {
                while rows.row_offsets.get(row + 1).is_some_and(|&end| end as usize <= at) {
                    row += 1;
                }
                if !tokenizer.shows_surface(rows.ids[at]) {
                    return None;
                }
                let [start, end] = all[at];
                let text = texts.get(if one { 0 } else { row })?.text;
                Some(String::from_utf8_lossy(text.get(start as usize..end as usize)?))
            })
        })?;
        Ok(blanks.map(Cow::Owned))
    }

    /// Offsets written at once where they are sums as they stand: in bytes, or in
    /// characters of one byte, with nothing left out.
    pub(super) fn summed_offsets<'py>(
        &self,
        py: Python<'py>,
        unit: OffsetUnit,
        trim: Option<bool>,
    ) -> PyResult<Option<Bound<'py, PyArray2<u64>>>> {
        let (Spans::Sums { around }, Trimming::Tokenizer(tokenizer)) = (&self.spans, &self.trimming) else {
            return Ok(None);
        };
        let trims = match trim {
            Some(trims) => trims,
            None => tokenizer.template().trim_offsets != TrimOffsets::No,
        };
        let is_plain = |text: &Source<'_>| unit == OffsetUnit::Bytes || text.text.is_ascii();
        if trims || !self.texts(py)?.0.iter().all(is_plain) {
            return Ok(None);
        }
        let (ids, row_offsets) = self.borrowed(py)?;
        let rows = Rows { ids: ids.as_slice()?, row_offsets: row_offsets.as_slice()? };
        let fill = |cells: &mut [u64]| tokenizer.fill_sums(rows, *around, cells);
        Ok(Some(arrays::filled_spans(py, rows.ids.len(), fill)?))
    }

    /// How many ids of a row the template put in before the text.
    pub(super) fn n_before(&self, ids: &[TokenId], spans: &[Span]) -> usize {
        let Trimming::Tokenizer(tokenizer) = &self.trimming else { return 0 };
        let (before, _) = tokenizer.template().around_single();
        let put_in = ids.starts_with(&before) && spans[..before.len()].iter().all(|span| *span == [0, 0]);
        if put_in { before.len() } else { 0 }
    }
}
