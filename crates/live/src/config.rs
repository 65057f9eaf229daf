//! What a switch is told.

use tidegate_dataplane::{NonEct, buffer, classify, mark, sched};
use tidegate_units::{ConfigError, Rate, Span, choices, settings};

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

/// A port: the interface it is and the speed of its wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortSettings {
    /// The name of the interface.
    pub interface: String,
    /// The speed at which packets leave.
    pub rate: Rate,
    /// How frames get in and out.
    pub device: DeviceKind,
    /// The speed at which frames come in from the host, where its cable is imitated.
    pub uplink: Option<Rate>,
    /// How long frames travel from the host to the switch besides what they really take.
    pub delay: Span,
}

impl PortSettings {
    /// An existing interface, as it is.
    pub fn new(interface: impl Into<String>, rate: Rate) -> Self {
        Self {
            interface: interface.into(),
            rate,
            device: DeviceKind::PacketSocket,
            uplink: None,
            delay: Span::ZERO,
        }
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

settings! {
    /// What a switch is told besides its scheme, scheduler, buffer and ports.
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
        /// The seed of schemes that draw at random.
        pub seed: u64 = 1,
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
        Ok(())
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

const MAX_PORTS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wire_carries_more_than_the_frame() {
        // An IP packet of 1500 bytes: 1514 in a capture, 1538 on the wire; never below 84.
        assert_eq!(
            [0, 59, 60, 61, 1514].map(|len| Count::Wire.bytes(len)),
            [84, 84, 84, 85, 1538]
        );
        assert_eq!(
            [0, 60, 1514].map(|len| Count::Frame.bytes(len)),
            [0, 60, 1514]
        );
        assert_eq!([0, 1514].map(|len| Count::Ip.bytes(len)), [0, 1500]);
    }

    #[test]
    fn what_cannot_run_is_refused() {
        let mut config = Config::new();
        assert!(
            config
                .check()
                .unwrap_err()
                .to_string()
                .starts_with("port = 0")
        );
        config
            .ports
            .push(PortSettings::new("a", Rate::from_gbps(1)));
        assert!(config.check().is_ok());
        config.buffer = buffer::Config::named("pfc").unwrap();
        assert!(
            config
                .check()
                .unwrap_err()
                .to_string()
                .starts_with("buffer = pfc")
        );
    }
}
