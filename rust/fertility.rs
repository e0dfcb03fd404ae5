//! `Fertility`: sums over the words of texts of how many tokens touch each; `DistinctWords`: the
//! words that occur.
//!
//! A word is a maximal run of characters that are not white space in Unicode; bytes that are not
//! UTF-8 are part of words. A token touches the words with which it shares a byte.
//! `python/sentitok/evaluate.py` computes the measures from these sums. Source: Rust et al. 2021,
//! "How Good is Your Tokenizer?".

use std::ops::Range;

use crate::corpus::word_counts::CountTable;
use crate::error::Result;
use crate::memory;
use crate::parallel;
use crate::pre_tokenizer::PreTokenizer;
use crate::tokenizer::encoding::Span;
use crate::tokenizer::{EncodeOptions, Input, Tokenizer};

/// Distinct words are encoded in batches of about this many bytes.
const AT_ONCE: usize = 1 << 20;

/// Sums over the words of texts, and how often each token occurs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fertility {
    /// How often each id occurs.
    pub frequency: Vec<u64>,
    /// The number of words.
    pub words: u64,
    /// The sum over all words of the tokens that touch them.
    pub tokens: u64,
    /// The number of words that exactly one token touches.
    pub single: u64,
    /// The number of words that two or more tokens touch.
    pub continued: u64,
}

impl Fertility {
    /// Sums over no text.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn new(tokenizer: &Tokenizer) -> Result<Self> {
        Ok(Self { frequency: memory::filled(tokenizer.vocab_size(), 0)?, ..Self::default() })
    }

    /// Encodes texts without the special tokens of the template and adds their words, also to
    /// `distinct`.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_batch`].
    pub fn add(
        &mut self,
        tokenizer: &Tokenizer,
        texts: &[Input<'_>],
        options: EncodeOptions<'_>,
        distinct: Option<&mut DistinctWords>,
    ) -> Result<()> {
        if let Some(distinct) = distinct {
            for text in texts {
                for_each_word(*text, |word| distinct.table.put(&text.bytes()[word], 1))?;
            }
        }
        let options = EncodeOptions { add_special_tokens: false, spans: true, ..options };
        let batch = tokenizer.encode_batch(texts, options)?;
        for &id in &batch.ids {
            if let Some(n) = self.frequency.get_mut(id as usize) {
                *n += 1;
            }
        }
        let spans = batch.spans.as_deref().unwrap_or_default();
        let n_parts = parallel::n_threads(options.threads).min(texts.len()).max(1);
        let part = |part: usize| {
            let mut sums = Self::default();
            let part = texts.len() * part / n_parts..texts.len() * (part + 1) / n_parts;
            for (number, &text) in part.clone().zip(&texts[part]) {
                let spans = batch.row(number).and_then(|row| spans.get(row)).unwrap_or_default();
                let mut touching = Touching { spans, first: 0, behind: 0 };
                for_each_word(text, |word| {
                    sums.add_word(touching.next(word));
                    Ok(())
                })?;
            }
            Ok(sums)
        };
        for sums in parallel::parts(n_parts, part) {
            let sums = sums?;
            self.words += sums.words;
            self.tokens += sums.tokens;
            self.single += sums.single;
            self.continued += sums.continued;
        }
        Ok(())
    }

    /// Adds a word that `n` tokens touch.
    fn add_word(&mut self, n: u64) {
        self.words += 1;
        self.tokens += n;
        self.single += u64::from(n == 1);
        self.continued += u64::from(n > 1);
    }
}

/// The words that occur in texts, each once.
#[derive(Default)]
#[non_exhaustive]
pub struct DistinctWords {
    table: CountTable,
}

impl DistinctWords {
    /// The number of words.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.table.len() == 0
    }

    /// The number of these words that exactly one token touches when a space precedes them, as in
    /// running text.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_batch`].
    pub fn single(&self, tokenizer: &Tokenizer, options: EncodeOptions<'_>) -> Result<u64> {
        let mut sums = Fertility::new(tokenizer)?;
        let (mut text, mut places) = (Vec::new(), Vec::new());
        let mut add = |text: &mut Vec<u8>, places: &mut Vec<Range<usize>>| {
            let words = memory::collected(places.iter().map(|place| Input::Bytes(&text[place.clone()])))?;
            sums.add(tokenizer, &words, options, None)?;
            text.clear();
            places.clear();
            Ok(())
        };
        // Sorts, because the order of the table is not fixed, and dropout depends on the index of a
        // text.
        let mut table = self.table.clone();
        table.sort();
        let mut words = table.sorted();
        while words.advance() {
            if text.len() >= AT_ONCE {
                add(&mut text, &mut places)?;
            }
            let start = text.len();
            memory::extend(&mut text, b" ")?;
            memory::extend(&mut text, words.piece())?;
            memory::push(&mut places, start..text.len())?;
        }
        add(&mut text, &mut places)?;
        Ok(sums.single)
    }
}

/// Calls `f` with each word of a text.
fn for_each_word(text: Input<'_>, mut f: impl FnMut(Range<usize>) -> Result<()>) -> Result<()> {
    if let Some(text) = text.text() {
        return PreTokenizer::WhitespaceSplit.for_each_piece(text, f);
    }
    let (mut at, mut word) = (0, None);
    for chunk in text.bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if !c.is_whitespace() {
                word.get_or_insert(at);
            } else if let Some(start) = word.take() {
                f(start..at)?;
            }
            at += c.len_utf8();
        }
        if !chunk.invalid().is_empty() {
            word.get_or_insert(at);
            at += chunk.invalid().len();
        }
    }
    word.map_or(Ok(()), |start| f(start..at))
}

/// Counts the tokens that touch each word of a text. Words and spans are both in order.
struct Touching<'a> {
    spans: &'a [Span],
    /// The first token that ends after the start of the current word. The tokens that touch a word
    /// are consecutive.
    first: usize,
    behind: usize,
}

impl Touching<'_> {
    /// How many tokens touch a word, which must come after the previous words.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[u8]) -> Vec<Range<usize>> {
        let mut all = Vec::new();
        for_each_word(text.into(), |word| {
            all.push(word);
            Ok(())
        })
        .unwrap();
        all
    }

    #[test]
    fn words_agree_with_split_whitespace() {
        for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
            let text = format!("a{c}b");
            let expected: Vec<&str> = text.split_whitespace().collect();
            let found: Vec<&str> = words(text.as_bytes()).into_iter().map(|word| &text[word]).collect();
            assert_eq!(found, expected, "{:x}", u32::from(c));
        }
    }

    #[test]
    fn invalid_bytes_are_part_of_words() {
        assert_eq!(words(b"\xE2\x80 \xC2\xA0a\xC2"), [0..2, 5..7]);
        assert_eq!(words(b" \xFF \t\n\xFF"), [1..2, 5..6]);
        assert!(words(b" \t\n").is_empty() && words(b"").is_empty());
    }

    #[test]
    fn tokens_are_counted_for_each_word_they_touch() {
        let touching = |text: &str, spans: &[Span]| {
            let mut touching = Touching { spans, first: 0, behind: 0 };
            words(text.as_bytes()).into_iter().map(|word| touching.next(word)).collect::<Vec<_>>()
        };
        // The first token ends inside a word; the last touches two words.
        assert_eq!(touching("ab  cd e", &[[0, 1], [1, 4], [4, 4], [4, 5], [5, 8]]), [2, 2, 1]);
        assert_eq!(touching("x", &[]), [0]);
    }
}
