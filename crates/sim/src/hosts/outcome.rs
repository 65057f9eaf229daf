//! What the hosts report at the end of a run, and of packets in flight.

use tidegate_transport::{Header, Segment};
use tidegate_units::{Span, Time};

use super::{ENDLESS, Hosts, ends};
use crate::capture::{Captured, Content};
use crate::connection::{Ends, Phase};
use crate::packet::{Packet, Side};

impl Hosts {
    /// Whether every flow is finished that can, or `enough` of them.
    #[inline]
    pub(crate) fn has_finished(&self, enough: Option<u32>) -> bool {
        let finished = self.tally.finished;
        (self.has_ends && self.to_finish == 0) || enough.is_some_and(|enough| finished >= enough)
    }

    /// When the last flow finished or broke, or the one that made them `enough`.
    pub(crate) fn last_finish(&self, enough: Option<u32>) -> Time {
        let Some(enough) = enough.filter(|&enough| enough <= self.tally.finished) else {
            return self.last_over;
        };
        let finishes = self.results.iter().map(|result| result.acked_at);
        let mut finishes = finishes.collect::<Vec<_>>();
        let last = (enough as usize).saturating_sub(1);
        *finishes.select_nth_unstable(last).1
    }

    /// Whether a packet that is in flight belongs to this flow of TCP.
    #[inline]
    pub(crate) fn is_of(&self, packet: &Packet, flow: u32) -> bool {
        let connection = &self.connections[packet.end().slot()];
        connection.flow == flow && matches!(connection.ends, Ends::Tcp(_))
    }

    /// The segment of a TCP packet that is in flight, without what is special about it.
    #[inline]
    pub(crate) fn header(&self, packet: &Packet) -> Header {
        match packet.spilled {
            0 => packet.header,
            number => Header {
                ecn: packet.header.ecn,
                ..self.spilled[number - 1].header()
            },
        }
    }

    /// A packet as a capture shows it, which it is only while in flight.
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
            Ends::Dcqcn(_) => Content::Roce(packet.dcqcn()),
            Ends::Prober(_) => Content::Echo(packet.end().side()),
            Ends::Tcp(_) if packet.spilled == 0 => Content::Tcp(packet.segment()),
            Ends::Tcp(_) => Content::Tcp(Segment {
                ecn: packet.header.ecn,
                ..self.spilled[packet.spilled - 1]
            }),
        };
        Captured {
            src,
            dst,
            slot,
            packet: *packet,
            body,
        }
    }

    /// The round trips of the probes.
    pub(crate) fn take_probes(&mut self) -> Vec<Vec<(Time, Span)>> {
        let series = self.connections.iter_mut().filter_map(|connection| {
            let Ends::Prober(prober) = &mut connection.ends else {
                return None;
            };
            Some(std::mem::take(&mut prober.round_trips))
        });
        series.collect()
    }

    /// The run ended at `end`: what came later did not happen, and what unfinished flows have seen
    /// so far is counted.
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
            if connection.phase() < Phase::Idle {
                connection.report(&mut self.results[connection.flow as usize]);
            }
        }
    }

    /// What the flows that are not finished wait for.
    #[cold]
    pub(crate) fn diagnosis(&self) -> String {
        let waiting = self.connections.iter().filter(|c| c.phase() < Phase::Idle);
        let mut lines = vec![format!("{} flows wait and nothing moves", self.tally.live)];
        for connection in waiting.take(5) {
            let flow = &self.flows[connection.flow as usize];
            let bytes = flow.bytes.min(ENDLESS);
            let left = connection.flow_end - connection.ends.arrived(Side::Sink);
            let received = bytes - left.min(bytes);
            let all = if ends(flow) {
                format!("of {bytes} bytes received")
            } else {
                "bytes received of a flow without end".to_owned()
            };
            lines.push(format!(
                "flow {} from host {} to host {}: {received} {all}, {} packets in flight, {} timeouts",
                connection.flow,
                flow.src,
                flow.dst,
                connection.in_flight,
                connection.ends.counts().since(connection.before).timeouts,
            ));
        }
        lines.join("\n")
    }
}
