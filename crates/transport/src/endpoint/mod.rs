//! One end of a TCP connection: handshake, states, FIN and reset (RFC 9293), around a sender and a
//! receiver.
//!
//! The host pushes events ([`on_segment`](Endpoint::on_segment),
//! [`on_timeout`](Endpoint::on_timeout), [`write`](Endpoint::write), …). After each push it polls
//! segments until there are none, and the next deadline. `input.rs` takes segments in, and
//! `output.rs` makes those that leave.

mod input;
mod output;

use tidegate_units::{ConfigError, Ecn, Ratio, Size, Span, Time};

use crate::cc::{self, CongestionControl, CwndParams, EctUse};
use crate::config::{self, Config, EcnFallback, Ect, SynLoss};
use crate::receiver::Receiver;
use crate::segment::{Flags, Segment};
use crate::sender::{Negotiated, Sender};
use crate::seq::Seq;
use crate::stats::Stats;
use crate::timer::{Timer, Timers};

/// The states of a connection (RFC 9293, section 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection: before `listen` or `connect`, or after the end.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// A SYN was sent.
    SynSent,
    /// A SYN arrived and was answered.
    SynReceived,
    /// Data flows.
    Established,
    /// Our FIN was sent, or waits behind data.
    FinWait1,
    /// Our FIN was acknowledged.
    FinWait2,
    /// The peer's FIN arrived; we may still send.
    CloseWait,
    /// Both sent a FIN at the same time.
    Closing,
    /// The peer closed first, then we did.
    LastAck,
    /// Both closed: late segments are still answered.
    TimeWait,
}

/// Where a byte lies in the application's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessagePosition {
    /// The message's number, counted from zero over the whole connection.
    pub message: u64,
    /// Bytes of the message before this one.
    pub offset: u64,
    /// Bytes of the whole message.
    pub len: u64,
}

/// One end of a connection.
///
/// The fields are in the order of use: a host of many connections waits for memory more than it
/// computes, so fields that every segment reads or writes are together, in here as in the parts.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Endpoint {
    rules: Rules,
    /// No answer to a senseless segment before this time (RFC 5961, section 7).
    quiet_until: Time,
    /// Our initial sequence number, and the peer's once it is known.
    iss: Seq,
    irs: Seq,
    /// Offer of the peer's SYN.
    offer: Offer,
    /// How often a SYN or SYN-ACK left.
    syns_sent: u32,
    stats: Stats,
    timers: Timers,
    /// An answer that belongs to no connection.
    reset_due: Option<Reset>,
    state: State,
    /// Nothing leaves before the next call that is not a poll.
    quiet: bool,
    /// Whether both ends agreed on ECN, and on SACK.
    ecn: bool,
    sack: bool,
    codepoints: Codepoints,
    /// A SYN or SYN-ACK must leave.
    syn_due: bool,
    /// Whether it was opened by [`listen`](Self::listen).
    passive: bool,
    /// Whether the peer ended the connection with a RST, or was given up.
    broken: bool,
    receiver: Receiver,
    sender: Sender,
}

/// A RST.
#[derive(Clone, Copy, Debug)]
struct Reset {
    seq: Seq,
    ack: Seq,
    flags: Flags,
}

/// Codepoints of the packets of an established connection.
#[derive(Clone, Copy, Debug, Default)]
struct Codepoints {
    ack: Ecn,
    data: Ecn,
    probe: Ecn,
    retransmission: Ecn,
}

/// Contents of a SYN.
#[derive(Clone, Copy, Debug, Default)]
struct Offer {
    ecn: bool,
    sack: bool,
    mss: u16,
}

/// The parts of the settings that the endpoint itself needs.
#[derive(Clone, Copy, Debug)]
struct Rules {
    mss: u16,
    initial_window: Size,
    max_window: Option<Size>,
    rto_max: Span,
    time_wait: Span,
    max_retries: Option<u8>,
    syn_loss: SynLoss,
    ecn: bool,
    ecn_fallback: EcnFallback,
    sack: bool,
    ect_syn: Ect,
    ect_reset: Ect,
    ect_ack: Ect,
    ect_probe: Ect,
    ect_retransmission: Ect,
}

/// The timeout after a lost SYN (RFC 6298, rule 5.7).
const RTO_AFTER_SYN_LOSS: Span = Span::from_secs(3);

/// The payload that a peer takes if its SYN does not say (RFC 9293, section 3.7.1).
const DEFAULT_MSS: u16 = 536;

impl Endpoint {
    /// Opens a connection actively: the SYN leaves at the first poll.
    pub fn connect(config: &Config, cc: &cc::Config, iss: Seq) -> Result<Self, ConfigError> {
        let mut endpoint = Self::new(config, cc, iss)?;
        // An end that has sent a SYN without the question uses no ECN (RFC 3168, section 6.1.1).
        endpoint.rules.ecn &= config.ecn_request;
        endpoint.state = State::SynSent;
        endpoint.passive = false;
        endpoint.syn_due = true;
        Ok(endpoint)
    }

    /// Waits for a SYN.
    pub fn listen(config: &Config, cc: &cc::Config, iss: Seq) -> Result<Self, ConfigError> {
        Self::new(config, cc, iss)
    }

    /// A connection whose handshake has gone by, with a peer of the same settings whose initial
    /// sequence number is `peer_iss`.
    pub fn established(
        config: &Config,
        cc: &cc::Config,
        iss: Seq,
        peer_iss: Seq,
    ) -> Result<Self, ConfigError> {
        let mut endpoint = Self::new(config, cc, iss)?;
        let offer = endpoint.own_offer();
        endpoint.meet(config, peer_iss, offer, config);
        Ok(endpoint)
    }

    /// Both ends of a connection in the state after their handshake. The end that opened it is
    /// first. Each is given by its settings, its congestion control and its initial sequence
    /// number.
    pub fn established_pair(
        ends: [(&Config, &cc::Config, Seq); 2],
    ) -> Result<[Self; 2], ConfigError> {
        let [active, passive] = ends;
        let new = |(config, cc, iss)| Self::new(config, cc, iss);
        let (mut opener, mut listener) = (new(active)?, new(passive)?);
        opener.rules.ecn &= active.0.ecn_request;
        let offers = [&opener, &listener].map(Self::own_offer);
        opener.meet(active.0, passive.2, offers[1], passive.0);
        listener.meet(passive.0, active.2, offers[0], active.0);
        Ok([opener, listener])
    }

    const fn own_offer(&self) -> Offer {
        Offer { ecn: self.rules.ecn, sack: self.rules.sack, mss: self.rules.mss }
    }

    /// The handshake with a peer of these settings has gone by, in which it offered this.
    fn meet(&mut self, config: &Config, peer_iss: Seq, offer: Offer, peer: &Config) {
        self.irs = peer_iss;
        self.offer = offer;
        self.receiver = Receiver::new(config, peer_iss + 1);
        // Fits: the settings allow at most 2^30.
        self.establish(peer_iss + 1, peer.receive_window.0 as u32);
    }

    fn new(config: &Config, cc: &cc::Config, iss: Seq) -> Result<Self, ConfigError> {
        config.check()?;
        let cc = cc.build(&CwndParams::new(config))?;
        let uses_ecn = cc.ect() != EctUse::None || config.echo != config::Echo::Off;
        let ecn = config.ecn && uses_ecn;
        Ok(Self {
            state: State::Listen,
            sender: Sender::new(config, cc, iss + 1),
            receiver: Receiver::new(config, Seq(0)),
            timers: Timers::new(),
            stats: Stats::default(),
            iss,
            irs: Seq(0),
            offer: Offer::default(),
            syn_due: false,
            passive: true,
            syns_sent: 0,
            reset_due: None,
            quiet_until: Time::ZERO,
            broken: false,
            ecn: false,
            sack: false,
            codepoints: Codepoints::default(),
            quiet: false,
            rules: Rules {
                mss: config.mss,
                initial_window: config.initial_window,
                max_window: config.max_window,
                rto_max: config.rto_max,
                time_wait: config.time_wait,
                max_retries: config.max_retries,
                syn_loss: config.syn_loss,
                ecn,
                ecn_fallback: config.ecn_fallback,
                sack: config.sack,
                ect_syn: config.ect_syn,
                ect_reset: config.ect_reset,
                ect_ack: config.ect_ack,
                ect_probe: config.ect_probe,
                ect_retransmission: config.ect_retransmission,
            },
        })
    }

    /// Call when the time last returned by `poll_timeout` has come. Calling early is harmless.
    pub fn on_timeout(&mut self, now: Time) {
        self.quiet = false;
        if self.timers.take_expired(Timer::DelayedAck, now) {
            self.receiver.on_delayed_ack_timeout();
        }
        // The poll that follows sends.
        self.timers.take_expired(Timer::Pace, now);
        if self.timers.take_expired(Timer::Retransmit, now) {
            self.on_retransmit_timeout(now);
        }
        if self.timers.take_expired(Timer::Persist, now) {
            self.sender.on_persist();
        }
        if self.timers.take_expired(Timer::TimeWait, now) {
            self.end();
        }
    }

    /// The next segment to send, if any. Poll until `None` after every other call.
    #[inline]
    pub fn poll_segment(&mut self, now: Time) -> Option<Segment> {
        if self.quiet {
            return None;
        }
        self.poll_awake(now)
    }

    /// When to call `on_timeout` next. It may change after any other call.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.timers.next()
    }

    /// Whether a timer was set since [`take_timeout`](Self::take_timeout) was called: only then can
    /// there be a sooner one than it returned.
    #[must_use]
    #[inline]
    pub const fn has_new_timeout(&self) -> bool {
        self.timers.is_new()
    }

    /// As [`poll_timeout`](Self::poll_timeout), for a host that remembers the answer until there is
    /// a new one.
    #[inline]
    pub fn take_timeout(&mut self) -> Option<Time> {
        self.timers.take_next()
    }

    /// Queues a message of `bytes` bytes for sending. Ignored after `close`, and once the
    /// connection is over.
    pub fn write(&mut self, bytes: u64, _now: Time) {
        self.quiet = false;
        if self.state != State::Closed {
            self.sender.write(bytes);
        }
    }

    /// Takes up to `bytes` received bytes out of the buffer, and answers how many there were. Only
    /// of use with [`Reader::Manual`](crate::config::Reader).
    pub fn read(&mut self, bytes: u64, _now: Time) -> u64 {
        self.quiet = false;
        self.receiver.read(bytes)
    }

    /// No more data will be written: a FIN follows the data written so far.
    pub fn close(&mut self, _now: Time) {
        self.quiet = false;
        match self.state {
            State::Listen | State::SynSent => self.end(),
            State::SynReceived => self.sender.close(),
            State::Established => {
                self.sender.close();
                self.state = State::FinWait1;
            }
            State::CloseWait => {
                self.sender.close();
                self.state = State::LastAck;
            }
            State::Closed
            | State::FinWait1
            | State::FinWait2
            | State::Closing
            | State::LastAck
            | State::TimeWait => {}
        }
    }

    /// Ends the connection at once, with a RST if the peer may know of it.
    pub fn abort(&mut self, _now: Time) {
        self.quiet = false;
        let known = !matches!(self.state, State::Closed | State::Listen | State::SynSent);
        if known {
            self.reset_due = Some(Reset {
                // Not `nxt`, which a timeout takes back: the peer ignores a RST below data that has
                // arrived.
                seq: self.sender.max(),
                ack: self.receiver.next(),
                flags: Flags::RST | Flags::ACK,
            });
        }
        self.end();
    }

    /// The state of the connection.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Whether the connection broke: the peer reset it or did not answer any more.
    pub const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Payload bytes received in order since the beginning.
    pub const fn received(&self) -> u64 {
        self.receiver.received()
    }

    /// Payload bytes received in order and not yet read.
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// Payload bytes written by the application since the beginning.
    pub const fn written(&self) -> u64 {
        self.sender.written()
    }

    /// Payload bytes acknowledged by the peer since the beginning.
    pub const fn acked(&self) -> u64 {
        self.sender.acked()
    }

    /// Whether the peer has sent its FIN and everything before it has arrived.
    pub fn is_finished(&self) -> bool {
        self.receiver.is_finished()
    }

    /// Where the first payload byte of a segment lies in the messages written here; `None` once
    /// acknowledged, or if the segment has no payload.
    pub fn message_position(&self, segment: &Segment) -> Option<MessagePosition> {
        self.sender.message_position(segment)
    }

    /// Where the first payload byte of a segment lies in everything written here, bytes since the
    /// beginning; `None` as for
    /// [`message_position`](Self::message_position). [`Pias`](crate::pias::Pias) tags by it.
    #[inline]
    pub fn stream_offset(&self, segment: &Segment) -> Option<u64> {
        self.sender.stream_offset(segment)
    }

    /// The congestion window in bytes.
    pub fn cwnd(&self) -> u32 {
        self.sender.cc().window()
    }

    /// The slow start threshold in bytes.
    pub fn ssthresh(&self) -> u32 {
        self.sender.cc().ssthresh()
    }

    /// The estimate of the marked fraction, if the congestion control keeps one.
    pub fn alpha(&self) -> Option<Ratio> {
        self.sender.cc().alpha()
    }

    /// Bytes thought to be in flight (`pipe` in RFC 6675).
    pub fn in_flight(&self) -> u32 {
        self.sender.pipe()
    }

    /// Bytes sent and not yet acknowledged in order.
    pub fn outstanding(&self) -> u32 {
        self.sender.outstanding()
    }

    /// The smoothed round-trip time, once there is a sample.
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.sender.rtt().smoothed()
    }

    /// Bytes that the sender's pacing rate sends in 1/1024 s: twice its window per smoothed round
    /// trip below half of `ssthresh`, 1.2 times it otherwise. `u32::MAX` before the first sample.
    pub fn paced_bytes(&self) -> u32 {
        self.sender.paced_bytes()
    }

    /// The deviation of round-trip times from the smoothed one (`RTTVAR` in RFC 6298).
    pub fn rtt_variation(&self) -> Span {
        self.sender.rtt().variation()
    }

    /// The retransmission timeout, with backoff.
    pub fn rto(&self) -> Span {
        self.sender.rtt().timeout()
    }

    /// Whether both ends agreed on ECN.
    pub const fn is_ecn(&self) -> bool {
        self.ecn
    }

    /// Counts so far.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The retransmission timer ran out.
    #[cold]
    fn on_retransmit_timeout(&mut self, now: Time) {
        let retries = match self.state {
            State::SynSent | State::SynReceived => self.syns_sent,
            _ => self.sender.unanswered() + 1,
        };
        if self.rules.max_retries.is_some_and(|max| retries > u32::from(max)) {
            self.broken = true;
            self.end();
            return;
        }
        match self.state {
            State::SynSent | State::SynReceived => {
                self.stats.timeouts += 1;
                self.sender.rtt_mut().on_timeout();
                self.syn_due = true;
            }
            _ => self.sender.on_timeout(now, &mut self.stats),
        }
    }

    /// The connection is over; nothing more is sent but a reset that is already due.
    fn end(&mut self) {
        self.state = State::Closed;
        self.timers.stop_all();
        self.syn_due = false;
    }

    /// Whether a handshake that is reset may start over: a passive end whose application has not
    /// closed it.
    const fn can_listen(&self) -> bool {
        self.passive && !self.sender.is_closing()
    }

    /// The handshake of a passive end was reset: it waits for another SYN (RFC 9293, section
    /// 3.10.7.4).
    #[cold]
    fn listen_again(&mut self) {
        self.end();
        self.state = State::Listen;
        self.syns_sent = 0;
        // The next SYN-ACK is timed anew, without backoff.
        self.sender.rtt_mut().on_retransmission();
        self.sender.rtt_mut().restart_at(Span::ZERO);
    }

    /// The handshake is over. The peer's segment had the number `seq` and this window.
    fn establish(&mut self, seq: Seq, window: u32) {
        self.ecn = self.rules.ecn && self.offer.ecn;
        self.sack = self.rules.sack && self.offer.sack;
        let theirs = if self.offer.mss == 0 { DEFAULT_MSS } else { self.offer.mss };
        let mss = self.rules.mss.min(theirs);
        // A window in packets is one of packets of the agreed size.
        let initial_window = config::bytes(self.rules.initial_window, mss);
        let max_window = config::max_window_bytes(self.rules.max_window, mss);
        let mss = u32::from(mss);
        let lost = self.syns_sent > 1;
        let cautious = lost && self.rules.syn_loss == SynLoss::Cautious;
        if cautious {
            self.sender.rtt_mut().restart_at(RTO_AFTER_SYN_LOSS);
        }
        self.sender.begin(&Negotiated {
            mss,
            initial_window: if cautious { mss } else { initial_window.max(mss) },
            max_window,
            sack: self.sack,
            ecn: self.ecn,
            window,
            seq,
        });
        let new_data = self.sender.ect() != EctUse::None;
        self.codepoints = Codepoints {
            ack: self.codepoint(self.rules.ect_ack),
            data: if new_data { Ecn::Ect0 } else { Ecn::NotEct },
            probe: self.codepoint(self.rules.ect_probe),
            retransmission: self.codepoint(self.rules.ect_retransmission),
        };
        self.timers.stop(Timer::Retransmit);
        self.state = if self.sender.is_closing() { State::FinWait1 } else { State::Established };
    }

    /// Whether both ends know each other's numbers, and the handshake is over.
    #[inline]
    const fn is_synchronised(&self) -> bool {
        !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// The codepoint of a kind of packet, once the connection stands.
    fn codepoint(&self, ect: Ect) -> Ecn {
        let capable = match ect {
            Ect::Always => self.ecn,
            Ect::ByRule => self.sender.ect() == EctUse::All,
            Ect::Never => false,
        };
        if capable { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// From here on, the fast path of common segments is never taken.
    #[cfg(test)]
    pub(crate) fn disable_fast_path(&mut self) {
        self.sender.disable_fast_path();
        self.receiver.disable_fast_path();
    }

    /// Checks the invariants, after every step.
    #[cfg(any(test, feature = "check"))]
    pub fn check(&self) {
        self.sender.check();
        self.receiver.check();
        if self.is_synchronised() && self.sender.on_fast_path() {
            let in_flight = self.sender.outstanding() > 0;
            assert_eq!(self.timers.is_set(Timer::Retransmit), in_flight, "{self:?}");
            assert!(!(in_flight && self.timers.is_set(Timer::Persist)), "{self:?}");
        }
        if self.is_synchronised() && self.sender.is_in_fast_recovery() {
            assert!(self.timers.is_set(Timer::Retransmit), "{self:?}");
        }
        assert!(self.alpha().is_none_or(|alpha| alpha <= Ratio::ONE));
        assert!(self.cwnd() > 0 || self.state == State::Listen);
        if self.quiet {
            assert_eq!(self.clone().poll_awake(Time::MAX), None, "{self:?}");
        }
    }

    /// Checks, once there is nothing more to send, that a deadline will bring the sender back.
    #[cfg(any(test, feature = "check"))]
    pub fn check_waiting(&self) {
        let waits = self.outstanding() > 0 || self.written() > self.acked();
        if waits && !matches!(self.state, State::Closed | State::Listen) {
            assert!(self.poll_timeout().is_some(), "a stalled sender: {self:?}");
        }
    }
}
