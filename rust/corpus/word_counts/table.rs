//! `CountTable`: the counts of one worker, the inner loop of counting.
//!
//! A piece of up to 15 bytes is stored inside its slot, as a key of [`crate::cache::piece_table`].
//! Longer pieces are stored in an arena. Both tables probe linearly from a seeded hash, so that no
//! text can cause collisions on purpose. Hash order never affects results, because a table is read
//! as a sorted run ([`Sorted`]) or for sums. A chunk of pieces is counted in two short loops, first
//! keys and positions, then counts, so that cache misses overlap.

mod sorted;

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

pub(crate) use self::sorted::Sorted;
use crate::cache::piece_table::{self, Key, MAX_KEY, NO_KEY, key_of_piece};
use crate::error::{Error, Result};
use crate::memory::{self, MakeRoom};
use crate::text::simd::prefetch;
use crate::text::{LONG_CHUNK, Piece};

/// The number of slots of an empty table.
const FIRST_SLOTS: usize = 1 << 12;

/// A short piece with its count, two per cache line; the slot is free if the key is 0.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Slot {
    key: Key,
    count: u64,
}

/// A long piece with its count.
#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    len: u32,
    /// A part of the hash. Most mismatches are found without reading the arena.
    tag: u32,
    count: u64,
}

/// The pieces of a chunk while they are counted.
#[derive(Clone)]
struct Chunk {
    keys: [Key; LONG_CHUNK],
    hashes: [u64; LONG_CHUNK],
}

/// Pieces with their counts, unordered.
#[derive(Clone)]
pub(crate) struct CountTable {
    slots: Vec<Slot>,
    n_short: usize,
    seed: Key,
    chunk: Box<Chunk>,
    /// One plus the index of an entry; 0 for a free slot.
    index: Vec<u32>,
    entries: Vec<Entry>,
    arena: Vec<u8>,
    hasher: DefaultHashBuilder,
}

impl Default for CountTable {
    fn default() -> Self {
        Self::new()
    }
}

impl CountTable {
    /// An empty table.
    pub fn new() -> Self {
        let hasher = DefaultHashBuilder::default();
        Self {
            slots: vec![Slot::default(); FIRST_SLOTS],
            n_short: 0,
            seed: Key::from(hasher.hash_one(0u8)) << 64 | Key::from(hasher.hash_one(1u8)),
            chunk: Box::new(Chunk { keys: [0; LONG_CHUNK], hashes: [0; LONG_CHUNK] }),
            index: vec![0; FIRST_SLOTS],
            entries: Vec::new(),
            arena: Vec::new(),
            hasher,
        }
    }

    /// The number of pieces.
    pub fn len(&self) -> usize {
        self.n_short + self.entries.len()
    }

    /// Computes the keys of a chunk of pieces for [`CountTable::add_next`].
    #[inline]
    pub fn begin(&mut self, text: &[u8], pieces: &[Piece]) {
        let Self { slots, chunk, seed, .. } = self;
        let Chunk { keys, hashes } = &mut **chunk;
        let mask = slots.len() - 1;
        for ((piece, key), hash) in pieces.iter().zip(keys).zip(hashes) {
            *key = key_of_piece(text, *piece);
            *hash = piece_table::hash(*key ^ *seed);
            prefetch(&slots[*hash as usize & mask]);
        }
    }

    /// Adds one to the counts of pieces `done..end` of the chunk, up to the first piece that is
    /// long or has no room. Returns the number of that piece, or `end`.
    #[inline]
    pub fn add_next(&mut self, done: usize, end: usize) -> usize {
        let Self { slots, n_short, chunk, .. } = self;
        let mask = slots.len() - 1;
        let most = slots.len() / 4 * 3;
        let waiting = chunk.keys[done..end].iter().zip(&chunk.hashes[done..end]);
        for (n, (&key, &hash)) in waiting.enumerate() {
            let is_counted = key != NO_KEY && add_short(slots, n_short, most, key, 1, hash as usize & mask);
            if !is_counted {
                return done + n;
            }
        }
        end
    }

    /// Says that a piece is going to be added.
    pub fn prefetch(&self, piece: &[u8]) {
        if piece.len() > MAX_KEY {
            prefetch(&self.index[self.hasher.hash_one(piece) as usize & (self.index.len() - 1)]);
        } else {
            let key = piece_table::key(piece, 0, piece.len());
            prefetch(&self.slots[self.hash(key) as usize & (self.slots.len() - 1)]);
        }
    }

    /// Adds `n` to the count of `piece`. Returns `false` if the table has no room for a new piece
    /// of its length; then call [`CountTable::grow`], or write the table out and clear it.
    pub fn add(&mut self, piece: &[u8], n: u64) -> bool {
        if piece.len() > MAX_KEY {
            return self.add_long(piece, n);
        }
        let key = piece_table::key(piece, 0, piece.len());
        let at = self.hash(key) as usize & (self.slots.len() - 1);
        let most = self.slots.len() / 4 * 3;
        add_short(&mut self.slots, &mut self.n_short, most, key, n, at)
    }

    fn add_long(&mut self, piece: &[u8], n: u64) -> bool {
        let hash = self.hasher.hash_one(piece);
        let tag = (hash >> 32) as u32;
        let mask = self.index.len() - 1;
        let mut at = hash as usize & mask;
        while let Some(entry) = self.index[at].checked_sub(1) {
            let entry = &mut self.entries[entry as usize];
            if entry.tag == tag
                && entry.len as usize == piece.len()
                && self.arena[entry.start..entry.start + piece.len()] == *piece
            {
                entry.count += n;
                return true;
            }
            at = (at + 1) & mask;
        }
        let number = self.entries.len() + 1;
        let room = number * 4 <= self.index.len() * 3
            && number <= self.entries.capacity()
            && self.arena.len() + piece.len() <= self.arena.capacity();
        let (true, Ok(number), Ok(len)) = (room, u32::try_from(number), u32::try_from(piece.len())) else {
            return false;
        };
        self.entries.push(Entry { start: self.arena.len(), len, tag, count: n });
        self.arena.extend_from_slice(piece);
        self.index[at] = number;
        true
    }

    /// Adds `n` to the count of `piece`, growing the table if necessary.
    ///
    /// # Errors
    /// As [`CountTable::grow`]; [`Error::Encode`] for a piece of 4 GiB or more.
    pub fn put(&mut self, piece: &[u8], n: u64) -> Result<()> {
        if u32::try_from(piece.len()).is_err() {
            return Err(Error::Encode(format!("a word of {} bytes; the limit is 4 GiB", piece.len())));
        }
        while !self.add(piece, n) {
            self.grow(piece)?;
        }
        Ok(())
    }

    /// Grows the table so that at least one more piece like `piece` fits.
    ///
    /// # Errors
    /// [`Error::Memory`] if memory runs out; all counts are kept.
    pub fn grow(&mut self, piece: &[u8]) -> Result<()> {
        if piece.len() <= MAX_KEY {
            // Huge pages for this table did not speed up counting.
            let new = memory::filled(self.slots.len() * 2, Slot::default())?;
            let old = std::mem::replace(&mut self.slots, new);
            let mask = self.slots.len() - 1;
            for slot in old.into_iter().filter(|slot| slot.key != 0) {
                let mut at = self.hash(slot.key) as usize & mask;
                while self.slots[at].key != 0 {
                    at = (at + 1) & mask;
                }
                self.slots[at] = slot;
            }
            return Ok(());
        }
        let more = piece.len().max(self.arena.len());
        self.arena.make_room(more)?;
        if self.entries.len() == self.entries.capacity() {
            let more = self.entries.len().max(FIRST_SLOTS / 2);
            self.entries.make_room(more)?;
        }
        if (self.entries.len() + 1) * 4 > self.index.len() * 3 {
            self.index = memory::filled(self.index.len() * 2, 0)?;
            let mask = self.index.len() - 1;
            for (number, entry) in self.entries.iter().enumerate() {
                let piece = &self.arena[entry.start..entry.start + entry.len as usize];
                let mut at = self.hasher.hash_one(piece) as usize & mask;
                while self.index[at] != 0 {
                    at = (at + 1) & mask;
                }
                self.index[at] = number as u32 + 1;
            }
        }
        Ok(())
    }

    /// The memory in use after [`CountTable::grow`] for `piece`.
    pub fn bytes_if_grown(&self, piece: &[u8]) -> usize {
        let (short, long) = if piece.len() <= MAX_KEY { (3, 1) } else { (1, 2) };
        self.slots.len() * size_of::<Slot>() * short
            + long
                * (self.index.len() * size_of::<u32>()
                    + self.entries.capacity() * size_of::<Entry>()
                    + self.arena.capacity())
    }

    /// Sorts the pieces in place. Afterwards only [`CountTable::sorted`] and [`CountTable::clear`]
    /// may be called.
    pub fn sort(&mut self) {
        let mut end = 0;
        for at in 0..self.slots.len() {
            if self.slots[at].key != 0 {
                self.slots[end] = Slot { key: in_order(self.slots[at].key), count: self.slots[at].count };
                end += 1;
            }
        }
        self.slots[..end].sort_unstable_by_key(|slot| slot.key);
        let arena = &self.arena;
        let piece = |entry: &Entry| &arena[entry.start..entry.start + entry.len as usize];
        self.entries.sort_unstable_by(|a, b| piece(a).cmp(piece(b)));
    }

    /// Empties the table but keeps its memory.
    pub fn clear(&mut self) {
        self.slots.fill(Slot::default());
        self.index.fill(0);
        self.n_short = 0;
        self.entries.clear();
        self.arena.clear();
    }

    fn hash(&self, key: Key) -> u64 {
        piece_table::hash(key ^ self.seed)
    }
}

/// Adds `n` to the count of a short piece, whose probing starts at `at`. Returns `false` if it is
/// new and there are already `most` pieces.
#[inline(always)]
fn add_short(slots: &mut [Slot], n_short: &mut usize, most: usize, key: Key, n: u64, mut at: usize) -> bool {
    loop {
        let Some(slot) = slots.get_mut(at) else {
            at = 0;
            continue;
        };
        if slot.key == key {
            // Cannot overflow: callers check the number of all pieces.
            slot.count += n;
            return true;
        }
        if slot.key == 0 {
            if *n_short >= most {
                return false;
            }
            *slot = Slot { key, count: n };
            *n_short += 1;
            return true;
        }
        at += 1;
    }
}

/// A key as a number that sorts like its piece: the first byte is most significant, the length
/// least.
fn in_order(key: Key) -> u128 {
    key.swap_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_like_their_pieces() {
        let mut pieces: Vec<Vec<u8>> = Vec::new();
        for byte in [0u8, 1, b'a', 0xff] {
            for len in 1..=MAX_KEY {
                pieces.push(vec![byte; len]);
                pieces.push([vec![b'a'; len - 1], vec![byte]].concat());
                pieces.push((0..len as u8).map(|i| i.wrapping_mul(byte)).collect());
            }
        }
        let key = |piece: &[u8]| in_order(piece_table::key(piece, 0, piece.len()));
        for a in &pieces {
            let mut padded = [0; 16];
            padded[..a.len()].copy_from_slice(a);
            padded[15] = a.len() as u8;
            assert_eq!(key(a).to_be_bytes(), padded, "{a:?}");
            for b in &pieces {
                assert_eq!(key(a).cmp(&key(b)), a.cmp(b), "{a:?} {b:?}");
            }
        }
    }
}
