//! `Repeats`: the short stretches of a malformed text that came before in it.
//!
//! Bytes that are no UTF-8 cut a text into stretches, often of a byte or two, and each
//! goes through added tokens, normalizer, splitter and model. What becomes of a stretch
//! is told by its bytes alone, but at the start of the text; so one that comes again
//! takes what stands in the output already. It lives as long as one text is encoded, so
//! that nothing depends on the texts before. Not for tokens that are drawn by chance.

use super::output::{Output, Place};
use crate::cache::piece_table::{Key, MAX_KEY, PieceTable, hash, key};
use crate::error::Result;
use crate::text::utf8_runs::Stretch;

/// The sets of the table, at most: 2 MiB.
const MOST_SETS: usize = 1 << 15;
/// A shorter text has too few stretches to make a table for.
const LEAST_BYTES: usize = 1 << 10;

/// What became of short stretches.
pub(super) struct Repeats<'a> {
    text: &'a [u8],
    /// Where in the output it is: the first id, their number, the first surface, and
    /// where the stretch began in the text.
    table: Option<PieceTable>,
}

impl<'a> Repeats<'a> {
    /// Encoding a stretch of so few bytes takes less than the wait for a model's memo, which is in
    /// slow memory; what is kept here need not be kept there.
    pub(super) const CHEAP_BYTES: usize = 4;

    /// Those of a text of which nothing is encoded.
    pub(super) fn of(text: &'a [u8], are_drawn: bool) -> Self {
        let is_long = text.len() >= LEAST_BYTES && u32::try_from(text.len()).is_ok();
        Self { text, table: (is_long && !are_drawn).then(|| PieceTable::new(MOST_SETS)) }
    }

    /// The key of a stretch that may come again, or may have.
    pub(super) fn key(&self, start: usize, len: usize) -> Option<Key> {
        let may_repeat = start > 0 && len <= MAX_KEY && self.table.is_some();
        may_repeat.then(|| key(self.text, start, len))
    }

    /// Says that these stretches come next: what is known of them is fetched together.
    pub(super) fn announce(&self, stretches: &[(usize, Stretch<'_>)]) {
        if let Some(table) = &self.table {
            for &(start, stretch) in stretches {
                if let Some(key) = self.key(start, stretch.len()) {
                    table.prefetch_both(hash(key));
                }
            }
        }
    }

    /// Appends what became of this stretch before; `false` if it did not come, or that
    /// is forgotten.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is not enough.
    #[inline]
    pub(super) fn repeat(&self, key: Key, start: usize, output: &mut Output<'_>) -> Result<bool> {
        let Some(&[id, n_ids, surface, before]) =
            self.table.as_ref().and_then(|table| table.get(key, hash(key)))
        else {
            return Ok(false);
        };
        let place = Place { id: id as usize, surface: surface as usize };
        output.repeat(place, n_ids as usize, start as u64 - u64::from(before))?;
        Ok(true)
    }

    /// Keeps that what stands in the output from `place` on became of a stretch.
    pub(super) fn keep(&mut self, key: Key, start: usize, place: Place, output: &Output<'_>) {
        let n_ids = output.place().id - place.id;
        let [id, n_ids, surface, start] = [place.id, n_ids, place.surface, start].map(u32::try_from);
        if let (Some(table), Ok(id), Ok(n_ids), Ok(surface), Ok(start)) =
            (&mut self.table, id, n_ids, surface, start)
        {
            table.insert(key, [id, n_ids, surface, start]);
        }
    }
}
