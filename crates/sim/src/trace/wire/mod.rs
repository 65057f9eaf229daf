//! Simulated packets as bytes on the wire: Ethernet, IPv4, then TCP, UDP or ICMP echo.
//!
//! The simulator has no payload, so payload is taken to be all zeros. Zeros add nothing to an
//! Internet checksum: the headers alone are enough to write checksums that hold for the whole
//! packet.
//!
//! Frames are Ethernet instead of bare IP, because captures at real switches are, because every
//! tool reads it, and because such a frame can be sent on a real link. There is no VLAN tag: the
//! class is in the DSCP, where today's switches look for it.
//!
//! - **Ethernet**: host `n` has the locally administered address 02:00:00 followed by `n` in three
//!   bytes, on every link; routers do not rewrite it. Short frames are not padded.
//! - **IPv4**: host `n` is 10.0.0.0 + `n`. Numbers from 2^24 on share the last address. The TTL
//!   stays at 64, so that a packet looks the same on every link of its path.
//! - **TCP** (RFC 9293): complete, with the options of RFC 2018 and RFC 7323 that the endpoints
//!   use.
//! - **UDP**: transports other than TCP, each with the header of its
//!   [`datagram`](tidegate_transport::protocol::Transport::datagram) and without a checksum. DCQCN
//!   has RoCE v2. Wireshark 4.0 has no name for the opcode of CNPs, 129, and says "Malformed" in
//!   the summary of any SEND whose payload is not in the file; it reads the fields of both.
//! - **ICMP** (RFC 792): echo and its reply.
//!
//! Written by hand: the known libraries build headers around payload bytes, which do not exist
//! here.
//!
//! A packet's length is the length of these headers plus payload. The simulator may count bytes
//! differently (a paper's fixed 40 bytes of headers, for example), and then its lengths differ from
//! a capture's.

#[cfg(test)]
mod tests;

use tidegate_transport::protocol::Datagram;
use tidegate_transport::{Flags, Segment};
use tidegate_units::Ecn;

/// Largest number of header bytes: Ethernet, IPv4, and TCP with four SACK blocks.
pub const MAX_HEADERS: usize = TRANSPORT + 20 + 36;

const _: () = assert!(TRANSPORT + UDP_HEADER + Datagram::ROOM <= MAX_HEADERS);

/// Shift of every TCP window on the wire (RFC 7323, section 2).
///
/// Windows up to 256 MiB fit, more than any published setting needs; larger ones are written as 256
/// MiB. A window is rounded up to its unit of 4 KiB, so that only a closed one is written as zero.
pub const WINDOW_SHIFT: u8 = 12;

/// A packet as seen on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketView<'a> {
    /// Number of the sending host.
    pub src_host: u32,
    /// Number of the receiving host.
    pub dst_host: u32,
    /// Source port; unused for an echo.
    pub src_port: u16,
    /// Destination port; unused for an echo and for a datagram, which has one.
    pub dst_port: u16,
    /// Differentiated services codepoint, at most 63: larger values are written as 63.
    pub dscp: u8,
    /// Identification in the IP header. Use it to count a flow's packets, so that a copy of the
    /// same bytes can be distinguished from the same packet on another link.
    pub ip_id: u16,
    /// Content of the packet.
    pub body: Body<'a>,
}

/// Content of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'a> {
    /// A ping or its answer.
    Echo(Echo),
    /// A TCP segment. Its `class` is ignored in favour of `dscp`.
    Tcp(&'a Segment),
    /// A packet of another transport.
    Udp {
        /// The packet.
        datagram: &'a Datagram,
        /// ECN codepoint of the IP header.
        ecn: Ecn,
    },
}

/// A ping or its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Request or reply.
    pub kind: EchoKind,
    /// Id of the prober, in both directions.
    pub id: u16,
    /// Number of the probe, in both directions.
    pub sequence: u16,
    /// Payload bytes.
    pub len: u32,
    /// ECN codepoint of the IP header.
    pub ecn: Ecn,
}

/// Kind of ping packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoKind {
    /// The reply.
    Reply,
    /// The request.
    Request,
}

/// DSCP of traffic class `class`: class selector CS0 to CS7 (RFC 2474, section 4.2.2), which
/// switches and Wireshark know by name. Higher classes have class 7's.
#[inline]
pub const fn class_selector(class: u8) -> u8 {
    if class < 7 { class << 3 } else { 7 << 3 }
}

/// A frame: its headers, and the number of zero bytes after them.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    bytes: [u8; MAX_HEADERS],
    filled: usize,
    zeros: u32,
}

impl Frame {
    /// The frame of `packet`. Payload that would take the packet above the 65 535 bytes of IPv4 is
    /// left out.
    pub fn new(packet: &PacketView<'_>) -> Self {
        let mut frame = Self { bytes: [0; MAX_HEADERS], filled: TRANSPORT, zeros: 0 };
        match packet.body {
            Body::Echo(echo) => frame.echo(packet, &echo),
            Body::Tcp(segment) => frame.tcp(packet, segment),
            Body::Udp { datagram, ecn } => frame.udp(packet, datagram, ecn),
        }
        frame
    }

    /// Header bytes, starting with the Ethernet address.
    #[inline]
    pub fn headers(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }

    /// Number of zero bytes after the headers: payload, padding, trailer.
    #[inline]
    pub const fn zeros(&self) -> u32 {
        self.zeros
    }

    /// Length of the whole frame, without its check sequence.
    #[inline]
    pub const fn wire_len(&self) -> u32 {
        // The headers have at most MAX_HEADERS bytes, the whole at most 65 535 + 14.
        self.filled as u32 + self.zeros
    }

    fn tcp(&mut self, packet: &PacketView<'_>, segment: &Segment) {
        let is_syn = segment.flags.has(Flags::SYN);
        let ack = if segment.flags.has(Flags::ACK) { segment.ack.0 } else { 0 };
        // RFC 7323, section 2.2: the window of a SYN is not scaled.
        let window =
            if is_syn { segment.window } else { segment.window.div_ceil(1 << WINDOW_SHIFT) };
        self.put(packet.src_port.to_be_bytes());
        self.put(packet.dst_port.to_be_bytes());
        self.put(segment.seq.0.to_be_bytes());
        self.put(ack.to_be_bytes());
        self.put([0, segment.flags.bits()]); // the data offset is set once the options are known
        self.put(saturate(window).to_be_bytes());
        self.put([0; 4]); // checksum, urgent pointer
        if is_syn {
            self.syn_options(segment);
        } else {
            self.sack_option(segment);
        }
        let words = (self.filled - TRANSPORT) / 4;
        self.bytes[TRANSPORT + 12] = (words as u8) << 4; // at most 14 words
        let transport = self.ip(packet, Protocol::Tcp, segment.ecn, segment.len);
        let pseudo_header = sum(&self.bytes[ADDRESSES..TRANSPORT]) + Protocol::Tcp as u32;
        self.check(TRANSPORT + 16, pseudo_header + transport);
    }

    /// Each option fills whole words, in Linux's order.
    fn syn_options(&mut self, segment: &Segment) {
        if segment.mss > 0 {
            let [high, low] = segment.mss.to_be_bytes();
            self.put([2, 4, high, low]);
        }
        if segment.sack_permitted {
            self.put([NOP, NOP, 4, 2]);
        }
        self.put([NOP, 3, 3, WINDOW_SHIFT]);
    }

    fn sack_option(&mut self, segment: &Segment) {
        let blocks = segment.sack.as_slice();
        if blocks.is_empty() {
            return;
        }
        self.put([NOP, NOP, 5, 2 + 8 * blocks.len() as u8]); // at most 4 blocks
        for block in blocks {
            self.put(block.start.0.to_be_bytes());
            self.put(block.end.0.to_be_bytes());
        }
    }

    fn udp(&mut self, packet: &PacketView<'_>, datagram: &Datagram, ecn: Ecn) {
        self.put(packet.src_port.to_be_bytes());
        self.put(datagram.port.to_be_bytes());
        self.put([0; 4]); // length, and no checksum
        let header = datagram.header();
        self.bytes[self.filled..self.filled + header.len()].copy_from_slice(header);
        self.filled += header.len();
        let transport = self.ip(packet, Protocol::Udp, ecn, datagram.zeros);
        let length = TRANSPORT + 4;
        self.bytes[length..length + 2].copy_from_slice(&saturate(transport).to_be_bytes());
    }

    fn echo(&mut self, packet: &PacketView<'_>, echo: &Echo) {
        let kind = match echo.kind {
            EchoKind::Reply => 0,
            EchoKind::Request => 8,
        };
        self.put([kind, 0, 0, 0]); // type, code, checksum
        self.put(echo.id.to_be_bytes());
        self.put(echo.sequence.to_be_bytes());
        self.ip(packet, Protocol::Icmp, echo.ecn, echo.len);
        self.check(TRANSPORT + 2, 0);
    }

    /// Writes the headers before the transport header, which is complete, and counts the `behind`
    /// zero bytes after it as far as they fit. Returns the number of bytes in the IP payload.
    fn ip(&mut self, packet: &PacketView<'_>, protocol: Protocol, ecn: Ecn, behind: u32) -> u32 {
        const DO_NOT_FRAGMENT: [u8; 2] = [0x40, 0x00];
        const TIME_TO_LIVE: u8 = 64;
        let header = (self.filled - TRANSPORT) as u32; // at most MAX_HEADERS
        self.zeros = behind.min(u32::from(u16::MAX) - IP_HEADER - header);
        let transport = header + self.zeros;
        let end = self.filled;
        let (src, dst) = (host(packet.src_host), host(packet.dst_host));

        self.filled = 0;
        self.put([0x02, 0, 0]);
        self.put(dst);
        self.put([0x02, 0, 0]);
        self.put(src);
        self.put([0x08, 0x00]);
        self.put([0x45, packet.dscp.min(63) << 2 | ecn.bits()]);
        self.put(saturate(IP_HEADER + transport).to_be_bytes());
        self.put(packet.ip_id.to_be_bytes());
        self.put(DO_NOT_FRAGMENT);
        self.put([TIME_TO_LIVE, protocol as u8, 0, 0]);
        for [high, middle, low] in [src, dst] {
            self.put([10, high, middle, low]);
        }
        let checksum = !fold(sum(&self.bytes[ETHERNET..TRANSPORT]));
        self.bytes[ADDRESSES - 2..ADDRESSES].copy_from_slice(&checksum.to_be_bytes());
        self.filled = end;
        transport
    }

    /// Writes the checksum of the transport header, plus `extra`, at `offset`, where the bytes are
    /// still zero.
    fn check(&mut self, offset: usize, extra: u32) {
        let checksum = !fold(sum(&self.bytes[TRANSPORT..self.filled]) + extra);
        self.bytes[offset..offset + 2].copy_from_slice(&checksum.to_be_bytes());
    }

    #[inline]
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.filled..self.filled + N].copy_from_slice(&bytes);
        self.filled += N;
    }
}

#[derive(Clone, Copy)]
#[repr(u8)]
enum Protocol {
    Icmp = 1,
    Tcp = 6,
    Udp = 17,
}

const ETHERNET: usize = 14;
const IP_HEADER: u32 = 20;
/// Offset of the two IP addresses.
const ADDRESSES: usize = ETHERNET + 12;
/// Offset of the transport header.
const TRANSPORT: usize = ETHERNET + IP_HEADER as usize;
const NOP: u8 = 1;
const UDP_HEADER: usize = 8;

/// Low three bytes of a host's addresses.
const fn host(number: u32) -> [u8; 3] {
    let last = 0x00FF_FFFF;
    let [_, high, middle, low] = if number < last { number } else { last }.to_be_bytes();
    [high, middle, low]
}

const fn saturate(value: u32) -> u16 {
    if value < u16::MAX as u32 { value as u16 } else { u16::MAX }
}

/// Plain sum of 16-bit words; headers have at most 45 of them.
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

/// A sum with its carries added back in (RFC 1071): twice is enough for 32 bits.
const fn fold(sum: u32) -> u16 {
    let once = (sum & 0xFFFF) + (sum >> 16);
    ((once & 0xFFFF) + (once >> 16)) as u16
}
