//! A batch in a pickle: whole without its tokenizer, with the texts of its rows only.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::{Known, Maker, Parts, PyEncodingBatch, Spans};
use crate::memory;
use crate::py::arrays::{self, KeptSpans};
use crate::py::gil_slices::numbers;
use crate::py::padding::{PadToken, Padding};
use crate::py::text::Errors;
use crate::py::texts::Texts;
use crate::tokenizer::encoding::{RowParts, Rows, Side, SourceTexts, Span, TextPart};
use crate::vocab::TokenId;

/// Numbers of a row: of each text the places of its ids, of its texts, and the ids before; the
/// first place of the second is -1 where there is none.
const N_OF_ROW: usize = 10;
/// Numbers of a text that its row repeats: the row, 0 or 1 for the text, and as above.
const N_OF_EARLIER: usize = 7;

/// All that a pickled batch is: arrays of ids (ids, row offsets, spans, type ids, special mask),
/// texts (`None`: none kept), rows (parts, source rows, words, whether texts are words, parts of texts
/// that the row repeats), padding (its id, or the token that is none; whether it is on the
/// left), tokens by id, places and texts of source texts, the white space that offsets leave out.
pub(super) type State<'py> = (
    [Bound<'py, PyAny>; 5],
    Option<Vec<Py<PyAny>>>,
    (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>, bool, Bound<'py, PyAny>),
    (Option<TokenId>, String, bool),
    HashMap<TokenId, String>,
    (Bound<'py, PyAny>, Vec<String>),
    Option<(bool, Bound<'py, PyAny>)>,
);

impl PyEncodingBatch {
    /// The pickled state.
    pub(super) fn to_state<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        let (type_ids, special_mask) = self.marks(py)?;
        let spans = self.spans(py)?.array(py).into_any();
        let (ids, row_offsets) = (self.ids.bind(py), self.row_offsets.bind(py));
        let arrays = [
            ids.clone().into_any(),
            row_offsets.clone().into_any(),
            spans,
            type_ids.into_bound(py).into_any(),
            special_mask.into_bound(py).into_any(),
        ];
        let lens: Vec<usize> = self.with_borrowed_rows(py, |rows| rows.iter().map(<[_]>::len).collect())?;
        let parts: Vec<RowParts> =
            lens.iter().enumerate().map(|(row, &n)| self.parts(row, n).into_owned()).collect();
        // Of a slice the texts of other rows stay behind.
        let used: BTreeSet<usize> =
            parts.iter().flat_map(|row| row.iter().flat_map(|part| part.texts.clone())).collect();
        let places: HashMap<usize, usize> = used.iter().copied().zip(0..).collect();
        // A row of no words has no first one.
        let moved = |texts: &Range<usize>| {
            let start = places.get(&texts.start).copied().unwrap_or(0);
            start..start + texts.len()
        };
        let numbers_of = |part: &TextPart| {
            let TextPart { ids, before, .. } = part;
            let texts = moved(&part.texts);
            [ids.start, ids.end, texts.start, texts.end, *before].map(|n| n as i64)
        };
        let texts = match &self.texts {
            None => None,
            Some(texts) => {
                Some(used.iter().map(|&at| texts.to_object(py, at)).collect::<PyResult<Vec<_>>>()?)
            }
        };
        let mut flat: Vec<i64> = memory::reserved(parts.len() * N_OF_ROW)?;
        for row in &parts {
            let [first, second] = [Some(&row.first), row.second.as_ref()]
                .map(|part| part.map_or([-1; N_OF_ROW / 2], numbers_of));
            flat.extend(first.iter().chain(&second));
        }
        let mut earlier: Vec<i64> = Vec::new();
        for (number, row) in parts.iter().enumerate() {
            for (text, part) in &row.earlier {
                let place = [number as i64, *text as i64];
                place.into_iter().chain(numbers_of(part)).try_for_each(|n| memory::push(&mut earlier, n))?;
            }
        }
        let distinct: BTreeSet<TokenId> =
            self.with_borrowed_rows(py, |rows| rows.ids.iter().copied().collect())?;
        let tokens = distinct.into_iter().map(|id| (id, self.token(id))).collect();
        let (places, source_texts): (Vec<u64>, Vec<String>) =
            self.surfaces().iter().map(|(place, text)| (place as u64, text.to_owned())).unzip();
        let trim_widths = self
            .trim_widths(py)?
            .map(|trim_widths| arrays::trim_widths(py, trim_widths.into_owned()))
            .transpose()?;
        let source_rows = match &self.source_rows {
            Some(rows) => Some(arrays::read_only(py, rows.clone())?.into_any()),
            None => None,
        };
        let words = self.words.get(py).map(|words| words.bind(py).clone().into_any());
        let is_left = self.padding.side == Side::Left;
        Ok((
            arrays,
            texts,
            (
                arrays::read_only(py, flat)?.into_any(),
                source_rows,
                words,
                self.are_words,
                arrays::read_only(py, earlier)?.into_any(),
            ),
            match &self.padding.id {
                PadToken::Id(id) => (Some(*id), String::new(), is_left),
                PadToken::Missing(token) => (None, token.clone(), is_left),
            },
            tokens,
            (arrays::read_only(py, places)?.into_any(), source_texts),
            trim_widths,
        ))
    }

    /// A batch from its pickled state.
    pub(super) fn of_state(py: Python<'_>, state: State<'_>) -> PyResult<Self> {
        let unsound = || PyValueError::new_err("a pickled EncodingBatch whose parts do not fit");
        let (arrays, texts, rows, (pad_id, pad_token, is_left), tokens, source_texts, trim_widths) = state;
        let (parts, source_rows, words, are_words, earlier) = rows;
        let [ids, row_offsets, spans, type_ids, special_mask] = arrays;
        let ids: Vec<TokenId> = numbers(&ids, "uint32")?;
        let row_offsets: Vec<i64> = numbers(&row_offsets, "int64")?;
        let spans: Vec<u64> = numbers(&spans, "uint64")?;
        let spans: Vec<Span> = memory::collected(spans.chunks_exact(2).map(|span| [span[0], span[1]]))?;
        let type_ids: Vec<u32> = numbers(&type_ids, "uint32")?;
        let special_mask: Vec<bool> = numbers(&special_mask, "bool")?;
        let parts: Vec<i64> = numbers(&parts, "int64")?;
        let earlier: Vec<i64> = numbers(&earlier, "int64")?;
        let source_rows: Option<Vec<i64>> = source_rows.map(|rows| numbers(&rows, "int64")).transpose()?;
        let words: Option<Vec<i64>> = words.map(|words| numbers(&words, "int64")).transpose()?;
        let (places, source_texts) = (numbers::<u64>(&source_texts.0, "uint64")?, source_texts.1);
        let trim_widths = trim_widths.map(|state| arrays::trim_widths_of_state(&state)).transpose()?;
        let (n_ids, n_texts) = (ids.len(), texts.as_ref().map(Vec::len));
        let rows = Rows { ids: &ids, row_offsets: &row_offsets };
        let sound = row_offsets.first() == Some(&0)
            && row_offsets.is_sorted()
            && row_offsets.last() == Some(&(n_ids as i64))
            && spans.len() == if n_texts.is_some() { n_ids } else { 0 }
            && [type_ids.len(), special_mask.len()] == [n_ids; 2]
            && parts.len() == rows.len() * N_OF_ROW
            && earlier.len().is_multiple_of(N_OF_EARLIER)
            && source_rows.as_ref().is_none_or(|sources| sources.len() == rows.len())
            && words.as_ref().map_or(!are_words, |words| words.len() == n_ids)
            && places.len() == source_texts.len()
            && places.is_sorted()
            && places.last().is_none_or(|&place| place < n_ids as u64)
            && trim_widths.as_ref().is_none_or(|trim_widths| trim_widths.counts.len() == n_ids);
        if !sound {
            return Err(unsound());
        }
        // Each word is one of the texts of its part.
        let in_texts = |ids: Range<usize>, texts: &Range<usize>| {
            let words = words.as_ref().filter(|_| are_words).map_or(&[][..], |words| &words[ids]);
            words.iter().all(|&word| usize::try_from(word).is_ok_and(|word| word < texts.len()))
        };
        let part = |numbers: &[i64], of_row: Range<usize>| -> Option<TextPart> {
            let mut numbers = numbers.iter().map(|&n| usize::try_from(n).ok());
            let mut next = || numbers.next().flatten();
            let (ids, texts) = (next()?..next()?, next()?..next()?);
            let sound = ids.start <= ids.end
                && ids.end <= of_row.len()
                && texts.start <= texts.end
                && n_texts.is_none_or(|n| texts.end <= n && (are_words || ids.is_empty() || texts.start < n))
                && in_texts(of_row.start + ids.start..of_row.start + ids.end, &texts);
            sound.then_some(TextPart { ids, texts, before: next()? })
        };
        let mut each = memory::reserved(rows.len())?;
        for (numbers, row) in parts.chunks_exact(N_OF_ROW).zip(0..rows.len()) {
            let of_row = rows.row(row).unwrap_or_default();
            let part = |numbers| part(numbers, of_row.clone());
            let (first, second) = numbers.split_at(N_OF_ROW / 2);
            let first = part(first).ok_or_else(unsound)?;
            let second = match second.first() {
                Some(-1) => None,
                _ => Some(part(second).ok_or_else(unsound)?),
            };
            each.push(RowParts { first, second, earlier: Vec::new() });
        }
        for numbers in earlier.chunks_exact(N_OF_EARLIER) {
            let row = usize::try_from(numbers[0]).ok().filter(|row| *row < each.len()).ok_or_else(unsound)?;
            let text = usize::try_from(numbers[1]).ok().filter(|text| *text < 2).ok_or_else(unsound)?;
            let part = part(&numbers[2..], rows.row(row).unwrap_or_default()).ok_or_else(unsound)?;
            memory::push(&mut each[row].earlier, (text, part))?;
        }
        let mut kept = SourceTexts::default();
        for (place, text) in places.into_iter().zip(source_texts) {
            kept.push(place as usize, text.as_bytes())?;
        }
        let texts =
            texts.map(|texts| Texts::new(texts.into_pyobject(py)?.as_any(), Errors::Replace)).transpose()?;
        let spans = if texts.is_some() { Spans::Kept(KeptSpans::new(py, spans)?) } else { Spans::None };
        let known_words = PyOnceLock::new();
        if let Some(words) = words {
            let _ = known_words.set(py, arrays::read_only(py, words)?.unbind());
        }
        Ok(Self {
            ids: arrays::read_only(py, ids)?.unbind(),
            row_offsets: arrays::read_only(py, row_offsets)?.unbind(),
            spans,
            texts: texts.map(Arc::new),
            parts: Parts::Each(each),
            source_rows,
            are_words,
            maker: Maker::Known(Box::new(Known {
                tokens: Arc::new(tokens),
                source_texts: kept,
                trim_widths,
                type_ids: arrays::whole_numbers(py, type_ids)?.unbind(),
                special_mask: arrays::read_only(py, special_mask)?.unbind(),
            })),
            padding: Padding {
                id: pad_id.map_or(PadToken::Missing(pad_token), PadToken::Id),
                side: if is_left { Side::Left } else { Side::Right },
            },
            words: known_words,
        })
    }
}
