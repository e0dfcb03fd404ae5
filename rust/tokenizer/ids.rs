//! One text, or a pair, to ids and nothing else; what else an `Encoding` says is
//! made of them when it is asked for.
//!
//! [`Tokenizer::encode`] and [`Tokenizer::encode_pair`] are the definition. What
//! the template says of ids follows from their number. Spans are sums of the
//! lengths of tokens where nothing is rewritten or left out; otherwise the text
//! is encoded once more, with spans: that costs nothing until somebody asks, and
//! to keep what spans need (rewritten text, the bytes of each token) costs as much
//! as the spans.

use std::ops::Range;

use super::input::Input;
use super::jobs::LONG_BYTES;
use super::output::Output;
use super::{EncodeOptions, Tokenizer};
use crate::encoding::{Encoding, Rows, Surfaces};
use crate::error::{Error, Result};
use crate::template::Part;
use crate::vocab::TokenId;

impl Tokenizer {
    /// The ids of [`Tokenizer::encode`], and nothing else: it is the faster call.
    /// A text of more than 256 KiB is shared among threads where it can be cut.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_ids<'a>(
        &self,
        text: impl Into<Input<'a>>,
        options: EncodeOptions<'_>,
    ) -> Result<Vec<TokenId>> {
        let text = text.into();
        if text.len() > LONG_BYTES {
            return Ok(self.batch_of(&[text], EncodeOptions { spans: false, ..options })?.ids);
        }
        let room = self.room(&options, self.n_around(&options, false))?;
        let mut output = Output::new(false, room, options.stop);
        let mut parts = self.template.single.iter();
        for part in parts.by_ref() {
            match *part {
                Part::Special { id, .. } if options.add_special_tokens => output.ids.push(id),
                Part::Special { .. } => {}
                Part::First { .. } | Part::Second { .. } => break,
            }
        }
        output.start_at(output.ids.len());
        self.encode_into(text, &options, &mut output)?;
        let mut ids = output.ids;
        for part in parts {
            if let (Part::Special { id, .. }, true) = (part, options.add_special_tokens) {
                ids.push(*id);
            }
        }
        ids.shrink_to_fit();
        Ok(ids)
    }

    /// The number of ids that the template puts in.
    fn n_around(&self, options: &EncodeOptions<'_>, of_pair: bool) -> usize {
        match (options.add_special_tokens, of_pair) {
            (false, _) => 0,
            (true, false) => self.template.single.len() - 1,
            (true, true) => self.template.n_special_pair(),
        }
    }

    /// The type ids and the special mask of ids, by their number: `n` in all, of
    /// which `second` are the second text's of a pair.
    pub fn marks(
        &self,
        n: usize,
        second: Option<&Range<usize>>,
        options: &EncodeOptions<'_>,
    ) -> (Vec<u32>, Vec<bool>) {
        let (mut type_ids, mut special_mask) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let n_second = second.map_or(0, ExactSizeIterator::len);
        let n_first = n.saturating_sub(n_second + self.n_around(options, second.is_some()));
        let parts = if second.is_some() { &self.template.pair } else { &self.template.single };
        for part in parts {
            let (n, type_id, special) = match *part {
                Part::Special { .. } if !options.add_special_tokens => continue,
                Part::Special { type_id, .. } => (1, type_id, true),
                Part::First { type_id } => (n_first, type_id, false),
                Part::Second { type_id } => (n_second, type_id, false),
            };
            type_ids.resize(type_ids.len() + n, type_id);
            special_mask.resize(type_ids.len(), special);
        }
        (type_ids, special_mask)
    }

    /// The rest of [`Tokenizer::encode`], where `ids` came of it; without the ids.
    ///
    /// # Errors
    /// As there; [`Error::Internal`] if the ids are others.
    pub fn rest_of(&self, ids: &[TokenId], text: &[u8], options: EncodeOptions<'_>) -> Result<Encoding> {
        if let Some(around) = self.sums_around(options.add_special_tokens) {
            let (type_ids, special_mask) = self.marks(ids.len(), None, &options);
            let mut spans = vec![[0, 0]; ids.len()];
            let rows = Rows { ids, row_offsets: &[0, ids.len() as i64] };
            self.fill_sums(rows, around, spans.as_flattened_mut());
            let surfaces = Surfaces::default();
            return Ok(Encoding { ids: Vec::new(), spans, type_ids, special_mask, second: 0..0, surfaces });
        }
        without_ids(self.encode(text, options)?, ids)
    }

    /// The rest of [`Tokenizer::encode_pair`], where `ids` came of it; without the ids.
    ///
    /// # Errors
    /// As there; [`Error::Internal`] if the ids are others.
    pub fn rest_of_pair(
        &self,
        ids: &[TokenId],
        texts: [&[u8]; 2],
        options: EncodeOptions<'_>,
    ) -> Result<Encoding> {
        without_ids(self.encode_pair(texts[0], texts[1], options)?, ids)
    }

    /// Where spans are sums of the lengths of tokens: how many ids of the template's
    /// stand before and after those of a text.
    pub fn sums_around(&self, add_special_tokens: bool) -> Option<[usize; 2]> {
        if !self.spans_are_sums {
            return None;
        }
        let is_text = |part: &Part| matches!(part, Part::First { .. });
        let before = self.template.single.iter().position(is_text)?;
        let after = self.template.single.len() - 1 - before;
        Some(if add_special_tokens { [before, after] } else { [0, 0] })
    }

    /// Writes the spans of ids that are sums, two numbers an id, each row between
    /// `around` ids of the template's.
    pub fn fill_sums(&self, rows: Rows<'_>, around: [usize; 2], spans: &mut [u64]) {
        let mut rest = spans;
        for row in rows.iter() {
            let (of_row, after) = rest.split_at_mut((2 * row.len()).min(rest.len()));
            let text =
                around[0].min(row.len())..row.len().saturating_sub(around[1]).max(around[0].min(row.len()));
            let (before, behind) = (2 * text.start, 2 * text.end);
            of_row[..before].fill(0);
            of_row[behind..].fill(0);
            let mut end = 0;
            for (span, &id) in of_row[before..behind].chunks_exact_mut(2).zip(&row[text]) {
                span[0] = end;
                end += self.id_to_bytes(id).map_or(0, <[u8]>::len) as u64;
                span[1] = end;
            }
            rest = after;
        }
    }
}

/// An encoding of these ids, without them.
fn without_ids(mut encoding: Encoding, ids: &[TokenId]) -> Result<Encoding> {
    if std::mem::take(&mut encoding.ids) != ids {
        return Err(Error::Internal("a text encoded twice became two lists of ids".to_owned()));
    }
    Ok(encoding)
}
