//! `PretokenCache`: the ids of short pieces seen before.
//!
//! Filled only by running the model, so it never decides an id. Up to three ids
//! lie in the entry of their piece, more in an arena; when that is full, all is
//! forgotten, between two chunks. A chunk of pieces is looked up in short loops, one
//! after the other: keys, then places, then ids; unknown pieces are asked for
//! together, out of line, so that the model can wait for the memory of all at once.

use crate::cache::piece_table::{Call, Key, MAX_KEY, NO_KEY, PieceTable, Value, hash, key};
use crate::error::{Error, Result};
use crate::memory::MakeRoom;
use crate::text::{LONG_CHUNK, Piece};
use crate::vocab::TokenId;

/// 8 MiB of table, at which a running text is repeated fastest.
const MOST_SETS: usize = 1 << 17;
/// How many ids of pieces of more than three are kept: 4 MiB. Where most pieces
/// are such, a quarter was full before the table was, and all was forgotten.
/// A chunk that finds it not full may still add to it.
const MOST_LONG: usize = 1 << 20;
/// The same in a long call: 16 MiB.
const MOST_LONG_IN_LONG_CALL: usize = 1 << 22;
/// The most ids that lie in an entry.
const IN_ENTRY: usize = 3;
/// The ids that are copied at once from the arena, whatever their number: a
/// piece with a key has no more where each id covers a byte or more.
const AT_ONCE: usize = 16;

/// Encodes the pieces that are not in the cache.
pub(crate) trait Misses {
    /// The key of a piece of up to [`MAX_KEY`](crate::cache::piece_table::MAX_KEY) bytes.
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
    /// each by [`PretokenCache::insert`].
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
            cache.fill_unknown(at, &ids);
        }
        cache.new = ids;
    }

    /// Appends the ids of a piece that is too long for a key: at once, or by its
    /// parts ([`PretokenCache::encode_parts`]).
    fn long(&mut self, cache: &mut PretokenCache, text: &[u8], piece: Piece, ids: &mut Vec<TokenId>);

    /// Appends the ids of a part that has no key.
    fn keyless(&mut self, text: &[u8], part: Piece, ids: &mut Vec<TokenId>);
}

/// The pieces of a chunk, and the parts of one that is long: some wait to be looked
/// up, the values of the rest are known.
struct Chunk {
    /// Of the waiting pieces: keys, hashes, their numbers, where they lie if they are parts.
    keys: [Key; LONG_CHUNK],
    hashes: [u64; LONG_CHUNK],
    numbers: [u32; LONG_CHUNK],
    parts: [Piece; LONG_CHUNK],
    /// Which waiting pieces are in no first set; then, which the model is asked for.
    unknown: [u32; LONG_CHUNK],
    /// Which waiting pieces have no key.
    keyless: [u32; LONG_CHUNK],
    /// The known values, by number.
    values: [Value; LONG_CHUNK],
    /// The ids of the known ones, being loaded.
    ids: [TokenId; AT_ONCE * (LONG_CHUNK + 1)],
}

/// A bounded map from pieces to ids; belongs to one thread and one model.
pub(crate) struct PretokenCache {
    table: PieceTable,
    /// The ids of pieces of more than three, with [`AT_ONCE`] more behind them.
    long: Vec<TokenId>,
    /// How many of `long` are in use.
    n_long: usize,
    /// The ids of a piece on their way here; kept for its memory.
    new: Vec<TokenId>,
    /// That there was no memory for ids, which are missing then.
    missing: Option<Error>,
    /// Where ids are only counted: how many those are that were not appended.
    counted: Option<usize>,
    chunk: Box<Chunk>,
}

impl Default for PretokenCache {
    fn default() -> Self {
        let chunk = Chunk {
            keys: [0; LONG_CHUNK],
            hashes: [0; LONG_CHUNK],
            numbers: [0; LONG_CHUNK],
            parts: [Piece::default(); LONG_CHUNK],
            unknown: [0; LONG_CHUNK],
            keyless: [0; LONG_CHUNK],
            values: [[0; 4]; LONG_CHUNK],
            ids: [0; AT_ONCE * (LONG_CHUNK + 1)],
        };
        Self {
            table: PieceTable::new(MOST_SETS),
            long: Vec::new(),
            n_long: 0,
            new: Vec::new(),
            missing: None,
            counted: None,
            chunk: Box::new(chunk),
        }
    }
}

/// Appends ids that wait, and more of them than there is room for.
#[cold]
#[inline(never)]
fn append_both(ids: &mut Vec<TokenId>, waiting: &[TokenId], many: &[TokenId]) {
    ids.extend_from_slice(waiting);
    ids.extend_from_slice(many);
}

impl PretokenCache {
    /// Appends the ids of pieces, in order.
    #[inline]
    pub(crate) fn encode(
        &mut self,
        text: &[u8],
        mut pieces: &[Piece],
        ids: &mut Vec<TokenId>,
        misses: &mut impl Misses,
    ) {
        while !pieces.is_empty() {
            let n = self.wait_for_short(text, pieces, misses);
            self.look_up(text, n, n, ids, misses);
            pieces = &pieces[n..];
            if let Some((piece, rest)) = pieces.split_first()
                && piece.range().len() > MAX_KEY
            {
                misses.long(self, text, *piece, ids);
                pieces = rest;
            }
        }
    }

    /// Lets pieces wait, up to one without a key or the last that there is room
    /// for; returns how many.
    #[inline]
    fn wait_for_short(&mut self, text: &[u8], pieces: &[Piece], misses: &impl Misses) -> usize {
        let Self { table, chunk, .. } = self;
        let Chunk { keys, hashes, numbers, .. } = &mut **chunk;
        let mut n = 0;
        let room = keys.iter_mut().zip(hashes).zip(numbers);
        for (piece, ((key_of_piece, hash_of_key), number)) in pieces.iter().zip(room) {
            let len = (piece.end - piece.start) as usize;
            if len > MAX_KEY {
                break;
            }
            *key_of_piece = misses.key(text, piece.start as usize, len);
            *hash_of_key = hash(*key_of_piece);
            *number = n;
            table.prefetch(*hash_of_key);
            n += 1;
        }
        n as usize
    }

    /// Appends the ids of parts of a piece, in order: of a part of `text` by its value, if `known`
    /// gives one, else by its key.
    #[inline]
    pub(crate) fn encode_parts(
        &mut self,
        text: &[u8],
        mut parts: impl Iterator<Item = Piece>,
        known: impl Fn(Piece) -> Option<Value>,
        key_of: impl Fn(Piece) -> Key,
        ids: &mut Vec<TokenId>,
        misses: &mut impl Misses,
    ) {
        loop {
            let (n, n_waiting) = self.wait_for_parts(&mut parts, &known, &key_of);
            if n == 0 {
                return;
            }
            self.look_up(text, n, n_waiting, ids, misses);
        }
    }

    /// Takes parts, and lets those wait that are not known; returns how many parts, and
    /// how many of these.
    #[inline]
    fn wait_for_parts(
        &mut self,
        parts: &mut impl Iterator<Item = Piece>,
        known: &impl Fn(Piece) -> Option<Value>,
        key_of: &impl Fn(Piece) -> Key,
    ) -> (usize, usize) {
        let Self { table, chunk, .. } = self;
        let Chunk { keys, hashes, numbers, values, parts: waiting, .. } = &mut **chunk;
        let (mut n, mut n_waiting) = (0, 0);
        for place in values {
            let Some(part) = parts.next() else { break };
            // Asked here, not by the iterator: that would pass each answer through memory.
            if let Some(value) = known(part) {
                *place = value;
            } else {
                let key = key_of(part);
                (keys[n_waiting], hashes[n_waiting]) = (key, hash(key));
                table.prefetch(hashes[n_waiting]);
                (numbers[n_waiting], waiting[n_waiting]) = (n, part);
                n_waiting += 1;
            }
            n += 1;
        }
        (n as usize, n_waiting)
    }

    /// Looks up the pieces or parts that wait and appends the ids of all `n`, in order.
    #[inline]
    fn look_up(
        &mut self,
        text: &[u8],
        n: usize,
        n_waiting: usize,
        ids: &mut Vec<TokenId>,
        misses: &mut impl Misses,
    ) {
        self.table.count_lookups(n_waiting);
        self.make_room();
        let mut done = 0;
        let n_unknown = self.look(n_waiting);
        if n_unknown > 0 {
            let n_keyless = self.learn(n_unknown, misses);
            for at in 0..n_keyless {
                let Chunk { numbers, keyless, parts, .. } = &*self.chunk;
                let at = keyless[at] as usize;
                let (number, part) = (numbers[at] as usize, parts[at]);
                self.emit(done, number, ids);
                misses.keyless(text, part, ids);
                done = number + 1;
            }
        }
        self.emit(done, n, ids);
    }

    /// Takes what first sets know of the waiting pieces; notes the places of which they know
    /// nothing, and returns how many these are.
    #[inline]
    fn look(&mut self, n_waiting: usize) -> usize {
        let Self { table, chunk, .. } = self;
        let Chunk { keys, hashes, numbers, unknown, values, .. } = &mut **chunk;
        let mut n_unknown = 0;
        for at in 0..n_waiting {
            let (value, is_known) = table.look(keys[at], hashes[at]);
            values[numbers[at] as usize] = *value;
            // Written in any case, then counted or not: no branch.
            unknown[n_unknown] = at as u32;
            n_unknown += usize::from(!is_known);
        }
        n_unknown
    }

    /// Finds out what those are of which first sets know nothing, except for those without a
    /// key; returns how many these are.
    #[inline(never)]
    fn learn(&mut self, n_unknown: usize, misses: &mut impl Misses) -> usize {
        let Self { table, chunk, .. } = self;
        let Chunk { keys, hashes, numbers, unknown, keyless, values, .. } = &mut **chunk;
        for &at in &unknown[..n_unknown] {
            table.prefetch_second(hashes[at as usize]);
        }
        let (mut n_left, mut n_keyless) = (0, 0);
        for place in 0..n_unknown {
            let at = unknown[place] as usize;
            if keys[at] == NO_KEY {
                keyless[n_keyless] = at as u32;
                n_keyless += 1;
            } else if let Some(value) = table.get(keys[at], hashes[at]) {
                values[numbers[at] as usize] = *value;
            } else {
                unknown[n_left] = at as u32;
                n_left += 1;
                misses.announce(keys[at]);
            }
        }
        misses.learn(self, n_left);
        n_keyless
    }

    /// The key of the `at`th piece that is not known.
    #[inline]
    pub(crate) fn unknown(&self, at: usize) -> Key {
        self.chunk.keys[self.chunk.unknown[at] as usize]
    }

    /// Sets the ids of the `at`th unknown piece.
    #[inline]
    pub(crate) fn fill_unknown(&mut self, at: usize, ids: &[TokenId]) {
        let Chunk { keys, numbers, unknown, .. } = &*self.chunk;
        let at = unknown[at] as usize;
        let (key, number) = (keys[at], numbers[at] as usize);
        self.chunk.values[number] = self.keep(key, ids);
    }

    /// From here on, counts the ids instead of appending them.
    pub(crate) fn begin_counting(&mut self) {
        self.counted = Some(0);
    }

    /// Appends ids again; returns how many were counted.
    pub(crate) fn end_counting(&mut self) -> usize {
        self.counted.take().unwrap_or(0)
    }

    /// Appends the ids of those from number `start` to `end`, which are known, or counts them.
    #[inline]
    fn emit(&mut self, start: usize, end: usize, ids: &mut Vec<TokenId>) {
        let Chunk { values, ids: new, .. } = &mut *self.chunk;
        if let Some(counted) = &mut self.counted {
            *counted += values[start..end].iter().map(|value| value[IN_ENTRY] as usize).sum::<usize>();
            return;
        }
        // First into a buffer, then all at once behind the previous ids.
        let mut n_new = 0;
        for value in &values[start..end] {
            let n = value[IN_ENTRY] as usize;
            // All words are written whatever the number, which then says where to continue.
            let place = new.get_mut(n_new..).and_then(<[TokenId]>::first_chunk_mut::<AT_ONCE>);
            let Some(place) = place else { break };
            if n <= IN_ENTRY {
                let [first @ .., _, _, _, _, _, _, _, _, _, _, _, _] = place;
                *first = *value;
                n_new += n;
                continue;
            }
            let known = self.long.get(value[0] as usize..).unwrap_or_default();
            match known.first_chunk::<AT_ONCE>().filter(|_| n <= AT_ONCE) {
                Some(known) => {
                    *place = *known;
                    n_new += n;
                }
                None => {
                    append_both(ids, &new[..n_new], &known[..n]);
                    n_new = 0;
                }
            }
        }
        ids.extend_from_slice(&new[..n_new]);
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
        self.make_room();
        self.keep(key, ids);
    }

    /// Whether there was memory for all ids since the last look.
    ///
    /// # Errors
    /// [`Error::Memory`] if not.
    #[inline]
    pub(crate) fn check(&mut self) -> Result<()> {
        self.missing.take().map_or(Ok(()), Err)
    }

    /// Forgets all if the arena is full: no value may be in use.
    #[inline]
    fn make_room(&mut self) {
        let most = if self.table.is_in_long_call() { MOST_LONG_IN_LONG_CALL } else { MOST_LONG };
        if self.n_long > most {
            self.forget();
        }
    }

    /// Ends a call: frees memory that only a long call may hold, and the values in it.
    pub(crate) fn rest(&mut self) {
        if self.table.end_call() == Call::Short && (self.table.is_large() || self.n_long > MOST_LONG) {
            self.table = PieceTable::new(MOST_SETS);
            self.long = Vec::new();
            self.n_long = 0;
        }
    }

    #[cold]
    fn forget(&mut self) {
        self.n_long = 0;
        self.table.clear();
    }

    /// Caches the ids of a piece; returns its value.
    #[inline]
    fn keep(&mut self, key: Key, ids: &[TokenId]) -> Value {
        let mut value: Value = [0; 4];
        value[IN_ENTRY] = ids.len() as u32;
        match value.get_mut(..ids.len()).filter(|_| ids.len() <= IN_ENTRY) {
            Some(place) => place.copy_from_slice(ids),
            None => {
                value[0] = self.n_long as u32;
                self.long.truncate(self.n_long);
                if let Err(error) = self.long.make_room(ids.len() + AT_ONCE) {
                    self.missing = Some(error);
                    return [0; 4];
                }
                self.long.extend_from_slice(ids);
                self.n_long = self.long.len();
                self.long.extend_from_slice(&[0; AT_ONCE]);
            }
        }
        self.table.insert(key, value);
        value
    }
}

#[cfg(test)]
mod tests;
