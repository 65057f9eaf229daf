//! Comparison of a scheme's marks with an ideal marker's.
//!
//! DiffECN, section IV-C.2, equations 3 and 4. The ideal marker observes and decides on each
//! departing packet, but marks nothing. Only packets that the port could mark count: packets that
//! arrived with an ECN codepoint other than CE.

use alloc::vec::Vec;

use tidegate_units::{ConfigError, Ecn, PktId, Rate, Span, Time};

use super::Window;
use crate::mark::ideal_share::ShareMeter;
use crate::{Action, Departure, Pkt};

/// Packets by the decisions of both markers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decisions {
    /// Both mark: true positives.
    pub both: u64,
    /// Only the ideal marker marks: false negatives.
    pub only_ideal: u64,
    /// Only the port's scheme marks: false positives.
    pub only_scheme: u64,
    /// Neither marks: true negatives.
    pub neither: u64,
}

/// Compares the marks of a port with the ideal marker's.
#[derive(Clone, Debug)]
pub struct DecisionObserver {
    window: Window,
    meter: ShareMeter,
    /// By packet number: whether the port may mark it.
    can_mark: Vec<bool>,
    seen: Decisions,
}

impl DecisionObserver {
    /// Creates an observer that measures flows' rates over `span` at a link of this rate.
    pub fn new(window: Window, span: Span, rate: Rate) -> Result<Self, ConfigError> {
        Ok(Self {
            window,
            meter: ShareMeter::new(span, rate)?,
            can_mark: Vec::new(),
            seen: Decisions::default(),
        })
    }

    /// Records an admitted packet.
    pub fn on_accepted(&mut self, at: Time, id: PktId, pkt: &Pkt) {
        self.meter.on_arrival(pkt.flow, pkt.len, at);
        let number = id.0 as usize;
        if number >= self.can_mark.len() {
            self.can_mark.resize(number + 1, false);
        }
        self.can_mark[number] = matches!(pkt.ecn, Ecn::Ect0 | Ecn::Ect1);
    }

    /// Records the departure of an admitted packet.
    pub fn on_departure(&mut self, departure: &Departure) {
        let counts = departure.action == Action::Send
            && self.can_mark[departure.id.0 as usize]
            && self.window.contains(departure.at);
        if !counts {
            return;
        }
        let ideal = self.meter.is_above(departure.flow, departure.at);
        let count = match (ideal, departure.ecn == Ecn::Ce) {
            (true, true) => &mut self.seen.both,
            (true, false) => &mut self.seen.only_ideal,
            (false, true) => &mut self.seen.only_scheme,
            (false, false) => &mut self.seen.neither,
        };
        *count += 1;
    }

    /// Counts so far.
    pub const fn seen(&self) -> Decisions {
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use tidegate_units::{FlowId, QueueId};

    use super::*;

    #[test]
    fn packets_are_sorted_by_both_decisions() {
        let window = Window { from: Time::ZERO, to: Time::from_us(5) };
        // 10 Gb/s over 8 µs carry 10 000 bytes: flow 1 sends 12 000, flow 2 sends 1 000.
        let span = Span::from_us(8);
        let mut observer = DecisionObserver::new(window, span, Rate::from_gbps(10)).unwrap();
        let mut leaves = |id, flow, came: Ecn, left: Ecn, us, action| {
            let len = if flow == 1 { 2_000 } else { 200 };
            let pkt = Pkt { len, flow: FlowId(flow), ecn: came, ..Pkt::default() };
            observer.on_accepted(Time::ZERO.max(Time::from_us(us)), PktId(id), &pkt);
            observer.on_departure(&Departure {
                at: Time::from_us(us),
                sojourn: Span::ZERO,
                id: PktId(id),
                flow: FlowId(flow),
                len,
                queue: QueueId(0),
                ecn: left,
                action,
            });
            observer.seen()
        };
        let decisions = |both, only_ideal, only_scheme, neither| Decisions {
            both,
            only_ideal,
            only_scheme,
            neither,
        };
        let send = Action::Send;
        for id in 0..5 {
            leaves(id, 1, Ecn::NotEct, Ecn::NotEct, 0, send);
        }
        // Flow 1 has sent 12 000 bytes, this packet included.
        assert_eq!(leaves(0, 1, Ecn::Ect0, Ecn::Ce, 1, send), decisions(1, 0, 0, 0));
        assert_eq!(leaves(9, 1, Ecn::Ect1, Ecn::Ect1, 1, send), decisions(1, 1, 0, 0));
        assert_eq!(leaves(3, 2, Ecn::Ect0, Ecn::Ce, 1, send), decisions(1, 1, 1, 0));
        assert_eq!(leaves(3, 2, Ecn::Ect0, Ecn::Ect0, 1, send), decisions(1, 1, 1, 1));
        // Marked before, dropped at dequeue, or too late: no decision of the port.
        leaves(3, 1, Ecn::Ce, Ecn::Ce, 1, send);
        let dropped = Action::Drop(crate::DropReason::ALL[0]);
        leaves(3, 1, Ecn::Ect0, Ecn::Ect0, 1, dropped);
        assert_eq!(leaves(3, 1, Ecn::Ect0, Ecn::Ce, 5, send), decisions(1, 1, 1, 1));
    }
}
