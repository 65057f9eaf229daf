//! Reception at hosts: interrupts, receive offload, and the processing time of the stack.
//!
//! A packet from the wire waits at the network card until an interrupt is raised. The packets of an
//! interrupt are handled in order. With receive offload, consecutive segments of a connection are
//! merged as in Linux (`tcp_gro_receive`): full ones with equal flags, ACK number and codepoint, up
//! to a limit; a smaller one is the last; one with CWR is not merged. Then each packet or merged
//! unit goes through the stack, which takes a time drawn for it. A host works on many at a time:
//! the stack is a delay, and does not limit the packets per second.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tidegate_transport::{Flags, Header};
use tidegate_units::{Rng, Span, Time};

use super::{Hosts, JITTER_STREAM};
use crate::by_key::ByKey;
use crate::calendar::{Arrival, Calendar};
use crate::connection::Ends;
use crate::fabric::Fabric;
use crate::packet::{EndId, Packet};
use crate::setup::{HostReceive, Setup};
use crate::slab::Slab;

/// Stages of all hosts between the wire and their connections.
pub(super) struct Reception {
    config: HostReceive,
    /// By link: the host that it leads to, if any.
    hosts: Vec<u32>,
    cards: Vec<Card>,
    /// Times and hosts of interrupts, including ones that were already raised.
    interrupts: BinaryHeap<Reverse<(Time, u32)>>,
    /// Units in stacks, by the time at which they leave.
    in_stack: BinaryHeap<Reverse<InStack>>,
    /// Number of units that have entered.
    taken: u64,
    /// By end: time at which its last unit leaves the stack.
    last_out: Vec<Time>,
    /// State of the interrupt being handled: its packets, units being merged, and finished ones.
    batch: Vec<u32>,
    open: Vec<Unit>,
    units: Vec<Unit>,
}

/// A unit ordered by the time at which it leaves the stack, then by the order of entering.
type InStack = ByKey<(Time, u64), Unit>;

/// Network card of a host.
struct Card {
    /// Packets waiting for an interrupt.
    waiting: Vec<u32>,
    /// Time of the interrupt; `Time::MAX` while no packet waits.
    interrupt_at: Time,
    rng: Rng,
}

/// A packet, or several that were merged into the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit {
    packet: u32,
    segments: u32,
    /// Payload of the first packet.
    full: u32,
    end: EndId,
}

impl Reception {
    pub(super) fn new(setup: &Setup) -> Self {
        let network = &setup.network;
        let cards = (0..network.hosts()).map(|host| Card {
            waiting: Vec::new(),
            interrupt_at: Time::MAX,
            rng: Rng::new(setup.seed, JITTER_STREAM + u64::from(host)),
        });
        Self {
            config: setup.host_receive.clone(),
            hosts: network.links().iter().map(|link| link.to.0).collect(),
            cards: cards.collect(),
            interrupts: BinaryHeap::new(),
            in_stack: BinaryHeap::new(),
            taken: 0,
            last_out: Vec::new(),
            batch: Vec::new(),
            open: Vec::new(),
            units: Vec::new(),
        }
    }

    /// Time of the next interrupt or of the next unit leaving a stack.
    pub(super) fn next_at(&self) -> Time {
        let interrupt = self.interrupts.peek().map(|Reverse((at, _))| *at);
        let unit = self.in_stack.peek().map(|Reverse(unit)| unit.key.0);
        let next = interrupt.into_iter().chain(unit).min();
        next.unwrap_or(Time::MAX)
    }

    /// Queues a packet that has come over this link. Returns its host if it raises an interrupt
    /// now.
    fn wait(&mut self, packet: u32, link: u32, now: Time) -> Option<u32> {
        let host = self.hosts[link as usize];
        let card = &mut self.cards[host as usize];
        card.waiting.push(packet);
        let frames = self.config.interrupt_frames.unwrap_or(u32::MAX);
        let delay = self.config.interrupt_delay;
        if delay == Span::ZERO || card.waiting.len() as u64 >= u64::from(frames) {
            return Some(host);
        }
        if card.interrupt_at == Time::MAX {
            card.interrupt_at = now + delay;
            self.interrupts.push(Reverse((card.interrupt_at, host)));
        }
        None
    }

    /// Takes the next interrupt, if it is due and was not raised before. Returns its host.
    fn next_interrupt(&mut self, now: Time) -> Option<u32> {
        while let Some(&Reverse((at, host))) = self.interrupts.peek()
            && at <= now
        {
            self.interrupts.pop();
            if self.cards[host as usize].interrupt_at == at {
                return Some(host);
            }
        }
        None
    }

    /// Takes the next unit that has passed its stack.
    fn next_unit(&mut self, now: Time) -> Option<Unit> {
        let first = self.in_stack.peek()?;
        (first.0.key.0 <= now).then_some(())?;
        self.in_stack.pop().map(|Reverse(unit)| unit.value)
    }

    /// Merges the packets waiting at a host by receive offload and passes them to `out`, in order.
    fn merge(
        &mut self,
        host: u32,
        packets: &mut Slab<Packet>,
        mut out: impl FnMut(&mut Self, Unit),
    ) {
        let card = &mut self.cards[host as usize];
        card.interrupt_at = Time::MAX;
        std::mem::swap(&mut self.batch, &mut card.waiting);
        for index in 0..self.batch.len() {
            let packet = self.batch[index];
            let unit = Unit::new(packet, &packets[packet]);
            let Some(most) = self.config.gro else {
                out(self, unit);
                continue;
            };
            let held = self.open.iter().position(|held| held.end == unit.end);
            if let Some(held) = held {
                if self.open[held].takes(packets, packet, most.0) {
                    let is_last = self.open[held].add(packets, packet);
                    if is_last {
                        let full = self.open.remove(held);
                        out(self, full);
                    }
                    continue;
                }
                let before = self.open.remove(held);
                out(self, before);
            }
            if is_mergeable(&packets[packet]) {
                self.open.push(unit);
            } else {
                out(self, unit);
            }
        }
        self.batch.clear();
        while !self.open.is_empty() {
            let oldest = self.open.remove(0);
            out(self, oldest);
        }
    }

    /// Whether the stack takes time.
    fn takes_time(&self) -> bool {
        self.config.packet_time + self.config.jitter > Span::ZERO
    }

    /// Puts a unit into the stack of its host.
    fn go_through(&mut self, host: u32, unit: Unit, now: Time) {
        let draw = self.cards[host as usize].rng.next_u32();
        let jitter = (u128::from(self.config.jitter.as_ps()) * u128::from(draw)) >> 32;
        // Less than the jitter, so it fits.
        let time = self.config.packet_time + Span::from_ps(jitter as u64);
        let end = unit.end.0 as usize;
        if end >= self.last_out.len() {
            self.last_out.resize(end + 1, Time::ZERO);
        }
        let at = (now + time).max(self.last_out[end]);
        self.last_out[end] = at;
        self.in_stack.push(Reverse(ByKey { key: (at, self.taken), value: unit }));
        self.taken += 1;
    }
}

/// Whether a packet can be merged at all: a plain segment with payload.
fn is_mergeable(packet: &Packet) -> bool {
    let is_plain = |header: &Header| {
        header.len > 0 && header.flags.bits() & !Flags::ECE.bits() == Flags::ACK.bits()
    };
    packet.spilled == 0 && packet.tcp().is_some_and(is_plain)
}

impl Unit {
    fn new(id: u32, packet: &Packet) -> Self {
        Self { packet: id, segments: 1, full: packet.payload(), end: packet.end() }
    }

    /// Whether a packet of the same connection can be added to the unit.
    fn takes(&self, packets: &Slab<Packet>, id: u32, most: u64) -> bool {
        let (held, next) = (&packets[self.packet], &packets[id]);
        let follows = |held: &Header, next: &Header| {
            next.seq == held.seq + held.len
                && next.len <= self.full
                && u64::from(held.len) + u64::from(next.len) <= most
                && next.flags == held.flags
                && next.ack == held.ack
        };
        let is_next = held.tcp().zip(next.tcp()).is_some_and(|(held, next)| follows(held, next));
        is_mergeable(next) && is_next && next.pkt.ecn == held.pkt.ecn && next.class == held.class
    }

    /// Adds a packet, whose slot becomes free. Returns whether it was smaller than the others,
    /// which makes it the last.
    fn add(&mut self, packets: &mut Slab<Packet>, id: u32) -> bool {
        let len = packets.take(id).payload();
        if let Some(held) = packets[self.packet].arrived_tcp() {
            held.len += len;
        }
        self.segments += 1;
        len < self.full
    }
}

impl Hosts {
    /// Handles a packet from the wire at its host.
    pub(crate) fn receive<C: Calendar>(&mut self, fabric: &mut Fabric<C>, arrival: &Arrival) {
        let packet = &fabric.packets[arrival.packet];
        let is_direct = packet.is_pause()
            || matches!(self.connections[packet.end().slot()].ends, Ends::Other(_));
        let Some(reception) = self.reception.as_mut().filter(|_| !is_direct) else {
            self.deliver(fabric, arrival);
            return;
        };
        let now = arrival.at;
        if let Some(host) = reception.wait(arrival.packet, arrival.target, now) {
            self.interrupt(fabric, host, now);
        }
        if let Some(reception) = &self.reception {
            self.next_at = self.next_at.min(reception.next_at());
        }
    }

    /// Takes in the packets that have waited at a host until now.
    #[inline(never)]
    pub(super) fn take_in<C: Calendar>(&mut self, fabric: &mut Fabric<C>, now: Time) {
        let bucket = self.bucket(now);
        let Some(reception) = &mut self.reception else {
            return;
        };
        // Units are on their way to a connection.
        let end = Time::from_ps((bucket + 1) << self.rules.width);
        self.progress_at = self.progress_at.max(end);
        if let Some(host) = reception.next_interrupt(now) {
            self.interrupt(fabric, host, now);
        } else if let Some(unit) = reception.next_unit(now) {
            self.deliver_unit(fabric, unit, now);
        }
    }

    /// Handles a card's interrupt: its waiting packets enter the stack.
    fn interrupt<C: Calendar>(&mut self, fabric: &mut Fabric<C>, host: u32, now: Time) {
        let Some(mut reception) = self.reception.take() else {
            return;
        };
        let mut units = std::mem::take(&mut reception.units);
        let takes_time = reception.takes_time();
        reception.merge(host, &mut fabric.packets, |reception, unit| {
            if takes_time {
                reception.go_through(host, unit, now);
            } else {
                units.push(unit);
            }
        });
        for unit in units.drain(..) {
            self.deliver_unit(fabric, unit, now);
        }
        reception.units = units;
        self.reception = Some(reception);
    }

    /// Delivers a unit to its connection.
    #[inline(never)]
    fn deliver_unit<C: Calendar>(&mut self, fabric: &mut Fabric<C>, unit: Unit, now: Time) {
        if unit.segments == 1 {
            let arrival = Arrival { at: now, target: 0, packet: unit.packet };
            self.deliver(fabric, &arrival);
            return;
        }
        let mut packet = fabric.packets.take(unit.packet);
        let end = packet.end();
        self.tally.delivered += u64::from(unit.segments);
        let connection = &mut self.connections[end.slot()];
        connection.in_flight -= unit.segments.cast_signed();
        if let Ends::Tcp(ends) = &mut connection.ends
            && let Some(header) = packet.arrived_tcp()
        {
            ends[end.side() as usize].on_merged(header, unit.segments, now);
        }
        self.go_on(fabric, end, now);
    }
}

#[cfg(test)]
mod tests {
    use tidegate_dataplane::Pkt;
    use tidegate_transport::Seq;
    use tidegate_units::{Bytes, Ecn, FlowId};

    use super::*;
    use crate::packet::Headers;
    use crate::topology::star;

    fn tcp(packet: &mut Packet) -> &mut Header {
        packet.arrived_tcp().unwrap()
    }

    /// A segment of 1000 bytes to the first connection with this number.
    fn segment(number: u32) -> Packet {
        Packet {
            pkt: Pkt { flow: FlowId(1), ..Pkt::default() },
            headers: Headers::tcp(Header {
                seq: Seq(u32::MAX - 1500) + number * 1000,
                ack: Seq(7),
                len: 1000,
                window: 1 << 20,
                flags: Flags::ACK,
                ecn: Ecn::Ect0,
            }),
            ..Packet::default()
        }
    }

    fn with(number: u32, change: impl FnOnce(&mut Packet)) -> Packet {
        let mut packet = segment(number);
        change(&mut packet);
        packet
    }

    /// Connection, segments and bytes of each unit that an interrupt with these packets gives.
    fn units(most: u64, arrivals: &[Packet]) -> Vec<(u32, u32, u32)> {
        let mut setup = Setup::new(star::Config::default().build().unwrap(), Vec::new());
        setup.host_receive.gro = Some(Bytes(most));
        setup.host_receive.interrupt_delay = Span::from_us(10);
        let mut reception = Reception::new(&setup);
        let mut packets = Slab::new();
        let link = setup.network.links().iter();
        let link = link.clone().position(|link| link.to.0 == 1).unwrap() as u32;
        for packet in arrivals {
            let id = packets.insert(*packet);
            assert_eq!(reception.wait(id, link, Time::from_us(3)), None);
        }
        assert_eq!(reception.next_at(), Time::from_us(13));
        assert_eq!(reception.next_interrupt(Time::from_us(13)), Some(1));
        let mut units = Vec::new();
        let mut merged = Vec::new();
        reception.merge(1, &mut packets, |_, unit| merged.push(unit));
        for unit in merged {
            let len = packets.take(unit.packet).payload();
            units.push((unit.end.0, unit.segments, len));
        }
        assert_eq!(reception.next_at(), Time::MAX);
        units
    }

    const KIB_64: u64 = 1 << 16;

    #[test]
    fn consecutive_segments_are_one_unit_up_to_the_limit() {
        let row: Vec<Packet> = (0..5).map(segment).collect();
        assert_eq!(units(KIB_64, &row), [(1, 5, 5000)]);
        assert_eq!(units(5000, &row), [(1, 5, 5000)]);
        assert_eq!(units(4999, &row), [(1, 4, 4000), (1, 1, 1000)]);
        assert_eq!(units(1, &row).len(), 5);
    }

    #[test]
    fn a_change_of_the_codepoint_ends_a_unit() {
        let ce = |packet: &mut Packet| packet.pkt.ecn = Ecn::Ce;
        let row = [segment(0), segment(1), with(2, ce), with(3, ce), segment(4)];
        assert_eq!(units(KIB_64, &row), [(1, 2, 2000), (1, 2, 2000), (1, 1, 1000)]);
    }

    #[test]
    fn a_gap_other_flags_another_ack_and_another_class_end_a_unit() {
        let flags = |packet: &mut Packet| tcp(packet).flags = Flags::ACK | Flags::ECE;
        let ack = |packet: &mut Packet| tcp(packet).ack = Seq(8);
        let class = |packet: &mut Packet| packet.class = 1;
        for second in [segment(2), with(1, flags), with(1, ack), with(1, class)] {
            let row = [segment(0), second];
            assert_eq!(units(KIB_64, &row), [(1, 1, 1000), (1, 1, 1000)]);
        }
        // Equal ones of these are merged.
        assert_eq!(units(KIB_64, &[with(0, flags), with(1, flags)]).len(), 1);
        // A duplicate is not the next segment.
        assert_eq!(units(KIB_64, &[segment(0), segment(0)]).len(), 2);
    }

    #[test]
    fn a_smaller_segment_is_the_last_of_a_unit_and_a_larger_one_starts_another() {
        let row = [
            segment(0),
            with(1, |packet| tcp(packet).len = 999),
            with(2, |packet| tcp(packet).seq = tcp(packet).seq - 1),
        ];
        assert_eq!(units(KIB_64, &row), [(1, 2, 1999), (1, 1, 1000)]);
        let row = [segment(0), with(1, |packet| tcp(packet).len = 1001)];
        assert_eq!(units(KIB_64, &row).len(), 2);
    }

    #[test]
    fn an_unmergeable_packet_ends_the_previous_unit() {
        let cwr = |packet: &mut Packet| tcp(packet).flags = Flags::ACK | Flags::CWR;
        let bare = |packet: &mut Packet| tcp(packet).len = 0;
        let spilled = |packet: &mut Packet| packet.spilled = 1;
        for (alone, len) in [(with(2, cwr), 1000), (with(2, bare), 0), (with(2, spilled), 1000)] {
            let row = [segment(0), segment(1), alone, segment(3), segment(4)];
            assert_eq!(units(KIB_64, &row), [(1, 2, 2000), (1, 1, len), (1, 2, 2000)]);
        }
    }

    #[test]
    fn connections_are_merged_side_by_side_and_leave_by_their_first_packet() {
        let other = |number| with(number, |packet| packet.pkt.flow = FlowId(3));
        let row = [segment(0), other(0), segment(1), other(1), segment(2)];
        assert_eq!(units(KIB_64, &row), [(1, 3, 3000), (3, 2, 2000)]);
        // The full unit leaves first.
        assert_eq!(units(2000, &row), [(1, 2, 2000), (3, 2, 2000), (1, 1, 1000)]);
    }
}
