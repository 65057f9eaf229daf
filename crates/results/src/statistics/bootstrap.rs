//! Intervals within one run: the bootstrap over blocks of flows.
//!
//! A sample is cut into [`BLOCKS`] blocks of flows that started one after the other. Each round
//! draws as many blocks with replacement and computes the statistic of their values; the spread
//! over all rounds gives the interval. The cost does not grow with flows × rounds: a mean needs
//! only each block's sum and count, and a high percentile only the largest values, from the top
//! down.
//!
//! The generator is seeded by a constant: the same sample has the same interval, always.

use tidegate_units::{Ratio, Rng};

use super::{Interval, Percentile, normal, real};

/// Number of blocks. Fewer blocks are too few to draw from; shorter blocks would split congestion
/// that neighbouring flows share.
pub const BLOCKS: usize = 50;

/// Number of rounds.
const ROUNDS: usize = 1_000;

/// Statistic of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// A percentile, by the rule of the sample.
    Percentile(Ratio),
}

/// Values, each with the number of its block.
#[derive(Clone, Debug)]
pub struct Sample {
    /// From the largest to the smallest.
    falling: Vec<(f64, u32)>,
    /// Count and sum of the values in each block.
    blocks: Vec<(usize, f64)>,
    /// Percentile rule.
    rule: Percentile,
}

impl Sample {
    /// Builds a sample from values and their block numbers, which are below [`BLOCKS`]; larger
    /// numbers count as the last block.
    pub fn new(rule: Percentile, values: impl IntoIterator<Item = (f64, usize)>) -> Self {
        let mut blocks = vec![(0, 0.0); BLOCKS];
        let mut falling = Vec::new();
        for (value, block) in values {
            let block = block.min(BLOCKS - 1);
            blocks[block].0 += 1;
            blocks[block].1 += value;
            falling.push((value, block as u32));
        }
        falling.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        Self { falling, blocks, rule }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.falling.len()
    }

    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.falling.is_empty()
    }

    /// The statistic of the sample; `None` if it is empty.
    pub fn value(&self, statistic: Statistic) -> Option<f64> {
        self.drawn(statistic, &[1; BLOCKS])
    }

    /// The 95 % confidence interval of the statistic; `None` if fewer than two blocks have values.
    ///
    /// Means are corrected for bias and skew (Efron's `BCa`, by leaving out each block in turn).
    /// Percentiles are corrected for bias only: they move in steps, so leaving out a block says
    /// nothing about their skew.
    pub fn interval(&self, statistic: Statistic) -> Option<Interval> {
        let filled = self.blocks.iter().filter(|block| block.0 > 0).count();
        if filled < 2 {
            return None;
        }
        let value = self.value(statistic)?;
        let rounds = rounds(|drawn| self.drawn(statistic, drawn));
        let skew = match statistic {
            Statistic::Mean => skew(&leave_one_out(|kept| self.drawn(statistic, kept))),
            Statistic::Percentile(_) => 0.0,
        };
        corrected(value, &rounds, skew)
    }

    /// The 95 % confidence interval of the ratio to `base`, whose blocks hold the same flows: both
    /// are drawn together, so that the influence of the flows cancels. `None` if there is no
    /// interval.
    pub fn ratio_interval(&self, base: &Self, statistic: Statistic) -> Option<Interval> {
        let ratio = |drawn: &[u32; BLOCKS]| {
            let (above, below) = (self.drawn(statistic, drawn)?, base.drawn(statistic, drawn)?);
            (below > 0.0).then(|| above / below)
        };
        let filled = self.blocks.iter().zip(&base.blocks).filter(|(a, b)| a.0 > 0 && b.0 > 0);
        if filled.count() < 2 {
            return None;
        }
        let skew = match statistic {
            Statistic::Mean => skew(&leave_one_out(ratio)),
            Statistic::Percentile(_) => 0.0,
        };
        corrected(ratio(&[1; BLOCKS])?, &rounds(ratio), skew)
    }

    /// The statistic of the values, each taken as often as its block was drawn.
    fn drawn(&self, statistic: Statistic, times: &[u32; BLOCKS]) -> Option<f64> {
        let blocks = || self.blocks.iter().zip(times);
        let count: usize = blocks().map(|(block, &times)| block.0 * times as usize).sum();
        match statistic {
            Statistic::Mean => {
                let sum: f64 = blocks().map(|(block, &times)| block.1 * f64::from(times)).sum();
                (count > 0).then(|| sum / real(count))
            }
            Statistic::Percentile(fraction) => {
                // Number of values above the percentile.
                let rank = self.rule.rank(count, fraction)?;
                let mut above = count - 1 - rank;
                let sought = self.falling.iter().find(|&&(_, block)| {
                    let times = times[block as usize] as usize;
                    let found = times > above;
                    above = above.saturating_sub(times);
                    found
                });
                sought.map(|&(value, _)| value)
            }
        }
    }
}

/// The statistic of each round, sorted. Rounds without a value are left out.
fn rounds(statistic: impl Fn(&[u32; BLOCKS]) -> Option<f64>) -> Vec<f64> {
    let mut rng = Rng::new(95, 0);
    let mut values: Vec<f64> = (0..ROUNDS)
        .filter_map(|_| {
            let mut times = [0; BLOCKS];
            for _ in 0..BLOCKS {
                let block = (u64::from(rng.next_u32()) * BLOCKS as u64) >> 32;
                times[block as usize] += 1;
            }
            statistic(&times)
        })
        .collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The statistic without each of the blocks.
fn leave_one_out(statistic: impl Fn(&[u32; BLOCKS]) -> Option<f64>) -> Vec<f64> {
    let without = |block: usize| {
        let mut kept = [1; BLOCKS];
        kept[block] = 0;
        statistic(&kept)
    };
    (0..BLOCKS).filter_map(without).collect()
}

/// The acceleration of `BCa`: a sixth of the skewness of the values with one block left out.
fn skew(without: &[f64]) -> f64 {
    let Some(mean) = super::mean(without) else {
        return 0.0;
    };
    let power = |exponent| without.iter().map(|value| (mean - value).powi(exponent)).sum::<f64>();
    let spread = power(2).powf(1.5);
    if spread > 0.0 { power(3) / (6.0 * spread) } else { 0.0 }
}

/// The interval of the rounds, corrected for bias (the share of rounds below the value) and for
/// skew.
fn corrected(value: f64, rounds: &[f64], skew: f64) -> Option<Interval> {
    let count = rounds.len();
    let last = count.checked_sub(1)?;
    // Rounds equal to the value count half.
    let below = rounds.iter().filter(|&&round| round < value).count();
    let upto = rounds.iter().filter(|&&round| round <= value).count();
    let part = real(below + upto) / 2.0 / real(count);
    let part = part.clamp(0.5 / real(count), 1.0 - 0.5 / real(count));
    let bias = normal::quantile(part);
    let end = |p: f64| {
        let z = bias + normal::quantile(p);
        let moved = normal::probability(bias + z / (1.0 - skew * z).max(0.1));
        #[expect(clippy::cast_sign_loss, reason = "a probability is not negative")]
        let index = (moved * real(count)).floor() as usize;
        rounds[index.min(last)]
    };
    Some(Interval { low: end(0.025), high: end(0.975) })
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::P99;
    use super::*;

    /// A uniform value strictly between 0 and 1.
    pub(crate) fn uniform(rng: &mut Rng) -> f64 {
        (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0
    }

    /// A standard normal value, by the Box-Muller method.
    pub(crate) fn gauss(rng: &mut Rng) -> f64 {
        let radius = (-2.0 * uniform(rng).ln()).sqrt();
        radius * (std::f64::consts::TAU * uniform(rng)).cos()
    }

    fn blocked(values: &[f64]) -> Sample {
        let block = |index: usize| index * BLOCKS / values.len();
        Sample::new(
            Percentile::NearestRank,
            values.iter().enumerate().map(|(index, &value)| (value, block(index))),
        )
    }

    /// Number of `trials` whose interval contains the true value.
    fn coverage(
        trials: u32,
        truth: f64,
        statistic: Statistic,
        mut sample: impl FnMut(&mut Rng) -> Vec<f64>,
    ) -> f64 {
        let mut rng = Rng::new(1, 2);
        let hits = (0..trials)
            .filter(|_| {
                let sample = blocked(&sample(&mut rng));
                let Interval { low, high } = sample.interval(statistic).unwrap();
                (low..=high).contains(&truth)
            })
            .count();
        real(hits) / f64::from(trials)
    }

    fn exponential(rng: &mut Rng) -> f64 {
        -uniform(rng).ln()
    }

    #[test]
    fn the_mean_of_a_skewed_sample_is_within_its_interval_in_95_of_100() {
        let sample = |rng: &mut Rng| (0..200).map(|_| exponential(rng)).collect();
        let coverage = coverage(1_000, 1.0, Statistic::Mean, sample);
        assert!((coverage - 0.95).abs() < 0.03, "{coverage}");
    }

    #[test]
    fn a_tail_is_within_its_interval_in_95_of_100() {
        // The 99th percentile of an exponential distribution is ln 100.
        let sample = |rng: &mut Rng| (0..2_000).map(|_| exponential(rng)).collect();
        let coverage = coverage(400, 100_f64.ln(), Statistic::Percentile(P99), sample);
        assert!((coverage - 0.95).abs() < 0.03, "{coverage}");
    }

    #[test]
    fn correlated_neighbours_do_not_narrow_the_interval() {
        // Each value keeps 0.8 of its predecessor, like flows that meet the same queue. A bootstrap
        // of single values would contain the true value in only half of the trials.
        let sample = |rng: &mut Rng| {
            let mut level = gauss(rng);
            let step = |_| {
                level = 0.8 * level + 0.6 * gauss(rng);
                level.exp()
            };
            (0..5_000).map(step).collect()
        };
        let coverage = coverage(400, 0.5_f64.exp(), Statistic::Mean, sample);
        assert!((coverage - 0.95).abs() < 0.03, "{coverage}");
    }

    #[test]
    fn a_ratio_is_within_its_interval_in_95_of_100() {
        let mut rng = Rng::new(3, 0);
        let trials = 600;
        let (mut hits, mut width, mut apart) = (0, 0.0, 0.0);
        for _ in 0..trials {
            let base: Vec<f64> = (0..300).map(|_| exponential(&mut rng)).collect();
            let other: Vec<f64> =
                base.iter().map(|value| 0.7 * value * (0.1 * gauss(&mut rng)).exp()).collect();
            let (base, other) = (blocked(&base), blocked(&other));
            let Interval { low, high } = other.ratio_interval(&base, Statistic::Mean).unwrap();
            hits += usize::from((low..=high).contains(&(0.7 * 0.005_f64.exp())));
            width += high - low;
            let alone = other.interval(Statistic::Mean).unwrap();
            apart += alone.high - alone.low;
        }
        let coverage = real(hits) / f64::from(trials);
        assert!((coverage - 0.95).abs() < 0.03, "{coverage}");
        assert!(width < apart / 4.0, "drawing both together does not help: {width} {apart}");
    }

    #[test]
    fn statistics_match_their_plain_definitions() {
        let values: Vec<f64> = (1..=250).map(f64::from).collect();
        let sample = blocked(&values);
        assert_eq!(sample.value(Statistic::Mean), Some(125.5));
        // ⌈0.99 · 250⌉ = 248.
        assert_eq!(sample.value(Statistic::Percentile(P99)), Some(248.0));
        assert_eq!(sample.value(Statistic::Percentile(Ratio::ZERO)), Some(1.0));
        assert_eq!(sample.value(Statistic::Percentile(Ratio::ONE)), Some(250.0));
        assert_eq!((sample.len(), sample.is_empty()), (250, false));
    }

    #[test]
    fn a_block_drawn_twice_counts_twice() {
        let sample = Sample::new(Percentile::NearestRank, [(1.0, 0), (3.0, 1), (9.0, 2)]);
        let mut times = [0; BLOCKS];
        (times[0], times[2]) = (1, 2);
        // 1, 9, 9
        assert_eq!(sample.drawn(Statistic::Mean, &times), Some(19.0 / 3.0));
        let half = Statistic::Percentile(Ratio::new(1, 2).unwrap());
        assert_eq!(sample.drawn(half, &times), Some(9.0));
        let third = Statistic::Percentile(Ratio::new(1, 3).unwrap());
        assert_eq!(sample.drawn(third, &times), Some(1.0));
        assert_eq!(sample.drawn(Statistic::Mean, &[0; BLOCKS]), None);
        assert_eq!(sample.drawn(half, &[0; BLOCKS]), None);
    }

    #[test]
    fn small_samples_have_no_interval() {
        assert_eq!(Sample::new(Percentile::NearestRank, []).interval(Statistic::Mean), None);
        assert_eq!(
            Sample::new(Percentile::NearestRank, [(1.0, 0), (2.0, 0)]).interval(Statistic::Mean),
            None
        );
        let equal = Sample::new(Percentile::NearestRank, [(2.0, 0), (2.0, 1), (2.0, usize::MAX)]);
        assert_eq!(equal.interval(Statistic::Mean), Some(Interval { low: 2.0, high: 2.0 }));
        let tail = equal.interval(Statistic::Percentile(P99));
        assert_eq!(tail, equal.interval(Statistic::Mean));
    }

    #[test]
    fn the_same_sample_has_the_same_interval() {
        let values: Vec<f64> = (0..500).map(|i| f64::from(i * i % 97)).collect();
        let once = blocked(&values).interval(Statistic::Mean);
        assert_eq!(once, blocked(&values).interval(Statistic::Mean));
    }
}
