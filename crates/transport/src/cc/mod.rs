//! Congestion controls: what acknowledgements, echoed marks, losses and timeouts do to the window.
//!
//! A congestion control takes numbers and answers with a window; it sends nothing and keeps no
//! time. Loss detection, retransmission and recovery belong to the sender. How receivers echo marks
//! is chosen separately ([`Echo`](crate::config::Echo)), so any sender can face any receiver.

mod cwnd;
mod hystart;

pub use cwnd::{Cwnd, CwndParams, OncePerWindow, Regrowth};

use tidegate_units::{ConfigError, Rate, Ratio, Span, Time, catalogue, choices};

use crate::seq::Seq;

/// An acknowledgement, and the state of the sender at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// Time of arrival.
    pub now: Time,
    /// Round-trip time of the newest segment that the ACK covers. Without [`Needs::samples`] there
    /// is one a round trip, as for the retransmission timer; with it, one on each ACK of segments
    /// that were sent once, and after the last retransmission.
    pub rtt: Option<Span>,
    /// Everything before this number has arrived.
    pub ack: Seq,
    /// One past the last byte sent so far.
    pub sent: Seq,
    /// Bytes acknowledged in order for the first time. Zero if the ACK did not advance.
    pub bytes: u32,
    /// Bytes newly known to have arrived: in order, or by a SACK block.
    pub delivered: u32,
    /// Bytes outstanding before this ACK.
    pub flight: u32,
    /// Whether the ACK echoes marks (ECE).
    pub echo: bool,
    /// What kind of ACK it was.
    pub kind: AckKind,
    /// Whether fast recovery is going on, after this ACK was taken in.
    pub phase: Phase,
    /// Whether this ACK may open the window: it advanced, outside recovery, and the window was in
    /// use. Rules may still refuse.
    pub may_grow: bool,
}

/// The kinds of acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckKind {
    /// It acknowledged new data in order.
    Advance,
    /// A duplicate in the sense of RFC 5681, section 2.
    Duplicate,
    /// Neither: a window update, or an old ACK number on a segment with data.
    Other,
}

/// Whether the sender is repairing a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No: normal operation, or slow start after a timeout.
    Open,
    /// Between the third duplicate ACK and the recovery point.
    FastRecovery,
}

impl Acked {
    /// Acknowledged bytes that count as marked: TCP echoes one bit, so all of them or none.
    #[inline]
    pub const fn marked(&self) -> u32 {
        if self.echo { self.bytes } else { 0 }
    }

    /// Bytes outstanding after this ACK.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.sent - self.ack
    }
}

/// Data in flight when a loss was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// Time at which the loss was noticed.
    pub now: Time,
    /// Bytes sent and not yet acknowledged in order.
    pub bytes: u32,
    /// The first of them.
    pub una: Seq,
    /// One past the last byte sent so far.
    pub sent: Seq,
}

/// Whether the same segment had timed out before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// The first timeout of this segment.
    First,
    /// A retransmission timed out too: ssthresh stays (RFC 5681, section 3.1).
    Repeated,
}

/// Effect of an idle time on the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// Lower it to the initial window.
    AtMostInitial,
    /// Halve it this many times, down to the initial window.
    Decay(u32),
    /// Set it to the initial window, up or down.
    Initial,
    /// Keep it.
    Keep,
}

/// Reaction of a congestion control to an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// No reduction.
    None,
    /// The window was reduced because of echoed marks.
    Reduced(Pace),
}

choices! {
    /// Whether a reduction is announced to the receiver.
    #[non_exhaustive]
    pub enum Cwr {
        /// The next data segment carries CWR.
        Sent = "sent",
        /// Never, as in the first DCTCP: a standard receiver then echoes for ever.
        Silent = "silent",
    }
}

choices! {
    /// How sending slows down to a reduced window.
    #[non_exhaustive]
    pub enum Pace {
        /// The window falls at once: nothing is sent until enough is acknowledged.
        AtOnce = "at-once",
        /// Proportional rate reduction: sending thins out over one round trip (RFC 6937).
        Prr = "prr",
        /// The variant of ns-3, which thins out less: the ACK that starts it counts twice and is no
        /// longer outstanding, and a segment leaves at once.
        PrrNs3 = "prr-ns3",
    }
}

/// Packets that are ECN-capable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EctUse {
    /// All of them: data, retransmissions and pure ACKs.
    All,
    /// New data only (RFC 3168).
    Data,
    /// None.
    None,
}

/// Work that the sender does only for congestion controls that need it. Either keeps a connection
/// off the fast path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// A round-trip sample on every ACK.
    pub samples: bool,
    /// Pacing at [`CongestionControl::pacing_rate`].
    pub pacing: bool,
}

impl Needs {
    /// Whether there is any.
    pub const fn any(self) -> bool {
        self.samples || self.pacing
    }
}

/// Smoothed round-trip time, with the weights of RFC 6298: 7/8 of the old one.
///
/// The longest span stands for none, so that it takes one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmoothedRtt(Span);

impl Default for SmoothedRtt {
    fn default() -> Self {
        Self(Span::MAX)
    }
}

impl SmoothedRtt {
    /// Takes in a sample.
    pub fn take(&mut self, sample: Span) {
        self.0 = self.get().map_or(sample, |old| {
            let (old, sample) = (old.as_ps(), sample.as_ps());
            Span::from_ps(old - old / 8 + sample / 8)
        });
    }

    /// The smoothed time, once there is a sample.
    pub fn get(self) -> Option<Span> {
        (self.0 != Span::MAX).then_some(self.0)
    }
}

/// Where a connection starts, once both ends have negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The largest payload that both ends take.
    pub mss: u32,
    /// The window before the first ACK, in bytes.
    pub initial: u32,
    /// Upper bound of the window, in bytes.
    pub max: u32,
    /// The number of the first byte of data.
    pub first: Seq,
}

/// State after an ACK: the reaction and the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The reaction.
    pub reaction: Reaction,
    /// The congestion window in bytes.
    pub window: u32,
    /// The slow start threshold in bytes.
    pub ssthresh: u32,
}

/// Decides on the congestion window of one connection.
pub trait CongestionControl {
    /// The window.
    fn cwnd(&self) -> &Cwnd;

    /// The same, to change it.
    fn cwnd_mut(&mut self) -> &mut Cwnd;

    /// Work that the sender has to do for this congestion control.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The connection is established.
    fn begin(&mut self, start: &Start) {
        self.cwnd_mut().begin(start);
    }

    /// An acceptable ACK arrived. Called after the sender took it in, and after
    /// [`on_loss`](Self::on_loss) or [`on_recovered`](Self::on_recovered) if it caused either.
    fn on_ack(&mut self, acked: &Acked) -> Reaction;

    /// Fast recovery begins: duplicate ACKs showed a loss.
    fn on_loss(&mut self, flight: &Flight);

    /// Fast recovery is over: `ack` reached the recovery point.
    fn on_recovered(&mut self, _ack: Seq) {}

    /// The retransmission timer ran out.
    fn on_timeout(&mut self, flight: &Flight, timeout: Timeout);

    /// Data is about to be sent after an idle time.
    fn on_idle(&mut self, restart: Restart, _next: Seq) {
        self.cwnd_mut().restart(restart);
    }

    /// The congestion window in bytes.
    #[inline]
    fn window(&self) -> u32 {
        self.cwnd().window()
    }

    /// The slow start threshold in bytes.
    #[inline]
    fn ssthresh(&self) -> u32 {
        self.cwnd().ssthresh()
    }

    /// [`on_ack`](Self::on_ack) and the window after it, with one lookup of a congestion control
    /// that was chosen at run time.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the caller knows the kind of ACK, which leaves little to decide"
    )]
    fn answer(&mut self, acked: &Acked) -> Answer {
        let reaction = self.on_ack(acked);
        Answer { reaction, window: self.window(), ssthresh: self.ssthresh() }
    }

    /// Estimate of the marked fraction, if there is one.
    fn alpha(&self) -> Option<Ratio> {
        None
    }

    /// Rate at which segments leave, for those that need [pacing](Needs::pacing); `None` for as
    /// soon as the window allows.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Which packets should be ECN-capable.
    fn ect(&self) -> EctUse;

    /// Whether reductions, for marks and for losses alike, are announced to the receiver.
    fn cwr(&self) -> Cwr {
        Cwr::Sent
    }
}

/// Declares, from one list, the modules of all congestion controls, their enum with its forwarding,
/// the enum of their parameters, and the names of both in files and on the command line.
macro_rules! congestion_controls {
    ($($variant:ident($module:ident),)*) => {
        $(
            pub mod $module;
            pub use $module::$variant;
        )*

        /// Any congestion control, chosen at run time.
        #[derive(Clone, Debug)]
        #[non_exhaustive]
        pub enum AnyCongestionControl {
            $(
                #[doc = concat!("See [`", stringify!($module), "`].")]
                $variant($module::$variant),
            )*
        }

        catalogue! {
            /// The parameters of any congestion control.
            #[non_exhaustive]
            pub enum Config {
                []
                $($variant($module::Config),)*
            }
        }

        impl Config {
            /// Makes the congestion control, or says which parameter cannot be used.
            pub fn build(&self, params: &CwndParams) -> Result<AnyCongestionControl, ConfigError> {
                Ok(match self {
                    $(Self::$variant(config) => {
                        AnyCongestionControl::$variant($module::$variant::new(config, params)?)
                    })*
                })
            }
        }

        /// Calls a method of the variant.
        macro_rules! forward {
            ($self:ident, $cc:ident => $call:expr) => {
                match $self {
                    $(AnyCongestionControl::$variant($cc) => $call,)*
                }
            };
        }
    };
}

congestion_controls! {
    Cubic(cubic),
    Dctcp(dctcp),
    EcnStar(ecn_star),
    Odctcp(odctcp),
    Reno(reno),
    Rfc3168(rfc3168),
    Swift(swift),
}

impl CongestionControl for AnyCongestionControl {
    #[inline]
    fn cwnd(&self) -> &Cwnd {
        forward!(self, cc => cc.cwnd())
    }

    fn cwnd_mut(&mut self) -> &mut Cwnd {
        forward!(self, cc => cc.cwnd_mut())
    }

    fn needs(&self) -> Needs {
        forward!(self, cc => cc.needs())
    }

    fn begin(&mut self, start: &Start) {
        forward!(self, cc => cc.begin(start));
    }

    #[inline]
    fn on_ack(&mut self, acked: &Acked) -> Reaction {
        forward!(self, cc => cc.on_ack(acked))
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "the caller knows the kind of ACK, which leaves little to decide"
    )]
    fn answer(&mut self, acked: &Acked) -> Answer {
        forward!(self, cc => cc.answer(acked))
    }

    fn on_loss(&mut self, flight: &Flight) {
        forward!(self, cc => cc.on_loss(flight));
    }

    fn on_recovered(&mut self, ack: Seq) {
        forward!(self, cc => cc.on_recovered(ack));
    }

    fn on_timeout(&mut self, flight: &Flight, timeout: Timeout) {
        forward!(self, cc => cc.on_timeout(flight, timeout));
    }

    fn on_idle(&mut self, restart: Restart, next: Seq) {
        forward!(self, cc => cc.on_idle(restart, next));
    }

    fn alpha(&self) -> Option<Ratio> {
        forward!(self, cc => cc.alpha())
    }

    fn pacing_rate(&self) -> Option<Rate> {
        forward!(self, cc => cc.pacing_rate())
    }

    #[inline]
    fn ect(&self) -> EctUse {
        forward!(self, cc => cc.ect())
    }

    fn cwr(&self) -> Cwr {
        forward!(self, cc => cc.cwr())
    }
}

/// Starting points of unit tests.
#[cfg(test)]
mod testing {
    use super::*;
    use crate::config::{Avoidance, Credit, SlowStart};

    /// Segments of 1000 bytes, an initial window of ten, byte counting with L = 1.
    pub(in crate::cc) fn params() -> CwndParams {
        CwndParams {
            mss: 1000,
            initial: 10_000,
            max: 1 << 30,
            abc: Some(1),
            slow_start: SlowStart::Below,
            avoidance: Avoidance::Bytes,
            credit: Credit::Dropped,
        }
    }

    /// A connection whose data begins at zero.
    pub(in crate::cc) fn start(mss: u32, initial: u32) -> Start {
        Start { mss, initial, max: 1 << 30, first: Seq(0) }
    }

    /// An ACK of one segment that brings the acknowledged part to `ack` thousand bytes, while
    /// `sent` thousand were sent.
    pub(in crate::cc) fn ack(ack: u32, sent: u32, echo: bool) -> Acked {
        Acked {
            now: Time::ZERO,
            rtt: None,
            ack: Seq(ack * 1000),
            sent: Seq(sent * 1000),
            bytes: 1000,
            delivered: 1000,
            flight: sent * 1000 - (ack - 1).min(sent) * 1000,
            echo,
            kind: AckKind::Advance,
            phase: Phase::Open,
            may_grow: true,
        }
    }

    /// Data outstanding between two thousands.
    pub(in crate::cc) fn flight(una: u32, sent: u32) -> Flight {
        Flight {
            now: Time::ZERO,
            bytes: (sent - una) * 1000,
            una: Seq(una * 1000),
            sent: Seq(sent * 1000),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn congestion_controls_are_known_by_name_and_field() {
        for name in Config::NAMES {
            let mut config = Config::named(name).unwrap();
            assert_eq!(config.name(), *name);
            assert!(config.build(&testing::params()).is_ok(), "{name}");
            for field in config.fields() {
                let text = config.value(field.name).unwrap();
                config.set(field.name, &text).unwrap();
            }
            assert!(config.set("colour", "blue").is_err());
        }
        assert_eq!(Config::named("vegas"), None);
        let mut dctcp = Config::named("dctcp").unwrap();
        dctcp.set("gain", "1/8").unwrap();
        assert_eq!(dctcp.value("gain"), Some("1/8".to_string()));
    }

    #[test]
    fn any_congestion_control_stays_small() {
        assert!(size_of::<AnyCongestionControl>() <= 192, "{}", size_of::<AnyCongestionControl>());
    }
}
