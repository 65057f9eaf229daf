//! Input of a run.

use std::num::NonZeroUsize;
use std::sync::Arc;

use tidegate_dataplane::mark::{self, custom};
use tidegate_dataplane::{NonEct, buffer, sched};
use tidegate_transport::cc::{self, CongestionControl, CwndParams};
use tidegate_transport::config::{Qdisc, Reader};
use tidegate_transport::pias;
use tidegate_transport::protocol;
use tidegate_units::{Bytes, ConfigError, Span, Time, choices, settings};

use crate::flow::Flow;
use crate::flow_control;
use crate::hosts::path_hash;
use crate::network::{Link, LinkId, Network};
use crate::observe::Observe;
use crate::observe::link::PAUSE_FRAME;
use crate::routes::{Ecmp, Routes};
use crate::workload::Probe;

/// Setup of a run: the network, the behaviour of its ports and hosts, and its traffic.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Hosts, switches and links.
    pub network: Network,
    /// Flows sent by the hosts, by start time.
    pub flows: Vec<Flow>,
    /// Path of each flow, as the choice at the first switch that has one: one number per flow, also
    /// for its ACKs. Empty: by hash.
    pub paths: Vec<u32>,
    /// Flows that are sent as messages with think times, by number, ascending; the others are sent
    /// without pauses.
    pub think_times: Vec<(u32, ThinkTime)>,
    /// Pings, which are not flows.
    pub probes: Vec<Probe>,
    /// Ports of the switches.
    pub switch: Ports,
    /// A scheme that is not part of the library, which replaces the scheme of the switches' ports.
    pub custom: Option<Arc<dyn custom::Make>>,
    /// Flow control of switches, if they hold back upstream nodes by other means than a lossless
    /// buffer.
    pub flow_control: Option<flow_control::Config>,
    /// Ports of the hosts. `None`: queues by the transports' `qdisc`, either one per connection
    /// (`fq`), or an ideal unlimited FIFO (`fifo`).
    pub nic: Option<Ports>,
    /// Transports of the hosts. A flow of group `n` uses the transport with that number, or the
    /// last.
    pub transports: Vec<Transport>,
    /// Bytes that a packet counts.
    pub accounting: Accounting,
    /// Connection used by a flow.
    pub opening: Opening,
    /// PIAS tags, which select the first queues.
    pub tagging: Option<pias::Config>,
    /// Delay that hosts add to packets.
    pub host_delay: HostDelay,
    /// Processing of received packets at hosts.
    pub host_receive: HostReceive,
    /// Choice of switches between paths of equal length.
    pub ecmp: Ecmp,
    /// Observations besides the results.
    pub observe: Observe,
    /// End of the run.
    pub stop: Stop,
    /// Seed of all randomness.
    pub seed: u64,
    /// Number of threads, if the network has as many switches with hosts. The outcome does not
    /// depend on it.
    pub threads: NonZeroUsize,
}

/// Think times of an application within a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThinkTime {
    /// Bytes that it writes at once.
    pub message: u64,
    /// Time from the last ACK of a message to the next write.
    pub pause: Span,
}

/// Settings shared by the ports of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Ports {
    /// Marking scheme: which packets are marked.
    pub marking: mark::Config,
    /// Scheduler: which packet leaves next.
    pub scheduling: sched::Config,
    /// Buffer of the whole node: which packets are stored.
    pub buffer: buffer::Config,
    /// Treatment of packets that cannot be marked.
    pub non_ect: NonEct,
}

/// Transport between two hosts.
#[derive(Clone, Debug)]
pub enum Transport {
    /// Any other.
    Other(Box<protocol::Config>),
    /// TCP, with a stack for each end.
    Tcp(Box<Tcp>),
}

impl Transport {
    /// A transport other than TCP with these parameters.
    pub fn other(config: impl Into<protocol::Config>) -> Self {
        Self::Other(Box::new(config.into()))
    }

    /// The TCP of both ends, if it is one.
    pub fn tcp(&self) -> Option<&Tcp> {
        match self {
            Self::Other(_) => None,
            Self::Tcp(tcp) => Some(tcp),
        }
    }

    /// Payload of the sender's full packets.
    pub fn payload(&self) -> u32 {
        match self {
            Self::Other(config) => config.payload(),
            Self::Tcp(tcp) => tcp.source.config.mss.into(),
        }
    }

    /// The largest payload of a packet, of either end.
    pub(crate) fn largest_payload(&self) -> u32 {
        let answers = self.tcp().map_or(0, |tcp| tcp.sink.config.mss.into());
        self.payload().max(answers)
    }
}

impl Tcp {
    /// The settings of both ends.
    pub(crate) const fn configs(&self) -> [&tidegate_transport::Config; 2] {
        [&self.source.config, &self.sink.config]
    }

    /// Whether an end paces its packets, with timers of any length.
    pub(crate) fn is_paced(&self) -> bool {
        let needs_pacing = |stack: &Stack| {
            let built = stack.cc.build(&CwndParams::new(&stack.config));
            built.is_ok_and(|cc| cc.needs().pacing)
        };
        needs_pacing(&self.source) || needs_pacing(&self.sink)
    }
}

/// Stacks of both ends of a flow.
#[derive(Clone, Debug)]
pub struct Tcp {
    /// The sender's stack.
    pub source: Stack,
    /// The receiver's stack.
    pub sink: Stack,
}

/// TCP stack of a host.
#[derive(Clone, Debug)]
pub struct Stack {
    /// Settings except the congestion control.
    pub config: tidegate_transport::Config,
    /// Congestion control.
    pub cc: cc::Config,
}

/// Bytes that a packet counts in queues and on wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accounting {
    /// Bytes of headers and framing of every packet, in addition to its payload.
    pub per_packet: u16,
    /// Minimum size: a shorter packet counts as this long.
    pub least: u16,
}

impl Default for Accounting {
    /// IP lengths: 40 bytes of headers, as in ns-2.
    fn default() -> Self {
        Self { per_packet: 40, least: 0 }
    }
}

impl Accounting {
    /// Ethernet with its preamble and gap: 38 bytes around the IP packet, at least 84.
    pub const ETHERNET: Self = Self { per_packet: 78, least: 84 };

    /// Size of a packet with this payload.
    #[inline]
    pub const fn size(self, payload: u32) -> u32 {
        let size = payload + self.per_packet as u32;
        if size < self.least as u32 { self.least as u32 } else { size }
    }

    /// Size of an IP packet of this length, with any headers. At least one byte.
    pub fn size_of_ip(self, len: u32) -> u32 {
        let size = (len + u32::from(self.per_packet)).saturating_sub(TCP_IP);
        size.max(u32::from(self.least)).max(1)
    }
}

/// Bytes of TCP and IP headers.
const TCP_IP: u32 = 40;

choices! {
    /// Connection used by a flow.
    pub enum Opening {
        /// A new connection, with a handshake before the first byte.
        Handshake = "handshake",
        /// An idle connection that this pair of hosts has used before, otherwise a new one with a
        /// completed handshake.
        Persistent = "persistent",
        /// A new connection with a completed handshake.
        Ready = "ready",
    }
}

settings! {
    /// Delay that the receiving host adds to each packet of a flow: processing in the stack, a
    /// hypervisor or a load balancer. It spreads the round-trip times of flows.
    pub struct HostDelay {
        /// Values from which a flow's delay is drawn, all equally likely. Empty: no delay. A fitted
        /// distribution is a list of its quantiles.
        pub values: Vec<Span> = Vec::new(),
        /// Packets that are delayed.
        pub packets: Delayed = Delayed::Data,
    }
}

choices! {
    /// Packets of a flow that its host delay affects.
    pub enum Delayed {
        /// Packets in both directions, each by the whole delay.
        Both = "both",
        /// Only data, as the delay queue of ECN♯'s simulator does.
        Data = "data",
    }
}

settings! {
    /// Processing of received packets at a host, after its host delay: interrupts of its network
    /// card, merging of packets, and time in the stack. All of it is off by default. Packets of
    /// transports other than TCP, which a card handles itself, and pause frames are not affected.
    pub struct HostReceive {
        /// Receive offload: consecutive segments of a connection within one interrupt are merged up
        /// to this much payload, or `none`. Linux: 64KiB.
        pub gro: Option<Bytes> = None,
        /// Longest time from the first packet to the interrupt (`rx-usecs` of ethtool). 0: at once.
        pub interrupt_delay: Span = Span::ZERO,
        /// Number of packets that raise an interrupt at once (`rx-frames` of ethtool), or `none`.
        pub interrupt_frames: Option<u32> = None,
        /// Time in the stack for each packet or merged unit.
        pub packet_time: Span = Span::ZERO,
        /// Jitter of that time: drawn for each, uniformly up to this value, from a stream of the
        /// host's own. Packets of a connection do not overtake each other.
        pub jitter: Span = Span::ZERO,
    }
}

impl HostReceive {
    /// Whether packets go from the wire to their connections without delay.
    pub(crate) fn is_off(&self) -> bool {
        self.interrupt_delay == Span::ZERO
            && self.packet_time == Span::ZERO
            && self.jitter == Span::ZERO
    }

    /// Checks the settings and names the first that cannot be used.
    pub fn check(&self) -> Result<(), ConfigError> {
        let waits = self.interrupt_delay > Span::ZERO;
        if let Some(gro) = self.gro.filter(|gro| gro.0 == 0 || gro.0 > MAX_MERGED || !waits) {
            let allowed = "1 B to 1 GiB with an interrupt_delay above 0s: only packets of one interrupt \
                           are merged";
            return Err(ConfigError::out_of_range("gro", gro, allowed));
        }
        if let Some(frames) = self.interrupt_frames.filter(|&frames| frames == 0 || !waits) {
            let allowed = "at least 1, with an interrupt_delay above 0s";
            return Err(ConfigError::out_of_range("interrupt_frames", frames, allowed));
        }
        let longest = self.interrupt_delay.max(self.packet_time).max(self.jitter);
        if longest > MAX_HOST_TIME {
            let field = if self.interrupt_delay == longest {
                "interrupt_delay"
            } else if self.packet_time == longest {
                "packet_time"
            } else {
                "jitter"
            };
            return Err(ConfigError::out_of_range(field, longest, "at most 1s"));
        }
        Ok(())
    }
}

/// Limit of merged payload, so that sequence numbers stay unambiguous.
const MAX_MERGED: u64 = 1 << 30;

/// Limit of a host's time for a packet, and of its delay before an interrupt.
const MAX_HOST_TIME: Span = Span::from_secs(1);

/// End of a run: the first of these conditions. It always ends when every flow that can finish has
/// finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Time limit.
    pub at: Time,
    /// Number of finished flows.
    pub finished: Option<u32>,
    /// Time without any delivery although flows wait.
    pub stalled: Span,
}

impl Default for Stop {
    /// Ends when every flow is finished, or after two minutes without progress: TCP waits for at
    /// most one minute.
    fn default() -> Self {
        Self { at: Time::MAX, finished: None, stalled: Span::from_secs(120) }
    }
}

/// Direction of a connection's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Data.
    There,
    /// ACKs.
    Back,
}

impl Setup {
    /// Routes of the network, with the run's choice among equal ones.
    pub fn routes(&self) -> Result<Routes, ConfigError> {
        Ok(Routes::new(&self.network)?.with_ecmp(self.ecmp))
    }

    /// Links on the path of a flow that has a connection of its own, by the
    /// [`routes`](Self::routes) of this setup.
    ///
    /// # Panics
    ///
    /// If the flow does not exist.
    pub fn path(&self, routes: &Routes, flow: u32, way: Way) -> Result<Vec<LinkId>, ConfigError> {
        let number = flow as usize;
        let flow = &self.flows[number];
        let (from, to) = match way {
            Way::There => (flow.src, flow.dst),
            Way::Back => (flow.dst, flow.src),
        };
        let mut path = Vec::new();
        match self.paths.get(number) {
            None => routes.path(from, to, path_hash(self.seed, number), &mut path),
            Some(&choice) => routes.path_by_choice(from, to, choice, 0, &mut path)?,
        }
        Ok(path)
    }

    /// A run of these flows with common defaults: FIFO ports of 300 KB that mark above 65 packets,
    /// DCTCP on connections that are already open, and seed 1.
    ///
    /// # Panics
    ///
    /// Never: the names belong to existing parts.
    pub fn new(network: Network, flows: Vec<Flow>) -> Self {
        let known = "the name of a part";
        let mut buffer = buffer::Config::named("per-port").expect(known);
        buffer.set("limit", "300KB").expect(known);
        let mut marking = mark::Config::named("queue-red").expect(known);
        marking.set("threshold", "65pkts").expect(known);
        let stack = Stack {
            config: tidegate_transport::Config::profile("tcn-sim").expect(known),
            cc: cc::Config::named("dctcp").expect(known),
        };
        let mut setup = Self {
            network,
            flows,
            paths: Vec::new(),
            think_times: Vec::new(),
            probes: Vec::new(),
            switch: Ports {
                marking,
                scheduling: sched::Config::named("fifo").expect(known),
                buffer,
                non_ect: NonEct::Pass,
            },
            custom: None,
            flow_control: None,
            nic: None,
            transports: Vec::new(),
            accounting: Accounting::default(),
            opening: Opening::Ready,
            tagging: None,
            host_delay: HostDelay::default(),
            host_receive: HostReceive::default(),
            ecmp: Ecmp::PerNode,
            observe: Observe::default(),
            stop: Stop::default(),
            seed: 1,
            threads: NonZeroUsize::MIN,
        };
        setup.set_tcp(&stack);
        setup
    }

    /// Makes all hosts use this TCP, as senders and as receivers.
    pub fn set_tcp(&mut self, stack: &Stack) {
        let tcp = Tcp { source: stack.clone(), sink: stack.clone() };
        self.transports = vec![Transport::Tcp(Box::new(tcp))];
    }

    /// Checks everything that can be checked before the run is built.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.network.check()?;
        if self.transports.is_empty() {
            return Err(ConfigError::out_of_range("transports", 0, "at least one"));
        }
        self.check_stop()?;
        self.host_receive.check()?;
        if self.shortest(|_| true) == Span::ZERO {
            let allowed = "links on which a packet without payload takes some time";
            return Err(ConfigError::out_of_range("accounting", "0s", allowed));
        }
        self.check_pauses()?;
        let hosts = self.network.hosts();
        for (index, flow) in self.flows.iter().enumerate() {
            let problem = if flow.src.0 >= hosts || flow.dst.0 >= hosts {
                let allowed = format!("hosts 0 to {}", hosts - 1);
                Some(("host", format!("{} to {}", flow.src, flow.dst), allowed))
            } else if flow.src == flow.dst {
                let allowed = "two different hosts".to_owned();
                Some(("host", format!("{} to itself", flow.src), allowed))
            } else if flow.bytes == 0 {
                Some(("bytes", "0".to_owned(), "at least 1".to_owned()))
            } else {
                None
            };
            if let Some((field, found, allowed)) = problem {
                let found = format!("{found} (flow {index})");
                return Err(ConfigError::out_of_range(field, found, allowed));
            }
        }
        if !self.paths.is_empty() && self.paths.len() != self.flows.len() {
            let allowed = format!("{}: one for each flow", self.flows.len());
            return Err(ConfigError::out_of_range("paths", self.paths.len(), allowed));
        }
        for (flow, ThinkTime { message, pause }) in &self.think_times {
            if *flow as usize >= self.flows.len() || *message == 0 || *pause == Span::ZERO {
                let found = format!("{message} bytes and {pause} (flow {flow})");
                let allowed = "a flow that exists, with messages and think times above zero";
                return Err(ConfigError::out_of_range("think_times", found, allowed));
            }
        }
        if !self.think_times.is_sorted_by_key(|(flow, _)| flow) {
            let allowed = "in the order of their flows";
            return Err(ConfigError::out_of_range("think_times", "out of order", allowed));
        }
        for probe in &self.probes {
            if probe.src.0 >= hosts || probe.dst.0 >= hosts || probe.src == probe.dst {
                let found = format!("{} to {}", probe.src, probe.dst);
                let allowed = format!("two different hosts of 0 to {}", hosts - 1);
                return Err(ConfigError::out_of_range("probe", found, allowed));
            }
            let most = u32::from(u16::MAX);
            let fits = probe.bytes <= most && self.accounting.size_of_ip(probe.bytes) <= most;
            if probe.every == Span::ZERO || !fits {
                let allowed = "an interval above zero and at most 65535 bytes, with framing";
                return Err(ConfigError::out_of_range("probe", probe.bytes, allowed));
            }
        }
        if !self.flows.is_sorted_by_key(|flow| flow.start) {
            let allowed = "flows in the order of their start";
            return Err(ConfigError::out_of_range("flows", "out of order", allowed));
        }
        self.observe.check(self)?;
        let stacks = self.transports.iter().filter_map(Transport::tcp).map(Tcp::configs);
        if stacks.flatten().any(|stack| stack.reader == Reader::Manual) {
            let allowed = "immediate, because the simulated applications do not read";
            return Err(ConfigError::out_of_range("reader", "manual", allowed));
        }
        self.transports.iter().try_for_each(|transport| {
            let payload = transport.largest_payload();
            if self.accounting.size(payload) > u32::from(u16::MAX) {
                let allowed = "payload and headers of at most 65535 bytes";
                return Err(ConfigError::out_of_range("mss", payload, allowed));
            }
            Ok(())
        })
    }

    /// Checks that hosts can be paused if switches pause them, and do not pause others themselves.
    fn check_pauses(&self) -> Result<(), ConfigError> {
        if let Some(flow_control) = &self.flow_control {
            flow_control.check(self)?;
        }
        match &self.nic {
            None if self.sends_pauses() => {
                let allowed = "ports, which can be paused, at lossless switches";
                return Err(ConfigError::out_of_range("nic", "none", allowed));
            }
            Some(nic) if is_lossless(&nic.buffer) => {
                let allowed = "a buffer without ingress accounting, because hosts forward nothing";
                return Err(ConfigError::out_of_range("nic", "pfc", allowed));
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks that the run ends.
    fn check_stop(&self) -> Result<(), ConfigError> {
        if self.stop.stalled == Span::ZERO {
            return Err(ConfigError::out_of_range("stalled", "0s", "more than zero"));
        }
        if self.stop.finished == Some(0) {
            let allowed = "at least one flow";
            return Err(ConfigError::out_of_range("finished", 0, allowed));
        }
        if self.flows.is_empty() && self.stop.at == Time::MAX {
            let allowed = "at least one, or a time at which to stop";
            return Err(ConfigError::out_of_range("flows", 0, allowed));
        }
        let endless = self.flows.iter().all(|flow| flow.bytes == Flow::ENDLESS);
        if endless && self.stop.at == Time::MAX {
            let allowed = "a time, because no flow ends by itself";
            return Err(ConfigError::out_of_range("stop", "none", allowed));
        }
        Ok(())
    }

    /// Shortest time from the start of a packet on one of these links to its arrival. The nodes
    /// before the links cannot affect those behind them sooner.
    pub(crate) fn shortest(&self, is_meant: impl Fn(&Link) -> bool) -> Span {
        let probes = self.probes.iter();
        let sizes = probes.map(|probe| self.accounting.size_of_ip(probe.bytes));
        let mut least = sizes.fold(self.accounting.size(0), u32::min);
        if self.sends_pauses() {
            least = least.min(PAUSE_FRAME);
        }
        let links = self.network.links().iter();
        let meant = links.filter(|link| is_meant(link));
        let spans = meant.map(|link| link.delay + link.rate.time_for(least));
        spans.min().unwrap_or(Span::ZERO)
    }

    /// Length of the longest packet.
    pub(crate) fn longest_packet(&self) -> u32 {
        let payloads = self.transports.iter().map(Transport::largest_payload);
        let probes = self.probes.iter();
        let pings = probes.map(|probe| self.accounting.size_of_ip(probe.bytes));
        let sizes = payloads.map(|payload| self.accounting.size(payload));
        sizes.chain(pings).fold(self.accounting.size(0), u32::max)
    }

    /// Longest time that a packet usually spends on a link and in the host behind it.
    pub(crate) fn horizon(&self) -> Span {
        let links = self.network.links().iter();
        let spans = links.map(|link| link.delay + link.rate.time_for(u32::from(u16::MAX)));
        let host = self.host_delay.values.iter().max();
        spans.max().unwrap_or(Span::ZERO) + host.copied().unwrap_or_default()
    }

    /// Whether a decision at one port of a switch depends on events at its other ports, because
    /// they share a pool that limits them or that the scheme reads, or hold back the same
    /// neighbours. A host has only one port.
    pub(crate) fn has_coupled_ports(&self) -> bool {
        use buffer::Config::{PerPort, PerQueue, Unlimited};
        let is_shared = !matches!(self.switch.buffer, PerPort(_) | PerQueue(_) | Unlimited(_));
        let mut links = self.network.links().iter();
        let has_switch = links.any(|link| !self.network.is_host(link.from));
        let is_held_back = self.flow_control.is_some();
        has_switch && (is_shared || is_held_back || self.switch.marking.reads_pool())
    }

    /// Whether hosts have a queue for each connection.
    pub fn has_fair_hosts(&self) -> bool {
        let mut tcps = self.transports.iter().filter_map(Transport::tcp);
        let is_fair = |tcp: &Tcp| tcp.configs().iter().any(|config| config.qdisc == Qdisc::Fq);
        self.nic.is_none() && tcps.any(is_fair)
    }

    /// Whether hosts are unlimited FIFOs.
    pub fn has_ideal_hosts(&self) -> bool {
        self.nic.is_none() && !self.has_fair_hosts()
    }

    /// Whether the queue of a host that needs no queue is observed.
    pub(crate) fn observes_ideal_hosts(&self) -> bool {
        let is_of_host = |link: LinkId| self.network.is_host(self.network.link(link).from);
        self.has_ideal_hosts() && self.observe.named_ports().any(is_of_host)
    }

    /// Whether switches pause their neighbours.
    pub fn sends_pauses(&self) -> bool {
        self.has_lossless_buffer() || self.flow_control.is_some()
    }

    /// Whether they pause because of the bytes in their buffers.
    pub(crate) fn has_lossless_buffer(&self) -> bool {
        is_lossless(&self.switch.buffer)
    }

    /// Whether a scheduler reads the bytes that packets' flows have left to send.
    pub(crate) fn ranks_by_remainder(&self) -> bool {
        let ranks = |ports: &Ports| ports.scheduling.ranks_by_remainder();
        ranks(&self.switch) || self.nic.as_ref().is_some_and(ranks)
    }
}

fn is_lossless(config: &buffer::Config) -> bool {
    matches!(config, buffer::Config::Pfc(_) | buffer::Config::PfcOver(_))
}
