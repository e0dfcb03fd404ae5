//! `Misses`: the model, as a cache asks it for pieces that it does not know.

use super::PretokenCache;
use crate::piece_table::{Key, key};
use crate::pre_tokenizer::chunks::Piece;
use crate::vocab::TokenId;

/// What the cache asks when it does not know a piece.
pub(crate) trait Misses {
    /// The key of a piece of up to [`MAX_KEY`](crate::piece_table::MAX_KEY) bytes.
    #[inline(always)]
    fn key(&self, text: &[u8], start: usize, len: usize) -> Key {
        key(text, start, len)
    }

    /// Appends the ids of the piece that a key spells.
    fn short(&mut self, key: Key, ids: &mut Vec<TokenId>);

    /// Says that the piece of a key is not known, and will be asked for soon.
    #[inline(always)]
    fn announce(&self, _key: Key) {}

    /// Tells the cache the ids of its first `n` unknown pieces ([`PretokenCache::unknown`]),
    /// each by [`PretokenCache::tell`].
    #[inline(always)]
    fn learn(&mut self, cache: &mut PretokenCache, n: usize) {
        self.learn_each(cache, 0..n);
    }

    /// The same for some of them, each by [`Misses::short`].
    #[inline(always)]
    fn learn_each(&mut self, cache: &mut PretokenCache, unknown: impl IntoIterator<Item = usize>) {
        let mut ids = std::mem::take(&mut cache.new);
        for at in unknown {
            ids.clear();
            self.short(cache.unknown(at), &mut ids);
            cache.tell(at, &ids);
        }
        cache.new = ids;
    }

    /// Appends the ids of a piece that is too long for a key: at once, or by its
    /// parts ([`PretokenCache::encode_parts`]).
    fn long(&mut self, cache: &mut PretokenCache, text: &[u8], piece: Piece, ids: &mut Vec<TokenId>);

    /// Appends the ids of a part that has no key.
    fn keyless(&mut self, text: &[u8], part: Piece, ids: &mut Vec<TokenId>);
}
