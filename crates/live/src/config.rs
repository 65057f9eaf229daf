//! Configuration of a switch.

use std::fmt::Display;
use std::ops::RangeInclusive;

use tidegate_dataplane::sched::Scheduler;
use tidegate_dataplane::{NonEct, buffer, classify, mark, sched};
use tidegate_units::{ConfigError, Rate, Size, Span, choices, settings};

use crate::device::BURST;
use crate::{fdb, store};

/// A switch: settings of all ports, and the ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Marking scheme: which packets are marked.
    pub marking: mark::Config,
    /// Scheduler: which packet leaves next.
    pub scheduling: sched::Config,
    /// Buffer of the whole switch: which packets are stored.
    pub buffer: buffer::Config,
    /// Classification: which queue a packet waits in.
    pub dscp: classify::Config,
    /// Other options.
    pub options: Options,
    /// Ports, numbered from 0 in this order.
    pub ports: Vec<PortSettings>,
}

settings! {
    /// A port: its interface and the rate of its wire.
    pub struct PortSettings {
        /// Name of the interface.
        pub interface: String = String::new(),
        /// Rate at which packets leave.
        pub rate: Rate = Rate::from_gbps(1),
        /// Device type, by which frames get in and out.
        pub device: DeviceKind = DeviceKind::PacketSocket,
        /// Rate at which frames arrive from the host, if its cable is emulated.
        pub uplink: Option<Rate> = None,
        /// Emulated delay from the host to the switch, in addition to the real one.
        pub delay: Span = Span::ZERO,
        /// Most stations behind the port. Frames from other stations are dropped.
        pub stations: Option<u32> = None,
    }
}

impl PortSettings {
    /// An existing interface, with defaults otherwise.
    pub fn new(interface: impl Into<String>, rate: Rate) -> Self {
        Self { interface: interface.into(), rate, ..Self::default() }
    }

    /// Checks the ranges of all settings.
    pub fn check(&self) -> Result<(), ConfigError> {
        at_least_one("stations", self.stations)?;
        in_range("delay", self.delay, Span::ZERO..=Span::from_secs(10))
    }
}

choices! {
    /// Device type, by which frames get in and out.
    pub enum DeviceKind {
        /// An existing interface, over a packet socket.
        PacketSocket = "packet-socket",
        /// A TAP interface, created if none with the name exists.
        Tap = "tap",
    }
}

choices! {
    /// Definition of a packet's bytes, for queues, thresholds and the wire.
    pub enum Count {
        /// The frame with its addresses and type, as shown by a capture.
        Frame = "frame",
        /// The payload of the frame without addresses and type: 1500 for the longest IP packet.
        Ip = "ip",
        /// The bytes on an Ethernet wire: padded to 60 bytes, with checksum, preamble and gap, as
        /// in TCN's prototype. A 1500-byte IP packet counts 1538.
        Wire = "wire",
    }
}

impl Count {
    /// Counted bytes of a frame of `len` bytes without checksum.
    #[inline]
    pub const fn bytes(self, len: usize) -> u32 {
        // Frames are shorter than 2^16 bytes.
        let len = len as u32;
        match self {
            Self::Frame => len,
            Self::Ip => len.saturating_sub(14),
            Self::Wire => {
                let padded = if len < 60 { 60 } else { len };
                padded + 24
            }
        }
    }
}

choices! {
    /// Behaviour of the loop while there is nothing to do.
    pub enum Wait {
        /// Sleeps until a frame arrives or shortly before a packet is due, then spins.
        Sleep = "sleep",
        /// Spins all the time: the shortest delay for a frame, at the cost of a whole core.
        Spin = "spin",
    }
}

choices! {
    /// Treatment of a frame whose sender left its checksum to hardware that is not there.
    pub enum Checksums {
        /// Compute the checksum of its TCP or UDP header.
        Finish = "finish",
        /// Forward it unchanged; its receiver drops it.
        Pass = "pass",
    }
}

choices! {
    /// Reaction to a loop: a frame of the switch that comes back to it.
    pub enum OnLoop {
        /// Do not look for loops.
        Ignore = "ignore",
        /// Report loops.
        Report = "report",
        /// Block the later of the two ports, until the loop is gone.
        Block = "block",
    }
}

settings! {
    /// Options of a switch besides its scheme, scheduler, buffer and ports.
    pub struct Options {
        /// Treatment of packets that should be marked and cannot be.
        pub non_ect: NonEct = NonEct::Pass,
        /// Definition of a packet's bytes.
        pub count: Count = Count::Wire,
        /// Lateness that a port makes up for by sending faster.
        pub catch_up: Span = Span::from_ms(1),
        /// Number of stations in the table, rounded up to a power of two.
        pub addresses: u32 = 8_192,
        /// Time for which a silent station is remembered: 300 s (IEEE 802.1D, table 7-5).
        pub ageing: Span = Span::from_secs(300),
        /// Most frames waiting in the whole switch, in addition to the limit of its buffer.
        pub frames: u32 = 16_384,
        /// Longest frame in bytes. With the kernel's overhead, the default fills 2 KiB.
        pub frame_size: u32 = 1_920,
        /// Frames that the kernel may store before the switch reads them, for each port.
        pub ring: u32 = 2_048,
        /// Behaviour of the loop while there is nothing to do.
        pub wait: Wait = Wait::Sleep,
        /// Treatment of a frame whose sender left its checksum to hardware that is not there.
        pub checksums: Checksums = Checksums::Pass,
        /// Seed of schemes that draw at random.
        pub seed: u64 = 1,
        /// Most broadcasts that a port accepts per second, or `none` for no limit. The default is
        /// far above the traffic of hosts.
        pub broadcast_limit: Option<u32> = Some(2_000),
        /// Most multicasts that a port accepts per second, or `none`.
        pub multicast_limit: Option<u32> = Some(20_000),
        /// Most frames to unknown stations that a port accepts per second, or `none`. The default
        /// is above the full frames of 1 Gb/s.
        pub unknown_limit: Option<u32> = Some(100_000),
        /// Reaction to a loop.
        pub on_loop: OnLoop = OnLoop::Report,
        /// Interval between a port's frames that detect loops.
        pub probe_every: Span = Span::from_secs(2),
    }
}

impl Options {
    /// Checks the ranges of all settings.
    pub fn check(&self) -> Result<(), ConfigError> {
        // Stations and loops are checked ten times a second.
        let tenth = Span::from_ms(100);
        // The range of IEEE 802.1D, table 7-5.
        in_range("ageing", self.ageing, tenth..=Span::from_secs(1_000_000))?;
        in_range("probe_every", self.probe_every, tenth..=Span::from_secs(3_600))?;
        in_range("catch_up", self.catch_up, Span::ZERO..=Span::from_secs(1))?;
        fdb::check(self.addresses)?;
        store::check(self.frames, self.frame_size)?;
        in_range("ring", self.ring, RING)?;
        at_least_one("broadcast_limit", self.broadcast_limit)?;
        at_least_one("multicast_limit", self.multicast_limit)?;
        at_least_one("unknown_limit", self.unknown_limit)
    }
}

/// Refuses a value outside of its range.
fn in_range<T: PartialOrd + Default + Display>(
    field: &'static str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), ConfigError> {
    if range.contains(&value) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    let allowed = if least == T::default() {
        format!("at most {most}")
    } else {
        format!("{least} to {most}")
    };
    Err(ConfigError::out_of_range(field, value, allowed))
}

/// Refuses a limit of zero, which would let nothing pass.
fn at_least_one(field: &'static str, limit: Option<u32>) -> Result<(), ConfigError> {
    match limit {
        Some(0) => Err(ConfigError::out_of_range(field, 0, "1 or more, or \"none\"")),
        _ => Ok(()),
    }
}

impl Config {
    /// TCN with the threshold of its testbed over one queue and 96 KB per port, without ports.
    pub fn new() -> Self {
        let mut marking = mark::Config::named("tcn").expect("there is such a scheme");
        let mut buffer = buffer::Config::named("per-port").expect("there is such a buffer");
        // TCN, section 6.1: 256 µs at 1 Gb/s; its switch has 96 KB per port.
        marking.set("threshold", "256us").expect("a time");
        buffer.set("limit", "96KB").expect("a size");
        Self {
            marking,
            scheduling: sched::Config::named("fifo").expect("there is such a scheduler"),
            buffer,
            dscp: classify::Config::default(),
            options: Options::default(),
            ports: Vec::new(),
        }
    }

    /// Refuses settings that cannot be opened, before anything is opened: the interfaces of a
    /// switch that uses a machine's frames, and the memory that they take.
    pub(crate) fn check_interfaces(&self) -> Result<(), ConfigError> {
        self.check()?;
        for (number, port) in self.ports.iter().enumerate() {
            let name = &port.interface;
            if self.ports[..number].iter().any(|other| other.interface == *name) {
                return Err(another_ports(name));
            }
        }
        let ring = self.options.ring;
        let slot = u64::from(crate::sys::ring::slot(self.options.frame_size));
        let rings = self.ports.len() as u64 * slot;
        if u64::from(ring) * rings > MAX_RINGS {
            let allowed = format!(
                "at most {} for {} ports and frames of {} bytes: rings lock kernel memory",
                MAX_RINGS / rings,
                self.ports.len(),
                self.options.frame_size
            );
            return Err(ConfigError::out_of_range("ring", ring, allowed));
        }
        check_marking(&self.marking)
    }

    /// Warnings about settings that can run but may not have the intended effect.
    pub fn warnings(&self) -> Vec<String> {
        let options = &self.options;
        let reserve = store::reserve(options.frames, self.ports.len() as u16);
        let beyond = format!(
            "but `frames` is {}: the switch drops frames beyond that as no-memory, and reserves {reserve} for each port",
            options.frames
        );
        let Some(bytes) = self.most_bytes() else {
            return vec![format!("the buffer holds any number of frames, {beyond}")];
        };
        let full_frames = bytes / u64::from(options.count.bytes(FULL_FRAME));
        if full_frames <= u64::from(options.frames) {
            return Vec::new();
        }
        vec![format!(
            "the buffer holds {full_frames} frames of {FULL_FRAME} bytes, {beyond}\n\
             hint: frames = {full_frames}, or a smaller buffer"
        )]
    }

    /// Bytes that the buffer allows to wait in the whole switch; `None` for any number.
    fn most_bytes(&self) -> Option<u64> {
        let ports = self.ports.len() as u64;
        let most = match &self.buffer {
            buffer::Config::PerPort(config) => match config.limit {
                Size::Bytes(limit) => limit.0,
                // A limit in packets is a limit in frames.
                Size::Packets(limit) => {
                    u64::from(limit) * u64::from(self.options.count.bytes(FULL_FRAME))
                }
            }
            .saturating_mul(ports),
            buffer::Config::PerQueue(config) => {
                let queues = match config.limit[..] {
                    [limit] => limit.0.saturating_mul(self.queues()),
                    ref limits => {
                        limits.iter().fold(0, |sum: u64, limit| sum.saturating_add(limit.0))
                    }
                };
                let port = config.port_limit.map_or(queues, |limit| limit.0.min(queues));
                port.saturating_mul(ports)
            }
            buffer::Config::DynamicThreshold(config) => {
                let pools = match config.pools.iter().max() {
                    Some(&last) => u64::from(last) + 1,
                    None => ports.div_ceil(u64::from(config.ports_per_pool.max(1))),
                };
                let owners = match config.reserve {
                    buffer::dynamic_threshold::Reserve::PerQueue => ports * self.queues(),
                    _ => ports,
                };
                let reserves = config.reserve_size.0.saturating_mul(owners);
                let pools = config.pool_size.0.saturating_mul(pools);
                pools.saturating_add(reserves)
            }
            _ => return None,
        };
        Some(most)
    }

    /// Queues of a port.
    fn queues(&self) -> u64 {
        let scheduler = self.scheduling.build();
        scheduler.map_or(1, |scheduler| scheduler.queues().into())
    }

    /// Refuses settings that no live switch supports.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if let buffer::Config::Pfc(_) | buffer::Config::PfcOver(_) = self.buffer {
            let allowed = "a buffer that sends no pause frames";
            return Err(ConfigError::out_of_range("buffer", "pfc", allowed));
        }
        if self.ports.is_empty() || self.ports.len() > MAX_PORTS {
            let allowed = format!("1 to {MAX_PORTS} ports");
            return Err(ConfigError::out_of_range("port", self.ports.len(), allowed));
        }
        self.options.check()?;
        self.ports.iter().try_for_each(PortSettings::check)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

/// Error: an interface is already another port.
pub(crate) fn another_ports(interface: &str) -> ConfigError {
    let allowed = "an interface that no other port uses";
    ConfigError::out_of_range("interface", interface, allowed)
}

/// Refuses a threshold of zero, or an RTT of zero from which one is derived: it would mark every
/// packet.
fn check_marking(marking: &mark::Config) -> Result<(), ConfigError> {
    if let mark::Config::Or(pair) = marking {
        check_marking(&pair.0)?;
        return check_marking(&pair.1);
    }
    let value = |name: &str| marking.value(name).unwrap_or_default();
    let names = || marking.fields().iter().map(|field| field.name);
    let follows = |name: &str| match value(name).as_str() {
        "none" => MARK_ABOVE.contains(&name),
        // An empty list.
        "" => name == "thresholds",
        _ => false,
    };
    let is_derived = names().any(follows);
    for name in names() {
        let counts = MARK_ABOVE.contains(&name) || is_derived && DERIVED_FROM.contains(&name);
        let text = value(name);
        if counts && text.split(',').any(is_zero) {
            let allowed = "above zero: it would mark every packet";
            return Err(ConfigError::out_of_range(name, text, allowed));
        }
    }
    Ok(())
}

/// Settings above which schemes mark.
const MARK_ABOVE: [&str; 8] = [
    "ins_target",
    "pool_threshold",
    "port_threshold",
    "pst_target",
    "strict_threshold",
    "target",
    "threshold",
    "thresholds",
];

/// Settings from which a threshold is derived.
const DERIVED_FROM: [&str; 3] = ["lambda", "mean_rtt", "rtt"];

/// Whether the text of an amount, such as `0us`, means zero.
fn is_zero(text: &str) -> bool {
    let text = text.trim();
    let rest = text.trim_start_matches(['0', '.']);
    rest.len() < text.len() && !rest.starts_with(|next: char| next.is_ascii_digit())
}

const MAX_PORTS: usize = 256;

/// Frames in the ring of a port: at least a burst.
const RING: RangeInclusive<u32> = BURST as u32..=1 << 16;

/// Most bytes of all rings together: 1 GiB, which the kernel allocates at once and never swaps.
const MAX_RINGS: u64 = 1 << 30;

/// Longest frame of an IP packet of 1500 bytes, without checksum.
const FULL_FRAME: usize = 1_514;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wire_carries_more_than_the_frame() {
        // An IP packet of 1500 bytes: 1514 in a capture, 1538 on the wire; never below 84.
        assert_eq!([0, 59, 60, 61, 1514].map(|len| Count::Wire.bytes(len)), [84, 84, 84, 85, 1538]);
        assert_eq!([0, 60, 1514].map(|len| Count::Frame.bytes(len)), [0, 60, 1514]);
        assert_eq!([0, 1514].map(|len| Count::Ip.bytes(len)), [0, 1500]);
    }

    #[test]
    fn impossible_settings_are_refused() {
        let mut config = Config::new();
        assert!(config.check().unwrap_err().to_string().starts_with("port = 0"));
        config.ports.push(PortSettings::new("a", Rate::from_gbps(1)));
        assert!(config.check().is_ok());
        config.buffer = buffer::Config::named("pfc").unwrap();
        assert!(config.check().unwrap_err().to_string().starts_with("buffer = pfc"));
    }

    fn two_ports() -> Config {
        let mut config = Config::new();
        config.ports = ["a", "b"].map(|name| PortSettings::new(name, Rate::from_gbps(1))).into();
        config
    }

    #[test]
    fn interfaces_are_checked_before_memory_is_allocated() {
        type Change = fn(&mut Config);
        let cases: [(Change, &str); 15] = [
            (|config| config.ports[1].interface = "a".into(), "interface = a"),
            (|config| config.options.ring = 0, "ring = 0"),
            (|config| config.options.ring = u32::MAX, "ring = 4294967295"),
            (
                |config| {
                    config.options.ring = 1 << 14;
                    config.options.frame_size = 0xFFFF;
                },
                "ring = 16384 is out of range; allowed: at most 4096 for 2 ports",
            ),
            (|config| config.marking.set("threshold", "0us").unwrap(), "threshold = 0"),
            (
                |config| {
                    config.marking = mark::Config::named("queue-red").unwrap();
                    config.marking.set("threshold", "10pkts, 0pkts").unwrap();
                },
                "threshold = 10pkts, 0pkts",
            ),
            (
                |config| {
                    config.marking = mark::Config::named("codel").unwrap();
                    config.marking.set("target", "0us").unwrap();
                },
                "target = 0",
            ),
            (
                |config| {
                    config.marking = mark::Config::named("ecn-sharp").unwrap();
                    config.marking.set("pst_target", "0us").unwrap();
                },
                "pst_target = 0",
            ),
            (
                |config| {
                    config.marking.set("threshold", "none").unwrap();
                    config.marking.set("rtt", "0us").unwrap();
                },
                "rtt = 0",
            ),
            (
                |config| {
                    config.marking.set("threshold", "none").unwrap();
                    config.marking.set("lambda", "0").unwrap();
                },
                "lambda = 0",
            ),
            (
                |config| {
                    let mut second = config.marking.clone();
                    second.set("threshold", "0us").unwrap();
                    config.marking = mark::Config::Or(Box::new((config.marking.clone(), second)));
                },
                "threshold = 0",
            ),
            (
                |config| {
                    config.marking = mark::Config::named("ideal-red").unwrap();
                    config.marking.set("rtt", "0us").unwrap();
                },
                "rtt = 0",
            ),
            (|config| config.options.ageing = Span::ZERO, "ageing = 0"),
            (|config| config.options.probe_every = Span::from_ms(99), "probe_every = 99ms"),
            (|config| config.options.probe_every = Span::ZERO, "probe_every = 0"),
        ];
        assert!(two_ports().check_interfaces().is_ok());
        // Unused settings are not checked.
        let mut unused = two_ports();
        unused.marking.set("rtt", "0us").unwrap();
        assert!(unused.check_interfaces().is_ok());
        for (change, expected) in cases {
            let mut config = two_ports();
            change(&mut config);
            let error = config.check_interfaces().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn only_zero_amounts_are_zero() {
        let texts = ["0us", " 0pkts", "0.0B", "0.5us", "10ns", "none", "", "0"];
        let expected = [true, true, true, false, false, false, false, true];
        assert_eq!(texts.map(is_zero), expected);
    }

    #[test]
    fn a_buffer_that_the_store_cannot_hold_is_worth_a_warning() {
        let mut config = two_ports();
        assert_eq!(config.warnings(), Vec::<String>::new());
        config.buffer.set("limit", "20MB").unwrap();
        let warnings = config.warnings();
        assert!(warnings[0].contains("holds 26007 frames"), "{warnings:?}");
        config.options.frames = 26_007;
        assert_eq!(config.warnings(), Vec::<String>::new());
        // A limit for all queues applies to each.
        config.options.frames = 1_000;
        config.buffer = buffer::Config::named("per-queue").unwrap();
        assert_eq!(config.warnings(), Vec::<String>::new());
        config.scheduling = sched::Config::named("dwrr").unwrap();
        config.scheduling.set("quanta", "1500, 1500, 1500").unwrap();
        let warnings = config.warnings();
        assert!(warnings[0].contains("holds 1170 frames"), "{warnings:?}");
        config.buffer.set("port_limit", "300KB").unwrap();
        assert_eq!(config.warnings(), Vec::<String>::new());
        // 3 MiB for eight ports, and 128 KiB for each.
        config.buffer = buffer::Config::named("dynamic-threshold").unwrap();
        config.ports = vec![config.ports[0].clone(); 64];
        let warnings = config.warnings();
        assert!(warnings[0].contains("holds 21816 frames"), "{warnings:?}");
        config.buffer = buffer::Config::named("unlimited").unwrap();
        let warnings = config.warnings();
        assert!(warnings[0].contains("any number"), "{warnings:?}");
    }
}
