//! `PieceTable`: a hash table of values of short pieces, by their bytes.
//!
//! One key (up to 15 bytes and their number) and one hash for all that looks pieces up:
//! BPE, WordPiece, Unigram and counting, which has its own table. Entries have 32
//! bytes, two to a line of the processor's caches. The table is set-associative and
//! bounded: a piece belongs in one of two sets of two places (Azar et al. 1994), and
//! where both are full it drives out the one of its first set that came first. It grows
//! with what comes in, so a short text pays for a short table; beyond its bound it
//! grows only in a call that looks up many pieces, and stays that large only while calls do.
//!
//! Not a map: what went in may be gone. Texts may be chosen so that their pieces
//! drive each other out; that costs time, and never changes a result.

use std::hint::select_unpredictable;

use crate::error::Result;
use crate::memory;
use crate::text::Piece;
use crate::text::simd::{huge_pages, prefetch};

/// The longest piece that has a key.
pub(crate) const MAX_KEY: usize = 15;

/// The bytes of a piece, its length in the top byte, whose highest bit is free.
/// Never 0: that is an empty place.
pub(crate) type Key = u128;

/// The key of a piece that is too long for one. No table contains it.
pub(crate) const NO_KEY: Key = Key::MAX;

/// The cached value of a piece.
pub(crate) type Value = [u32; 4];

/// Which bytes belong to a piece of each length.
const MASKS: [Key; 16] = {
    let mut masks = [0; 16];
    let mut len = 1;
    while len < 16 {
        masks[len] = (1 << (8 * len)) - 1;
        len += 1;
    }
    masks
};

/// The key of `text[start..start + len]`, a piece of 1 to [`MAX_KEY`] bytes.
#[inline(always)]
pub(crate) fn key(text: &[u8], start: usize, len: usize) -> Key {
    match text.get(start..).and_then(<[u8]>::first_chunk::<16>) {
        Some(bytes) => key_of_word(u128::from_le_bytes(*bytes), len),
        None => key_at_end(text, start, len),
    }
}

/// The key of a piece that begins in the last 15 bytes of a text.
#[cold]
fn key_at_end(text: &[u8], start: usize, len: usize) -> Key {
    let mut word = [0; 16];
    word[..len].copy_from_slice(&text[start..start + len]);
    key_of_word(u128::from_le_bytes(word), len)
}

/// The key of the first `len` bytes of a little-endian word, 1 to [`MAX_KEY`].
#[inline(always)]
pub(crate) fn key_of_word(word: u128, len: usize) -> Key {
    (word & MASKS[len & 15]) | (len as u128) << 120
}

/// The key of a piece of any length: [`NO_KEY`] of a long one.
#[inline(always)]
pub(crate) fn key_of_piece(text: &[u8], Piece { start, end }: Piece) -> Key {
    let len = (end - start) as usize;
    if len <= MAX_KEY { key(text, start as usize, len) } else { NO_KEY }
}

/// A number whose low bits say where a key belongs.
#[inline(always)]
pub(crate) fn hash(key: Key) -> u64 {
    // Both halves of one product of two words under constants, as in foldhash.
    let (low, high) = (key as u64 ^ 0x243F_6A88_85A3_08D3, (key >> 64) as u64 ^ 0x1319_8A2E_0370_7344);
    let product = u128::from(low) * u128::from(high);
    product as u64 ^ (product >> 64) as u64
}

/// A call by how many pieces it looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Call {
    Short,
    /// Tables may stay larger for the next.
    Long,
}

#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Entry {
    key: Key,
    value: Value,
}

/// Two places: of the one that came last, and the one before.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Set([Entry; 2]);

impl Set {
    /// The value at the place of the key, and whether there is a key; without one the value
    /// has no meaning.
    #[inline(always)]
    fn look(&self, key: Key) -> (&Value, bool) {
        let Self([first, second]) = self;
        let is_second = second.key == key;
        (select_unpredictable(is_second, &second.value, &first.value), is_second | (first.key == key))
    }

    #[inline(always)]
    fn get(&self, key: Key) -> Option<&Value> {
        let Self([first, second]) = self;
        let entry = if second.key == key { second } else { first };
        (entry.key == key).then_some(&entry.value)
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.0[1].key != 0
    }

    /// Whether a key has a place here or can have one.
    fn has_room(&self, key: Key) -> bool {
        self.get(key).is_some() || !self.is_full()
    }

    fn put(&mut self, entry: Entry) {
        let Self([first, second]) = self;
        if second.key == entry.key {
            *second = entry;
            return;
        }
        if first.key != entry.key {
            *second = *first;
        }
        *first = entry;
    }
}

/// The most sets of a table in a long call: 32 MiB. 94 MB of mixed text have 515,000 distinct short pieces.
const MOST_SETS: usize = 1 << 19;

/// A call that looks up so many pieces is long: some 5 MB.
const LONG_CALL: usize = 1 << 20;

/// The bits of a hash that say which set is the second of a key.
const SECOND: u32 = 32;

/// So many sets without a piece.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory) where there is none for them.
fn empty(n_sets: usize) -> Result<Vec<Set>> {
    let mut sets = memory::reserved(n_sets)?;
    huge_pages::advise(sets.spare_capacity_mut());
    sets.resize(n_sets, Set::default());
    Ok(sets)
}

/// A bounded table from keys to values; belongs to one thread and one model.
pub(crate) struct PieceTable {
    /// A power of two of them.
    sets: Vec<Set>,
    /// How many keys came in since the table grew.
    n_inserted: usize,
    most_sets: usize,
    /// How many keys were looked up in this call.
    n_looked_up: usize,
}

impl PieceTable {
    const LEAST_SETS: usize = 1 << 7;

    /// An empty table that grows to at most so many sets, of 64 bytes each, or to [`MOST_SETS`] in a long
    /// call.
    pub(crate) fn new(most_sets: usize) -> Self {
        let sets = vec![Set::default(); Self::LEAST_SETS];
        Self { sets, n_inserted: 0, most_sets, n_looked_up: 0 }
    }

    /// Counts keys that are looked up, to detect long calls.
    #[inline]
    pub(crate) fn count_lookups(&mut self, n: usize) {
        self.n_looked_up += n;
    }

    /// Whether this call is long.
    #[inline]
    pub(crate) fn is_in_long_call(&self) -> bool {
        self.n_looked_up >= LONG_CALL
    }

    /// Ends a call, and says what it was.
    pub(crate) fn end_call(&mut self) -> Call {
        let call = if self.is_in_long_call() { Call::Long } else { Call::Short };
        self.n_looked_up = 0;
        call
    }

    /// Whether it is larger than only a long call makes it.
    pub(crate) fn is_large(&self) -> bool {
        self.sets.len() > self.most_sets
    }

    /// Says that a key with this hash is going to be looked up.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        if let Some(set) = self.set(hash) {
            prefetch(set);
        }
    }

    /// The same for both of its sets: of a table that is full, many keys are in the second.
    #[inline(always)]
    pub(crate) fn prefetch_both(&self, hash: u64) {
        self.prefetch(hash);
        self.prefetch(hash >> SECOND);
    }

    /// Says the same of a key that is not in its first set, which has been read.
    #[inline(always)]
    pub(crate) fn prefetch_second(&self, hash: u64) {
        if self.set(hash).is_some_and(Set::is_full) {
            self.prefetch(hash >> SECOND);
        }
    }

    /// The value in the first set of a piece, and whether it is of this piece; if not, the
    /// value has no meaning, and [`PieceTable::get`] knows whether it is in the second set.
    ///
    /// Without a branch on the result, for many pieces one after the other: nobody
    /// can foretell which of two places a piece has, and a wrong guess costs as much as
    /// all the rest. A single piece is waited for either way, and `get` is quicker.
    #[inline(always)]
    pub(crate) fn look(&self, key: Key, hash: u64) -> (&Value, bool) {
        self.set(hash).map_or((&[0; 4], false), |set| set.look(key))
    }

    /// The value of a piece; `hash` is that of its key.
    #[inline(always)]
    pub(crate) fn get(&self, key: Key, hash: u64) -> Option<&Value> {
        match self.set(hash)?.get(key) {
            Some(value) => Some(value),
            None => self.get_second(key, hash),
        }
    }

    /// The same, of a piece that is not in its first set: then that is full, if the
    /// piece is in the second.
    #[cold]
    #[inline(never)]
    fn get_second(&self, key: Key, hash: u64) -> Option<&Value> {
        if self.set(hash)?.is_full() { self.set(hash >> SECOND)?.get(key) } else { None }
    }

    #[inline(always)]
    fn set(&self, hash: u64) -> Option<&Set> {
        self.sets.get(hash as usize & (self.sets.len() - 1))
    }

    /// Stores the value of a piece.
    pub(crate) fn insert(&mut self, key: Key, value: Value) {
        self.n_inserted += 1;
        // Three quarters of the places.
        if self.n_inserted > self.sets.len() / 2 * 3 {
            self.grow();
        }
        self.place(Entry { key, value });
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.sets.fill(Set::default());
        self.n_inserted = 0;
    }

    fn place(&mut self, entry: Entry) {
        let hash = hash(entry.key);
        let has_room = |hash: u64| self.set(hash).is_some_and(|set| set.has_room(entry.key));
        let place = if !has_room(hash) && has_room(hash >> SECOND) { hash >> SECOND } else { hash };
        let mask = self.sets.len() - 1;
        if let Some(set) = self.sets.get_mut(place as usize & mask) {
            set.put(entry);
        }
    }

    #[cold]
    fn grow(&mut self) {
        let most = if self.is_in_long_call() { MOST_SETS.max(self.most_sets) } else { self.most_sets };
        let size = (self.sets.len() * 4).min(most);
        if size <= self.sets.len() {
            return;
        }
        self.n_inserted = 0;
        // Where there is no memory, pieces drive each other out of the table there is.
        let Ok(sets) = empty(size) else { return };
        let old = std::mem::replace(&mut self.sets, sets);
        // The second of two goes before the first, which then is first again.
        for entry in old.iter().flat_map(|set| set.0.iter().rev()).filter(|entry| entry.key != 0) {
            self.place(*entry);
            self.n_inserted += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_or_is_gone() {
        const MOST_SETS: usize = 1 << 14;
        let mut table = PieceTable::new(MOST_SETS);
        let words: Vec<String> = (0..100_000).map(|n| format!("{n:x}")).collect();
        let keys: Vec<Key> = words.iter().map(|word| key(word.as_bytes(), 0, word.len())).collect();
        for (n, &key) in keys.iter().enumerate() {
            table.insert(key, [n as u32; 4]);
            assert_eq!(table.get(key, hash(key)), Some(&[n as u32; 4]));
        }
        assert_eq!(table.sets.len(), MOST_SETS);
        let known = |n: &usize| table.get(keys[*n], hash(keys[*n])).inspect(|v| assert_eq!(v[0], *n as u32));
        let n_known = (0..keys.len()).filter(|n| known(n).is_some()).count();
        assert!(n_known > 2 * MOST_SETS * 9 / 10, "{n_known}");
        assert_eq!(table.get(NO_KEY, hash(NO_KEY)), None);
        table.clear();
        assert_eq!(table.get(keys[99_999], hash(keys[99_999])), None);
    }

    #[test]
    fn only_a_long_call_grows_beyond_the_bound() {
        const RESTING_SETS: usize = 1 << 14;
        let keys: Vec<Key> = (1..=4 * RESTING_SETS as u128).map(|n| key_of_word(n, 7)).collect();
        let mut table = PieceTable::new(RESTING_SETS);
        let fill = |table: &mut PieceTable| keys.iter().for_each(|&key| table.insert(key, [1; 4]));
        fill(&mut table);
        assert!(!table.is_large());
        assert_eq!(table.end_call(), Call::Short);
        table.count_lookups(LONG_CALL);
        fill(&mut table);
        assert!(table.is_large() && table.sets.len() <= MOST_SETS);
        let n_known = keys.iter().filter(|&&key| table.get(key, hash(key)).is_some()).count();
        assert!(n_known > keys.len() * 95 / 100, "{n_known}");
        assert_eq!([table.end_call(), table.end_call()], [Call::Long, Call::Short]);
    }

    #[test]
    fn keys_do_not_depend_on_what_follows() {
        let text = b"the theatre and the";
        assert_eq!(key(text, 0, 3), key(text, 16, 3));
        assert_ne!(key(text, 0, 3), key(text, 4, 7));
        assert_eq!(key(text, 4, 7), key(b"theatre", 0, 7));
        assert_eq!(key(text, 4, 7).swap_bytes().to_be_bytes()[..7], *b"theatre");
        for len in 1..=MAX_KEY {
            assert_eq!(key_of_word(u128::MAX, len).to_le_bytes()[len..15], [0; 15][len..]);
        }
    }
}
