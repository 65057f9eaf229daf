//! Start of flows: on an idle connection, or on a new one, whose route is written into the
//! network's table.

use std::cmp::Reverse;
use std::ops::Range;

use tidegate_transport::pias::Pias;
use tidegate_units::{ByteTime, Rng, Span, Time};

use super::{CHUNK, DELAY_STREAM, ENDLESS, Hosts, PATH_STREAM, Wake, transport_of};
use crate::calendar::Calendar;
use crate::connection::{Connection, Ends, Pace, Prober, Writer};
use crate::fabric::Fabric;
use crate::network::HostId;
use crate::packet::{EndId, Side};
use crate::setup::{Delayed, HostDelay, Opening};

/// A flow that has started, for other parts of the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) slot: u32,
    pub(crate) flow: u32,
    /// Whether its connection is new.
    pub(crate) is_new: bool,
}

/// Largest flow whose waiting time at its host is measured: no convention calls a larger one small.
const MEASURED: u64 = 100 << 10;

/// Choice of a flow's path.
#[derive(Clone, Copy)]
enum Choice {
    Hash(u64),
    Named(u32),
}

impl Hosts {
    /// Starts the next flow of the list.
    pub(super) fn start<C: Calendar>(&mut self, fabric: &mut Fabric<C>) {
        let number = self.started;
        self.started += 1;
        self.skip_others();
        self.tally.live += 1;
        let flow = self.flows[number];
        let now = flow.start;
        self.progress_at = self.progress_at.max(now);
        let idle = self.take_idle((flow.src, flow.dst));
        let slot = idle.unwrap_or_else(|| self.numbers.take(now.as_ps() >> self.rules.width));
        if idle.is_none() {
            self.open(slot, number);
            self.lay_for_flow(fabric, slot, number);
        }
        if self.home.is_some() {
            self.opened.push(Opened { slot, flow: number as u32, is_new: idle.is_none() });
        }
        let before = self.begin(slot, number);
        let end = EndId::new(slot, Side::Source);
        let connection = &mut self.connections[slot as usize];
        if let Some(tagging) = &mut connection.tagging {
            let unacked = before - connection.ends.arrived(Side::Source);
            tagging.on_write(before, unacked, now);
        }
        if connection.writer.is_some() {
            self.write_more(fabric, end, now);
        } else {
            connection.ends.write(flow.bytes.min(ENDLESS), now);
            self.pump(fabric, end, now);
        }
    }

    /// Takes an idle connection between two hosts, if connections are reused and there is one.
    fn take_idle(&mut self, pair: (HostId, HostId)) -> Option<u32> {
        if self.rules.opening != Opening::Persistent {
            return None;
        }
        let pair = self.pairs.entry(pair).or_default();
        pair.busy += 1;
        pair.idle.pop().map(|Reverse(slot)| slot)
    }

    /// Starts a flow on a connection. Returns its start in the stream.
    fn begin(&mut self, slot: u32, number: usize) -> u64 {
        let flow = self.flows[number];
        let connection = &mut self.connections[slot as usize];
        let bytes = flow.bytes.min(ENDLESS);
        let before = connection.flow_end;
        connection.flow = number as u32;
        connection.service = flow.service;
        connection.is_measured = !self.waits.is_empty() && flow.bytes <= MEASURED;
        connection.begin(before.saturating_add(bytes));
        let think = self.think_times.binary_search_by_key(&(number as u32), |&(flow, _)| flow);
        let think = think.ok().map(|place| self.think_times[place].1);
        if let Some(think) = think {
            connection.end_message(before, think.message);
        }
        let pace = match (flow.rate, think) {
            (Some(rate), _) => Some(Pace::Rate(ByteTime::new(rate))),
            (None, think) => think.map(Pace::ThinkTime),
        };
        connection.writer =
            pace.map(|pace| Box::new(Writer { left: bytes, next: flow.start, pace }));
        before
    }

    /// Records a flow that has started in another part of the network.
    pub(crate) fn on_opened(&mut self, opened: Opened) {
        let number = opened.flow as usize;
        let is_receiver = self.has(self.flows[number].dst);
        if opened.is_new && is_receiver {
            self.open(opened.slot, number);
        } else if opened.is_new {
            self.put(opened.slot, Connection::new(Ends::Elsewhere, 0));
        }
        if is_receiver {
            self.begin(opened.slot, number);
        }
    }

    /// Writes the next bytes of an application at a source.
    pub(super) fn write_more<C: Calendar>(
        &mut self,
        fabric: &mut Fabric<C>,
        end: EndId,
        now: Time,
    ) {
        let connection = &mut self.connections[end.slot()];
        // An application whose connection broke may have left a timer behind, whose slot now
        // belongs to another connection.
        let Some(writer) = connection.writer.as_mut().filter(|it| it.next == now) else {
            return;
        };
        let most = match writer.pace {
            Pace::ThinkTime(think) => think.message,
            Pace::Rate(_) => u64::from(CHUNK),
        };
        let bytes = writer.left.min(most);
        writer.left -= bytes;
        let next = match writer.pace {
            // The think time starts when the message has arrived.
            Pace::ThinkTime(_) => Time::MAX,
            Pace::Rate(byte_time) => now + byte_time.span(bytes as u32),
        };
        writer.next = next;
        let has_more = writer.left > 0;
        connection.ends.write(bytes, now);
        self.progress_at = self.progress_at.max(now);
        if has_more && next != Time::MAX {
            self.write_at(next, end);
        }
        self.pump(fabric, end, now);
    }

    /// Creates a connection for a flow.
    fn open(&mut self, slot: u32, number: usize) {
        let flow = self.flows[number];
        let numbers = path_hash(self.rules.seed, number);
        let transport = transport_of(&self.rules.transports, flow.group);
        let line = self.lines[flow.src.index()];
        let ends = Ends::new(transport, self.rules.opening, line, numbers)
            .expect("the settings were checked before the run");
        let tagging = self.rules.tagging.as_ref().map(|config| {
            Box::new(Pias::new(config).expect("the settings were checked before the run"))
        });
        let mut connection = Connection::new(ends, flow.service);
        connection.tagging = tagging;
        self.put(slot, connection);
    }

    /// Puts a connection into the table.
    fn put(&mut self, slot: u32, connection: Connection) {
        if let Some(queues) = &mut self.queues {
            queues.forget(EndId::new(slot, Side::Source));
            queues.forget(EndId::new(slot, Side::Sink));
        }
        let slot = slot as usize;
        while self.connections.len() < slot {
            self.connections.push(Connection::new(Ends::Elsewhere, 0));
        }
        if slot == self.connections.len() {
            self.connections.push(connection);
        } else {
            self.connections[slot] = connection;
        }
    }

    /// Writes the routes of a new connection into the table.
    fn lay_for_flow<C: Calendar>(&mut self, fabric: &mut Fabric<C>, slot: u32, number: usize) {
        let flow = self.flows[number];
        let delay = host_delay(&self.rules.host_delay, self.rules.seed, number);
        let delays = match self.rules.host_delay.packets {
            Delayed::Both => [delay; 2],
            Delayed::Data => [delay, Span::ZERO],
        };
        let choice = match self.paths.get(number) {
            Some(&choice) => Choice::Named(choice),
            None => Choice::Hash(path_hash(self.rules.seed, number)),
        };
        self.lay(fabric, slot, (flow.src, flow.dst), choice, delays);
    }

    /// Position of a connection's routes in the table.
    pub(crate) const fn route_words(&self, slot: u32) -> Range<usize> {
        let stride = self.rules.stride as usize;
        let begin = EndId::new(slot, Side::Source).0 as usize * stride;
        begin..begin + 2 * stride
    }

    /// Starts the series of probes, which have the first slots of the table.
    pub(crate) fn start_probes<C: Calendar>(&mut self, fabric: &mut Fabric<C>) {
        for (number, probe) in std::mem::take(&mut self.probes).into_iter().enumerate() {
            let prober = Prober {
                every: probe.every,
                next: probe.start,
                left: probe.count,
                // Both fit, as checked with the setup.
                bytes: probe.bytes as u16,
                size: self.rules.accounting.size_of_ip(probe.bytes) as u16,
                hosts: (probe.src, probe.dst),
                to_answer: None,
                round_trips: Vec::new(),
            };
            let ends = Ends::Prober(Box::new(prober));
            let slot = number as u32;
            let mut connection = Connection::new(ends, probe.class);
            connection.armed[Side::Source as usize] = probe.start;
            self.put(slot, connection);
            let choice = Choice::Hash(u64::from(slot));
            self.lay(fabric, slot, (probe.src, probe.dst), choice, [Span::ZERO; 2]);
            if self.has(probe.src) {
                self.arm(probe.start, Wake::transport(EndId::new(slot, Side::Source)));
            }
        }
    }

    /// Writes the routes of a connection into the table, in both directions.
    fn lay<C: Calendar>(
        &mut self,
        fabric: &mut Fabric<C>,
        slot: u32,
        (src, dst): (HostId, HostId),
        choice: Choice,
        delays: [Span; 2],
    ) {
        let stride = self.rules.stride as usize;
        fabric.make_room_for_routes(self.route_words(slot).end);
        for (side, from, to, delay) in
            [(Side::Sink, src, dst, delays[0]), (Side::Source, dst, src, delays[1])]
        {
            match choice {
                Choice::Hash(hash) => self.routes.path(from, to, hash, &mut self.path),
                Choice::Named(choice) => {
                    let found = self.routes.path_by_choice(from, to, choice, 0, &mut self.path);
                    found.expect("the choices were checked before the run");
                }
            }
            let begin = EndId::new(slot, side).0 as usize * stride;
            let last = self.path.last().expect("a route has a link");
            let delay = (fabric.delay(*last) + delay).as_ps();
            let delay = [delay as u32, (delay >> 32) as u32];
            let words = self.path.iter().map(|link| link.0).chain(delay);
            for (out, word) in fabric.routes[begin..].iter_mut().zip(words) {
                *out = word;
            }
        }
    }
}

/// Number that chooses the path of a flow's connection.
pub(crate) fn path_hash(seed: u64, flow: usize) -> u64 {
    Rng::new(seed, PATH_STREAM + flow as u64).next_u64()
}

/// Delay that hosts add to a flow's packets.
pub(crate) fn host_delay(delays: &HostDelay, seed: u64, flow: usize) -> Span {
    let values = &delays.values;
    if values.is_empty() {
        return Span::ZERO;
    }
    let draw = Rng::new(seed, DELAY_STREAM + flow as u64).next_u32();
    let index = (u64::from(draw) * values.len() as u64) >> 32;
    values[index as usize]
}
