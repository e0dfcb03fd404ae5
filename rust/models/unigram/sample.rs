//! Ways to cut a text by chance: subword regularisation, and how much chance
//! there is.
//!
//! Forward filtering, backward sampling: the sums over all ways to each place,
//! then one draw an arc from the end, where the arcs are looked up again. Memory
//! is a few numbers for each byte of the text. Everything is in 64 bits, and the numbers
//! come from a seeded generator that is the same everywhere, so a seed draws
//! the same way on any machine. Source: Kudo 2018, section 3.1.

use super::lattice::{Arc, Lattice};
use crate::error::Result;
use crate::memory;
use crate::random::Random;
use crate::vocab::TokenId;

/// `log(sum(exp(x)))` without overflow.
fn log_sum_exp(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let greatest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    if greatest == f64::NEG_INFINITY {
        return greatest;
    }
    greatest + values.map(|value| (value - greatest).exp()).sum::<f64>().ln()
}

impl Lattice<'_> {
    /// The logarithm of the sum over all ways to each place, scores times `alpha`;
    /// `each` is called with each place, its arcs and the sums so far.
    fn sums(&self, alpha: f64, mut each: impl FnMut(usize, &[Arc], &[f64])) -> Result<Vec<f64>> {
        let mut sums = memory::filled(self.text.len() + 1, f64::NEG_INFINITY)?;
        sums[0] = 0.0;
        self.for_each_end(|end, arcs| {
            sums[end] =
                log_sum_exp(arcs.iter().map(|&arc| sums[end - arc.len as usize] + alpha * self.score(arc)));
            each(end, arcs, &sums);
            Ok(())
        })?;
        Ok(sums)
    }

    /// Draws a way with probability proportional to its probability to the power `alpha`.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) where there is no memory for a few
    /// numbers a byte.
    pub fn sample(&self, alpha: f64, random: &mut Random) -> Result<Vec<TokenId>> {
        let sums = self.sums(alpha, |_, _, _| {})?;
        let mut arcs_to = self.backward()?;
        let mut path = Vec::new();
        let mut end = self.text.len();
        while end > 0 {
            let arcs = arcs_to.ending_at(end)?;
            let weight =
                |arc: Arc| (sums[end - arc.len as usize] + alpha * self.score(arc) - sums[end]).exp();
            let mut left = random.next_f64();
            // The weights sum to 1 except for rounding, which the last arc takes.
            let drawn = arcs.iter().find(|&&arc| {
                left -= weight(arc);
                left < 0.0
            });
            let Some(arc) = drawn.or(arcs.last()) else { break };
            memory::push(&mut path, (self.mark(arc.id), arc.len))?;
            end -= arc.len as usize;
        }
        path.reverse();
        self.model.ids_of(self.text, &path)
    }

    /// The entropy of [`Lattice::sample`], in nats: 0 where there is one way.
    ///
    /// # Errors
    /// As [`Lattice::sample`].
    pub fn entropy(&self, alpha: f64) -> Result<f64> {
        // Of the ways to each place; a way is its last arc and a way to there.
        let mut entropies = memory::filled(self.text.len() + 1, 0.0)?;
        self.sums(alpha, |end, arcs, sums| {
            let of_arc = |&arc: &Arc| {
                let start = end - arc.len as usize;
                let log_p = sums[start] + alpha * self.score(arc) - sums[end];
                let p = log_p.exp();
                if p > 0.0 { p * (entropies[start] - log_p) } else { 0.0 }
            };
            entropies[end] = arcs.iter().map(of_arc).sum();
        })?;
        Ok(entropies.last().copied().unwrap_or(0.0))
    }
}
