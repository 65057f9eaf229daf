//! The receiving side: accepts bytes in order only, reports gaps, and notifies of marks.

use tidegate_units::{ConfigError, Ecn, Rate, Span, Time};

use super::{Config, Feedback, Kind, Packet};

/// The receiver of one flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    feedback: Feedback,
    /// Everything before this position has arrived.
    expected: u64,
    ack_every: u32,
    /// In-order packets since the last ACK.
    unacked: u32,
    /// A packet since the last ACK or NACK was marked.
    echo: bool,
    /// The gap last reported, and when.
    nacked: Option<(u64, Time)>,
    nack_interval: Option<Span>,
    /// The answer to the last packet, not yet collected.
    answer: Option<Kind>,
    cnp_interval: Span,
    /// A CNP to send, not yet collected.
    cnp: bool,
    /// Start of the current interval: of the last CNP, or with `cnp-polled` of the last poll.
    since: Option<Time>,
    /// A mark arrived in the current interval and waits for its end.
    marked: bool,
}

impl Receiver {
    /// A receiver for a sender with the same parameters.
    pub fn new(config: &Config, line: Rate) -> Result<Self, ConfigError> {
        config.check(line)?;
        Ok(Self {
            feedback: config.feedback,
            expected: 0,
            ack_every: config.ack_every,
            unacked: 0,
            echo: false,
            nacked: None,
            nack_interval: config.nack_interval,
            answer: None,
            cnp_interval: config.cnp_interval,
            cnp: false,
            since: None,
            marked: false,
        })
    }

    /// A packet arrived. Anything but data is ignored, as is data without bytes.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, now: Time) {
        if packet.kind != Kind::Data || packet.len == 0 {
            return;
        }
        self.on_timeout(now);
        self.observe(packet.ecn == Ecn::Ce, now);
        let end = packet.offset.saturating_add(u64::from(packet.len));
        if packet.offset > self.expected {
            self.report_gap(now);
        } else if end > self.expected {
            self.expected = end;
            self.unacked += 1;
            if packet.last || self.unacked >= self.ack_every {
                self.acknowledge();
            }
        } else {
            // The sender would not repeat it if it had the acknowledgement.
            self.acknowledge();
        }
    }

    /// Call when the time last returned by [`poll_timeout`](Self::poll_timeout) has come. Calling
    /// early is harmless.
    #[inline]
    pub fn on_timeout(&mut self, now: Time) {
        let Some(end) = self.poll_timeout().filter(|&end| end <= now) else {
            return;
        };
        self.marked = false;
        self.cnp = true;
        self.since = Some(match self.feedback {
            Feedback::CnpPolled => end,
            Feedback::AckEcho | Feedback::Cnp => now,
        });
    }

    /// The next packet for the sender. Call until it returns `None`, after each other call.
    ///
    /// If several packets arrived since, one answer covers all of them.
    #[inline]
    pub fn poll_packet(&mut self) -> Option<Packet> {
        if self.cnp {
            self.cnp = false;
            return Some(self.packet(Kind::Cnp, false));
        }
        let kind = self.answer.take()?;
        let echo = self.feedback == Feedback::AckEcho && self.echo;
        self.echo = false;
        Some(self.packet(kind, echo))
    }

    /// When a CNP is due that waits for the end of its interval.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        let since = self.since.filter(|_| self.marked)?;
        Some(since + self.cnp_interval)
    }

    /// Bytes delivered, in order and once.
    pub const fn delivered(&self) -> u64 {
        self.expected
    }

    fn observe(&mut self, marked: bool, now: Time) {
        self.echo |= marked;
        match self.feedback {
            Feedback::AckEcho => {}
            Feedback::Cnp if !marked => {}
            Feedback::Cnp => match self.since {
                // The interval is over once its length has passed.
                Some(since) if now - since < self.cnp_interval => self.marked = true,
                _ => {
                    self.cnp = true;
                    self.since = Some(now);
                }
            },
            Feedback::CnpPolled => match self.since {
                None => {
                    self.cnp = marked;
                    self.since = Some(now);
                }
                Some(since) if marked => {
                    // Polls that saw no mark have passed unnoticed.
                    let whole = (now - since).as_ps() / self.cnp_interval.as_ps();
                    self.since = Some(since + self.cnp_interval * whole);
                    self.marked = true;
                }
                Some(_) => {}
            },
        }
    }

    fn report_gap(&mut self, now: Time) {
        let again = match self.nacked {
            Some((gap, at)) if gap == self.expected => {
                self.nack_interval.is_some_and(|interval| now - at >= interval)
            }
            _ => true,
        };
        if again {
            self.nacked = Some((self.expected, now));
            self.unacked = 0;
            self.answer = Some(Kind::Nack);
        }
    }

    fn acknowledge(&mut self) {
        self.unacked = 0;
        self.answer = Some(Kind::Ack);
    }

    const fn packet(&self, kind: Kind, echo: bool) -> Packet {
        Packet {
            offset: self.expected,
            len: 0,
            kind,
            // RoCE control packets are not ECN-capable here: a mark on them would say nothing.
            ecn: Ecn::NotEct,
            echo,
            last: false,
            again: false,
        }
    }
}
