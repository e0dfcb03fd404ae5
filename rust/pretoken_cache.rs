//! `PretokenCache`: the ids of short pieces seen before.
//!
//! Filled only by running the model, so it never decides an id. It is
//! direct-mapped and bounded: a piece of at most [`MAX_KEY`] bytes and 3 tokens
//! takes one entry of 32 bytes, and a new piece takes the place of an old one.
//! It grows from [`MIN_ENTRIES`] to [`MAX_ENTRIES`] as misses come, so a short
//! text pays for a short cache.

use crate::vocab::TokenId;

const MIN_ENTRIES: usize = 1 << 9;
/// 2 MiB, beyond which the cache costs more in cache misses than it saves.
const MAX_ENTRIES: usize = 1 << 16;
/// The longest piece that is cached.
pub(crate) const MAX_KEY: usize = 15;
/// The most ids of a piece that is cached.
const MAX_IDS: usize = 3;

#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Entry {
    /// The bytes of the piece, its length in the top byte; 0 is empty.
    key: u128,
    ids: [TokenId; MAX_IDS],
    n: u32,
}

/// A bounded map from pieces to ids; belongs to one thread and one model.
#[derive(Default)]
pub(crate) struct PretokenCache {
    entries: Vec<Entry>,
    misses: usize,
}

impl PretokenCache {
    /// Appends the ids of a cached piece; `false` if it is not cached.
    #[inline]
    pub(crate) fn hit(&self, key: u128, ids: &mut Vec<TokenId>) -> bool {
        let Some(entry) = self.entries.get(self.slot(key)) else { return false };
        if entry.key != key {
            return false;
        }
        // All words are written whatever the number, then cut: no branch.
        let n = ids.len() + entry.n as usize;
        ids.extend_from_slice(&entry.ids);
        ids.truncate(n);
        true
    }

    /// Keeps the ids of a piece that was no hit, if they are few enough.
    pub(crate) fn insert(&mut self, key: u128, ids: &[TokenId]) {
        self.misses += 1;
        if self.misses > self.entries.len() && self.entries.len() < MAX_ENTRIES {
            self.grow();
        }
        if ids.len() <= MAX_IDS {
            let mut entry = Entry { key, n: ids.len() as u32, ..Entry::default() };
            entry.ids[..ids.len()].copy_from_slice(ids);
            let slot = self.slot(key);
            self.entries[slot] = entry;
        }
    }

    fn grow(&mut self) {
        let size = (self.entries.len() * 4).clamp(MIN_ENTRIES, MAX_ENTRIES);
        let old = std::mem::replace(&mut self.entries, vec![Entry::default(); size]);
        for entry in old.into_iter().filter(|entry| entry.key != 0) {
            let slot = self.slot(entry.key);
            self.entries[slot] = entry;
        }
    }

    #[inline]
    fn slot(&self, key: u128) -> usize {
        let folded = (key as u64 ^ (key >> 64) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // The high bits are the well-mixed ones; the size is a power of two.
        ((folded ^ folded >> 32) >> 16) as usize & self.entries.len().wrapping_sub(1)
    }
}

/// The key of `text[start..start + len]`, a piece of 1 to [`MAX_KEY`] bytes;
/// never 0, and its top bit is free.
#[inline]
pub(crate) fn key(text: &[u8], start: usize, len: usize) -> u128 {
    let word = match text.get(start..start + 16) {
        Some(bytes) => {
            let mut word = [0; 16];
            word.copy_from_slice(bytes);
            u128::from_le_bytes(word)
        }
        None => {
            let mut word = [0; 16];
            word[..len].copy_from_slice(&text[start..start + len]);
            u128::from_le_bytes(word)
        }
    };
    key_of_word(word, len)
}

/// The key of the first `len` bytes of a little-endian word.
#[inline]
pub(crate) fn key_of_word(word: u128, len: usize) -> u128 {
    (word & ((1 << (8 * len)) - 1)) | (len as u128) << 120
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_or_is_missed() {
        let mut cache = PretokenCache::default();
        let words: Vec<String> = (0..200_000).map(|n| format!("{n:x}")).collect();
        for (n, word) in words.iter().enumerate() {
            let ids = [n as TokenId; 4];
            cache.insert(key(word.as_bytes(), 0, word.len()), &ids[..n % 5]);
        }
        assert_eq!(cache.entries.len(), MAX_ENTRIES);
        let mut hits = 0;
        for (n, word) in words.iter().enumerate() {
            let mut ids = vec![7];
            if cache.hit(key(word.as_bytes(), 0, word.len()), &mut ids) {
                assert!(n % 5 <= MAX_IDS);
                assert_eq!(ids[1..], vec![n as TokenId; n % 5]);
                hits += 1;
            } else {
                assert_eq!(ids, [7]);
            }
        }
        assert!(hits > MAX_ENTRIES / 2, "{hits}");
    }

    #[test]
    fn keys_do_not_depend_on_what_follows() {
        let text = b"the theatre and the";
        assert_eq!(key(text, 0, 3), key(text, 16, 3));
        assert_ne!(key(text, 0, 3), key(text, 4, 7));
        assert_eq!(key(text, 4, 7), key(b"theatre", 0, 7));
    }
}
