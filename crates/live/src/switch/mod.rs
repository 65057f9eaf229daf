//! The switch: frames from its devices, through the dataplane's ports, back to its devices.
//!
//! Time is an argument here too. The caller alternates [`Switch::receive`] and
//! [`Switch::transmit`], each with the time of the call, and uses [`Switch::next_departure`] to
//! know how long it may sleep. A packet's arrival time comes from its device. It leaves at the time
//! of the call that sends it, which ends its sojourn.
//!
//! A flooded frame is copied, once for each port beyond the first, as often as [storm
//! control](crate::config::Options) permits. VLANs share one table of stations, and tags pass
//! unchanged. There is no spanning tree: [`Switch::maintain`] sends frames that detect loops.

mod cable;
mod port;
mod probe;
mod stall;
mod storm;

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

use tidegate_dataplane::buffer::AnyBuffer;
use tidegate_dataplane::classify::DscpMap;
use tidegate_dataplane::mark::AnyMarker;
use tidegate_dataplane::observe::Window;
use tidegate_dataplane::{Pkt, mark};
use tidegate_units::{ConfigError, Ecn, PktId, PortId, QueueId, Time};

use crate::config::{Checksums, Config, Count, OnLoop};
use crate::counters::{Counters, Loss, Pace};
use crate::device::{BURST, Device, Received, SHORT_BURST};
use crate::fdb::{self, Fdb};
use crate::frame::{self, Facts};
use crate::store::{FrameId, Refused, Store};
use cable::Cable;
use port::SwitchPort;
use probe::Prober;

pub use port::ObservedPort;
pub use probe::Loop;

/// A switch with devices of one kind.
#[derive(Debug)]
pub struct Switch<D> {
    devices: Vec<D>,
    core: Core,
}

/// The switch without its devices, which hand frames to it.
#[derive(Debug)]
struct Core {
    ports: Vec<SwitchPort>,
    /// Cables by port; empty if none is emulated.
    cables: Vec<Cable>,
    buffer: AnyBuffer,
    store: Store,
    fdb: Fdb,
    dscp: DscpMap,
    count: Count,
    checksums: Checksums,
    prober: Prober,
    on_loop: OnLoop,
    /// Loops that were found and not yet reported, at most one per port.
    found: VecDeque<Loop>,
}

/// Schemes of all ports of a switch, ready to be used.
#[derive(Debug)]
pub struct Markers(Vec<AnyMarker>);

impl Markers {
    /// Builds the scheme of `config` for each of its ports, or names the parameter that cannot be
    /// used.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let ports = ports(config)?;
        let markers = ports.iter().map(|port| port.marker_of(&config.marking));
        Ok(Self(markers.collect::<Result<_, _>>()?))
    }
}

fn ports(config: &Config) -> Result<Vec<SwitchPort>, ConfigError> {
    // Fewer than 256 ports.
    let ports = config.ports.iter().zip(0..);
    ports.map(|(port, number)| SwitchPort::new(config, port, PortId(number))).collect()
}

impl<D: Device> Switch<D> {
    /// Builds a switch with a device for each port of `config`, or names the setting that cannot be
    /// used.
    pub fn new(config: &Config, devices: Vec<D>) -> Result<Self, ConfigError> {
        config.check()?;
        if devices.len() != config.ports.len() {
            let allowed = format!("{}: one for each port", config.ports.len());
            return Err(ConfigError::out_of_range("devices", devices.len(), allowed));
        }
        let ports = ports(config)?;
        let count = ports.len() as u16;
        let limits = config.ports.iter().map(|port| port.stations);
        let limits: Vec<u32> = limits.map(|limit| limit.unwrap_or(fdb::NO_LIMIT)).collect();
        // Unknown to hosts that choose addresses.
        let key = RandomState::new().hash_one("stations");
        let queues = ports.first().map_or(1, SwitchPort::queues);
        let options = &config.options;
        Ok(Self {
            core: Core {
                buffer: config.buffer.build(count, queues)?,
                cables: cable::cables(config),
                ports,
                store: Store::new(options.frames, options.frame_size, count)?,
                fdb: Fdb::new(options.addresses, options.ageing, &limits, key)?,
                dscp: DscpMap::new(&config.dscp, queues)?,
                count: options.count,
                checksums: options.checksums,
                prober: Prober::new(options.probe_every),
                on_loop: options.on_loop,
                found: VecDeque::with_capacity(config.ports.len()),
            },
            devices,
        })
    }

    /// Forwards at most one burst of frames from each device, and a short one while packets wait at
    /// the port. Returns the number of frames.
    pub fn receive(&mut self, now: Time) -> usize {
        let Self { devices, core } = self;
        let is_waited_for = core.ports.iter().any(SwitchPort::holds_packets);
        let most = if is_waited_for { SHORT_BURST } else { BURST };
        let devices = devices.iter_mut().zip(0..);
        let count = |(device, port): (&mut D, u16)| {
            device.receive(now, most, |received| core.take(PortId(port), &received))
        };
        let received: usize = devices.map(count).sum();
        received + core.deliver(now)
    }

    /// Sends due frames, at most one burst per port. Returns the number of frames gone, sent or
    /// lost.
    pub fn transmit(&mut self, now: Time) -> usize {
        let Core { ports, buffer, store, .. } = &mut self.core;
        let ports = ports.iter_mut().zip(&mut self.devices);
        ports.map(|(port, device)| port.transmit(now, device, buffer, store)).sum()
    }

    /// Time at which the next packet is due, or arrives from an emulated cable; `None` if there is
    /// none.
    pub fn next_departure(&self) -> Option<Time> {
        let Core { ports, cables, .. } = &self.core;
        let departures = ports.iter().filter_map(SwitchPort::next_departure);
        departures.chain(cables.iter().filter_map(Cable::next_arrival)).min()
    }

    /// Starts observing all queues in this window of time. Earlier observations are discarded.
    pub fn observe(&mut self, window: Window) {
        for port in &mut self.core.ports {
            port.observe(window);
        }
    }

    /// Observations until `now`, by port; empty if none were requested.
    pub fn observed(&self, now: Time) -> Vec<ObservedPort> {
        let ports = self.core.ports.iter();
        ports.filter_map(|port| port.observed(now)).collect()
    }

    /// Checks links, stations and loops. Call it some times a second. Stations behind a link that
    /// went down are forgotten, because they may come back elsewhere.
    pub fn maintain(&mut self, now: Time) {
        let Core { ports, fdb, prober, on_loop, .. } = &mut self.core;
        let is_probed = *on_loop != OnLoop::Ignore && prober.begin_round(now);
        let ports = ports.iter_mut().zip(&mut self.devices);
        for ((port, device), id) in ports.zip((0..).map(PortId)) {
            let is_up = device.maintain();
            // Also stations learned between two moments in which the link was down.
            if !is_up && fdb.stations_at(id) > 0 {
                fdb.forget(id);
            }
            port.is_up = is_up;
            port.looping.expire(now);
            if is_probed && is_up {
                port.send_probe(&prober.frame(id), device);
            }
        }
        fdb.sweep(now);
    }

    /// A loop found since the last call, if any.
    pub fn take_loop(&mut self) -> Option<Loop> {
        self.core.found.pop_front()
    }

    /// Changes the scheme or its parameters and keeps waiting packets. The new scheme starts
    /// without the old one's state. On `Err` nothing has changed.
    pub fn set_marking(&mut self, marking: &mark::Config) -> Result<(), ConfigError> {
        let ports = self.core.ports.iter();
        let markers = ports.map(|port| port.marker_of(marking));
        let markers = markers.collect::<Result<Vec<_>, _>>()?;
        for (port, marker) in self.core.ports.iter_mut().zip(markers) {
            port.set_marker(marker);
        }
        Ok(())
    }

    /// Replaces the schemes of all ports by [prepared](Markers::new) ones, built for the same
    /// ports. Allocates nothing and keeps waiting packets.
    pub fn swap_markers(&mut self, markers: &mut Markers) {
        for (port, marker) in self.core.ports.iter_mut().zip(&mut markers.0) {
            port.swap_marker(marker);
        }
    }

    /// Pace of the ports since the last call, which restarts the count of lateness.
    pub(crate) fn take_paces(&mut self) -> impl Iterator<Item = Pace> {
        self.core.ports.iter_mut().map(SwitchPort::take_pace)
    }

    /// Frames received at each port without a checksum and forwarded without one.
    pub(crate) fn unchecked(&self) -> impl Iterator<Item = u64> {
        self.core.ports.iter().map(|port| port.tally.unchecked)
    }

    /// Counters of the switch.
    pub fn counters(&self, now: Time) -> Counters {
        let Core { ports, fdb, .. } = &self.core;
        let ports = ports.iter().zip(&self.devices);
        let mut ports: Vec<_> = ports.map(|(port, device)| port.counters(device)).collect();
        for (port, cable) in ports.iter_mut().zip(&self.core.cables) {
            port.held += cable.frames() as u64;
        }
        for (port, number) in ports.iter_mut().zip(0..) {
            port.stations = fdb.stations_at(PortId(number));
        }
        Counters {
            uptime_ns: now.as_ns(),
            ports,
            stations: fdb.stations(),
            evicted: fdb.evicted(),
            moved: fdb.moved(),
        }
    }

    /// The devices, by port.
    pub fn devices_mut(&mut self) -> &mut [D] {
        &mut self.devices
    }

    /// The devices, by port.
    pub fn devices(&self) -> &[D] {
        &self.devices
    }
}

impl Core {
    /// Stores and forwards a frame received by the device of `ingress`.
    #[inline]
    fn take(&mut self, ingress: PortId, received: &Received<'_>) {
        let &Received { bytes, tag, len, arrival, is_unfinished } = received;
        let port = &mut self.ports[ingress.index()];
        port.tally.received.add(len);
        if bytes.len() < len {
            port.lose(Loss::Oversized);
            return;
        }
        let id = match self.store.insert(bytes, tag) {
            Ok(id) => id,
            Err(Refused::Full) => return port.lose(Loss::NoMemory),
            Err(Refused::Oversized) => return port.lose(Loss::Oversized),
        };
        if is_unfinished {
            if self.checksums == Checksums::Finish
                && frame::finish_checksum(self.store.bytes_mut(id))
            {
                port.tally.finished += 1;
            } else {
                port.tally.unchecked += 1;
            }
        }
        match self.cables.get_mut(ingress.index()) {
            None => self.forward(id, ingress, arrival),
            Some(cable) => match self.store.claim(id, ingress) {
                Ok(()) => cable.push(id, arrival, self.count.bytes(bytes.len())),
                Err(_) => {
                    self.store.remove(id);
                    port.lose(Loss::NoMemory);
                }
            },
        }
    }

    /// Forwards frames that have arrived from emulated cables by `now`. Returns their number.
    #[inline]
    fn deliver(&mut self, now: Time) -> usize {
        let mut count = 0;
        for port in 0..self.cables.len() {
            while let Some((id, arrival)) = self.cables[port].pop(now) {
                // Fewer than 256 ports.
                self.forward(id, PortId(port as u16), arrival);
                count += 1;
            }
        }
        count
    }

    /// Finds the egress port of a frame that came in at `ingress`.
    #[inline]
    fn forward(&mut self, id: FrameId, ingress: PortId, arrival: Time) {
        let port = &mut self.ports[ingress.index()];
        let Some(facts) = frame::parse(self.store.bytes(id)) else {
            return self.lose(id, ingress, Loss::Runt);
        };
        if facts.source == self.prober.source()
            && let Some(sender) = self.prober.sender(self.store.bytes(id))
        {
            return self.find_loop(id, sender, ingress, arrival);
        }
        let looping = port.looping;
        if looping.blocked_until.is_some() {
            return self.lose(id, ingress, Loss::Blocked);
        }
        if looping.until.is_some() && self.came_back(&facts, ingress, arrival) {
            return self.lose(id, ingress, Loss::LoopStorm);
        }
        let port = &mut self.ports[ingress.index()];
        self.store.set_ip(id, facts.ip);
        if self.fdb.learn(facts.source, ingress, arrival).is_err() {
            return self.lose(id, ingress, Loss::StationLimit);
        }
        let known = if facts.destination.is_group() {
            None
        } else {
            self.fdb.lookup(facts.destination, arrival)
        };
        match known {
            Some(egress) if egress != ingress => {
                if looping.until.is_some() && !self.may_go_round(ingress, egress, arrival) {
                    return self.lose(id, ingress, Loss::LoopStorm);
                }
                self.offer(id, &facts, ingress, egress, arrival);
            }
            None if !facts.destination.is_link_local() => self.flood(id, &facts, ingress, arrival),
            _ => {
                port.tally.filtered += 1;
                self.store.remove(id);
            }
        }
    }

    #[cold]
    fn lose(&mut self, id: FrameId, port: PortId, loss: Loss) {
        self.store.remove(id);
        self.ports[port.index()].lose(loss);
    }

    /// Whether a frame at a port in a loop is a copy of a frame that came in elsewhere: its station
    /// was seen at a port that is in no loop.
    #[cold]
    fn came_back(&self, facts: &Facts, ingress: PortId, arrival: Time) -> bool {
        let port = self.fdb.lookup(facts.source, arrival);
        port.is_some_and(|port| port != ingress && self.ports[port.index()].looping.until.is_none())
    }

    /// Whether a frame from a port in a loop may leave: through another port in a loop only a few
    /// may, otherwise a frame for a station that the loop has misplaced would circulate forever.
    #[cold]
    fn may_go_round(&mut self, ingress: PortId, egress: PortId, arrival: Time) -> bool {
        let is_looping = self.ports[egress.index()].looping.until.is_some();
        !is_looping || self.ports[ingress.index()].storm.admit_looping(arrival)
    }

    /// Handles a probe of `from` that came back at `to`.
    #[cold]
    fn find_loop(&mut self, id: FrameId, from: PortId, to: PortId, now: Time) {
        self.store.remove(id);
        let until = now + self.prober.loop_timeout();
        let port = &mut self.ports[to.index()];
        port.tally.filtered += 1;
        port.tally.loops += 1;
        let both = [from, to].map(PortId::index);
        let is_new = both.iter().any(|&port| self.ports[port].looping.until.is_none());
        for port in both {
            self.ports[port].looping.until = Some(until);
        }
        let blocked = (self.on_loop == OnLoop::Block).then(|| from.max(to));
        if let Some(port) = blocked {
            let looping = &mut self.ports[port.index()].looping;
            // Only once: a device that returns probes must not cause a search of the table for
            // each.
            if looping.blocked_until.replace(until).is_none() {
                self.fdb.forget(port);
            }
        }
        if is_new && self.found.len() < self.ports.len() {
            self.found.push_back(Loop { from, to, blocked });
        }
    }

    /// Offers a frame to every port except its ingress and blocked ports, if the limit of such
    /// frames permits.
    #[cold]
    fn flood(&mut self, id: FrameId, facts: &Facts, ingress: PortId, arrival: Time) {
        let port = &mut self.ports[ingress.index()];
        let is_looping = port.looping.until.is_some();
        if let Err(loss) = port.storm.admit(facts.destination, arrival, is_looping) {
            return self.lose(id, ingress, loss);
        }
        // Fewer than 256 ports.
        let others = (0..self.ports.len() as u16).map(PortId);
        let mut last = None;
        for egress in others.filter(|&egress| egress != ingress) {
            if self.ports[egress.index()].looping.blocked_until.is_some() {
                continue;
            }
            if let Some(before) = last.replace(egress) {
                self.ports[ingress.index()].tally.flooded += 1;
                match self.store.copy(id) {
                    Ok(copy) => self.offer(copy, facts, ingress, before, arrival),
                    Err(_) => self.ports[before.index()].lose(Loss::NoMemory),
                }
            }
        }
        if let Some(last) = last {
            self.offer(id, facts, ingress, last, arrival);
        } else {
            self.ports[ingress.index()].tally.filtered += 1;
            self.store.remove(id);
        }
    }

    /// Offers a frame to a port.
    #[inline]
    fn offer(
        &mut self,
        id: FrameId,
        facts: &Facts,
        ingress: PortId,
        egress: PortId,
        arrival: Time,
    ) {
        if self.store.claim(id, egress).is_err() {
            return self.lose(id, egress, Loss::NoMemory);
        }
        let pkt = Pkt {
            len: self.count.bytes(self.store.bytes(id).len()),
            flow: facts.flow,
            ecn: facts.ip.map_or(Ecn::NotEct, frame::Ip::ecn),
            ingress: ingress.0,
            rank: 0,
        };
        let class = facts.ip.map_or(0, |ip| ip.class);
        let queue: QueueId = self.dscp.queue(class);
        let port = &mut self.ports[egress.index()];
        if !port.enqueue(PktId(id.0), pkt, queue, arrival, &mut self.buffer) {
            self.store.remove(id);
        }
    }
}

#[cfg(test)]
mod tests;
