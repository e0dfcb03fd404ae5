//! Rows of one or two texts, whole or in words: encoded like a batch, shortened together, put
//! into the template, and cut into windows where they are too long.
//!
//! All texts are encoded as a batch without the template first; ids are then copied once. How
//! they are shortened is in [`Truncation`]. One pair alone is `Tokenizer::encode_pair`, which is
//! what this is held against.

use std::ops::Range;

use super::input::Input;
use super::sink::{Arrays, Sink};
use super::spans::Spans;
use super::{EncodeOptions, Tokenizer};
use crate::error::{Error, Result};
use crate::memory;
use crate::progress::Progress;
use crate::tokenizer::encoding::{EncodingBatch, RowParts, Span, TextPart};
use crate::tokenizer::template::Part;
use crate::tokenizer::truncation::{Cut, Truncation};

/// A row to encode, by the places of its texts among those of the call: one each, or as many as
/// there are words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRow {
    /// The first text.
    pub first: Range<usize>,
    /// The second text, of a pair.
    pub second: Option<Range<usize>>,
}

/// Encoded rows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodedRows {
    /// The ids; more rows than there were where windows were asked for.
    pub batch: EncodingBatch,
    /// The parts of each row.
    pub parts: Vec<RowParts>,
    /// The row that each row is a window of.
    pub source_rows: Vec<i64>,
    /// The number of the word of each id, -1 for those of the template, where texts are words.
    pub words: Option<Vec<i64>>,
}

impl Tokenizer {
    /// Encodes rows, of texts or of words. `max_tokens` is the size of a row, template included.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_batch`]; [`Error::Encode`] naming the row that cannot be shortened, or
    /// that names texts which are not there.
    pub fn encode_rows(
        &self,
        texts: &[Input<'_>],
        rows: &[TextRow],
        are_words: bool,
        truncation: &Truncation,
        options: EncodeOptions<'_>,
    ) -> Result<EncodedRows> {
        for (number, row) in rows.iter().enumerate() {
            let wrong = |range: &&Range<usize>| range.start > range.end || range.end > texts.len();
            if let Some(range) = [Some(&row.first), row.second.as_ref()].into_iter().flatten().find(wrong) {
                return Err(Error::Encode(format!(
                    "row {number} is of the texts {} to {}, and there are {}",
                    range.start,
                    range.end,
                    texts.len()
                )));
            }
        }
        let bare = EncodeOptions { add_special_tokens: false, max_tokens: None, ..options };
        let bare = self.bare_batch(texts, bare, &mut Progress::silent())?;
        self.join_rows(&bare, rows, are_words, truncation, options)
    }

    /// Cuts a long text into windows of `size` ids, template included, each
    /// beginning `size - template - stride` ids after the one before: `stride`
    /// is the overlap, as in Hugging Face's truncation.
    ///
    /// # Errors
    /// [`Error::Encode`] when `stride` leaves no step; [`Error::Memory`] where there
    /// is not enough for all windows; else as [`Tokenizer::encode`].
    pub fn windows<'t>(
        &self,
        text: impl Into<Input<'t>>,
        size: usize,
        stride: usize,
        options: EncodeOptions<'_>,
    ) -> Result<EncodingBatch> {
        let text = text.into();
        if !self.template.holds_text_once() {
            let truncation = Truncation { stride: Some(stride), ..Truncation::default() };
            let options = EncodeOptions { max_tokens: Some(size), spans: true, ..options };
            let row = TextRow { first: 0..1, second: None };
            return Ok(self.encode_rows(&[text], &[row], false, &truncation, options)?.batch);
        }
        let (before, after) =
            if options.add_special_tokens { self.template.around_single() } else { Default::default() };
        let taken = stride.saturating_add(before.len() + after.len());
        let step = size.checked_sub(taken).filter(|&step| step > 0);
        let Some(step) = step else {
            return Err(Error::Encode(format!(
                "windows of {size} ids with {} special tokens and an overlap of {stride} leave no step; \
                 ask for a larger size or a smaller stride",
                before.len() + after.len()
            )));
        };
        let mut sink = Spans::new(true);
        self.encode_text(text, None, &options, &mut sink)?;
        let Arrays { ids, spans, source_texts } = sink.into_arrays();
        let around: Vec<Span> = vec![[0, 0]; before.len().max(after.len())];
        let room = step + stride;
        let mut batch = EncodingBatch::new(true);
        let mut start = 0;
        loop {
            let end = (start + room).min(ids.len());
            for (place, text) in source_texts.within(start..end) {
                batch.source_texts.push(batch.ids.len() + before.len() + place - start, text.as_bytes())?;
            }
            for (row_ids, row_spans) in [
                (&before[..], &around[..before.len()]),
                (&ids[start..end], &spans[start..end]),
                (&after[..], &around[..after.len()]),
            ] {
                memory::extend(&mut batch.ids, row_ids)?;
                if let Some(all) = &mut batch.spans {
                    memory::extend(all, row_spans)?;
                }
            }
            batch.end_row()?;
            if end == ids.len() {
                return Ok(batch);
            }
            start += step;
        }
    }

    /// Texts as separate rows, which a template does not hold once; they became the ids `bare`.
    pub(super) fn join_texts(
        &self,
        bare: &EncodingBatch,
        options: EncodeOptions<'_>,
    ) -> Result<EncodingBatch> {
        let row = |at: usize| TextRow { first: at..at + 1, second: None };
        let rows = memory::collected((0..bare.len()).map(row))?;
        Ok(self.join_rows(bare, &rows, false, &Truncation::default(), options)?.batch)
    }

    /// Rows of texts that became the ids `bare`.
    fn join_rows(
        &self,
        bare: &EncodingBatch,
        rows: &[TextRow],
        are_words: bool,
        truncation: &Truncation,
        options: EncodeOptions<'_>,
    ) -> Result<EncodedRows> {
        let in_template = [false, true].map(|is_pair| self.template.texts(is_pair).collect::<Vec<_>>());
        let batch = EncodingBatch::new(bare.spans.is_some());
        let words = are_words.then(Vec::new);
        let mut joined = EncodedRows { batch, parts: Vec::new(), source_rows: Vec::new(), words };
        for (number, row) in rows.iter().enumerate() {
            let of = [Some(&row.first), row.second.as_ref()].map(|texts| {
                texts.map_or(0..0, |texts| bare.row_offsets[texts.start]..bare.row_offsets[texts.end])
            });
            let is_pair = row.second.is_some();
            let room = self.room(&options, self.n_around(&options, is_pair))?;
            let lens = of.each_ref().map(|ids| ids.len());
            let cuts = truncation
                .rows(lens, is_pair, room, &in_template[usize::from(is_pair)])
                .map_err(|error| if rows.len() > 1 { in_row(error, number) } else { error })?;
            for cut in cuts {
                self.join(bare, row, &of, &cut, options.add_special_tokens, &mut joined)?;
                memory::push(&mut joined.source_rows, number as i64)?;
            }
        }
        joined.batch.ids.shrink_to_fit();
        Ok(joined)
    }

    /// Appends a row of the ids `cut` of its texts, which became the ids `of`.
    fn join(
        &self,
        bare: &EncodingBatch,
        row: &TextRow,
        of: &[Range<usize>; 2],
        cut: &Cut,
        add_special_tokens: bool,
        joined: &mut EncodedRows,
    ) -> Result<()> {
        let batch = &mut joined.batch;
        let (start, mut cuts) = (batch.ids.len(), cut.iter());
        let (mut parts, mut is_there) = (RowParts::default(), [false; 2]);
        parts.second = row.second.is_some().then(TextPart::default);
        for part in self.template.parts(row.second.is_some()) {
            let (place, texts) = match *part {
                Part::Special { id, .. } => {
                    if add_special_tokens {
                        memory::push(&mut batch.ids, id)?;
                        if let Some(spans) = &mut batch.spans {
                            memory::push(spans, [0, 0])?;
                        }
                    }
                    continue;
                }
                Part::First { .. } => (0, &row.first),
                Part::Second { .. } => (1, row.second.as_ref().unwrap_or(&row.first)),
            };
            let Some(cut) = cuts.next() else {
                return Err(Error::Internal("a row has fewer texts than its template".to_owned()));
            };
            let taken = of[place].start + cut.start..of[place].start + cut.end;
            let at = batch.ids.len();
            for (source_text, text) in bare.source_texts.within(taken.clone()) {
                batch.source_texts.push(at + source_text - taken.start, text.as_bytes())?;
            }
            memory::extend(&mut batch.ids, &bare.ids[taken.clone()])?;
            if let (Some(spans), Some(of_text)) = (&mut batch.spans, &bare.spans) {
                memory::extend(spans, &of_text[taken.clone()])?;
            }
            let ids = at - start..batch.ids.len() - start;
            if let Some(words) = &mut joined.words {
                memory::resize(words, at, -1)?;
                for (word, row) in bare.row_offsets[texts.start..=texts.end].windows(2).enumerate() {
                    let end = row[1].min(taken.end);
                    let n = end.saturating_sub(row[0].max(taken.start));
                    memory::resize(words, words.len() + n, word as i64)?;
                }
            }
            let mut part = TextPart { ids, texts: texts.clone(), before: cut.start };
            match place {
                0 => std::mem::swap(&mut parts.first, &mut part),
                _ => part = parts.second.replace(part).unwrap_or_default(),
            }
            if std::mem::replace(&mut is_there[place], true) {
                memory::push(&mut parts.earlier, (place, part))?;
            }
        }
        memory::push(&mut joined.parts, parts)?;
        if let Some(words) = &mut joined.words {
            memory::resize(words, joined.batch.ids.len(), -1)?;
        }
        joined.batch.end_row()
    }
}

/// An error of a row, which it names.
fn in_row(error: Error, number: usize) -> Error {
    match error {
        Error::Encode(reason) => Error::Encode(format!("row {number}: {reason}")),
        other => other,
    }
}
