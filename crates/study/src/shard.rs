//! Shards: slices of many runs for several machines.
//!
//! The runs of a slice depend only on the plan and the costs of its runs. Every machine computes
//! the same slices, a slice can be run again, and all slices together are the whole.

use std::cmp::Reverse;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// One of several slices: `2/5` is the second of five.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Number, from 0.
    index: u32,
    count: NonZeroU32,
}

/// Error of a text that names no slice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoShard {
    /// The form is wrong.
    #[error("write a shard as I/N, such as 2/5 for the second of five")]
    Form,
    /// The number is too large or zero.
    #[error("no shard {number} of {count}: allowed are 1/{count} to {count}/{count}")]
    Number {
        /// Number, from 1.
        number: u32,
        /// Number of slices.
        count: u32,
    },
}

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, NoShard> {
        let (number, count) = text.split_once('/').ok_or(NoShard::Form)?;
        let number: u32 = number.parse().map_err(|_| NoShard::Form)?;
        let count: NonZeroU32 = count.parse().map_err(|_| NoShard::Form)?;
        if number == 0 || number > count.get() {
            let count = count.get();
            return Err(NoShard::Number { number, count });
        }
        Ok(Self { index: number - 1, count })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.count)
    }
}

impl Shard {
    /// Whether each of the runs with these costs is in the slice. Expensive runs come first, each
    /// in the slice with the smallest load so far.
    pub fn own(self, costs: &[f64]) -> Vec<bool> {
        let mut order: Vec<usize> = (0..costs.len()).collect();
        // Positive numbers sort like their bits, and the sort is stable.
        order.sort_by_key(|&run| Reverse(costs[run].max(0.0).to_bits()));
        let mut loads = vec![0.0; self.count.get() as usize];
        let mut own = vec![false; costs.len()];
        for run in order {
            let least = (0..loads.len()).min_by(|&a, &b| f64::total_cmp(&loads[a], &loads[b]));
            let least = least.unwrap_or(0);
            // A run with an estimate of zero still counts.
            loads[least] += costs[run].max(1e-9);
            own[run] = least == self.index as usize;
        }
        own
    }
}

/// Number of slices for runs that take so many seconds each, so that a slice takes about `chunk`:
/// at least one, at most the number of runs, and at most `most`.
pub fn count(seconds: &[f64], chunk: f64, most: u32) -> u32 {
    let all: f64 = seconds.iter().sum();
    let runs = u32::try_from(seconds.len()).unwrap_or(u32::MAX);
    #[expect(clippy::cast_sign_loss, reason = "casts saturate: NaN and large values become limits")]
    let wanted = (all / chunk).ceil() as u32;
    wanted.min(runs).min(most).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(text: &str) -> Shard {
        text.parse().unwrap()
    }

    #[test]
    fn every_run_is_in_exactly_one_slice() {
        let costs: Vec<f64> = (0..100).map(|run| f64::from((run * 37) % 50)).collect();
        for count in [1, 2, 3, 7, 100, 130] {
            let mut seen = vec![0; costs.len()];
            for number in 1..=count {
                let own = shard(&format!("{number}/{count}")).own(&costs);
                for (seen, own) in seen.iter_mut().zip(own) {
                    *seen += usize::from(own);
                }
            }
            assert!(seen.iter().all(|&seen| seen == 1), "{count}: {seen:?}");
        }
    }

    #[test]
    fn slices_are_balanced_by_cost() {
        // A run of 100 and ten of 10: divided by number, one slice would have twice the work of the
        // other.
        let costs = [100.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0];
        let cost = |text: &str| -> f64 {
            let own = shard(text).own(&costs);
            costs.iter().zip(own).filter(|(_, own)| *own).map(|(cost, _)| cost).sum()
        };
        assert_eq!((cost("1/2"), cost("2/2")), (100.0, 100.0));
        assert_eq!(shard("1/3").own(&[0.0; 3]), [true, false, false]);
    }

    #[test]
    fn count_follows_the_work() {
        assert_eq!(count(&[60.0; 30], 600.0, 1000), 3);
        assert_eq!(count(&[60.0; 31], 600.0, 1000), 4);
        assert_eq!(count(&[60.0; 31], 600.0, 2), 2);
        assert_eq!(count(&[60.0; 31], 1e-6, 1000), 31);
        assert_eq!(count(&[], 600.0, 1000), 1);
        assert_eq!(count(&[f64::NAN], 600.0, 1000), 1);
    }

    #[test]
    fn refuses_invalid_shards() {
        assert_eq!(shard("2/5").to_string(), "2/5");
        let refused = |text: &str| Shard::from_str(text).unwrap_err();
        assert_eq!(refused("5/4"), NoShard::Number { number: 5, count: 4 });
        assert_eq!(refused("0/4"), NoShard::Number { number: 0, count: 4 });
        for text in ["", "3", "a/4", "1/0", "1/", "-1/4", "1/4/2"] {
            assert_eq!(refused(text), NoShard::Form, "{text}");
        }
    }
}
