//! `Worker`: what one thread needs to encode words, with its cache.

use super::WordPiece;
use crate::pretoken_cache::{MAX_KEY, PretokenCache, key};
use crate::vocab::TokenId;

/// The buffers and the cache of one thread; belongs to one [`WordPiece`].
#[derive(Default)]
pub struct Worker {
    pub(super) cache: PretokenCache,
    /// A stretch of text that is no plain ASCII, normalized.
    pub(super) normalized: String,
}

/// The bytes that the buffer of a stretch keeps.
const KEPT_BYTES: usize = 1 << 16;

impl Worker {
    /// Lets go of what a long stretch took, until the next call.
    pub fn rest(&mut self) {
        if self.normalized.capacity() > KEPT_BYTES {
            self.normalized = String::new();
        }
    }

    /// Appends the ids of the word `text[start..end]`.
    #[inline]
    pub fn encode(
        &mut self,
        model: &WordPiece,
        text: &[u8],
        start: usize,
        end: usize,
        ids: &mut Vec<TokenId>,
    ) {
        let len = end - start;
        if len > MAX_KEY || len == 0 {
            model.push_ids(&text[start..end], ids);
            return;
        }
        let key = key(text, start, len);
        if !self.cache.hit(key, ids) {
            self.miss(model, key, ids);
        }
    }

    /// Appends the ids of a word and the bytes of it that each covers.
    pub fn encode_with_lens(
        &mut self,
        model: &WordPiece,
        piece: &[u8],
        ids: &mut Vec<TokenId>,
        lens: &mut Vec<u32>,
    ) {
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

    /// Appends the ids of the word that a key spells, and keeps them.
    #[inline(never)]
    pub(super) fn miss(&mut self, model: &WordPiece, key: u128, ids: &mut Vec<TokenId>) {
        let bytes = key.to_le_bytes();
        let from = ids.len();
        model.push_ids(&bytes[..usize::from(bytes[15])], ids);
        self.cache.insert(key, &ids[from..]);
    }
}
