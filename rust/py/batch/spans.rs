//! The spans of a batch, and what offsets leave out: made when they are asked for.

use std::borrow::Cow;
use std::sync::Arc;

use numpy::PyArray2;
use pyo3::prelude::*;

use super::{PyEncodingBatch, Sources};
use crate::encoding::{Blanks, OffsetUnit, Span};
use crate::error::Error;
use crate::py::arrays::{self, KeptSpans};
use crate::py::spans::{Source, Trim};
use crate::template::TrimOffsets;
use crate::tokenizer::Tokenizer;
use crate::vocab::TokenId;

/// Where spans are.
pub(super) enum Spans {
    /// Here.
    Kept(KeptSpans),
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
    pub(super) fn spans(&self, py: Python<'_>) -> PyResult<KeptSpans> {
        match &self.spans {
            Spans::Kept(spans) => Ok(spans.array(py).into()),
            Spans::Sums { .. } => match self.sums_in(py, OffsetUnit::Bytes)? {
                Some(array) => Ok(array.into()),
                None => Err(Error::Internal("sums of tokens that are not known".to_owned()).into()),
            },
        }
    }

    /// The texts that spans lie in, and whether there is one for all rows.
    pub(super) fn texts<'a>(&'a self, py: Python<'a>) -> PyResult<(Vec<Source<'a>>, bool)> {
        match &self.sources {
            Sources::None => Ok((Vec::new(), false)),
            Sources::Rows(texts) => Ok((texts.sources(py)?, false)),
            Sources::One(texts) => Ok((texts.sources(py)?, true)),
        }
    }

    /// What offsets leave out by the file.
    pub(super) fn blanks<'a>(&'a self, py: Python<'a>) -> PyResult<Option<Cow<'a, Blanks>>> {
        let tokenizer = match &self.trimming {
            Trimming::Blanks(blanks) => return Ok(blanks.as_ref().map(Cow::Borrowed)),
            Trimming::Tokenizer(tokenizer) => tokenizer,
        };
        let is_without = matches!(self.sources, Sources::None);
        if is_without || tokenizer.template().trim_offsets == TrimOffsets::No {
            return Ok(None);
        }
        let (texts, one) = self.texts(py)?;
        let blanks = self.spans(py)?.with(py, |all| {
            self.with_rows(py, |rows| {
                let mut row = 0;
                tokenizer.blanks(rows.ids, |at| {
                    while rows.row_offsets.get(row + 1).is_some_and(|&end| end as usize <= at) {
                        row += 1;
                    }
                    if !tokenizer.shows_surface(rows.ids[at]) {
                        return None;
                    }
                    let [start, end] = all[at];
                    let text = texts.get(if one { 0 } else { row })?.text.bytes();
                    Some(String::from_utf8_lossy(text.get(start as usize..end as usize)?))
                })
            })
        })??;
        Ok(blanks.map(Cow::Owned))
    }

    /// Offsets written at once where they are sums and nothing is left out.
    pub(super) fn summed_offsets<'py>(
        &self,
        py: Python<'py>,
        unit: OffsetUnit,
        trim: Trim<'_>,
    ) -> PyResult<Option<Bound<'py, PyArray2<u64>>>> {
        let are_sums = matches!((&self.spans, trim), (Spans::Sums { .. }, Trim::No));
        if !are_sums || !self.texts(py)?.0.iter().all(|text| text.counts_chars(unit)) {
            return Ok(None);
        }
        self.sums_in(py, unit)
    }

    /// Sums as an array; `None` where spans are no sums.
    fn sums_in<'py>(&self, py: Python<'py>, unit: OffsetUnit) -> PyResult<Option<Bound<'py, PyArray2<u64>>>> {
        let (Spans::Sums { around }, Trimming::Tokenizer(tokenizer)) = (&self.spans, &self.trimming) else {
            return Ok(None);
        };
        let Some(sums) = tokenizer.sums(unit) else { return Ok(None) };
        self.with_borrowed_rows(py, |rows| {
            arrays::filled_spans(py, rows.ids.len(), |cells| sums.fill(rows, *around, cells)).map(Some)
        })?
    }

    /// How many ids of a row the template put in before the text.
    pub(super) fn n_before(&self, ids: &[TokenId], spans: &[Span]) -> usize {
        let Trimming::Tokenizer(tokenizer) = &self.trimming else { return 0 };
        let (before, _) = tokenizer.template().around_single();
        let put_in = ids.starts_with(&before) && spans[..before.len()].iter().all(|span| *span == [0, 0]);
        if put_in { before.len() } else { 0 }
    }
}
