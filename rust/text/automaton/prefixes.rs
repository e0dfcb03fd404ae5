//! `Prefixes`: where in a text one of very many strings may begin.
//!
//! A few bits for the hash of each string's first bytes: at most places of a text not
//! all of one hash are set, and nobody need look there. Where no string is short, only each few
//! bytes of a text are looked at first, and whether what stands there stands in the
//! beginning of a string, anywhere in it (as in Wu & Manber 1994). It never passes over a
//! place where a string stands; strings may be chosen so that it holds nearly
//! everywhere, which costs some looks a place.

/// Bits for each string, of which it sets up to three: one place in 200 holds by chance.
const BITS: usize = 16;

/// The most of them: 1 MiB.
const MOST_BITS: usize = 1 << 23;

/// Fewer bytes would hold nearly everywhere.
const LEAST_LEN: usize = 3;

/// Bytes that are looked at at once where not each place is. Of five letters a text has
/// many by chance; more leave more places to look at.
const PART_LEN: usize = 6;

/// The most places a string is looked for from at once: so many parts of it are kept.
const MOST_STRIDE: usize = 8;

/// The beginnings of some strings.
pub(crate) struct Prefixes {
    beginnings: PrefixFilter,
    len: usize,
    /// What stands in the first bytes of strings, each so many places.
    parts: PrefixFilter,
    stride: usize,
}

/// A set of the first bytes of words, by their hashes: a Bloom filter whose bits for a word
/// lie in one place of memory (Putze et al. 2007).
struct PrefixFilter {
    bits: Box<[u64]>,
    /// Which bits of a hash say where its own are.
    shift: u32,
    /// The bytes of a word that count.
    mask: u64,
}

impl PrefixFilter {
    fn new(len: usize, n: usize) -> Self {
        let n_bits = (n * BITS).next_power_of_two().clamp(128, MOST_BITS);
        Self {
            bits: vec![0; n_bits / 64].into_boxed_slice(),
            shift: u64::BITS - (n_bits / 64).trailing_zeros(),
            mask: u64::MAX >> (64 - 8 * len),
        }
    }

    /// Where the bits of a word are, and which.
    #[inline(always)]
    fn place(&self, word: u64) -> (usize, u64) {
        // The multiplier of Fibonacci hashing; high bits are the best mixed.
        let hash = (word & self.mask).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let bit = |shift: u32| 1 << (hash >> shift & 63);
        // The place has at most the 17 highest.
        ((hash >> self.shift) as usize, bit(41) | bit(35) | bit(29))
    }

    fn insert(&mut self, word: u64) {
        let (at, bits) = self.place(word);
        self.bits[at] |= bits;
    }

    #[inline(always)]
    fn holds(&self, word: u64) -> bool {
        let (at, bits) = self.place(word);
        self.bits[at] & bits == bits
    }
}

impl Prefixes {
    /// The beginnings of strings; `None` where they would hold nearly everywhere.
    pub(super) fn new<S: AsRef<[u8]>>(strings: &[S]) -> Option<Self> {
        let shortest = strings.iter().map(|string| string.as_ref().len()).min()?;
        if shortest < LEAST_LEN {
            return None;
        }
        let len = shortest.min(8);
        let stride = (shortest + 1).saturating_sub(PART_LEN).clamp(1, MOST_STRIDE);
        let mut beginnings = PrefixFilter::new(len, strings.len());
        let mut parts = PrefixFilter::new(PART_LEN, if stride > 1 { strings.len() * stride } else { 0 });
        for string in strings {
            beginnings.insert(word(string.as_ref(), 0));
            if stride > 1 {
                (0..stride).for_each(|at| parts.insert(word(string.as_ref(), at)));
            }
        }
        Some(Self { beginnings, len, parts, stride })
    }

    /// The first place from `at` on where a string may begin.
    #[inline]
    pub(super) fn next(&self, text: &[u8], mut at: usize) -> Option<usize> {
        if self.stride > 1 {
            // A string that begins here or later holds what stands at one of these places.
            let mut last = at + self.stride - 1;
            while let Some(bytes) = text.get(last..).and_then(|rest| rest.first_chunk()) {
                if self.parts.holds(u64::from_le_bytes(*bytes)) {
                    let found = (at..=last).find(|&at| self.begins(text, at));
                    if found.is_some() {
                        return found;
                    }
                }
                at = last + 1;
                last += self.stride;
            }
        }
        while let Some(bytes) = text.get(at..).and_then(|rest| rest.first_chunk()) {
            if self.beginnings.holds(u64::from_le_bytes(*bytes)) {
                return Some(at);
            }
            at += 1;
        }
        (at..(text.len() + 1).saturating_sub(self.len)).find(|&at| self.begins(text, at))
    }

    fn begins(&self, text: &[u8], at: usize) -> bool {
        self.beginnings.holds(word(text, at))
    }
}

/// The bytes from `at` on, up to eight, as a little-endian word.
#[inline]
fn word(text: &[u8], at: usize) -> u64 {
    if let Some(bytes) = text.get(at..).and_then(|rest| rest.first_chunk()) {
        return u64::from_le_bytes(*bytes);
    }
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(text.iter().skip(at)) {
        *to = *from;
    }
    u64::from_le_bytes(bytes)
}
