//! Logarithm, exponential and digamma with the same bits on every machine.
//!
//! The standard library calls the libm of the system, whose last bit differs between systems; one
//! bit can decide a tie between two pieces and so change the vocabulary. This file uses only
//! additions, multiplications and divisions of f64, which IEEE 754 defines exactly. It does not
//! handle numbers that training never produces: NaN, infinities, logarithms of negative numbers.

const LN_2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
const LN_2_LOW: f64 = f64::from_bits(0x3DEA_39EF_3579_3C76);

/// Bits of the mantissa.
const MANTISSA: u32 = 52;
/// The stored exponent of 1.0.
const BIAS: i64 = 1023;

/// The natural logarithm of a positive, normal number; within 2 units in the last place.
pub(super) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = (bits >> MANTISSA) as i64 - BIAS;
    let mut m = f64::from_bits(bits & ((1 << MANTISSA) - 1) | (BIAS as u64) << MANTISSA);
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    // ln m = 2 atanh t, and t² < 0.03 leaves the twelfth term below 2^-60.
    let t = (m - 1.0) / (m + 1.0);
    let square = t * t;
    let series = (1..12).rev().fold(0.0, |sum, n| square * (1.0 / f64::from(2 * n + 1) + sum));
    let exponent = exponent as f64;
    exponent * LN_2_HIGH + (2.0 * t + (2.0 * t * series + exponent * LN_2_LOW))
}

/// e to the power of `x`, or 0 for results below the least normal number; within 2 units in the
/// last place.
pub(super) fn exp(x: f64) -> f64 {
    let power = (x * std::f64::consts::LOG2_E).round();
    if power < (1 - BIAS) as f64 {
        return 0.0;
    }
    let rest = (x - power * LN_2_HIGH) - power * LN_2_LOW;
    // |rest| <= ln 2 / 2 leaves the fourteenth term of Taylor's series below 2^-57.
    let series = (1..14).rev().fold(1.0, |sum, n| 1.0 + rest / f64::from(n) * sum);
    let power = (power as i64).min(BIAS);
    series * f64::from_bits(((power + BIAS) as u64) << MANTISSA)
}

/// The derivative of the logarithm of the gamma function, for a positive number.
///
/// Applies the recurrence until 7 or more, then the asymptotic series around x - 1/2 to its fourth
/// term, as SentencePiece does; within 1e-10.
pub(super) fn digamma(mut x: f64) -> f64 {
    let mut result = 0.0;
    while x < 7.0 {
        result -= 1.0 / x;
        x += 1.0;
    }
    x -= 0.5;
    let square = 1.0 / (x * x);
    let series = [1.0 / 24.0, -7.0 / 960.0, 31.0 / 8064.0, -127.0 / 30720.0];
    result + ln(x) + series.iter().rev().fold(0.0, |sum, term| square * (term + sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ln_and_exp_are_close_to_the_standard_library() {
        let mut x = 1e-300_f64;
        while x < 1e300 {
            let expected = x.ln();
            assert!((ln(x) - expected).abs() <= expected.abs() * 5e-16 + 1e-300, "ln {x:e}");
            x *= 1.037;
        }
        for n in -7080..=7090 {
            let (x, expected) = (f64::from(n) / 10.0, (f64::from(n) / 10.0).exp());
            assert!((exp(x) - expected).abs() <= expected * 5e-16, "exp {x}");
        }
        for x in [1.0 - 1e-9, 1.0, 1.0 + 1e-9, 2.0, std::f64::consts::SQRT_2] {
            assert!((ln(x) - x.ln()).abs() <= x.ln().abs() * 5e-16, "ln {x}");
        }
        assert_eq!([ln(1.0), exp(0.0), exp(-800.0)], [0.0, 1.0, 0.0]);
    }

    #[test]
    fn digamma_at_known_points() {
        // Euler's constant, and psi(1/2) = -gamma - 2 ln 2; psi(x + 1) = psi(x) + 1/x.
        let gamma = 0.577_215_664_901_532_9;
        for (x, expected) in [
            (1.0, -gamma),
            (0.5, -gamma - 2.0 * std::f64::consts::LN_2),
            (2.0, 1.0 - gamma),
            (10.0, 2.251_752_589_066_721),
            (1e6, 13.815_510_057_964_19),
        ] {
            assert!((digamma(x) - expected).abs() < 1e-10, "digamma {x}: {}", digamma(x));
        }
    }
}
