//! Reports of the hosts at the end of a run, and about packets in flight.

use tidegate_transport::{Header, Segment};
use tidegate_units::{Span, Time};

use super::{ENDLESS, Hosts, ends};
use crate::capture::{Captured, Content};
use crate::connection::{Connection, Ends, Phase};
use crate::flow::Flow;
use crate::packet::{Packet, Side};

impl Hosts {
    /// Flows that end by themselves and have not yet ended; `None` if there never were any.
    #[inline]
    pub(crate) fn unfinished(&self) -> Option<u32> {
        self.has_ends.then_some(self.to_finish)
    }

    /// Time at which the last flow finished or broke.
    pub(crate) const fn last_over(&self) -> Time {
        self.last_over
    }

    /// Whether a packet in flight belongs to this TCP flow.
    #[inline]
    pub(crate) fn is_of(&self, packet: &Packet, flow: u32) -> bool {
        let connection = &self.connections[packet.end().slot()];
        connection.flow == flow && matches!(connection.ends, Ends::Tcp(_))
    }

    /// Header of a TCP packet in flight, without rare parts of the segment.
    #[inline]
    pub(crate) fn header(&self, packet: &Packet) -> Header {
        match packet.spilled {
            0 => packet.segment().header(),
            number => Header { ecn: packet.pkt.ecn, ..self.spilled[number - 1].header() },
        }
    }

    /// A packet with the fields for captures, while it is in flight.
    pub(crate) fn captured(&self, packet: &Packet) -> Captured {
        let connection = &self.connections[packet.end().slot()];
        let slot = packet.end().slot() as u32;
        let flow = &self.flows.get(connection.flow as usize);
        let (source, sink) = match (&connection.ends, flow) {
            (Ends::Prober(prober), _) => prober.hosts,
            (_, Some(flow)) => (flow.src, flow.dst),
            (_, None) => Default::default(),
        };
        let (src, dst) = match packet.end().side() {
            Side::Source => (sink, source),
            Side::Sink => (source, sink),
        };
        let body = match &connection.ends {
            Ends::Other(_) => Content::Other,
            Ends::Prober(prober) => Content::Echo { to: packet.end().side(), len: prober.bytes },
            Ends::Elsewhere => unreachable!("captures need a single thread"),
            Ends::Tcp(_) if packet.spilled == 0 => Content::Tcp(packet.segment()),
            Ends::Tcp(_) => {
                Content::Tcp(Segment { ecn: packet.pkt.ecn, ..self.spilled[packet.spilled - 1] })
            }
        };
        Captured { src, dst, slot, packet: *packet, body }
    }

    /// Round trips of a series of probes, if it is sent from this part.
    pub(crate) fn take_probes(&mut self, series: usize) -> Option<Vec<(Time, Span)>> {
        let Ends::Prober(prober) = &mut self.connections[series].ends else {
            return None;
        };
        let round_trips = std::mem::take(&mut prober.round_trips);
        let (source, _) = prober.hosts;
        self.has(source).then_some(round_trips)
    }

    /// Ends the run at `end`: later events are discarded, and the counts of unfinished flows so far
    /// are recorded.
    pub(crate) fn end_run(&mut self, end: Time) {
        for result in &mut self.results {
            if result.received_at > end {
                result.received_at = Time::MAX;
            }
            if result.acked_at != Time::MAX && result.acked_at > end {
                result.acked_at = Time::MAX;
                self.tally.finished -= 1;
                self.tally.live += 1;
            }
        }
        for connection in &self.connections {
            let Some(flow) = self.flows.get(connection.flow as usize) else {
                continue;
            };
            let is_sending = connection.phase() < Phase::Idle && self.has(flow.src);
            let is_receiving = connection.is_receiving() && self.has(flow.dst);
            let result = &mut self.results[connection.flow as usize];
            if is_sending {
                connection.report(Side::Source, result);
            }
            if is_receiving {
                connection.report(Side::Sink, result);
            }
        }
    }

    /// The connection in a slot, if it carries an unfinished flow from this part.
    fn unfinished_flow(&self, slot: usize) -> Option<(&Connection, &Flow)> {
        let connection = self.connections.get(slot)?;
        let flow = self.flows.get(connection.flow as usize)?;
        (connection.phase() < Phase::Idle && self.has(flow.src)).then_some((connection, flow))
    }
}

/// Reasons why flows are not finished, for the hosts of all parts of the network.
#[cold]
pub(crate) fn diagnosis(parts: &[&Hosts]) -> String {
    let live: u32 = parts.iter().map(|hosts| hosts.tally.live).sum();
    let mut lines = vec![format!("{live} flows wait and nothing moves")];
    lines.extend(waiting(parts).take(5).map(|slot| progress(parts, slot)));
    lines.join("\n")
}

/// Progress of a flow in a livelock, with its cause.
#[cold]
pub(crate) fn livelock_diagnosis(parts: &[&Hosts], flow: u32) -> String {
    let mut slots = waiting(parts);
    let slot = slots.find(|&slot| source(parts, slot).is_some_and(|it| it.0.flow == flow));
    let progress = slot.map_or_else(|| format!("flow {flow}"), |slot| progress(parts, slot));
    format!(
        "livelock: {progress}, and nothing new acknowledged for `transport.livelock_time`: \
         go-back-N repeats data that the network drops again"
    )
}

/// Connections that carry unfinished flows.
fn waiting(parts: &[&Hosts]) -> impl Iterator<Item = usize> {
    let slots = parts.iter().map(|hosts| hosts.connections.len()).max();
    (0..slots.unwrap_or(0)).filter(|&slot| source(parts, slot).is_some())
}

/// The sending part of a connection with an unfinished flow.
fn source<'a>(parts: &[&'a Hosts], slot: usize) -> Option<(&'a Connection, &'a Flow)> {
    parts.iter().find_map(|hosts| hosts.unfinished_flow(slot))
}

/// Progress of the flow of a connection.
fn progress(parts: &[&Hosts], slot: usize) -> String {
    let (source, flow) = source(parts, slot).expect("the caller chose a waiting flow");
    let bytes = flow.bytes.min(ENDLESS);
    let sinks = parts.iter().filter(|hosts| hosts.has(flow.dst));
    let arrived = sinks.map(|hosts| hosts.connections[slot].ends.arrived(Side::Sink));
    let left = source.flow_end - arrived.sum::<u64>();
    let received = bytes - left.min(bytes);
    let all = if ends(flow) {
        format!("of {bytes} bytes received")
    } else {
        "bytes received of a flow without end".to_owned()
    };
    let in_flight = parts.iter().filter_map(|hosts| hosts.connections.get(slot));
    let in_flight: i32 = in_flight.map(|connection| connection.in_flight).sum();
    format!(
        "flow {} from host {} to host {}: {received} {all}, {in_flight} packets in flight, {} timeouts",
        source.flow,
        flow.src,
        flow.dst,
        source.counts(Side::Source).timeouts,
    )
}
