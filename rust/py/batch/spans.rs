//! The spans of a batch, and what offsets leave out: made when they are asked for.

use std::borrow::Cow;
use std::sync::Arc;

use numpy::PyArray2;
use pyo3::prelude::*;

use super::{PyEncodingBatch, Sources};
use crate::encoding::{Blanks, OffsetUnit, Rows, Span, Surfaces};
use crate::error::Error;
use crate::py::arrays::{self, KeptSpans};
use crate::py::call::Call;
use crate::py::spans::{Source, Trim};
use crate::tokenizer::{Input, Tokenizer};
use crate::vocab::TokenId;

/// Where spans are.
pub(super) enum Spans {
    /// Here.
    Kept(KeptSpans),
    /// Nowhere: they are sums of the sizes of the tokens of a row, which begins with
    /// so many ids of the template's and ends with so many. Those of rows that do not
    /// add up are found by the call that made the ids.
    Sums { around: [usize; 2], call: Call },
}

/// What says what offsets leave out.
pub(super) enum Trimming {
    /// The tokenizer that made the ids, and the surfaces it found.
    Tokenizer(Arc<Tokenizer>, Surfaces),
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
        let (tokenizer, surfaces) = match &self.trimming {
            Trimming::Blanks(blanks) => return Ok(blanks.as_ref().map(Cow::Borrowed)),
            Trimming::Tokenizer(tokenizer, surfaces) => (tokenizer, surfaces),
        };
        if matches!(self.sources, Sources::None) {
            return Ok(None);
        }
        let blanks = self.with_rows(py, |rows| tokenizer.blanks(rows.ids, surfaces))?;
        Ok(blanks.map(Cow::Owned))
    }

    /// Offsets written at once where they are sums and nothing is left out.
    pub(super) fn summed_offsets<'py>(
        &self,
        py: Python<'py>,
        unit: OffsetUnit,
        trim: Trim<'_>,
    ) -> PyResult<Option<Bound<'py, PyArray2<u64>>>> {
        if matches!(trim, Trim::No) { self.sums_in(py, unit) } else { Ok(None) }
    }

    /// Sums as an array; `None` where spans are no sums.
    fn sums_in<'py>(&self, py: Python<'py>, unit: OffsetUnit) -> PyResult<Option<Bound<'py, PyArray2<u64>>>> {
        let (Spans::Sums { around, call }, Trimming::Tokenizer(tokenizer, _)) = (&self.spans, &self.trimming)
        else {
            return Ok(None);
        };
        let (sources, _) = self.texts(py)?;
        let write = |rows: Rows<'_>, mut cells: &mut [Span]| {
            for (ids, source) in rows.iter().zip(&sources) {
                let (of_row, after) = cells.split_at_mut(ids.len());
                cells = after;
                let counts = unit == OffsetUnit::Bytes || source.joined.is_empty();
                if !counts || !tokenizer.write_sums(ids, source.text, unit, *around, of_row) {
                    let texts = [source.text, Input::Text("")];
                    let (spans, _) = tokenizer.traces(ids, None, texts, call.options(None))?;
                    source.write(&spans, unit, Trim::No, 0, of_row)?;
                }
            }
            Ok(())
        };
        self.with_borrowed_rows(py, |rows| {
            arrays::filled_spans(py, rows.ids.len(), |cells| write(rows, cells)).map(Some)
        })?
    }

    /// How many ids of a row the template put in before the text.
    pub(super) fn n_before(&self, ids: &[TokenId], spans: &[Span]) -> usize {
        let Trimming::Tokenizer(tokenizer, _) = &self.trimming else { return 0 };
        let (before, _) = tokenizer.template().around_single();
        let put_in = ids.starts_with(&before) && spans[..before.len()].iter().all(|span| *span == [0, 0]);
        if put_in { before.len() } else { 0 }
    }
}
