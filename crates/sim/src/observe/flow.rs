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
        Self {
            flow,
            lookup: Lookup::Unknown,
            received: 0,
            marks: 0,
        }
    }

    /// The flow as it stands at `now`.
    pub(crate) fn look(&mut self, hosts: &Hosts, now: Time) -> FlowSample {
        let has_started = (self.flow as usize) < hosts.started;
        if has_started && let Lookup::Unknown = self.lookup {
            let mut all = hosts.connections.iter();
            // A flow that came and went between two looks may have left no connection behind.
            let slot = all.position(|it| it.flow == self.flow && carries_flows(it));
            self.lookup = slot.map_or(Lookup::Over, Lookup::Slot);
        }
        let mut sender = None;
        if let Lookup::Slot(slot) = self.lookup {
            let connection = &hosts.connections[slot];
            let is_mine = connection.flow == self.flow;
            if is_mine {
                self.received = received(connection, hosts);
                self.marks = connection.marks();
            }
            if is_mine && connection.phase() < Phase::Idle {
                sender = sample(&connection.ends, now);
            } else {
                self.lookup = Lookup::Over;
            }
        }
        if let Lookup::Over = self.lookup
            && hosts.results[self.flow as usize].received_at != Time::MAX
        {
            self.received = hosts.flows[self.flow as usize].bytes;
            self.marks = hosts.results[self.flow as usize].marks;
        }
        FlowSample {
            received: self.received,
            marks: self.marks,
            sender,
        }
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
pub(crate) fn received_by(hosts: &Hosts, flows: &[u32]) -> Vec<u64> {
    let connections = hosts.connections.iter().enumerate();
    let mut slots = connections
        .filter(|(_, connection)| carries_flows(connection))
        .map(|(slot, connection)| (connection.flow, slot))
        .collect::<Vec<_>>();
    slots.sort_unstable();
    let one = |&flow: &u32| {
        if hosts.results[flow as usize].received_at != Time::MAX {
            return hosts.flows[flow as usize].bytes;
        }
        let found = slots.binary_search_by_key(&flow, |&(flow, _)| flow);
        found.map_or(0, |index| {
            received(&hosts.connections[slots[index].1], hosts)
        })
    };
    flows.iter().map(one).collect()
}

/// Probes have slots in the table too, but no flows.
pub(super) const fn carries_flows(connection: &Connection) -> bool {
    !matches!(connection.ends, Ends::Prober(_))
}

/// Bytes of the present flow of a connection that its receiver has in order.
fn received(connection: &Connection, hosts: &Hosts) -> u64 {
    let bytes = hosts.flows[connection.flow as usize].bytes.min(ENDLESS);
    let missing = connection
        .flow_end
        .saturating_sub(connection.ends.arrived(Side::Sink));
    bytes.saturating_sub(missing)
}

fn sample(ends: &Ends, now: Time) -> Option<SenderSample> {
    Some(match ends {
        Ends::Dcqcn(ends) => {
            // Asking for the rate moves the sender's clocks: a copy answers.
            let mut sender = ends.0.clone();
            SenderSample::Dcqcn {
                rate: sender.rate(now),
                alpha: sender.alpha(now).as_q32(),
            }
        }
        Ends::Prober(_) => return None,
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
