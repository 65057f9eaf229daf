//! Both ends of a flow as one transport, and its packets on the wire.

use tidegate_units::{ConfigError, Rate, Setting, Time};

use super::{Config, Kind, Packet, Profile, Receiver, Sender};
use crate::protocol::{self, Counts, Datagram, Profiles, Sample, Side, Transport};

/// A DCQCN flow.
#[derive(Debug)]
pub struct Dcqcn {
    sender: Sender,
    receiver: Receiver,
}

/// Header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    offset: u64,
    kind: Kind,
    echo: bool,
    last: bool,
}

impl From<Packet> for protocol::Packet<Header> {
    #[inline]
    fn from(packet: Packet) -> Self {
        let Packet { offset, len, kind, ecn, echo, last, again } = packet;
        Self { header: Header { offset, kind, echo, last }, len, ecn, is_retransmission: again }
    }
}

impl From<&protocol::Packet<Header>> for Packet {
    #[inline]
    fn from(packet: &protocol::Packet<Header>) -> Self {
        let &protocol::Packet { header, len, ecn, is_retransmission: again } = packet;
        let Header { offset, kind, echo, last } = header;
        Self { offset, len, kind, ecn, echo, last, again }
    }
}

impl Transport for Dcqcn {
    type Config = Config;
    type Header = Header;

    /// The source counts congestion notifications.
    const MARKS_AT: Side = Side::Source;

    const NEEDS_LOSSLESS: bool = true;

    const PROFILES: Option<Profiles> = Some(Profiles { names: Profile::NAMES, default: "paper" });

    fn config(profile: Option<&str>, line: Rate) -> Option<Config> {
        let profile = profile.map_or(Ok(Profile::Paper), Profile::read);
        profile.ok().map(|profile| profile.config(line))
    }

    fn payload(config: &Config) -> u32 {
        config.payload
    }

    fn new(config: &Config, line: Rate) -> Result<Self, ConfigError> {
        Ok(Self { sender: Sender::new(config, line)?, receiver: Receiver::new(config, line)? })
    }

    fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
    }

    #[inline]
    fn arrived(&self, side: Side) -> u64 {
        match side {
            Side::Source => self.sender.acked(),
            Side::Sink => self.receiver.delivered(),
        }
    }

    #[expect(clippy::inline_always, reason = "its packet is taken apart where it is used")]
    #[inline(always)]
    fn poll_packet(&mut self, side: Side, now: Time) -> Option<protocol::Packet<Header>> {
        let packet = match side {
            Side::Source => self.sender.poll_packet(now),
            Side::Sink => self.receiver.poll_packet(),
        };
        packet.map(Into::into)
    }

    #[inline]
    fn on_queued(&mut self, side: Side, leaves: Time) {
        if side == Side::Source {
            self.sender.on_queued(leaves);
        }
    }

    #[inline]
    fn on_packet(&mut self, side: Side, packet: &protocol::Packet<Header>, now: Time) {
        match side {
            Side::Source => self.sender.on_packet(&packet.into(), now),
            Side::Sink => self.receiver.on_packet(&packet.into(), now),
        }
    }

    #[inline]
    fn is_livelocked(&self) -> bool {
        self.sender.is_livelocked()
    }

    #[inline]
    fn poll_timeout(&self, side: Side) -> Option<Time> {
        match side {
            Side::Source => self.sender.poll_timeout(),
            Side::Sink => self.receiver.poll_timeout(),
        }
    }

    fn on_timeout(&mut self, side: Side, now: Time) {
        match side {
            Side::Source => self.sender.on_timeout(now),
            Side::Sink => self.receiver.on_timeout(now),
        }
    }

    fn counts(&self, side: Side) -> Counts {
        match side {
            Side::Source => {
                let stats = self.sender.stats();
                Counts {
                    retransmissions: stats.nacks as u32,
                    timeouts: stats.timeouts as u32,
                    marks: stats.notifications as u32,
                }
            }
            Side::Sink => Counts::default(),
        }
    }

    fn sample(&self, now: Time) -> Sample {
        // Reading the rate advances the sender's clocks, so a copy is read.
        let mut sender = self.sender.clone();
        let (rate, alpha) = (sender.rate(now), sender.alpha(now).as_q32());
        Sample { rate: Some(rate), alpha: Some(alpha), ..Sample::default() }
    }

    fn offset(header: &Header) -> u64 {
        header.offset
    }

    /// RoCE v2, minimal. Data are SENDs of one message per flow, answers are ACKs and NAKs with an
    /// AETH and no credits, CNPs follow annex A17. The queue pair is the port, the packet sequence
    /// number counts units of the flow's payload size, and the invariant CRC is zero. There is
    /// neither connection setup nor a RETH.
    fn datagram(header: &Header, len: u32, port: u16, unit: u32) -> Datagram {
        const UDP_PORT: u16 = 4791;
        const ACK_AT_ONCE: u8 = 0x80;
        const BECN: u8 = 0x40;
        const DEFAULT_PARTITION: [u8; 2] = [0xFF, 0xFF];
        const INVARIANT_CRC: u32 = 4;
        let unit = u64::from(unit.max(1));
        // The number of the packet sent, of the last packet covered by an ACK, or of the packet
        // missing at a NAK.
        let (opcode, number) = match header.kind {
            Kind::Ack => (0x11, header.offset.div_ceil(unit).wrapping_sub(1)),
            Kind::Cnp => (0x81, 0),
            Kind::Data => {
                let opcode = match (header.offset == 0, header.last) {
                    (true, true) => 0x04,
                    (true, false) => 0x00,
                    (false, true) => 0x02,
                    (false, false) => 0x01,
                };
                (opcode, header.offset / unit)
            }
            Kind::Nack => (0x11, header.offset.div_ceil(unit)),
        };
        // Only data packets have payload; the length is ignored in others.
        let len = if header.kind == Kind::Data { len } else { 0 };
        let padding = len.wrapping_neg() % 4;
        let notifies = header.echo || header.kind == Kind::Cnp;
        let [.., high, middle, low] = number.to_be_bytes(); // modulo 2^24, as in the protocol
        let [queue_high, queue_low] = port.to_be_bytes();

        // A packet without payload is captured as a whole, to the end of its CRC.
        let zeros = match header.kind {
            Kind::Data => len.saturating_add(padding).saturating_add(INVARIANT_CRC),
            Kind::Ack | Kind::Cnp | Kind::Nack => 0,
        };
        let mut datagram = Datagram::new(UDP_PORT, zeros);
        datagram.put([opcode, (padding as u8) << 4]); // at most 3
        datagram.put(DEFAULT_PARTITION);
        datagram.put([if notifies { BECN } else { 0 }, 0, queue_high, queue_low]);
        datagram.put([if header.last { ACK_AT_ONCE } else { 0 }, high, middle, low]);
        match header.kind {
            Kind::Ack => datagram.put([0x1F, 0, 0, 0, 0, 0, 0, 0]), // no credits
            Kind::Cnp => datagram.put([0; 16 + INVARIANT_CRC as usize]), // reserved
            Kind::Data => {}
            Kind::Nack => datagram.put([0x60, 0, 0, 0, 0, 0, 0, 0]), // a gap in the sequence
        }
        datagram
    }
}
