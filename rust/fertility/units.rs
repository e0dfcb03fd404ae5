//! `Units`: the stretches of texts that are encoded alike wherever they stand, each with its count.
//!
//! Where a tokenizer cuts between a word and the white space behind it, what follows is encoded as if a
//! text began there. So a text is the sum of such stretches, most of which occur many times (Zipf 1949),
//! and each is encoded once. A stretch is some white space and a word; it goes on to the next word where
//! nothing is known of the place between.

use super::rows::Rows;
use super::tables::{Tables, held};
use super::words::{self, Words};
use crate::corpus::word_counts::CountTable;
use crate::error::Result;
use crate::parallel;
use crate::pre_tokenizer::chunks::{LONG_CHUNK, Piece};
use crate::tokenizer::{Input, WordCuts};

/// Bytes of a table from which on units are encoded: memory is bounded where no word occurs twice.
/// Less in tests, which so get there.
const MOST_BYTES: usize = if cfg!(test) { 1 << 18 } else { 64 << 20 };
/// How often the most frequent units occur that share rows.
const ALIKE: u64 = 4;

/// Units that wait to be encoded.
#[derive(Default)]
pub(super) struct Units {
    tables: Tables,
}

impl Units {
    /// Adds the units of texts of at most 4 GiB.
    ///
    /// # Errors
    /// [`crate::Error::Memory`].
    pub(super) fn add(
        &mut self,
        texts: &[Input<'_>],
        cuts: &WordCuts<'_>,
        threads: Option<usize>,
    ) -> Result<()> {
        let n_parts = parallel::n_threads(threads).min(texts.len()).max(1);
        let tables = self.tables.parts(n_parts);
        let part = |part: usize| {
            let mut table = held(&tables[part]);
            let rows = texts.len() * part / n_parts..texts.len() * (part + 1) / n_parts;
            texts[rows].iter().try_for_each(|&text| add_text(text, cuts, &mut table))
        };
        parallel::parts(n_parts, part).into_iter().collect()
    }

    /// Whether they should be encoded before there are more.
    pub(super) fn are_many(&mut self) -> bool {
        self.tables.most_bytes() > MOST_BYTES
    }

    /// Encodes them, each as often as it occurs, and forgets them.
    ///
    /// # Errors
    /// As [`Rows::encode`].
    pub(super) fn encode(&mut self, rows: &mut Rows<'_>) -> Result<()> {
        // Its memory is given back, or it would always be too large from then on.
        let table = std::mem::take(self.tables.joined()?);
        // Those that occur equally often share rows.
        for n in 1..=ALIKE {
            table.for_each(|unit, count| if count == n { rows.push(b"", unit, count) } else { Ok(()) })?;
        }
        table.for_each(|unit, count| if count > ALIKE { rows.push(b"", unit, count) } else { Ok(()) })?;
        rows.encode()
    }
}

/// Adds the units of a text.
fn add_text(text: Input<'_>, cuts: &WordCuts<'_>, table: &mut CountTable) -> Result<()> {
    let bytes = text.bytes();
    let mut units = [Piece::default(); LONG_CHUNK];
    // How many there are, where the next starts, and where the last word ended, if there was one.
    let (mut n, mut start, mut end) = (0, 0, 0);
    words::for_each(text, |words| {
        // Of bytes that are no text, all are one unit.
        let Words::Chunk(chunk) = words else { return Ok(()) };
        for word in chunk {
            if cuts.between(&bytes[..end as usize], &bytes[end as usize..]) {
                units[n] = Piece { start, end };
                (n, start) = (n + 1, end);
                if n == LONG_CHUNK {
                    table.put_chunk(bytes, &units)?;
                    n = 0;
                }
            }
            end = word.end;
        }
        Ok(())
    })?;
    table.put_chunk(bytes, &units[..n])?;
    let (start, end) = (start as usize, end as usize);
    let middle = if cuts.between(&bytes[..end], &bytes[end..]) { end } else { start };
    for unit in [&bytes[start..middle], &bytes[middle..]] {
        if !unit.is_empty() {
            table.put(unit, 1)?;
        }
    }
    Ok(())
}
