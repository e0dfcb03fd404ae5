//! `Worker`: a model and what one thread needs to encode words, with a cache.

use super::{Cleaner, WordPiece};
use crate::cache::long_pieces::LongPieces;
use crate::cache::piece_table::{Key, MAX_KEY, key};
use crate::cache::pretoken_cache::{Misses, PretokenCache};
use crate::error::Result;
use crate::text::Piece;
use crate::vocab::TokenId;

/// The buffers and the cache of one thread, good for one model alone: what a
/// [`Worker`] leaves behind.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(super) cache: PretokenCache,
    /// Raw words that are too long for a key.
    pub(super) long: LongPieces,
    /// The word that a raw word becomes.
    pub(super) word: String,
}

/// The bytes that the buffer of a raw word keeps.
const KEPT_BYTES: usize = 1 << 16;

/// The state with which one thread encodes words; made by [`WordPiece::worker`].
pub struct Worker<'m> {
    model: &'m WordPiece,
    scratch: Box<Scratch>,
}

impl WordPiece {
    /// A worker for this model.
    pub fn worker(&self) -> Worker<'_> {
        self.worker_with(Box::default())
    }

    /// A worker that continues what another one of this model left behind.
    pub(crate) fn worker_with(&self, scratch: Box<Scratch>) -> Worker<'_> {
        Worker { model: self, scratch }
    }
}

impl Worker<'_> {
    /// The ids of pieces seen before.
    pub(crate) fn cache(&mut self) -> &mut PretokenCache {
        &mut self.scratch.cache
    }

    /// The memory that another worker of the same model can use: without the memory of long
    /// texts.
    pub(crate) fn into_scratch(mut self) -> Box<Scratch> {
        self.scratch.cache.rest();
        if self.scratch.word.capacity() > KEPT_BYTES {
            self.scratch.word = String::new();
        }
        self.scratch
    }

    /// Whether there was memory for all that was encoded since the last look.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if not.
    #[inline]
    pub fn check(&mut self) -> Result<()> {
        self.scratch.cache.check()
    }

    /// Appends the ids of the word `text[start..end]`.
    #[inline]
    pub fn encode(&mut self, text: &[u8], start: usize, end: usize, ids: &mut Vec<TokenId>) {
        self.scratch.encode(self.model, text, start, end, ids);
    }

    /// Appends the ids of words of a text, in order.
    pub(crate) fn encode_chunk(&mut self, text: &[u8], words: &[Piece], ids: &mut Vec<TokenId>) {
        self.scratch.cache.encode(text, words, ids, &mut &*self.model);
    }

    /// Appends the ids of a word and the bytes of it that each covers.
    pub fn encode_with_lens(&mut self, piece: &[u8], ids: &mut Vec<TokenId>, lens: &mut Vec<u32>) {
        let model = self.model;
        let from = ids.len();
        if !model.push_ids(piece, ids) {
            lens.push(piece.len() as u32);
            return;
        }
        let mut prefix = 0;
        for &id in &ids[from..] {
            let len = model.vocab.bytes(id).map_or(0, <[u8]>::len);
            lens.push((len - prefix) as u32);
            prefix = model.options.continuing_subword_prefix.len();
        }
    }

    /// Appends the ids of raw words that follow each other in a text. The vocabulary must have the unknown token.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is none to clean them up.
    pub(crate) fn encode_raw_words(
        &mut self,
        cleaner: &impl Cleaner,
        text: &[u8],
        pieces: &[Piece],
        ids: &mut Vec<TokenId>,
    ) -> Result<()> {
        self.scratch.encode_raw_words(self.model, cleaner, text, pieces, ids)
    }
}

impl Scratch {
    /// Appends the ids of the word `text[start..end]`.
    #[inline]
    fn encode(&mut self, model: &WordPiece, text: &[u8], start: usize, end: usize, ids: &mut Vec<TokenId>) {
        let len = end - start;
        if len > MAX_KEY || len == 0 {
            model.push_ids(&text[start..end], ids);
            return;
        }
        let key = key(text, start, len);
        if !self.cache.hit(key, ids) {
            let from = ids.len();
            (&mut &*model).short(key, ids);
            self.cache.insert(key, &ids[from..]);
        }
    }
}

impl Misses for &WordPiece {
    #[inline(never)]
    fn short(&mut self, key: Key, ids: &mut Vec<TokenId>) {
        let bytes = key.to_le_bytes();
        self.push_ids(&bytes[..usize::from(bytes[15])], ids);
    }

    fn long(&mut self, _: &mut PretokenCache, text: &[u8], word: Piece, ids: &mut Vec<TokenId>) {
        self.keyless(text, word, ids);
    }

    fn keyless(&mut self, text: &[u8], word: Piece, ids: &mut Vec<TokenId>) {
        self.push_ids(&text[word.range()], ids);
    }
}
