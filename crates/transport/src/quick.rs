//! Delayed ACKs as Linux has them: quick at first, then with a delay that follows the gaps between
//! segments.
//!
//! A connection begins with sixteen ACKs that are not delayed. It gets as many after a pause longer
//! than the retransmission timeout, when its peer starts slowly again, and after data that had
//! arrived before. While data flows one way only, a segment smaller than others completes a
//! request, and is acknowledged as soon as the application has read it. Taken from
//! `net/ipv4/tcp_input.c` and `tcp_timer.c` of Linux 3.18 to 6.1 as far as they agree.
//!
//! Differs from Linux: times are not rounded to ticks, the receiver's timeout is taken as its
//! minimum, and marks make no ACKs quick but by the echo rule.

use tidegate_units::{Span, Time};

use crate::config::Config;

/// ACKs without delay at the beginning and after a pause (`TCP_MAX_QUICKACKS`).
const QUICK_ACKS: u32 = 16;

/// What decides on the delay of an ACK.
#[derive(Clone, Debug)]
pub(crate) struct QuickAcks {
    /// ACKs left that are not delayed.
    left: u32,
    /// Half of the receive buffer in segments, at least two: more quick ACKs make no sense.
    most: u32,
    buffer: u32,
    /// The delay as it stands (`ato`); zero before any data.
    delay: Span,
    /// The least and, with round trips shorter than it, the most delay (`TCP_DELACK_MIN`).
    usual: Span,
    /// The retransmission timeout of this end.
    timeout: Span,
    /// When data last arrived.
    arrived: Time,
    /// The largest segment so far.
    largest: u32,
    /// Whether data flows both ways, so that an ACK will soon have something to ride on.
    interactive: bool,
}

impl QuickAcks {
    /// No data has arrived yet.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            left: 0,
            most: QUICK_ACKS,
            // Fits: the settings allow at most 2^30.
            buffer: config.receive_window.0 as u32,
            delay: Span::ZERO,
            usual: config.ack_delay,
            timeout: config.rto_min,
            arrived: Time::ZERO,
            largest: 0,
            interactive: false,
        }
    }

    /// A segment of `len` bytes arrived in order. Answers how long its ACK may wait at most, or
    /// `None` if it must leave now.
    pub(crate) fn on_data(&mut self, len: u32, all_is_read: bool, now: Time) -> Option<Span> {
        let is_small = len < self.largest;
        if len > self.largest {
            self.largest = len;
            self.most = (self.buffer / (2 * len)).clamp(2, QUICK_ACKS);
        }
        self.follow(now);
        let is_quick = !self.interactive && (self.left > 0 || (is_small && all_is_read));
        (!is_quick).then_some(self.delay.min(self.usual))
    }

    /// Moves the delay towards the gaps between segments.
    fn follow(&mut self, now: Time) {
        let gap = now - self.arrived;
        let half = |span: Span| Span::from_ps(span.as_ps() / 2);
        if self.delay == Span::ZERO {
            self.left = self.most;
            self.delay = self.usual;
        } else if gap <= half(self.usual) {
            self.delay = half(self.delay) + half(self.usual);
        } else if gap < self.delay {
            self.delay = (half(self.delay) + gap).min(self.timeout);
        } else if gap > self.timeout {
            self.left = self.most;
        }
        self.arrived = now;
    }

    /// An ACK left, by itself or on data.
    pub(crate) fn on_ack_sent(&mut self) {
        if self.left == 1 {
            self.delay = self.usual;
        }
        self.left = self.left.saturating_sub(1);
    }

    /// The peer has repeated data: its next ACKs are not delayed.
    pub(crate) fn restart(&mut self) {
        self.left = self.left.max(self.most);
        self.delay = self.usual;
        self.interactive = false;
    }

    /// An ACK waited as long as it may: nothing was sent that could carry it.
    pub(crate) fn on_delayed_ack_timeout(&mut self) {
        self.delay = if self.interactive { self.usual } else { (self.delay * 2).min(self.timeout) };
        self.interactive = false;
    }

    /// Payload was sent: soon after data arrived, it is an answer.
    pub(crate) fn on_data_sent(&mut self, now: Time) {
        self.interactive |= self.delay > Span::ZERO && now - self.arrived < self.delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn quick() -> QuickAcks {
        QuickAcks::new(&Config { rto_min: Span::from_ms(200), ..Config::default() })
    }

    /// Full segments at these times, in milliseconds, each acknowledged when it must be at once.
    /// Answers which were.
    fn at(quick: &mut QuickAcks, times: impl IntoIterator<Item = u64>) -> u32 {
        let mut at_once = 0;
        for ms in times {
            if quick.on_data(MSS, true, Time::from_ms(ms)).is_none() {
                at_once += 1;
                quick.on_ack_sent();
            }
        }
        at_once
    }

    #[test]
    fn the_first_sixteen_acks_and_sixteen_after_a_pause_are_quick() {
        let mut quick = quick();
        assert_eq!(at(&mut quick, 0..40), 16);
        assert_eq!(at(&mut quick, 239..280), 0, "200 ms are no pause");
        assert_eq!(at(&mut quick, 480..520), 16);
        // A repeated segment shows that the peer waits.
        quick.restart();
        assert_eq!(at(&mut quick, 520..560), 16);
    }

    #[test]
    fn a_small_buffer_has_fewer_quick_acks() {
        let config = Config { receive_window: tidegate_units::Bytes(10_000), ..Config::default() };
        assert_eq!(at(&mut QuickAcks::new(&config), 0..40), 5);
    }

    #[test]
    fn a_small_segment_is_acknowledged_as_soon_as_it_is_read() {
        let mut quick = quick();
        at(&mut quick, 0..16);
        let now = Time::from_ms(17);
        assert!(quick.clone().on_data(MSS, true, now).is_some());
        assert!(quick.clone().on_data(MSS - 1, false, now).is_some());
        assert_eq!(quick.clone().on_data(MSS - 1, true, now), None);
        // Not when an answer is about to leave that can carry the ACK.
        quick.on_data_sent(now);
        assert!(quick.on_data(MSS - 1, true, now).is_some());
    }

    #[test]
    fn the_delay_follows_the_gaps_between_segments() {
        let mut quick = quick();
        at(&mut quick, 0..17);
        // 40 ms at first, and with gaps below 20 ms it stays there: 20 + 20.
        assert_eq!(quick.delay, Span::from_ms(40));
        // A gap of 30 ms makes 20 + 30, of which no more than 40 ms is used.
        let delay = quick.on_data(MSS, true, Time::from_ms(46));
        assert_eq!(quick.delay, Span::from_ms(50));
        assert_eq!(delay, Some(Span::from_ms(40)));
        // A delay that was for nothing doubles, up to the timeout.
        quick.timeout = Span::from_ms(10);
        quick.on_delayed_ack_timeout();
        assert_eq!(quick.delay, Span::from_ms(10));
        assert_eq!(quick.on_data(MSS, true, Time::from_ms(47)), Some(Span::from_ms(25)));
    }
}
