//! `Lattices`: every segmentation of every segment, in flat arrays.
//!
//! For each position, one long array lists the pieces that begin there, shortest first, by number
//! and length. It is written once from the sorted suffixes and then only shrinks: when pieces are
//! dropped, their entries are removed in place. So a pass over the corpus needs no trie lookup and
//! reads memory in order. Five bytes per entry, an eighth of a suffix array over the text.

use std::ops::Range;

use super::blocks;
use crate::error::Result;

/// The number of blocks in which passes are shared, for any number of threads.
pub(super) const N_BLOCKS: usize = 32;
/// The number of a dropped piece.
pub(super) const GONE: u32 = u32::MAX;

/// The lattices of all segments.
#[derive(Default)]
pub(super) struct Lattices {
    weights: Vec<u64>,
    /// The length of each segment in characters.
    lens: Vec<u32>,
    /// How many pieces begin at each position.
    counts: Vec<u8>,
    pieces: Vec<u32>,
    piece_lens: Vec<u8>,
    blocks: Vec<Extent>,
}

/// The range of a block. It has fewer entries than room after pieces were dropped.
#[derive(Clone, Debug)]
struct Extent {
    segments: Range<usize>,
    positions: Range<usize>,
    room: Range<usize>,
    places: usize,
}

/// The lattices of the segments in one block.
#[derive(Clone, Copy)]
pub(super) struct LatticeBlock<'a> {
    pub(super) weights: &'a [u64],
    pub(super) lens: &'a [u32],
    pub(super) counts: &'a [u8],
    pub(super) pieces: &'a [u32],
    pub(super) piece_lens: &'a [u8],
}

/// The lattice of one segment: for each position a number of entries.
pub(super) struct Lattice<'a> {
    pub(super) weight: u64,
    pub(super) counts: &'a [u8],
    pub(super) pieces: &'a [u32],
    pub(super) piece_lens: &'a [u8],
}

impl Lattices {
    /// Builds lattices from entries that are listed by position.
    pub(super) fn new(
        weights: Vec<u64>,
        lens: Vec<u32>,
        counts: Vec<u8>,
        pieces: Vec<u32>,
        piece_lens: Vec<u8>,
    ) -> Self {
        let share = counts.len().div_ceil(N_BLOCKS).max(1);
        let mut blocks = Vec::with_capacity(N_BLOCKS);
        let (mut segment, mut position, mut place) = (0, 0, 0);
        while segment < lens.len() {
            let start = (segment, position, place);
            while segment < lens.len() && position - start.1 < share {
                let end = position + lens[segment] as usize;
                place += counts[position..end].iter().map(|&count| usize::from(count)).sum::<usize>();
                position = end;
                segment += 1;
            }
            blocks.push(Extent {
                segments: start.0..segment,
                positions: start.1..position,
                room: start.2..place,
                places: place - start.2,
            });
        }
        Self { weights, lens, counts, pieces, piece_lens, blocks }
    }

    pub(super) fn n_blocks(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn block(&self, number: usize) -> LatticeBlock<'_> {
        let extent = &self.blocks[number];
        let places = extent.room.start..extent.room.start + extent.places;
        LatticeBlock {
            weights: &self.weights[extent.segments.clone()],
            lens: &self.lens[extent.segments.clone()],
            counts: &self.counts[extent.positions.clone()],
            pieces: &self.pieces[places.clone()],
            piece_lens: &self.piece_lens[places],
        }
    }

    /// Renumbers the pieces and removes the entries of pieces that become [`GONE`].
    pub(super) fn renumber(&mut self, threads: usize, numbers: &[u32]) -> Result<()> {
        let (mut counts, mut pieces, mut lens) =
            (&mut self.counts[..], &mut self.pieces[..], &mut self.piece_lens[..]);
        let mut jobs = Vec::with_capacity(self.blocks.len());
        for extent in &mut self.blocks {
            let (mine, rest) = counts.split_at_mut(extent.positions.len());
            let (my_pieces, rest_pieces) = pieces.split_at_mut(extent.room.len());
            let (my_lens, rest_lens) = lens.split_at_mut(extent.room.len());
            (counts, pieces, lens) = (rest, rest_pieces, rest_lens);
            jobs.push(std::sync::Mutex::new((mine, my_pieces, my_lens, &mut extent.places)));
        }
        let work = |number: usize, _: &mut ()| {
            let mut job = jobs[number].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (counts, pieces, lens, places) = &mut *job;
            **places = close_up(counts, pieces, lens, numbers);
        };
        blocks::each(threads, jobs.len(), &mut || Ok(()), || (), work)?;
        Ok(())
    }
}

/// Renumbers the entries of a block; returns how many are left.
fn close_up(counts: &mut [u8], pieces: &mut [u32], lens: &mut [u8], numbers: &[u32]) -> usize {
    let (mut read, mut write) = (0, 0);
    for count in counts {
        let end = read + usize::from(*count);
        let start = write;
        while read < end {
            let number = numbers[pieces[read] as usize];
            if number != GONE {
                (pieces[write], lens[write]) = (number, lens[read]);
                write += 1;
            }
            read += 1;
        }
        *count = (write - start) as u8;
    }
    write
}

impl<'a> LatticeBlock<'a> {
    /// The lattices of this block, in order.
    pub(super) fn lattices(self) -> impl Iterator<Item = Lattice<'a>> {
        let (mut position, mut place) = (0, 0);
        self.weights.iter().zip(self.lens).map(move |(&weight, &len)| {
            let counts = &self.counts[position..position + len as usize];
            position += len as usize;
            let n = counts.iter().map(|&count| usize::from(count)).sum::<usize>();
            let places = place..place + n;
            place += n;
            Lattice {
                weight,
                counts,
                pieces: &self.pieces[places.clone()],
                piece_lens: &self.piece_lens[places],
            }
        })
    }
}
