//! `Fertility`: how many tokens touch each word of texts, summed; `FertilityCounter`: what sums them;
//! `DistinctWords`: the words that occur.
//!
//! A token touches the words that it shares a byte with. Not for the measures that are made of the
//! sums: `python/sentitok/evaluate.py`. Source: Rust et al. 2021, "How Good is Your Tokenizer?".

mod counter;
mod distinct_words;
mod rows;
mod starts;
mod tables;
mod touching;
mod units;
mod words;

pub use self::counter::FertilityCounter;
pub use self::distinct_words::DistinctWords;
use self::touching::Texts;
use self::words::Words;
use crate::corpus::word_counts::CountTable;
use crate::error::Result;
use crate::memory;
use crate::tokenizer::{EncodeOptions, Input, Tokenizer};
use crate::vocab::TokenId;

/// Where the words of a part of some texts are kept, if they are.
type Known<'a> = Option<&'a mut CountTable>;

/// Sums over the words of texts, and how often each token occurs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fertility {
    /// How often each id occurs.
    pub frequency: Vec<u64>,
    /// Words.
    pub words: u64,
    /// Tokens that touch a word, for each word.
    pub tokens: u64,
    /// Words that one token alone touches.
    pub single: u64,
    /// Words that two or more tokens touch.
    pub continued: u64,
}

impl Fertility {
    /// Nothing yet, of a tokenizer.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn new(tokenizer: &Tokenizer) -> Result<Self> {
        Ok(Self { frequency: memory::filled(tokenizer.vocab_size(), 0)?, ..Self::default() })
    }

    /// Encodes texts, without the template's tokens, and adds their words, each text as often as `counts`
    /// says, or once; `distinct` takes the words, too.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_batch`].
    fn add(
        &mut self,
        tokenizer: &Tokenizer,
        texts: &[Input<'_>],
        counts: &[u64],
        options: EncodeOptions<'_>,
        distinct: Option<&mut DistinctWords>,
    ) -> Result<()> {
        let options = EncodeOptions { add_special_tokens: false, spans: false, ..options };
        Texts { tokenizer, options, texts, counts }.add_to(self, distinct)
    }

    fn join(&mut self, sums: &Self) {
        self.words += sums.words;
        self.tokens += sums.tokens;
        self.single += sums.single;
        self.continued += sums.continued;
    }

    /// Counts the ids of a text, so many times.
    fn count(&mut self, ids: &[TokenId], times: u64) {
        for &id in ids {
            if let Some(n) = self.frequency.get_mut(id as usize) {
                *n += times;
            }
        }
    }

    /// Adds the words of a text by `add`, and to those that are known.
    fn add_text(
        &mut self,
        text: Input<'_>,
        mut known: Known<'_>,
        mut add: impl FnMut(&mut Self, Words<'_>),
    ) -> Result<()> {
        words::for_each(text, |words| {
            add(self, words);
            known.as_deref_mut().map_or(Ok(()), |known| match words {
                Words::Chunk(chunk) => known.put_chunk(text.bytes(), chunk),
                Words::One(start, end) => known.put(&text.bytes()[start..end], 1),
            })
        })
    }

    /// Adds a word that `n` tokens touch, so many times.
    #[inline(always)]
    fn add_word(&mut self, n: u64, times: u64) {
        self.words += times;
        self.tokens += n * times;
        self.single += u64::from(n == 1) * times;
        self.continued += u64::from(n > 1) * times;
    }
}
