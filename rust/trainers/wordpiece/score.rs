//! The score of a pair, compared without floats.
//!
//! A [`Measure`] turns counts into a key; the pair with the greatest key is merged first. A key
//! rises with the count of the pair (as long as there is a gain), falls with the counts of its two
//! symbols, and never rises otherwise; the queue relies on this.
//!
//! Logarithms are to base 2, rounded down to 56 binary digits in integer arithmetic, because the
//! last bit of a float depends on the math library of the machine, and one bit decides a tie. The
//! error is below `4 count(ab) / 2^56` bits. Two scores closer than that may be ordered wrongly,
//! but alike on all machines. Exact comparison would need big numbers of `count(ab)` times 64 bits
//! for a difference that no text can show.

use std::cmp::Ordering;

/// The number of binary digits after the point of a logarithm.
const PLACES: u32 = 56;
/// Logarithms of smaller numbers are cached, because small counts recur often.
const REMEMBERED: usize = 1 << 16;

/// How pairs are compared.
pub(super) trait Measure {
    /// The value that is compared.
    type Key: Copy + Ord;

    /// The key of a pair from its count and the counts of its symbols.
    fn key(&mut self, pair: u64, left: u64, right: u64) -> Self::Key;

    /// Sets the number of symbols, which only decreases.
    fn set_total(&mut self, total: u64);

    /// Whether a pair with this key may be merged at all.
    fn gains(key: Self::Key) -> bool;

    /// An upper bound of the key of a pair that occurs at most `count` times; `None` if rare pairs
    /// may have the greatest keys.
    fn limit(&mut self, count: u64) -> Option<Self::Key>;
}

/// How many bits longer the corpus would be without the merge: count(ab) log(count(ab) N /
/// (count(a) count(b))), where N is the number of all symbols.
pub(super) struct Likelihood {
    log_total: u64,
    logs: Vec<u64>,
}

impl Likelihood {
    pub(super) fn new() -> Self {
        Self { log_total: 0, logs: vec![u64::MAX; REMEMBERED] }
    }

    #[inline]
    fn log(&mut self, n: u64) -> u64 {
        let Some(known) = self.logs.get_mut(n as usize) else { return log2(n) };
        if *known == u64::MAX {
            *known = log2(n);
        }
        *known
    }
}

impl Measure for Likelihood {
    /// Bits times 2^56; 0 without a gain.
    type Key = i128;

    #[inline]
    fn key(&mut self, pair: u64, left: u64, right: u64) -> i128 {
        let difference = |a: u64, b: u64| i128::from(a) - i128::from(b);
        let log = difference(self.log(pair), self.log(left)) + difference(self.log_total, self.log(right));
        if log <= 0 { 0 } else { log * i128::from(pair) }
    }

    fn set_total(&mut self, total: u64) {
        self.log_total = log2(total);
    }

    fn gains(key: i128) -> bool {
        key > 0
    }

    /// A symbol occurs at least as often as each of its pairs, so a score is at most c log(N/c).
    /// That rises with c up to N/e and is below N.
    fn limit(&mut self, count: u64) -> Option<i128> {
        let log = i128::from(self.log_total) - i128::from(self.log(count));
        // From N/4 on, a count may be beyond the maximum at N/e. The 4 covers the rounding error.
        Some(if log <= 2 << PLACES { i128::MAX } else { (log + 4) * i128::from(count) })
    }
}

/// count(ab) / (count(a) count(b)), as in the Hugging Face course.
pub(super) struct Pmi;

impl Measure for Pmi {
    type Key = Ratio;

    #[inline]
    fn key(&mut self, pair: u64, left: u64, right: u64) -> Ratio {
        // A pair whose symbols are gone is gone too. Avoids 0/0, which has no order.
        Ratio { pair, symbols: (u128::from(left) * u128::from(right)).max(1) }
    }

    fn set_total(&mut self, _: u64) {}

    fn gains(_: Ratio) -> bool {
        true
    }

    fn limit(&mut self, _: u64) -> Option<Ratio> {
        None
    }
}

/// A fraction, compared by cross-multiplication in up to 192 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio {
    pair: u64,
    symbols: u128,
}

impl Ord for Ratio {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let narrow = |a: u64, b: u128| u128::from(a).checked_mul(b);
        match (narrow(self.pair, other.symbols), narrow(other.pair, self.symbols)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => wide(self.pair, other.symbols).cmp(&wide(other.pair, self.symbols)),
        }
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ratio {}

/// A product of 192 bits: the upper 128 and the lower 64.
fn wide(a: u64, b: u128) -> (u128, u64) {
    let low = u128::from(a) * u128::from(b as u64);
    let high = u128::from(a) * (b >> 64) + (low >> 64);
    (high, low as u64)
}

/// The logarithm to base 2 of `n` >= 1, times 2^56, rounded down.
///
/// Each squaring of the mantissa doubles its logarithm, so the next bit of the logarithm says
/// whether the square reaches 2. Every step is monotonic in `n`, so the result is, too. The
/// mantissa is cut to 63 bits, which lowers the result by less than 2^-62.
pub(super) fn log2(n: u64) -> u64 {
    let zeros = n.max(1).leading_zeros();
    let mut mantissa = n.max(1) << zeros;
    let mut log = u64::from(63 - zeros);
    for _ in 0..PLACES {
        let square = u128::from(mantissa) * u128::from(mantissa);
        let bit = (square >> 127) as u64;
        mantissa = (square >> (63 + bit)) as u64;
        log = log << 1 | bit;
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log2_is_close_and_monotonic() {
        assert_eq!((log2(1), log2(2), log2(1 << 63)), (0, 1 << PLACES, 63 << PLACES));
        let numbers = (0..64).flat_map(|bit| (0..100).map(move |n| (1u64 << bit).saturating_add(n * n * n)));
        let mut numbers: Vec<u64> = numbers.chain([u64::MAX]).collect();
        numbers.sort_unstable();
        let mut last = 0;
        for n in numbers {
            let log = log2(n);
            assert!(log >= last, "{n}");
            last = log;
            let float = (n as f64).log2();
            assert!((log as f64 / (1u64 << PLACES) as f64 - float).abs() < 1e-13, "{n}: {float}");
        }
    }

    #[test]
    fn ratios_compare_exactly() {
        let big = u64::MAX;
        let ratio = |pair, left, right| Pmi.key(pair, left, right);
        assert_eq!(ratio(1, 2, 3), ratio(2, 4, 3));
        assert_eq!(ratio(big, big, big), ratio(1, 1, big));
        assert!(ratio(big, big, big) > ratio(big - 1, big, big));
        assert_eq!(ratio(big - 1, big - 1, big), ratio(big, big, big));
        assert!(ratio(big, big - 1, big) > ratio(big - 1, big - 1, big));
    }

    #[test]
    fn no_key_exceeds_its_limit() {
        let mut measure = Likelihood::new();
        measure.set_total(1_000_000);
        for most in [1, 2, 3, 10, 999, 70_000, 249_000, 251_000, 900_000] {
            let limit = measure.limit(most).unwrap();
            for pair in
                [1, 2, most / 3, most / 2, most - 1, most].into_iter().filter(|n| (1..=most).contains(n))
            {
                assert!(measure.key(pair, pair, pair) <= limit, "{pair} of {most}");
            }
        }
    }
}
