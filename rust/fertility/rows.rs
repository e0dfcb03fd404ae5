//! `Rows`: stretches of text that wait to be encoded, several in a row.

use super::{DistinctWords, Fertility};
use crate::error::Result;
use crate::memory;
use crate::tokenizer::{EncodeOptions, Input, Tokenizer, WordCuts};

/// Bytes that are encoded at a time, or a little more.
const AT_ONCE: usize = 1 << 20;
/// Bytes of a row, or a little more: threads share rows.
const ROW_BYTES: usize = 1 << 14;

/// Stretches in rows. Those of a row occur equally often.
pub(super) struct Rows<'a> {
    tokenizer: &'a Tokenizer,
    options: EncodeOptions<'a>,
    /// What says that two stretches may share a row, if anything does.
    cuts: Option<WordCuts<'a>>,
    text: Vec<u8>,
    /// Where rows start.
    starts: Vec<usize>,
    /// How often the stretches of each occur.
    counts: Vec<u64>,
    sums: &'a mut Fertility,
    distinct: Option<&'a mut DistinctWords>,
}

impl<'a> Rows<'a> {
    /// None yet; they are added to sums, and their words to `distinct`.
    pub(super) fn new(
        tokenizer: &'a Tokenizer,
        options: EncodeOptions<'a>,
        sums: &'a mut Fertility,
        distinct: Option<&'a mut DistinctWords>,
    ) -> Self {
        let (text, starts, counts) = (Vec::new(), Vec::new(), Vec::new());
        Self { tokenizer, options, cuts: tokenizer.word_cuts(), text, starts, counts, sums, distinct }
    }

    /// Adds a stretch that stands behind some white space, and occurs so often.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_batch`].
    pub(super) fn push(&mut self, space: &[u8], stretch: &[u8], count: u64) -> Result<()> {
        if self.text.len() >= AT_ONCE {
            self.encode()?;
        }
        // A row costs as much as several stretches.
        let is_joined = self.counts.last() == Some(&count)
            && self.starts.last().is_some_and(|start| self.text.len() - start < ROW_BYTES)
            && self
                .cuts
                .as_ref()
                .is_some_and(|cuts| cuts.between(&self.text, if space.is_empty() { stretch } else { space }));
        if !is_joined {
            memory::push(&mut self.starts, self.text.len())?;
            memory::push(&mut self.counts, count)?;
        }
        memory::extend(&mut self.text, space)?;
        memory::extend(&mut self.text, stretch)
    }

    /// Encodes those that wait.
    ///
    /// # Errors
    /// As there.
    pub(super) fn encode(&mut self) -> Result<()> {
        let ends = self.starts.iter().copied().skip(1).chain([self.text.len()]);
        let mut rows: Vec<Input<'_>> = memory::reserved(self.starts.len())?;
        rows.extend(self.starts.iter().zip(ends).map(|(&start, end)| Input::Bytes(&self.text[start..end])));
        let distinct = self.distinct.as_deref_mut();
        self.sums.add(self.tokenizer, &rows, &self.counts, self.options, distinct)?;
        self.text.clear();
        self.starts.clear();
        self.counts.clear();
        Ok(())
    }
}
