//! `Sample`: a seeded random sample of documents.
//!
//! A document is in the sample if a hash of its text and the seed is below the share. So the same
//! documents are sampled for any number of threads and shards, in any order, from files or memory;
//! equal documents are sampled together.

use serde::{Deserialize, Serialize};

use crate::corpus::{Document, Source};
use crate::error::{Error, Result};
use crate::random::Random;

/// How much of a corpus to sample, and the seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleOptions {
    /// The size of the sample.
    pub size: SampleSize,
    /// Different seeds give different samples.
    pub seed: u64,
}

/// The size of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleSize {
    /// About this many bytes of a corpus of uncompressed files.
    Bytes(u64),
    /// A share of the documents, more than 0 and at most 1.
    Share(f64),
}

/// The sample that counts were made from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// The probability of a document.
    pub share: f64,
    /// The seed.
    pub seed: u64,
}

impl SampleOptions {
    /// The same sample, as a share of the documents.
    ///
    /// # Errors
    /// As [`Sample::of`].
    #[cfg(feature = "train")]
    pub(crate) fn as_share(&self, source: &dyn Source) -> Result<Self> {
        let share = Sample::of(self, source)?.map_or(1.0, |sample| sample.share);
        Ok(Self { size: SampleSize::Share(share), seed: self.seed })
    }
}

impl Sample {
    /// The sample of a source; `None` if it contains every document.
    ///
    /// # Errors
    /// [`Error::Option`] for a share out of range, or a number of bytes of a source whose size is
    /// unknown.
    pub(super) fn of(options: &SampleOptions, source: &dyn Source) -> Result<Option<Self>> {
        let share = match options.size {
            SampleSize::Share(share) => share,
            SampleSize::Bytes(0) => 0.0,
            // An empty corpus has no document to leave out.
            SampleSize::Bytes(bytes) => (bytes as f64 / source.corpus_bytes()?.max(1) as f64).min(1.0),
        };
        if !(share > 0.0 && share <= 1.0) {
            return Err(Error::Option {
                option: "sample",
                value: match options.size {
                    SampleSize::Share(share) => share.to_string(),
                    SampleSize::Bytes(bytes) => bytes.to_string(),
                },
                reason: "it is a number of bytes, or a share of more than 0 and at most 1".to_owned(),
            });
        }
        Ok((share < 1.0).then_some(Self { share, seed: options.seed }))
    }

    /// Whether a document is in the sample. A final line feed does not matter.
    pub(super) fn takes(&self, document: Document<'_>) -> bool {
        // A double has 53 bits, so the comparison is exact.
        let number = hash(document.without_line_feed().as_bytes(), self.seed) >> 11;
        (number as f64) < self.share * (1u64 << 53) as f64
    }
}

/// The samples of both, without repetitions.
pub(super) fn union(left: &[Sample], right: &[Sample]) -> Vec<Sample> {
    let mut all = [left, right].concat();
    all.sort_by(|a, b| a.share.total_cmp(&b.share).then(a.seed.cmp(&b.seed)));
    all.dedup();
    all
}

/// A hash of bytes with a seed, the same on every machine. Multiplies eight bytes at a time into
/// 128 bits and folds them.
fn hash(bytes: &[u8], seed: u64) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let fold = |state: u64, word: u64| {
        let product = u128::from(state ^ word) * u128::from(FACTOR);
        // The state is added so that a product of 0 does not lose it.
        (product as u64 ^ (product >> 64) as u64).wrapping_add(state.rotate_left(23))
    };
    let mut state = Random::new(seed).next_u64() ^ bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = fold(state, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    Random::new(fold(state, u64::from_le_bytes(last))).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_the_same_on_every_machine() {
        assert_eq!(hash(b"", 0), 0x9DC8_F427_2975_46D5);
        assert_eq!(hash("a line of text\u{e9}".as_bytes(), 7), 0x0446_818A_02B8_9E04);
    }

    #[test]
    fn samples_have_the_asked_share_for_any_seed() {
        for seed in [0, 1, 2, u64::MAX] {
            for share in [0.001, 0.1, 0.5, 0.9] {
                let sample = Sample { share, seed };
                let n = 200_000;
                let taken = (0..n).filter(|n| sample.takes(Document::Text(&format!("document {n}")))).count();
                let expected = share * f64::from(n);
                // Five standard deviations of a binomial distribution.
                let tolerance = 5.0 * (expected * (1.0 - share)).sqrt();
                assert!((taken as f64 - expected).abs() < tolerance, "{seed} {share}: {taken}");
            }
        }
    }

    #[test]
    fn seeds_give_independent_samples() {
        let taken =
            |seed, n: u32| Sample { share: 0.5, seed }.takes(Document::Text(&format!("document {n}")));
        let both = (0..100_000).filter(|&n| taken(1, n) && taken(2, n)).count();
        assert!((24_000..26_000).contains(&both), "{both}");
    }
}
