//! Estimates over repetitions, and intervals that hold over all looks at them.
//!
//! A claim that five seeds leave open is looked at again with ten, then with twenty. A reader who
//! stops as soon as a 95 % interval is on one side of a limit is misled in more than 5 % of cases.
//! Here the interval of look `k` misses the truth with a probability of 5 % / 2ᵏ only: 2.5 % at the
//! first look, 1.25 % at the second. The sum over any number of looks is below 5 %, so the interval
//! at which a claim is decided covers the truth with at least 95 %, whatever decided when to stop.
//!
//! Seeds double from look to look. The rule depends on nothing but their number, so it is the same
//! for a claim that was decided at once and for one that was not.

use tidegate_results::statistics::{mean, student, variance};

/// Probability that an interval misses the truth, over all looks.
const MISS: f64 = 0.05;

/// Most looks that are worth planning: 1024 times the seeds of the first.
const MOST: u32 = 11;

/// Mean over the repetitions of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean; infinite for growth from zero.
    pub value: f64,
    /// Sample deviation of the repetitions; `None` with fewer than two.
    pub deviation: Option<f64>,
    /// Repetitions; 0 for arithmetic.
    pub runs: usize,
}

/// Looks at a figure, by the number of its seeds at the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    first: usize,
}

impl Looks {
    /// Looks that begin with this number of seeds.
    pub const fn new(first: usize) -> Self {
        Self { first: if first == 0 { 1 } else { first } }
    }

    /// Whether this many repetitions are too few for any verdict: one of several.
    pub const fn is_single(self, runs: usize) -> bool {
        runs == 1 && self.first > 1
    }

    /// Number of the look that judges so many repetitions, from 1.
    fn number(self, runs: usize) -> u32 {
        (1..MOST).find(|&look| runs <= self.runs(look)).unwrap_or(MOST)
    }

    /// Repetitions at a look.
    fn runs(self, look: u32) -> usize {
        self.first.saturating_mul(1 << (look - 1))
    }

    /// Repetitions at the looks that follow this many.
    pub fn after(self, runs: usize) -> impl Iterator<Item = usize> {
        (1..=MOST).map(move |look| self.runs(look)).filter(move |&planned| planned > runs)
    }

    /// Probability that an interval over so many repetitions may miss the truth.
    fn miss(self, runs: usize) -> f64 {
        MISS / f64::from(1_u32 << self.number(runs))
    }
}

impl Estimate {
    /// Estimate from the numbers of repetitions, and how many are left out. Growth from zero in
    /// every repetition is infinite. Growth from zero in some has no mean: these are left out.
    pub fn of(numbers: &[f64]) -> Option<(Self, usize)> {
        let finite = numbers.iter().copied().filter(|number| number.is_finite());
        let finite: Vec<f64> = finite.collect();
        let own = if finite.is_empty() { numbers } else { &finite };
        let estimate = Self {
            value: mean(own)?,
            deviation: variance(&finite).map(f64::sqrt),
            runs: own.len(),
        };
        Some((estimate, numbers.len() - own.len()))
    }

    /// Interval that holds over all looks, and jointly for the best of `among` points (Bonferroni).
    pub fn interval(&self, looks: Looks, among: usize) -> Option<(f64, f64)> {
        let reach = self.reach(self.runs, looks.miss(self.runs) / real(among.max(1)))?;
        Some((self.value - reach, self.value + reach))
    }

    /// Half of the interval with another number of repetitions that vary alike.
    pub(crate) fn reach_with(&self, runs: usize, looks: Looks) -> Option<f64> {
        self.reach(runs, looks.miss(runs))
    }

    fn reach(&self, runs: usize, miss: f64) -> Option<f64> {
        let freedom = runs.checked_sub(1)?;
        Some(student::critical(miss, freedom) * self.deviation? / real(runs).sqrt())
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of runs and points are small")]
fn real(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use tidegate_units::Rng;

    use super::*;

    /// Normally distributed: the sum of twelve uniform numbers has a variance of 1.
    fn gauss(rng: &mut Rng) -> f64 {
        let uniform = |rng: &mut Rng| f64::from(rng.next_u32()) / 2_f64.powi(32);
        (0..12).map(|_| uniform(rng)).sum::<f64>() - 6.0
    }

    #[test]
    fn intervals_widen_from_look_to_look_and_with_the_number_of_points() {
        let of = |runs| Estimate { value: 10.0, deviation: Some(2.0), runs };
        let reach = |runs, among| of(runs).interval(Looks::new(5), among).unwrap().1 - 10.0;
        let near = |a: f64, b: f64| (a - b).abs() < 1e-3;
        // t at 2.5 % and 4 degrees of freedom, at 1.25 % and 9, at 0.625 % and 19.
        assert!(near(reach(5, 1), 3.4954 * 2.0 / 5_f64.sqrt()));
        assert!(near(reach(10, 1), 3.1109 * 2.0 / 10_f64.sqrt()));
        assert!(near(reach(6, 1) / reach(10, 1), {
            let t = student::critical(0.0125, 5) / 6_f64.sqrt();
            t / (student::critical(0.0125, 9) / 10_f64.sqrt())
        }));
        // Fewer seeds than planned belong to the first look.
        assert!(near(reach(3, 1), student::critical(0.025, 2) * 2.0 / 3_f64.sqrt()));
        // Nine points.
        assert!(near(reach(5, 9), student::critical(0.025 / 9.0, 4) * 2.0 / 5_f64.sqrt()));
        assert_eq!(Looks::new(5).after(5).take(3).collect::<Vec<_>>(), [10, 20, 40]);
        assert_eq!(Looks::new(5).after(3).next(), Some(5));
        assert!(Looks::new(5).is_single(1) && !Looks::new(1).is_single(1));
    }

    #[test]
    fn growth_from_zero_in_some_repetitions_is_left_out() {
        let of = |numbers: &[f64]| Estimate::of(numbers).unwrap();
        let (some, left_out) = of(&[1.0, f64::INFINITY, 3.0]);
        assert_eq!((some.value, some.runs, left_out), (2.0, 2, 1));
        let (all, left_out) = of(&[f64::INFINITY; 2]);
        assert_eq!((all.value, all.deviation, all.runs, left_out), (f64::INFINITY, None, 2, 0));
        assert_eq!(Estimate::of(&[]), None);
    }

    /// Looks at normal numbers around 0 until the interval is on one side of a limit.
    fn stopped(rng: &mut Rng, limit: f64, looks: Looks) -> (f64, f64) {
        let mut numbers: Vec<f64> = Vec::new();
        let mut last = None;
        for runs in looks.after(0).take(5) {
            numbers.extend((numbers.len()..runs).map(|_| gauss(rng)));
            let (estimate, _) = Estimate::of(&numbers).unwrap();
            let (low, high) = estimate.interval(looks, 1).unwrap();
            last = Some((low, high));
            if low > limit || high < limit {
                break;
            }
        }
        last.expect("there are looks")
    }

    #[test]
    fn intervals_of_claims_that_are_looked_at_until_they_are_decided_cover_95_per_cent() {
        let mut rng = Rng::new(7, 0);
        // Limits from the truth itself, where a wrong decision is as likely as it can be, to far
        // away.
        for limit in [0.0, 0.2, 0.5, 1.0] {
            let trials = 2_000;
            let covered = (0..trials).filter(|_| {
                let (low, high) = stopped(&mut rng, limit, Looks::new(5));
                (low..=high).contains(&0.0)
            });
            let coverage = real(covered.count()) / f64::from(trials);
            assert!(coverage >= 0.95, "{limit}: {coverage}");
        }
    }

    #[test]
    fn an_interval_without_the_rule_would_miss_too_often() {
        // The same looks with plain 95 % intervals: the reason for the rule.
        let mut rng = Rng::new(8, 0);
        let trials = 2_000;
        let missed = (0..trials).filter(|_| {
            let mut numbers: Vec<f64> = Vec::new();
            Looks::new(5).after(0).take(5).any(|runs| {
                numbers.extend((numbers.len()..runs).map(|_| gauss(&mut rng)));
                let interval = student::interval(&numbers).unwrap();
                interval.low > 0.0 || interval.high < 0.0
            })
        });
        let share = real(missed.count()) / f64::from(trials);
        assert!(share > 0.1, "{share}");
    }

    #[test]
    fn the_interval_of_the_best_of_nine_points_covers_it() {
        let mut rng = Rng::new(9, 0);
        let (trials, looks) = (2_000, Looks::new(5));
        let covers = |among: usize, rng: &mut Rng| {
            let points: Vec<Estimate> =
                (0..9).map(|_| Estimate::of(&[(); 5].map(|()| gauss(rng))).unwrap().0).collect();
            let ends = |end: fn((f64, f64)) -> f64| {
                let ends = points.iter().map(|point| end(point.interval(looks, among).unwrap()));
                ends.fold(f64::INFINITY, f64::min)
            };
            // All nine are 0, so the best is.
            (ends(|ends| ends.0)..=ends(|ends| ends.1)).contains(&0.0)
        };
        let coverage = |among: usize, rng: &mut Rng| {
            real((0..trials).filter(|_| covers(among, rng)).count()) / f64::from(trials)
        };
        let joint = coverage(9, &mut rng);
        assert!(joint >= 0.95, "{joint}");
        let single = coverage(1, &mut rng);
        assert!(single < 0.95, "without the correction: {single}");
    }
}
