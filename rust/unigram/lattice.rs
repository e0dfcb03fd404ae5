//! `Lattice`: all ways to cut a text, as a flat graph.
//!
//! An arc is a piece at a place; arcs are sorted by where they end, so those
//! that end together are one slice. Memory is linear in the number of arcs. For
//! more than the one best way; that is `viterbi`'s.

use super::viterbi::Viterbi;
use super::{Precision, Unigram};
use crate::vocab::TokenId;

/// A piece, or an unknown character, at a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arc {
    /// Where it starts in the text.
    pub(super) start: usize,
    /// Its bytes.
    pub(super) len: u32,
    /// [`Unigram::unknown_mark`] for an unknown character.
    pub(super) id: TokenId,
    pub(super) score: f64,
}

/// All ways to cut one text.
pub struct Lattice<'a> {
    pub(super) model: &'a Unigram,
    pub(super) text: &'a [u8],
    /// By end, then by start.
    arcs: Vec<Arc>,
    /// Where the arcs of each end begin; one more than there are ends.
    first: Vec<usize>,
}

impl<'a> Lattice<'a> {
    pub(super) fn new(model: &'a Unigram, text: &'a [u8]) -> Self {
        let mut found = Vec::new();
        let mut first = vec![0; text.len() + 2];
        let scores = model.scores_in_search();
        let mut start = 0;
        while start < text.len() {
            start = model.pieces().for_each_at(text, start, |end, id| {
                let score = id.map_or(scores.unknown, |id| scores.by_id[id as usize]);
                let id = id.unwrap_or(model.unknown_mark());
                found.push(Arc { start, len: (end - start) as u32, id, score });
                first[end + 1] += 1;
            });
        }
        for end in 1..first.len() {
            first[end] += first[end - 1];
        }
        let mut next = first.clone();
        let mut arcs = found.clone();
        // Found by start, so those of one end stay in that order.
        for arc in found {
            let slot = &mut next[arc.start + arc.len as usize];
            arcs[*slot] = arc;
            *slot += 1;
        }
        Self { model, text, arcs, first }
    }

    /// The numbers of the arcs that end at a place.
    pub(super) fn ending_at(&self, end: usize) -> std::ops::Range<usize> {
        self.first[end]..self.first[end + 1]
    }

    pub(super) fn arc(&self, at: usize) -> &Arc {
        &self.arcs[at]
    }

    /// A number for each place: `join` makes it of the numbers where the arcs
    /// that end there start, and their scores.
    pub(super) fn forward(&self, start: f64, join: impl Fn(&[(f64, f64)]) -> f64) -> Vec<f64> {
        let mut values = vec![f64::NEG_INFINITY; self.text.len() + 1];
        values[0] = start;
        let mut incoming = Vec::new();
        for end in 1..=self.text.len() {
            incoming.clear();
            incoming.extend(self.arcs[self.ending_at(end)].iter().map(|arc| (values[arc.start], arc.score)));
            if !incoming.is_empty() {
                values[end] = join(&incoming);
            }
        }
        values
    }

    /// The ids of arcs in the order of the text.
    pub(super) fn ids(&self, arcs: impl Iterator<Item = usize>) -> Vec<TokenId> {
        self.model.ids_of(self.text, arcs.map(|arc| (self.arcs[arc].id, self.arcs[arc].len)))
    }

    /// The arcs of [`Unigram::encode`], last first.
    pub(super) fn best(&self) -> Vec<usize> {
        let mut viterbi = Viterbi::default();
        match self.model.options().precision {
            Precision::F32 => viterbi.search::<true>(self.model, self.text, 0.0),
            Precision::F64 => viterbi.search::<false>(self.model, self.text, 0.0),
        };
        let mut end = self.text.len();
        let arc_of = |(id, len): (TokenId, u32)| {
            let arc = self.ending_at(end).find(|&at| (self.arcs[at].id, self.arcs[at].len) == (id, len));
            end -= len as usize;
            arc
        };
        viterbi.path.into_iter().rev().filter_map(arc_of).collect()
    }
}
