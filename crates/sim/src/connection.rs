//! A connection: its two ends, and its current flow.

use tidegate_transport::pias::Pias;
use tidegate_transport::protocol::{self, Counts};
use tidegate_transport::{Endpoint, Seq};
use tidegate_units::{ByteTime, ConfigError, Rate, Span, Time};

use crate::network::HostId;
use crate::packet::Side;
use crate::result::FlowResult;
use crate::setup::{Opening, ThinkTime, Transport};

/// A connection in the table. Fields that every packet needs come first, in one cache line.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Connection {
    /// Packets in flight, in both directions.
    pub(crate) in_flight: i32,
    pub(crate) service: u8,
    phase: Phase,
    /// Whether to measure how long the flow waits at its host.
    pub(crate) is_measured: bool,
    /// Position in the stream at which each end must act: the end of the flow while it is awaited,
    /// never after that, and always at the source of a flow that is over.
    pub(crate) phase_ends: [u64; 2],
    /// Next deadline of each end, as known to the table of timers.
    pub(crate) armed: [Time; 2],
    /// End of the flow in the stream.
    pub(crate) flow_end: u64,
    pub(crate) ends: Ends,
    /// Number of the flow.
    pub(crate) flow: u32,
    /// Counts of each end before the flow started.
    pub(crate) before: [Counts; 2],
    /// An application that writes gradually.
    pub(crate) writer: Option<Box<Writer>>,
    pub(crate) tagging: Option<Box<Pias>>,
}

impl Connection {
    /// Creates a connection that has carried nothing yet.
    pub(crate) fn new(ends: Ends, service: u8) -> Self {
        Self {
            ends,
            flow_end: 0,
            armed: [Time::MAX; 2],
            in_flight: 0,
            flow: 0,
            before: [Counts::default(); 2],
            phase_ends: [u64::MAX; 2],
            service,
            phase: Phase::Idle,
            is_measured: false,
            writer: None,
            tagging: None,
        }
    }

    /// Phase of the flow, as its source knows it.
    pub(crate) const fn phase(&self) -> Phase {
        self.phase
    }

    /// Packets of the flow that have arrived marked, from the end that counts them.
    pub(crate) fn marks(&self) -> u32 {
        self.counts(self.ends.marks_at()).marks
    }

    /// Counts of an end since the flow started.
    pub(crate) fn counts(&self, side: Side) -> Counts {
        let (now, before) = (self.ends.counts(side), self.before[side as usize]);
        Counts {
            retransmissions: now.retransmissions.wrapping_sub(before.retransmissions),
            timeouts: now.timeouts.wrapping_sub(before.timeouts),
            marks: now.marks.wrapping_sub(before.marks),
        }
    }

    /// Whether the receiver waits for bytes.
    pub(crate) const fn is_receiving(&self) -> bool {
        self.phase_ends[Side::Sink as usize] != u64::MAX
    }

    /// Records an end's counts since the flow started.
    pub(crate) fn report(&self, side: Side, result: &mut FlowResult) {
        let counts = self.counts(side);
        if side == self.ends.marks_at() {
            result.marks = counts.marks;
        }
        if side == Side::Source {
            result.retransmissions = counts.retransmissions;
            result.timeouts = counts.timeouts;
            if let Ends::Tcp([source, _]) = &self.ends
                && let Some(rtt) = source.smoothed_rtt()
            {
                result.rtt = rtt;
                result.rtt_variation = source.rtt_variation();
            }
        }
    }

    /// Ends the reception: the receiver has everything, and its counts start over for the next
    /// flow.
    pub(crate) fn end_reception(&mut self, result: &mut FlowResult) {
        self.report(Side::Sink, result);
        self.phase_ends[Side::Sink as usize] = u64::MAX;
        self.before[Side::Sink as usize] = self.ends.counts(Side::Sink);
    }

    /// Sets the end of the first message of a flow that starts at `start`, with `message` bytes, if
    /// the flow has more than one.
    pub(crate) fn end_message(&mut self, start: u64, message: u64) {
        self.phase_ends = [(start + message).min(self.flow_end); 2];
    }

    /// Starts a flow that ends at `flow_end` in the stream.
    pub(crate) fn begin(&mut self, flow_end: u64) {
        self.flow_end = flow_end;
        self.phase = Phase::Sending;
        self.phase_ends = [flow_end; 2];
        self.before[Side::Source as usize] = self.ends.counts(Side::Source);
    }

    /// Ends the flow at the source, independent of the receiver.
    pub(crate) const fn end(&mut self, phase: Phase) {
        self.phase = phase;
        self.phase_ends[Side::Source as usize] = match phase {
            Phase::Sending => self.flow_end,
            Phase::Idle => u64::MAX,
            Phase::Over => 0,
        };
    }
}

/// Phase of a flow, as its source knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// The last ACK has not arrived.
    Sending,
    /// The last ACK has arrived, and another flow may follow.
    Idle,
    /// No other flow follows: the slot is free once nothing is in flight.
    Over,
}

/// The two ends, of any transport.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all values are of the largest kind, and boxes would cost them a cache miss"
)]
pub(crate) enum Ends {
    /// Both ends are in other parts of the network.
    Elsewhere,
    /// A transport other than TCP.
    Other(protocol::Connection),
    /// Packets that go back and forth, which is not a connection.
    Prober(Box<Prober>),
    Tcp([Endpoint; 2]),
}

/// A series of probes.
#[derive(Debug)]
pub(crate) struct Prober {
    /// Hosts that send requests and answers.
    pub(crate) hosts: (HostId, HostId),
    pub(crate) every: Span,
    /// Departure of the next probe.
    pub(crate) next: Time,
    /// Number of probes still to send.
    pub(crate) left: u32,
    /// Length of each probe as an IP packet, and its size on the wire.
    pub(crate) bytes: u16,
    pub(crate) size: u16,
    /// Departure time of the probe that the other host must answer now.
    pub(crate) to_answer: Option<Time>,
    /// Arrival time and round-trip time of each answer.
    pub(crate) round_trips: Vec<(Time, Span)>,
}

impl Prober {
    /// Departure time carried by the next packet from this side, if there is one.
    pub(crate) fn poll(&mut self, side: Side, now: Time) -> Option<Time> {
        match side {
            Side::Sink => self.to_answer.take(),
            Side::Source if self.left > 0 && now >= self.next => {
                self.left -= 1;
                self.next = now + self.every;
                Some(now)
            }
            Side::Source => None,
        }
    }

    /// Handles a packet that carries the departure time `sent`.
    pub(crate) fn on_packet(&mut self, side: Side, sent: Time, now: Time) {
        match side {
            Side::Sink => self.to_answer = Some(sent),
            Side::Source => self.round_trips.push((now, now - sent)),
        }
    }
}

/// An application that writes gradually.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) left: u64,
    /// Time of the next write.
    pub(crate) next: Time,
    pub(crate) pace: Pace,
}

/// Pace of an application.
#[derive(Debug)]
pub(crate) enum Pace {
    /// Messages, each written one think time after the previous one was acknowledged.
    ThinkTime(ThinkTime),
    /// A constant rate.
    Rate(ByteTime),
}

impl Ends {
    /// Creates both ends of a connection on a link of speed `line` at the source.
    pub(crate) fn new(
        transport: &Transport,
        opening: Opening,
        line: Rate,
        numbers: u64,
    ) -> Result<Self, ConfigError> {
        Ok(match transport {
            Transport::Other(config) => Self::Other(config.build(line)?),
            Transport::Tcp(tcp) => {
                let (source, sink) = (&tcp.source, &tcp.sink);
                let ours = Seq(numbers as u32);
                let theirs = Seq((numbers >> 32) as u32);
                Self::Tcp(match opening {
                    Opening::Handshake => [
                        Endpoint::connect(&source.config, &source.cc, ours)?,
                        Endpoint::listen(&sink.config, &sink.cc, theirs)?,
                    ],
                    Opening::Persistent | Opening::Ready => Endpoint::established_pair([
                        (&source.config, &source.cc, ours),
                        (&sink.config, &sink.cc, theirs),
                    ])?,
                })
            }
        })
    }

    /// Bytes that an end knows to have arrived, in order.
    pub(crate) fn arrived(&self, side: Side) -> u64 {
        match (self, side) {
            (Self::Elsewhere | Self::Prober(_), _) => 0,
            (Self::Other(connection), side) => connection.arrived(side),
            (Self::Tcp(ends), side) => arrived(&ends[side as usize], side),
        }
    }

    /// Next deadline of an end.
    #[inline]
    pub(crate) fn deadline(&self, side: Side) -> Option<Time> {
        match (self, side) {
            (Self::Other(connection), side) => connection.poll_timeout(side),
            (Self::Prober(prober), Side::Source) => (prober.left > 0).then_some(prober.next),
            (Self::Prober(_), Side::Sink) | (Self::Elsewhere, _) => None,
            (Self::Tcp(ends), side) => ends[side as usize].poll_timeout(),
        }
    }

    /// Handles an end's deadline.
    pub(crate) fn on_timeout(&mut self, side: Side, now: Time) {
        match (self, side) {
            (Self::Elsewhere | Self::Prober(_), _) => {}
            (Self::Other(connection), side) => connection.on_timeout(side, now),
            (Self::Tcp(ends), side) => ends[side as usize].on_timeout(now),
        }
    }

    /// Hands over bytes from the application at the source.
    pub(crate) fn write(&mut self, bytes: u64, now: Time) {
        match self {
            Self::Elsewhere | Self::Prober(_) => {}
            Self::Other(connection) => connection.write(bytes),
            Self::Tcp(ends) => ends[0].write(bytes, now),
        }
    }

    /// Whether an end gave up the other one.
    pub(crate) fn is_broken(&self, side: Side) -> bool {
        match self {
            Self::Elsewhere | Self::Other(_) | Self::Prober(_) => false,
            Self::Tcp(ends) => ends[side as usize].is_broken(),
        }
    }

    /// The end that counts marks.
    pub(crate) const fn marks_at(&self) -> Side {
        match self {
            Self::Other(connection) => connection.marks_at(),
            Self::Elsewhere | Self::Prober(_) | Self::Tcp(_) => Side::Sink,
        }
    }

    /// Counts of an end so far. Numbers beyond 32 bits wrap: only differences are used.
    pub(crate) fn counts(&self, side: Side) -> Counts {
        match (self, side) {
            (Self::Elsewhere | Self::Prober(_), _) => Counts::default(),
            (Self::Other(connection), side) => connection.counts(side),
            (Self::Tcp([source, _]), Side::Source) => Counts {
                retransmissions: source.stats().retransmissions as u32,
                timeouts: source.stats().timeouts as u32,
                marks: 0,
            },
            (Self::Tcp([_, sink]), Side::Sink) => {
                Counts { marks: sink.stats().marks_received as u32, ..Counts::default() }
            }
        }
    }
}

/// Bytes of the flow that an endpoint knows to have arrived, in order.
#[inline]
pub(crate) fn arrived(endpoint: &Endpoint, side: Side) -> u64 {
    match side {
        Side::Source => endpoint.acked(),
        Side::Sink => endpoint.received(),
    }
}
