//! Virtual time: bytes per unit of weight, in fixed point, for schedulers that stamp packets.
//!
//! A packet of `L` bytes in a queue of weight `w` advances it by `L / w`, in units of 2^−20 bytes
//! and rounded down to within one unit; a whole number of units is exact. Times are `u64` and wrap.
//! Two times are compared by their difference, which is correct while they are less than 2^63
//! apart. Each scheduler explains why that holds for its times.
//! less than 2^63 apart. Each scheduler says why that holds for its times.

use alloc::boxed::Box;

use tidegate_units::ConfigError;

/// Fractional bits of a virtual time.
pub(super) const FRACTION: u32 = 20;
/// The largest weight.
pub(super) const MAX_WEIGHT: u32 = 65_535;

/// A weight prepared for the packet path: its inverse in units of 2^−52, rounded up, so that a
/// packet costs a multiplication and no division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inverse(u64);

impl Inverse {
    /// Inverse of a weight, which must be at least 1.
    #[inline]
    pub(super) const fn of(weight: u32) -> Self {
        Self((1_u64 << (32 + FRACTION)).div_ceil(weight as u64))
    }

    /// Virtual time of `len` bytes. At most 2^52 and never zero, so that a stamp always advances.
    #[inline]
    pub(super) const fn times(self, len: u32) -> u64 {
        // The excess of the rounded inverse is below 1 and `len` is below 2^32: their product is
        // shifted out or adds one unit.
        let worth = (self.0 as u128 * len as u128) >> 32;
        if worth == 0 { 1 } else { worth as u64 }
    }
}

/// Whether the virtual time `a` is before `b`.
#[inline]
pub(super) const fn is_before(a: u64, b: u64) -> bool {
    a.wrapping_sub(b) > u64::MAX / 2
}

/// Checks the weights of all queues, each up to [`MAX_WEIGHT`].
pub(super) fn check_weights(weights: &[u32]) -> Result<impl Iterator<Item = u16>, ConfigError> {
    inverses(weights, MAX_WEIGHT)?;
    // At most `MAX_WEIGHT`, as just checked.
    Ok(weights.iter().map(|&weight| weight as u16))
}

/// Inverses of the weights of all queues, each checked to be at most `most`.
pub(super) fn inverses(weights: &[u32], most: u32) -> Result<Box<[Inverse]>, ConfigError> {
    super::queue_count("weights", weights.len())?;
    let inverse = |&weight| match weight {
        1.. if weight <= most => Ok(Inverse::of(weight)),
        _ => Err(ConfigError::out_of_range(
            "weights",
            weight,
            alloc::format!("1 to {most} per queue"),
        )),
    };
    weights.iter().map(inverse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_of_units_is_exact_and_the_rest_is_within_one() {
        for weight in [1, 2, 3, 7, 64, 1000, 65_535] {
            let inverse = Inverse::of(weight);
            for len in [1, 64, 1500, 9000, 65_535, 1 << 20, u32::MAX] {
                let exact = (u64::from(len) << FRACTION) / u64::from(weight);
                let got = inverse.times(len);
                assert!(got == exact || got == exact + 1, "{len}/{weight}: {got}");
                if (u64::from(len) << FRACTION).is_multiple_of(u64::from(weight)) {
                    assert_eq!(got, exact, "{len}/{weight}");
                }
            }
        }
        assert_eq!(Inverse::of(3).times(1500), 500 << 20);
        assert_eq!(Inverse::of(1).times(u32::MAX), u64::from(u32::MAX) << 20);
        assert_eq!(Inverse::of(1).times(0), 1);
    }

    #[test]
    fn comparison_survives_the_wrap() {
        assert!(is_before(1, 2) && !is_before(2, 2) && !is_before(3, 2));
        assert!(is_before(u64::MAX, 0) && !is_before(0, u64::MAX));
        assert!(is_before(0, u64::MAX / 2) && !is_before(0, u64::MAX / 2 + 2));
    }

    #[test]
    fn weights_are_checked_at_both_ends() {
        assert!(inverses(&[1, 64], 64).is_ok());
        for weights in [&[0][..], &[65], &[]] {
            assert!(inverses(weights, 64).is_err(), "{weights:?}");
        }
    }
}
