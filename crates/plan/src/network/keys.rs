//! The tables of a network file and their keys, each declared once with what it means.

use tidegate_sim::workload::Sizes;
use tidegate_units::{Bytes, Form, ParseError, Rate, Ratio, Setting, Span, choices, settings};

use super::chip::Chip;
use crate::dialect::Dialect;

settings! {
    /// What is not in a table.
    pub struct Root {
        /// The name in file names [default: that of the file].
        pub name: Option<Text> = None,
        /// What pages call it [default: the name].
        pub title: Option<Text> = None,
        /// Transport of the hosts; a queue may have its own. Without this key, queues that name no
        /// transport are planned for DCTCP, and the answer says so.
        pub transport: Transport = Transport::Dctcp,
        /// What the transport needs of a bandwidth-delay product for full throughput (`λ`)
        /// [default: the published value of the transport].
        pub lambda: Option<Ratio> = None,
        /// The bytes of the largest packet.
        pub mtu: u32 = 1500,
    }
}

settings! {
    /// `fabric`: the ports of a leaf, and what is above it.
    pub struct Fabric {
        /// The ports of a leaf to hosts, such as `48x25Gbps`.
        pub host_ports: Option<Ports> = None,
        /// The ports of a leaf to switches above it, such as `8x100Gbps`; `none` for one switch
        /// alone.
        pub uplinks: Option<Ports> = None,
        /// Layers of switches: 1 for a switch alone, 2 for leaf-spine, 3 for a fat tree [default: 2
        /// with uplinks, else 1].
        pub layers: Option<u32> = None,
        /// All hosts [default: those of one leaf; with uplinks, of as many leaves as a leaf has
        /// uplinks].
        pub hosts: Option<u32> = None,
        /// How long a bit travels through the longest cable, one way; 200 ns is 40 m. Headroom for
        /// PFC depends on it.
        pub link_delay: Span = Span::from_ns(200),
    }
}

settings! {
    /// `switch`: the buffer of a leaf.
    pub struct Switch {
        /// A chip whose buffer size is public.
        pub chip: Option<Chip> = None,
        /// The packet memory that ports share [default: that of the chip].
        pub buffer: Option<Bytes> = None,
        /// Into how many parts the memory is divided, of which a port can use one [default: that of
        /// the chip, else 1].
        pub parts: Option<u32> = None,
        /// The factor of the dynamic threshold (`α`): a queue may hold α times what is free.
        pub alpha: Ratio = Ratio::ONE,
        /// What each queue has for itself outside the shared memory.
        pub reserve: Bytes = Bytes(0),
        /// The bytes of a cell of the memory, which thresholds are rounded to [default: that of the
        /// chip, else 1].
        pub cell: Option<u32> = None,
        /// Delay of the pipelines and MACs of both ends of a cable, which PFC headroom must absorb
        /// [default: the chip's, else 2.5us].
        pub pipeline: Option<Span> = None,
        /// Share of small packets among those that PFC headroom must absorb, in percent: they waste
        /// part of their cells [default: the chip's, else 80].
        pub small_packets: Option<u32> = None,
        /// The operating system, which decides what can be configured.
        pub os: Option<Dialect> = None,
    }
}

settings! {
    /// `rtt`: the round-trip time between hosts without queueing: one value, a mean and a
    /// percentile, or a range.
    pub struct Rtt {
        /// If it is the same for all.
        pub base: Option<Span> = None,
        /// The mean.
        pub mean: Option<Span> = None,
        /// What nine of ten are below.
        pub p90: Option<Span> = None,
        /// The shortest; with `max`, all in between are taken as equally likely.
        pub min: Option<Span> = None,
        /// The longest.
        pub max: Option<Span> = None,
    }
}

settings! {
    /// `[[queue]]`: a queue of each port.
    pub struct Queue {
        /// What it is called.
        pub name: Option<Text> = None,
        /// Its number at the switch, 0 to 7 [default: its place in the file, from 0].
        pub id: Option<u8> = None,
        /// The code points that it serves, 0 to 63. Without any in the whole file, DSCP 8·i is
        /// queue i.
        pub dscp: Vec<u8> = Vec::new(),
        /// Its share of the port in percent; those of all queues that are not strict sum to 100
        /// [default: equal shares].
        pub weight: Option<u32> = None,
        /// Whether it is served before all others.
        pub strict: bool = false,
        /// Whether it is protected from drops by PFC.
        pub lossless: bool = false,
        /// Transport of its flows; `none` for a queue that must not be marked [default: the
        /// network's; `none` for a strict queue].
        pub transport: Option<Transport> = None,
        /// Whether packets that are not ECN-capable use it too, such as BGP, UDP or plain TCP. Many
        /// switches drop them where they mark the others.
        pub not_ecn: bool = false,
        /// Its transport's `λ` [default: that of the network].
        pub lambda: Option<Ratio> = None,
    }
}

settings! {
    /// `traffic`: what the network carries.
    pub struct Traffic {
        /// Sizes of flows: web-search, data-mining, hadoop, cache, or as in a scenario.
        pub workload: Option<Sizes> = None,
        /// A CSV file of flows (`id,start_s,src,dst,bytes`) instead, relative to this file.
        pub trace: Option<Text> = None,
        /// The load of the hosts' links.
        pub load: Ratio = HALF,
        /// How many hosts answer one at the same moment.
        pub incast: u32 = 32,
    }
}

const HALF: Ratio = match Ratio::new(1, 2) {
    Some(ratio) => ratio,
    None => Ratio::ONE,
};

choices! {
    /// What hosts do on a mark.
    pub enum Transport {
        /// The window falls with the fraction of marked bytes.
        Dctcp = "dctcp",
        /// DCTCP that also works at one end only.
        Odctcp = "odctcp",
        /// Standard ECN over instantaneous marking: the window is halved on a mark.
        EcnStar = "ecn-star",
        /// Standard ECN: the window is halved on a mark, at most once a round trip.
        Rfc3168 = "rfc3168",
        /// No ECN: losses alone count.
        Reno = "reno",
        /// RDMA over Ethernet: rates that congestion notifications set.
        Dcqcn = "dcqcn",
        /// RoCEv2 with DCQCN: another word for `dcqcn`.
        Roce = "roce",
        /// TCP that negotiates no ECN, as most systems do by default; with ECN, write `rfc3168`.
        Tcp = "tcp",
        /// CUBIC without ECN, the default of Linux; with `net.ipv4.tcp_ecn = 1`, write `rfc3168`.
        Cubic = "cubic",
        /// BBR version 1, which ignores marks.
        Bbr = "bbr",
        /// Traffic that must not be marked, such as control protocols.
        Unmarked = "none",
    }
}

impl Transport {
    /// The word for it in files.
    pub fn name(self) -> String {
        self.write()
    }

    /// The transport itself, where several words name one.
    #[must_use]
    pub const fn canonical(self) -> Self {
        match self {
            Self::Roce => Self::Dcqcn,
            other => other,
        }
    }

    /// Whether its packets are ECN-capable and its senders slow down on marks.
    pub const fn reacts_to_marks(self) -> bool {
        match self {
            Self::Dctcp
            | Self::Odctcp
            | Self::EcnStar
            | Self::Rfc3168
            | Self::Dcqcn
            | Self::Roce => true,
            Self::Reno | Self::Tcp | Self::Cubic | Self::Bbr | Self::Unmarked => false,
        }
    }

    /// The simulator's congestion control that stands for it.
    pub(crate) const fn simulated_rule(self) -> &'static str {
        match self {
            Self::Dctcp => "dctcp",
            Self::Odctcp => "odctcp",
            Self::EcnStar => "ecn-star",
            Self::Rfc3168 => "rfc3168",
            Self::Dcqcn | Self::Roce => "dcqcn",
            Self::Reno | Self::Tcp | Self::Cubic | Self::Bbr | Self::Unmarked => "reno",
        }
    }

    /// Why its queues are not marked.
    pub const fn unmarked_because(self) -> &'static str {
        match self {
            Self::Bbr => "bbr ignores marks",
            Self::Unmarked => "transport `none`: not marked",
            Self::Reno => "reno ignores marks",
            Self::Tcp => "tcp negotiates no ECN",
            Self::Cubic => "cubic negotiates no ECN by default",
            _ => "",
        }
    }

    /// What it needs of a bandwidth-delay product at the port for full throughput (`λ`), and who
    /// says so. `None` if no threshold follows from it.
    pub const fn lambda(self) -> Option<(Ratio, &'static str)> {
        const DCTCP: Ratio = match Ratio::new(18, 25) {
            Some(ratio) => ratio,
            None => Ratio::ONE,
        };
        match self {
            Self::Dctcp | Self::Odctcp => Some((DCTCP, "of DCTCP as measured, BCC §2.2")),
            Self::EcnStar | Self::Rfc3168 => {
                Some((Ratio::ONE, "of a window that is halved, TCN §2.1"))
            }
            _ => None,
        }
    }
}

/// A text of its owner's choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text(pub String);

impl Setting for Text {
    const FORM: Form = Form::Text("a text");

    /// It is printed on terminals, which control characters would command.
    fn read(text: &str) -> Result<Self, ParseError> {
        if text.chars().any(char::is_control) {
            let shown = text.escape_debug().to_string();
            return Err(ParseError::unreadable(&shown, "a text without control characters"));
        }
        Ok(Self(text.to_owned()))
    }

    fn write(&self) -> String {
        self.0.clone()
    }
}

/// Ports of one speed: `48x25Gbps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// How many there are, at least one.
    pub count: u32,
    /// Their speed.
    pub speed: Rate,
}

const PORTS: &str = "a number of ports and their speed, such as 48x25Gbps or 48x25G";

impl Ports {
    /// What all of them carry together, in bits per second.
    pub const fn capacity(self) -> u64 {
        self.speed.as_bps().saturating_mul(self.count as u64)
    }
}

impl Setting for Ports {
    const FORM: Form = Form::Text(PORTS);

    fn read(text: &str) -> Result<Self, ParseError> {
        let unreadable = || ParseError::unreadable(text, PORTS);
        let (count, speed) = text.split_once(['x', '×']).ok_or_else(unreadable)?;
        let count = count.trim().parse().map_err(|_| unreadable())?;
        let speed = speed.trim();
        let speed = match speed.strip_suffix(['G', 'g']) {
            Some(number) => format!("{number}Gbps"),
            None => speed.to_owned(),
        };
        let speed = speed.parse().map_err(|_| unreadable())?;
        match count {
            0 => Err(ParseError::unreadable(text, PORTS)),
            4097.. => Err(ParseError::too_large(text, "at most 4096 ports")),
            _ => Ok(Self { count, speed }),
        }
    }

    fn write(&self) -> String {
        format!("{}x{}", self.count, self.speed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_as_operators_write_them() {
        let ports = Ports::read("48x25Gbps").unwrap();
        assert_eq!((ports.count, ports.speed), (48, Rate::from_gbps(25)));
        assert_eq!(Ports::read("48 x 25G"), Ok(ports));
        assert_eq!(Ports::read(&ports.write()), Ok(ports));
        for text in ["48", "x25G", "0x25G", "48x0G", "48x", "4097x1G", "48y25G"] {
            assert!(Ports::read(text).is_err(), "{text}");
        }
    }
}
