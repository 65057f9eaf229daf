//! A slice of many runs, so that several machines can share them.
//!
//! Which runs are in a slice depends on the plan and on what its runs cost alone: every machine
//! comes to the same answer by itself, a slice can be run again, and all slices together are the
//! whole.

use std::cmp::Reverse;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// One of several slices: `2/5` is the second of five.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 0.
    index: u32,
    count: NonZeroU32,
}

/// Why a text names no slice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoShard {
    /// It has another form.
    #[error("write a shard as I/N, such as 2/5 for the second of five")]
    Form,
    /// Its number is not among them.
    #[error("no shard {number} of {count}: allowed are 1/{count} to {count}/{count}")]
    Number {
        /// Its number, from 1.
        number: u32,
        /// How many there are.
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
    /// Which of the runs with these costs are its own: dear runs first, each to the slice that has
    /// the least so far.
    pub fn own(self, costs: &[f64]) -> Vec<bool> {
        let mut order: Vec<usize> = (0..costs.len()).collect();
        // Positive numbers are in the order of their bits, and equal ones stay in theirs.
        order.sort_by_key(|&run| Reverse(costs[run].max(0.0).to_bits()));
        let mut loads = vec![0.0; self.count.get() as usize];
        let mut own = vec![false; costs.len()];
        for run in order {
            let least = (0..loads.len()).min_by(|&a, &b| f64::total_cmp(&loads[a], &loads[b]));
            let least = least.unwrap_or(0);
            // A run that is thought to cost nothing is still a run.
            loads[least] += costs[run].max(1e-9);
            own[run] = least == self.index as usize;
        }
        own
    }
}

/// How many slices runs are divided into that take so many seconds each, so that a slice takes
/// about `chunk`: one at least, no more than there are runs, and no more than `most`.
pub fn count(seconds: &[f64], chunk: f64, most: u32) -> u32 {
    let all: f64 = seconds.iter().sum();
    let runs = u32::try_from(seconds.len()).unwrap_or(u32::MAX);
    #[expect(
        clippy::cast_sign_loss,
        reason = "casts saturate: what is no number or too large becomes a limit"
    )]
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
    fn every_run_is_in_one_slice() {
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
        // A run of 100 and ten of 10: by number, one slice would have twice the work of the other.
        let costs = [100.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0];
        let cost = |text: &str| -> f64 {
            let own = shard(text).own(&costs);
            costs.iter().zip(own).filter(|(_, own)| *own).map(|(cost, _)| cost).sum()
        };
        assert_eq!((cost("1/2"), cost("2/2")), (100.0, 100.0));
        assert_eq!(shard("1/3").own(&[0.0; 3]), [true, false, false]);
    }

    #[test]
    fn slices_are_as_many_as_the_work_needs() {
        assert_eq!(count(&[60.0; 30], 600.0, 1000), 3);
        assert_eq!(count(&[60.0; 31], 600.0, 1000), 4);
        assert_eq!(count(&[60.0; 31], 600.0, 2), 2);
        assert_eq!(count(&[60.0; 31], 1e-6, 1000), 31);
        assert_eq!(count(&[], 600.0, 1000), 1);
        assert_eq!(count(&[f64::NAN], 600.0, 1000), 1);
    }

    #[test]
    fn a_shard_that_there_is_not_is_refused() {
        assert_eq!(shard("2/5").to_string(), "2/5");
        let refused = |text: &str| Shard::from_str(text).unwrap_err();
        assert_eq!(refused("5/4"), NoShard::Number { number: 5, count: 4 });
        assert_eq!(refused("0/4"), NoShard::Number { number: 0, count: 4 });
        for text in ["", "3", "a/4", "1/0", "1/", "-1/4", "1/4/2"] {
            assert_eq!(refused(text), NoShard::Form, "{text}");
        }
    }
}
