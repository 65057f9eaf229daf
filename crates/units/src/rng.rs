//! Seeded randomness for the packet path: xoshiro256++ (Blackman and Vigna, 2019).
//!
//! The generator is twenty lines and written out here for two reasons: the crates below the
//! simulator have no dependencies, and its stream is part of every result and must never change
//! with an upgrade.

/// A random stream. Each consumer owns one, seeded from (run seed, stream number), so that a new
/// consumer does not shift the draws of the others.
#[derive(Clone, Debug)]
pub struct Rng([u64; 4]);

impl Rng {
    /// Stream number `stream` of the run with `seed`.
    pub const fn new(seed: u64, stream: u64) -> Self {
        // SplitMix64, as the generator's authors advise, from a mix of both numbers.
        let mut x = seed ^ mix(stream.wrapping_add(GOLDEN));
        let mut state = [0; 4];
        let mut i = 0;
        while i < 4 {
            x = x.wrapping_add(GOLDEN);
            state[i] = mix(x);
            i += 1;
        }
        Self(state)
    }

    /// The next 64 random bits.
    #[inline]
    #[expect(clippy::many_single_char_names, reason = "the four words of the recurrence")]
    pub const fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.0;
        let out = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let t = b << 17;
        let c2 = c ^ a;
        let d2 = d ^ b;
        self.0 = [a ^ d2, b ^ c2, c2 ^ t, d2.rotate_left(45)];
        out
    }

    /// The next 32 random bits: a uniform fraction in units of 2^−32.
    #[inline]
    pub const fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_xoshiro256_plus_plus() {
        // First outputs for the state 1, 2, 3, 4, worked out from the published recurrence:
        // rotl(1 + 4, 23) + 1 = 5 · 2^23 + 1, and so on.
        let mut rng = Rng([1, 2, 3, 4]);
        let first = [(); 4].map(|()| rng.next_u64());
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn streams_depend_on_seed_and_place() {
        let draw = |seed, stream| Rng::new(seed, stream).next_u64();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
        assert_ne!(draw(1, 2), draw(2, 1));
    }

    #[test]
    fn thirty_two_bit_draw_is_the_upper_half() {
        let mut wide = Rng::new(7, 0);
        let mut narrow = wide.clone();
        assert_eq!(u64::from(narrow.next_u32()), wide.next_u64() >> 32);
    }
}
