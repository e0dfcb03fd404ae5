//! `Lattice`: all ways to cut a text, as a flat graph.
//!
//! An arc is a piece at a place; arcs are sorted by where they end, so those
//! that end together are one slice. Memory is linear in the number of arcs. For
//! more than the one best way; that is `viterbi`'s.

use super::viterbi::Viterbi;
use super::{Precision, Unigram};
use crate::vocab::TokenId;

/// A piece, or an unknown character, at a place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arc {
    /// Where it starts in the text.
    start: u32,
    /// Its bytes.
    len: u32,
    /// [`UNKNOWN`] for a character that is no piece.
    id: TokenId,
}

/// No id of a piece: an unknown character, where a model may find its unknown
/// token as a piece with a score of its own.
const UNKNOWN: TokenId = TokenId::MAX;

/// Calls `each` with the start, the end and the id of all arcs, by start.
fn for_each_arc(model: &Unigram, text: &[u8], mut each: impl FnMut(usize, usize, TokenId)) {
    let mut start = 0;
    while start < text.len() {
        start = model.pieces().for_each_at(text, start, |end, id| {
            each(start, end, id.unwrap_or(UNKNOWN));
        });
    }
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
        let mut first = vec![0; text.len() + 2];
        for_each_arc(model, text, |_, end, _| first[end + 1] += 1);
        for end in 1..first.len() {
            first[end] += first[end - 1];
        }
        let mut next = first.clone();
        // Found by start, so those of one end stay in that order.
        let mut arcs = vec![Arc::default(); first[text.len() + 1]];
        for_each_arc(model, text, |start, end, id| {
            arcs[next[end]] = Arc { start: start as u32, len: (end - start) as u32, id };
            next[end] += 1;
        });
        Self { model, text, arcs, first }
    }

    /// The numbers of the arcs that end at a place.
    pub(super) fn ending_at(&self, end: usize) -> std::ops::Range<usize> {
        self.first[end]..self.first[end + 1]
    }

    /// Where an arc starts.
    pub(super) fn start(&self, at: usize) -> usize {
        self.arcs[at].start as usize
    }

    /// What an arc adds.
    pub(super) fn score(&self, at: usize) -> f64 {
        self.score_of(&self.arcs[at])
    }

    fn score_of(&self, arc: &Arc) -> f64 {
        let scores = self.model.scores_in_search();
        scores.by_id.get(arc.id as usize).copied().unwrap_or(scores.unknown)
    }

    /// The piece of an arc, or [`Unigram::unknown_mark`], and its length.
    fn piece(&self, at: usize) -> (TokenId, u32) {
        let arc = &self.arcs[at];
        (if arc.id == UNKNOWN { self.model.unknown_mark() } else { arc.id }, arc.len)
    }

    /// A number for each place: `join` makes it of the numbers where the arcs
    /// that end there start, and their scores.
    pub(super) fn forward(&self, start: f64, join: impl Fn(&[(f64, f64)]) -> f64) -> Vec<f64> {
        let mut values = vec![f64::NEG_INFINITY; self.text.len() + 1];
        values[0] = start;
        let mut incoming = Vec::new();
        for end in 1..=self.text.len() {
            incoming.clear();
            let arcs = self.arcs[self.ending_at(end)].iter();
            incoming.extend(arcs.map(|arc| (values[arc.start as usize], self.score_of(arc))));
            if !incoming.is_empty() {
                values[end] = join(&incoming);
            }
        }
        values
    }

    /// The ids of arcs in the order of the text.
    pub(super) fn ids(&self, arcs: impl Iterator<Item = usize>) -> Vec<TokenId> {
        self.model.ids_of(self.text, arcs.map(|arc| self.piece(arc)))
    }

    /// The arcs of [`Unigram::encode`], last first.
    pub(super) fn best(&self) -> Vec<usize> {
        let mut viterbi = Viterbi::default();
        match self.model.options().precision {
            Precision::F32 => viterbi.search::<true>(self.model, self.text, 0.0),
            Precision::F64 => viterbi.search::<false>(self.model, self.text, 0.0),
        };
        let mut end = self.text.len();
        let arc_of = |piece: (TokenId, u32)| {
            let arc = self.ending_at(end).find(|&at| self.piece(at) == piece);
            end -= piece.1 as usize;
            arc
        };
        viterbi.path.into_iter().rev().filter_map(arc_of).collect()
    }
}
