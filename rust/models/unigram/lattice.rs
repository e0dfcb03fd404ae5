//! `Lattice`: all ways to cut a text, as arcs that are found as they are needed.
//!
//! An arc is a piece, or an unknown character, at a place. A text of hundreds of
//! pieces a byte has hundreds of arcs a byte, so only those near the place in
//! work are held: memory is what the longest piece spans, not what the text
//! does. For more than the one best way; that is `viterbi`'s.

use super::Unigram;
use super::viterbi::char_len;
use crate::error::Result;
use crate::memory;
use crate::vocab::TokenId;

/// An arc, held by the place where it ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    /// Its bytes.
    pub(super) len: u32,
    /// [`UNKNOWN`] for a character that is not a piece.
    pub(super) id: TokenId,
}

/// No id of a piece: an unknown character, where a model may find its unknown
/// token as a piece with its own score.
pub(super) const UNKNOWN: TokenId = TokenId::MAX;

/// The fewest places whose arcs are looked up at once backward.
const BLOCK: usize = 1 << 10;

/// All ways to cut one text.
pub struct Lattice<'a> {
    pub(super) model: &'a Unigram,
    pub(super) text: &'a [u8],
}

impl<'a> Lattice<'a> {
    pub(super) fn new(model: &'a Unigram, text: &'a [u8]) -> Self {
        Self { model, text }
    }

    /// The most bytes of an arc.
    fn reach(&self) -> usize {
        self.model.max_piece_len.max(char_len(u8::MAX)).min(self.text.len())
    }

    /// The score of an arc.
    pub(super) fn score(&self, arc: Arc) -> f64 {
        let scores = self.model.scores_in_search();
        scores.by_id.get(arc.id as usize).copied().unwrap_or(scores.unknown)
    }

    /// The id of an arc in a path.
    pub(super) fn mark(&self, id: TokenId) -> TokenId {
        if id == UNKNOWN { self.model.unknown_mark() } else { id }
    }

    /// Calls `keep` with the ends of the arcs that start at a place, and these;
    /// returns where the next ones start.
    fn for_each_at(&self, start: usize, mut keep: impl FnMut(usize, Arc) -> Result<()>) -> Result<usize> {
        let mut done = Ok(());
        let next = self.model.pieces().for_each_at(self.text, start, |end, id| {
            if done.is_ok() {
                done = keep(end, Arc { len: (end - start) as u32, id: id.unwrap_or(UNKNOWN) });
            }
        });
        done.map(|()| next)
    }

    /// Calls `each` with every place but the first, ascending, and the arcs that
    /// end there, by start.
    pub(super) fn for_each_end(&self, mut each: impl FnMut(usize, &[Arc]) -> Result<()>) -> Result<()> {
        let n_ahead = self.reach() + 1;
        // By the end of the arcs, over and over.
        let mut ahead: Vec<Vec<Arc>> = memory::filled(n_ahead, Vec::new())?;
        let mut next_start = 0;
        for at in 0..=self.text.len() {
            if at > 0 {
                let arcs = &mut ahead[at % n_ahead];
                each(at, arcs)?;
                arcs.clear();
            }
            if at == next_start && at < self.text.len() {
                next_start = self.for_each_at(at, |end, arc| memory::push(&mut ahead[end % n_ahead], arc))?;
            }
        }
        Ok(())
    }

    /// The same arcs, from the last place to the first.
    pub(super) fn backward(&self) -> Result<Backward<'_, 'a>> {
        let reach = self.reach();
        let size = reach.max(BLOCK);
        let mut starts = memory::reserved(self.text.len() / size + 1)?;
        let mut start = 0;
        for first in (0..self.text.len()).step_by(size) {
            // The first place with arcs that may end in the block.
            while start < self.text.len() && start + reach <= first {
                start += char_len(self.text[start]);
            }
            starts.push(start);
        }
        Ok(Backward { lattice: self, starts, ends: memory::filled(size, Vec::new())?, block: usize::MAX })
    }
}

/// The arcs of a lattice, looked up again a block of places at a time.
pub(super) struct Backward<'l, 'a> {
    lattice: &'l Lattice<'a>,
    /// Where the arcs of each block begin to start.
    starts: Vec<usize>,
    /// The arcs that end at each place of the block.
    ends: Vec<Vec<Arc>>,
    /// The block that is looked up; of places from one after a multiple of the size.
    block: usize,
}

impl Backward<'_, '_> {
    /// The arcs that end at a place that is not the first, by start.
    pub(super) fn ending_at(&mut self, end: usize) -> Result<&[Arc]> {
        let size = self.ends.len();
        let (block, at) = ((end - 1) / size, (end - 1) % size);
        if block != self.block {
            self.block = block;
            self.ends.iter_mut().for_each(Vec::clear);
            let mut start = self.starts[block];
            let behind = ((block + 1) * size).min(self.lattice.text.len());
            while start < behind {
                start = self.lattice.for_each_at(start, |end, arc| {
                    let at = (end - 1).checked_sub(block * size);
                    at.and_then(|at| self.ends.get_mut(at)).map_or(Ok(()), |arcs| memory::push(arcs, arc))
                })?;
            }
        }
        Ok(&self.ends[at])
    }
}
