//! Ways to cut a text by chance: subword regularisation, and how much chance
//! there is.
//!
//! Forward filtering, backward sampling: the sums over all ways to each place,
//! then one draw an arc from the end. Everything is in 64 bits, and the numbers
//! come from a seeded generator that is the same everywhere, so a seed draws
//! the same way on any machine. Source: Kudo 2018, section 3.1.

use super::lattice::Lattice;
use crate::vocab::TokenId;

/// A seeded source of numbers: SplitMix64 (Steele et al. 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 up to, but not, 1.
    pub fn next_f64(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        // The upper 53 bits fit a double exactly.
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// `log(sum(exp(x)))` without overflow.
fn log_sum_exp(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let greatest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if greatest == f64::NEG_INFINITY {
        return greatest;
    }
    greatest + values.map(|value| (value - greatest).exp()).sum::<f64>().ln()
}

impl Lattice<'_> {
    /// The logarithm of the sum over all ways to each place, scores times `alpha`.
    fn sums(&self, alpha: f64) -> Vec<f64> {
        self.forward(0.0, |incoming| log_sum_exp(incoming.iter().map(|(to, score)| to + alpha * score)))
    }

    /// Draws a way with probability proportional to the power `alpha` of its own.
    pub fn sample(&self, alpha: f64, random: &mut Random) -> Vec<TokenId> {
        let sums = self.sums(alpha);
        let mut arcs = Vec::new();
        let mut end = self.text.len();
        while end > 0 {
            let weight = |at: usize| (sums[self.start(at)] + alpha * self.score(at) - sums[end]).exp();
            let mut left = random.next_f64();
            // The weights sum to 1 but for rounding, which the last arc takes.
            let drawn = self.ending_at(end).find(|&at| {
                left -= weight(at);
                left < 0.0
            });
            let Some(at) = drawn.or_else(|| self.ending_at(end).next_back()) else { break };
            arcs.push(at);
            end = self.start(at);
        }
        self.ids(arcs.into_iter().rev())
    }

    /// The entropy of [`Lattice::sample`], in nats: 0 where there is one way.
    pub fn entropy(&self, alpha: f64) -> f64 {
        let sums = self.sums(alpha);
        // Of the ways to each place; a way is its last arc and a way to there.
        let mut entropies = vec![0.0; self.text.len() + 1];
        for end in 1..=self.text.len() {
            entropies[end] = self
                .ending_at(end)
                .map(|at| {
                    let log_p = sums[self.start(at)] + alpha * self.score(at) - sums[end];
                    let p = log_p.exp();
                    if p > 0.0 { p * (entropies[self.start(at)] - log_p) } else { 0.0 }
                })
                .sum();
        }
        entropies.last().copied().unwrap_or(0.0)
    }
}
