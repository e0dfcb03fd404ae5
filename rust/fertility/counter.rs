//! `FertilityCounter`: sums the words of texts as they come.

use super::rows::Rows;
use super::units::Units;
use super::{DistinctWords, Fertility};
use crate::error::Result;
use crate::tokenizer::{EncodeOptions, Input, Tokenizer};

/// Sums over the words of texts, of which some may wait to be encoded.
pub struct FertilityCounter {
    sums: Fertility,
    units: Units,
}

impl FertilityCounter {
    /// Nothing yet, of a tokenizer.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub fn new(tokenizer: &Tokenizer) -> Result<Self> {
        Ok(Self { sums: Fertility::new(tokenizer)?, units: Units::default() })
    }

    /// Adds texts, which the same tokenizer encodes without the template's tokens.
    ///
    /// `distinct` takes their words, too: all of them after [`FertilityCounter::finish`].
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
        let are_short = texts.iter().all(|text| u32::try_from(text.len()).is_ok());
        let Some(cuts) = tokenizer.word_cuts().filter(|_| are_short) else {
            return self.sums.add(tokenizer, texts, &[], options, distinct);
        };
        self.units.add(texts, &cuts, options.threads)?;
        if self.units.are_many() { self.encode(tokenizer, options, distinct) } else { Ok(()) }
    }

    /// Encodes what waits; returns the sums.
    ///
    /// # Errors
    /// As there.
    pub fn finish(
        &mut self,
        tokenizer: &Tokenizer,
        options: EncodeOptions<'_>,
        distinct: Option<&mut DistinctWords>,
    ) -> Result<&Fertility> {
        self.encode(tokenizer, options, distinct)?;
        Ok(&self.sums)
    }

    fn encode(
        &mut self,
        tokenizer: &Tokenizer,
        options: EncodeOptions<'_>,
        distinct: Option<&mut DistinctWords>,
    ) -> Result<()> {
        self.units.encode(&mut Rows::new(tokenizer, options, &mut self.sums, distinct))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters, spaces and line ends by a fixed rule, in texts of any length.
    fn texts() -> Vec<String> {
        let mut state = 1u64;
        let mut next = |n: u64| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state >> 33) % n
        };
        let letters = ["a", "b", "ab", "é", ".", "'", " ", " ", "  ", "\n", "\u{3000}"];
        let mut text = |n: u64| (0..n).map(|_| letters[next(letters.len() as u64) as usize]).collect();
        (0..400).map(|n| text(n * n % 997)).collect()
    }

    #[test]
    fn units_come_to_what_texts_come_to() {
        let file = r#"{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3, "Ġa": 4, "Ġab": 5,
            "Ċ": 6, ".": 7, "'": 8, "Ã": 9, "©": 10, "Ã©": 11, "ã": 12, "Ģ": 13},
            "merges": ["a b", "Ġ a", "Ġ ab", "Ã ©"]},
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false}}"#;
        let tokenizer = Tokenizer::from_bytes(file.as_bytes()).unwrap();
        let texts = texts();
        let inputs: Vec<Input<'_>> = texts.iter().map(Input::from).collect();
        let options = EncodeOptions::default();
        let (mut plain, mut words) = (Fertility::new(&tokenizer).unwrap(), DistinctWords::default());
        plain.add(&tokenizer, &inputs, &[], options, Some(&mut words)).unwrap();
        for threads in [1, 3] {
            let options = EncodeOptions { threads: Some(threads), ..options };
            let mut counter = FertilityCounter::new(&tokenizer).unwrap();
            let (mut distinct, mut n_early) = (DistinctWords::default(), 0);
            for part in inputs.chunks(7) {
                counter.add(&tokenizer, part, options, Some(&mut distinct)).unwrap();
                n_early += u64::from(counter.sums.words > 0);
            }
            // Some were encoded before the end, as the memory of those that wait is bounded.
            assert!(n_early > 0);
            let sums = counter.finish(&tokenizer, options, Some(&mut distinct)).unwrap();
            assert_eq!(*sums, plain);
            assert_eq!(distinct.count().unwrap(), words.count().unwrap());
            let single = |words: &mut DistinctWords| words.single(&tokenizer, options).unwrap();
            assert_eq!(single(&mut distinct), single(&mut words));
        }
    }
}
