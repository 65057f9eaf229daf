//! Agenda of a node: the order in which its ports are served.

use tidegate_units::Time;

use crate::network::LinkId;

/// Next start of transmission of a port. Earlier starts come first; at one moment, lower links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Start {
    pub(super) at: Time,
    pub(super) link: LinkId,
}

/// Next start of each port of a node that holds packets.
///
/// A node has some tens of ports, of which a few are busy: a linear search costs less than keeping
/// them sorted.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    starts: Vec<Start>,
    /// Index of the earliest start, if any.
    first: usize,
}

impl Agenda {
    pub(super) fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The earliest start.
    #[inline]
    pub(super) fn first(&self) -> Option<Start> {
        self.starts.get(self.first).copied()
    }

    /// The earliest start, if it is no later than `until`.
    #[inline]
    pub(super) fn due(&self, until: Time) -> Option<Start> {
        self.first().filter(|start| start.at <= until)
    }

    /// Adds a port that was idle.
    pub(super) fn add(&mut self, at: Time, link: LinkId) {
        let new = Start { at, link };
        if self.first().is_none_or(|first| new < first) {
            self.first = self.starts.len();
        }
        self.starts.push(new);
    }

    /// Sets the next start of the first port, or removes the port if it holds no more packets.
    pub(super) fn replace_first(&mut self, at: Option<Time>) {
        match at {
            Some(at) => self.starts[self.first].at = at,
            None => {
                self.starts.swap_remove(self.first);
            }
        }
        self.find_first();
    }

    /// Changes the start of the port of `link`, if it holds packets.
    pub(super) fn change(&mut self, link: LinkId, at: Time) {
        if let Some(start) = self.starts.iter_mut().find(|start| start.link == link) {
            start.at = at;
            self.find_first();
        }
    }

    /// Removes all starts.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Start> {
        self.first = 0;
        self.starts.drain(..)
    }

    fn find_first(&mut self) {
        let order = self.starts.iter().enumerate();
        self.first = order.min_by_key(|(_, start)| **start).map_or(0, |(index, _)| index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agenda(starts: &[(u64, u32)]) -> Agenda {
        let mut agenda = Agenda::default();
        for &(at, link) in starts {
            agenda.add(Time::from_ps(at), LinkId(link));
        }
        agenda
    }

    fn first(agenda: &Agenda) -> Option<(u64, u32)> {
        agenda.first().map(|Start { at, link }| (at.as_ps(), link.0))
    }

    #[test]
    fn the_earliest_start_is_first_and_ties_go_to_the_lower_link() {
        assert_eq!(first(&agenda(&[])), None);
        assert_eq!(first(&agenda(&[(5, 1), (3, 7), (3, 2), (4, 0)])), Some((3, 2)));
    }

    #[test]
    fn a_start_is_due_from_its_own_moment_on() {
        let agenda = agenda(&[(5, 1)]);
        assert_eq!(agenda.due(Time::from_ps(4)), None);
        assert_eq!(agenda.due(Time::from_ps(5)).map(|start| start.link), Some(LinkId(1)));
    }

    #[test]
    fn ports_start_again_or_leave() {
        let mut agenda = agenda(&[(5, 1), (3, 7), (4, 2)]);
        agenda.replace_first(Some(Time::from_ps(6)));
        assert_eq!(first(&agenda), Some((4, 2)));
        agenda.replace_first(None);
        assert_eq!(first(&agenda), Some((5, 1)));
        agenda.change(LinkId(1), Time::MAX);
        assert_eq!(first(&agenda), Some((6, 7)));
        agenda.change(LinkId(9), Time::ZERO);
        agenda.replace_first(None);
        agenda.replace_first(None);
        assert!(agenda.is_empty());
        assert_eq!(first(&agenda), None);
    }
}
