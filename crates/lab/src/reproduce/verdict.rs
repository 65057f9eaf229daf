//! Whether a claim holds in the runs of its figure.
//!
//! The rules, for a measured number and what the paper says of it:
//!
//! - **reproduced**: the number is within the claim's tolerance of the published one, and not on the
//!   other side of the value that means no difference by more than a tenth of the tolerance; of a
//!   bound, that it holds.
//! - **same direction, other size**: it is not within the tolerance, but on the same side of no
//!   difference as the published one, and so is its whole 95 % interval, if it has one.
//! - **not reproduced**: anything else that was measured. If the interval has a number with which it
//!   would be reproduced, that is reported too: more flows or repetitions may decide otherwise.
//! - **not testable**: the claim says why.
//! - **not run**: this version of the figure has no such point, or its runs are not finished.
//!
//! The tolerance of a change is a difference (−38 % with 12 % is −50 % to −26 %), of anything else a
//! part of the number. A number without comparison has no direction, unless the claim names the
//! value that would be neutral. A bound on harm ("at most 1.2 % slower") has no direction either; one
//! that promises a gain ("at least 30 % faster") has.

use serde::Serialize;
use tidegate_report::Record;
use tidegate_report::statistics::{Interval, mean, student};

use super::figure::{Claim, Published, Take};
use super::number::Number;
use super::pattern;

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The claim in words.
    pub claim: String,
    /// What the paper says, in words.
    pub paper: String,
    /// What was measured; `None` if nothing was.
    pub measured: Option<Measured>,
    /// The unit of the number: `s`, `bit/s`, `B` or empty; `change` if it is a relative change.
    pub unit: &'static str,
    /// The unit of the published number, in which the measured one is shown beside it, and how many
    /// units of the International System that is; empty without one.
    #[serde(skip)]
    pub written_in: (&'static str, f64),
    /// The answer.
    pub verdict: Verdict,
    /// Whether it is not reproduced, but would be with another number of the interval.
    pub is_within_chance: bool,
    /// How many runs of the points that it is about left no results.
    pub unfinished: usize,
    /// Why, where the numbers do not say it.
    pub note: Option<String>,
    /// Whether the tests assert it.
    pub is_main: bool,
}

/// The answer to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is as published, within the claim's tolerance.
    Reproduced,
    /// The difference points the same way but has another size.
    SameDirection,
    /// It is not as published.
    NotReproduced,
    /// It cannot be tested.
    NotTestable,
    /// The version that was run leaves it out.
    NotRun,
}

impl Verdict {
    /// All of them, best first.
    pub const ALL: [Self; 5] = [
        Self::Reproduced,
        Self::SameDirection,
        Self::NotReproduced,
        Self::NotTestable,
        Self::NotRun,
    ];

    /// Its name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::SameDirection => "same direction, other size",
            Self::NotReproduced => "not reproduced",
            Self::NotTestable => "not testable",
            Self::NotRun => "not run",
        }
    }
}

/// A measured number and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// The mean over the repetitions.
    pub value: f64,
    /// The ends of the interval: over the repetitions, or from the blocks of a single one. `None` if
    /// it has none.
    pub interval: Option<(f64, f64)>,
    /// Repetitions.
    pub runs: usize,
}

/// The unit of relative changes.
pub const CHANGE: &str = "change";

/// Judges a claim by the runs of its figure. `unfinished` are the labels of runs that left no results,
/// one for each run.
pub fn judge(claim: &Claim, records: &[Record], unfinished: &[&str]) -> Finding {
    let is_change = claim.against.is_some() || claim.take == Take::Spread;
    let patterns = || std::iter::once(&claim.of).chain(&claim.against);
    let is_own = |label: &&&str| patterns().any(|of| pattern::fits(of, label));
    let unfinished = match claim.measure.computed() {
        None => unfinished.iter().filter(is_own).count(),
        Some(_) => 0,
    };
    let finding = |measured: Option<Measured>, verdict, note| Finding {
        claim: claim.says.clone(),
        paper: claim.paper.words(),
        measured,
        unit: match claim.take {
            _ if is_change => CHANGE,
            Take::FirstAboveZero => "",
            _ => claim.measure.unit(),
        },
        written_in: (claim.paper.number()).map_or(("", 1.0), Number::written_in),
        verdict,
        is_within_chance: verdict == Verdict::NotReproduced
            && measured.is_some_and(|measured| could_hold(&claim.paper, &measured, is_change)),
        unfinished,
        note,
        is_main: claim.is_main,
    };
    if let Published::NotTestable(why) = &claim.paper {
        return finding(None, Verdict::NotTestable, Some(why.clone()));
    }
    let missing = match unfinished {
        0 => None,
        1 => Some("1 run that it rests on is not finished".to_owned()),
        runs => Some(format!("{runs} runs that it rests on are not finished")),
    };
    let Some(measured) = measure(claim, records) else {
        let cut = || "this version of the figure has no such point".to_owned();
        let why = missing.unwrap_or_else(cut);
        return finding(None, Verdict::NotRun, Some(why));
    };
    let verdict = verdict(&claim.paper, &measured, is_change);
    let notes: Vec<String> = missing.into_iter().chain(claim.because.clone()).collect();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    finding(Some(measured), verdict, note)
}

/// Whether what was measured points the way of the paper, however large it is and however well it is
/// known.
pub fn has_direction(claim: &Claim, records: &[Record]) -> bool {
    let is_change = claim.against.is_some() || claim.take == Take::Spread;
    measure(claim, records).is_some_and(|measured| {
        let bare = Measured {
            interval: None,
            ..measured
        };
        verdict(&claim.paper, &bare, is_change) <= Verdict::SameDirection
    })
}

/// A point that a claim is about.
struct Place<'a> {
    /// The number in place of the first `*`, if it is one.
    at: Option<f64>,
    value: f64,
    of: &'a Record,
    base: Option<&'a Record>,
}

fn measure(claim: &Claim, records: &[Record]) -> Option<Measured> {
    if let Some(value) = claim.measure.computed() {
        return Some(Measured {
            value,
            interval: None,
            runs: 0,
        });
    }
    let mut replications: Vec<u32> = records
        .iter()
        .map(|record| record.run.replication)
        .collect();
    replications.sort_unstable();
    replications.dedup();
    let runs: Vec<_> = replications
        .iter()
        .filter_map(|&replication| {
            let places = places(claim, records, replication);
            let (value, chosen) = claim.take.from(&places)?;
            let chosen = chosen.map(|chosen| (places[chosen].of, places[chosen].base));
            Some((value, chosen))
        })
        .collect();
    let values: Vec<f64> = runs.iter().map(|&(value, _)| value).collect();
    let within = || match runs[..] {
        [(_, Some((of, None)))] => claim.measure.interval(of),
        [(_, Some((of, Some(base))))] => {
            let ratio = claim.measure.ratio_interval(of, base);
            ratio.map(|Interval { low, high }| Interval {
                low: low - 1.0,
                high: high - 1.0,
            })
        }
        _ => None,
    };
    Some(Measured {
        value: mean(&values)?,
        interval: student::interval(&values)
            .or_else(within)
            .map(|Interval { low, high }| (low, high)),
        runs: values.len(),
    })
}

/// The points of a repetition that a claim is about.
fn places<'a>(claim: &Claim, records: &'a [Record], replication: u32) -> Vec<Place<'a>> {
    let own = || {
        records
            .iter()
            .filter(|record| record.run.replication == replication)
    };
    own()
        .filter_map(|record| {
            let captured = pattern::captured(&claim.of, &record.run.label)?;
            let value = claim.measure.value(record)?;
            let (value, base) = match &claim.against {
                None => (value, None),
                Some(against) => {
                    let same = |other: &&Record| {
                        pattern::captured(against, &other.run.label)
                            .is_some_and(|other| captured.starts_with(&other))
                    };
                    let base = own().find(same)?;
                    (change(value, claim.measure.value(base)?)?, Some(base))
                }
            };
            let at = captured.first().and_then(|text| text.parse().ok());
            Some(Place {
                at,
                value,
                of: record,
                base,
            })
        })
        .collect()
}

fn change(value: f64, base: f64) -> Option<f64> {
    (base != 0.0).then(|| value / base - 1.0)
}

impl Take {
    /// The value that counts, and the place it comes from if it comes from one alone.
    fn from(self, places: &[Place<'_>]) -> Option<(f64, Option<usize>)> {
        let values = || places.iter().map(|place| place.value);
        let by = |better: fn(&f64, &f64) -> std::cmp::Ordering| {
            let best = values().enumerate().min_by(|a, b| better(&a.1, &b.1));
            best.map(|(place, value)| (value, Some(place)))
        };
        match self {
            Self::FirstAboveZero => {
                let above = places.iter().filter(|place| place.value > 0.0);
                let at = above.filter_map(|place| place.at).reduce(f64::min);
                at.map(|at| (at, None))
            }
            Self::Largest => by(|a, b| b.total_cmp(a)),
            Self::Mean => {
                let mean = mean(&values().collect::<Vec<_>>())?;
                Some((mean, (places.len() == 1).then_some(0)))
            }
            Self::Smallest => by(f64::total_cmp),
            Self::Spread => {
                let largest = values().reduce(f64::max)?;
                let spread = change(largest, values().reduce(f64::min)?)?;
                Some((spread, None))
            }
        }
    }
}

/// The answer for a measured number, by the rules at the top of this file.
fn verdict(paper: &Published, measured: &Measured, is_change: bool) -> Verdict {
    let value = measured.value;
    // Computed from decimal numbers: one that is exactly at the edge belongs to it.
    let slack = |number: f64| 1e-9 * number.abs();
    // Whether the number and its interval are on this side of no difference.
    let is_beyond = |neutral: f64, side: f64| {
        let ends = measured.interval.unwrap_or((value, value));
        [value, ends.0, ends.1]
            .iter()
            .all(|end| (end - neutral) * side > 0.0)
    };
    let bound = |holds: bool, promise: f64| match holds {
        true => Verdict::Reproduced,
        false if is_change && promise > 0.0 && is_beyond(0.0, promise) => Verdict::SameDirection,
        false if is_change && promise < 0.0 && is_beyond(0.0, promise) => Verdict::SameDirection,
        false => Verdict::NotReproduced,
    };
    match paper {
        // At least +30 %, or at most −30 %, promise a gain; other bounds promise no harm.
        Published::AtLeast(least) => bound(
            value >= least.value - slack(least.value),
            least.value.max(0.0),
        ),
        Published::AtMost(most) => {
            bound(value <= most.value + slack(most.value), most.value.min(0.0))
        }
        Published::NotTestable(_) => Verdict::NotTestable,
        Published::About {
            value: published,
            within,
            neutral,
        } => {
            let published = published.value;
            let reach = if is_change {
                within.value
            } else {
                within.value * published.abs()
            };
            let neutral = match neutral {
                Some(neutral) => Some(neutral.value),
                None => is_change.then_some(0.0),
            };
            // A paper that says "no difference" has no direction.
            let side = neutral.map_or(0.0, |neutral| published - neutral);
            let is_opposite = neutral.is_some_and(|neutral| {
                (value - neutral) * side < 0.0 && (value - neutral).abs() > 0.1 * reach
            });
            let is_same = neutral.is_some_and(|neutral| is_beyond(neutral, side));
            if (value - published).abs() <= reach + slack(reach) && !is_opposite {
                Verdict::Reproduced
            } else if is_same {
                Verdict::SameDirection
            } else {
                Verdict::NotReproduced
            }
        }
    }
}

/// Whether a number of the interval would reproduce the claim.
fn could_hold(paper: &Published, measured: &Measured, is_change: bool) -> bool {
    let Some((low, high)) = measured.interval else {
        return false;
    };
    // What is reproduced is a range without gaps, so that the number of the interval that is nearest
    // to the published one decides.
    let nearest = match paper {
        Published::About { value, .. } => value.value.max(low).min(high),
        Published::AtLeast(_) => high,
        Published::AtMost(_) => low,
        Published::NotTestable(_) => return false,
    };
    let bare = Measured {
        value: nearest,
        interval: None,
        ..*measured
    };
    verdict(paper, &bare, is_change) == Verdict::Reproduced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(value: &str, within: &str, neutral: Option<&str>) -> Published {
        Published::About {
            value: value.parse().unwrap(),
            within: within.parse().unwrap(),
            neutral: neutral.map(|neutral| neutral.parse().unwrap()),
        }
    }

    fn at(value: f64) -> Measured {
        Measured {
            value,
            interval: None,
            runs: 1,
        }
    }

    #[test]
    fn a_change_is_judged_by_its_difference_and_its_sign() {
        let paper = about("-38%", "12%", None);
        for (value, expected) in [
            (-0.38, Verdict::Reproduced),
            (-0.50, Verdict::Reproduced),
            (-0.26, Verdict::Reproduced),
            (-0.51, Verdict::SameDirection),
            (-0.25, Verdict::SameDirection),
            (-0.01, Verdict::SameDirection),
            (0.01, Verdict::NotReproduced),
        ] {
            assert_eq!(verdict(&paper, &at(value), true), expected, "{value}");
        }
        // Near enough, but on the other side.
        let paper = about("-1%", "2%", None);
        assert_eq!(verdict(&paper, &at(0.005), true), Verdict::NotReproduced);
        assert_eq!(verdict(&paper, &at(0.001), true), Verdict::Reproduced);
    }

    #[test]
    fn no_difference_has_no_direction() {
        let paper = about("0%", "10%", None);
        assert_eq!(verdict(&paper, &at(-0.1), true), Verdict::Reproduced);
        assert_eq!(verdict(&paper, &at(0.11), true), Verdict::NotReproduced);
    }

    #[test]
    fn a_number_is_judged_by_a_part_of_it_and_has_a_direction_only_if_told() {
        let paper = about("670Mbps", "10%", None);
        assert_eq!(verdict(&paper, &at(603e6), false), Verdict::Reproduced);
        assert_eq!(verdict(&paper, &at(602e6), false), Verdict::NotReproduced);
        let paper = about("670Mbps", "10%", Some("475Mbps"));
        assert_eq!(verdict(&paper, &at(520e6), false), Verdict::SameDirection);
        assert_eq!(verdict(&paper, &at(470e6), false), Verdict::NotReproduced);
    }

    #[test]
    fn a_direction_counts_only_beyond_the_noise() {
        let paper = about("-38%", "5%", None);
        let noisy = |low, high| Measured {
            value: -0.1,
            interval: Some((low, high)),
            runs: 3,
        };
        assert_eq!(
            verdict(&paper, &noisy(-0.15, -0.05), true),
            Verdict::SameDirection
        );
        assert_eq!(
            verdict(&paper, &noisy(-0.25, 0.05), true),
            Verdict::NotReproduced
        );
    }

    #[test]
    fn a_number_whose_interval_reaches_the_published_one_is_within_chance() {
        let with = |low, high| Measured {
            value: 0.05,
            interval: Some((low, high)),
            runs: 3,
        };
        let about = about("-38%", "5%", None);
        assert!(could_hold(&about, &with(-0.34, 0.2), true));
        assert!(!could_hold(&about, &with(-0.32, 0.2), true));
        assert!(!could_hold(&about, &at(0.05), true), "it has no interval");
        let most = Published::AtMost("0%".parse().unwrap());
        assert!(could_hold(&most, &with(-0.01, 0.2), true));
        assert!(!could_hold(&most, &with(0.01, 0.2), true));
        let least = Published::AtLeast("10%".parse().unwrap());
        assert!(could_hold(&least, &with(0.01, 0.2), true));
        assert!(!could_hold(&least, &with(0.01, 0.09), true));
    }

    #[test]
    fn a_bound_has_a_direction_if_it_promises_a_gain() {
        let gain = Published::AtMost("-30%".parse().unwrap());
        assert_eq!(verdict(&gain, &at(-0.3), true), Verdict::Reproduced);
        assert_eq!(verdict(&gain, &at(-0.1), true), Verdict::SameDirection);
        assert_eq!(verdict(&gain, &at(0.1), true), Verdict::NotReproduced);
        let harm = Published::AtMost("1.2%".parse().unwrap());
        assert_eq!(verdict(&harm, &at(0.012), true), Verdict::Reproduced);
        assert_eq!(verdict(&harm, &at(0.013), true), Verdict::NotReproduced);
        let least = Published::AtLeast("2ms".parse().unwrap());
        assert_eq!(verdict(&least, &at(0.001), false), Verdict::NotReproduced);
        assert_eq!(verdict(&least, &at(0.002), false), Verdict::Reproduced);
    }
}
