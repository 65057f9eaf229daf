//! Fixed hash of the hardware tables.

/// Mixes 32 bits so that each result bit depends on all of them. No two numbers mix to the same
/// (the finaliser of `MurmurHash3` by Appleby, in the public domain).
#[inline]
pub(super) const fn mix(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x85EB_CA6B);
    x ^= x >> 13;
    x = x.wrapping_mul(0xC2B2_AE35);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_murmur3s_finaliser() {
        // Values from the reference implementation.
        assert_eq!([0, 1, 2, u32::MAX].map(mix), [0, 0x514E_28B7, 0x30F4_C306, 0x81F1_6F39]);
    }
}
