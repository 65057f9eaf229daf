//! Segments that leave: the decision, and the headers.
//!
//! While nothing is missing, nothing is special and the end is not in sight, a fast path of a few
//! comparisons leads to a full segment of new data, to a bare ACK or to nothing. Everything else
//! takes the slow path, which would decide the same.

use tidegate_units::{Ecn, Time};

use super::{Endpoint, State};
use crate::cc::{CongestionControl, EctUse};
use crate::config::{EcnFallback, Ect};
use crate::receiver::Ack;
use crate::segment::{Flags, Header, SackBlocks, Segment};
use crate::sender::{NextSegment, Outgoing, Reason};
use crate::seq::Seq;
use crate::timer::Timer;

impl Endpoint {
    /// The next segment, unless it is known that there is none.
    pub(super) fn poll_awake(&mut self, now: Time) -> Option<Segment> {
        if self.reset_due.is_some() || !self.is_synchronised() {
            return self.next_control(now);
        }
        if !self.receiver.on_fast_path() {
            return self.next_on_slow_path(now);
        }
        match self.sender.next_segment() {
            NextSegment::FullSegment => Some(self.full_segment(now)),
            NextSegment::Nothing if self.receiver.ack_due() => Some(self.bare_ack()),
            NextSegment::Nothing => {
                self.quiet = true;
                None
            }
            NextSegment::SlowPath => self.next_on_slow_path(now),
        }
    }

    /// The next segment where the fast path does not decide. Kept apart, so that the fast path
    /// needs few registers.
    #[inline(never)]
    fn next_on_slow_path(&mut self, now: Time) -> Option<Segment> {
        if self.receiver.earlier_ack_due() {
            return self.next_ack();
        }
        let sender = &mut self.sender;
        let rto_max = self.rules.rto_max;
        match sender.poll(now, rto_max, &mut self.timers, &mut self.stats) {
            Some(outgoing) => Some(self.data(&outgoing, now)),
            None => self.next_ack(),
        }
    }

    /// The next segment outside of a connection, or instead of one.
    #[cold]
    fn next_control(&mut self, now: Time) -> Option<Segment> {
        let segment = match self.reset_due.take() {
            Some(reset) => Some(Segment {
                seq: reset.seq,
                ack: reset.ack,
                flags: reset.flags,
                ecn: self.handshake_codepoint(self.rules.ect_reset),
                ..Segment::default()
            }),
            None if matches!(self.state, State::SynSent | State::SynReceived) => self.next_syn(now),
            None => None,
        };
        if segment.is_none() && self.state == State::SynReceived && self.receiver.ack_due() {
            return Some(self.bare_ack());
        }
        self.stats.segments_sent += u64::from(segment.is_some());
        segment
    }

    /// The next segment if the fast path decides it and nothing about it is special; otherwise
    /// [`poll_segment`](Self::poll_segment) has the answer, or [`is_quiet`](Self::is_quiet) knows
    /// that there is none. A host that asks here first makes most segments without a [`Segment`].
    #[expect(
        clippy::inline_always,
        reason = "a header that is handed over in memory costs more than making it"
    )]
    #[inline(always)]
    pub fn poll_header(&mut self, now: Time) -> Option<Header> {
        let is_usual = !self.quiet && self.reset_due.is_none() && self.is_synchronised();
        if !is_usual || !self.receiver.on_fast_path() {
            return None;
        }
        match self.sender.next_segment() {
            NextSegment::FullSegment => Some(self.full_header(now)),
            NextSegment::Nothing if self.receiver.ack_due() => Some(self.bare_header()),
            NextSegment::Nothing => {
                self.quiet = true;
                None
            }
            NextSegment::SlowPath => None,
        }
    }

    /// Whether it is known that nothing leaves before the next call that is not a poll.
    #[inline]
    pub const fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// A full segment of new data in a transfer without loss. Kept apart from the decision to send
    /// it, as is the ACK, so that either needs few registers.
    #[inline(never)]
    fn full_segment(&mut self, now: Time) -> Segment {
        self.full_header(now).into()
    }

    #[inline]
    fn full_header(&mut self, now: Time) -> Header {
        let (seq, cwr) = self.sender.send_full(now);
        self.quiet = self.sender.is_full();
        let len = self.sender.mss();
        self.stats.bytes_sent += u64::from(len);
        let ack = self.receiver.piggyback(&mut self.timers);
        Header { seq, len, ecn: self.codepoints.data, ..self.compose(ack, Flags::CWR.when(cwr)) }
    }

    /// The ACK that is owed, when all is in order and nothing else may leave.
    #[inline(never)]
    fn bare_ack(&mut self) -> Segment {
        self.bare_header().into()
    }

    #[inline]
    fn bare_header(&mut self) -> Header {
        self.quiet = true;
        self.stats.pure_acks_sent += 1;
        let ack = self.receiver.piggyback(&mut self.timers);
        Header {
            seq: self.sender.max(),
            ecn: self.codepoints.ack,
            ..self.compose(ack, Flags::NONE)
        }
    }

    /// A segment with payload or FIN.
    fn data(&mut self, outgoing: &Outgoing, now: Time) -> Segment {
        let ack = self.receiver.piggyback(&mut self.timers);
        self.receiver.on_ack_sent();
        if outgoing.len > 0 {
            self.receiver.on_data_sent(now);
        }
        let flags = Flags::FIN.when(outgoing.fin) | Flags::CWR.when(outgoing.cwr);
        let ecn = match outgoing.reason {
            // A FIN alone is a control packet, like an ACK.
            _ if outgoing.len == 0 => self.codepoints.ack,
            Reason::New => self.codepoints.data,
            Reason::Probe => self.codepoints.probe,
            Reason::Retransmission => self.codepoints.retransmission,
        };
        Segment {
            seq: outgoing.seq,
            len: outgoing.len,
            ecn,
            is_retransmission: matches!(outgoing.reason, Reason::Retransmission),
            sack: self.blocks(),
            ..self.compose(ack, flags).into()
        }
    }

    /// The ACK that leaves by itself, if one must.
    fn next_ack(&mut self) -> Option<Segment> {
        let ack = self.receiver.poll_ack(&mut self.timers)?;
        self.receiver.on_ack_sent();
        self.stats.pure_acks_sent += 1;
        Some(Segment {
            seq: self.sender.max(),
            ecn: self.codepoints.ack,
            sack: self.blocks(),
            ..self.compose(ack, Flags::NONE).into()
        })
    }

    /// The SACK blocks of the next segment.
    fn blocks(&mut self) -> SackBlocks {
        let blocks = self.receiver.blocks();
        if self.sack { blocks } else { SackBlocks::default() }
    }

    /// The common part of all segments of an established connection.
    #[inline]
    fn compose(&mut self, ack: Ack, flags: Flags) -> Header {
        self.stats.segments_sent += 1;
        Header {
            seq: Seq(0),
            ack: ack.number,
            len: 0,
            window: self.receiver.edge().since(ack.number),
            flags: Flags::ACK | flags | Flags::ECE.when(ack.echo),
            ecn: Ecn::NotEct,
        }
    }

    /// The SYN or SYN-ACK, if one is due.
    #[cold]
    fn next_syn(&mut self, now: Time) -> Option<Segment> {
        if !core::mem::take(&mut self.syn_due) {
            return None;
        }
        let answers = self.state == State::SynReceived;
        let rtt = self.sender.rtt_mut();
        if self.syns_sent == 0 {
            rtt.on_sent(self.iss + 1, now);
        } else {
            rtt.on_retransmission();
            self.stats.retransmissions += 1;
            if !answers && self.rules.ecn_fallback != EcnFallback::Off {
                // For good: a late answer to the first SYN does not bring it back.
                self.rules.ecn = false;
            }
        }
        self.timers.set(Timer::Retransmit, now, rtt.timeout());
        self.syns_sent = self.syns_sent.saturating_add(1);
        // RFC 3168, section 6.1.1: ECE and CWR ask, ECE alone agrees.
        let flags = if answers {
            Flags::SYN | Flags::ACK | Flags::ECE.when(self.rules.ecn && self.offer.ecn)
        } else {
            Flags::SYN | (Flags::ECE | Flags::CWR).when(self.rules.ecn)
        };
        Some(Segment {
            seq: self.iss,
            ack: if answers { self.receiver.next() } else { Seq(0) },
            window: self.receiver.edge().since(self.receiver.next()),
            flags,
            ecn: self.handshake_codepoint(self.rules.ect_syn),
            sack_permitted: self.rules.sack && (!answers || self.offer.sack),
            mss: self.rules.mss,
            is_retransmission: self.syns_sent > 1,
            ..Segment::default()
        })
    }

    /// The codepoint of a SYN, SYN-ACK or RST, which may leave before anything is agreed on. A
    /// SYN-ACK that refuses ECN is not ECN-capable, like all packets after it.
    fn handshake_codepoint(&self, ect: Ect) -> Ecn {
        let refused = self.state != State::SynSent && !self.offer.ecn;
        let capable = match ect {
            Ect::Always => true,
            Ect::ByRule => self.sender.cc().ect() == EctUse::All,
            Ect::Never => false,
        };
        if capable && self.rules.ecn && !refused { Ecn::Ect0 } else { Ecn::NotEct }
    }
}
