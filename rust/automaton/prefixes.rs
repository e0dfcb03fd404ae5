//! `Prefixes`: where in a text one of very many strings may begin.
//!
//! A bit for the hash of each string's first bytes: at most places of a text none
//! of them is set, and the automaton need not walk there. It never passes over a
//! place where a string stands; strings may be chosen so that it holds nearly
//! everywhere, which costs what the automaton alone would.

/// Bits for each string: one place in thirty-two holds by chance.
const BITS: usize = 32;

/// The most of them: 1 MiB.
const MOST_BITS: usize = 1 << 23;

/// Fewer bytes would hold nearly everywhere.
const LEAST_LEN: usize = 3;

/// The beginnings of some strings.
pub(crate) struct Prefixes {
    bits: Box<[u64]>,
    /// Which bits of a hash say where its own is.
    shift: u32,
    /// The bytes of a word that belong to a beginning, and how many they are.
    mask: u64,
    len: usize,
}

impl Prefixes {
    /// The beginnings of strings; `None` where they would hold nearly everywhere.
    pub(super) fn new<S: AsRef<[u8]>>(strings: &[S]) -> Option<Self> {
        let len = strings.iter().map(|string| string.as_ref().len()).min()?.min(8);
        if len < LEAST_LEN {
            return None;
        }
        let n_bits = (strings.len() * BITS).next_power_of_two().clamp(64, MOST_BITS);
        let mut found = Self {
            bits: vec![0; n_bits / 64].into_boxed_slice(),
            shift: u64::BITS - n_bits.trailing_zeros(),
            mask: u64::MAX >> (64 - 8 * len),
            len,
        };
        for string in strings {
            let bit = found.bit(word(string.as_ref(), 0));
            found.bits[bit / 64] |= 1 << (bit % 64);
        }
        Some(found)
    }

    #[inline(always)]
    fn bit(&self, word: u64) -> usize {
        // The multiplier of Fibonacci hashing; high bits are the best mixed.
        ((word & self.mask).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    #[inline(always)]
    fn holds(&self, word: u64) -> bool {
        let bit = self.bit(word);
        self.bits[bit / 64] >> (bit % 64) & 1 == 1
    }

    /// The first place from `at` on where a string may begin.
    #[inline]
    pub(super) fn next(&self, text: &[u8], mut at: usize) -> Option<usize> {
        while let Some(bytes) = text.get(at..).and_then(|rest| rest.first_chunk()) {
            if self.holds(u64::from_le_bytes(*bytes)) {
                return Some(at);
            }
            at += 1;
        }
        (at..(text.len() + 1).saturating_sub(self.len)).find(|&at| self.holds(word(text, at)))
    }
}

/// The bytes from `at` on, up to eight, as a little-endian word.
fn word(text: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(text.iter().skip(at)) {
        *to = *from;
    }
    u64::from_le_bytes(bytes)
}
