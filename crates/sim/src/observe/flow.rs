//! What a flow received in the window.

use tidegate_units::{Rate, Span, Time};

use super::Window;
use super::series::{FlowSample, SenderSample};
use crate::connection::{Connection, Ends, Phase};
use crate::flow::Flow;
use crate::hosts::{ENDLESS, Hosts};
use crate::packet::{EndId, Side};

/// What was observed of a flow in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedFlow {
    /// The flow's number.
    pub flow: u32,
    /// Bytes that its receiver got in order.
    pub received: u64,
    /// How much of the window lay between the flow's start and its last byte.
    pub span: Span,
}

impl ObservedFlow {
    /// The goodput while the flow was active; `None` if nothing arrived.
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

/// Finds the connection of a flow again and again without looking for it each time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Follower {
    flow: u32,
    lookup: Lookup,
    /// Bytes that its receiver had when it was last looked at.
    received: u64,
    /// Packets of it that had arrived marked then.
    marks: u32,
}

#[derive(Clone, Copy, Debug)]
enum Lookup {
    /// The flow is over, one way or the other.
    Over,
    /// Its connection, by its slot in the table.
    Slot(usize),
    Unknown,
}

impl Follower {
    pub(crate) const fn new(flow: u32) -> Self {
        Self { flow, lookup: Lookup::Unknown, received: 0, marks: 0 }
    }

    /// The flow as it stands at `now`, at the hosts of all parts of the network.
    pub(crate) fn look(&mut self, parts: &[&Hosts], now: Time) -> FlowSample {
        let number = self.flow as usize;
        let flow = &parts[0].flows[number];
        let of = |host| parts.iter().find(|hosts| hosts.has(host));
        let (Some(source), Some(sink)) = (of(flow.src), of(flow.dst)) else {
            unreachable!("every host is in a part");
        };
        let has_started = number < source.started;
        if has_started && let Lookup::Unknown = self.lookup {
            let mut all = source.connections.iter();
            // A flow that came and went between two looks may have left no connection behind.
            let slot = all.position(|it| it.flow == self.flow && carries_flows(it));
            self.lookup = slot.map_or(Lookup::Over, Lookup::Slot);
        }
        let mut sender = None;
        if let Lookup::Slot(slot) = self.lookup {
            let connection = &source.connections[slot];
            let is_mine = connection.flow == self.flow;
            if is_mine {
                self.received = received(&sink.connections[slot], flow);
                self.marks = match connection.ends {
                    Ends::Tcp(_) if !sink.connections[slot].is_receiving() => {
                        sink.results[number].marks
                    }
                    Ends::Tcp(_) => sink.connections[slot].marks(),
                    _ => connection.marks(),
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
            // One of the two counts them.
            let (of_source, of_sink) = (&source.results[number], &sink.results[number]);
            self.marks = of_source.marks.max(of_sink.marks);
        }
        FlowSample { received: self.received, marks: self.marks, sender }
    }

    /// The end that the flow's bytes go to, while there is a connection.
    pub(super) const fn sink(&self) -> Option<EndId> {
        match self.lookup {
            Lookup::Slot(slot) => Some(EndId::new(slot as u32, Side::Sink)),
            Lookup::Over | Lookup::Unknown => None,
        }
    }
}

/// Bytes that the receivers of `flows` have in order. Of a flow whose connection broke and has made
/// room for another one, nothing is known any more.
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

/// Probes have slots in the table too, but no flows, and so have connections of other parts.
pub(super) const fn carries_flows(connection: &Connection) -> bool {
    !matches!(connection.ends, Ends::Elsewhere | Ends::Prober(_))
}

/// Bytes of the present flow of a connection that its receiver has in order.
fn received(connection: &Connection, flow: &Flow) -> u64 {
    let bytes = flow.bytes.min(ENDLESS);
    let missing = connection.flow_end.saturating_sub(connection.ends.arrived(Side::Sink));
    bytes.saturating_sub(missing)
}

fn sample(ends: &Ends, now: Time) -> Option<SenderSample> {
    Some(match ends {
        Ends::Dcqcn(ends) => {
            // Asking for the rate moves the sender's clocks: a copy answers.
            let mut sender = ends.0.clone();
            SenderSample::Dcqcn { rate: sender.rate(now), alpha: sender.alpha(now).as_q32() }
        }
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
