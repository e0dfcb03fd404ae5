//! The E step of EM: how often each piece is expected to occur in the corpus, over all
//! segmentations, by forward and backward sums.
//!
//! Adds probabilities, not logarithms, so each lattice entry costs a multiplication instead of an
//! exponential. Scaling by powers of two, which is exact, prevents underflow in long segments.

use super::blocks;
use super::lattices::{Lattice, Lattices};
use super::logarithm::exp;
use super::model::Model;
use crate::error::Result;

/// 2 to the power of 256. Sums below its inverse are multiplied by it.
const SCALE: f64 = f64::from_bits((1023 + 256) << 52);

/// The expected count of each piece. With `foreign`, that many characters outside the alphabet, and
/// all characters without a piece, are counted for the first piece.
pub(super) fn expected(
    lattices: &Lattices,
    model: &Model,
    foreign: Option<u64>,
    threads: usize,
    tick: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<f64>> {
    let pieces: Vec<f64> = model.scores.iter().map(|&score| exp(score)).collect();
    let probabilities = Probabilities { pieces, unknown: exp(model.unknown_score()) };
    let mut total = vec![0.0; model.len()];
    if let (Some(count), Some(first)) = (foreign, total.first_mut()) {
        *first = count as f64;
    }
    blocks::in_order(
        threads,
        lattices.n_blocks(),
        tick,
        || Sums::new(model.len()),
        |number, sums| {
            sums.expected.fill(0.0);
            sums.unknown = 0.0;
            lattices.block(number).lattices().for_each(|lattice| sums.add(&lattice, &probabilities));
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

struct Probabilities {
    pieces: Vec<f64>,
    /// The probability of a character that is not a piece.
    unknown: f64,
}

/// The sums of one thread.
struct Sums {
    expected: Vec<f64>,
    /// The expected count of characters without a piece.
    unknown: f64,
    /// For each position, the total probability of all paths to it.
    reached: Vec<f64>,
    /// The power of [`SCALE`] by which each entry of `reached` is multiplied.
    scales: Vec<u32>,
    /// For each position, the probability that the segmentation of the whole segment passes it,
    /// divided by `reached`.
    passed: Vec<f64>,
}

impl Sums {
    fn new(n_pieces: usize) -> Self {
        Self {
            expected: vec![0.0; n_pieces],
            unknown: 0.0,
            reached: Vec::new(),
            scales: Vec::new(),
            passed: Vec::new(),
        }
    }

    fn add(&mut self, lattice: &Lattice<'_>, probabilities: &Probabilities) {
        let len = lattice.counts.len();
        self.forward(lattice, probabilities);
        let weight = lattice.weight as f64;
        self.passed.clear();
        self.passed.resize(len + 1, 0.0);
        self.passed[len] = 1.0 / self.reached[len];
        let mut end = lattice.pieces.len();
        for (start, &count) in lattice.counts.iter().enumerate().rev() {
            let first = end - usize::from(count);
            let (pieces, lens) = (&lattice.pieces[first..end], &lattice.piece_lens[first..end]);
            end = first;
            let (reached, scale) = (self.reached[start], self.scales[start]);
            if reached < f64::MIN_POSITIVE {
                // The position has less than 2^-700 of the probability; its inverse would overflow.
                continue;
            }
            let times = weight * reached;
            let mut sum = 0.0;
            for (&piece, &len) in pieces.iter().zip(lens) {
                let at = start + usize::from(len);
                let mut share = probabilities.pieces[piece as usize] * self.passed[at];
                if self.scales[at] != scale {
                    share *= rescaled(self.scales[at] - scale);
                }
                sum += share;
                self.expected[piece as usize] += times * share;
            }
            if lens.first() != Some(&1) {
                let mut share = probabilities.unknown * self.passed[start + 1];
                if self.scales[start + 1] != scale {
                    share *= rescaled(self.scales[start + 1] - scale);
                }
                sum += share;
                self.unknown += times * share;
            }
            self.passed[start] = sum;
        }
    }

    fn forward(&mut self, lattice: &Lattice<'_>, probabilities: &Probabilities) {
        let len = lattice.counts.len();
        self.reached.clear();
        self.reached.resize(len + 1, 0.0);
        self.scales.clear();
        self.scales.resize(len + 1, 0);
        self.reached[0] = 1.0;
        let (mut place, mut scale) = (0, 0);
        for (start, &count) in lattice.counts.iter().enumerate() {
            self.scale_up(start, &mut scale);
            let reached = self.reached[start];
            let places = place..place + usize::from(count);
            place = places.end;
            let (pieces, lens) = (&lattice.pieces[places.clone()], &lattice.piece_lens[places]);
            for (&piece, &len) in pieces.iter().zip(lens) {
                self.reached[start + usize::from(len)] += reached * probabilities.pieces[piece as usize];
            }
            if lens.first() != Some(&1) {
                self.reached[start + 1] += reached * probabilities.unknown;
            }
        }
        self.scale_up(len, &mut scale);
    }

    /// Scales up all sums from a position on if all are small, and records the scale of the
    /// position.
    fn scale_up(&mut self, position: usize, scale: &mut u32) {
        if self.reached[position] < 1.0 / SCALE {
            let most = self.reached[position..].iter().take(usize::from(u8::MAX) + 1).copied();
            if most.reduce(f64::max).is_some_and(|most| most < 1.0 / SCALE) {
                self.reached[position..].iter_mut().take(usize::from(u8::MAX) + 1).for_each(|p| *p *= SCALE);
                *scale += 1;
            }
        }
        self.scales[position] = *scale;
    }
}

/// A power of [`SCALE`].
fn rescaled(times: u32) -> f64 {
    (0..times).fold(1.0, |product, _| product * SCALE)
}
