//! `DistinctWords`: the words that occur in texts, each once, and what a tokenizer makes of them.

use std::sync::{Mutex, PoisonError};

use super::Fertility;
use crate::error::Result;
use crate::memory;
use crate::tokenizer::{EncodeOptions, Input, Tokenizer};
use crate::word_counts::CountTable;

/// Words that are encoded at a time.
const AT_ONCE: usize = 1 << 16;
/// Bytes of a row of words, or a little more: threads share rows.
const ROW_BYTES: usize = 1 << 14;
/// The most bytes of a character.
const LONGEST_CHAR: usize = 4;

/// The words that occur in texts, each once.
#[derive(Default)]
pub struct DistinctWords {
    /// What each thread met.
    tables: Vec<Mutex<CountTable>>,
}

impl DistinctWords {
    /// A table for each of so many threads.
    pub(super) fn parts(&mut self, n: usize) -> &[Mutex<CountTable>] {
        if self.tables.len() < n {
            self.tables.resize_with(n, Mutex::default);
        }
        &self.tables
    }

    /// All of them in one table.
    fn joined(&mut self) -> Result<&CountTable> {
        self.parts(1);
        while let [_, .., _] = &self.tables[..]
            && let Some(other) = self.tables.pop()
        {
            let first = content(&mut self.tables[0]);
            other.into_inner().unwrap_or_else(PoisonError::into_inner).for_each(|word| first.put(word))?;
        }
        Ok(content(&mut self.tables[0]))
    }

    /// How many there are.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn count(&mut self) -> Result<usize> {
        Ok(self.joined()?.len())
    }

    /// What a tokenizer makes of each of them behind a space, as in running text.
    ///
    /// # Errors
    /// As [`Fertility::add`].
    pub fn fertility(&mut self, tokenizer: &Tokenizer, options: EncodeOptions<'_>) -> Result<Fertility> {
        let table = self.joined()?;
        let mut rows = Rows {
            tokenizer,
            options,
            cuts_before_blank: tokenizer.cuts_before_blank(),
            text: Vec::new(),
            starts: Vec::new(),
            n_words: 0,
            sums: Fertility::new(tokenizer)?,
        };
        if tokenizer.model().dropout().is_none() {
            table.for_each(|word| rows.push(word))?;
        } else {
            // What is drawn for a word does not depend on the order of a table.
            let mut table = table.clone();
            table.sort();
            let mut sorted = table.sorted();
            while sorted.advance() {
                rows.push(sorted.piece())?;
            }
        }
        rows.finish()
    }
}

fn content<T>(value: &mut Mutex<T>) -> &mut T {
    value.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// Words that wait to be encoded, each behind a space.
struct Rows<'a, F> {
    tokenizer: &'a Tokenizer,
    options: EncodeOptions<'a>,
    /// What says that two words may share a row, if anything does.
    cuts_before_blank: Option<F>,
    text: Vec<u8>,
    /// Where rows start.
    starts: Vec<usize>,
    n_words: usize,
    sums: Fertility,
}

impl<F: Fn(char) -> bool> Rows<'_, F> {
    fn push(&mut self, word: &[u8]) -> Result<()> {
        if self.n_words == AT_ONCE {
            self.encode()?;
        }
        // A row costs as much as several words.
        let start = self.starts.last().copied().unwrap_or(0);
        if self.text.len() - start >= ROW_BYTES || !self.cuts_behind_last() {
            memory::push(&mut self.starts, self.text.len())?;
        }
        memory::push(&mut self.text, b' ')?;
        memory::extend(&mut self.text, word)?;
        self.n_words += 1;
        Ok(())
    }

    fn cuts_behind_last(&self) -> bool {
        let Some(cuts_before_blank) = &self.cuts_before_blank else { return false };
        let end = self.text.len().saturating_sub(LONGEST_CHAR);
        let last = self.text[end..].utf8_chunks().last();
        last.filter(|last| last.invalid().is_empty())
            .and_then(|last| last.valid().chars().next_back())
            .is_some_and(cuts_before_blank)
    }

    fn encode(&mut self) -> Result<()> {
        let ends = self.starts.iter().copied().skip(1).chain([self.text.len()]);
        let mut rows: Vec<Input<'_>> = memory::reserved(self.starts.len())?;
        rows.extend(self.starts.iter().zip(ends).map(|(&start, end)| Input::Bytes(&self.text[start..end])));
        self.sums.add(self.tokenizer, &rows, self.options, None)?;
        self.text.clear();
        self.starts.clear();
        self.n_words = 0;
        Ok(())
    }

    fn finish(mut self) -> Result<Fertility> {
        self.encode()?;
        Ok(self.sums)
    }
}
