//! Exact products and quotients of any intermediate size.

/// `start · numerators / denominators`, rounded down once. `None` if a denominator is zero or the
/// result does not fit.
pub(super) fn quotient(start: u128, numerators: &[u64], denominators: &[u64]) -> Option<u128> {
    // Limbs of 64 bits, the lowest first.
    let mut limbs = vec![start as u64, (start >> 64) as u64];
    for &factor in numerators {
        let mut carry = 0;
        for limb in &mut limbs {
            let product = u128::from(*limb) * u128::from(factor) + carry;
            *limb = product as u64;
            carry = product >> 64;
        }
        limbs.push(carry as u64);
    }
    // Rounding down after each division equals rounding down once after all of them.
    for &divisor in denominators {
        if divisor == 0 {
            return None;
        }
        let mut rest = 0_u128;
        for limb in limbs.iter_mut().rev() {
            let part = rest << 64 | u128::from(*limb);
            *limb = (part / u128::from(divisor)) as u64;
            rest = part % u128::from(divisor);
        }
    }
    let (low, high) = limbs.split_at(2);
    let fits = high.iter().all(|&limb| limb == 0);
    fits.then(|| u128::from(low[1]) << 64 | u128::from(low[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotient_is_rounded_down_once() {
        // 7 · 3 / (2 · 5) = 2.1, and not 7 / 2 / 5 · 3 = 0.
        assert_eq!(quotient(7, &[3], &[2, 5]), Some(2));
        assert_eq!(quotient(7, &[], &[]), Some(7));
        assert_eq!(quotient(0, &[u64::MAX], &[1]), Some(0));
    }

    #[test]
    fn intermediate_results_may_exceed_128_bits() {
        let wide = [u64::MAX; 5];
        assert_eq!(quotient(u128::MAX, &wide, &wide), Some(u128::MAX));
        assert_eq!(quotient(u128::MAX, &[10], &[20]), Some(u128::MAX / 2), "half of the largest");
    }

    #[test]
    fn division_by_zero_and_overflow_give_none() {
        assert_eq!(quotient(1, &[], &[0]), None);
        assert_eq!(quotient(u128::MAX, &[2], &[]), None);
        assert_eq!(quotient(u128::MAX, &[u64::MAX, u64::MAX], &[3]), None);
    }
}
