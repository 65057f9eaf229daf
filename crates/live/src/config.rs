//! The configuration of a switch.

use tidegate_dataplane::sched::Scheduler;
use tidegate_dataplane::{NonEct, buffer, classify, mark, sched};
use tidegate_units::{ConfigError, Rate, Size, Span, choices, settings};

/// A switch: what all of its ports do, and the ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Which packets are marked.
    pub marking: mark::Config,
    /// Which packet leaves next.
    pub scheduling: sched::Config,
    /// Which packets are stored: one buffer for the whole switch.
    pub buffer: buffer::Config,
    /// Which queue a packet waits in.
    pub dscp: classify::Config,
    /// Everything else.
    pub options: Options,
    /// The ports, numbered from 0 in this order.
    pub ports: Vec<PortSettings>,
}

settings! {
    /// A port: the interface it is and the speed of its wire.
    pub struct PortSettings {
        /// The name of the interface.
        pub interface: String = String::new(),
        /// The speed at which packets leave.
        pub rate: Rate = Rate::from_gbps(1),
        /// How frames get in and out.
        pub device: DeviceKind = DeviceKind::PacketSocket,
        /// The speed at which frames come in from the host, where its cable is imitated.
        pub uplink: Option<Rate> = None,
        /// How long frames travel from the host to the switch besides what they really take.
        pub delay: Span = Span::ZERO,
        /// The most stations behind the port. Frames of others are dropped.
        pub stations: Option<u32> = None,
    }
}

impl PortSettings {
    /// An existing interface, as it is.
    pub fn new(interface: impl Into<String>, rate: Rate) -> Self {
        Self { interface: interface.into(), rate, ..Self::default() }
    }
}

choices! {
    /// How frames get in and out.
    pub enum DeviceKind {
        /// An existing interface, over a packet socket.
        PacketSocket = "packet-socket",
        /// A TAP interface, which is made if there is none of the name.
        Tap = "tap",
    }
}

choices! {
    /// What the bytes of a packet are, for queues, thresholds and the wire.
    pub enum Count {
        /// The frame with its addresses and type, as a capture shows it.
        Frame = "frame",
        /// What is behind addresses and type: 1500 for the longest IP packet.
        Ip = "ip",
        /// What the frame takes of an Ethernet wire: padded to 60 bytes, with checksum, preamble
        /// and gap, as in TCN's prototype. A 1500-byte IP packet counts 1538.
        Wire = "wire",
    }
}

impl Count {
    /// The bytes of a frame of `len` bytes without checksum.
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
    /// What the loop does while there is nothing to do.
    pub enum Wait {
        /// Sleeps until a frame comes or shortly before a packet is due, then spins.
        Sleep = "sleep",
        /// Spins all the time: the shortest wait for a frame, and a whole core.
        Spin = "spin",
    }
}

choices! {
    /// What happens to a frame whose sender left its checksum to hardware that is not there.
    pub enum Checksums {
        /// The checksum of its TCP or UDP is computed.
        Finish = "finish",
        /// It is passed on as it is, and its receiver drops it.
        Pass = "pass",
    }
}

choices! {
    /// What is done about a loop: a frame of the switch that comes back to it.
    pub enum OnLoop {
        /// Loops are not looked for.
        Ignore = "ignore",
        /// They are reported.
        Report = "report",
        /// The later of the two ports is blocked, until the loop is gone.
        Block = "block",
    }
}

settings! {
    /// The options of a switch besides its scheme, scheduler, buffer and ports.
    pub struct Options {
        /// What happens to packets that should be marked and cannot be.
        pub non_ect: NonEct = NonEct::Pass,
        /// What the bytes of a packet are.
        pub count: Count = Count::Wire,
        /// How much of its own lateness a port makes good by sending faster.
        pub catch_up: Span = Span::from_ms(1),
        /// How many stations are remembered, rounded up to a power of two.
        pub addresses: u32 = 8_192,
        /// How long a silent station is remembered: 300 s (IEEE 802.1D, table 7-5).
        pub ageing: Span = Span::from_secs(300),
        /// How many frames can wait in the whole switch, whatever its buffer allows.
        pub frames: u32 = 16_384,
        /// The longest frame in bytes. With what the kernel adds, the default fills 2 KiB.
        pub frame_size: u32 = 1_920,
        /// Frames that the kernel may put down before the switch looks at them, for each port.
        pub ring: u32 = 2_048,
        /// What the loop does while there is nothing to do.
        pub wait: Wait = Wait::Sleep,
        /// What happens to a frame whose sender left its checksum to hardware that is not there.
        pub checksums: Checksums = Checksums::Pass,
        /// The seed of schemes that draw at random.
        pub seed: u64 = 1,
        /// The most broadcasts that a port takes in a second, or `none` for any number. More than
        /// hosts send by far.
        pub broadcast_limit: Option<u32> = Some(2_000),
        /// The same for multicast.
        pub multicast_limit: Option<u32> = Some(20_000),
        /// The same for frames to stations that are not known. More than 1 Gb/s has of full frames.
        pub unknown_limit: Option<u32> = Some(100_000),
        /// What is done about a loop.
        pub on_loop: OnLoop = OnLoop::Report,
        /// How often each port sends a frame that finds loops.
        pub probe_every: Span = Span::from_secs(2),
    }
}

impl Config {
    /// TCN with the threshold of its testbed over one queue and 96 KB for each port, without ports.
    pub fn new() -> Self {
        let mut marking = mark::Config::named("tcn").expect("there is such a scheme");
        let mut buffer = buffer::Config::named("per-port").expect("there is such a buffer");
        // TCN, section 6.1: 256 µs at 1 Gb/s; its switch has 96 KB for each port.
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

    /// Refuses what cannot be opened, before anything is: the interfaces of a switch that runs on
    /// the frames of a machine, and the memory they take.
    pub(crate) fn check_interfaces(&self) -> Result<(), ConfigError> {
        self.check()?;
        for (number, port) in self.ports.iter().enumerate() {
            let name = &port.interface;
            if self.ports[..number].iter().any(|other| other.interface == *name) {
                return Err(another_ports(name));
            }
        }
        let ring = self.options.ring;
        if !(1..=MAX_RING).contains(&ring) {
            let allowed = format!("1 to {MAX_RING}");
            return Err(ConfigError::out_of_range("ring", ring, allowed));
        }
        let slot = u64::from(crate::sys::ring::slot(self.options.frame_size));
        let rings = self.ports.len() as u64 * slot;
        if u64::from(ring) * rings > MAX_RINGS {
            let allowed = format!(
                "at most {} for {} ports of frames of {} bytes: the kernel's memory is locked",
                MAX_RINGS / rings,
                self.ports.len(),
                self.options.frame_size
            );
            return Err(ConfigError::out_of_range("ring", ring, allowed));
        }
        check_marking(&self.marking)
    }

    /// What can run and may not do what was meant.
    pub fn warnings(&self) -> Vec<String> {
        let options = &self.options;
        let reserve = crate::store::reserve(options.frames, self.ports.len() as u16);
        let beyond = format!(
            "and `frames` is {}: those beyond are dropped as no-memory, and each port is sure of {reserve}",
            options.frames
        );
        let Some(bytes) = self.most_bytes() else {
            return vec![format!("the buffer allows any number of frames to wait, {beyond}")];
        };
        let full_frames = bytes / u64::from(options.count.bytes(FULL_FRAME));
        if full_frames <= u64::from(options.frames) {
            return Vec::new();
        }
        vec![format!(
            "the buffer allows {full_frames} frames of {FULL_FRAME} bytes to wait, {beyond}\n\
             hint: frames = {full_frames}, or a smaller buffer"
        )]
    }

    /// How many bytes the buffer lets wait in the whole switch; `None` for any number.
    fn most_bytes(&self) -> Option<u64> {
        let ports = self.ports.len() as u64;
        let most = match &self.buffer {
            buffer::Config::PerPort(config) => match config.limit {
                Size::Bytes(limit) => limit.0,
                // One that is counted in packets holds as many frames as it says.
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

    /// The queues of a port.
    fn queues(&self) -> u64 {
        let scheduler = self.scheduling.build();
        scheduler.map_or(1, |scheduler| scheduler.queues().into())
    }

    /// Refuses what no live switch can do.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if let buffer::Config::Pfc(_) | buffer::Config::PfcOver(_) = self.buffer {
            let allowed = "a buffer that sends no pause frames";
            return Err(ConfigError::out_of_range("buffer", "pfc", allowed));
        }
        if self.ports.is_empty() || self.ports.len() > MAX_PORTS {
            let allowed = format!("1 to {MAX_PORTS} ports");
            return Err(ConfigError::out_of_range("port", self.ports.len(), allowed));
        }
        for (field, span) in
            [("ageing", self.options.ageing), ("probe_every", self.options.probe_every)]
        {
            // Stations and loops are looked after ten times a second.
            if span < Span::from_ms(100) {
                return Err(ConfigError::out_of_range(field, span, "100ms or more"));
            }
        }
        Ok(())
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

/// An interface that is a port already.
pub(crate) fn another_ports(interface: &str) -> ConfigError {
    let allowed = "an interface that is not another port's";
    ConfigError::out_of_range("interface", interface, allowed)
}

/// Refuses a threshold of zero, or an RTT from which one follows: it marks whatever comes.
fn check_marking(marking: &mark::Config) -> Result<(), ConfigError> {
    if let mark::Config::Or(pair) = marking {
        check_marking(&pair.0)?;
        return check_marking(&pair.1);
    }
    let value = |name: &str| marking.value(name).unwrap_or_default();
    let names = || marking.fields().iter().map(|field| field.name);
    let follows = |name: &str| match value(name).as_str() {
        "none" => MARK_ABOVE.contains(&name),
        // A list of none.
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

/// What schemes mark above.
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

/// What that follows from where it is not given.
const DERIVED_FROM: [&str; 3] = ["lambda", "mean_rtt", "rtt"];

/// Whether the text of an amount, such as `0us`, is that of nothing.
fn is_zero(text: &str) -> bool {
    let text = text.trim();
    let rest = text.trim_start_matches(['0', '.']);
    rest.len() < text.len() && !rest.starts_with(|next: char| next.is_ascii_digit())
}

const MAX_PORTS: usize = 256;

/// Frames in the ring of a port.
const MAX_RING: u32 = 1 << 16;

/// Bytes of all rings together: 1 GiB, which the kernel takes at once and never swaps.
const MAX_RINGS: u64 = 1 << 30;

/// The longest frame of an IP packet of 1500 bytes, without checksum.
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
    fn what_cannot_run_is_refused() {
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
    fn what_cannot_be_opened_is_refused_before_memory_is_taken() {
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
        // What is not used is not looked at.
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
    fn only_nothing_is_zero() {
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
        assert!(warnings[0].contains("allows 26007 frames"), "{warnings:?}");
        config.options.frames = 26_007;
        assert_eq!(config.warnings(), Vec::<String>::new());
        // A limit for all queues is that of each.
        config.options.frames = 1_000;
        config.buffer = buffer::Config::named("per-queue").unwrap();
        assert_eq!(config.warnings(), Vec::<String>::new());
        config.scheduling = sched::Config::named("dwrr").unwrap();
        config.scheduling.set("quanta", "1500, 1500, 1500").unwrap();
        let warnings = config.warnings();
        assert!(warnings[0].contains("allows 1170 frames"), "{warnings:?}");
        config.buffer.set("port_limit", "300KB").unwrap();
        assert_eq!(config.warnings(), Vec::<String>::new());
        // 3 MiB for each eight ports, and 128 KiB for each.
        config.buffer = buffer::Config::named("dynamic-threshold").unwrap();
        config.ports = vec![config.ports[0].clone(); 64];
        let warnings = config.warnings();
        assert!(warnings[0].contains("allows 21816 frames"), "{warnings:?}");
        config.buffer = buffer::Config::named("unlimited").unwrap();
        let warnings = config.warnings();
        assert!(warnings[0].contains("any number"), "{warnings:?}");
    }
}
