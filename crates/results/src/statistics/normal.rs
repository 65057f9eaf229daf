//! The normal distribution, computed from its series to the precision of a double, without a table
//! of coefficients.

use std::f64::consts::PI;

/// The probability that a standard normal value is below `x`.
pub(super) fn probability(x: f64) -> f64 {
    if x.abs() > 8.0 {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    // Φ(x) = 1/2 + φ(x)·(x + x³/3 + x⁵/(3·5) + …); all terms have one sign.
    let (mut term, mut sum, mut odd) = (x, x, 1.0);
    while term.abs() > sum.abs() * 1e-17 {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / (2.0 * PI).sqrt()
}

/// The quantile of the standard normal distribution for the probability `p`, to 12 digits.
pub(super) fn quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if probability(middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn known_values_match() {
        assert!(near(probability(0.0), 0.5));
        assert!(near(probability(1.0), 0.841_344_746_068_543));
        assert!(near(probability(-1.959_963_984_540_054), 0.025));
        assert!(near(quantile(0.975), 1.959_963_984_540_054));
        assert!(near(quantile(0.5), 0.0));
        assert!(near(quantile(0.001), -3.090_232_306_167_814));
    }

    #[test]
    fn quantiles_of_zero_and_one_are_finite() {
        assert!(quantile(0.0) <= -7.9 && quantile(1.0) >= 7.9);
        assert!(near(probability(f64::INFINITY), 1.0) && near(probability(-9.0), 0.0));
    }
}
