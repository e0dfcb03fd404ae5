//! `Table`: one worker's counts, the inner loop of counting.
//!
//! A piece of up to 15 bytes is kept inside its slot as two words: its bytes,
//! padded with zeros, and its length as the last byte. Read as numbers,
//! greatest byte first, these words sort as the pieces do. Longer pieces lie
//! in one arena. Both tables probe linearly from a seeded hash, so that no
//! text can be made to collide; hash order never reaches a result, since a
//! table leaves only as a sorted run.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

/// The longest piece kept in a slot.
const SHORT: usize = 15;

/// Slots of an empty table.
const FIRST_SLOTS: usize = 1 << 12;

/// A short piece with its count; free when the length in `low` is 0.
#[derive(Clone, Copy, Default)]
struct Slot {
    high: u64,
    low: u64,
    count: u64,
}

/// A long piece with its count.
#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    len: u32,
    /// Part of the hash: most mismatches are seen without reading the arena.
    tag: u32,
    count: u64,
}

/// Pieces with their counts, in no order.
pub(super) struct Table {
    slots: Vec<Slot>,
    n_short: usize,
    seeds: [u64; 2],
    /// One more than an entry's index; 0 is free.
    index: Vec<u32>,
    entries: Vec<Entry>,
    arena: Vec<u8>,
    hasher: DefaultHashBuilder,
}

impl Table {
    /// An empty table.
    pub fn new() -> Self {
        let hasher = DefaultHashBuilder::default();
        Self {
            slots: vec![Slot::default(); FIRST_SLOTS],
            n_short: 0,
            seeds: [hasher.hash_one(0u8), hasher.hash_one(1u8)],
            index: vec![0; FIRST_SLOTS],
            entries: Vec::new(),
            arena: Vec::new(),
            hasher,
        }
    }

    /// How many pieces there are.
    pub fn len(&self) -> usize {
        self.n_short + self.entries.len()
    }

    /// Counts `piece` once more; `false` if there is no room for a new piece
    /// of its length: then [`Table::grow`] or [`Table::take_sorted`] first.
    #[inline]
    pub fn add(&mut self, piece: &[u8]) -> bool {
        match key(piece) {
            Some((high, low)) => self.add_short(high, low),
            None => self.add_long(piece),
        }
    }

    #[inline]
    fn add_short(&mut self, high: u64, low: u64) -> bool {
        let mask = self.slots.len() - 1;
        let mut at = self.hash(high, low) as usize & mask;
        let is_full = (self.n_short + 1) * 4 > self.slots.len() * 3;
        loop {
            let slot = &mut self.slots[at];
            if slot.low == low && slot.high == high {
                // Counting 2^64 pieces one by one takes centuries.
                slot.count += 1;
                return true;
            }
            if slot.low == 0 {
                if is_full {
                    return false;
                }
                *slot = Slot { high, low, count: 1 };
                self.n_short += 1;
                return true;
            }
            at = (at + 1) & mask;
        }
    }

    fn add_long(&mut self, piece: &[u8]) -> bool {
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
                entry.count += 1;
                return true;
            }
            at = (at + 1) & mask;
        }
        let n = self.entries.len() + 1;
        let room = n * 4 <= self.index.len() * 3
            && n <= self.entries.capacity()
            && self.arena.len() + piece.len() <= self.arena.capacity();
        let (true, Ok(number), Ok(len)) = (room, u32::try_from(n), u32::try_from(piece.len())) else {
            return false;
        };
        self.entries.push(Entry { start: self.arena.len(), len, tag, count: 1 });
        self.arena.extend_from_slice(piece);
        self.index[at] = number;
        true
    }

    /// Makes room for at least one more piece like `piece`.
    pub fn grow(&mut self, piece: &[u8]) {
        if piece.len() <= SHORT {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![Slot::default(); old.len() * 2];
            let mask = self.slots.len() - 1;
            for slot in old.into_iter().filter(|slot| slot.low != 0) {
                let mut at = self.hash(slot.high, slot.low) as usize & mask;
                while self.slots[at].low != 0 {
                    at = (at + 1) & mask;
                }
                self.slots[at] = slot;
            }
            return;
        }
        self.arena.reserve(piece.len().max(self.arena.len()));
        if self.entries.len() == self.entries.capacity() {
            self.entries.reserve(self.entries.len().max(FIRST_SLOTS / 2));
        }
        if (self.entries.len() + 1) * 4 > self.index.len() * 3 {
            self.index = vec![0; self.index.len() * 2];
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
    }

    /// The memory held after [`Table::grow`] for `piece`.
    pub fn bytes_if_grown(&self, piece: &[u8]) -> usize {
        let (short, long) = if piece.len() <= SHORT { (3, 1) } else { (1, 2) };
        self.slots.len() * size_of::<Slot>() * short
            + long
                * (self.index.len() * size_of::<u32>()
                    + self.entries.capacity() * size_of::<Entry>()
                    + self.arena.capacity())
    }

    /// Sorts what there is, in the same memory. Then [`Table::sorted`] reads
    /// it and [`Table::clear`] empties it; nothing else may be asked of it.
    pub fn sort(&mut self) {
        let mut end = 0;
        for at in 0..self.slots.len() {
            if self.slots[at].low != 0 {
                self.slots.swap(at, end);
                end += 1;
            }
        }
        self.slots[..end].sort_unstable_by_key(|slot| (slot.high, slot.low));
        let arena = &self.arena;
        let piece = |entry: &Entry| &arena[entry.start..entry.start + entry.len as usize];
        self.entries.sort_unstable_by(|a, b| piece(a).cmp(piece(b)));
    }

    /// The pieces of a sorted table, in order.
    pub fn sorted(&self) -> Sorted<'_> {
        Sorted {
            shorts: &self.slots[..self.n_short],
            entries: &self.entries,
            arena: &self.arena,
            buffer: [0; 16],
            current: 0..0,
            count: 0,
        }
    }

    /// Empties the table, keeps its memory.
    pub fn clear(&mut self) {
        self.slots.fill(Slot::default());
        self.index.fill(0);
        self.n_short = 0;
        self.entries.clear();
        self.arena.clear();
    }

    fn hash(&self, high: u64, low: u64) -> u64 {
        let product = u128::from(high ^ self.seeds[0]) * u128::from(low ^ self.seeds[1]);
        product as u64 ^ (product >> 64) as u64
    }
}

/// A short piece as two words.
#[inline]
fn key(piece: &[u8]) -> Option<(u64, u64)> {
    let len = piece.len();
    if let (Some(first), Some(last)) = (piece.first_chunk::<8>(), piece.last_chunk::<8>()) {
        if len > SHORT {
            return None;
        }
        // Of the last eight bytes those after the eighth, moved to the front.
        let rest = u64::from_be_bytes(*last).checked_shl(8 * (16 - len as u32)).unwrap_or(0);
        Some((u64::from_be_bytes(*first), rest | len as u64))
    } else if let (Some(first), Some(last)) = (piece.first_chunk::<4>(), piece.last_chunk::<4>()) {
        let (first, last) = (u64::from(u32::from_be_bytes(*first)), u64::from(u32::from_be_bytes(*last)));
        Some((first << 32 | last << (8 * (8 - len as u32)), len as u64))
    } else {
        let byte = |at: usize| piece.get(at).map_or(0, |&byte| u64::from(byte) << (56 - 8 * at));
        Some((byte(0) | byte(1) | byte(2), len as u64))
    }
}

/// A cursor over the pieces of a table, in order.
pub(super) struct Sorted<'a> {
    shorts: &'a [Slot],
    entries: &'a [Entry],
    arena: &'a [u8],
    /// The current piece, if it is short; its length is the last byte.
    buffer: [u8; 16],
    /// Where the current piece lies in the arena, if it is long.
    current: std::ops::Range<usize>,
    count: u64,
}

impl Sorted<'_> {
    /// Goes to the next piece; `false` at the end.
    pub fn advance(&mut self) -> bool {
        let long = self.entries.first().map(|entry| entry.start..entry.start + entry.len as usize);
        if let Some(slot) = self.shorts.first() {
            self.buffer[..8].copy_from_slice(&slot.high.to_be_bytes());
            self.buffer[8..].copy_from_slice(&slot.low.to_be_bytes());
            self.current = 0..0;
            let short = &self.buffer[..usize::from(self.buffer[SHORT])];
            if long.clone().is_none_or(|long| *short < self.arena[long]) {
                self.count = slot.count;
                self.shorts = &self.shorts[1..];
                return true;
            }
        }
        let (Some(long), Some(entry)) = (long, self.entries.first()) else { return false };
        (self.current, self.count) = (long, entry.count);
        self.entries = &self.entries[1..];
        true
    }

    /// The current piece.
    pub fn piece(&self) -> &[u8] {
        if self.current.is_empty() {
            &self.buffer[..usize::from(self.buffer[SHORT])]
        } else {
            &self.arena[self.current.clone()]
        }
    }

    /// Its count.
    pub fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_as_the_pieces_do() {
        let mut pieces: Vec<Vec<u8>> = vec![b"".to_vec()];
        for byte in [0u8, 1, b'a', 0xff] {
            for len in 1..=16 {
                pieces.push(vec![byte; len]);
                pieces.push([vec![b'a'; len - 1], vec![byte]].concat());
                pieces.push((0..len as u8).map(|i| i.wrapping_mul(byte)).collect());
            }
        }
        for a in &pieces {
            let mut padded = [0; 16];
            if a.len() <= SHORT {
                padded[..a.len()].copy_from_slice(a);
                padded[15] = a.len() as u8;
                let (high, low) = key(a).unwrap();
                assert_eq!((u128::from(high) << 64 | u128::from(low)).to_be_bytes(), padded, "{a:?}");
            }
            for b in &pieces {
                if let (Some(x), Some(y)) = (key(a), key(b)) {
                    assert_eq!(x.cmp(&y), a.cmp(b), "{a:?} {b:?}");
                }
            }
        }
    }
}
