//! Blocks as eight words of 64 bits, for any machine.

use super::block::{Block, Bytes, Load};

const HIGH: u64 = every(0x80);

/// A word with the same byte eight times.
const fn every(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The portable form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portable;

/// The bytes, eight per word.
pub(super) struct EightWords([u64; 8]);

impl Load for Portable {
    type Block = EightWords;

    #[inline(always)]
    fn load(self, bytes: &Bytes) -> EightWords {
        let (eights, _) = bytes.as_chunks::<8>();
        let mut words = [0; 8];
        for (word, eight) in words.iter_mut().zip(eights) {
            *word = u64::from_le_bytes(*eight);
        }
        EightWords(words)
    }
}

impl EightWords {
    /// The mask of the bytes whose highest bit `test` sets.
    #[inline(always)]
    fn mask(&self, test: impl Fn(u64) -> u64) -> u64 {
        // The product moves the bits 0, 8, ... 56 into the highest byte, in order. All partial
        // products are at different bits, so nothing carries.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        self.0.iter().enumerate().fold(0, |mask, (at, word)| {
            let byte = ((test(*word) & HIGH) >> 7).wrapping_mul(GATHER) >> 56;
            mask | byte << (8 * at)
        })
    }
}

/// The highest bit of each byte in `first..=last`, both below 0x80, for bytes of seven bits. No sum
/// carries, because none exceeds 0xFF.
#[inline(always)]
const fn between(seven: u64, first: u8, last: u8) -> u64 {
    (seven + every(0x80 - first)) & !(seven + every(0x7F - last))
}

impl Block for EightWords {
    #[inline(always)]
    fn eq(&self, byte: u8) -> u64 {
        self.range(byte, byte)
    }

    #[inline(always)]
    fn either(&self, one: u8, other: u8) -> u64 {
        debug_assert!(one < 0x80 && other < 0x80);
        self.mask(|word| {
            let seven = word & !HIGH;
            (between(seven, one, one) | between(seven, other, other)) & !word
        })
    }

    #[inline(always)]
    fn range(&self, first: u8, last: u8) -> u64 {
        debug_assert!(first <= last && first >> 7 == last >> 7);
        let is_long = if first < 0x80 { 0 } else { HIGH };
        self.mask(|word| between(word & !HIGH, first & 0x7F, last & 0x7F) & !(word ^ is_long))
    }

    #[inline(always)]
    fn letters(&self) -> u64 {
        self.mask(|word| between((word | every(0x20)) & !HIGH, b'a', b'z') & !word)
    }

    #[inline(always)]
    fn long(&self) -> u64 {
        self.mask(|word| word)
    }
}
