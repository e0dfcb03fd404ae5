//! `NBest`: the ways to cut a text, best first, found one at a time.
//!
//! A search from the end that knows what the best beginning adds (A*, as in
//! SentencePiece, with exact bounds): what it takes out first is best. Scores
//! are summed in 64 bits; ways of equal scores come in the order in which they
//! were found, which the text and the model fix. The first is always
//! [`Unigram::encode`]'s, whatever its rounding.
//!
//! [`Unigram::encode`]: super::Unigram::encode

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::lattice::Lattice;
use crate::vocab::TokenId;

/// A way to cut a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The tokens.
    pub ids: Vec<TokenId>,
    /// The sum of their scores.
    pub score: f64,
}

/// The end of a way.
struct Tail {
    arc: usize,
    /// The tail after the arc, as its number; `usize::MAX` at the end of the text.
    next: usize,
    /// The sum of the scores of this and all after.
    score: f64,
}

/// A tail that may be made longer, by what it can come to.
struct Open {
    bound: f64,
    tail: usize,
}

impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound).then(other.tail.cmp(&self.tail))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

/// The ways to cut a text, best first.
pub struct NBest<'l, 'a> {
    lattice: &'l Lattice<'a>,
    /// The score of the best way to each place.
    best_to: Vec<f64>,
    tails: Vec<Tail>,
    open: BinaryHeap<Open>,
    /// The arcs of the first way, last first, once it was given.
    first: Option<Vec<usize>>,
}

impl<'a> Lattice<'a> {
    /// The ways to cut the text, best first.
    pub fn n_best(&self) -> NBest<'_, 'a> {
        let best = |incoming: &[(f64, f64)]| {
            incoming.iter().fold(f64::NEG_INFINITY, |best, (to, score)| best.max(to + score))
        };
        let mut n_best = NBest {
            lattice: self,
            best_to: self.forward(0.0, best),
            tails: Vec::new(),
            open: BinaryHeap::new(),
            first: None,
        };
        n_best.extend(self.text.len(), usize::MAX, 0.0);
        n_best
    }
}

impl NBest<'_, '_> {
    /// Opens every arc that ends at `end`, before the tail `next`.
    fn extend(&mut self, end: usize, next: usize, score: f64) {
        for arc in self.lattice.ending_at(end) {
            let score = score + self.lattice.score(arc);
            let bound = self.best_to[self.lattice.start(arc)] + score;
            self.open.push(Open { bound, tail: self.tails.len() });
            self.tails.push(Tail { arc, next, score });
        }
    }

    fn arcs(&self, tail: usize) -> impl Iterator<Item = usize> {
        let next = |&tail: &usize| Some(self.tails[tail].next).filter(|&next| next != usize::MAX);
        std::iter::successors(Some(tail), next).map(|tail| self.tails[tail].arc)
    }
}

impl Iterator for NBest<'_, '_> {
    type Item = Path;

    fn next(&mut self) -> Option<Path> {
        let Some(first) = &self.first else {
            let arcs = self.lattice.best();
            let path = Path {
                ids: self.lattice.ids(arcs.iter().rev().copied()),
                score: arcs.iter().map(|&arc| self.lattice.score(arc)).sum(),
            };
            self.first = Some(arcs);
            return Some(path);
        };
        let first = first.clone();
        while let Some(Open { tail, .. }) = self.open.pop() {
            let Tail { arc, score, .. } = self.tails[tail];
            match self.lattice.start(arc) {
                0 if self.arcs(tail).eq(first.iter().rev().copied()) => {}
                0 => return Some(Path { ids: self.lattice.ids(self.arcs(tail)), score }),
                start => self.extend(start, tail, score),
            }
        }
        None
    }
}
