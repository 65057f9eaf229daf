//! Random draws that are identical on every machine: whole numbers and exponential gaps.
//!
//! The logarithm is computed in integers, because the C library's differs between platforms in its
//! last bits, and results must not.

use tidegate_units::{Rng, Span};

/// A uniform whole number below `count`; 0 for a count of 0. Unbiased (Lemire, 2019).
#[inline]
pub(super) fn below(rng: &mut Rng, count: u64) -> u64 {
    let mut product = u128::from(rng.next_u64()) * u128::from(count);
    if (product as u64) < count {
        let unfair = count.wrapping_neg() % count.max(1);
        while (product as u64) < unfair {
            product = u128::from(rng.next_u64()) * u128::from(count);
        }
    }
    (product >> 64) as u64
}

/// Mean of exponential gaps, in units of 2^−32 ps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MeanGap(u128);

impl MeanGap {
    /// Longest mean, 2^63 ps: 106 days.
    const MOST: u128 = 1 << 95;

    /// From units of 2^−32 ps; `None` for zero and above 106 days.
    pub(super) const fn new(units: u128) -> Option<Self> {
        match units {
            1..=Self::MOST => Some(Self(units)),
            _ => None,
        }
    }

    /// Draws a gap, rounded to the nearest picosecond: the mean times `-ln(u)` for a uniform `u`.
    #[inline]
    pub(super) fn draw(self, rng: &mut Rng) -> Span {
        let means = negative_ln(rng.next_u64());
        // Splits `means` into two halves, so that the products fit 128 bits.
        let (high, low) = (u128::from(means >> 32), u128::from(means & u64::from(u32::MAX)));
        let product = high * self.0 + ((low * self.0) >> 32) + (1 << (FRACTION - 1));
        Span::from_ps(u64::try_from(product >> FRACTION).unwrap_or(u64::MAX))
    }

    /// Expected number of such gaps in `span`, rounded down.
    pub(super) const fn expected_in(self, span: Span) -> u128 {
        ((span.as_ps() as u128) << 32) / self.0
    }

    /// The mean in units of 2^−32 ps.
    #[cfg(test)]
    pub(super) const fn units(self) -> u128 {
        self.0
    }
}

/// Fraction bits of [`negative_ln`].
const FRACTION: u32 = 58;
/// Fraction bits of intermediate results.
const INNER: u32 = 62;
/// ln 2 with 64 fraction bits, rounded down.
const LN_2: i128 = 0xB172_17F7_D1CF_79AB;
/// √2 with 63 fraction bits, rounded down.
const SQRT_2: u64 = 0xB504_F333_F9DE_6484;
/// 1, 1/3, 1/5, … with [`INNER`] fraction bits, the coefficients of ln((1 + s) / (1 − s)) = 2·(s +
/// s³/3 + …). The remainder after 13 terms is below 2^−72, because |s| is at most 0.172.
const ODD_INVERSES: [i128; 13] = {
    let mut inverses = [0; 13];
    let mut i = 0;
    while i < inverses.len() {
        inverses[i] = (1 << INNER) / (2 * i as i128 + 1);
        i += 1;
    }
    inverses
};

/// `-ln(bits / 2^64)` with 58 fraction bits; zero bits mean 2^64. The error is below 2^−56.
fn negative_ln(bits: u64) -> u64 {
    if bits == 0 {
        return 0;
    }
    // bits / 2^64 = y / 2^halvings with y between 1/√2 and √2.
    let zeros = bits.leading_zeros();
    let mantissa = bits << zeros;
    let (y, halvings) = if mantissa > SQRT_2 {
        (i128::from(mantissa), zeros)
    } else {
        (i128::from(mantissa) << 1, zeros + 1)
    };
    let one = 1_i128 << 64;
    let s = ((y - one) << INNER) / (y + one);
    let square = (s * s) >> INNER;
    let series =
        ODD_INVERSES.iter().rev().fold(0, |sum, inverse| inverse + ((sum * square) >> INNER));
    let ln_y = (s * series) >> (INNER - 1);
    let result = ((i128::from(halvings) * LN_2) >> (64 - INNER)) - ln_y;
    // Below 64 · ln 2 = 44.4, which 6 integer bits can hold.
    u64::try_from(result.max(0) >> (INNER - FRACTION)).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "floating point is the independent answer here")]
mod tests {
    use super::*;

    fn ln(bits: u64) -> f64 {
        negative_ln(bits) as f64 / 2_f64.powi(58)
    }

    #[test]
    fn the_logarithm_agrees_with_floating_point() {
        let mut rng = Rng::new(1, 0);
        for round in 0..200_000 {
            let bits = rng.next_u64() >> (round % 64);
            if bits == 0 {
                continue;
            }
            let expected = -(bits as f64 / 2_f64.powi(64)).ln();
            let error = (ln(bits) - expected).abs();
            // Possible loss of the conversion of `bits` and of `f64::ln`.
            assert!(error < 3e-16 * (2.0 + expected), "{bits}: {error:e}");
        }
    }

    #[test]
    fn the_logarithm_is_exact_at_its_extremes() {
        assert_eq!(negative_ln(0), 0);
        assert!(negative_ln(u64::MAX) <= 4);
        // One half is ln 2, the smallest fraction 64 · ln 2.
        let ln_2 = (LN_2 as u64) >> 6;
        assert!(negative_ln(1 << 63).abs_diff(ln_2) <= 1);
        assert!(negative_ln(1).abs_diff(LN_2 as u64) <= 1);
        // Both sides of the point where the range is split, u = 1/√2: ln 2 / 2.
        for bits in [SQRT_2 - 1, SQRT_2, SQRT_2 + 1] {
            assert!(negative_ln(bits).abs_diff(ln_2 / 2) <= 2, "{bits}");
        }
    }

    #[test]
    fn the_logarithm_never_increases() {
        let mut rng = Rng::new(2, 0);
        for _ in 0..20_000 {
            let bits = rng.next_u64() >> (rng.next_u32() % 60) | 1;
            let near = bits.saturating_add(1 << (rng.next_u32() % 40));
            // Except for a rounding error.
            assert!(negative_ln(near) <= negative_ln(bits) + 2, "{bits} {near}");
        }
    }

    #[test]
    fn gaps_have_the_mean_and_the_variance_of_an_exponential() {
        let mean = 1_000_000.0;
        let gap = MeanGap::new(1_000_000 << 32).unwrap();
        let mut rng = Rng::new(3, 0);
        let count = 1_000_000;
        let draws: Vec<f64> =
            (0..count).map(|_| gap.draw(&mut rng).as_ps() as f64 / mean).collect();
        let average = draws.iter().sum::<f64>() / f64::from(count);
        let square = draws.iter().map(|x| (x - 1.0).powi(2)).sum::<f64>() / f64::from(count);
        // Four standard errors: 1/√n for the mean, √8/√n for the variance.
        assert!((average - 1.0).abs() < 4e-3, "{average}");
        assert!((square - 1.0).abs() < 12e-3, "{square}");
        // The tail: e^−3 = 4.98 % are above 3 means, give or take four standard errors of 2.2e-4.
        let tail = draws.iter().filter(|&&x| x > 3.0).count() as f64 / f64::from(count);
        assert!((tail - 0.049_787).abs() < 9e-4, "{tail}");
    }

    #[test]
    fn gaps_are_exact_at_the_extremes() {
        assert_eq!(MeanGap::new(0), None);
        assert_eq!(MeanGap::new(MeanGap::MOST + 1), None);
        let longest = MeanGap::new(MeanGap::MOST).unwrap();
        let mut rng = Rng::new(4, 0);
        for _ in 0..1000 {
            // Saturates and does not wrap: about e^−2 of the draws exceed 2^64 ps.
            assert!(longest.draw(&mut rng) > Span::from_us(1));
        }
        assert_eq!(MeanGap::new(3 << 32).unwrap().expected_in(Span::from_ps(10)), 3);
    }

    #[test]
    fn whole_numbers_are_uniform() {
        let mut rng = Rng::new(5, 0);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[below(&mut rng, 7) as usize] += 1;
        }
        // 10 000 each, with a standard deviation of 93.
        assert!(counts.iter().all(|c| c.abs_diff(10_000) < 400), "{counts:?}");
        assert_eq!(below(&mut rng, 0), 0);
        assert_eq!(below(&mut rng, 1), 0);
        assert!(below(&mut rng, u64::MAX) < u64::MAX);
    }
}
