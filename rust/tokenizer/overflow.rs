//! Windows of one long text. Those of many texts, of pairs, from either end, are rows
//! (`Tokenizer::encode_rows`).

use super::input::Input;
use super::output::Keeps;
use super::{EncodeOptions, Tokenizer};
use crate::error::{Error, Result};
use crate::memory;
use crate::tokenizer::encoding::{EncodingBatch, Span};
use crate::tokenizer::rows::TextRow;
use crate::tokenizer::truncation::Shortening;

impl Tokenizer {
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
        if !self.template.is_framed() {
            let shortening = Shortening { stride: Some(stride), ..Shortening::default() };
            let options = EncodeOptions { max_tokens: Some(size), spans: true, ..options };
            let row = TextRow { first: 0..1, second: None };
            return Ok(self.encode_rows(&[text], &[row], false, &shortening, options)?.batch);
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
        let output = self.encode_text(text, None, &options, Keeps::Spans)?;
        let (spans, surfaces) = (output.spans.unwrap_or_default(), output.surfaces.unwrap_or_default());
        let around: Vec<Span> = vec![[0, 0]; before.len().max(after.len())];
        let room = step + stride;
        let mut batch = EncodingBatch::new(true);
        let mut start = 0;
        loop {
            let end = (start + room).min(output.ids.len());
            for (place, text) in surfaces.within(start..end) {
                batch.surfaces.push(batch.ids.len() + before.len() + place - start, text.as_bytes())?;
            }
            for (ids, row_spans) in [
                (&before[..], &around[..before.len()]),
                (&output.ids[start..end], &spans[start..end]),
                (&after[..], &around[..after.len()]),
            ] {
                memory::extend(&mut batch.ids, ids)?;
                if let Some(all) = &mut batch.spans {
                    memory::extend(all, row_spans)?;
                }
            }
            batch.end_row()?;
            if end == output.ids.len() {
                return Ok(batch);
            }
            start += step;
        }
    }
}
