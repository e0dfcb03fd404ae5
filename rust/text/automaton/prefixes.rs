//! `Prefixes`: finds where one of very many strings may begin in a text.
//!
//! Stores a few bits for the hash of each string's first bytes. At most positions of a text some
//! bit of the hash is not set, so no string begins there. If no string is short, only every few
//! bytes of a text are checked first: whether they occur anywhere in the beginning of a string (as
//! in Wu & Manber 1994). If the bytes of all strings are in a range without the space, such as `a` to
//! `z`, only positions are checked where a run of such bytes begins that is as long as the shortest
//! string ([`Runs`]): few positions of a text begin eight letters. No occurrence is ever missed. For
//! adversarial strings nearly all positions pass, which costs a few checks per position.

use std::ops::RangeInclusive;

use crate::text::simd::{Block, Kernel, Level, Load, WINDOW, bits};

/// Bits per string, of which up to three are set. One position in 200 passes by chance.
const BITS: usize = 16;

/// The maximum number of bits: 1 MiB.
const MOST_BITS: usize = 1 << 23;

/// With shorter strings nearly every position would pass.
const LEAST_LEN: usize = 3;

/// How many bytes are checked together if not every position is checked. Five letters often match
/// by chance; more bytes require more positions to be checked.
const PART_LEN: usize = 6;

/// The maximum distance between checked positions, and so the number of parts that are stored per
/// string.
const MOST_STRIDE: usize = 8;

/// How many positions are checked for runs together.
const BLOCK: usize = 8 * WINDOW;
/// With a shorter run nearly every word would pass.
const LEAST_RUN: usize = 6;
/// Longer runs would rule out few words more. At most [`WINDOW`].
const MOST_RUN: usize = 16;

/// The beginnings of some strings.
pub(crate) struct Prefixes {
    runs: Option<Runs>,
    beginnings: PrefixFilter,
    len: usize,
    /// The parts of the first bytes of strings, at each of `stride` offsets.
    parts: PrefixFilter,
    stride: usize,
}

/// A set of words by hash: a Bloom filter in which all bits of a word are in one machine word
/// (Putze et al. 2007).
struct PrefixFilter {
    bits: Box<[u64]>,
    /// The shift that gives the index of the machine word from a hash.
    shift: u32,
    /// Which bytes of a word count.
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

    /// The index of the machine word for `word`, and its bits.
    #[inline(always)]
    fn place(&self, word: u64) -> (usize, u64) {
        // Fibonacci hashing: the high bits of the product are mixed best.
        let hash = (word & self.mask).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let bit = |shift: u32| 1 << (hash >> shift & 63);
        // The index uses at most the 17 highest bits.
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
    /// The beginnings of these strings; `None` if nearly every position would pass.
    pub(super) fn new<S: AsRef<[u8]>>(strings: &[S]) -> Option<Self> {
        let shortest = strings.iter().map(|string| string.as_ref().len()).min()?;
        if shortest < LEAST_LEN {
            return None;
        }
        let len = shortest.min(8);
        let runs = Runs::of(strings, shortest);
        // Where only runs are checked, parts are not.
        let stride = match runs {
            Some(_) => 1,
            None => (shortest + 1).saturating_sub(PART_LEN).clamp(1, MOST_STRIDE),
        };
        let mut beginnings = PrefixFilter::new(len, strings.len());
        let mut parts = PrefixFilter::new(PART_LEN, if stride > 1 { strings.len() * stride } else { 0 });
        for string in strings {
            beginnings.insert(word(string.as_ref(), 0));
            if stride > 1 {
                (0..stride).for_each(|at| parts.insert(word(string.as_ref(), at)));
            }
        }
        Some(Self { runs, beginnings, len, parts, stride })
    }

    /// The first position from `at` on where a string may begin.
    #[inline]
    pub(super) fn next(&self, text: &[u8], mut at: usize, seen: &mut Seen) -> Option<usize> {
        if let Some(runs) = &self.runs {
            return runs.next(&self.beginnings, text, at, seen);
        }
        if self.stride > 1 {
            // A string that begins here or later contains the bytes at one of these positions.
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

/// Finds positions where a run of the bytes that the strings consist of begins as a string does.
struct Runs {
    /// From the least byte of all strings to the greatest.
    bytes: RangeInclusive<u8>,
    len: usize,
}

impl Runs {
    /// For strings with at least `shortest` bytes; `None` if these are too few, or if the range includes the
    /// space, so that a text is one run.
    fn of<S: AsRef<[u8]>>(strings: &[S], shortest: usize) -> Option<Self> {
        let bytes = || strings.iter().flat_map(AsRef::as_ref).copied();
        let bytes = bytes().min()?..=bytes().max()?;
        let len = shortest.min(MOST_RUN);
        (len >= LEAST_RUN && !bytes.contains(&b' ')).then_some(Self { bytes, len })
    }

    /// The first such position from `at` on.
    #[inline]
    fn next(&self, beginnings: &PrefixFilter, text: &[u8], mut at: usize, seen: &mut Seen) -> Option<usize> {
        loop {
            if let Some(place) = at.checked_sub(seen.start).filter(|place| *place < BLOCK) {
                if let Some(found) = seen.next(place) {
                    return Some(seen.start + found);
                }
                at = seen.start + BLOCK;
            }
            let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
            let mut last = [0; BLOCK + WINDOW];
            let block = rest.first_chunk().unwrap_or_else(|| {
                last[..rest.len()].copy_from_slice(rest);
                &last
            });
            Level::best().run(RunsOfBlock { runs: self, block, begins: &mut seen.begins });
            seen.start = at;
            for (index, begins) in seen.begins.iter_mut().enumerate() {
                // All at once, because nothing predicts at which word of a text the filter says no.
                *begins = bits(*begins).fold(0, |found, bit| {
                    let place = index * WINDOW + bit;
                    let may_begin = place < rest.len() && beginnings.holds(word(block, place));
                    found | u64::from(may_begin) << bit
                });
            }
        }
    }
}

/// The positions of the latest block where a string may begin, one bit each.
pub(super) struct Seen {
    start: usize,
    begins: [u64; BLOCK / WINDOW],
}

impl Default for Seen {
    /// No block yet.
    fn default() -> Self {
        Self { start: usize::MAX, begins: [0; BLOCK / WINDOW] }
    }
}

impl Seen {
    /// The first of them from `place` on in the block.
    #[inline]
    fn next(&self, place: usize) -> Option<usize> {
        let mut wanted = u64::MAX << (place % WINDOW);
        for (index, &begins) in self.begins.iter().enumerate().skip(place / WINDOW) {
            wanted &= begins;
            if wanted != 0 {
                return Some(index * WINDOW + wanted.trailing_zeros() as usize);
            }
            wanted = u64::MAX;
        }
        None
    }
}

/// Finds the positions of a block where a run begins.
struct RunsOfBlock<'a> {
    runs: &'a Runs,
    block: &'a [u8; BLOCK + WINDOW],
    begins: &'a mut [u64; BLOCK / WINDOW],
}

impl Kernel for RunsOfBlock<'_> {
    #[inline(always)]
    fn run(self, load: impl Load) {
        let Runs { bytes, len } = self.runs;
        let (first, last) = (*bytes.start(), *bytes.end());
        let (windows, _) = self.block.as_chunks();
        // Each bit says whether the `n` bytes from its position on are in the range.
        let mut inside = [0; BLOCK / WINDOW + 1];
        for (inside, bytes) in inside.iter_mut().zip(windows) {
            let block = load.load(bytes);
            *inside = if first.is_ascii() == last.is_ascii() {
                block.range(first, last)
            } else {
                block.range(first, 0x7F) | block.range(0x80, last)
            };
        }
        let mut n = 1;
        while n < *len {
            let more = n.min(len - n);
            for at in 0..BLOCK / WINDOW {
                inside[at] &= inside[at] >> more | inside[at + 1] << (WINDOW - more);
            }
            inside[BLOCK / WINDOW] &= inside[BLOCK / WINDOW] >> more;
            n += more;
        }
        self.begins.copy_from_slice(&inside[..BLOCK / WINDOW]);
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
