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
mod units;
mod words;

use std::ops::Range;

pub use self::counter::FertilityCounter;
pub use self::distinct_words::DistinctWords;
use self::starts::Starts;
use self::tables::held;
use self::words::Words;
use crate::encoding::{EncodingBatch, Span};
use crate::error::Result;
use crate::memory;
use crate::parallel;
use crate::tokenizer::{EncodeOptions, Input, Tokenizer};
use crate::word_counts::CountTable;

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
        mut distinct: Option<&mut DistinctWords>,
    ) -> Result<()> {
        let options = EncodeOptions { add_special_tokens: false, spans: false, ..options };
        let (n, threads) = (texts.len(), options.threads);
        let times = |row: usize| counts.get(row).copied().unwrap_or(1);
        // Most tokens are the text, one after the other, and need not be followed through the pipeline.
        if tokenizer.sums_around(false).is_some() {
            let batch = tokenizer.batch_of(texts, options)?;
            let of_row = |row: usize, sums: &mut Self, starts: &mut Starts, known: Known<'_>| {
                starts.begin(texts[row].len())?;
                let ids = &batch.ids[places(&batch, row)];
                let are_text = tokenizer.token_starts(ids, texts[row], |at| starts.put(at));
                let add = |sums: &mut Self, words: Words<'_>| starts.count(words, times(row), sums);
                sums.add_text(texts[row], known, add).map(|()| are_text)
            };
            // Words that are known already are no other words the second time.
            if let Some(sums) = Self::of_rows(n, threads, distinct.as_deref_mut(), of_row)? {
                self.join(&sums);
                self.count(&batch, times);
                return Ok(());
            }
        }
        let batch = tokenizer.batch_of(texts, EncodeOptions { spans: true, ..options })?;
        let spans = batch.spans.as_deref().unwrap_or_default();
        let of_row = |row: usize, sums: &mut Self, (): &mut (), known: Known<'_>| {
            let mut touching = Touching::new(&spans[places(&batch, row)]);
            let add = |sums: &mut Self, words: Words<'_>| {
                words.for_each(|word| sums.add_word(touching.next(word), times(row)));
            };
            sums.add_text(texts[row], known, add).map(|()| true)
        };
        if let Some(sums) = Self::of_rows(n, threads, distinct, of_row)? {
            self.join(&sums);
            self.count(&batch, times);
        }
        Ok(())
    }

    /// The sums of `n` rows, each added by `add`; `None` where it cannot.
    fn of_rows<S: Default>(
        n: usize,
        threads: Option<usize>,
        distinct: Option<&mut DistinctWords>,
        add: impl Fn(usize, &mut Self, &mut S, Known<'_>) -> Result<bool> + Sync,
    ) -> Result<Option<Self>> {
        let n_parts = parallel::n_threads(threads).min(n).max(1);
        let distinct = distinct.map(|distinct| distinct.parts(n_parts));
        let of_part = |part: usize| {
            let (mut sums, mut state) = (Self::default(), S::default());
            let mut known = distinct.map(|parts| held(&parts[part]));
            for row in n * part / n_parts..n * (part + 1) / n_parts {
                if !add(row, &mut sums, &mut state, known.as_deref_mut())? {
                    return Ok(None);
                }
            }
            Ok(Some(sums))
        };
        let mut all = Self::default();
        for sums in parallel::parts(n_parts, of_part) {
            let Some(sums) = sums? else { return Ok(None) };
            all.join(&sums);
        }
        Ok(Some(all))
    }

    fn join(&mut self, sums: &Self) {
        self.words += sums.words;
        self.tokens += sums.tokens;
        self.single += sums.single;
        self.continued += sums.continued;
    }

    /// Counts the ids of a batch, each row so many times.
    fn count(&mut self, batch: &EncodingBatch, times: impl Fn(usize) -> u64) {
        for row in 0..batch.len() {
            let times = times(row);
            for &id in &batch.ids[places(batch, row)] {
                if let Some(n) = self.frequency.get_mut(id as usize) {
                    *n += times;
                }
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

/// The tokens that touch each word of a text, by their spans, which are in order.
struct Touching<'a> {
    spans: &'a [Span],
    /// They stand side by side: from the first that ends behind the word's start, to the last that begins
    /// before its end.
    first: usize,
    behind: usize,
}

impl<'a> Touching<'a> {
    fn new(spans: &'a [Span]) -> Self {
        Self { spans, first: 0, behind: 0 }
    }

    /// How many touch a word, which is behind those before.
    fn next(&mut self, word: Range<usize>) -> u64 {
        let (start, end) = (word.start as u64, word.end as u64);
        while self.spans.get(self.first).is_some_and(|span| span[1] <= start) {
            self.first += 1;
        }
        while self.spans.get(self.behind).is_some_and(|span| span[0] < end) {
            self.behind += 1;
        }
        self.behind.saturating_sub(self.first) as u64
    }
}

/// The places of the ids of a row.
fn places(batch: &EncodingBatch, row: usize) -> Range<usize> {
    let place = |at: usize| usize::try_from(batch.row_offsets[at]).unwrap_or(0);
    place(row)..place(row + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_for_each_word_they_touch() {
        let mut sums = Fertility::default();
        let mut add = |text: &str, spans: &[Span]| {
            let mut touching = Touching::new(spans);
            let each = |sums: &mut Fertility, words: Words<'_>| {
                words.for_each(|word| sums.add_word(touching.next(word), 1));
            };
            sums.add_text(text.into(), None, each).unwrap();
            (sums.words, sums.tokens, sums.single, sums.continued)
        };
        // "ab  cd e": the first token ends inside a word, the last touches two.
        assert_eq!(add("ab  cd e", &[[0, 1], [1, 4], [4, 4], [4, 5], [5, 8]]), (3, 5, 1, 2));
        assert_eq!(add("x", &[]), (4, 5, 1, 2));
    }
}
