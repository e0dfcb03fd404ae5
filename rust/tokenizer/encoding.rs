//! `Encoding` and `EncodingBatch`: ids as flat arrays.
//!
//! A batch is one array of ids and the places where its rows end: no object a
//! token. Spans are bytes of the original text; [`char_offsets`] counts them in
//! characters. Padding makes a rectangle, filled here.

mod offsets;
mod parts;
mod source_texts;
mod trim;

pub use self::offsets::{OffsetUnit, char_offsets, write_char_offsets};
pub use self::parts::{RowParts, TextPart};
pub use self::trim::{TrimWidths, trim_spans};
pub use crate::tokenizer::encoding::source_texts::SourceTexts;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
pub use crate::token_lengths::Span;
use crate::vocab::TokenId;

/// One text (or a pair) as ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Encoding {
    /// The ids.
    pub ids: Vec<TokenId>,
    /// The span of each id in its own text, if asked for.
    pub spans: Option<Vec<Span>>,
    /// The number of the segment of each id.
    pub type_ids: Vec<u32>,
    /// Whether a template put the id in.
    pub special_mask: Vec<bool>,
    /// Which ids are of the second text of a pair; their spans lie in it.
    pub second: std::ops::Range<usize>,
    /// The source texts, for ids that do not determine them; kept with spans.
    pub source_texts: SourceTexts,
}

impl Encoding {
    /// Appends a part, whose spans are `base` further on.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is not enough.
    pub(super) fn extend(&mut self, part: &Self, base: u64) -> Result<()> {
        self.source_texts.extend(&part.source_texts, self.ids.len())?;
        memory::extend(&mut self.ids, &part.ids)?;
        if let (Some(spans), Some(of_part)) = (&mut self.spans, &part.spans) {
            spans.make_room(of_part.len())?;
            spans.extend(of_part.iter().map(|span| span.map(|at| at + base)));
        }
        memory::extend(&mut self.type_ids, &part.type_ids)?;
        memory::extend(&mut self.special_mask, &part.special_mask)
    }
}

/// Many texts as ids.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodingBatch {
    /// The ids of all rows, one after the other.
    pub ids: Vec<TokenId>,
    /// Where each row starts; one more than there are rows.
    pub row_offsets: Vec<usize>,
    /// The span of each id in its own text, if asked for.
    pub spans: Option<Vec<Span>>,
    /// The source texts, for ids that do not determine them, by place among all ids;
    /// kept with spans where offsets leave out white space.
    pub source_texts: SourceTexts,
}

/// The side of a row that is padded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// Before the ids.
    Left,
    /// After the ids.
    #[default]
    Right,
}

impl EncodingBatch {
    /// A batch without rows.
    pub fn new(with_spans: bool) -> Self {
        let spans = with_spans.then(Vec::new);
        Self { ids: Vec::new(), row_offsets: vec![0], spans, source_texts: SourceTexts::default() }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows().len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows().is_empty()
    }

    /// The places of a row's ids; `None` past the last row.
    pub fn row(&self, row: usize) -> Option<std::ops::Range<usize>> {
        self.rows().row(row)
    }

    /// The rows, borrowed.
    pub fn rows(&self) -> Rows<'_> {
        Rows { ids: &self.ids, row_offsets: &self.row_offsets }
    }

    /// Ends the row that was being filled.
    ///
    /// # Errors
    /// [`Error::Memory`] where there is no memory to note it.
    pub(crate) fn end_row(&mut self) -> Result<()> {
        memory::push(&mut self.row_offsets, self.ids.len())
    }
}

/// Ids in rows, wherever the arrays live; NumPy and Arrow hold offsets as `i64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows<'a, I = usize> {
    /// The ids of all rows, one after the other.
    pub ids: &'a [TokenId],
    /// Where each row starts; one more than there are rows.
    pub row_offsets: &'a [I],
}

impl<'a, I: Copy + TryInto<usize>> Rows<'a, I> {
    /// The ids of each row.
    pub fn iter(&self) -> impl Iterator<Item = &'a [TokenId]> {
        let (ids, row_offsets) = (self.ids, self.row_offsets);
        row_offsets
            .windows(2)
            .map(|row| range(row[0], row[1]).and_then(|row| ids.get(row)).unwrap_or_default())
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.row_offsets.len().saturating_sub(1)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The places of a row's ids; `None` past the last row.
    pub fn row(&self, row: usize) -> Option<std::ops::Range<usize>> {
        range(*self.row_offsets.get(row)?, *self.row_offsets.get(row + 1)?)
    }

    /// The number of columns of a rectangle: `length`, or the longest row, rounded up
    /// to a multiple.
    ///
    /// # Errors
    /// [`Error::Encode`] for a row longer than `length` or a multiple of 0; [`Error::Memory`] for
    /// more cells than there is memory for.
    pub fn columns(&self, length: Option<usize>, multiple_of: Option<usize>) -> Result<usize> {
        let longest = self.iter().map(<[TokenId]>::len).max().unwrap_or(0);
        if let Some(length) = length
            && longest > length
        {
            return Err(Error::Encode(format!(
                "a row has {longest} ids and length is {length}; encode with `max_tokens` {length}, or pad to more"
            )));
        }
        let columns = match multiple_of {
            Some(0) => return Err(Error::Encode("multiple_of is 0; it must be at least 1".into())),
            Some(multiple) => length.unwrap_or(longest).div_ceil(multiple).saturating_mul(multiple),
            None => length.unwrap_or(longest),
        };
        // Checked before the rectangle is made, by libraries that end the process where memory is refused.
        let cells = columns.saturating_mul(self.len());
        match memory::has_room(cells.saturating_mul(size_of::<i64>() + 1)) {
            true => Ok(columns),
            false => Err(memory::missing::<i64>(cells)),
        }
    }

    /// Fills a rectangle of so many `columns` and as many rows as there are with a value for each
    /// id, and with `fill` where there is none. It holds zeros; each cell is written at most once.
    ///
    /// # Errors
    /// [`Error::Encode`] for a row of more ids than there are columns.
    pub fn pad<T: Copy, U: Copy + Default + PartialEq>(
        &self,
        columns: usize,
        side: Side,
        values: &[T],
        fill: U,
        convert: impl Fn(T) -> U,
        cells: &mut [U],
    ) -> Result<()> {
        for (number, cells) in (0..self.len()).zip(cells.chunks_exact_mut(columns.max(1))) {
            let row = values.get(self.row(number).unwrap_or_default()).unwrap_or_default();
            let Some(free) = columns.checked_sub(row.len()) else {
                return Err(Error::Encode(format!(
                    "row {number} has {} ids and there are {columns} columns; Rows::columns says how many it takes",
                    row.len()
                )));
            };
            let start = if side == Side::Left { free } else { 0 };
            let end = start + row.len();
            for (cell, &value) in cells[start..end].iter_mut().zip(row) {
                *cell = convert(value);
            }
            if fill != U::default() {
                cells[..start].fill(fill);
                cells[end..].fill(fill);
            }
        }
        Ok(())
    }
}

fn range<I: TryInto<usize>>(start: I, end: I) -> Option<std::ops::Range<usize>> {
    Some(start.try_into().ok()?..end.try_into().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(rows: &[&[TokenId]]) -> EncodingBatch {
        let mut batch = EncodingBatch::new(false);
        for row in rows {
            batch.ids.extend_from_slice(row);
            batch.end_row().unwrap();
        }
        batch
    }

    #[test]
    fn rectangles() {
        let batch = batch(&[&[1, 2, 3], &[], &[4]]);
        let pad = |columns: usize, side| {
            let (mut ids, mut mask) = (vec![0; 3 * columns], vec![false; 3 * columns]);
            batch.rows().pad(columns, side, &batch.ids, 9, i64::from, &mut ids).unwrap();
            batch.rows().pad(columns, side, &batch.ids, false, |_| true, &mut mask).unwrap();
            assert_eq!(mask.iter().filter(|&&real| real).count(), 4);
            ids
        };
        assert_eq!(batch.rows().columns(None, None).unwrap(), 3);
        assert_eq!(pad(3, Side::Right), [1, 2, 3, 9, 9, 9, 4, 9, 9]);
        assert_eq!(batch.rows().columns(Some(3), Some(2)).unwrap(), 4);
        assert_eq!(pad(4, Side::Left), [9, 1, 2, 3, 9, 9, 9, 9, 9, 9, 9, 4]);
        assert!(batch.rows().columns(Some(2), None).is_err());
        for side in [Side::Left, Side::Right] {
            assert!(batch.rows().pad(2, side, &batch.ids, 9, i64::from, &mut [0; 6]).is_err());
        }
        assert!(batch.rows().columns(None, Some(0)).is_err());
        let most = batch.rows().columns(Some(usize::MAX), None);
        assert!(matches!(most, Err(Error::Memory { .. })), "{most:?}");
    }
}
