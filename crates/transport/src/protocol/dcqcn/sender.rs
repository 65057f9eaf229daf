//! The sending side: packets leave at the limiter's rate, and loss is repaired by going back.

use tidegate_units::{ConfigError, Ecn, Rate, Span, Time};

use super::{Alpha, Config, Kind, Limiter, Packet};

/// Totals of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Data packets sent, repeated ones included.
    pub packets: u64,
    /// Payload bytes sent again.
    pub again_bytes: u64,
    /// Congestion notifications taken: CNPs, or echoes.
    pub notifications: u64,
    /// Times it went back because of a NACK.
    pub nacks: u64,
    /// Times it went back because nothing was received.
    pub timeouts: u64,
}

/// The sender of one flow: a byte stream without a window, paced.
///
/// Each of `unacked ≤ next ≤ highest ≤ written` is a position in the stream.
#[derive(Clone, Debug)]
pub struct Sender {
    limiter: Limiter,
    unacked: u64,
    next: u64,
    highest: u64,
    written: u64,
    /// The earliest time of the next packet.
    send_at: Time,
    /// When to go back; set while something is unacknowledged.
    retransmit_at: Option<Time>,
    retransmit_timeout: Span,
    /// Since when nothing new was confirmed; set while something is unacknowledged.
    waits_since: Option<Time>,
    livelock_time: Span,
    is_livelocked: bool,
    payload: u32,
    overhead: u32,
    /// Time of a full packet at the rate of the last one.
    full_packet: (Rate, Span),
    stats: Stats,
}

impl Sender {
    /// A sender on a link of speed `line`, at which it starts.
    pub fn new(config: &Config, line: Rate) -> Result<Self, ConfigError> {
        Ok(Self {
            limiter: Limiter::new(config, line)?,
            unacked: 0,
            next: 0,
            highest: 0,
            written: 0,
            send_at: Time::ZERO,
            retransmit_at: None,
            retransmit_timeout: config.retransmit_timeout,
            waits_since: None,
            livelock_time: config.livelock_time,
            is_livelocked: false,
            payload: config.payload,
            overhead: config.overhead,
            full_packet: (line, line.time_for(config.payload + config.overhead)),
            stats: Stats::default(),
        })
    }

    /// The application hands over `bytes` more.
    pub fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// A packet came back from the receiver. Data packets, and acknowledgements of data that was
    /// never sent, are ignored.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, now: Time) {
        match packet.kind {
            Kind::Ack | Kind::Nack if packet.offset <= self.highest => {
                if packet.offset > self.unacked {
                    self.unacked = packet.offset;
                    // An ACK of data sent before the sender went back moves it forward again.
                    self.next = self.next.max(self.unacked);
                    self.retransmit_at = None;
                    self.waits_since = (self.unacked < self.highest).then_some(now);
                } else if let Some(since) = self.waits_since {
                    // Packets arrive, but none that the receiver waits for. A pause brings silence.
                    self.is_livelocked |= now - since >= self.livelock_time;
                }
                if packet.kind == Kind::Nack && packet.offset == self.unacked {
                    self.next = self.unacked;
                    self.retransmit_at = None;
                    self.stats.nacks += 1;
                }
                if self.unacked < self.next && self.retransmit_at.is_none() {
                    self.retransmit_at = Some(now + self.retransmit_timeout);
                }
                if packet.echo {
                    self.notify(now);
                }
            }
            Kind::Cnp => self.notify(now),
            Kind::Ack | Kind::Data | Kind::Nack => {}
        }
    }

    /// Call when the time last returned by [`poll_timeout`](Self::poll_timeout) has come. Calling
    /// early is harmless.
    #[inline]
    pub fn on_timeout(&mut self, now: Time) {
        if self.retransmit_at.is_some_and(|at| at <= now) {
            self.retransmit_at = None;
            self.next = self.unacked;
            self.stats.timeouts += 1;
        }
    }

    /// The packet to send now, if the rate allows one.
    #[expect(clippy::inline_always, reason = "its packet is taken apart where it is used")]
    #[inline(always)]
    pub fn poll_packet(&mut self, now: Time) -> Option<Packet> {
        let left = self.written - self.next;
        if left == 0 || now < self.send_at {
            return None;
        }
        let len = u32::try_from(left).map_or(self.payload, |left| left.min(self.payload));
        let offset = self.next;
        let end = offset + u64::from(len);
        let packet = Packet {
            offset,
            len,
            kind: Kind::Data,
            ecn: Ecn::Ect0,
            echo: false,
            last: end == self.written,
            again: offset < self.highest,
        };
        self.next = end;
        self.stats.packets += 1;
        self.stats.again_bytes += self.highest.min(end).saturating_sub(offset);
        self.highest = self.highest.max(end);
        self.retransmit_at.get_or_insert(now + self.retransmit_timeout);
        self.waits_since.get_or_insert(now);
        let wire = len + self.overhead;
        // HPCC3 spaces packets by the rate at which the earlier one left; time lost to others on
        // the link is not made up for.
        self.send_at = now + self.time_for(wire, now);
        self.limiter.on_sent(wire, now);
        Some(packet)
    }

    /// Time of a packet at the present rate. The rate changes less often than packets leave.
    #[inline]
    fn time_for(&mut self, wire: u32, now: Time) -> Span {
        let rate = self.limiter.rate(now);
        let (of_last, time) = self.full_packet;
        if wire != self.payload + self.overhead {
            rate.time_for(wire)
        } else if rate == of_last {
            time
        } else {
            self.full_packet = (rate, rate.time_for(wire));
            self.full_packet.1
        }
    }

    /// The last packet leaves its host at `leaves`. Data that was sent before waits if that is
    /// further away than the timeout: a copy behind the first one in the host's queue repairs
    /// nothing, and going back again and again would fill the queue with copies.
    #[inline]
    pub fn on_queued(&mut self, leaves: Time) {
        if self.next < self.highest {
            let until =
                Time::from_ps(leaves.as_ps().saturating_sub(self.retransmit_timeout.as_ps()));
            self.send_at = self.send_at.max(until);
        }
    }

    /// Whether packets were answered for `livelock_time` without a confirmation of new data:
    /// go-back-N repeats more than the network delivers.
    pub const fn is_livelocked(&self) -> bool {
        self.is_livelocked
    }

    /// When to call [`poll_packet`](Self::poll_packet) or [`on_timeout`](Self::on_timeout) next: a
    /// time that has passed means at once. It may change after any other call.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        let send = (self.next < self.written).then_some(self.send_at);
        match (send, self.retransmit_at) {
            (Some(send), Some(retransmit)) => Some(send.min(retransmit)),
            (send, retransmit) => send.or(retransmit),
        }
    }

    /// Bytes that the receiver has confirmed.
    pub const fn acked(&self) -> u64 {
        self.unacked
    }

    /// Whether everything written is confirmed.
    pub const fn is_done(&self) -> bool {
        self.unacked == self.written
    }

    /// The current sending rate.
    pub fn rate(&mut self, now: Time) -> Rate {
        self.limiter.rate(now)
    }

    /// The current estimate of congestion.
    pub fn alpha(&mut self, now: Time) -> Alpha {
        self.limiter.alpha(now)
    }

    /// Totals since the start.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    fn notify(&mut self, now: Time) {
        self.stats.notifications += 1;
        self.limiter.on_cnp(now);
    }
}
