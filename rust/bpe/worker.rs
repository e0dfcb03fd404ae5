//! `Worker`: a model and what one thread needs to encode pieces, with a cache.
//!
//! The cache is filled only by running the model, so it never decides an id.
//! Runs inside a piece have keys of their own: they are merged, never taken whole.

use super::Bpe;
use super::merge::Symbols;
use crate::pretoken_cache::{MAX_KEY, PretokenCache, key};
use crate::vocab::TokenId;

/// Marks the key of a run inside a piece: it is merged, never taken whole.
const RUN: u128 = 1 << 127;

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

/// The buffers and the cache of one thread, good for one model alone: what a
/// [`Worker`] leaves behind.
#[derive(Default)]
pub(crate) struct Scratch {
    symbols: Symbols,
    cache: PretokenCache,
    dropout: Option<Dropout>,
}

/// What one thread encodes pieces with; made by [`Bpe::worker`].
pub struct Worker<'m> {
    bpe: &'m Bpe,
    scratch: Box<Scratch>,
}

impl Bpe {
    /// A worker for this model.
    pub fn worker(&self) -> Worker<'_> {
        self.worker_with(Box::default())
    }

    /// A worker that goes on with what another one of this model left behind.
    pub(crate) fn worker_with(&self, scratch: Box<Scratch>) -> Worker<'_> {
        Worker { bpe: self, scratch }
    }
}

impl Worker<'_> {
    /// What can be kept for another worker of the same model: without what long
    /// texts took.
    pub(crate) fn into_scratch(mut self) -> Box<Scratch> {
        self.scratch.symbols.rest();
        self.scratch
    }

    /// Sets the dropout of the pieces that follow.
    pub fn set_dropout(&mut self, dropout: Option<Dropout>) {
        self.scratch.dropout = dropout;
    }

    /// Appends the ids of the piece `text[start..end]`.
    #[inline]
    pub fn encode(&mut self, text: &[u8], start: usize, end: usize, ids: &mut Vec<TokenId>) {
        self.scratch.encode(self.bpe, text, start, end, ids);
    }

    /// Appends the ids of a piece and the bytes that each covers.
    pub fn encode_with_lens(&mut self, piece: &[u8], ids: &mut Vec<TokenId>, lens: &mut Vec<u32>) {
        self.scratch.encode_with_lens(self.bpe, piece, ids, lens);
    }
}

impl Scratch {
    #[inline]
    fn encode(&mut self, bpe: &Bpe, text: &[u8], start: usize, end: usize, ids: &mut Vec<TokenId>) {
        let len = end - start;
        if len > MAX_KEY || self.dropout.is_some() {
            return self.encode_long(bpe, text, start, end, ids);
        }
        let key = key(text, start, len);
        if !self.cache.hit(key, ids) {
            self.miss(bpe, &text[start..end], key, ids);
        }
    }

    fn encode_with_lens(&mut self, bpe: &Bpe, piece: &[u8], ids: &mut Vec<TokenId>, lens: &mut Vec<u32>) {
        if bpe.scored.is_some() && self.dropout.is_none() && self.scored_with_lens(bpe, piece, ids, lens) {
            return;
        }
        bpe.encode_symbols(piece, &mut self.symbols, &mut self.dropout);
        ids.extend_from_slice(&self.symbols.ids);
        lens.extend_from_slice(&self.symbols.lens);
    }

    /// Encodes a text of any length run by run; `false` if it cannot be cut.
    fn scored_with_lens(
        &mut self,
        bpe: &Bpe,
        piece: &[u8],
        ids: &mut Vec<TokenId>,
        lens: &mut Vec<u32>,
    ) -> bool {
        let Some(cuts) = &bpe.cuts else { return false };
        let (from, fused) = (ids.len(), bpe.fused_unk());
        let done = cuts.runs(piece, |start, end| {
            bpe.encode_run(&piece[start..end], &mut self.symbols, &mut None);
            let Symbols { ids: new, lens: new_lens, .. } = &self.symbols;
            let goes_on = ids.len() > from && fused.is_some() && ids.last() == fused.as_ref();
            let skip = usize::from(goes_on && new.first() == fused.as_ref());
            if skip == 1
                && let Some(last) = lens.last_mut()
            {
                *last += new_lens[0];
            }
            ids.extend_from_slice(&new[skip..]);
            lens.extend_from_slice(&new_lens[skip..]);
        });
        if done.is_none() {
            ids.truncate(from);
            lens.truncate(from);
        }
        done.is_some()
    }

    #[inline(never)]
    fn encode_long(&mut self, bpe: &Bpe, text: &[u8], start: usize, end: usize, ids: &mut Vec<TokenId>) {
        let piece = &text[start..end];
        if let Some(cuts) = bpe.cuts.as_ref().filter(|_| self.dropout.is_none() && !piece.is_ascii()) {
            let (from, fused) = (ids.len(), bpe.fused_unk());
            let done = cuts.runs(piece, |run_start, run_end| {
                let before = ids.len();
                if run_end - run_start == piece.len() {
                    bpe.encode_symbols(piece, &mut self.symbols, &mut None);
                    ids.extend_from_slice(&self.symbols.ids);
                } else {
                    self.encode_run(bpe, text, start + run_start, start + run_end, ids);
                }
                // Unknown characters on both sides of a cut are one.
                if let Some(unk) = fused
                    && before > from
                    && ids[before - 1] == unk
                    && ids.get(before) == Some(&unk)
                {
                    ids.remove(before);
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
        if !self.cache.hit(key, ids) {
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
        self.cache.insert(key, &self.symbols.ids);
    }
}

impl Bpe {
    /// Whether the bytes that tokens cover are the lengths of the tokens.
    pub fn lens_are_token_lens(&self) -> bool {
        self.plain_bytes
    }
}
