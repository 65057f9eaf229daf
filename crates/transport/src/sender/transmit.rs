//! Choosing the next segment: retransmissions, new data, FIN and window probes.

use tidegate_units::{Span, Time};

use super::{Recovery, Sender};
use crate::Stats;
use crate::cc::{CongestionControl, Restart};
use crate::config::IdleRestart;
use crate::seq::{Range, Seq};
use crate::timer::{Timer, Timers};

/// A segment to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// Its first number.
    pub(crate) seq: Seq,
    /// Its payload.
    pub(crate) len: u32,
    /// Whether it carries the FIN.
    pub(crate) fin: bool,
    /// Whether it carries CWR.
    pub(crate) cwr: bool,
    /// Why it is sent.
    pub(crate) reason: Reason,
}

/// Why a segment is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// For the first time.
    New,
    /// To learn the peer's window.
    Probe,
    /// Again.
    Retransmission,
}

/// Next thing to send, as far as the fast path decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextSegment {
    /// A full segment of new data.
    FullSegment,
    /// Nothing before something happens.
    Nothing,
    /// The slow path decides.
    SlowPath,
}

impl Sender {
    /// The next segment, if any may leave now.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        now: Time,
        probe_max: Span,
        timers: &mut Timers,
        stats: &mut Stats,
    ) -> Option<Outgoing> {
        if self.is_quiet() {
            self.end_burst();
            return None;
        }
        self.catch_up();
        if self.waits_for_pace(now, timers) {
            return None;
        }
        let chosen = self.choose(now, probe_max, timers);
        let outgoing = chosen.map(|range| self.emit(range, now, timers, stats));
        self.fast_path = self.can_use_fast_path();
        outgoing
    }

    /// Next thing to send, on the fast path.
    #[inline]
    pub(crate) fn next_segment(&self) -> NextSegment {
        if !self.fast_path {
            return NextSegment::SlowPath;
        }
        if self.unsent <= u64::from(self.mss) {
            return if self.unsent == 0 && !self.fin_wanted {
                NextSegment::Nothing
            } else {
                NextSegment::SlowPath
            };
        }
        let outstanding = self.nxt - self.una;
        // The first segment may find the window changed by an idle time, and starts the timer.
        if outstanding == 0 {
            return NextSegment::SlowPath;
        }
        if self.fills_window(outstanding) {
            return NextSegment::Nothing;
        }
        if self.edge.since(self.nxt) < self.mss {
            return NextSegment::SlowPath;
        }
        NextSegment::FullSegment
    }

    /// Books a full segment of new data as sent, if that is the next segment: something is in
    /// flight, so the timer already runs. Answers with its number and whether it carries CWR.
    #[inline]
    pub(crate) fn send_full(&mut self, now: Time) -> (Seq, bool) {
        let seq = self.nxt;
        let end = seq + self.mss;
        self.rtt.on_sent(end, now);
        self.unsent -= u64::from(self.mss);
        self.nxt = end;
        self.max = end;
        self.last_sent = now;
        if let Some(prr) = &mut self.prr {
            prr.on_sent(self.mss);
        }
        (seq, core::mem::take(&mut self.cwr_due))
    }

    /// Whether the window is full, after a full segment was sent: then nothing follows it. If less
    /// than a segment is left, that may still fit.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.unsent > u64::from(self.mss) && self.fills_window(self.nxt - self.una)
    }

    /// Whether a segment more than `in_flight` is too much for the window, or for the pace of a
    /// reduction.
    #[inline]
    fn fills_window(&self, in_flight: u32) -> bool {
        match &self.prr {
            None => u64::from(in_flight) + u64::from(self.mss) > u64::from(self.window),
            Some(prr) => prr.allowance() < self.mss,
        }
    }

    /// Whether there is nothing to send at all: the common answer after an ACK was sent.
    #[inline]
    fn is_quiet(&self) -> bool {
        self.nxt == self.max
            && self.unsent == 0
            && (!self.fin_wanted || self.fin.is_some())
            && !self.resend_first
            && !matches!(self.recovery, Recovery::Fast(_))
            && !self.probe_due
    }

    #[inline]
    fn choose(&mut self, now: Time, probe_max: Span, timers: &mut Timers) -> Option<Range> {
        if self.resend_first {
            self.resend_first = false;
            let hole = self.scoreboard.first_hole(self.max);
            if !hole.is_empty() {
                self.scoreboard.on_resent(hole);
                return Some(hole);
            }
        }
        if matches!(self.recovery, Recovery::Fast(_)) && self.rules.sack {
            return self.choose_in_recovery();
        }
        self.skip_sacked();
        let next = self.next_in_order();
        let Some(range) = next else {
            self.end_burst();
            self.watch_closed_window(now, probe_max, timers);
            return self.take_probe();
        };
        // The window has opened after the timer ran out: there is nothing to probe.
        self.probe_due = false;
        let fits = self.has_room(range.len());
        if !fits || self.is_held_by_nagle(range) {
            self.end_burst();
            return None;
        }
        if self.waits_for_burst(range, now) {
            return None;
        }
        self.note_idle(now);
        Some(range)
    }

    /// `NextSeg` of RFC 6675: lost bytes, new data, other holes, and the rescue. A closed window
    /// need not be watched here: the bytes under repair are outstanding, and their timer runs.
    #[cold]
    fn choose_in_recovery(&mut self) -> Option<Range> {
        if self.repairs_as_ns2() {
            return self.choose_in_recovery_of_ns2();
        }
        if !self.has_room(self.mss) {
            return None;
        }
        if let Some(lost) = self.scoreboard.next_lost() {
            self.scoreboard.on_resent(lost);
            return Some(lost);
        }
        if let Some(new) = self.next_in_order() {
            return Some(new);
        }
        if let Some(hole) = self.scoreboard.next_hole() {
            self.scoreboard.on_resent(hole);
            return Some(hole);
        }
        let rescue = self.scoreboard.rescue(self.max)?;
        self.scoreboard.on_rescued(self.max);
        Some(rescue)
    }

    /// Every gap below SACKed data, once, and then new data.
    fn choose_in_recovery_of_ns2(&mut self) -> Option<Range> {
        if self.counted_pipe >= self.window {
            return None;
        }
        if let Some(hole) = self.scoreboard.next_hole() {
            self.scoreboard.on_resent(hole);
            return Some(hole);
        }
        self.next_in_order()
    }

    /// After a timeout, bytes that turn out to have arrived are not sent again.
    #[inline]
    fn skip_sacked(&mut self) {
        while self.nxt != self.max
            && let Some(end) = self.scoreboard.sacked_until(self.nxt)
        {
            self.nxt = end;
        }
    }

    /// The segment at `nxt`, as far as there is data and the peer takes it.
    #[inline]
    fn next_in_order(&self) -> Option<Range> {
        let start = self.nxt;
        // A FIN alone passes a closed window: it carries nothing that needs room.
        let left = u64::from(self.max - start) + self.unsent;
        let fin_due = self.fin_wanted && self.fin.is_none();
        if (left == 0 && fin_due) || self.fin == Some(start) {
            return Some(Range::new(start, start + 1));
        }
        // Fits: at most a segment.
        let mut wanted = left.min(u64::from(self.mss)) as u32;
        if start != self.max
            && let Some(sacked) = self.scoreboard.next_sacked(start)
        {
            wanted = wanted.min(sacked - start);
        }
        let len = wanted.min(self.edge.since(start));
        // Sender's side of the silly window (RFC 9293, section 3.8.6.2.1): a part of a segment
        // leaves only if it is all there is, or half of the largest window.
        if len == 0 {
            return None;
        }
        if len < wanted && len < self.max_announced / 2 {
            // It holds back new data only: after a timeout, data sent before it is sent again, as
            // far as the window takes it (RFC 6298, section 5.4; RFC 9293, section 3.8.6).
            return match self.recovery {
                Recovery::Timeout(point) if start.is_before(point) => {
                    Some(Range::new(start, start + len.min(point - start)))
                }
                _ => None,
            };
        }
        let takes_fin = fin_due && u64::from(len) == left;
        Some(Range::new(start, start + len + u32::from(takes_fin)))
    }

    /// Whether the congestion window lets `len` more bytes leave. One segment may always leave when
    /// nothing is in flight, so that no window is too small for progress.
    #[inline]
    fn has_room(&self, len: u32) -> bool {
        let pipe = self.pipe();
        if pipe == 0 {
            return true;
        }
        if let Some(prr) = &self.prr {
            return prr.allowance() >= len;
        }
        let window = self.window.saturating_add(self.inflation);
        pipe.saturating_add(len) <= window
    }

    #[inline]
    fn is_held_by_nagle(&self, range: Range) -> bool {
        self.rules.nagle
            && range.start == self.max
            && range.len() < self.mss
            && !self.fin_wanted
            && self.nxt != self.una
    }

    /// If data waits for the peer's window and nothing is in flight, the window is probed.
    #[cold]
    fn watch_closed_window(&mut self, now: Time, max: Span, timers: &mut Timers) {
        let data_waits = self.unsent > 0 || self.nxt != self.max;
        let idle = self.nxt == self.una && !timers.is_set(Timer::Retransmit);
        if data_waits && idle && !self.probe_due && !timers.is_set(Timer::Persist) {
            timers.set(Timer::Persist, now, self.probe_interval(max));
        }
    }

    /// A probe is the next byte, sent against the peer's window, or as many bytes as the window
    /// takes.
    fn take_probe(&mut self) -> Option<Range> {
        if !self.probe_due {
            return None;
        }
        let room = self.edge.since(self.nxt).max(1).min(self.mss);
        let left = self.unsent + u64::from(self.max - self.nxt);
        // Fits: at most a segment.
        let len = left.min(u64::from(room)) as u32;
        (len > 0).then_some(Range::new(self.nxt, self.nxt + len))
    }

    /// Before new data after a pause, the window is set as the idle rule has it.
    #[inline]
    fn note_idle(&mut self, now: Time) {
        if self.max == self.una {
            self.restart_after(now - self.last_sent);
        }
    }

    #[cold]
    fn restart_after(&mut self, idle: Span) {
        let timeout = self.rtt.timeout();
        let (limit, restart) = match self.rules.idle_restart {
            IdleRestart::Decay => {
                let times = idle.as_ps() / timeout.as_ps().max(1);
                (timeout, Restart::Decay(u32::try_from(times).unwrap_or(u32::MAX)))
            }
            IdleRestart::Ns2 => (self.rtt.unclamped(), Restart::Initial),
            IdleRestart::Off => (timeout, Restart::Keep),
            IdleRestart::Rfc5681 => (timeout, Restart::AtMostInitial),
        };
        if idle > limit {
            self.cc.on_idle(restart, self.nxt);
            self.refresh_window();
        }
    }

    /// Books a segment as sent.
    #[inline]
    fn emit(
        &mut self,
        range: Range,
        now: Time,
        timers: &mut Timers,
        stats: &mut Stats,
    ) -> Outgoing {
        let is_new = range.start == self.max;
        let is_probe = core::mem::take(&mut self.probe_due);
        // The FIN has the number after the last byte written, which only its first sending fixes.
        if self.fin_wanted
            && self.fin.is_none()
            && u64::from(range.end.since(self.max)) > self.unsent
        {
            self.fin = Some(range.end - 1);
        }
        let fin = self.fin.is_some_and(|fin| range.contains(fin));
        let len = range.len() - u32::from(fin);
        if self.cc.needs().any() {
            self.pacing.get_or_insert_default().on_sent(range, is_new, now);
        }
        if is_new {
            self.rtt.on_sent(range.end, now);
        } else {
            self.rtt.on_retransmission();
            stats.retransmissions += 1;
            stats.bytes_retransmitted += u64::from(len);
        }
        stats.bytes_sent += u64::from(len);
        // Payload that is sent for the first time: the FIN is the last number, and no payload.
        let fresh = (range.start + len).since(self.max);
        self.unsent -= u64::from(fresh);
        self.max = self.max.max(range.end);
        if self.duplicates > 0 && is_new && self.outstanding() > self.cc.window() {
            self.limited = self.limited.saturating_add(range.len());
        }
        if is_probe {
            stats.window_probes += 1;
        } else {
            if range.start == self.nxt {
                self.nxt = range.end;
            }
            timers.stop(Timer::Persist);
            if !timers.is_set(Timer::Retransmit) {
                timers.set(Timer::Retransmit, now, self.rtt.timeout());
            }
        }
        if let Some(prr) = &mut self.prr {
            prr.on_sent(range.len());
        }
        if matches!(self.recovery, Recovery::Fast(_)) {
            self.counted_pipe = self.counted_pipe.saturating_add(len);
        }
        if let Some(bursts) = &mut self.bursts {
            bursts.on_sent(range, now);
        }
        self.peak = self.peak.max(self.nxt - self.una);
        if len > 0 {
            self.last_sent = now;
        }
        let reason = match (is_probe, is_new) {
            (true, _) => Reason::Probe,
            (false, true) => Reason::New,
            (false, false) => Reason::Retransmission,
        };
        let cwr = reason == Reason::New && len > 0 && core::mem::take(&mut self.cwr_due);
        Outgoing { seq: range.start, len, fin, cwr, reason }
    }
}
