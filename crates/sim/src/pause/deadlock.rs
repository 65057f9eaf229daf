//! Deadlocks of pauses: classes of links that stay paused because they wait for each other.
//!
//! A class of a link is paused because the node behind the link holds too many of its packets. It
//! resumes when some of them leave, and they wait in queues that may be paused too. So the class is
//! stuck if every queue that holds its packets is paused by a stuck class. The largest set with
//! this property is found by repeatedly removing classes that do not have it. The remaining classes
//! can never move: none of their packets leaves, so none of their accounts shrinks. Each waits for
//! another of the set, so that following them leads into a cycle.

use tidegate_units::Time;

use super::LinkClass;

/// A paused class of a link, with the classes that it waits for.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    pub(crate) of: LinkClass,
    /// Start of the pause.
    pub(crate) since: Time,
    /// For each queue that holds its packets: the classes that pause the queue, as indices into the
    /// list. If there are none, the queue moves.
    pub(crate) waits_for: Vec<Vec<usize>>,
}

/// Classes of links that are paused forever because each waits for the next, and the last for the
/// first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// The cycle: the node at the end of each link holds packets of the class that wait for the
    /// next link.
    pub cycle: Vec<LinkClass>,
    /// Other classes that wait for the cycle, directly or indirectly.
    pub behind: Vec<LinkClass>,
    /// Time at which the cycle closed: the start of its last pause.
    pub since: Time,
}

/// Finds the deadlocks among all paused classes.
pub(crate) fn find(holds: &[Hold]) -> Vec<Deadlock> {
    let is_stuck = stuck(holds);
    // One of the classes that each waits for: following them ends in a cycle.
    let next = |index: usize| {
        let others = holds[index].waits_for.iter().flatten();
        others.copied().find(|&other| is_stuck[other])
    };
    let mut found: Vec<Deadlock> = Vec::new();
    // By index: the deadlock that the class belongs to.
    let mut belongs: Vec<Option<usize>> = vec![None; holds.len()];
    for start in (0..holds.len()).filter(|&index| is_stuck[index]) {
        let mut path = Vec::new();
        let mut index = start;
        while belongs[index].is_none()
            && !path.contains(&index)
            && let Some(other) = next(index)
        {
            path.push(index);
            index = other;
        }
        let number = belongs[index].unwrap_or_else(|| {
            let begin = path.iter().position(|&it| it == index).unwrap_or(0);
            let mut cycle = path.split_off(begin);
            let first = (0..cycle.len()).min_by_key(|&place| holds[cycle[place]].of);
            cycle.rotate_left(first.unwrap_or(0));
            for &member in &cycle {
                belongs[member] = Some(found.len());
            }
            let since = cycle.iter().map(|&member| holds[member].since).max();
            found.push(Deadlock {
                cycle: cycle.iter().map(|&member| holds[member].of).collect(),
                behind: Vec::new(),
                since: since.unwrap_or(Time::ZERO),
            });
            found.len() - 1
        });
        for member in path {
            belongs[member] = Some(number);
            found[number].behind.push(holds[member].of);
        }
    }
    for deadlock in &mut found {
        deadlock.behind.sort_unstable();
    }
    found
}

/// Whether each class can never run again.
fn stuck(holds: &[Hold]) -> Vec<bool> {
    let mut is_stuck = vec![true; holds.len()];
    loop {
        let moves = |index: usize| {
            let waits_for = &holds[index].waits_for;
            let is_held = |by: &Vec<usize>| by.iter().any(|&other| is_stuck[other]);
            waits_for.is_empty() || !waits_for.iter().all(is_held)
        };
        let free: Vec<usize> =
            (0..holds.len()).filter(|&index| is_stuck[index] && moves(index)).collect();
        if free.is_empty() {
            return is_stuck;
        }
        for index in free {
            is_stuck[index] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::LinkId;

    /// Links paused in one class, each from the microsecond with its number on.
    fn holds(waits: &[&[&[usize]]]) -> Vec<Hold> {
        let hold = |(index, waits): (usize, &&[&[usize]])| Hold {
            of: of(index),
            since: Time::from_us(index as u64),
            waits_for: waits.iter().map(|by| by.to_vec()).collect(),
        };
        waits.iter().enumerate().map(hold).collect()
    }

    fn of(index: usize) -> LinkClass {
        LinkClass { link: LinkId(index as u32), class: 3 }
    }

    #[test]
    fn a_ring_of_links_that_wait_for_the_next_is_a_deadlock() {
        let found = find(&holds(&[&[&[1]], &[&[2]], &[&[0]]]));
        assert_eq!(
            found,
            [Deadlock {
                cycle: vec![of(0), of(1), of(2)],
                behind: vec![],
                since: Time::from_us(2),
            }]
        );
    }

    #[test]
    fn a_packet_that_can_leave_resolves_a_ring() {
        // Link 1 also has packets in a queue that is not paused.
        assert_eq!(find(&holds(&[&[&[1]], &[&[2], &[]], &[&[0]]])), []);
        // Or in a queue that is paused by a link that will resume.
        assert_eq!(find(&holds(&[&[&[1]], &[&[2], &[3]], &[&[0]], &[&[]]])), []);
        // Or link 2 has no packets left: the frame that resumes it is on its way.
        assert_eq!(find(&holds(&[&[&[1]], &[&[2]], &[]])), []);
    }

    #[test]
    fn a_queue_moves_only_when_all_its_pauses_end() {
        let found = find(&holds(&[&[&[1, 2]], &[&[0]], &[&[]]]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].cycle, [of(0), of(1)]);
    }

    #[test]
    fn classes_that_wait_for_a_cycle_are_behind_it() {
        // 0 → 1 → 2 ⇄ 3 ← 5, and 4 waits for a link that runs.
        let found = find(&holds(&[&[&[1]], &[&[2]], &[&[3]], &[&[2]], &[&[]], &[&[3]]]));
        assert_eq!(
            found,
            [Deadlock {
                cycle: vec![of(2), of(3)],
                behind: vec![of(0), of(1), of(5)],
                since: Time::from_us(3),
            }]
        );
    }

    #[test]
    fn two_cycles_are_two_deadlocks() {
        let found = find(&holds(&[&[&[2]], &[&[3]], &[&[0]], &[&[1]]]));
        let cycles: Vec<_> = found.into_iter().map(|deadlock| deadlock.cycle).collect();
        assert_eq!(cycles, [[of(0), of(2)], [of(1), of(3)]]);
    }

    #[test]
    fn a_chain_of_pauses_is_no_deadlock() {
        assert_eq!(find(&holds(&[&[&[1]], &[&[2]], &[&[]]])), []);
        assert_eq!(find(&[]), []);
    }
}
