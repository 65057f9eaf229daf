//! Packets in and out: arriving packets go to their ends, and the ends' answers go into the
//! network.

use std::cmp::Reverse;

use tidegate_dataplane::Pkt;
use tidegate_transport::pias::Pias;
use tidegate_transport::protocol;
use tidegate_transport::{Flags, Header, Segment};
use tidegate_units::{Ecn, Time};

use super::{HostQueues, Hosts, Numbers, Wake, ends};
use crate::calendar::{Arrival, Calendar};
use crate::connection::{Ends, Pace, Phase, arrived};
use crate::fabric::{Fabric, two_words};
use crate::network::LinkId;
use crate::packet::{EndId, Headers, Packet, Side};
use crate::setup::Opening;

impl Hosts {
    /// Handles packets arriving at hosts, and the hosts' own events between them.
    #[inline(never)]
    pub(crate) fn act_and_deliver<C: Calendar>(
        &mut self,
        fabric: &mut Fabric<C>,
        arrivals: &[Arrival],
    ) {
        if self.reception.is_some() {
            for arrival in arrivals {
                while self.next_at() <= arrival.at {
                    self.wake(fabric);
                }
                self.receive(fabric, arrival);
            }
            return;
        }
        for arrival in arrivals {
            while self.next_at() <= arrival.at {
                self.wake(fabric);
            }
            self.deliver(fabric, arrival);
        }
    }

    /// Handles the arrival of a packet at its host.
    #[expect(
        clippy::inline_always,
        reason = "with its callees it is most of a host's work, and they share their lookups"
    )]
    #[inline(always)]
    pub(crate) fn deliver<C: Calendar>(&mut self, fabric: &mut Fabric<C>, arrival: &Arrival) {
        let mut packet = &mut fabric.packets[arrival.packet];
        let (end, now) = (packet.end(), arrival.at);
        if packet.spilled != 0 {
            self.deliver_slow_path(fabric, arrival);
            return;
        }
        self.tally.delivered += 1;
        let connection = &mut self.connections[end.slot()];
        connection.in_flight -= 1;
        let Ends::Tcp(ends) = &mut connection.ends else {
            self.deliver_other(fabric, arrival);
            return;
        };
        let side = end.side();
        let endpoint = &mut ends[side as usize];
        if let Some(header) = packet.arrived_tcp() {
            endpoint.on_header(header, now);
        }
        if arrived(endpoint, side) >= connection.phase_ends[side as usize] {
            fabric.packets.free(arrival.packet);
            self.end_phase(fabric, end, now);
            return;
        }
        // The first packet of the answer reuses the number of the packet that it answers.
        let (rules, tally, mut id) = (&self.rules, &mut self.tally, arrival.packet);
        let route = end.peer().0 * rules.stride;
        'answer: {
            while rules.answers_at_once
                && let Some(header) = endpoint.poll_header(now)
            {
                let [link, next] = two_words(&fabric.routes, route);
                let len = rules.accounting.size(header.len);
                // Written field by field from the sources: a packet that is assembled first and
                // copied then stalls the processor.
                *packet = Packet {
                    pkt: Pkt { len, flow: end.peer().flow(), ecn: header.ecn, ingress: 0, rank: 0 },
                    route: route + 2,
                    link: LinkId(link),
                    headers: Headers::tcp(Header {
                        seq: header.seq,
                        ack: header.ack,
                        len: header.len,
                        window: header.window,
                        flags: header.flags,
                        ecn: header.ecn,
                    }),
                    spilled: 0,
                    serial: tally.sent as u16,
                    class: connection.service,
                    is_retransmission: false,
                };
                connection.in_flight += 1;
                tally.sent += 1;
                if connection.is_measured && side == Side::Source {
                    let [first, last] = fabric.sending_times(LinkId(link), len, now);
                    self.waits[connection.flow as usize].note([now, first, last]);
                }
                fabric.start(id, len, [LinkId(link), LinkId(next)], now);
                if endpoint.is_quiet() {
                    break 'answer;
                }
                id = fabric.packets.claim();
                packet = &mut fabric.packets[id];
            }
            fabric.packets.free(id);
        }
        if !endpoint.is_quiet() {
            self.pump_tcp(fabric, end, now);
        } else if endpoint.has_new_timeout()
            // No timer set just now expires before the known one, if that is near.
            && connection.armed[side as usize] > now + self.min_timer
            && let Some(at) = endpoint.take_timeout()
        {
            self.set_timer(end, at, now);
        }
    }

    /// Handles a pause frame, or a segment that does not fit into a packet.
    #[inline(never)]
    fn deliver_slow_path<C: Calendar>(&mut self, fabric: &mut Fabric<C>, arrival: &Arrival) {
        let packet = fabric.packets[arrival.packet];
        if packet.is_pause() {
            fabric.on_pause(arrival);
            return;
        }
        let (end, now) = (packet.end(), arrival.at);
        fabric.packets.free(arrival.packet);
        self.tally.delivered += 1;
        let connection = &mut self.connections[end.slot()];
        connection.in_flight -= 1;
        let segment = self.spilled.take(packet.spilled - 1);
        if let Ends::Tcp(ends) = &mut connection.ends {
            let ecn = packet.pkt.ecn;
            ends[end.side() as usize].on_segment(&Segment { ecn, ..segment }, now);
        }
        self.go_on(fabric, end, now);
    }

    /// Handles an end's actions after the arrival of a packet.
    #[inline]
    pub(super) fn go_on<C: Calendar>(&mut self, fabric: &mut Fabric<C>, end: EndId, now: Time) {
        let connection = &self.connections[end.slot()];
        if connection.ends.arrived(end.side()) < connection.phase_ends[end.side() as usize] {
            self.pump(fabric, end, now);
        } else {
            self.end_phase(fabric, end, now);
        }
    }

    /// Handles the arrival of a packet that is not TCP.
    #[inline(never)]
    fn deliver_other<C: Calendar>(&mut self, fabric: &mut Fabric<C>, arrival: &Arrival) {
        let packet = &fabric.packets[arrival.packet];
        let (end, now) = (packet.end(), arrival.at);
        let connection = &mut self.connections[end.slot()];
        match (&mut connection.ends, &packet.headers) {
            (Ends::Other(other), Headers::Transport(header)) => {
                other.on_packet(end.side(), header, packet.pkt.ecn, now);
                if other.is_livelocked() {
                    let found = (now, connection.flow);
                    self.livelock = Some(self.livelock.map_or(found, |known| known.min(found)));
                }
            }
            (Ends::Prober(prober), &Headers::Probe(sent)) => {
                prober.on_packet(end.side(), sent, now);
            }
            _ => {}
        }
        // The first packet of the answer takes the same number.
        fabric.packets.free(arrival.packet);
        self.go_on(fabric, end, now);
    }

    /// Handles a packet that completes a phase of its flow.
    #[inline(never)]
    fn end_phase<C: Calendar>(&mut self, fabric: &mut Fabric<C>, end: EndId, now: Time) {
        if end.side() == Side::Sink || self.connections[end.slot()].phase() != Phase::Over {
            self.advance(end, now);
        }
        self.pump(fabric, end, now);
    }

    /// Records that the network dropped a packet.
    #[cold]
    pub(crate) fn on_dropped(&mut self, packet: &Packet) {
        self.tally.dropped += 1;
        if packet.spilled != 0 {
            self.spilled.take(packet.spilled - 1);
        }
    }

    /// Handles hosts' common work at the end of a bucket of time: they learn of dropped packets and
    /// of receivers that gave up, and forget finished connections. None of this happens sooner,
    /// because within a bucket a host knows only its own state.
    #[inline]
    pub(crate) fn end_bucket<C>(&mut self, fabric: &mut Fabric<C>, begin: Time) {
        while let Some((id, _)) = fabric.reports.dropped.pop() {
            let packet = fabric.packets.take(id.0);
            self.on_dropped(&packet);
            self.connections[packet.end().slot()].in_flight -= 1;
        }
        while let Some((slot, at)) = self.given_up.pop() {
            self.break_flow(EndId::new(slot, Side::Source), at);
        }
        if !self.over.is_empty() {
            self.release(begin);
        }
    }

    /// Frees the slots of connections of which nothing is left, in the bucket that starts at
    /// `begin`.
    fn release(&mut self, begin: Time) {
        let bucket = self.bucket(begin);
        let mut over = std::mem::take(&mut self.over);
        over.retain(|&slot| {
            let is_left = self.connections[slot as usize].in_flight != 0;
            if !is_left {
                self.forget(slot);
                if let Numbers::Own(slots) = &mut self.numbers {
                    slots.give_back(bucket, slot);
                }
            }
            is_left
        });
        self.over = over;
    }

    /// Removes a connection of which nothing is left.
    pub(crate) fn forget(&mut self, slot: u32) {
        let connection = &mut self.connections[slot as usize];
        connection.armed = [Time::MAX; 2];
        connection.in_flight = 0;
        let flow = connection.flow as usize;
        if connection.is_receiving() && self.has(self.flows[flow].dst) {
            self.connections[slot as usize].end_reception(&mut self.results[flow]);
        }
    }

    /// Number of the bucket of time that contains `time`.
    pub(crate) const fn bucket(&self, time: Time) -> u64 {
        time.as_ps() >> self.rules.width
    }

    /// Records that the receiver has everything, or that the sender knows it.
    fn advance(&mut self, end: EndId, now: Time) {
        let connection = &mut self.connections[end.slot()];
        let reached = connection.phase_ends[end.side() as usize];
        if reached < connection.flow_end {
            self.end_message(end, reached, now);
            return;
        }
        let result = &mut self.results[connection.flow as usize];
        if end.side() == Side::Sink {
            connection.end_reception(result);
            result.received_at = now;
            return;
        }
        result.acked_at = now;
        self.tally.finished += 1;
        let phase =
            if self.rules.opening == Opening::Persistent { Phase::Idle } else { Phase::Over };
        self.end_flow(end, phase, now);
    }

    /// Breaks the connection of a flow, unless the flow is already over.
    pub(crate) fn break_flow(&mut self, source: EndId, now: Time) {
        if self.connections[source.slot()].phase() < Phase::Idle {
            self.tally.broken += 1;
            self.end_flow(source, Phase::Over, now);
        }
    }

    /// Handles the end of a message that others follow: the sender writes the next one after its
    /// think time.
    fn end_message(&mut self, end: EndId, reached: u64, now: Time) {
        let connection = &mut self.connections[end.slot()];
        let Some(writer) = connection.writer.as_mut() else {
            return;
        };
        let Pace::ThinkTime(think) = writer.pace else {
            return;
        };
        let next = now + think.pause;
        if end.side() == Side::Source {
            writer.next = next;
        }
        let message_end = (reached + think.message).min(connection.flow_end);
        connection.phase_ends[end.side() as usize] = message_end;
        if end.side() == Side::Source {
            self.write_at(next, end);
        }
    }

    /// Ends the flow of a connection, finished or not.
    fn end_flow(&mut self, source: EndId, phase: Phase, now: Time) {
        self.last_over = self.last_over.max(now);
        let connection = &mut self.connections[source.slot()];
        self.to_finish -= u32::from(ends(&self.flows[connection.flow as usize]));
        connection.end(phase);
        connection.writer = None;
        connection.report(Side::Source, &mut self.results[connection.flow as usize]);
        self.tally.live -= 1;
        let flow = &self.flows[connection.flow as usize];
        if let Some(pair) = self.pairs.get_mut(&(flow.src, flow.dst)) {
            pair.busy -= 1;
            if phase == Phase::Idle {
                pair.idle.push(Reverse(source.slot() as u32));
            }
        }
        if phase == Phase::Over {
            self.over.push(source.slot() as u32);
        }
    }

    /// Sends all packets that an end has to send, and sets its timer.
    #[inline]
    pub(super) fn pump<C: Calendar>(&mut self, fabric: &mut Fabric<C>, end: EndId, now: Time) {
        match &self.connections[end.slot()].ends {
            Ends::Other(_) => self.pump_other(fabric, end, now),
            Ends::Prober(_) => self.pump_prober(fabric, end, now),
            Ends::Tcp(_) => self.pump_tcp(fabric, end, now),
            Ends::Elsewhere => {}
        }
    }

    /// Does this for a transport other than TCP.
    #[inline(never)]
    fn pump_other<C: Calendar>(&mut self, fabric: &mut Fabric<C>, end: EndId, now: Time) {
        let connection = &mut self.connections[end.slot()];
        let (side, rules) = (end.side(), &self.rules);
        let Ends::Other(other) = &mut connection.ends else {
            return;
        };
        while let Some(polled) = other.poll_packet(side, now) {
            let protocol::Packet { header, len, ecn, is_retransmission } = polled;
            let service = connection.service;
            let (class, ecn) = match &mut connection.tagging {
                // Feedback uses the first class, which ingress accounting bypasses.
                _ if len == 0 => (0, ecn),
                Some(tagging) => tag(tagging, (header.offset(), len), ecn, service, now),
                None => (service, ecn),
            };
            let rank = if rules.ranks && side == Side::Source {
                connection.flow_end.saturating_sub(other.arrived(side))
            } else {
                0
            };
            let id = fabric.packets.claim();
            fabric.packets[id] = Packet {
                pkt: Pkt {
                    len: rules.accounting.size(len),
                    flow: end.peer().flow(),
                    ecn,
                    ingress: 0,
                    rank,
                },
                route: end.peer().0 * rules.stride,
                link: LinkId(0),
                headers: Headers::Transport(header),
                spilled: 0,
                serial: self.tally.sent as u16,
                class,
                is_retransmission,
            };
            connection.in_flight += 1;
            self.tally.sent += 1;
            if let Some(times) = send(&mut self.queues, fabric, id, now) {
                other.on_queued(side, times[1]);
                if connection.is_measured && side == Side::Source {
                    self.waits[connection.flow as usize].note(times);
                }
            }
        }
        if let Some(at) = other.poll_timeout(side) {
            self.set_timer(end, at, now);
        }
        self.look_at_queues();
    }

    /// Does this for a series of probes.
    #[inline(never)]
    fn pump_prober<C: Calendar>(&mut self, fabric: &mut Fabric<C>, end: EndId, now: Time) {
        let connection = &mut self.connections[end.slot()];
        let side = end.side();
        let Ends::Prober(prober) = &mut connection.ends else {
            return;
        };
        while let Some(sent) = prober.poll(side, now) {
            let packet = Packet {
                pkt: Pkt { flow: end.peer().flow(), len: u32::from(prober.size), ..Pkt::default() },
                route: end.peer().0 * self.rules.stride,
                headers: Headers::Probe(sent),
                serial: self.tally.sent as u16,
                class: connection.service,
                ..Packet::default()
            };
            connection.in_flight += 1;
            self.tally.sent += 1;
            let id = fabric.packets.insert(packet);
            send(&mut self.queues, fabric, id, now);
        }
        if let Some(at) = connection.ends.deadline(side) {
            self.set_timer(end, at, now);
        }
        self.look_at_queues();
    }

    /// Sends all segments that a TCP end has to send, one after the other, and sets its timer.
    #[inline(never)]
    fn pump_tcp<C: Calendar>(&mut self, fabric: &mut Fabric<C>, end: EndId, now: Time) {
        let connection = &mut self.connections[end.slot()];
        let (side, rules) = (end.side(), &self.rules);
        let Ends::Tcp(ends) = &mut connection.ends else {
            return;
        };
        let endpoint = &mut ends[side as usize];
        let limit = match (side, rules.limits.as_slice()) {
            (Side::Sink, _) | (_, []) => u64::MAX,
            (Side::Source, limits) => {
                let group = usize::from(self.flows[connection.flow as usize].group);
                limits[group.min(limits.len() - 1)]
            }
        };
        loop {
            if limit != u64::MAX
                && let Some(queues) = &mut self.queues
                && queues.throttles(end, limit, || endpoint.paced_bytes(), now)
            {
                break;
            }
            let polled = endpoint.poll_segment(now);
            let Some(segment) = &polled else { break };
            let (mut class, mut ecn, mut rank, mut spilled) =
                (connection.service, segment.ecn, 0, 0);
            if rules.needs_offset {
                if let Some(tagging) = &mut connection.tagging {
                    let place = (endpoint.stream_offset(segment), segment.len);
                    (class, ecn) = tag(tagging, place, ecn, class, now);
                }
                // Pure ACKs and connection setup come first.
                if rules.ranks
                    && side == Side::Source
                    && (segment.len > 0 || segment.flags.has(Flags::FIN))
                {
                    rank = connection.flow_end.saturating_sub(endpoint.acked());
                }
            }
            if Packet::is_too_small_for(segment) {
                spilled = self.spilled.insert(*segment) + 1;
            }
            let packet = Packet {
                pkt: Pkt {
                    len: rules.accounting.size(segment.len),
                    flow: end.peer().flow(),
                    ecn,
                    ingress: 0,
                    rank,
                },
                route: end.peer().0 * rules.stride,
                link: LinkId(0),
                headers: Headers::tcp(Header { ecn, ..segment.header() }),
                spilled,
                serial: self.tally.sent as u16,
                class,
                is_retransmission: segment.is_retransmission,
            };
            connection.in_flight += 1;
            self.tally.sent += 1;
            let id = fabric.packets.insert(packet);
            let left = send(&mut self.queues, fabric, id, now);
            if connection.is_measured
                && side == Side::Source
                && let Some(times) = left
            {
                self.waits[connection.flow as usize].note(times);
            }
        }
        if let Some(at) = endpoint.take_timeout() {
            self.set_timer(end, at, now);
        }
        self.look_at_queues();
    }

    /// Wakes an end at `at`, if that is sooner than its timer.
    #[inline(never)]
    fn set_timer(&mut self, end: EndId, at: Time, now: Time) {
        let armed = &mut self.connections[end.slot()].armed[end.side() as usize];
        if at < *armed {
            // A time in the past means at once.
            let at = at.max(now);
            *armed = at;
            self.arm(at, Wake::transport(end));
        }
    }
}

/// Sends a packet from its host, or queues it there. Returns when it came and when its first and
/// last bits leave, if known. Ports of hosts do not tell.
#[expect(clippy::inline_always, reason = "most callers need few of the times")]
#[inline(always)]
fn send<C: Calendar>(
    queues: &mut Option<Box<HostQueues>>,
    fabric: &mut Fabric<C>,
    id: u32,
    now: Time,
) -> Option<[Time; 3]> {
    if let Some(queues) = queues {
        let packet = fabric.packets.take(id);
        return queues.send(fabric, packet, now).map(|left| left.times);
    }
    let [first, last] = fabric.send(id, now);
    Some([now, first, last])
}

/// Class of a segment by its offset in the flow, with its codepoint. The last class of the tags is
/// the flow's service.
fn tag(
    tagging: &mut Pias,
    (offset, len): (Option<u64>, u32),
    ecn: Ecn,
    service: u8,
    now: Time,
) -> (u8, Ecn) {
    let class = match offset {
        Some(offset) => tagging.class(offset, len, now),
        None => Pias::CONTROL,
    };
    let ecn = if tagging.forces_ect(class) { Ecn::Ect0 } else { ecn };
    if class < tagging.last_class() { (class, ecn) } else { (class.saturating_add(service), ecn) }
}
