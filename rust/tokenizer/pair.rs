//! Two texts to ids, and how they are shortened together.

use std::ops::Range;

use super::input::Input;
use super::output::{Keeps, Output};
use super::{EncodeOptions, Tokenizer};
use crate::error::Result;
use crate::memory;
use crate::tokenizer::encoding::Encoding;
use crate::tokenizer::template::Part;
use crate::tokenizer::truncation::longest_first;
use crate::vocab::TokenId;

impl Tokenizer {
    /// Encodes two texts by the template for pairs, to at most `max_tokens` ids. The longer one is
    /// shortened first, as Hugging Face's `LongestFirst` does. Of a second text that stands
    /// in the template more than once, [`Encoding::second`] is where it does last.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn encode_pair<'t>(
        &self,
        first: impl Into<Input<'t>>,
        second: impl Into<Input<'t>>,
        options: EncodeOptions<'_>,
    ) -> Result<Encoding> {
        let [first, second] =
            self.texts_of_pair(first.into(), second.into(), &options, Keeps::SpansByModel)?;
        let [first, second] = [first, second]
            .map(|text| (text.ids, text.spans.unwrap_or_default(), text.surfaces.unwrap_or_default()));
        let mut encoding = Encoding::default();
        for part in &self.template.pair {
            match *part {
                Part::Special { id, type_id } if options.add_special_tokens => {
                    encoding.push_special(id, type_id)?;
                }
                Part::Special { .. } => {}
                Part::First { type_id } => {
                    encoding.push_text(&first.0, &first.1, &first.2, type_id)?;
                }
                Part::Second { type_id } => {
                    encoding.second = encoding.ids.len()..encoding.ids.len() + second.0.len();
                    encoding.push_text(&second.0, &second.1, &second.2, type_id)?;
                }
            }
        }
        Ok(encoding)
    }

    /// The ids of [`Tokenizer::encode_pair`] and nothing else, with the places of
    /// those of the second text, as there.
    ///
    /// # Errors
    /// As there.
    pub fn encode_pair_ids<'t>(
        &self,
        first: impl Into<Input<'t>>,
        second: impl Into<Input<'t>>,
        options: EncodeOptions<'_>,
    ) -> Result<(Vec<TokenId>, Range<usize>)> {
        let [first, second] = self.texts_of_pair(first.into(), second.into(), &options, Keeps::Ids)?;
        let (mut ids, mut place) = (Vec::new(), 0..0);
        for part in &self.template.pair {
            match *part {
                Part::Special { id, .. } if options.add_special_tokens => memory::push(&mut ids, id)?,
                Part::Special { .. } => {}
                Part::First { .. } => memory::extend(&mut ids, &first.ids)?,
                Part::Second { .. } => {
                    place = ids.len()..ids.len() + second.ids.len();
                    memory::extend(&mut ids, &second.ids)?;
                }
            }
        }
        Ok((ids, place))
    }

    /// The two texts without the template, shortened together.
    fn texts_of_pair<'a>(
        &self,
        first: Input<'_>,
        second: Input<'_>,
        options: &EncodeOptions<'a>,
        keeps: Keeps,
    ) -> Result<[Output<'a>; 2]> {
        let room = self.room(options, self.n_around(options, true))?;
        let mut texts =
            [self.encode_text(first, room, options, keeps)?, self.encode_text(second, room, options, keeps)?];
        if let Some(room) = room {
            let mut lens = [texts[0].ids.len(), texts[1].ids.len()];
            let weights = self.template.weights(true);
            if room % (weights[0] + weights[1]) > 0 && lens == [room, room] {
                // Both may go on, and the odd id is the longer one's.
                let whole = EncodeOptions { max_tokens: None, add_special_tokens: false, ..*options };
                lens = [self.count(first, whole)?, self.count(second, whole)?];
            }
            let lens = longest_first(lens, room, weights);
            for (text, len) in texts.iter_mut().zip(lens) {
                text.ids.truncate(len);
                if let Some(spans) = &mut text.spans {
                    spans.truncate(len);
                }
                if let Some(surfaces) = &mut text.surfaces {
                    surfaces.truncate(len);
                }
            }
        }
        Ok(texts)
    }
}
