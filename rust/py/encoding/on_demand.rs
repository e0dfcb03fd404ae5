//! The parts of an encoding in addition to its ids, made when they are asked for.

use std::borrow::Cow;

use hashbrown::HashMap;
use numpy::{PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use super::{PyEncoding, Spelling};
use crate::error::{Error, Result};
use crate::memory;
use crate::py::arrays::{self, KeptSpans};
use crate::py::gil_slices::{GilSlices, list};
use crate::py::progress::off;
use crate::py::spans::Trim;
use crate::py::text::string;
use crate::tokenizer::encoding::{OffsetUnit, SourceTexts, TrimWidths};
use crate::tokenizer::template::TrimOffsets;
use crate::vocab::TokenId;

impl PyEncoding {
    /// The spans and source texts. Threads that ask at once each make them, and one's are
    /// kept: nobody waits for another, whom a fork may have left behind.
    pub(super) fn traces<'a>(&'a self, py: Python<'a>) -> PyResult<&'a (KeptSpans, SourceTexts)> {
        if self.traces.get(py).is_none() {
            let _ = self.traces.set(py, self.compute_traces(py)?);
        }
        self.traces.get(py).ok_or_else(|| Error::Internal("an encoding lost its spans".to_owned()).into())
    }

    /// Start and end of each id, unsigned; of an encoding that is not a row.
    pub(super) fn compute_offsets<'py>(
        &self,
        py: Python<'py>,
        unit: OffsetUnit,
        trim: Option<bool>,
    ) -> PyResult<Bound<'py, PyArray2<u64>>> {
        let trim_widths = if trim.is_none() { self.trim_widths(py)? } else { None };
        let trim = Trim::new(trim, trim_widths.as_deref());
        if let Some(array) = self.offsets_by_length(py, unit, trim)? {
            return Ok(array);
        }
        let (kept, _) = self.traces(py)?;
        let [first, of_second] = self.sources(py)?;
        let second = self.second.clone().unwrap_or_default();
        let as_they_stand = first.counts_bytes(unit) && (second.is_empty() || of_second.counts_bytes(unit));
        if matches!(trim, Trim::No) && as_they_stand {
            return Ok(kept.array(py));
        }
        let from = self.n_before(py)?;
        kept.with(py, |spans| {
            arrays::filled_spans(py, spans.len(), |cells| {
                cells[..from].copy_from_slice(&spans[..from]);
                first.write(&spans[from..], unit, trim, (from, true), &mut cells[from..])?;
                of_second.write(&spans[second.clone()], unit, trim, (second.start, true), &mut cells[second])
            })
        })?
    }

    /// The source texts, for ids that do not determine them.
    pub(super) fn surfaces_found<'a>(&'a self, py: Python<'a>) -> PyResult<Cow<'a, SourceTexts>> {
        match &self.spelling {
            Spelling::Row(batch) => Ok(Cow::Owned(batch.get().surfaces_of_row(py)?)),
            _ => Ok(Cow::Borrowed(&self.traces(py)?.1)),
        }
    }

    /// Whether spans and source texts are another's, as far as both are kept.
    pub(super) fn same_traces(&self, py: Python<'_>, other: &Self) -> PyResult<bool> {
        let spans = |encoding: &Self| match &encoding.spelling {
            Spelling::Row(batch) => batch.get().spans(py),
            _ => Ok(encoding.traces(py)?.0.array(py).into()),
        };
        let (ours, theirs): (KeptSpans, KeptSpans) = (spans(self)?, spans(other)?);
        let are_kept = |spans: &KeptSpans| spans.array(py).len().map(|n| n == self.n_ids);
        let is_row = |encoding: &Self| matches!(encoding.spelling, Spelling::Row(_));
        let same_spans = !are_kept(&ours)? || !are_kept(&theirs)? || ours.equal(py, &theirs)?;
        Ok(same_spans && (is_row(self) || is_row(other) || self.traces(py)?.1 == other.traces(py)?.1))
    }

    fn compute_traces(&self, py: Python<'_>) -> PyResult<(KeptSpans, SourceTexts)> {
        let (Spelling::Tokenizer(tokenizer), Some(call)) = (&self.spelling, &self.call) else {
            return Err(Error::Internal("an encoding without its call".to_owned()).into());
        };
        let ids = self.ids.bind(py).try_readonly()?;
        let ids = ids.as_slice()?;
        let texts = self.sources(py)?.map(|source| source.text);
        let (n_bytes, second) = (texts.iter().map(|text| text.len()).sum(), self.second.as_ref());
        let (spans, source_texts) = off(py, n_bytes, |stop| {
            let options = call.options(stop);
            let lens = tokenizer.lens(ids.len(), second, &options);
            tokenizer.traces(ids, lens, second.is_some(), texts, &options)
        })?;
        Ok((KeptSpans::new(py, spans)?, source_texts))
    }

    /// Offsets written at once where they are sums and nothing is left out.
    pub(super) fn offsets_by_length<'py>(
        &self,
        py: Python<'py>,
        unit: OffsetUnit,
        trim: Trim<'_>,
    ) -> PyResult<Option<Bound<'py, PyArray2<u64>>>> {
        let (Spelling::Tokenizer(tokenizer), Some(call), None, Trim::No) =
            (&self.spelling, &self.call, &self.second, trim)
        else {
            return Ok(None);
        };
        let Some(around) = tokenizer.by_length_around(call.add_special_tokens) else { return Ok(None) };
        let [source, _] = self.sources(py)?;
        if unit == OffsetUnit::Chars && !source.joined.is_empty() {
            return Ok(None);
        }
        let ids = self.ids.bind(py).try_readonly()?;
        let ids = ids.as_slice()?;
        let mut are_by_length = false;
        let array = arrays::filled_spans(py, ids.len(), |cells| {
            are_by_length = tokenizer.write_by_length(ids, source.text, unit, around, cells);
            Ok(())
        })?;
        Ok(are_by_length.then_some(array))
    }

    /// How many ids the template put in front of the first text.
    pub(super) fn n_before(&self, py: Python<'_>) -> PyResult<usize> {
        let mask = self.special_tokens_mask(py)?;
        let mask = mask.bind(py).try_readonly()?;
        Ok(mask.as_slice()?.iter().take_while(|special| **special).count())
    }

    /// Type ids and special mask.
    pub(super) fn marks(&self, py: Python<'_>) -> PyResult<(Vec<u32>, Vec<bool>)> {
        let (Spelling::Tokenizer(tokenizer), Some(call)) = (&self.spelling, &self.call) else {
            return Err(Error::Internal("an encoding without its call".to_owned()).into());
        };
        let (second, options) = (self.second.as_ref(), call.options(None));
        let lens = tokenizer.lens(self.n_ids, second, &options);
        Ok(py.detach(|| tokenizer.marks(lens, second.is_some(), &options))?)
    }

    /// The tokens, each spelling one object however often it occurs.
    pub(super) fn spelled<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let tokenizer = match &self.spelling {
            Spelling::Tokens(tokens, _) => {
                let tokens = tokens.bind(py);
                return Ok(tokens.get_slice(0, tokens.len()));
            }
            Spelling::Tokenizer(tokenizer) => tokenizer,
            Spelling::Row(batch) => {
                let ids = self.ids.bind(py).try_readonly()?;
                return list(py, ids.as_slice()?.iter().map(|&id| batch.get().token(id)));
            }
        };
        let ids = self.ids.bind(py).try_readonly()?;
        let ids = ids.as_slice()?;
        let (places, distinct) = py.detach(|| -> Result<_> {
            let mut known = HashMap::new();
            let mut distinct: Vec<TokenId> = Vec::new();
            let mut place_of = |id: TokenId| {
                *known.entry(id).or_insert_with(|| {
                    distinct.push(id);
                    distinct.len() as u32 - 1
                })
            };
            let places: Vec<u32> = memory::collected(ids.iter().map(|&id| place_of(id)))?;
            let spell = |id| tokenizer.id_to_token(id).unwrap_or_default();
            Ok((places, distinct.into_iter().map(spell).collect::<Vec<String>>()))
        })?;
        let mut spelled: Vec<Bound<'py, PyString>> = Vec::with_capacity(distinct.len());
        let mut slices = GilSlices::default();
        for token in distinct {
            spelled.push(string(py, &token)?);
            slices.after(py, 1)?;
        }
        list(py, places.into_iter().map(|place| spelled[place as usize].clone()))
    }

    /// The white space that offsets leave out by the file.
    pub(super) fn trim_widths<'a>(&'a self, py: Python<'a>) -> PyResult<Option<Cow<'a, TrimWidths>>> {
        let tokenizer = match &self.spelling {
            Spelling::Tokens(_, trim_widths) => return Ok(trim_widths.as_ref().map(Cow::Borrowed)),
            Spelling::Tokenizer(tokenizer) => tokenizer,
            Spelling::Row(_) => return Ok(None),
        };
        if tokenizer.template().trim_offsets == TrimOffsets::No {
            return Ok(None);
        }
        let (_, source_texts) = self.traces(py)?;
        let ids = self.ids.bind(py).try_readonly()?;
        let ids = ids.as_slice()?;
        Ok(py.detach(|| tokenizer.trim_widths(ids, source_texts)).map(Cow::Owned))
    }
}
