//! `Starts`: where the tokens of a text start, a bit for each of its bytes.
//!
//! Where tokens stand side by side, a word is touched by the one at its first byte and by those that
//! start behind it: so many are counted 64 places at a time.

use std::ops::Range;

use super::Fertility;
use super::words::Words;
use crate::error::Result;
use crate::memory;
use crate::pre_tokenizer::simd::{Level, Work};

const BITS: usize = u64::BITS as usize;

/// Where tokens start.
#[derive(Default)]
pub(super) struct Starts {
    bits: Vec<u64>,
}

impl Starts {
    /// Takes all away, for a text of so many bytes.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub(super) fn begin(&mut self, n_bytes: usize) -> Result<()> {
        self.bits.clear();
        // What is read behind the last is there.
        memory::resize(&mut self.bits, n_bytes / BITS + 2, 0)
    }

    /// A token starts here.
    #[inline(always)]
    pub(super) fn put(&mut self, at: usize) {
        if let Some(bits) = self.bits.get_mut(at / BITS) {
            *bits |= 1 << (at % BITS);
        }
    }

    /// Adds words to sums, so many times, if tokens stand side by side in all of them.
    #[inline]
    pub(super) fn count(&self, words: Words<'_>, times: u64, sums: &mut Fertility) {
        Level::best().run(Count { starts: self, words, times, sums });
    }

    /// How many tokens touch a word, if tokens stand side by side in all of it.
    #[inline(always)]
    fn n_touching(&self, word: Range<usize>) -> u64 {
        let mut n = 1;
        let mut at = word.start + 1;
        while let left @ 1.. = word.end.saturating_sub(at) {
            n += u64::from((self.read(at) << BITS.saturating_sub(left)).count_ones());
            at += BITS;
        }
        n
    }

    /// The bits of 64 places.
    #[inline(always)]
    fn read(&self, at: usize) -> u64 {
        match self.bits.get(at / BITS..) {
            Some([low, high, ..]) => low >> (at % BITS) | (high << 1) << (BITS - 1 - at % BITS),
            _ => 0,
        }
    }
}

/// Counts bits, which vectors of today have an instruction for.
struct Count<'a> {
    starts: &'a Starts,
    words: Words<'a>,
    times: u64,
    sums: &'a mut Fertility,
}

impl Work for Count<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { starts, words, times, sums } = self;
        words.for_each(|word| sums.add_word(starts.n_touching(word), times));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_every_word_are_counted() {
        let places: Vec<usize> = (0..400).filter(|n| n % 7 == 0 || n % 64 > 61 || n / 130 == 1).collect();
        let mut starts = Starts::default();
        for _ in 0..2 {
            starts.begin(400).unwrap();
            places.iter().for_each(|&at| starts.put(at));
            for start in 0..400 {
                for end in start + 1..=400 {
                    let behind = places.iter().filter(|&&at| start < at && at < end).count() as u64;
                    assert_eq!(starts.n_touching(start..end), 1 + behind, "{start}..{end}");
                }
            }
        }
    }
}
