//! Bytes that a flow received in the window.

use tidegate_units::{Rate, Span, Time};

use super::Window;
use super::series::{FlowSample, SenderSample};
use crate::connection::{Connection, Ends, Phase};
use crate::flow::Flow;
use crate::hosts::{ENDLESS, Hosts};
use crate::packet::{EndId, Side};

/// Observations of a flow in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedFlow {
    /// Number of the flow.
    pub flow: u32,
    /// Bytes that the receiver got in order.
    pub received: u64,
    /// Length of the part of the window between the flow's start and its last byte.
    pub span: Span,
}

impl ObservedFlow {
    /// Goodput while the flow was active; `None` if nothing arrived.
    pub fn goodput(&self) -> Option<Rate> {
        Rate::from_bytes_over(self.received, self.span)
    }

    pub(super) fn new(
        number: u32,
        flow: &Flow,
        received_at: Time,
        window: Window,
        [before, after]: [u64; 2],
    ) -> Self {
        Self {
            flow: number,
            received: after.saturating_sub(before),
            span: window.overlap(flow.start, received_at),
        }
    }
}

/// Follows the connection of a flow without searching for it each time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Follower {
    flow: u32,
    lookup: Lookup,
    /// Bytes that the receiver had at the last observation.
    received: u64,
    /// Marked packets that had arrived at the last observation.
    marks: u32,
}

#[derive(Clone, Copy, Debug)]
enum Lookup {
    /// The flow has ended, finished or not.
    Over,
    /// Slot of its connection in the table.
    Slot(usize),
    Unknown,
}

impl Follower {
    pub(crate) const fn new(flow: u32) -> Self {
        Self { flow, lookup: Lookup::Unknown, received: 0, marks: 0 }
    }

    /// State of the flow at `now`, from the hosts of all parts of the network.
    pub(crate) fn look(&mut self, parts: &[&Hosts], now: Time) -> FlowSample {
        let number = self.flow as usize;
        let flow = &parts[0].flows[number];
        let of = |host| parts.iter().find(|hosts| hosts.has(host));
        let (Some(source), Some(sink)) = (of(flow.src), of(flow.dst)) else {
            unreachable!("every host belongs to a part");
        };
        let has_started = number < source.started;
        if has_started && let Lookup::Unknown = self.lookup {
            let mut all = source.connections.iter();
            // A flow that started and ended between two observations may have left no connection
            // behind.
            let slot = all.position(|it| it.flow == self.flow && carries_flows(it));
            self.lookup = slot.map_or(Lookup::Over, Lookup::Slot);
        }
        let mut sender = None;
        if let Lookup::Slot(slot) = self.lookup {
            let connection = &source.connections[slot];
            let is_mine = connection.flow == self.flow;
            if is_mine {
                self.received = received(&sink.connections[slot], flow);
                self.marks = match connection.ends.marks_at() {
                    Side::Sink if !sink.connections[slot].is_receiving() => {
                        sink.results[number].marks
                    }
                    Side::Sink => sink.connections[slot].marks(),
                    Side::Source => connection.marks(),
                };
            }
            if is_mine && connection.phase() < Phase::Idle {
                sender = sample(&connection.ends, now);
            } else {
                self.lookup = Lookup::Over;
            }
        }
        if let Lookup::Over = self.lookup
            && sink.results[number].received_at != Time::MAX
        {
            self.received = flow.bytes;
            // One of the two ends counts them.
            let (of_source, of_sink) = (&source.results[number], &sink.results[number]);
            self.marks = of_source.marks.max(of_sink.marks);
        }
        FlowSample { received: self.received, marks: self.marks, sender }
    }

    /// The end that receives the flow's bytes, while there is a connection.
    pub(super) const fn sink(&self) -> Option<EndId> {
        match self.lookup {
            Lookup::Slot(slot) => Some(EndId::new(slot as u32, Side::Sink)),
            Lookup::Over | Lookup::Unknown => None,
        }
    }
}

/// Bytes that the receivers of `flows` have in order. Nothing is known about a flow whose
/// connection broke and was replaced by another one.
pub(crate) fn received_by(parts: &[&Hosts], flows: &[u32]) -> Vec<u64> {
    let mut known = Vec::new();
    for hosts in parts {
        for connection in hosts.connections.iter().filter(|it| carries_flows(it)) {
            let flow = &hosts.flows[connection.flow as usize];
            if hosts.has(flow.dst) {
                known.push((connection.flow, received(connection, flow)));
            }
        }
    }
    known.sort_by_key(|&(flow, _)| flow);
    let one = |&number: &u32| {
        let mut results = parts.iter().map(|hosts| &hosts.results[number as usize]);
        if results.any(|result| result.received_at != Time::MAX) {
            return parts[0].flows[number as usize].bytes;
        }
        let found = known.binary_search_by_key(&number, |&(flow, _)| flow);
        found.map_or(0, |index| known[index].1)
    };
    flows.iter().map(one).collect()
}

/// Whether a connection carries flows. Probes and connections of other parts also have slots in the
/// table.
pub(super) const fn carries_flows(connection: &Connection) -> bool {
    !matches!(connection.ends, Ends::Elsewhere | Ends::Prober(_))
}

/// Bytes of a connection's current flow that its receiver has in order.
fn received(connection: &Connection, flow: &Flow) -> u64 {
    let bytes = flow.bytes.min(ENDLESS);
    let missing = connection.flow_end.saturating_sub(connection.ends.arrived(Side::Sink));
    bytes.saturating_sub(missing)
}

fn sample(ends: &Ends, now: Time) -> Option<SenderSample> {
    Some(match ends {
        Ends::Other(connection) => SenderSample::Other(connection.sample(now)),
        Ends::Elsewhere | Ends::Prober(_) => return None,
        Ends::Tcp(ends) => SenderSample::Tcp {
            cwnd: ends[0].cwnd(),
            ssthresh: ends[0].ssthresh(),
            alpha: ends[0].alpha().map(|alpha| alpha.of(1 << 32)),
            rtt: ends[0].smoothed_rtt(),
            rtt_variation: ends[0].rtt_variation(),
            rto: ends[0].rto(),
        },
    })
}
