//! Three ways to tell which tokens touch a word.
//!
//! By spans, which is the definition; by the sizes of tokens, where they are the text, one after the
//! other; by the tokens that begin with `▁`, where each word has one. The last two take ids alone.

use std::ops::Range;

use super::starts::Starts;
use super::tables::held;
use super::words::Words;
use super::{DistinctWords, Fertility, Known};
use crate::error::Result;
use crate::memory;
use crate::parallel;
use crate::tokenizer::encoding::{EncodingBatch, Span};
use crate::tokenizer::{EncodeOptions, Input, MarkedWords, Tokenizer};

/// Texts with how often each counts: once, where nothing is said of it.
#[derive(Clone, Copy)]
pub(super) struct Texts<'a> {
    pub(super) tokenizer: &'a Tokenizer,
    pub(super) options: EncodeOptions<'a>,
    pub(super) texts: &'a [Input<'a>],
    pub(super) counts: &'a [u64],
}

impl<'a> Texts<'a> {
    /// Adds their words and tokens to sums, the words to `distinct`, too.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_batch`].
    pub(super) fn add_to(self, sums: &mut Fertility, mut distinct: Option<&mut DistinctWords>) -> Result<()> {
        let Self { tokenizer, options, .. } = self;
        if let Some(marked) = tokenizer.marked_words(options.specials) {
            let is_told = |text: Input<'_>| text.text().is_some_and(|text| marked.are_told(text));
            let parts = self.parted(&is_told)?;
            let [told, others] = parts.each_ref().map(|(texts, counts)| Texts { texts, counts, ..self });
            // Words that are known already are no other words the second time.
            if !told.add_by_marks(&marked, sums, distinct.as_deref_mut())? {
                told.add_by_spans(sums, distinct.as_deref_mut())?;
            }
            others.add_by_spans(sums, distinct)?;
            return Ok(());
        }
        // Most tokens are the text, and need not be followed through the pipeline.
        let are_text = tokenizer.sums_around(false).is_some();
        if are_text && self.add_by_sizes(sums, distinct.as_deref_mut())? {
            return Ok(());
        }
        self.add_by_spans(sums, distinct)
    }

    /// Those of which something holds, with their counts, and the others.
    fn parted(self, holds: &(impl Fn(Input<'_>) -> bool + Sync)) -> Result<[(Vec<Input<'a>>, Vec<u64>); 2]> {
        let texts = self.texts;
        let n_parts = self.n_parts();
        let rows = |part: usize| texts.len() * part / n_parts..texts.len() * (part + 1) / n_parts;
        let of_part = |part: usize| memory::collected(texts[rows(part)].iter().map(|&text| holds(text)));
        let mut parts = <[(Vec<_>, Vec<_>); 2]>::default();
        let mut row = 0;
        for held in parallel::parts(n_parts, of_part) {
            for holds in held? {
                let (part, counts) = &mut parts[usize::from(!holds)];
                memory::push(part, texts[row])?;
                memory::push(counts, self.times(row))?;
                row += 1;
            }
        }
        Ok(parts)
    }

    fn n_parts(&self) -> usize {
        parallel::n_threads(self.options.threads).min(self.texts.len()).max(1)
    }

    /// How often a text counts.
    fn times(&self, row: usize) -> u64 {
        self.counts.get(row).copied().unwrap_or(1)
    }

    fn add_by_marks(
        self,
        marked: &MarkedWords<'_>,
        sums: &mut Fertility,
        distinct: Option<&mut DistinctWords>,
    ) -> Result<bool> {
        let batch = self.tokenizer.batch_of(self.texts, self.options)?;
        let of_row = |row: usize, sums: &mut Fertility, (): &mut (), known: Known<'_>| {
            let mut ids = &batch.ids[places(&batch, row)];
            let add = |sums: &mut Fertility, words: Words<'_>| {
                words.for_each(|_| sums.add_word(marked.next(&mut ids), self.times(row)));
            };
            sums.add_text(self.texts[row], known, add).map(|()| ids.is_empty())
        };
        self.add_rows(&batch, sums, distinct, of_row)
    }

    fn add_by_sizes(self, sums: &mut Fertility, distinct: Option<&mut DistinctWords>) -> Result<bool> {
        let batch = self.tokenizer.batch_of(self.texts, self.options)?;
        let of_row = |row: usize, sums: &mut Fertility, starts: &mut Starts, known: Known<'_>| {
            let text = self.texts[row];
            starts.begin(text.len())?;
            let ids = &batch.ids[places(&batch, row)];
            let are_text = self.tokenizer.token_starts(ids, text, |at| starts.put(at));
            let add = |sums: &mut Fertility, words: Words<'_>| starts.count(words, self.times(row), sums);
            sums.add_text(text, known, add).map(|()| are_text)
        };
        self.add_rows(&batch, sums, distinct, of_row)
    }

    fn add_by_spans(self, sums: &mut Fertility, distinct: Option<&mut DistinctWords>) -> Result<()> {
        let batch = self.tokenizer.batch_of(self.texts, EncodeOptions { spans: true, ..self.options })?;
        let spans = batch.spans.as_deref().unwrap_or_default();
        let of_row = |row: usize, sums: &mut Fertility, (): &mut (), known: Known<'_>| {
            let mut touching = Touching::new(&spans[places(&batch, row)]);
            let add = |sums: &mut Fertility, words: Words<'_>| {
                words.for_each(|word| sums.add_word(touching.next(word), self.times(row)));
            };
            sums.add_text(self.texts[row], known, add).map(|()| true)
        };
        self.add_rows(&batch, sums, distinct, of_row).map(|_| ())
    }

    /// Adds the rows of a batch, the words of each by `add`; `false`, with nothing added, where it cannot.
    fn add_rows<S: Default>(
        self,
        batch: &EncodingBatch,
        sums: &mut Fertility,
        distinct: Option<&mut DistinctWords>,
        add: impl Fn(usize, &mut Fertility, &mut S, Known<'_>) -> Result<bool> + Sync,
    ) -> Result<bool> {
        let (n, n_parts) = (batch.len(), self.n_parts());
        let distinct = distinct.map(|distinct| distinct.parts(n_parts));
        let of_part = |part: usize| {
            let (mut sums, mut state) = (Fertility::default(), S::default());
            let mut known = distinct.map(|parts| held(&parts[part]));
            for row in n * part / n_parts..n * (part + 1) / n_parts {
                if !add(row, &mut sums, &mut state, known.as_deref_mut())? {
                    return Ok(None);
                }
            }
            Ok(Some(sums))
        };
        let mut all = Fertility::default();
        for sums in parallel::parts(n_parts, of_part) {
            let Some(sums) = sums? else { return Ok(false) };
            all.join(&sums);
        }
        sums.join(&all);
        for row in 0..n {
            sums.count(&batch.ids[places(batch, row)], self.times(row));
        }
        Ok(true)
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
