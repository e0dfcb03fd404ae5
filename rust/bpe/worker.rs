//! `Worker`: what one thread needs to encode pieces, with its cache.
//!
//! The cache is filled only by running the model, so it never decides an id.
//! It is direct-mapped and bounded: a piece of at most 15 bytes and 3 tokens
//! takes one entry of 32 bytes, and a new piece takes the place of an old one.
//! It grows from [`MIN_ENTRIES`] to [`MAX_ENTRIES`] as misses come, so a short
//! text pays for a short cache.

use super::merge::Symbols;
use super::{Bpe, Unit};
use crate::vocab::TokenId;

const MIN_ENTRIES: usize = 1 << 9;
/// 2 MiB, beyond which the cache costs more in cache misses than it saves.
const MAX_ENTRIES: usize = 1 << 16;
/// The longest piece that is cached.
const MAX_KEY: usize = 15;
/// Marks the key of a run inside a piece: it is merged, never taken whole.
const RUN: u128 = 1 << 127;

#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Entry {
    /// The bytes of the piece, its length in the top byte; 0 is empty.
    key: u128,
    ids: [TokenId; 3],
    n: u32,
}

/// BPE-dropout: a probability and a seeded source of numbers.
///
/// SplitMix64 (Steele et al. 2014): small, and the same numbers everywhere.
pub struct Dropout {
    /// `p` as a threshold over 64-bit numbers.
    threshold: u64,
    state: u64,
}

impl Dropout {
    /// Skips a merge with probability `p`.
    pub fn new(p: f32, seed: u64) -> Self {
        // A cast from float saturates, so 1.0 gives the greatest threshold.
        Self { threshold: (f64::from(p) * 2f64.powi(64)) as u64, state: seed }
    }

    pub(super) fn skips(&mut self) -> bool {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        // `>=` of the complement: probability 1 skips always, 0 never.
        self.threshold == u64::MAX || (z ^ (z >> 31)) < self.threshold
    }
}

/// The buffers and the cache of one thread; belongs to one [`Bpe`].
#[derive(Default)]
pub struct Worker {
    symbols: Symbols,
    cache: Vec<Entry>,
    misses: usize,
    dropout: Option<Dropout>,
}

impl Worker {
    /// Sets the dropout of the pieces that follow.
    pub fn set_dropout(&mut self, dropout: Option<Dropout>) {
        self.dropout = dropout;
    }

    /// Appends the ids of the piece `text[start..end]`.
    #[inline]
    pub fn encode(&mut self, bpe: &Bpe, text: &[u8], start: usize, end: usize, ids: &mut Vec<TokenId>) {
        let len = end - start;
        if len > MAX_KEY || self.dropout.is_some() {
            return self.encode_long(bpe, text, start, end, ids);
        }
        let key = key(text, start, len);
        if !self.hit(key, ids) {
            self.miss(bpe, &text[start..end], key, ids);
        }
    }

    /// Appends the ids of a cached piece; `false` if it is not cached.
    #[inline]
    fn hit(&self, key: u128, ids: &mut Vec<TokenId>) -> bool {
        let Some(entry) = self.cache.get(self.slot(key)) else { return false };
        if entry.key != key {
            return false;
        }
        // Three words are written whatever the number, then cut: no branch.
        let n = ids.len() + entry.n as usize;
        ids.extend_from_slice(&entry.ids);
        ids.truncate(n);
        true
    }

    /// Appends the ids of a piece and the bytes that each covers.
    pub fn encode_with_lens(&mut self, bpe: &Bpe, piece: &[u8], ids: &mut Vec<TokenId>, lens: &mut Vec<u32>) {
        bpe.encode_symbols(piece, &mut self.symbols, &mut self.dropout);
        ids.extend_from_slice(&self.symbols.ids);
        lens.extend_from_slice(&self.symbols.lens);
    }

    #[inline(never)]
    fn encode_long(&mut self, bpe: &Bpe, text: &[u8], start: usize, end: usize, ids: &mut Vec<TokenId>) {
        let piece = &text[start..end];
        if let Some(cuts) = bpe.cuts.as_ref().filter(|_| self.dropout.is_none() && !piece.is_ascii()) {
            let from = ids.len();
            let done = cuts.runs(piece, |run_start, run_end| {
                if run_end - run_start == piece.len() {
                    bpe.encode_symbols(piece, &mut self.symbols, &mut None);
                    ids.extend_from_slice(&self.symbols.ids);
                } else {
                    self.encode_run(bpe, text, start + run_start, start + run_end, ids);
                }
            });
            if done.is_some() {
                return;
            }
            ids.truncate(from);
        }
        bpe.encode_symbols(piece, &mut self.symbols, &mut self.dropout);
        ids.extend_from_slice(&self.symbols.ids);
    }

    /// Appends the ids of a run inside a piece.
    fn encode_run(&mut self, bpe: &Bpe, text: &[u8], start: usize, end: usize, ids: &mut Vec<TokenId>) {
        if end - start > MAX_KEY {
            bpe.encode_run(&text[start..end], &mut self.symbols, &mut None);
            ids.extend_from_slice(&self.symbols.ids);
            return;
        }
        let key = key(text, start, end - start) | RUN;
        if !self.hit(key, ids) {
            self.miss(bpe, &text[start..end], key, ids);
        }
    }

    #[inline(never)]
    fn miss(&mut self, bpe: &Bpe, piece: &[u8], key: u128, ids: &mut Vec<TokenId>) {
        if key & RUN == 0 {
            bpe.encode_symbols(piece, &mut self.symbols, &mut None);
        } else {
            bpe.encode_run(piece, &mut self.symbols, &mut None);
        }
        ids.extend_from_slice(&self.symbols.ids);
        self.misses += 1;
        if self.misses > self.cache.len() && self.cache.len() < MAX_ENTRIES {
            self.grow();
        }
        if self.symbols.ids.len() <= 3 {
            let mut entry = Entry { key, n: self.symbols.ids.len() as u32, ..Entry::default() };
            entry.ids[..self.symbols.ids.len()].copy_from_slice(&self.symbols.ids);
            let slot = self.slot(key);
            self.cache[slot] = entry;
        }
    }

    fn grow(&mut self) {
        let size = (self.cache.len() * 4).clamp(MIN_ENTRIES, MAX_ENTRIES);
        let old = std::mem::replace(&mut self.cache, vec![Entry::default(); size]);
        for entry in old.into_iter().filter(|entry| entry.key != 0) {
            let slot = self.slot(entry.key);
            self.cache[slot] = entry;
        }
    }

    #[inline]
    fn slot(&self, key: u128) -> usize {
        let folded = (key as u64 ^ (key >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // The high bits are the well-mixed ones; the size is a power of two.
        ((folded ^ folded >> 32) >> 16) as usize & self.cache.len().wrapping_sub(1)
    }
}

/// At most 15 bytes with their length; never 0, as a piece is not empty.
#[inline]
fn key(text: &[u8], start: usize, len: usize) -> u128 {
    let word = match text.get(start..start + 16) {
        Some(bytes) => {
            let mut word = [0; 16];
            word.copy_from_slice(bytes);
            u128::from_le_bytes(word) & ((1 << (8 * len)) - 1)
        }
        None => {
            let mut word = [0; 16];
            word[..len].copy_from_slice(&text[start..start + len]);
            u128::from_le_bytes(word)
        }
    };
    word | (len as u128) << 120
}

impl Bpe {
    /// Whether the bytes that tokens cover are the lengths of the tokens.
    pub fn lens_are_token_lens(&self) -> bool {
        self.options.unit == Unit::Bytes && !self.has_affixes() && self.is_lossless()
    }
}
