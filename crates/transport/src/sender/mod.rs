//! The sending half: bytes written, sent and acknowledged, and how many may be in flight.
//!
//! The congestion control sets the window; everything else is here. `ack.rs` takes in
//! acknowledgements, and `transmit.rs` chooses the next segment.

mod ack;
mod bursts;
mod messages;
mod pacing;
mod transmit;

use alloc::boxed::Box;

use tidegate_units::{Span, Time};

use crate::cc::{AnyCongestionControl, CongestionControl, Cwr, EctUse, Flight, Start, Timeout};
use crate::config::{Config, Growth, IdleRestart, Repair};
use crate::prr::Prr;
use crate::rtt::Rtt;
use crate::sack::Scoreboard;
use crate::seq::Seq;
use crate::timer::{Timer, Timers};
use crate::{MessagePosition, Segment, Stats};

use bursts::Bursts;
use messages::Messages;
use pacing::Pacing;
pub(crate) use transmit::{NextSegment, Outgoing, Reason};

/// The largest window of a peer that is believed (RFC 7323).
const MAX_PEER_WINDOW: u32 = 1 << 30;

/// How a loss is being repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    /// Nothing is missing, as far as is known.
    Open,
    /// Fast recovery, until the number is acknowledged.
    Fast(Seq),
    /// After a timeout everything is sent again from the start, until the number is acknowledged.
    Timeout(Seq),
}

/// The parts of the settings that the sender needs all the time.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "settings that are on or off")]
struct Rules {
    dupack_threshold: u8,
    sack: bool,
    prr: bool,
    limited_transmit: bool,
    nagle: bool,
    growth: Growth,
    idle_restart: IdleRestart,
    repair: Repair,
}

/// The sending half of a connection.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Sender {
    /// The first number that is not acknowledged (`SND.UNA`).
    una: Seq,
    /// The next number to send (`SND.NXT`); a timeout takes it back to `una`.
    nxt: Seq,
    /// One past the last number ever sent.
    max: Seq,
    /// The peer takes numbers before this.
    edge: Seq,
    /// The number of the segment that moved `edge` last (`SND.WL1`).
    edge_from: Seq,
    /// The largest window that the peer ever announced.
    max_announced: u32,
    mss: u32,
    /// Window and ssthresh of the congestion control, kept here because every segment needs them.
    window: u32,
    ssthresh: u32,
    /// The most bytes in flight in this round trip and in the one before, and where this one ends.
    /// On the fast path the first is behind: until the next ACK, the flight only grows.
    peak: u32,
    last_peak: u32,
    peak_end: Seq,
    /// Payload bytes acknowledged, and those written and never sent.
    acked: u64,
    unsent: u64,
    /// Whether data flows without any complication; see [`Sender::can_use_fast_path`]. Kept,
    /// because every segment needs it and only rare events change it.
    fast_path: bool,
    /// Whether both ends agreed on ECN.
    ecn: bool,
    /// Whether the next new segment carries CWR.
    cwr_due: bool,
    /// Whether a FIN follows the data.
    fin_wanted: bool,
    /// Whether the first missing segment must be sent again, even if the window is full.
    resend_first: bool,
    probe_due: bool,
    rules: Rules,
    /// When payload was last sent; the end of time means never.
    last_sent: Time,
    messages: Messages,
    rtt: Rtt,
    cc: AnyCongestionControl,
    prr: Option<Prr>,

    /// Payload bytes written.
    written: u64,
    /// The number of the FIN once it was sent.
    fin: Option<Seq>,
    /// On the fast path this is blank and stays behind; [`Sender::catch_up`] brings it to `una`.
    scoreboard: Scoreboard,
    recovery: Recovery,
    /// Of the ACK in hand: bytes acknowledged in order that had not been SACKed before.
    last_delivered: u32,
    /// Duplicate ACKs in a row.
    duplicates: u32,
    /// New bytes that these let out beyond the window: limited transmit.
    limited: u32,
    /// After a recovery without SACK, duplicates of this number start no new one (RFC 6582,
    /// section 3.2, step 2).
    settled: Option<Seq>,
    /// Window added for duplicate ACKs in a recovery without SACK (RFC 6582).
    inflation: u32,
    /// Bytes in flight in a recovery of ns-2, which counts them by ACKs.
    counted_pipe: u32,
    /// Timeouts in a row without progress.
    retries: u32,
    /// Segmentation offload, if there is any.
    bursts: Option<Box<Bursts>>,
    /// Send times and pace, for congestion controls that need them, from the first segment on.
    pacing: Option<Box<Pacing>>,
    /// Timeouts in a row without any answer from the peer.
    unanswered: u32,
    /// Probes in a row of a closed window.
    probes: u32,
    /// Whether the fast path is never taken.
    #[cfg(test)]
    no_fast_path: bool,
}

impl Sender {
    /// A sender whose data begins at `first`.
    pub(crate) fn new(config: &Config, cc: AnyCongestionControl, first: Seq) -> Self {
        let mss = u32::from(config.mss);
        let needs = cc.needs();
        Self {
            una: first,
            nxt: first,
            max: first,
            edge: first,
            edge_from: Seq(0),
            max_announced: 0,
            written: 0,
            acked: 0,
            unsent: 0,
            messages: Messages::default(),
            fin_wanted: false,
            fin: None,
            mss,
            window: cc.window(),
            ssthresh: cc.ssthresh(),
            cc,
            rtt: Rtt::new(config),
            scoreboard: Scoreboard::new(first, config.dupack_threshold, mss),
            recovery: Recovery::Open,
            last_delivered: 0,
            duplicates: 0,
            limited: 0,
            settled: None,
            inflation: 0,
            resend_first: false,
            counted_pipe: 0,
            bursts: Bursts::new(config).map(Box::new),
            pacing: None,
            prr: None,
            cwr_due: false,
            ecn: false,
            peak: 0,
            last_peak: 0,
            peak_end: first,
            last_sent: Time::MAX,
            retries: 0,
            unanswered: 0,
            probes: 0,
            probe_due: false,
            fast_path: !needs.any(),
            rules: Rules {
                dupack_threshold: config.dupack_threshold,
                sack: config.sack,
                prr: config.prr,
                limited_transmit: config.limited_transmit,
                nagle: config.nagle,
                growth: config.growth,
                idle_restart: config.idle_restart,
                repair: config.repair,
            },
            #[cfg(test)]
            no_fast_path: false,
        }
    }

    /// The handshake is over, with these values and the segment that ended it.
    pub(crate) fn begin(&mut self, negotiated: &Negotiated) {
        self.mss = negotiated.mss;
        self.rules.sack = negotiated.sack;
        self.ecn = negotiated.ecn;
        self.scoreboard = Scoreboard::new(self.una, self.rules.dupack_threshold, self.mss);
        self.cc.begin(&Start {
            mss: negotiated.mss,
            initial: negotiated.initial_window,
            max: negotiated.max_window,
            first: self.una,
        });
        self.refresh_window();
        self.edge = self.una + negotiated.window.min(MAX_PEER_WINDOW);
        self.edge_from = negotiated.seq;
        self.max_announced = negotiated.window.min(MAX_PEER_WINDOW);
    }

    /// Adds a message.
    pub(crate) fn write(&mut self, bytes: u64) {
        if bytes > 0 && !self.fin_wanted {
            let bytes = bytes.min(u64::MAX - self.written);
            self.written += bytes;
            self.unsent += bytes;
            self.messages.push(self.written);
            if self.bursts.is_some() {
                self.begin_bursts();
            }
        }
    }

    /// From here on, segments leave in bursts. An end that never writes has none, and keeps to the
    /// fast path.
    #[cold]
    fn begin_bursts(&mut self) {
        self.catch_up();
        if let Some(bursts) = &mut self.bursts {
            bursts.begin();
        }
        self.fast_path = self.can_use_fast_path();
    }

    /// A FIN follows the data.
    pub(crate) fn close(&mut self) {
        self.fin_wanted = true;
    }

    /// The retransmission timer ran out: everything is sent again from the first missing byte
    /// (RFC 5681, section 3.1; RFC 6298, section 5).
    #[cold]
    pub(crate) fn on_timeout(&mut self, now: Time, stats: &mut Stats) {
        stats.timeouts += 1;
        self.catch_up();
        let timeout = if self.retries == 0 { Timeout::First } else { Timeout::Repeated };
        self.retries = self.retries.saturating_add(1);
        self.unanswered = self.unanswered.saturating_add(1);
        self.rtt.on_timeout();
        self.cc.on_timeout(&self.flight(now), timeout);
        self.refresh_window();
        self.announce_reduction();
        self.scoreboard.clear();
        self.recovery = Recovery::Timeout(self.max);
        self.nxt = self.una;
        self.duplicates = 0;
        self.limited = 0;
        self.inflation = 0;
        self.resend_first = false;
        self.prr = None;
        if let Some(bursts) = &mut self.bursts {
            bursts.on_timeout();
        }
        self.fast_path = self.can_use_fast_path();
    }

    /// The persist timer ran out: the window is probed.
    #[cold]
    pub(crate) fn on_persist(&mut self) {
        self.catch_up();
        self.probe_due = true;
        self.probes = self.probes.saturating_add(1);
        self.fast_path = self.can_use_fast_path();
    }

    /// Whether data flows without any complication: nothing is missing, nothing is sent twice, and
    /// no end is in sight. The fast path then decides as the slow path would.
    fn can_use_fast_path(&self) -> bool {
        #[cfg(test)]
        if self.no_fast_path {
            return false;
        }
        let troubles = self.retries | self.unanswered | self.probes;
        self.recovery == Recovery::Open
            && troubles == 0
            && self.nxt == self.max
            && self.duplicates == 0
            && self.scoreboard.sacked() == 0
            && !self.scoreboard.is_first_lost()
            && self.settled.is_none()
            && self.fin.is_none()
            && self.bursts.as_ref().is_none_or(|bursts| bursts.is_idle())
            && !self.cc.needs().any()
            && !(self.resend_first | self.probe_due)
    }

    /// Before the slow path: does the work that the fast path has put off.
    #[inline]
    fn catch_up(&mut self) {
        if self.fast_path {
            self.scoreboard.move_to(self.una);
            self.peak = self.peak.max(self.outstanding());
        }
    }

    /// Reads the window again: the congestion control may have changed it.
    fn refresh_window(&mut self) {
        self.window = self.cc.window();
        self.ssthresh = self.cc.ssthresh();
    }

    /// How long to wait before probing a closed window: the timeout, doubled with every probe.
    fn probe_interval(&self, max: Span) -> Span {
        let factor = 1_u64.checked_shl(self.probes).unwrap_or(u64::MAX);
        (self.rtt.timeout() * factor).min(max)
    }

    /// Timeouts in a row without any answer from the peer.
    pub(crate) const fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// The round-trip estimate.
    pub(crate) const fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// The round-trip estimate, to time the handshake.
    pub(crate) const fn rtt_mut(&mut self) -> &mut Rtt {
        &mut self.rtt
    }

    /// The congestion control.
    pub(crate) const fn cc(&self) -> &AnyCongestionControl {
        &self.cc
    }

    /// The first number that is not acknowledged.
    #[inline]
    pub(crate) const fn una(&self) -> Seq {
        self.una
    }

    /// One past the last number ever sent.
    #[inline]
    pub(crate) const fn max(&self) -> Seq {
        self.max
    }

    /// The largest payload of a segment.
    #[inline]
    pub(crate) const fn mss(&self) -> u32 {
        self.mss
    }

    /// The largest window that the peer ever announced.
    pub(crate) const fn max_announced(&self) -> u32 {
        self.max_announced
    }

    /// Payload bytes written.
    pub(crate) const fn written(&self) -> u64 {
        self.written
    }

    /// Payload bytes acknowledged.
    pub(crate) const fn acked(&self) -> u64 {
        self.acked
    }

    /// Whether the FIN was sent and acknowledged.
    #[inline]
    pub(crate) fn is_fin_acked(&self) -> bool {
        self.fin.is_some_and(|fin| self.una.is_after(fin))
    }

    /// Whether a FIN follows the data, or was sent.
    pub(crate) const fn is_closing(&self) -> bool {
        self.fin_wanted
    }

    /// Where the first payload byte of a segment lies in the messages.
    pub(crate) fn message_position(&self, segment: &Segment) -> Option<MessagePosition> {
        self.messages.message_position(self.stream_offset(segment)?)
    }

    /// Where the first payload byte of a segment lies in everything written.
    #[inline]
    pub(crate) fn stream_offset(&self, segment: &Segment) -> Option<u64> {
        let sent = segment.len > 0 && segment.seq.is_within(self.una, self.max);
        sent.then(|| self.offset(segment.seq))
    }

    /// Bytes thought to be in flight.
    #[inline]
    pub(crate) fn pipe(&self) -> u32 {
        match self.recovery {
            Recovery::Fast(_) if self.repairs_as_ns2() => self.counted_pipe,
            Recovery::Fast(_) if self.rules.sack => self.scoreboard.pipe(self.max),
            Recovery::Fast(_) => self.nxt - self.una,
            Recovery::Open => {
                let outstanding = self.nxt - self.una;
                // Limited transmit: data that has left the network makes room for new data.
                let gone = if !self.rules.limited_transmit {
                    0
                } else if self.rules.sack {
                    self.scoreboard.sacked()
                } else {
                    self.duplicates.min(2) * self.mss
                };
                outstanding.saturating_sub(gone)
            }
            Recovery::Timeout(_) => {
                (self.nxt - self.una).saturating_sub(self.scoreboard.sacked_before(self.nxt))
            }
        }
    }

    /// Whether gaps are repaired with SACK, and as in ns-2.
    fn repairs_as_ns2(&self) -> bool {
        self.rules.sack && self.rules.repair == Repair::Ns2
    }

    /// Bytes sent and not acknowledged in order.
    #[inline]
    pub(crate) fn outstanding(&self) -> u32 {
        self.max - self.una
    }

    /// Packets that are ECN-capable; none if the ends have not agreed on ECN.
    #[inline]
    pub(crate) fn ect(&self) -> EctUse {
        if self.ecn { self.cc.ect() } else { EctUse::None }
    }

    /// The offset of `seq` in everything written.
    #[inline]
    fn offset(&self, seq: Seq) -> u64 {
        self.acked + u64::from(seq.since(self.una))
    }

    fn flight(&self, now: Time) -> Flight {
        Flight { now, bytes: self.outstanding(), una: self.una, sent: self.max }
    }

    /// RFC 3168, section 6.1.2: the window was reduced, for any reason.
    fn announce_reduction(&mut self) {
        self.cwr_due |= self.ecn && self.cc.cwr() == Cwr::Sent && self.cc.ect() != EctUse::None;
    }

    /// The retransmission timer runs while something is in flight.
    #[inline]
    fn set_timer(&self, now: Time, timers: &mut Timers) {
        if self.nxt == self.una {
            timers.stop(Timer::Retransmit);
        } else {
            timers.set(Timer::Retransmit, now, self.rtt.timeout());
        }
    }

    /// From here on, the fast path is never taken.
    #[cfg(test)]
    pub(crate) fn disable_fast_path(&mut self) {
        self.catch_up();
        self.no_fast_path = true;
        self.fast_path = false;
    }

    /// Whether data flows without any complication.
    #[cfg(any(test, feature = "check"))]
    pub(crate) const fn on_fast_path(&self) -> bool {
        self.fast_path
    }

    /// Whether a loss is being repaired without a timeout.
    #[cfg(any(test, feature = "check"))]
    pub(crate) const fn is_in_fast_recovery(&self) -> bool {
        matches!(self.recovery, Recovery::Fast(_))
    }

    #[cfg(any(test, feature = "check"))]
    pub(crate) fn check(&self) {
        assert!(self.nxt.is_within(self.una, self.max), "{self:?}");
        if self.fast_path {
            assert!(self.scoreboard.is_blank(), "{self:?}");
        } else {
            self.scoreboard.check(self.max);
        }
        // A count of ACKs does not measure the flight when some of them are lost or late.
        let is_measured = !self.repairs_as_ns2();
        assert!(!is_measured || self.pipe() <= 2 * self.outstanding(), "{self:?}");
        if !matches!(self.recovery, Recovery::Fast(_)) {
            assert!(self.pipe() <= self.outstanding(), "{self:?}");
        }
        assert!(self.written >= self.acked);
        let sent = self.outstanding() - u32::from(self.fin.is_some_and(|_| !self.is_fin_acked()));
        assert_eq!(self.unsent, self.written - self.acked - u64::from(sent));
        assert_eq!(self.window, self.cc.window());
        assert_eq!(self.ssthresh, self.cc.ssthresh());
        assert_eq!(self.fast_path, self.can_use_fast_path(), "{self:?}");
        if let Recovery::Fast(point) = self.recovery {
            let repairs = self.una.is_before(point) && !self.nxt.is_before(point);
            assert!(repairs, "{self:?}");
        }
        if let Some(fin) = self.fin {
            assert!(fin.is_within(self.una - 1, self.max), "{self:?}");
        }
    }
}

/// Values that the handshake agreed on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Negotiated {
    /// The largest payload that both ends take.
    pub(crate) mss: u32,
    /// The congestion window to begin with.
    pub(crate) initial_window: u32,
    /// The upper bound of the congestion window.
    pub(crate) max_window: u32,
    /// Whether both ends take SACK.
    pub(crate) sack: bool,
    /// Whether both ends agreed on ECN.
    pub(crate) ecn: bool,
    /// The peer's receive window.
    pub(crate) window: u32,
    /// The number of the segment that announced it.
    pub(crate) seq: Seq,
}
