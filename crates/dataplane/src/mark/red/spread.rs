//! Spacing of marks between the thresholds: RED's count correction.

use tidegate_units::Rng;

use super::Correction;
use crate::mark::ramp::{CERTAIN, Chance};

/// Spacing of marks, with its parameter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spread {
    /// Independent draws; the count is not used.
    Alone,
    /// The count is the number of bytes since the last mark.
    Bytes { mean: u32 },
    /// The count is the value of c for the next packet.
    Packets,
}

impl Spread {
    /// Spacing for a correction, with a mean packet of `mean` bytes.
    pub(super) const fn new(correction: Correction, mean: u32) -> Self {
        match correction {
            Correction::Bytes => Self::Bytes { mean },
            Correction::None => Self::Alone,
            Correction::Packets => Self::Packets,
        }
    }

    /// Decides on a packet of `len` bytes between the thresholds, where the line gives `chance`.
    pub(super) fn draw(self, chance: Chance, count: &mut u64, len: u32, rng: &mut Rng) -> bool {
        let hit = match self {
            Self::Alone => u64::from(rng.next_u32()) < chance,
            Self::Packets => {
                let c = *count;
                *count = c.saturating_add(1);
                // p / (1 − c·p), compared without dividing.
                let rest = CERTAIN.saturating_sub(c.saturating_mul(chance));
                u128::from(rng.next_u32()) * u128::from(rest)
                    < u128::from(chance) * u128::from(CERTAIN)
            }
            Self::Bytes { .. } if chance == 0 => {
                *count = 0;
                false
            }
            Self::Bytes { mean } => {
                *count = count.saturating_add(u64::from(len));
                // With b bytes counted, p / (1 − b·p/mean) = p·mean / (mean − b·p).
                let (chance, mean) = (u128::from(chance), u128::from(mean));
                let certain = u128::from(CERTAIN);
                let rest = (mean * certain).saturating_sub(u128::from(*count) * chance);
                chance * mean >= rest
                    || u128::from(rng.next_u32()) * rest < chance * u128::from(len) * certain
            }
        };
        if hit {
            *count = self.after_a_mark();
        }
        hit
    }

    /// The count to continue with after a mark.
    pub(super) const fn after_a_mark(self) -> u64 {
        match self {
            Self::Alone | Self::Bytes { .. } => 0,
            // Floyd and Jacobson, figure 2: 0, and the next packet adds one before it draws.
            Self::Packets => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// The gaps between marks of `spread` at a steady length, in packets of `len` bytes.
    fn gaps(spread: Spread, chance: Chance, len: u32) -> Vec<u32> {
        let mut rng = Rng::new(1, 1);
        let mut count = spread.after_a_mark();
        let gap = |_| {
            let mut gap = 1;
            while !spread.draw(chance, &mut count, len, &mut rng) {
                gap += 1;
            }
            gap
        };
        (0..7_000).map(gap).collect()
    }

    #[test]
    fn marks_counted_in_packets_are_evenly_spread() {
        // With p = 1/8, the gap is each of 1 to 7 with 1/7: p / (1 − 7·p) = 1.
        let gaps = gaps(Spread::Packets, CERTAIN / 8, 1500);
        assert_eq!(gaps.iter().max(), Some(&7));
        for gap in 1..=7 {
            let seen = gaps.iter().filter(|&&other| other == gap).count();
            assert!(seen.abs_diff(1_000) < 120, "{gap}: {seen}");
        }
    }

    #[test]
    fn marks_by_themselves_have_no_longest_gap() {
        let gaps = gaps(Spread::Alone, CERTAIN / 8, 1500);
        let mean = gaps.iter().sum::<u32>() / 700;
        assert!((75..85).contains(&mean), "{mean} tenths");
        assert!(gaps.iter().max() > Some(&30));
    }

    #[test]
    fn marks_counted_in_bytes_are_evenly_spread_over_bytes() {
        // With p = 1/8, one packet of 8000 bytes and then packets of 1000: after k − 1 unmarked
        // packets the next is marked with 1/(64 − k), and with certainty at k = 56, where p / (1 −
        // c·p) = 1. So each gap up to 55 has probability 1/63, and 56 has the remaining 8/63 of
        // 7000: 889.
        let gaps = gaps(Spread::Bytes { mean: 8_000 }, CERTAIN / 8, 1_000);
        let seen =
            |range: core::ops::Range<u32>| gaps.iter().filter(|gap| range.contains(gap)).count();
        assert_eq!(gaps.iter().max(), Some(&56));
        assert!(seen(56..57).abs_diff(889) < 120);
        // Nine gaps of 1/63 each: 1000.
        assert!(seen(1..10).abs_diff(1_000) < 120);
        assert!(seen(40..49).abs_diff(1_000) < 120);
    }

    #[test]
    fn a_large_packet_is_marked_more_often() {
        // One packet of 7000 bytes: 7000·p / (8000 − 7000·p) = 875/7125 of 10 000: 1228.
        let spread = Spread::Bytes { mean: 8_000 };
        let mut rng = Rng::new(1, 1);
        let hits = (0..10_000).filter(|_| spread.draw(CERTAIN / 8, &mut 0, 7_000, &mut rng));
        assert!(hits.count().abs_diff(1_228) < 120);
        // The remaining probability: 56 000 bytes.
        assert!((0..1_000).all(|_| spread.draw(CERTAIN / 8, &mut 49_000, 7_000, &mut rng)));
    }

    #[test]
    fn a_draw_that_equals_the_probability_does_not_mark() {
        let drawn = Rng::new(1, 1).next_u32();
        let draw = |spread: Spread, chance, count: u64, len| {
            spread.draw(chance, &mut { count }, len, &mut Rng::new(1, 1))
        };
        let chance = u64::from(drawn);
        for spread in [Spread::Alone, Spread::Packets] {
            let marks = [chance, chance + 1].map(|chance| draw(spread, chance, 0, 1500));
            assert_eq!(marks, [false, true], "{spread:?}");
        }
        // With p = 2^−32, a mean of 2 and 2^32 bytes counted, 1 − c·p is one half, and a packet
        // whose length equals the draw is marked with exactly the probability drawn.
        let spread = Spread::Bytes { mean: 2 };
        let before = CERTAIN - u64::from(drawn);
        assert!(!draw(spread, 1, before, drawn));
        assert!(draw(spread, 1, before, drawn + 1));
    }

    #[test]
    fn extreme_counts_do_not_overflow() {
        let mut rng = Rng::new(1, 1);
        let mut count = u64::MAX;
        assert!(Spread::Packets.draw(CERTAIN, &mut count, 1, &mut rng));
        let mut count = u64::MAX;
        let spread = Spread::Bytes { mean: u32::MAX };
        assert!(spread.draw(CERTAIN, &mut count, u32::MAX, &mut rng));
    }

    #[test]
    fn bytes_are_counted_from_the_last_mark_or_the_lower_threshold() {
        let mut rng = Rng::new(1, 1);
        let mut bytes = 5_000;
        let spread = Spread::Bytes { mean: 9_000 };
        assert!(!spread.draw(0, &mut bytes, 1_500, &mut rng));
        assert_eq!(bytes, 0, "the lower threshold is below");
        assert!(!spread.draw(1, &mut bytes, 1_500, &mut rng));
        assert_eq!(bytes, 1_500);
        assert!(spread.draw(CERTAIN, &mut bytes, 1_500, &mut rng));
        assert_eq!(bytes, 0);
    }
}
