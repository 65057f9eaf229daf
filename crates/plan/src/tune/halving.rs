//! Successive halving (Karnin, Koren and Somekh, ICML 2013; Jamieson and Talwalkar, AISTATS 2016):
//! all candidates under few seeds, the better half of them under more, and so on.
//!
//! All candidates of a round run under the same seeds. The best is then compared with the formula
//! under seeds that the search did not use: the seeds that chose it would flatter it.

/// A budget of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Rounds: the number of candidates besides the formula, and the number of seeds that they have
    /// run under when the round ends.
    pub rounds: Vec<(usize, u32)>,
    /// Number of seeds of the last comparison, which follow the seeds of the search.
    pub confirm: u32,
    /// Total number of runs.
    pub runs: usize,
}

/// Least and greatest number of seeds of the last comparison.
const CONFIRM: (usize, usize) = (3, 20);
/// Most seeds of the search.
const SEEDS: usize = 64;

impl Schedule {
    /// Schedule of a budget of runs, with this many candidates besides the formula, each run in all
    /// cells. The error is the least budget.
    pub fn new(candidates: usize, cells: usize, budget: usize) -> Result<Self, usize> {
        let needed = (candidates + 1) * cells + 2 * cells * CONFIRM.0;
        if budget < needed || candidates == 0 {
            return Err(needed);
        }
        let spare = budget - (candidates + 1) * cells;
        let confirm = (budget / (8 * cells)).clamp(CONFIRM.0, CONFIRM.1);
        let confirm = confirm.min(spare / (2 * cells));
        let mut left = budget - 2 * confirm * cells;
        let halvings = candidates.next_power_of_two().ilog2().max(1) as usize;
        let of_round = left / halvings;
        let (mut kept, mut seeds, mut rounds) = (candidates, 0, Vec::new());
        loop {
            let a_seed = (kept + 1) * cells;
            let more = (of_round / a_seed).max(1).min(SEEDS.saturating_sub(seeds));
            if a_seed * more > left || more == 0 {
                break;
            }
            left -= a_seed * more;
            seeds += more;
            rounds.push((kept, u32::try_from(seeds).unwrap_or(u32::MAX)));
            if kept <= 2 {
                break;
            }
            kept = kept.div_ceil(2);
        }
        Ok(Self {
            rounds,
            confirm: u32::try_from(confirm).unwrap_or(u32::MAX),
            runs: budget - left,
        })
    }

    /// Seeds of the search.
    pub fn seeds(&self) -> u32 {
        self.rounds.last().map_or(0, |&(_, seeds)| seeds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_on_fewer_and_fewer_candidates() {
        let schedule = Schedule::new(8, 1, 100).unwrap();
        // 12 seeds for the last two; 76 runs in three rounds of 25: two seeds of 9, five of 5,
        // eight of 3.
        assert_eq!(schedule.rounds, [(8, 2), (4, 7), (2, 15)]);
        assert_eq!((schedule.confirm, schedule.runs), (12, 24 + 18 + 25 + 24));
    }

    #[test]
    fn no_budget_is_exceeded_and_one_that_is_too_small_is_refused() {
        for candidates in 1..40 {
            for cells in 1..4 {
                let needed = Schedule::new(candidates, cells, 0).unwrap_err();
                assert_eq!(Schedule::new(candidates, cells, needed - 1), Err(needed));
                for budget in needed..needed + 200 {
                    let schedule = Schedule::new(candidates, cells, budget).unwrap();
                    assert!(schedule.runs <= budget);
                    assert!(schedule.confirm >= 3 && !schedule.rounds.is_empty());
                    assert_eq!(schedule.rounds[0].0, candidates);
                    assert!(schedule.rounds.is_sorted_by_key(|&(_, seeds)| seeds));
                }
            }
        }
    }
}
