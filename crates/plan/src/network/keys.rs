//! Tables and keys of a network file, each declared once with its meaning.

use tidegate_sim::workload::Sizes;
use tidegate_units::{Bytes, Form, ParseError, Rate, Ratio, Setting, Span, settings};

use super::chip::Chip;
use crate::os::Os;
use crate::transport::Transport;

settings! {
    /// Keys outside tables.
    pub struct Root {
        /// Name used in file names [default: the file's name].
        pub name: Option<Text> = None,
        /// Title on pages [default: the name].
        pub title: Option<Text> = None,
        /// Transport of the hosts; a queue may have its own. Without this key, queues that name no
        /// transport are planned for DCTCP, and the answer says so.
        pub transport: Transport = Transport::Dctcp,
        /// Share of a bandwidth-delay product that the transport needs as a threshold for full
        /// throughput (`λ`) [default: the published value of the transport].
        pub lambda: Option<Ratio> = None,
        /// Bytes of the largest packet.
        pub mtu: u32 = 1500,
    }
}

settings! {
    /// `fabric`: the ports of a leaf and the layers above it.
    pub struct Fabric {
        /// Host ports of a leaf, such as `48x25Gbps`.
        pub host_ports: Option<Ports> = None,
        /// Uplinks of a leaf, such as `8x100Gbps`; `none` for a single switch.
        pub uplinks: Option<Ports> = None,
        /// Layers of switches: 1 for a single switch, 2 for leaf-spine, 3 for a fat tree [default:
        /// 2 with uplinks, else 1].
        pub layers: Option<u32> = None,
        /// Number of hosts [default: the host ports of one leaf; with uplinks, of as many leaves as
        /// a leaf has uplinks].
        pub hosts: Option<u32> = None,
        /// One-way propagation delay of the longest cable; 200 ns is 40 m. PFC headroom depends on
        /// it.
        pub link_delay: Span = Span::from_ns(200),
    }
}

settings! {
    /// `switch`: the buffer of a leaf.
    pub struct Switch {
        /// A chip whose buffer size is public.
        pub chip: Option<Chip> = None,
        /// Packet memory that ports share [default: the chip's].
        pub buffer: Option<Bytes> = None,
        /// Parts that the memory is divided into; a port can use one of them [default: the chip's,
        /// else 1].
        pub parts: Option<u32> = None,
        /// Factor of the dynamic threshold (`α`): a queue may hold α times the free memory.
        pub alpha: Ratio = Ratio::ONE,
        /// Memory reserved for each queue, outside the shared memory.
        pub reserve: Bytes = Bytes(0),
        /// Bytes of a memory cell, to which thresholds are rounded [default: the chip's, else 1].
        pub cell: Option<u32> = None,
        /// Delay of the pipelines and MACs of both ends of a cable, which PFC headroom must absorb
        /// [default: the chip's, else 2.5us].
        pub pipeline: Option<Span> = None,
        /// Share of small packets among those that PFC headroom must absorb, in percent: they waste
        /// part of their cells [default: the chip's, else 80].
        pub small_packets: Option<u32> = None,
        /// Operating system, which decides the settings that exist.
        pub os: Option<Os> = None,
    }
}

settings! {
    /// `rtt`: the round-trip time between hosts without queueing: one value, a mean and a
    /// percentile, or a range.
    pub struct Rtt {
        /// Round-trip time, if it is the same for all.
        pub base: Option<Span> = None,
        /// Mean round-trip time.
        pub mean: Option<Span> = None,
        /// 90th percentile of the round-trip time.
        pub p90: Option<Span> = None,
        /// Shortest round-trip time; with `max`, all values in between are equally likely.
        pub min: Option<Span> = None,
        /// Longest round-trip time.
        pub max: Option<Span> = None,
    }
}

settings! {
    /// `[[queue]]`: a queue of each port.
    pub struct Queue {
        /// Name of the queue.
        pub name: Option<Text> = None,
        /// Number of the queue at the switch, 0 to 7 [default: its position in the file, from 0].
        pub id: Option<u8> = None,
        /// Code points that use the queue, 0 to 63. If the file names none at all, DSCP 8·i uses
        /// queue i.
        pub dscp: Vec<u8> = Vec::new(),
        /// Share of the port in percent; the shares of all queues that are not strict sum to 100
        /// [default: equal shares].
        pub weight: Option<u32> = None,
        /// Whether the queue has strict priority.
        pub strict: bool = false,
        /// Whether PFC protects the queue from drops.
        pub lossless: bool = false,
        /// Transport of the flows; `none` for a queue that must not be marked [default: the
        /// network's; `none` for a strict queue].
        pub transport: Option<Transport> = None,
        /// Whether packets that are not ECN-capable, such as BGP, UDP or plain TCP, share the
        /// queue. Many switches drop them where they mark the others.
        pub not_ecn: bool = false,
        /// `λ` of the queue's transport [default: the network's].
        pub lambda: Option<Ratio> = None,
    }
}

settings! {
    /// `traffic`: the flows of the network.
    pub struct Traffic {
        /// Flow sizes: web-search, data-mining, hadoop, cache, or as in a scenario.
        pub workload: Option<Sizes> = None,
        /// CSV file of flows (`id,start_s,src,dst,bytes`, and `service` for the id of the queue)
        /// instead of a workload, relative to this file.
        pub trace: Option<Text> = None,
        /// Load of the host links.
        pub load: Ratio = HALF,
        /// Number of hosts that answer one host at the same moment.
        pub incast: u32 = 32,
    }
}

const HALF: Ratio = match Ratio::new(1, 2) {
    Some(ratio) => ratio,
    None => Ratio::ONE,
};

/// Free text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text(pub String);

impl Setting for Text {
    const FORM: Form = Form::Text("a text");

    /// Refuses control characters: the text is printed on terminals.
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
    /// Number of ports, at least one.
    pub count: u32,
    /// Speed of each port.
    pub speed: Rate,
}

const PORTS: &str = "a number of ports and their speed, such as 48x25Gbps or 48x25G";

impl Ports {
    /// Sum of the port speeds, in bits per second.
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
