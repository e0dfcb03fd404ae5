//! One text, or a pair, to ids and nothing else; what else an `Encoding` says is
//! made of them when it is asked for.
//!
//! [`Tokenizer::encode`] and [`Tokenizer::encode_pair`] are the definition. What
//! the template says of ids follows from their number. Spans are sums of the
//! lengths of tokens where nothing is rewritten or left out; otherwise the text
//! is normalized and split once more, and the ids tell how far each reaches.

use std::iter::Repeat;
use std::ops::Range;

use super::input::Input;
use super::jobs::LONG_BYTES;
use super::output::{Keeps, Output, other_ids};
use super::{EncodeOptions, Tokenizer};
use crate::error::Result;
use crate::memory;
use crate::tokenizer::encoding::{OffsetUnit, Span, Surfaces};
use crate::tokenizer::template::Part;
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
        if !self.template.is_framed() {
            return self.ids_by_template(text, &options);
        }
        let room = self.room_of_text(&options)?;
        let mut output = Output::new(Keeps::Ids, room, options.stop);
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
                memory::push(&mut ids, *id)?;
            }
        }
        ids.shrink_to_fit();
        Ok(ids)
    }

    /// [`Tokenizer::encode_ids`] where the text does not stand in the template once.
    fn ids_by_template(&self, text: Input<'_>, options: &EncodeOptions<'_>) -> Result<Vec<TokenId>> {
        let mut output = Output::new(Keeps::Ids, self.room_of_text(options)?, options.stop);
        self.encode_into(text, options, &mut output)?;
        let mut ids = Vec::new();
        for part in &self.template.single {
            match *part {
                Part::Special { id, .. } if options.add_special_tokens => memory::push(&mut ids, id)?,
                Part::Special { .. } => {}
                Part::First { .. } | Part::Second { .. } => memory::extend(&mut ids, &output.ids)?,
            }
        }
        Ok(ids)
    }

    /// The number of special tokens that the template puts in.
    pub(super) fn n_around(&self, options: &EncodeOptions<'_>, is_pair: bool) -> usize {
        if options.add_special_tokens { self.template.n_special(is_pair) } else { 0 }
    }

    /// How many of `n` ids are each text's, of which `second` are the second's of a pair, in a
    /// template that holds each once.
    pub fn lens(
        &self,
        n: usize,
        second: Option<&Range<usize>>,
        options: &EncodeOptions<'_>,
    ) -> [Repeat<usize>; 2] {
        let n_second = second.map_or(0, ExactSizeIterator::len);
        let n_first = n.saturating_sub(n_second + self.n_around(options, second.is_some()));
        [n_first, n_second].map(std::iter::repeat)
    }

    /// The type ids and the special mask of the ids of a row; `lens` are the numbers of ids of the
    /// first text and of the second, wherever each stands.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is not enough.
    pub fn marks(
        &self,
        lens: [impl Iterator<Item = usize>; 2],
        is_pair: bool,
        options: &EncodeOptions<'_>,
    ) -> Result<(Vec<u32>, Vec<bool>)> {
        let (mut type_ids, mut special_mask) = (Vec::new(), Vec::new());
        for (part, n) in self.parts(lens, is_pair, options) {
            let (type_id, special) = match part {
                Part::Special { type_id, .. } => (type_id, true),
                Part::First { type_id } | Part::Second { type_id } => (type_id, false),
            };
            let end = type_ids.len() + n;
            memory::resize(&mut type_ids, end, type_id)?;
            memory::resize(&mut special_mask, end, special)?;
        }
        Ok((type_ids, special_mask))
    }

    /// The spans and surfaces of the ids that a text became, or a pair, with `lens` as in
    /// [`Tokenizer::marks`]; what the template put in has empty spans.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`]; [`Error::Internal`](crate::Error::Internal) if the
    /// text becomes other ids, where that is noticed.
    pub fn traces(
        &self,
        ids: &[TokenId],
        lens: [impl Iterator<Item = usize>; 2],
        is_pair: bool,
        texts: [Input<'_>; 2],
        options: EncodeOptions<'_>,
    ) -> Result<(Vec<Span>, Surfaces)> {
        let mut output = Output::of_known(ids.len(), options.stop)?;
        if let (false, Some(around), Some(spans)) =
            (is_pair, self.sums_around(options.add_special_tokens), &mut output.spans)
        {
            memory::resize(spans, ids.len(), [0, 0])?;
            if self.write_sums(ids, texts[0], OffsetUnit::Bytes, around, spans) {
                return Ok((std::mem::take(spans), Surfaces::default()));
            }
            spans.clear();
        }
        let mut rest = ids;
        for (part, n) in self.parts(lens, is_pair, &options) {
            let Some((of_part, after)) = rest.split_at_checked(n) else { return Err(other_ids()) };
            rest = after;
            let text = match part {
                Part::Special { .. } => {
                    memory::push(output.spans.get_or_insert_default(), [0, 0])?;
                    continue;
                }
                Part::First { .. } => texts[0],
                Part::Second { .. } => texts[1],
            };
            output.known = Some(of_part);
            self.encode_into(text, &options, &mut output)?;
            if output.known != Some(&[]) {
                return Err(other_ids());
            }
        }
        Ok((output.spans.unwrap_or_default(), output.surfaces.unwrap_or_default()))
    }

    /// The parts of the template that ids consist of, and the number of ids of each.
    fn parts(
        &self,
        mut lens: [impl Iterator<Item = usize>; 2],
        is_pair: bool,
        options: &EncodeOptions<'_>,
    ) -> impl Iterator<Item = (Part, usize)> {
        let n_special = usize::from(options.add_special_tokens);
        let parts = self.template.parts(is_pair).iter();
        parts
            .map(move |&part| match part {
                Part::Special { .. } => (part, n_special),
                Part::First { .. } => (part, lens[0].next().unwrap_or(0)),
                Part::Second { .. } => (part, lens[1].next().unwrap_or(0)),
            })
            .filter(|(_, n)| *n > 0)
    }
}
