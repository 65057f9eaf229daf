//! Segments that arrive: RFC 9293, section 3.10.7, with the checks of RFC 5961.

use tidegate_units::{Span, Time};

use super::{Endpoint, Offer, Reset, State};
use crate::config::EcnFallback;
use crate::segment::{Flags, Header, Segment};
use crate::seq::Seq;
use crate::timer::Timer;

/// The least time between two answers to senseless segments that may be such answers themselves
/// (RFC 5961, section 7). Two endpoints that disagree would otherwise answer each other for ever.
const ANSWER_INTERVAL: Span = Span::from_ms(100);

impl Endpoint {
    /// A segment arrived, with the ECN codepoint as the network left it.
    #[inline]
    pub fn on_segment(&mut self, segment: &Segment, now: Time) {
        let is_taken = (segment.len > 0 || segment.sack.is_empty())
            && self.take_header(&segment.header(), now);
        if !is_taken {
            self.on_segment_slow_path(segment, now);
        }
    }

    /// The same for a segment in which nothing is special.
    #[inline]
    pub fn on_header(&mut self, header: &Header, now: Time) {
        if !self.take_header(header, now) {
            self.on_header_slow_path(*header, now);
        }
    }

    /// The same for `segments` segments with payload, in a row and with equal flags and codepoints,
    /// that the host has merged into one (receive offload). They are acknowledged together.
    pub fn on_merged(&mut self, header: &Header, segments: u32, now: Time) {
        let marks = self.stats.marks_received;
        self.receiver.begin_merged(segments);
        self.on_header(header, now);
        self.receiver.end_merged();
        let more = u64::from(segments.saturating_sub(1));
        self.stats.segments_received += more;
        if self.stats.marks_received > marks {
            self.stats.marks_received += more;
        }
    }

    #[cold]
    fn on_header_slow_path(&mut self, header: Header, now: Time) {
        self.on_segment_slow_path(&header.into(), now);
    }

    /// Takes a segment in, if it is the next of a transfer without loss. Answers whether it was.
    #[inline]
    fn take_header(&mut self, header: &Header, now: Time) -> bool {
        if header.len == 0 {
            self.on_bare_header(header, now)
        } else {
            self.on_data_header(header, now)
        }
    }

    /// A segment without payload. The next ACK of a transfer without loss takes the fast path, with
    /// the same result as the slow path.
    #[inline(never)]
    fn on_bare_header(&mut self, header: &Header, now: Time) -> bool {
        // ECE counts on an ACK, CWR only with data.
        let expected = self.state == State::Established
            && header.flags.bits() & !Flags::ECE.bits() == Flags::ACK.bits()
            && header.seq == self.receiver.next()
            && (self.sender).on_fast_ack(header, now, &mut self.timers, &mut self.stats);
        if expected {
            self.begin_segment();
        }
        expected
    }

    /// A segment with payload. The next data of a transfer without loss takes the fast path, with
    /// the same result as the slow path.
    #[expect(
        clippy::inline_always,
        reason = "half of all segments, in fewer steps than a call takes"
    )]
    #[inline(always)]
    fn on_data_header(&mut self, header: &Header, now: Time) -> bool {
        let expected = self.state == State::Established
            && header.flags.bits() & !Flags::CWR.bits() == Flags::ACK.bits()
            && self.receiver.expects(header)
            && self.sender.on_idle_ack(header, &self.timers);
        if expected {
            self.begin_segment();
            self.stats.marks_received += u64::from(header.ecn == tidegate_units::Ecn::Ce);
            self.receiver.on_expected_data(header, self.ecn, now, &mut self.timers);
        }
        expected
    }

    /// A segment has arrived.
    #[inline]
    fn begin_segment(&mut self) {
        self.quiet = false;
        self.stats.segments_received += 1;
    }

    /// Any segment, on the slow path.
    #[inline(never)]
    fn on_segment_slow_path(&mut self, segment: &Segment, now: Time) {
        self.begin_segment();
        if self.is_synchronised() {
            self.on_segment_of_connection(segment, now);
        } else {
            self.on_segment_before_connection(segment, now);
        }
    }

    #[cold]
    fn on_segment_before_connection(&mut self, segment: &Segment, now: Time) {
        match self.state {
            State::Closed => self.answer_with_reset(segment),
            State::Listen => self.on_segment_in_listen(segment),
            State::SynSent => self.on_segment_in_syn_sent(segment, now),
            _ => self.on_segment_of_connection(segment, now),
        }
    }

    #[cold]
    fn on_segment_in_listen(&mut self, segment: &Segment) {
        let flags = segment.flags;
        if flags.has(Flags::RST) {
            self.stats.segments_refused += 1;
        } else if flags.has(Flags::ACK) {
            self.answer_with_reset(segment);
        } else if flags.has(Flags::SYN) && !flags.has(Flags::FIN) {
            self.learn_peer(segment, asks_for_ecn(flags));
            self.state = State::SynReceived;
            self.syn_due = true;
        } else {
            self.stats.segments_refused += 1;
        }
    }

    #[cold]
    fn on_segment_in_syn_sent(&mut self, segment: &Segment, now: Time) {
        let flags = segment.flags;
        let acks = flags.has(Flags::ACK);
        if acks && segment.ack != self.iss + 1 {
            self.answer_with_reset(segment);
        } else if flags.has(Flags::RST) {
            if !acks {
                self.stats.segments_refused += 1;
            } else if self.rules.ecn && self.rules.ecn_fallback == EcnFallback::AfterSynLossOrReset
            {
                // The SYN arrived: it is the question that was refused, and nothing was lost.
                self.rules.ecn = false;
                self.syns_sent = self.syns_sent.saturating_sub(1);
                self.syn_due = true;
            } else {
                self.broken = true;
                self.end();
            }
        } else if !flags.has(Flags::SYN) || flags.has(Flags::FIN) {
            self.stats.segments_refused += 1;
        } else if acks {
            // RFC 3168, section 6.1.1.1: ECE without CWR; both together come from broken peers.
            let ecn = flags.has(Flags::ECE) && !flags.has(Flags::CWR);
            self.learn_peer(segment, ecn);
            self.sender.rtt_mut().on_ack(segment.ack, now);
            self.establish(segment.seq, segment.window);
            self.receiver.acknowledge_now();
        } else {
            // Both ends opened at the same time. The SYN-ACK takes the place of a SYN that has
            // arrived: nothing was lost.
            self.learn_peer(segment, asks_for_ecn(flags));
            self.syns_sent = self.syns_sent.saturating_sub(1);
            self.state = State::SynReceived;
            self.syn_due = true;
        }
    }

    /// In any state from `SynReceived` on.
    #[inline(never)]
    fn on_segment_of_connection(&mut self, segment: &Segment, now: Time) {
        let flags = segment.flags;
        let usual =
            flags.bits() & (Flags::SYN | Flags::RST | Flags::ACK).bits() == Flags::ACK.bits();
        if !self.is_acceptable(segment) || !usual {
            self.on_unusual(segment, now);
            return;
        }
        if self.state == State::SynReceived && !self.finish_handshake(segment, now) {
            return;
        }
        if !self.take_ack(segment, now) {
            return;
        }
        if segment.seq_len() > 0 {
            self.take_data(segment, now);
        }
        self.settle(now);
    }

    /// Whether any part of the segment lies in the receive window (RFC 9293, section 3.4). A
    /// segment of nothing but old data is not, and is answered with an ACK.
    #[inline]
    fn is_acceptable(&self, segment: &Segment) -> bool {
        let (next, edge) = (self.receiver.next(), self.receiver.edge());
        let len = segment.seq_len();
        // Lengths beyond half the sequence space cannot be distinguished from old segments.
        if len > 1 << 30 {
            return false;
        }
        if len == 0 {
            return segment.seq == next
                || (!segment.seq.is_before(next) && segment.seq.is_before(edge));
        }
        segment.seq.is_before(edge) && segment.end().is_after(next)
    }

    /// Anything but an acceptable segment with ACK and without SYN and RST.
    #[cold]
    fn on_unusual(&mut self, segment: &Segment, now: Time) {
        let flags = segment.flags;
        self.stats.segments_refused += 1;
        let next = self.receiver.next();
        if flags.has(Flags::RST) {
            // RFC 5961, section 3.2: only the exact number resets; one in the window is challenged.
            if self.state == State::TimeWait {
                // RFC 1337, section 3: nothing is left to reset. A peer that is already gone
                // answers late duplicates of ours in this way.
            } else if segment.seq == next && self.state == State::SynReceived && self.can_listen() {
                self.listen_again();
            } else if segment.seq == next {
                self.broken = true;
                self.end();
            } else if segment.seq.is_after(next) && segment.seq.is_before(self.receiver.edge()) {
                self.answer(segment, now);
            }
        } else if flags.has(Flags::SYN) {
            let repeats = segment.seq == self.irs;
            if self.state == State::SynReceived && repeats && !flags.has(Flags::ACK) {
                // The peer did not get our SYN-ACK, and may have stopped asking for ECN.
                self.offer.ecn &= asks_for_ecn(flags);
                self.syn_due = true;
            } else if self.state == State::SynReceived && repeats && segment.ack == self.iss + 1 {
                // Simultaneous open: the peer's SYN-ACK acknowledges our SYN.
                self.sender.rtt_mut().on_ack(segment.ack, now);
                self.establish(segment.seq, segment.window);
                self.receiver.acknowledge_now();
                self.settle(now);
            } else {
                self.answer(segment, now);
            }
        } else if flags.has(Flags::ACK) {
            // Old or beyond the window. The acknowledgement of an old segment is old too, but it
            // may be the only one that gets through a closed window.
            let known = segment.ack.is_within(self.sender.una(), self.sender.max());
            if self.state != State::SynReceived && segment.len == 0 && known {
                self.sender.on_ack(segment, now, &mut self.timers, &mut self.stats);
            }
            if !segment.end().is_after(next) {
                self.receiver.on_old_data(segment);
            } else if segment.seq == next && segment.len > 0 && self.ecn {
                // RFC 3168, section 6.1.6: a probe of the closed window cannot be spoofed easily,
                // and its mark counts.
                self.stats.marks_received += u64::from(segment.ecn == tidegate_units::Ecn::Ce);
                self.receiver.on_probe(&segment.header());
            }
            if self.state == State::TimeWait {
                self.timers.set(Timer::TimeWait, now, self.rules.time_wait);
            }
            self.answer(segment, now);
            self.settle(now);
        }
    }

    /// The third segment of the handshake. Answers whether the connection stands.
    #[cold]
    fn finish_handshake(&mut self, segment: &Segment, now: Time) -> bool {
        if segment.ack != self.iss + 1 {
            self.answer_with_reset(segment);
            return false;
        }
        self.sender.rtt_mut().on_ack(segment.ack, now);
        self.establish(segment.seq, segment.window);
        true
    }

    /// Takes in the acknowledgement. Answers whether the rest of the segment may be looked at.
    #[inline]
    fn take_ack(&mut self, segment: &Segment, now: Time) -> bool {
        let (una, max) = (self.sender.una(), self.sender.max());
        let ack = segment.ack;
        if !ack.is_within(una, max) {
            return self.is_delayed(segment, now);
        }
        self.sender.on_ack(segment, now, &mut self.timers, &mut self.stats);
        true
    }

    /// Whether a segment whose acknowledgement is not of outstanding data is merely late. If not,
    /// it is answered.
    #[cold]
    fn is_delayed(&mut self, segment: &Segment, now: Time) -> bool {
        // RFC 5961, section 5.2: not an ACK of data that was never sent, and not older than any
        // window that the segment could have been delayed by.
        let behind = self.sender.una().since(segment.ack);
        if behind > 0 && behind <= self.sender.max_announced().max(1) {
            self.sender.on_late_sack(segment, now, &mut self.stats);
            return true;
        }
        self.stats.segments_refused += 1;
        self.answer(segment, now);
        false
    }

    #[inline]
    fn take_data(&mut self, segment: &Segment, now: Time) {
        self.stats.marks_received += u64::from(segment.ecn == tidegate_units::Ecn::Ce);
        self.receiver.on_data(segment, self.ecn, now, &mut self.timers);
    }

    /// Moves on to the state that the FINs of both sides have led to.
    #[inline]
    fn settle(&mut self, now: Time) {
        if self.state == State::Established && !self.receiver.is_finished() {
            return;
        }
        let ours = self.sender.is_fin_acked();
        let theirs = self.receiver.is_finished();
        let state = match self.state {
            State::Established if theirs => State::CloseWait,
            State::FinWait1 if ours && theirs => State::TimeWait,
            State::FinWait1 if ours => State::FinWait2,
            State::FinWait1 if theirs => State::Closing,
            State::FinWait2 if theirs => State::TimeWait,
            State::Closing if ours => State::TimeWait,
            State::LastAck if ours => {
                self.end();
                return;
            }
            other => other,
        };
        if state == State::TimeWait && self.state != State::TimeWait {
            self.timers.stop(Timer::Retransmit);
            self.timers.set(Timer::TimeWait, now, self.rules.time_wait);
        }
        self.state = state;
    }

    /// Notes the options and flags of a SYN.
    fn learn_peer(&mut self, segment: &Segment, ecn: bool) {
        self.irs = segment.seq;
        self.offer = Offer { ecn, sack: segment.sack_permitted, mss: segment.mss };
        self.receiver.begin(segment.seq + 1);
    }

    /// A challenge ACK with the numbers sent and expected here. Payload, FINs and the peer's own
    /// SYN are always answered, because the peer repeats them until they are; answers to all else
    /// are limited.
    #[cold]
    fn answer(&mut self, segment: &Segment, now: Time) {
        let is_other_syn =
            segment.flags.has(Flags::SYN) && !(segment.seq == self.irs && self.is_synchronised());
        if segment.seq_len() == 0 || is_other_syn {
            if now < self.quiet_until {
                return;
            }
            self.quiet_until = now + ANSWER_INTERVAL;
        }
        self.receiver.acknowledge_now();
    }

    /// Answers a segment that belongs to no connection (RFC 9293, section 3.10.7.1).
    #[cold]
    fn answer_with_reset(&mut self, segment: &Segment) {
        self.stats.segments_refused += 1;
        if segment.flags.has(Flags::RST) {
            return;
        }
        let reset = if segment.flags.has(Flags::ACK) {
            Reset { seq: segment.ack, ack: Seq(0), flags: Flags::RST }
        } else {
            Reset { seq: Seq(0), ack: segment.end(), flags: Flags::RST | Flags::ACK }
        };
        self.reset_due = Some(reset);
    }
}

/// RFC 3168, section 6.1.1: a SYN that asks for ECN has both flags.
const fn asks_for_ecn(flags: Flags) -> bool {
    flags.has(Flags::ECE) && flags.has(Flags::CWR)
}
