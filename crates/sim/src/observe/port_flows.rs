//! Flows at a port: the number of active flows, and the waiting bytes of flows of each class.

use tidegate_dataplane::observe::{Decisions, FlowObserver, Histogram};
use tidegate_units::{Span, Time};

use super::completion::{Convention, SizeClass};
use super::series::PortFlowsSample;
use super::{Which, flow};
use crate::connection::Phase;
use crate::hosts::Hosts;
use crate::network::LinkId;
use crate::packet::{EndId, Side};

/// Ports whose flows are distinguished, and the definitions used. Each direction of a connection is
/// a flow of its own, as switches see it: ACKs belong to another flow than the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortFlows {
    /// Links whose ports are observed. A port needs 40 bytes of memory for each simultaneous
    /// connection.
    pub ports: Which<LinkId>,
    /// Time for which a flow stays active after its last packet has left; zero: while a packet
    /// waits.
    pub period: Span,
    /// Time over which DiffECN's ideal marker measures rates, one round trip in the paper, if marks
    /// are compared with the marker's.
    pub ideal: Option<Span>,
    /// Definition of small and large flows.
    pub convention: Convention,
}

/// Observations of the flows at a port in the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedPortFlows {
    /// Link of the port.
    pub link: LinkId,
    /// Number of active flows, weighted with picoseconds.
    pub active: Histogram,
    /// Comparison with the ideal marker, if requested.
    pub decisions: Option<Decisions>,
}

/// The flows at a port immediately before `now`.
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
        // Packets to the source are ACKs.
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
