//! The offsets of a batch: kept spans, or sums of the sizes of tokens, in the unit asked for.

use std::borrow::Cow;
use std::ops::Range;

use numpy::PyArray2;
use pyo3::prelude::*;

use super::{Maker, PyEncodingBatch};
use crate::error::{Error, Result};
use crate::memory;
use crate::py::arrays::{self, KeptSpans};
use crate::py::spans::{Source, Trim};
use crate::tokenizer::Input;
use crate::tokenizer::encoding::{OffsetUnit, Rows, Span, TrimWidths};

/// Where spans are.
pub(super) enum Spans {
    /// Nowhere: the batch was made without offsets.
    None,
    /// Here.
    Kept(KeptSpans),
    /// Nowhere: they are sums of the sizes of the tokens of a row, each of which is a whole text.
    /// Those of rows that do not add up are found by the call that made the ids.
    ByLength,
}

/// Ids that lie in one text, by their places among all.
struct InText {
    text: usize,
    ids: Range<usize>,
    /// Whether the ids begin a separately given text: not those of a later word of a list.
    begins: bool,
}

impl PyEncodingBatch {
    /// Start and end of each id, unsigned.
    pub(super) fn compute_offsets<'py>(
        &self,
        py: Python<'py>,
        unit: OffsetUnit,
        trim: Option<bool>,
    ) -> PyResult<Bound<'py, PyArray2<u64>>> {
        if self.texts.is_none() {
            let error = "this batch has no offsets; call encode_batch(..., offsets=True)";
            return Err(Error::Encode(error.to_owned()).into());
        }
        let trim_widths = if trim.is_none() { self.trim_widths(py)? } else { None };
        let trim = Trim::new(trim, trim_widths.as_deref());
        if matches!(trim, Trim::No)
            && let Some(array) = self.by_length(py, unit)?
        {
            return Ok(array);
        }
        let kept = self.spans(py)?;
        let places = self.places(py)?;
        let mut sources: Vec<(usize, Source<'_>)> = Vec::new();
        for InText { text, .. } in &places {
            if sources.last().is_none_or(|(last, _)| last != text) {
                memory::push(&mut sources, (*text, self.source(py, *text)?))?;
            }
        }
        if matches!(trim, Trim::No) && sources.iter().all(|(_, source)| source.counts_bytes(unit)) {
            return Ok(kept.array(py));
        }
        kept.with(py, |spans| {
            arrays::filled_spans(py, spans.len(), |cells| {
                let of_text = places.chunk_by(|a, b| a.text == b.text);
                of_text.zip(&sources).try_for_each(|(places, (_, source))| {
                    write_in_text(places, source, spans, unit, trim, cells)
                })
            })
        })?
    }

    /// The ids of each text, the texts ascending.
    fn places(&self, py: Python<'_>) -> PyResult<Vec<InText>> {
        let words = if self.are_words { Some(self.compute_words(py)?) } else { None };
        let words: Option<Vec<i64>> = words
            .map(|words| crate::py::gil_slices::numbers(words.bind(py).as_any(), "int64"))
            .transpose()?;
        let places = self.with_rows(py, |rows| -> Result<_> {
            let mut places = Vec::new();
            for row in 0..rows.len() {
                let ids = rows.row(row).unwrap_or_default();
                for (_, part) in self.parts(row, ids.len()).all().filter(|(_, part)| !part.ids.is_empty()) {
                    let of_part = ids.start + part.ids.start..ids.start + part.ids.end;
                    let Some(words) = &words else {
                        memory::push(
                            &mut places,
                            InText { text: part.texts.start, ids: of_part, begins: true },
                        )?;
                        continue;
                    };
                    let mut at = of_part.start;
                    for word in words[of_part.clone()].chunk_by(|a, b| a == b) {
                        let text = part.texts.start + usize::try_from(word[0]).unwrap_or(0);
                        memory::push(
                            &mut places,
                            InText { text, ids: at..at + word.len(), begins: at == of_part.start },
                        )?;
                        at += word.len();
                    }
                }
            }
            // Stable: the windows of a text stay in order.
            places.sort_by_key(|place| place.text);
            Ok(places)
        })??;
        Ok(places)
    }

    fn source<'a>(&'a self, py: Python<'a>, text: usize) -> PyResult<Source<'a>> {
        match &self.texts {
            Some(texts) => texts.source(py, text),
            None => Ok(Source { text: Input::Text(""), joined: &[] }),
        }
    }

    /// The spans, made where they are not kept; none where the batch has no offsets.
    pub fn spans(&self, py: Python<'_>) -> PyResult<KeptSpans> {
        match &self.spans {
            Spans::None => KeptSpans::new(py, Vec::new()),
            Spans::Kept(spans) => Ok(spans.array(py).into()),
            Spans::ByLength => match self.by_length(py, OffsetUnit::Bytes)? {
                Some(array) => Ok(array.into()),
                None => Err(Error::Internal("sums of tokens that are not known".to_owned()).into()),
            },
        }
    }

    /// The white space that offsets leave out by the file.
    pub(super) fn trim_widths<'a>(&'a self, py: Python<'a>) -> PyResult<Option<Cow<'a, TrimWidths>>> {
        let (tokenizer, source_texts) = match &self.maker {
            Maker::Known(known) => return Ok(known.trim_widths.as_ref().map(Cow::Borrowed)),
            Maker::Tokenizer(tokenizer, _, source_texts) => (tokenizer, source_texts),
        };
        if self.texts.is_none() {
            return Ok(None);
        }
        let trim_widths = self.with_rows(py, |rows| tokenizer.trim_widths(rows.ids, source_texts))?;
        Ok(trim_widths.map(Cow::Owned))
    }

    /// Sums as an array; `None` where spans are not sums.
    fn by_length<'py>(
        &self,
        py: Python<'py>,
        unit: OffsetUnit,
    ) -> PyResult<Option<Bound<'py, PyArray2<u64>>>> {
        let (Spans::ByLength, Maker::Tokenizer(tokenizer, call, _)) = (&self.spans, &self.maker) else {
            return Ok(None);
        };
        let Some(around) = tokenizer.by_length_around(call.add_special_tokens) else { return Ok(None) };
        let mut sources = memory::reserved(self.n_rows(py))?;
        for row in 0..self.n_rows(py) {
            sources.push(self.source(py, self.parts(row, 0).first.texts.start)?);
        }
        let write = |rows: Rows<'_, i64>, mut cells: &mut [Span]| {
            for (ids, source) in rows.iter().zip(&sources) {
                let (of_row, after) = cells.split_at_mut(ids.len());
                cells = after;
                let counts = unit == OffsetUnit::Bytes || source.joined.is_empty();
                if !counts || !tokenizer.write_by_length(ids, source.text, unit, around, of_row) {
                    let texts = [source.text, Input::Text("")];
                    let options = call.options(None);
                    let lens = tokenizer.lens(ids.len(), None, &options);
                    let (spans, _) = tokenizer.traces(ids, lens, false, texts, &options)?;
                    source.write(&spans, unit, Trim::No, (0, true), of_row)?;
                }
            }
            Ok(())
        };
        self.with_borrowed_rows(py, |rows| {
            arrays::filled_spans(py, rows.ids.len(), |cells| write(rows, cells)).map(Some)
        })?
    }
}

/// Writes the offsets of all ids of a text: it is read once, however many windows it has.
fn write_in_text(
    places: &[InText],
    source: &Source<'_>,
    spans: &[Span],
    unit: OffsetUnit,
    trim: Trim<'_>,
    cells: &mut [Span],
) -> Result<()> {
    if let [only] = places {
        let ids = only.ids.clone();
        return source.write(&spans[ids.clone()], unit, trim, (ids.start, only.begins), &mut cells[ids]);
    }
    if let (Trim::AsFile(_), OffsetUnit::Bytes) = (trim, unit) {
        return places.iter().try_for_each(|place| {
            let ids = place.ids.clone();
            source.write(&spans[ids.clone()], unit, trim, (ids.start, place.begins), &mut cells[ids])
        });
    }
    let mut of_text = Vec::new();
    for place in places {
        memory::extend(&mut of_text, &spans[place.ids.clone()])?;
    }
    let mut offsets = memory::filled(of_text.len(), [0, 0])?;
    let whole = if let Trim::AsFile(_) = trim { Trim::No } else { trim };
    source.write(&of_text, unit, whole, (0, true), &mut offsets)?;
    let mut done = 0;
    for place in places {
        let cells = &mut cells[place.ids.clone()];
        cells.copy_from_slice(&offsets[done..done + place.ids.len()]);
        if let Trim::AsFile(trim_widths) = trim {
            trim_widths.trim_chars(place.ids.start, place.begins, cells);
        }
        done += place.ids.len();
    }
    Ok(())
}
