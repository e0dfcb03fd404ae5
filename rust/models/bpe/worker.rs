//! `Worker`: a model and what one thread needs to encode pieces, with a cache.
//!
//! The cache is filled only by running the model, so it never decides an id.
//! `cache_fill` encodes what it does not know.

use super::Bpe;
use super::merge::Symbols;
use crate::cache::long_pieces::LongPieces;
use crate::cache::piece_table::{MAX_KEY, key};
use crate::cache::pretoken_cache::PretokenCache;
use crate::error::{Error, Result};
use crate::memory;
use crate::models::bpe::cache_fill::Misses;
use crate::models::bpe::merge_boundaries::word_ends;
use crate::models::bpe::superword_merge::{Superwords, WordScratch};
use crate::random::Random;
use crate::text::{CHUNK, Piece};
use crate::vocab::TokenId;

/// BPE-dropout: a probability and a seeded source of numbers.
pub struct Dropout {
    /// `p` as a threshold over 64-bit numbers.
    threshold: u64,
    random: Random,
}

impl Dropout {
    /// Skips a merge with probability `p`.
    pub fn new(p: f32, seed: u64) -> Self {
        // A cast from float saturates, so 1.0 gives the greatest threshold.
        Self { threshold: (f64::from(p) * 2f64.powi(64)) as u64, random: Random::new(seed) }
    }

    pub(super) fn skips(&mut self) -> bool {
        let number = self.random.next_u64();
        // Probability 1 skips always, 0 never.
        self.threshold == u64::MAX || number < self.threshold
    }
}

/// The buffers and the cache of one thread, good for one model alone: what a
/// [`Worker`] leaves behind.
#[derive(Default)]
pub(crate) struct Scratch {
    symbols: Symbols,
    cache: PretokenCache,
    long: LongPieces,
    /// Where the runs of a piece end; kept for its memory.
    runs: Vec<u32>,
    dropout: Option<Dropout>,
    /// For the words of superwords.
    words: Option<Box<WordScratch>>,
}

/// The runs for which memory is kept.
const KEPT_RUNS: usize = 1 << 13;

/// The state with which one thread encodes pieces; made by [`Bpe::worker`].
pub struct Worker<'m> {
    bpe: &'m Bpe,
    scratch: Box<Scratch>,
}

impl Bpe {
    /// A worker for this model.
    pub fn worker(&self) -> Worker<'_> {
        self.worker_with(Box::default())
    }

    /// A worker that continues what another one of this model left behind.
    pub(crate) fn worker_with(&self, scratch: Box<Scratch>) -> Worker<'_> {
        Worker { bpe: self, scratch }
    }
}

impl Worker<'_> {
    /// The ids of pieces seen before.
    pub(crate) fn cache(&mut self) -> &mut PretokenCache {
        &mut self.scratch.cache
    }

    /// The memory that another worker of the same model can use: without the memory of long
    /// texts, and without values made while memory was missing.
    pub(crate) fn into_scratch(mut self) -> Box<Scratch> {
        let _ = self.check();
        self.scratch.rest();
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

    /// Whether there was memory for all that was encoded since the last look;
    /// ids are missing where there was not.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if not.
    #[inline]
    pub fn check(&mut self) -> Result<()> {
        let found = self.scratch.check();
        found.map_err(|error| self.forget(error))
    }

    /// Clears the cache, whose ids may be missing.
    #[cold]
    fn forget(&mut self, error: Error) -> Error {
        let dropout = self.scratch.dropout.take();
        *self.scratch = Scratch { dropout, ..Scratch::default() };
        error
    }

    /// Appends the ids of pieces of a text, in order.
    pub(crate) fn encode_chunk(&mut self, text: &[u8], pieces: &[Piece], ids: &mut Vec<TokenId>) {
        self.scratch.encode_chunk(self.bpe, text, pieces, ids);
    }

    /// Whether [`Worker::encode_words`] can be asked.
    pub(crate) fn joins_words(&self) -> bool {
        self.bpe.superwords.is_some() && self.scratch.dropout.is_none()
    }

    /// Appends the ids of the next pieces of a text; superwords may join neighbours for which `joins` says so. Pieces
    /// come in chunks and tile the text; ids that later pieces may change are held back.
    ///
    /// # Errors
    /// [`Error::Internal`] where [`Worker::joins_words`] says that they cannot be.
    pub(crate) fn encode_words(
        &mut self,
        text: &[u8],
        pieces: &[Piece],
        joins: impl Fn(&[u8]) -> bool,
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        let Some(superwords) = &self.bpe.superwords else {
            return Err(Error::Internal("a model that joins no words".into()));
        };
        let Scratch { symbols, words, .. } = &mut *self.scratch;
        superwords.encode_words(words.get_or_insert_default(), symbols, text, pieces, joins, ids);
        self.check()
    }

    /// Appends the ids of pieces of a text whose spaces are read as `▁`. The cache is one for both
    /// kinds of text: a piece of both has no space and no `▁`, and has the same ids.
    ///
    /// # Errors
    /// [`Error::Internal`] where [`Worker::reads_spaces`] says that they cannot be.
    pub(crate) fn encode_with_space_as_mark(
        &mut self,
        text: &[u8],
        pieces: &[Piece],
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        let Some(bpe) = self.bpe.space_as_mark() else {
            return Err(Error::Internal("a model that reads no spaces as marks".into()));
        };
        let (cache, mut misses) = self.scratch.parts(bpe);
        cache.encode(text, pieces, ids, &mut misses);
        Ok(())
    }

    /// Whether a character that is not in the vocabulary is an error.
    pub(crate) fn refuses_unknown(&self) -> bool {
        self.bpe.options.unk_token.is_some() && self.bpe.unk_id.is_none()
    }

    /// Whether [`Worker::encode_with_space_as_mark`] can be asked: where words are `split`, or the model may be
    /// cut before each. Before that model is made, `worth` decides whether making it pays off.
    pub(crate) fn reads_spaces(&self, split: bool, worth: impl FnOnce() -> bool) -> bool {
        (split || self.bpe.cuts_words)
            && self.scratch.dropout.is_none()
            && (self.bpe.has_space_as_mark() || worth())
            && self.bpe.space_as_mark().is_some()
    }

    /// Appends the ids of a piece and the bytes that each covers.
    pub fn encode_with_lens(&mut self, piece: &[u8], ids: &mut Vec<TokenId>, lens: &mut Vec<u32>) {
        self.scratch.encode_with_lens(self.bpe, piece, ids, lens);
    }
}

impl Scratch {
    /// Lets go of what long texts took.
    pub(super) fn rest(&mut self) {
        self.symbols.rest();
        self.cache.rest();
        self.runs.truncate(KEPT_RUNS);
        self.runs.shrink_to(KEPT_RUNS);
        if let Some(words) = &mut self.words {
            words.rest();
        }
    }

    /// See [`Worker::check`].
    #[inline]
    pub(super) fn check(&mut self) -> Result<()> {
        let Self { symbols, cache, words, .. } = self;
        symbols.check().and_then(|()| cache.check())?;
        words.as_mut().map_or(Ok(()), |words| words.check())
    }

    /// The cache, and what it asks.
    pub(super) fn parts<'a>(&'a mut self, bpe: &'a Bpe) -> (&'a mut PretokenCache, Misses<'a>) {
        let Self { symbols, cache, long, runs, .. } = self;
        (cache, Misses { bpe, symbols, long, runs })
    }

    #[inline]
    fn encode(&mut self, bpe: &Bpe, text: &[u8], start: usize, end: usize, ids: &mut Vec<TokenId>) {
        let len = end - start;
        if let Some(superwords) = bpe.superwords.as_ref().filter(|_| self.dropout.is_none()) {
            let piece = Piece { start: start as u32, end: end as u32 };
            return self.encode_superwords(superwords, text, std::slice::from_ref(&piece), ids);
        }
        if self.dropout.is_some() || len == 0 {
            bpe.encode_symbols(&text[start..end], &mut self.symbols, &mut self.dropout);
            self.symbols.append_to(ids);
            return;
        }
        let (cache, mut misses) = self.parts(bpe);
        if len > MAX_KEY {
            let piece = &text[start..end];
            cache.encode(piece, &[Piece { start: 0, end: len as u32 }], ids, &mut misses);
        } else {
            let key = key(text, start, len);
            if !cache.hit(key, ids) {
                misses.encode_one(cache, key, ids);
            }
        }
    }

    fn encode_superwords(
        &mut self,
        superwords: &Superwords,
        text: &[u8],
        pieces: &[Piece],
        ids: &mut Vec<TokenId>,
    ) {
        let Self { symbols, words, .. } = self;
        superwords.encode(words.get_or_insert_default(), symbols, text, pieces, ids);
    }

    pub(super) fn encode_chunk(&mut self, bpe: &Bpe, text: &[u8], pieces: &[Piece], ids: &mut Vec<TokenId>) {
        if let Some(superwords) = bpe.superwords.as_ref().filter(|_| self.dropout.is_none()) {
            return self.encode_superwords(superwords, text, pieces, ids);
        }
        if self.dropout.is_some() {
            for piece in pieces {
                self.encode(bpe, text, piece.start as usize, piece.end as usize, ids);
            }
        } else if bpe.cuts_words {
            self.encode_words(bpe, text, pieces, ids);
        } else {
            let (cache, mut misses) = self.parts(bpe);
            cache.encode(text, pieces, ids, &mut misses);
        }
    }

    /// Appends the ids of pieces that are cut before each `▁`.
    fn encode_words(&mut self, bpe: &Bpe, text: &[u8], pieces: &[Piece], ids: &mut Vec<TokenId>) {
        let (cache, mut misses) = self.parts(bpe);
        let mut words = [Piece::default(); CHUNK];
        let mut n = 0;
        for piece in pieces {
            let mut start = piece.start;
            for end in word_ends(&text[piece.start as usize..piece.end as usize]) {
                let end = piece.start + end as u32;
                words[n] = Piece { start, end };
                (start, n) = (end, n + 1);
                if n == CHUNK {
                    cache.encode(text, &words, ids, &mut misses);
                    n = 0;
                }
            }
        }
        cache.encode(text, &words[..n], ids, &mut misses);
    }

    fn encode_with_lens(&mut self, bpe: &Bpe, piece: &[u8], ids: &mut Vec<TokenId>, lens: &mut Vec<u32>) {
        if bpe.scored.is_some() && self.dropout.is_none() && self.scored_with_lens(bpe, piece, ids, lens) {
            return;
        }
        bpe.encode_symbols(piece, &mut self.symbols, &mut self.dropout);
        self.append_with_lens(0, ids, lens);
    }

    /// Appends the symbols from the `skip`th on, as far as there is memory.
    fn append_with_lens(&mut self, skip: usize, ids: &mut Vec<TokenId>, lens: &mut Vec<u32>) {
        let Symbols { ids: new, lens: new_lens, .. } = &self.symbols;
        let new = (new.get(skip..).unwrap_or_default(), new_lens.get(skip..).unwrap_or_default());
        let done = memory::extend(ids, new.0).and_then(|()| memory::extend(lens, new.1));
        self.symbols.note(done);
    }

    /// Encodes a text of any length run by run; `false` if it cannot be cut.
    fn scored_with_lens(
        &mut self,
        bpe: &Bpe,
        piece: &[u8],
        ids: &mut Vec<TokenId>,
        lens: &mut Vec<u32>,
    ) -> bool {
        let Some(boundaries) = &bpe.boundaries else { return false };
        let (from, fused, mut done) = (ids.len(), bpe.fused_unk(), 0);
        while done < piece.len() {
            let n = match boundaries.runs(piece, done, &mut self.runs) {
                Ok(Some(n)) => n,
                Ok(None) => return false,
                Err(error) => {
                    self.symbols.missing = Some(error);
                    return true;
                }
            };
            for at in 0..n {
                let end = self.runs[at] as usize;
                bpe.encode_run(&piece[done..end], &mut self.symbols, &mut None);
                let Symbols { ids: new, lens: new_lens, .. } = &self.symbols;
                let goes_on = ids.len() > from && fused.is_some() && ids.last() == fused.as_ref();
                let skip = usize::from(goes_on && new.first() == fused.as_ref());
                if skip == 1
                    && let (Some(last), Some(len)) = (lens.last_mut(), new_lens.first())
                {
                    *last += len;
                }
                self.append_with_lens(skip, ids, lens);
                done = end;
            }
        }
        true
    }
}
