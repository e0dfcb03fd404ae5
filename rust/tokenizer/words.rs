//! `Words`: the number of the word that each id is of, as Hugging Face counts them.
//!
//! A word is a piece that the pre-tokenizer cuts, or an added token found in the text. By the
//! stages and the model, as the definition of spans: asked for, not kept beside ids.

use super::input::Input;
use super::output::{Keeps, Output};
use super::{EncodeOptions, Tokenizer};
use crate::error::Result;
use crate::memory;

/// The word of each id.
#[derive(Default)]
pub(super) struct WordOfIds {
    of: Vec<u32>,
    n: u32,
}

impl WordOfIds {
    /// Ends a word: the ids up to the `n`th are its own, if they are no earlier one's.
    pub(super) fn end(&mut self, n: usize) -> Result<()> {
        memory::resize(&mut self.of, n, self.n)?;
        self.n += 1;
        Ok(())
    }
}

impl Tokenizer {
    /// The number of the word of each id that a text becomes, the template left out.
    ///
    /// # Errors
    /// As [`Tokenizer::encode`].
    pub fn words(&self, text: Input<'_>, options: &EncodeOptions<'_>) -> Result<Vec<u32>> {
        let mut output = Output::new(Keeps::SpansByModel, None, options.stop);
        output.words = Some(WordOfIds::default());
        self.encode_into(text, options, &mut output)?;
        Ok(output.words.unwrap_or_default().of)
    }
}
