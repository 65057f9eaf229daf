//! Taking in acknowledgements: progress, duplicates, recovery (RFC 5681, 6582 and 6675).

use tidegate_units::{Span, Time};

use super::{MAX_PEER_WINDOW, Recovery, Sender};
use crate::Stats;
use crate::cc::{AckKind, Acked, CongestionControl, Pace, Phase, Reaction};
use crate::config::Growth;
use crate::prr::Prr;
use crate::segment::{Flags, Header, Segment};
use crate::seq::Seq;
use crate::timer::{Timer, Timers};

/// Time of an ACK, and the round-trip time that it shows.
type Arrival = (Time, Option<Span>);

impl Sender {
    /// Takes in a segment that has no payload and no SACK blocks, if it is the next acknowledgement
    /// of a transfer without complications. Answers whether it was.
    #[inline]
    pub(crate) fn on_fast_ack(
        &mut self,
        header: &Header,
        now: Time,
        timers: &mut Timers,
        stats: &mut Stats,
    ) -> bool {
        let flight = self.max - self.una;
        let fresh = header.ack - self.una;
        if !self.fast_path || fresh == 0 || fresh > flight {
            return false;
        }
        self.take_edge(header);
        self.acked += u64::from(fresh);
        self.messages.advance(self.acked);
        self.una = header.ack;
        let rtt = self.rtt.on_ack(header.ack, now);
        self.end_reduction();
        self.peak = self.peak.max(flight);
        self.note_peak();
        if self.ecn && header.flags.has(Flags::ECE) {
            self.notify_of_echo((now, rtt), fresh, flight, stats);
        } else {
            self.notify(&self.acked_in_order((now, rtt), fresh, flight, false), stats);
        }
        if self.prr.is_some() {
            self.pace(fresh);
        }
        self.set_timer(now, timers);
        true
    }

    /// Takes an acknowledgement that echoes a mark and is otherwise usual. Kept apart, so that
    /// reactions to marks are not part of the fast path.
    #[inline(never)]
    fn notify_of_echo(&mut self, at: Arrival, fresh: u32, flight: u32, stats: &mut Stats) {
        stats.echoes_received += 1;
        self.notify(&self.acked_in_order(at, fresh, flight, true), stats);
    }

    /// An acknowledgement of `fresh` bytes in order, already taken in, for the congestion control.
    #[inline]
    fn acked_in_order(&self, (now, rtt): Arrival, fresh: u32, flight: u32, echo: bool) -> Acked {
        Acked {
            now,
            rtt,
            ack: self.una,
            sent: self.max,
            bytes: fresh,
            delivered: fresh,
            flight,
            echo,
            kind: AckKind::Advance,
            phase: Phase::Open,
            may_grow: self.is_window_in_use(),
        }
    }

    /// Takes in the acknowledgement of a segment with payload, if there is nothing that it could
    /// acknowledge. Answers whether it was so.
    #[inline]
    pub(crate) fn on_idle_ack(&mut self, header: &Header, timers: &Timers) -> bool {
        let idle = self.fast_path && header.ack == self.una && self.max == self.una;
        if !idle || header.seq.is_before(self.edge_from) || timers.is_set(Timer::Persist) {
            return false;
        }
        self.take_edge(header);
        true
    }

    /// Takes in the acknowledgement of a segment. It must not acknowledge data that was never sent.
    pub(crate) fn on_ack(
        &mut self,
        segment: &Segment,
        now: Time,
        timers: &mut Timers,
        stats: &mut Stats,
    ) {
        self.catch_up();
        self.take_in(segment, now, timers, stats);
        self.fast_path = self.can_use_fast_path();
    }

    #[inline(never)]
    fn take_in(&mut self, segment: &Segment, now: Time, timers: &mut Timers, stats: &mut Stats) {
        let ack = segment.ack;
        let flight = self.outstanding();
        let window_moved = self.take_window(segment);
        self.unanswered = 0;
        if flight == 0 && !segment.flags.has(Flags::ECE) {
            // The usual case of an end that only receives: nothing to acknowledge.
            if window_moved && timers.is_set(Timer::Persist) {
                self.reopen(timers);
            }
            return;
        }
        if window_moved && timers.is_set(Timer::Persist) {
            self.reopen(timers);
        }
        let fresh = if ack.is_after(self.una) { ack - self.una } else { 0 };
        let rtt = if fresh > 0 { self.advance(ack, now) } else { None };
        let sacked = self.take_blocks(segment);
        let kind = if fresh > 0 {
            AckKind::Advance
        } else if self.is_duplicate(segment, sacked, flight, window_moved) {
            AckKind::Duplicate
        } else {
            AckKind::Other
        };
        let was_fast = matches!(self.recovery, Recovery::Fast(_));
        if was_fast && kind != AckKind::Other {
            self.counted_pipe = self.counted_pipe.saturating_sub(self.mss);
        }
        match kind {
            AckKind::Advance => self.on_progress(ack, fresh, now, stats),
            AckKind::Duplicate => self.on_duplicate(now, stats),
            AckKind::Other => {}
        }
        let phase = self.phase();
        let echo = self.ecn && segment.flags.has(Flags::ECE);
        stats.echoes_received += u64::from(echo);
        let acked = Acked {
            now,
            rtt,
            ack: self.una,
            sent: self.max,
            bytes: fresh,
            // Bytes that had been SACKed before are not counted twice.
            delivered: self.last_delivered + sacked,
            flight,
            echo,
            kind,
            phase,
            may_grow: fresh > 0 && !was_fast && phase == Phase::Open && self.is_window_in_use(),
        };
        self.notify(&acked, stats);
        if self.prr.is_some() {
            self.pace(acked.delivered);
        }
        // ns-2 starts the timer over when it starts to repair.
        let begins_repair = self.repairs_as_ns2() && !was_fast && phase == Phase::FastRecovery;
        if fresh > 0 || begins_repair {
            self.set_timer(now, timers);
        }
        self.last_delivered = 0;
    }

    /// Takes in the SACK blocks of a segment. Answers how many bytes are newly known to have
    /// arrived.
    fn take_blocks(&mut self, segment: &Segment) -> u32 {
        if !self.rules.sack || segment.sack.is_empty() {
            return 0;
        }
        // Blocks beyond `nxt`, or after a timeout beyond its point, were probes of the window. They
        // are sent again with the data that they were taken from.
        let end = match self.recovery {
            Recovery::Open => self.nxt,
            Recovery::Fast(_) => self.max,
            Recovery::Timeout(point) => self.nxt.max(point),
        };
        self.scoreboard.take(&segment.sack, end)
    }

    /// An acknowledgement that others have overtaken: its blocks of data out of order still count
    /// (RFC 6675, section 5), and nothing else does.
    #[cold]
    pub(crate) fn on_late_sack(&mut self, segment: &Segment, now: Time, stats: &mut Stats) {
        self.catch_up();
        let flight = self.outstanding();
        let sacked = self.take_blocks(segment);
        if sacked > 0 && !self.repairs_as_ns2() {
            self.on_duplicate(now, stats);
            let acked = Acked {
                now,
                rtt: None,
                ack: self.una,
                sent: self.max,
                bytes: 0,
                delivered: sacked,
                flight,
                echo: false,
                kind: AckKind::Duplicate,
                phase: self.phase(),
                may_grow: false,
            };
            self.notify(&acked, stats);
            if self.prr.is_some() {
                self.pace(sacked);
            }
        }
        self.fast_path = self.can_use_fast_path();
    }

    fn phase(&self) -> Phase {
        match self.recovery {
            Recovery::Fast(_) => Phase::FastRecovery,
            Recovery::Open | Recovery::Timeout(_) => Phase::Open,
        }
    }

    /// Notifies the congestion control of an ACK.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the caller knows the kind of ACK, which leaves little to decide"
    )]
    fn notify(&mut self, acked: &Acked, stats: &mut Stats) {
        let answer = self.cc.answer(acked);
        self.window = answer.window;
        self.ssthresh = answer.ssthresh;
        if let Reaction::Reduced(pace) = answer.reaction {
            stats.mark_reductions += 1;
            self.reduce(pace, acked);
        }
    }

    /// The congestion control has reduced the window.
    #[cold]
    fn reduce(&mut self, pace: Pace, acked: &Acked) {
        self.announce_reduction();
        self.prr = match pace {
            Pace::AtOnce => None,
            Pace::Prr => Some(Prr::new(acked.flight, self.max)),
            Pace::PrrNs3 => {
                let left = acked.flight.saturating_sub(acked.bytes);
                Some(Prr::begun(left, self.max, acked.delivered, self.mss))
            }
        };
    }

    /// Learns of the peer's window (RFC 9293, section 3.10.7.4). Answers whether it changed.
    #[inline]
    fn take_window(&mut self, segment: &Segment) -> bool {
        // The ACK number is not before `una`: older ones never get here. An equal one from an
        // older segment was overtaken.
        if segment.ack == self.una && segment.seq.is_before(self.edge_from) {
            return false;
        }
        let edge = self.edge;
        self.take_edge(&segment.header());
        edge != self.edge
    }

    #[inline]
    fn take_edge(&mut self, header: &Header) {
        self.edge_from = header.seq;
        let mut window = header.window;
        if window > self.max_announced {
            window = window.min(MAX_PEER_WINDOW);
            self.max_announced = window;
        }
        self.edge = header.ack + window;
    }

    /// The window that was being probed is open again.
    #[cold]
    fn reopen(&mut self, timers: &mut Timers) {
        if self.edge.is_after(self.nxt) {
            timers.stop(Timer::Persist);
            self.probes = 0;
            self.probe_due = false;
        }
    }

    /// A duplicate in the sense of RFC 5681, section 2; with SACK, an ACK that reports something
    /// new (RFC 6675, section 2).
    #[inline]
    fn is_duplicate(&self, segment: &Segment, sacked: u32, flight: u32, moved: bool) -> bool {
        if self.rules.sack && !self.repairs_as_ns2() {
            return sacked > 0;
        }
        flight > 0
            && segment.ack == self.una
            && segment.len == 0
            && !segment.flags.has(Flags::FIN)
            && !moved
            && self.nxt != self.una
    }

    /// Everything before `ack` has arrived. Answers with the round-trip time that the ACK shows.
    #[inline]
    fn advance(&mut self, ack: Seq, now: Time) -> Option<Span> {
        let before = self.una;
        let known = self.scoreboard.sacked_before(ack);
        // The FIN's number is no payload.
        let mut payload = ack - before;
        if self.fin.is_some_and(|fin| ack.is_after(fin)) {
            payload -= 1;
        }
        self.last_delivered = (ack - before) - known;
        self.acked += u64::from(payload);
        self.messages.advance(self.acked);
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.scoreboard.advance(ack);
        let mut rtt = self.rtt.on_ack(ack, now);
        if let Some(pacing) = &mut self.pacing {
            let sent = pacing.on_ack(ack);
            if self.cc.needs().samples {
                rtt = sent.map(|sent| self.rtt.elapsed(sent, now));
            }
        }
        self.duplicates = 0;
        self.limited = 0;
        self.probes = 0;
        self.retries = 0;
        self.note_peak();
        if self.settled.is_some_and(|point| ack.is_after(point)) {
            self.settled = None;
        }
        self.end_reduction();
        if let Some(bursts) = &mut self.bursts {
            bursts.on_acked(ack);
        }
        rtt
    }

    /// A reduction ends once all is acknowledged that was in flight when it began, or everything.
    #[inline]
    fn end_reduction(&mut self) {
        if let Some(prr) = &self.prr
            && (self.una.is_after(prr.end) || self.una == self.max)
        {
            self.prr = None;
        }
    }

    /// A round trip is over: its peak of bytes in flight counts, and a new one begins.
    #[inline]
    fn note_peak(&mut self) {
        if self.una.is_after(self.peak_end) {
            self.last_peak = self.peak;
            self.peak = self.nxt - self.una;
            self.peak_end = self.max;
        }
    }

    /// An ACK advanced by `fresh` bytes: recovery goes on or ends.
    #[inline]
    fn on_progress(&mut self, ack: Seq, fresh: u32, now: Time, stats: &mut Stats) {
        match self.recovery {
            Recovery::Open => {}
            Recovery::Fast(point) if ack.is_before(point) => self.on_partial_ack(fresh),
            Recovery::Fast(point) => {
                self.recovery = Recovery::Open;
                self.inflation = 0;
                self.resend_first = false;
                self.prr = None;
                self.settle_at(point);
                self.scoreboard.end_recovery();
                self.cc.on_recovered(ack);
                self.refresh_window();
            }
            Recovery::Timeout(point) if ack.is_before(point) => {}
            Recovery::Timeout(point) => {
                self.recovery = Recovery::Open;
                self.settle_at(point);
            }
        }
        // An ACK may advance and show at the same time that the next bytes are lost.
        if self.recovery == Recovery::Open && self.is_first_shown_lost() {
            self.enter_recovery(now, stats);
        }
    }

    /// The repair of data sent before `point` is over. If duplicates are counted, further
    /// duplicates of this number start no other.
    fn settle_at(&mut self, point: Seq) {
        let settles =
            if self.repairs_as_ns2() { !self.una.is_after(point) } else { !self.rules.sack };
        self.settled = settles.then_some(point);
    }

    /// Whether SACK blocks show that the first outstanding segment is lost, and that counts.
    fn is_first_shown_lost(&self) -> bool {
        self.rules.sack && !self.repairs_as_ns2() && self.scoreboard.is_first_lost()
    }

    /// Fast recovery goes on: more was lost. Without SACK, the next hole begins where the ACK ends
    /// (RFC 6582, section 3.2, step 3).
    #[cold]
    fn on_partial_ack(&mut self, fresh: u32) {
        self.counted_pipe = self.counted_pipe.saturating_sub(self.mss);
        if !self.rules.sack {
            self.resend_first = true;
            self.inflation = self.inflation.saturating_sub(fresh);
            if fresh >= self.mss {
                self.inflation = self.inflation.saturating_add(self.mss);
            }
        }
    }

    #[cold]
    fn on_duplicate(&mut self, now: Time, stats: &mut Stats) {
        stats.duplicate_acks += 1;
        self.duplicates = self.duplicates.saturating_add(1);
        match self.recovery {
            Recovery::Open => {
                let enough = self.duplicates >= u32::from(self.rules.dupack_threshold)
                    || self.is_first_shown_lost();
                if enough && self.settled.is_none() {
                    self.enter_recovery(now, stats);
                }
            }
            Recovery::Fast(_) if !self.rules.sack => {
                self.inflation = self.inflation.saturating_add(self.mss);
                // The inflated window never needs to exceed the outstanding bytes.
                self.inflation = self.inflation.min(self.outstanding());
            }
            Recovery::Fast(_) | Recovery::Timeout(_) => {}
        }
    }

    fn enter_recovery(&mut self, now: Time, stats: &mut Stats) {
        stats.fast_recoveries += 1;
        let mut flight = self.flight(now);
        // RFC 5681, section 3.2, step 2: limited transmit does not count as in flight.
        flight.bytes = flight.bytes.saturating_sub(core::mem::take(&mut self.limited));
        self.recovery = Recovery::Fast(self.max);
        self.end_burst();
        self.cc.on_loss(&flight);
        self.refresh_window();
        self.announce_reduction();
        self.scoreboard.begin_recovery();
        self.resend_first = true;
        self.counted_pipe = self.outstanding() - self.scoreboard.sacked();
        // RFC 6937 counts from all that is outstanding, limited transmit included.
        let outstanding = self.outstanding();
        let uses_prr = self.rules.prr && self.rules.sack && !self.repairs_as_ns2();
        self.prr = uses_prr.then(|| Prr::new(outstanding, self.max));
        if !self.rules.sack {
            self.inflation = u32::from(self.rules.dupack_threshold) * self.mss;
        }
    }

    /// Credits delivered bytes to a reduction in progress.
    #[inline(never)]
    fn pace(&mut self, delivered: u32) {
        let pipe = self.pipe();
        let target = self.window;
        if let Some(prr) = &mut self.prr {
            prr.on_delivered(delivered, pipe, target, self.mss);
        }
    }

    /// Whether the window, not the application, limits the sender.
    #[inline]
    fn is_window_in_use(&self) -> bool {
        match self.rules.growth {
            Growth::Always => true,
            Growth::WhenLimited => {
                let window = self.window;
                let used = self.peak.max(self.last_peak);
                if window < self.ssthresh {
                    window / 2 < used
                } else {
                    window < used.saturating_add(self.mss)
                }
            }
        }
    }
}
