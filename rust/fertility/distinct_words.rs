//! `DistinctWords`: the words that occur in texts, each once, and what a tokenizer makes of them.

use std::sync::Mutex;

use super::Fertility;
use super::rows::Rows;
use super::tables::Tables;
use crate::corpus::word_counts::CountTable;
use crate::error::Result;
use crate::tokenizer::{EncodeOptions, Tokenizer};

/// The words that occur in texts, each once.
#[derive(Default)]
pub struct DistinctWords {
    tables: Tables,
}

impl DistinctWords {
    /// A table for each of so many threads.
    pub(super) fn parts(&mut self, n: usize) -> &[Mutex<CountTable>] {
        self.tables.parts(n)
    }

    /// How many there are.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn count(&mut self) -> Result<usize> {
        Ok(self.tables.joined()?.len())
    }

    /// How many of them one token alone touches, each behind a space, as in running text.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_batch`].
    pub fn single(&mut self, tokenizer: &Tokenizer, options: EncodeOptions<'_>) -> Result<u64> {
        let table = self.tables.joined()?;
        let mut sums = Fertility::new(tokenizer)?;
        let mut rows = Rows::new(tokenizer, options, &mut sums, None);
        if tokenizer.model().dropout().is_none() {
            // Most words are no token, and need not be encoded.
            let of_one_token = tokenizer.one_token_words();
            let may_be_single = |word: &[u8]| of_one_token.as_ref().is_none_or(|words| words.may_have(word));
            table.for_each(|word, _| if may_be_single(word) { rows.push(b" ", word, 1) } else { Ok(()) })?;
        } else {
            // What is drawn for a word does not depend on the order of a table.
            let mut table = table.clone();
            table.sort();
            let mut sorted = table.sorted();
            while sorted.advance() {
                rows.push(b" ", sorted.piece(), 1)?;
            }
        }
        rows.encode()?;
        Ok(sums.single)
    }
}
