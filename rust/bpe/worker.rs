//! `Worker`: a model and what one thread needs to encode pieces, with a cache.
//!
//! The cache is filled only by running the model, so it never decides an id.
//! Runs inside a piece have keys of their own: they are merged, never taken whole.

use super::Bpe;
use super::cuts::word_ends;
use super::merge::Symbols;
use crate::piece_table::{Key, MAX_KEY, NO_KEY, key};
use crate::pre_tokenizer::chunks::{CHUNK, Piece};
use crate::pretoken_cache::PretokenCache;
use crate::vocab::TokenId;

/// Marks the key of a run inside a piece: it is merged, never taken whole.
const RUN: Key = 1 << 127;

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

    /// Appends the ids of pieces of a text, in order.
    pub(crate) fn encode_chunk(&mut self, text: &[u8], pieces: &[Piece], ids: &mut Vec<TokenId>) {
        self.scratch.encode_chunk(self.bpe, text, pieces, ids);
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
        let Self { symbols, cache, dropout } = self;
        if dropout.is_some() {
            bpe.encode_symbols(&text[start..end], symbols, dropout);
            ids.extend_from_slice(&symbols.ids);
        } else if len > MAX_KEY || len == 0 {
            Misses { bpe, symbols }.encode_long(cache, text, start, end, ids);
        } else {
            let key = key(text, start, len);
            if !cache.hit(key, ids) {
                Misses { bpe, symbols }.encode_short(cache, &text[start..end], key, ids);
            }
        }
    }

    fn encode_chunk(&mut self, bpe: &Bpe, text: &[u8], pieces: &[Piece], ids: &mut Vec<TokenId>) {
        if self.dropout.is_some() {
            for piece in pieces {
                self.encode(bpe, text, piece.start as usize, piece.end as usize, ids);
            }
            return;
        }
        if bpe.cuts_words {
            return self.encode_words(bpe, text, pieces, ids);
        }
        let mut misses = Misses { bpe, symbols: &mut self.symbols };
        self.cache.encode(text, pieces, ids, |cache, at, key, ids| {
            let (start, end) = (pieces[at].start as usize, pieces[at].end as usize);
            if key == NO_KEY {
                misses.encode_long(cache, text, start, end, ids);
            } else {
                misses.encode_short(cache, &text[start..end], key, ids);
            }
        });
    }

    /// Appends the ids of pieces that are cut before each `▁`.
    fn encode_words(&mut self, bpe: &Bpe, text: &[u8], pieces: &[Piece], ids: &mut Vec<TokenId>) {
        let Self { symbols, cache, .. } = self;
        let mut misses = Misses { bpe, symbols };
        let mut flush = |cache: &mut PretokenCache, words: &[Piece], ids: &mut Vec<TokenId>| {
            cache.encode(text, words, ids, |cache, at, key, ids| {
                let (start, end) = (words[at].start as usize, words[at].end as usize);
                if key == NO_KEY {
                    misses.encode_long(cache, text, start, end, ids);
                } else {
                    misses.encode_short(cache, &text[start..end], key, ids);
                }
            });
        };
        let mut words = [Piece::default(); CHUNK];
        let mut n = 0;
        for piece in pieces {
            let mut start = piece.start;
            for end in word_ends(&text[piece.start as usize..piece.end as usize]) {
                let end = piece.start + end as u32;
                words[n] = Piece { start, end };
                (start, n) = (end, n + 1);
                if n == CHUNK {
                    flush(cache, &words, ids);
                    n = 0;
                }
            }
        }
        flush(cache, &words[..n], ids);
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
}

/// What encodes pieces that the cache does not know.
struct Misses<'a> {
    bpe: &'a Bpe,
    symbols: &'a mut Symbols,
}

impl Misses<'_> {
    /// Appends the ids of a piece with a key, and keeps them.
    #[inline(never)]
    fn encode_short(&mut self, cache: &mut PretokenCache, piece: &[u8], key: Key, ids: &mut Vec<TokenId>) {
        if key & RUN == 0 {
            self.bpe.encode_symbols(piece, self.symbols, &mut None);
        } else {
            self.bpe.encode_run(piece, self.symbols, &mut None);
        }
        ids.extend_from_slice(&self.symbols.ids);
        cache.insert(key, &self.symbols.ids);
    }

    /// Appends the ids of a piece that is too long for a key.
    #[inline(never)]
    fn encode_long(
        &mut self,
        cache: &mut PretokenCache,
        text: &[u8],
        start: usize,
        end: usize,
        ids: &mut Vec<TokenId>,
    ) {
        let (bpe, piece) = (self.bpe, &text[start..end]);
        if let Some(cuts) = bpe.cuts.as_ref().filter(|_| !piece.is_ascii()) {
            let (from, fused) = (ids.len(), bpe.fused_unk());
            let done = cuts.runs(piece, |run_start, run_end| {
                let before = ids.len();
                if run_end - run_start == piece.len() {
                    bpe.encode_symbols(piece, self.symbols, &mut None);
                    ids.extend_from_slice(&self.symbols.ids);
                } else {
                    self.encode_run(cache, text, start + run_start, start + run_end, ids);
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
        bpe.encode_symbols(piece, self.symbols, &mut None);
        ids.extend_from_slice(&self.symbols.ids);
    }

    /// Appends the ids of a run inside a piece.
    fn encode_run(
        &mut self,
        cache: &mut PretokenCache,
        text: &[u8],
        start: usize,
        end: usize,
        ids: &mut Vec<TokenId>,
    ) {
        if end - start > MAX_KEY {
            self.bpe.encode_run(&text[start..end], self.symbols, &mut None);
            ids.extend_from_slice(&self.symbols.ids);
            return;
        }
        let key = key(text, start, end - start) | RUN;
        if !cache.hit(key, ids) {
            self.encode_short(cache, &text[start..end], key, ids);
        }
    }
}

impl Bpe {
    /// Whether the bytes that tokens cover are the lengths of the tokens.
    pub fn lens_are_token_lens(&self) -> bool {
        self.plain_bytes
    }
}
