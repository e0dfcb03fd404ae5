//! `Sorted`: a cursor over the pieces of a sorted table, or over a range of them.

use std::ops::Range;

use super::{CountTable, Entry, Slot};
use crate::cache::piece_table::MAX_KEY;

impl CountTable {
    /// The pieces of a sorted table, in order.
    pub fn sorted(&self) -> Sorted<'_> {
        self.sorted_between(None, None)
    }

    /// The pieces from `from` (inclusive) to `to` (exclusive), in order; `None` means no bound.
    pub fn sorted_between(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Sorted<'_> {
        let (shorts, entries) = (&self.slots[..self.n_short], &self.entries[..]);
        let places = |bound: &[u8]| {
            let is_less = |slot: &Slot| {
                let bytes = slot.key.to_be_bytes();
                short(&bytes) < bound
            };
            let is_less_long = |entry: &Entry| self.arena[place(entry)] < *bound;
            (shorts.partition_point(is_less), entries.partition_point(is_less_long))
        };
        let (short, long) = from.map_or((0, 0), places);
        let (short_end, long_end) = to.map_or((shorts.len(), entries.len()), places);
        Sorted {
            shorts: &shorts[short..short_end.max(short)],
            entries: &entries[long..long_end.max(long)],
            arena: &self.arena,
            buffer: [0; 16],
            current: 0..0,
            count: 0,
        }
    }

    /// At most `n - 1` pieces of a sorted table at equal distances, ascending.
    pub fn quantiles(&self, n: usize) -> Vec<Vec<u8>> {
        let (shorts, entries) = (&self.slots[..self.n_short], &self.entries);
        let piece = |part: usize| match shorts.len() >= entries.len() {
            true => shorts.get(shorts.len() * part / n).map(|slot| short(&slot.key.to_be_bytes()).to_vec()),
            false => entries.get(entries.len() * part / n).map(|entry| self.arena[place(entry)].to_vec()),
        };
        (1..n).filter_map(piece).collect()
    }
}

/// A short piece as stored in its slot after sorting; the last byte is its length.
fn short(bytes: &[u8; 16]) -> &[u8] {
    &bytes[..usize::from(bytes[MAX_KEY])]
}

fn place(entry: &Entry) -> Range<usize> {
    entry.start..entry.start + entry.len as usize
}

/// A cursor over the pieces of a table, in order.
pub(crate) struct Sorted<'a> {
    shorts: &'a [Slot],
    entries: &'a [Entry],
    arena: &'a [u8],
    /// The current piece, if it is short; the last byte is its length.
    buffer: [u8; 16],
    /// The range of the current piece in the arena, if it is long.
    current: Range<usize>,
    count: u64,
}

impl Sorted<'_> {
    /// Moves to the next piece; returns `false` at the end.
    pub fn advance(&mut self) -> bool {
        let long = self.entries.first().map(place);
        if let Some(slot) = self.shorts.first() {
            self.buffer = slot.key.to_be_bytes();
            self.current = 0..0;
            let short = short(&self.buffer);
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
        if self.current.is_empty() { short(&self.buffer) } else { &self.arena[self.current.clone()] }
    }

    /// The count of the current piece.
    pub fn count(&self) -> u64 {
        self.count
    }
}
