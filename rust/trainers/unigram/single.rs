//! The E step with logarithms in 32 bits, as SentencePiece computes it.
//!
//! Rounds to seven digits at each step, in the order of SentencePiece's lattice, where
//! `expectation` has sixteen digits. So rare words that are hardly ever split get equal scores, and
//! their text decides which is kept, as in SentencePiece. Used only in the last round, which gives
//! the scores of the vocabulary: an exponential per entry costs many times as much, and earlier
//! rounds do not depend on the last digits.

use super::blocks;
use super::lattices::{Lattice, Lattices};
use super::logarithm::{exp, ln};
use super::model::Model;
use crate::error::Result;

/// A term smaller than e to the power of -50 changes no sum.
const NEGLIGIBLE: f32 = 50.0;

/// [`super::expectation::expected`] in 32 bits.
pub(super) fn expected(
    lattices: &Lattices,
    model: &Model,
    foreign: Option<u64>,
    threads: usize,
    tick: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<f64>> {
    let scores: Vec<f32> = model.scores.iter().map(|&score| score as f32).collect();
    let unknown = model.unknown_score() as f32;
    let mut total = vec![0.0; model.len()];
    if let (Some(count), Some(first)) = (foreign, total.first_mut()) {
        *first = count as f64;
    }
    blocks::in_order(
        threads,
        lattices.n_blocks(),
        tick,
        || Sums { expected: vec![0.0; model.len()], unknown: 0.0, before: Vec::new(), behind: Vec::new() },
        |number, sums| {
            sums.expected.fill(0.0);
            sums.unknown = 0.0;
            lattices.block(number).lattices().for_each(|lattice| sums.add(&lattice, &scores, unknown));
            if let (Some(_), Some(first)) = (foreign, sums.expected.first_mut()) {
                *first += sums.unknown;
            }
        },
        total,
        |total: &mut Vec<f64>, sums| {
            total.iter_mut().zip(&sums.expected).for_each(|(total, sum)| *total += sum);
        },
    )
}

/// The sums of one thread.
struct Sums {
    expected: Vec<f64>,
    /// The expected count of characters without a piece.
    unknown: f64,
    /// For each position, the logarithms of the sums over all paths to it and all paths from it.
    before: Vec<f32>,
    behind: Vec<f32>,
}

impl Sums {
    fn add(&mut self, lattice: &Lattice<'_>, scores: &[f32], unknown: f32) {
        let len = lattice.counts.len();
        for sums in [&mut self.before, &mut self.behind] {
            sums.clear();
            sums.resize(len + 1, f32::NEG_INFINITY);
        }
        (self.before[0], self.behind[len]) = (0.0, 0.0);
        let mut end = 0;
        for (start, &count) in lattice.counts.iter().enumerate() {
            let places = end..end + usize::from(count);
            end = places.end;
            let (pieces, lens) = (&lattice.pieces[places.clone()], &lattice.piece_lens[places]);
            let before = self.before[start];
            for (&piece, &len) in pieces.iter().zip(lens) {
                include(&mut self.before[start + usize::from(len)], scores[piece as usize] + before);
            }
            if lens.first() != Some(&1) {
                include(&mut self.before[start + 1], unknown + before);
            }
        }
        let all = self.before[len];
        let weight = lattice.weight as f64;
        for (start, &count) in lattice.counts.iter().enumerate().rev() {
            let places = end - usize::from(count)..end;
            end = places.start;
            let (pieces, lens) = (&lattice.pieces[places.clone()], &lattice.piece_lens[places]);
            let before = self.before[start];
            for (&piece, &len) in pieces.iter().zip(lens) {
                let (score, behind) = (scores[piece as usize], self.behind[start + usize::from(len)]);
                include(&mut self.behind[start], score + behind);
                self.expected[piece as usize] += weight * exp(f64::from(before + score + behind - all));
            }
            if lens.first() != Some(&1) {
                let behind = self.behind[start + 1];
                include(&mut self.behind[start], unknown + behind);
                self.unknown += weight * exp(f64::from(before + unknown + behind - all));
            }
        }
    }
}

/// Adds a number, given by its logarithm, to a sum that is also a logarithm.
fn include(sum: &mut f32, more: f32) {
    let (least, most) = (sum.min(more), sum.max(more));
    *sum = match most > least + NEGLIGIBLE {
        true => most,
        false => (f64::from(most) + ln(exp(f64::from(least - most)) + 1.0)) as f32,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn include_adds_in_logarithms() {
        for (a, b) in [(-1.0_f32, -2.0_f32), (-30.0, -30.0), (-5.0, -70.0), (0.0, -10.0)] {
            let mut sum = a;
            include(&mut sum, b);
            assert!((sum - (a.exp() + b.exp()).ln()).abs() < 1e-6, "{a} {b}: {sum}");
        }
        let mut first = f32::NEG_INFINITY;
        include(&mut first, -3.5);
        assert_eq!(first, -3.5);
    }
}
