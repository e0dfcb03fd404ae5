//! `PretokenCache`: the ids of short pieces seen before.
//!
//! Filled only by running the model, so it never decides an id. Up to three ids
//! lie in the entry of their piece, more in an arena; when that is full, all is
//! forgotten. A chunk of pieces is looked up in short loops, one after the
//! other: keys, then places, then ids; what is not known is asked for out of line.

use crate::piece_table::{Key, PieceTable, Value, hash, key_of_piece};
use crate::pre_tokenizer::chunks::{CHUNK, Piece};
use crate::vocab::TokenId;

/// 8 MiB of table, at which a running text is repeated fastest.
const MOST_SETS: usize = 1 << 17;
/// How many ids of pieces of more than three are kept: 1 MiB.
const MOST_LONG: usize = 1 << 18;
/// The most ids that lie in an entry.
const IN_ENTRY: usize = 3;

/// The pieces of a chunk while they are looked up.
struct Chunk {
    keys: [Key; CHUNK],
    hashes: [u64; CHUNK],
    /// How many wait.
    n: usize,
    /// The ids of those that are known.
    ids: [TokenId; IN_ENTRY * CHUNK + 1],
}

/// A bounded map from pieces to ids; belongs to one thread and one model.
pub(crate) struct PretokenCache {
    table: PieceTable,
    /// The ids of pieces of more than three.
    long: Vec<TokenId>,
    chunk: Box<Chunk>,
}

impl Default for PretokenCache {
    fn default() -> Self {
        let chunk = Chunk { keys: [0; CHUNK], hashes: [0; CHUNK], n: 0, ids: [0; IN_ENTRY * CHUNK + 1] };
        Self { table: PieceTable::new(MOST_SETS), long: Vec::new(), chunk: Box::new(chunk) }
    }
}

impl PretokenCache {
    /// Appends the ids of a chunk of pieces, in order; `miss` appends those of one that
    /// is not known, by its number and key, and may keep them.
    #[inline]
    pub(crate) fn encode(
        &mut self,
        text: &[u8],
        pieces: &[Piece],
        ids: &mut Vec<TokenId>,
        miss: impl FnMut(&mut Self, usize, Key, &mut Vec<TokenId>),
    ) {
        let Self { table, chunk, .. } = self;
        let Chunk { keys, hashes, n, .. } = &mut **chunk;
        *n = pieces.len().min(CHUNK);
        for ((piece, key), hash_of_key) in pieces.iter().zip(keys).zip(hashes) {
            *key = key_of_piece(text, *piece);
            *hash_of_key = hash(*key);
            table.prefetch(*hash_of_key);
        }
        self.flush(ids, miss);
    }

    /// Appends the ids of the pieces that wait, as [`PretokenCache::encode`] does.
    #[inline]
    fn flush(
        &mut self,
        ids: &mut Vec<TokenId>,
        mut miss: impl FnMut(&mut Self, usize, Key, &mut Vec<TokenId>),
    ) {
        let n = std::mem::take(&mut self.chunk.n);
        let mut done = 0;
        while done < n {
            done += self.emit(done, n, ids);
            if done < n {
                let key = self.chunk.keys[done];
                if !self.hit(key, ids) {
                    miss(self, done, key, ids);
                }
                done += 1;
            }
        }
    }

    /// Appends the ids of the pieces from `start` on, up to the first that is not
    /// known or has more than three; returns how many pieces these are.
    #[inline]
    fn emit(&mut self, start: usize, end: usize, ids: &mut Vec<TokenId>) -> usize {
        let Chunk { keys, hashes, ids: new, .. } = &mut *self.chunk;
        let mut n_ids = 0;
        let mut n_pieces = 0;
        for (&key, &hash) in keys[start..end].iter().zip(&hashes[start..end]) {
            let Some(value) = self.table.get(key, hash) else { break };
            let Some(place) = new.get_mut(n_ids..).and_then(<[TokenId]>::first_chunk_mut::<4>) else { break };
            // All words are written whatever the number, which then says where to go on.
            *place = *value;
            let n = value[IN_ENTRY] as usize;
            if n > IN_ENTRY {
                break;
            }
            n_ids += n;
            n_pieces += 1;
        }
        ids.extend_from_slice(&new[..n_ids]);
        n_pieces
    }

    /// Appends the ids of a piece that is known; `false` if it is not.
    #[inline]
    pub(crate) fn hit(&self, key: Key, ids: &mut Vec<TokenId>) -> bool {
        let Some(&value) = self.table.get(key, hash(key)) else { return false };
        match value[..IN_ENTRY].get(..value[IN_ENTRY] as usize) {
            Some(_) => {
                // All words are written whatever the number, then cut: no branch.
                let n = ids.len() + value[IN_ENTRY] as usize;
                ids.extend_from_slice(&value[..IN_ENTRY]);
                ids.truncate(n);
            }
            None => {
                let start = value[0] as usize;
                ids.extend_from_slice(&self.long[start..start + value[IN_ENTRY] as usize]);
            }
        }
        true
    }

    /// Keeps the ids of a piece that has a key and is not known.
    pub(crate) fn insert(&mut self, key: Key, ids: &[TokenId]) {
        let mut value: Value = [0; 4];
        value[IN_ENTRY] = ids.len() as u32;
        match value.get_mut(..ids.len()).filter(|_| ids.len() <= IN_ENTRY) {
            Some(place) => place.copy_from_slice(ids),
            None => {
                if self.long.len() + ids.len() > MOST_LONG {
                    self.long.clear();
                    self.table.clear();
                }
                value[0] = self.long.len() as u32;
                self.long.extend_from_slice(ids);
            }
        }
        self.table.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece_table::{MAX_KEY, NO_KEY, key};

    /// The ids of a piece: its bytes, as often as the first says.
    fn ids_of(piece: &[u8]) -> Vec<TokenId> {
        let n = usize::from(piece[0] % 6);
        piece.iter().cycle().take(n).map(|&byte| byte.into()).collect()
    }

    #[test]
    fn chunks_give_what_pieces_give() {
        let words: Vec<String> = (0..60_000_u32).map(|n| format!("{:x}", n % 7919 * n)).collect();
        let text = words.concat() + "a piece too long for a key";
        let mut pieces = Vec::new();
        let mut at = 0;
        for word in &words {
            pieces.push(Piece { start: at, end: at + word.len() as u32 });
            at += word.len() as u32;
        }
        pieces.push(Piece { start: at, end: text.len() as u32 });
        let mut cache = PretokenCache::default();
        for round in 0..2 {
            let mut ids = vec![7];
            let mut n_missed = 0;
            for chunk in pieces.chunks(CHUNK) {
                cache.encode(text.as_bytes(), chunk, &mut ids, |cache, at, key, ids| {
                    n_missed += 1;
                    let bytes = &text.as_bytes()[chunk[at].start as usize..chunk[at].end as usize];
                    assert_eq!(key == NO_KEY, bytes.len() > MAX_KEY);
                    let new = ids_of(bytes);
                    ids.extend_from_slice(&new);
                    if key != NO_KEY {
                        cache.insert(key, &new);
                    }
                });
            }
            let expected =
                pieces.iter().flat_map(|p| ids_of(&text.as_bytes()[p.start as usize..p.end as usize]));
            assert!(ids[1..].iter().copied().eq(expected), "round {round}");
            assert!(round == 0 || n_missed < words.len() / 3, "{n_missed}");
        }
    }

    #[test]
    fn a_full_arena_forgets_all() {
        let mut cache = PretokenCache::default();
        let (first, many) = (key(b"first", 0, 5), [1; 16]);
        cache.insert(first, &[1, 2, 3]);
        for n in 0..=MOST_LONG / many.len() {
            let word = format!("{n:x}");
            cache.insert(key(word.as_bytes(), 0, word.len()), &many);
        }
        assert!(cache.long.len() <= MOST_LONG);
        assert!(!cache.hit(first, &mut Vec::new()));
    }
}
