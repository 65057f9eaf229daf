//! The flows at a port: how many are active, and what flows of each class have waiting there.

use tidegate_dataplane::observe::{Decisions, FlowObserver, Histogram};
use tidegate_units::{Span, Time};

use super::completion::{Convention, SizeClass};
use super::series::PortFlowsSample;
use super::{Which, flow};
use crate::connection::Phase;
use crate::hosts::Hosts;
use crate::network::LinkId;
use crate::packet::{EndId, Side};

/// Ports whose flows are told apart, and how. Each direction of a connection is a flow of its own,
/// as switches see it: ACKs are of another flow than what they acknowledge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortFlows {
    /// Links whose ports are looked at. The memory of a port is 40 bytes for each connection that
    /// there is at a time.
    pub ports: Which<LinkId>,
    /// A flow is active for so long after its last packet has left; with zero, while one waits.
    pub period: Span,
    /// Where marks are compared with those of the ideal marker of DiffECN: the time over which it
    /// measures rates, one round trip in the paper.
    pub ideal: Option<Span>,
    /// What is small and large, by the size of the flow.
    pub convention: Convention,
}

/// What was observed of the flows at a port in the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedPortFlows {
    /// The link of the port.
    pub link: LinkId,
    /// How many were active, weighted with picoseconds.
    pub active: Histogram,
    /// What the ideal marker would have done, if it was asked.
    pub decisions: Option<Decisions>,
}

/// The flows at a port right before `now`.
pub(super) fn sample(
    seen: &FlowObserver,
    hosts: &Hosts,
    convention: Convention,
    now: Time,
) -> PortFlowsSample {
    let mut bytes = [0; 3];
    for (id, waiting) in seen.waiting() {
        let end = EndId(id.0);
        let connection = &hosts.connections[end.slot()];
        // What goes to the source are ACKs.
        if end.side() == Side::Sink && flow::carries_flows(connection) {
            let class = convention.class_of(hosts.flows[connection.flow as usize].bytes);
            bytes[class as usize] += waiting;
        }
    }
    // A connection's slot may have had another flow before.
    let slots = hosts.connections.iter().zip(0..);
    let connections = slots.filter(|(connection, slot)| {
        let start = hosts.flows[connection.flow as usize].start;
        let passed = |side| {
            let last = seen.last(EndId::new(*slot, side).flow());
            last.is_some_and(|last| last >= start)
        };
        flow::carries_flows(connection)
            && connection.phase() < Phase::Idle
            && (passed(Side::Source) || passed(Side::Sink))
    });
    PortFlowsSample {
        active: seen.active(now),
        connections: connections.count() as u32,
        small: bytes[SizeClass::Small as usize],
        medium: bytes[SizeClass::Medium as usize],
        large: bytes[SizeClass::Large as usize],
    }
}
