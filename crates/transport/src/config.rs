//! The settings of a TCP endpoint, and the published stacks by name.
//!
//! The defaults come from the standards. [`Config::profile`] gives the settings of the experiments
//! whose stacks are documented. The reaction to marks is chosen apart from these settings, by
//! [`cc::Config`](crate::cc::Config).

use tidegate_units::{Bytes, ConfigError, Size, Span, choices, settings};

choices! {
    /// Whether packets of a kind are sent as ECN-capable, once ECN is negotiated.
    #[non_exhaustive]
    pub enum Ect {
        /// Always.
        Always = "always",
        /// As the congestion control wants: DCTCP and ODCTCP yes, the others no.
        ByRule = "by-rule",
        /// Never.
        Never = "never",
    }
}

choices! {
    /// How a SYN that asked for ECN in vain is repeated (RFC 3168, section 6.1.1.1). An end
    /// that has sent a SYN without the question uses no ECN.
    #[non_exhaustive]
    pub enum EcnFallback {
        /// An unanswered SYN is retried without ECN: something on the path may have dropped the
        /// request (Linux since 4.1).
        AfterSynLoss = "after-syn-loss",
        /// The same, and also if the answer was a RST.
        AfterSynLossOrReset = "after-syn-loss-or-reset",
        /// The same SYN; a RST ends the attempt.
        Off = "off",
    }
}

choices! {
    /// Reading of a round trip on a clock that ticks.
    #[non_exhaustive]
    pub enum ClockReading {
        /// Elapsed ticks: 0 for a round trip within one tick.
        Elapsed = "elapsed",
        /// One tick more, so that no sample is below a tick (FreeBSD with timestamps).
        PlusOne = "plus-one",
    }
}

choices! {
    /// How the receiver echoes marks; independent of the sender's congestion control.
    #[non_exhaustive]
    pub enum Echo {
        /// DCTCP (RFC 8257, section 3.2): ECE mirrors CE. Every change of CE is acknowledged at
        /// once with the new state, together with older data.
        Dctcp = "dctcp",
        /// As `dctcp-paper`, but a segment that carries both CE and CWR is taken as unmarked (ns-3
        /// of ECN♯).
        DctcpCwrClears = "dctcp-cwr-clears",
        /// DCTCP of the SIGCOMM paper: ECE mirrors CE. When CE changes while an ACK is delayed,
        /// that ACK leaves at once with the old state; the segment that brought the change waits
        /// (Linux before 4.18, ns-2, ns-3).
        DctcpPaper = "dctcp-paper",
        /// As `dctcp`, but older data that waits for a delayed ACK gets one of its own first, with
        /// the old state: the two ACKs that RFC 8257 allows (Linux since 4.18).
        DctcpTwoAcks = "dctcp-two-acks",
        /// ODCTCP (thesis, section 5.2.2): ECE follows the last segment. A change of CE is
        /// acknowledged at once, together with older data; but a segment with CWR keeps the
        /// delayed ACK waiting.
        Odctcp = "odctcp",
        /// ODCTCP with its CWR rule inverted, as FreeBSD has it now: CWR forces an ACK at once.
        OdctcpInverted = "odctcp-inverted",
        /// No echo: marks are ignored.
        Off = "off",
        /// RFC 3168: from a mark on, every ACK carries ECE until a segment with CWR arrives.
        Rfc3168 = "rfc3168",
    }
}

choices! {
    /// When data is acknowledged that arrived in order.
    #[non_exhaustive]
    pub enum AckPolicy {
        /// As Linux. The first sixteen ACKs are not delayed, nor are sixteen after a pause
        /// longer than `rto_min`; unless data is sent too, a segment that is smaller than others
        /// and leaves nothing unread is not delayed either. The delay starts at `ack_delay` and
        /// follows the gaps between segments. A kernel that counts in ticks also rounds it.
        Linux = "linux",
        /// After `delayed_ack` segments or `ack_delay`, whichever comes first (RFC 5681, section
        /// 4.2).
        Rfc5681 = "rfc5681",
    }
}

choices! {
    /// Window after the connection was idle.
    #[non_exhaustive]
    pub enum IdleRestart {
        /// Halved for every RTO of idleness, down to the initial window; the threshold keeps
        /// three quarters of the old window (RFC 2861, as in Linux).
        Decay = "decay",
        /// Set to the initial window after more than the RTO *before* clamping to its minimum, even
        /// if that raises it (ns-2 of TCN).
        Ns2 = "ns2",
        /// Kept.
        Off = "off",
        /// Lowered to the initial window after more than one RTO (RFC 5681, section 4.1).
        Rfc5681 = "rfc5681",
    }
}

choices! {
    /// Who takes received bytes out of the receive buffer.
    #[non_exhaustive]
    pub enum Reader {
        /// Bytes are read as soon as they are in order: the window never closes.
        Immediate = "immediate",
        /// The application, by calling `read`.
        Manual = "manual",
    }
}

choices! {
    /// When the window may grow.
    #[non_exhaustive]
    pub enum Growth {
        /// On every ACK of new data.
        Always = "always",
        /// Only while the window, not the application, limits the sender (as in Linux).
        WhenLimited = "when-limited",
    }
}

choices! {
    /// Whether a cut keeps the bytes that were counted towards the next segment of growth.
    #[non_exhaustive]
    pub enum Credit {
        /// The byte count restarts (Linux).
        Dropped = "dropped",
        /// The byte count continues (ns-3): with frequent small cuts the window grows sooner.
        Kept = "kept",
    }
}

choices! {
    /// How much of the window has to be acknowledged for a segment of growth in congestion
    /// avoidance.
    #[non_exhaustive]
    pub enum Avoidance {
        /// All of it.
        Bytes = "bytes",
        /// Only its whole segments (ns-3; in Linux the window has no others).
        Segments = "segments",
    }
}

choices! {
    /// Where slow start ends. RFC 5681, section 3.1 leaves open what holds at the threshold itself.
    #[non_exhaustive]
    pub enum SlowStart {
        /// Below the threshold (Linux, ns-2).
        Below = "below",
        /// Up to the threshold and at it (FreeBSD): after a cut the first ACK still opens the
        /// window by the bytes it acknowledges, the subject of figures 5.7 and 5.8 of the ODCTCP
        /// thesis.
        UpTo = "up-to",
    }
}

choices! {
    /// Effect of a lost SYN or SYN-ACK on the connection.
    #[non_exhaustive]
    pub enum SynLoss {
        /// The RTO starts at 3 s (RFC 6298, rule 5.7) and the window at one segment (RFC 5681,
        /// section 3.1).
        Cautious = "cautious",
        /// Nothing.
        Ignored = "ignored",
    }
}

choices! {
    /// How a sender that learns of gaps by SACK repairs them before a timeout.
    #[non_exhaustive]
    pub enum Repair {
        /// As `FullTcp/Sack` of ns-2. Recovery begins with exactly `dupack_threshold` ACKs that do
        /// not advance, regardless of their blocks. Each ACK takes one segment off the flight, and
        /// another one if it advances. Every gap below the highest SACKed byte is filled before new
        /// data, and none twice. The timer restarts with the first retransmission.
        Ns2 = "ns2",
        /// RFC 6675: SACK blocks start recovery and determine the bytes in flight.
        Rfc6675 = "rfc6675",
    }
}

choices! {
    /// How large the bursts of segmentation offload are meant to be.
    #[non_exhaustive]
    pub enum TsoSizing {
        /// Always as large as `tso` allows. Linux since 5.18 comes close to this at round trips
        /// below 512 us.
        Full = "full",
        /// The bytes that the pacing rate sends in 1/1024 s, at least two segments (Linux,
        /// `tcp_tso_autosize`). The rate is twice the window per round trip below half of
        /// `ssthresh`, and 1.2 times it otherwise.
        Rate = "rate",
    }
}

choices! {
    /// Queueing discipline of the sending host, named as in Linux.
    #[non_exhaustive]
    pub enum Qdisc {
        /// First in, first out over all connections of the host, without a limit.
        Fifo = "fifo",
        /// Round robin between the connections of the host, with a limit on the bytes of each in
        /// the host's queue (TCP small queues).
        Fq = "fq",
    }
}

settings! {
    /// Parameters of an endpoint.
    pub struct Config {
        /// Largest payload of a segment. Default: Ethernet without timestamps.
        pub mss: u16 = 1460,
        /// Window before the first ACK (RFC 6928).
        pub initial_window: Size = Size::Packets(10),
        /// Upper bound of the congestion window, or `none`.
        pub max_window: Option<Size> = None,
        /// Receive buffer, and the largest advertised window. At most 1 GiB (RFC 7323).
        pub receive_window: Bytes = Bytes::from_kib(16 * 1024),
        /// Reader of the receive buffer.
        pub reader: Reader = Reader::Immediate,

        /// Retransmission timeout before the first sample (RFC 6298, section 2).
        pub rto_initial: Span = Span::from_secs(1),
        /// Lower bound of the timeout (RFC 6298, section 2).
        pub rto_min: Span = Span::from_secs(1),
        /// Upper bound of the timeout, also of its backoff (RFC 6298, section 2: at least 60 s).
        pub rto_max: Span = Span::from_secs(60),
        /// Tick of the clock that measures round trips (`G` in RFC 6298).
        pub clock_granularity: Span = Span::from_us(1),
        /// Rounding of a round trip to ticks of that clock.
        pub clock_reading: ClockReading = ClockReading::Elapsed,
        /// Effect of a lost SYN.
        pub syn_loss: SynLoss = SynLoss::Cautious,
        /// Give up after this many timeouts in a row without an answer, or `none` for never.
        /// Default: Linux.
        pub max_retries: Option<u8> = Some(15),
        /// How long a closed connection answers late segments (twice the segment lifetime).
        pub time_wait: Span = Span::from_secs(60),

        /// When data that arrived in order is acknowledged.
        pub acks: AckPolicy = AckPolicy::Rfc5681,
        /// Acknowledge at the latest after this many segments (RFC 5681, section 4.2).
        pub delayed_ack: u8 = 2,
        /// Acknowledge at the latest after this time. Default: the minimum of Linux.
        pub ack_delay: Span = Span::from_ms(40),

        /// Selective acknowledgements, if the peer takes them too (RFC 2018, RFC 6675).
        pub sack: bool = true,
        /// Report duplicates in a first SACK block (RFC 2883).
        pub dsack: bool = false,
        /// Proportional rate reduction in fast recovery (RFC 6937). Not with ns-2's recovery.
        pub prr: bool = false,
        /// Loss recovery with SACK.
        pub repair: Repair = Repair::Rfc6675,
        /// Duplicate ACKs that start fast recovery (`DupThresh`).
        pub dupack_threshold: u8 = 3,
        /// Send new data on the first duplicate ACKs (RFC 3042; rule 3 of RFC 6675, section 5).
        pub limited_transmit: bool = true,
        /// Appropriate byte counting: an ACK counts for at most this many segments (`L` in
        /// RFC 3465), or `none`: every ACK counts for one. RFC 5681 recommends 1.
        pub abc: Option<u8> = Some(1),
        /// Where slow start ends.
        pub slow_start: SlowStart = SlowStart::Below,
        /// Amount that counts as a window in congestion avoidance.
        pub avoidance: Avoidance = Avoidance::Bytes,
        /// Effect of a cut on growth in progress.
        pub credit: Credit = Credit::Dropped,
        /// When the window may grow.
        pub growth: Growth = Growth::WhenLimited,
        /// The window after an idle time.
        pub idle_restart: IdleRestart = IdleRestart::Rfc5681,
        /// Hold back a small segment while others are in flight (RFC 9293, section 3.7.4).
        pub nagle: bool = false,
        /// Segmentation offload: the largest burst that is handed to the network card in one piece,
        /// or `none`. A sender then waits until the window has room for a burst, or for a third of
        /// the window (Linux, `tcp_tso_should_defer`). Linux: 64KiB.
        pub tso: Option<Size> = None,
        /// Target size of bursts.
        pub tso_sizing: TsoSizing = TsoSizing::Rate,
        /// Queueing discipline of the host, where the run has no `[nic]`. Hosts are `fq` if one
        /// transport of the run is.
        pub qdisc: Qdisc = Qdisc::Fifo,
        /// With `fq`, the maximum bytes of a connection in its host's queue. Lower if the pacing
        /// rate sends less in 1/1024 s, but at least two packets (Linux, `tcp_limit_output_bytes`).
        pub limit_output: Bytes = Bytes::from_kib(1024),

        /// Negotiate ECN, if the congestion control or the echo rule uses it.
        pub ecn: bool = true,
        /// Whether a SYN requests ECN. If not, ECN is used only if the peer requests it (as with
        /// `tcp_ecn = 2` of Linux).
        pub ecn_request: bool = true,
        /// Whether to stop requesting ECN after a lost or refused SYN. The RFC allows all of these.
        pub ecn_fallback: EcnFallback = EcnFallback::Off,
        /// How the receiver echoes marks.
        pub echo: Echo = Echo::Rfc3168,
        /// ECN-capable SYN and SYN-ACK. RFC 3168, section 6.1.1 forbids it; RFC 8257, section 3.6
        /// recommends it for DCTCP, and Linux does it.
        pub ect_syn: Ect = Ect::Never,
        /// ECN-capable RST. RFC 8257, section 3.6 recommends it for DCTCP.
        pub ect_reset: Ect = Ect::Never,
        /// ECN-capable segments without data. RFC 3168, section 6.1.4 forbids it; DCTCP does it.
        pub ect_ack: Ect = Ect::ByRule,
        /// ECN-capable probes of a closed window. RFC 3168, section 6.1.6 forbids it; DCTCP does
        /// it.
        pub ect_probe: Ect = Ect::ByRule,
        /// ECN-capable retransmissions. RFC 3168, section 6.1.5 forbids it; DCTCP does it.
        pub ect_retransmission: Ect = Ect::ByRule,
    }
}

/// The largest receive window: 2^30 bytes, so that sequence numbers stay unambiguous (RFC 7323).
const MAX_RECEIVE_WINDOW: u64 = 1 << 30;

impl Config {
    /// The congestion window before the first ACK, in bytes.
    pub fn initial_window_bytes(&self) -> u32 {
        bytes(self.initial_window, self.mss)
    }

    /// Says which setting cannot be used, if any.
    pub fn check(&self) -> Result<(), ConfigError> {
        let out = |field, value: &dyn core::fmt::Display, allowed: &str| {
            Err(ConfigError::out_of_range(field, value, allowed))
        };
        if self.mss == 0 {
            return out("mss", &self.mss, "at least 1");
        }
        let segment = u64::from(self.mss);
        if !(segment..=MAX_RECEIVE_WINDOW).contains(&self.initial_window.in_bytes(segment as u32)) {
            let allowed = "one segment to 1 GiB";
            return out("initial_window", &self.initial_window, allowed);
        }
        if let Some(max) = self.max_window
            && max.in_bytes(segment as u32) < 2 * segment
        {
            return out("max_window", &max, "at least 2 segments");
        }
        if !(segment..=MAX_RECEIVE_WINDOW).contains(&self.receive_window.0) {
            return out("receive_window", &self.receive_window, "one segment to 1 GiB");
        }
        if self.rto_min == Span::ZERO {
            return out("rto_min", &self.rto_min, "above 0");
        }
        if self.rto_max < self.rto_min {
            return out("rto_max", &self.rto_max, "at least rto_min");
        }
        if self.rto_initial == Span::ZERO || self.rto_initial > self.rto_max {
            return out("rto_initial", &self.rto_initial, "above 0, at most rto_max");
        }
        if self.clock_granularity == Span::ZERO {
            return out("clock_granularity", &self.clock_granularity, "above 0");
        }
        if self.delayed_ack == 0 {
            return out("delayed_ack", &self.delayed_ack, "at least 1");
        }
        if self.ack_delay == Span::ZERO || self.ack_delay > Span::from_ms(500) {
            // RFC 5681, section 4.2: an ACK must not wait longer than half a second.
            return out("ack_delay", &self.ack_delay, "above 0, at most 500ms");
        }
        if self.dupack_threshold == 0 {
            return out("dupack_threshold", &self.dupack_threshold, "at least 1");
        }
        if let Some(tso) = self.tso
            && !(2 * segment..=MAX_RECEIVE_WINDOW).contains(&tso.in_bytes(segment as u32))
        {
            return out("tso", &tso, "2 segments to 1 GiB, or none");
        }
        if self.limit_output == Bytes(0) {
            return out("limit_output", &self.limit_output, "at least 1 B");
        }
        if self.abc == Some(0) {
            return out("abc", &0, "at least 1, or none");
        }
        if self.max_retries == Some(0) {
            return out("max_retries", &0, "at least 1, or none");
        }
        Ok(())
    }
}

/// The bound of the congestion window in bytes of payload; far beyond any receive window if there
/// is none.
pub(crate) fn max_window_bytes(max: Option<Size>, mss: u16) -> u32 {
    max.map_or(u32::MAX / 2, |max| bytes(max, mss))
}

/// `size` in bytes of payload, at most 2^30.
pub(crate) fn bytes(size: Size, mss: u16) -> u32 {
    // Fits: the larger operand is cut to 2^30.
    size.in_bytes(u32::from(mss)).min(MAX_RECEIVE_WINDOW) as u32
}

#[cfg(test)]
mod tests {
    use tidegate_units::{ConfigError, Settings};

    use super::*;

    #[test]
    fn every_profile_can_be_used() {
        for name in crate::Profile::NAMES {
            let config = Config::profile(name).unwrap();
            assert_eq!(config.check(), Ok(()), "{name}");
        }
        assert_eq!(Config::profile("rfc"), Some(Config::default()));
        assert_eq!(Config::profile("solaris"), None);
        // A delayed ACK never waits as long as the sender's shortest timeout.
        let linux = Config::profile("linux").unwrap();
        assert!(linux.ack_delay < linux.rto_min);
        // BCC: 20 packets of 8960 bytes are 179 KB, 125 are 1.12 MB.
        let bcc = Config::profile("bcc-sim").unwrap();
        assert_eq!(bcc.initial_window_bytes(), 179_200);
        assert_eq!(bytes(bcc.max_window.unwrap(), bcc.mss), 1_120_000);
        let micro = Config::profile("tcn-micro").unwrap();
        assert_eq!((micro.rto_min, micro.rto_initial), (Span::from_ms(10), Span::from_secs(3)));
        let sharp = Config::profile("ecn-sharp-sim").unwrap();
        assert_eq!(sharp.receive_window, Bytes(160_000_000));
    }

    #[test]
    fn out_of_range_settings_are_named() {
        let refused = [
            ("mss", "0"),
            ("initial_window", "1459B"),
            ("initial_window", "2GiB"),
            ("max_window", "1pkt"),
            ("receive_window", "1459B"),
            ("receive_window", "1025MiB"),
            ("rto_min", "0s"),
            ("rto_min", "61s"),
            ("rto_initial", "0s"),
            ("rto_initial", "61s"),
            ("clock_granularity", "0s"),
            ("delayed_ack", "0"),
            ("ack_delay", "0s"),
            ("ack_delay", "501ms"),
            ("dupack_threshold", "0"),
            ("abc", "0"),
            ("max_retries", "0"),
            ("tso", "2919B"),
            ("tso", "1pkt"),
            ("tso", "2GiB"),
            ("limit_output", "0B"),
        ];
        for (name, text) in refused {
            let mut config = Config::default();
            config.set(name, text).unwrap();
            match config.check() {
                Err(ConfigError::OutOfRange { field, .. }) => {
                    let expected =
                        if (name, text) == ("rto_min", "61s") { "rto_max" } else { name };
                    assert_eq!(field, expected);
                }
                other => panic!("{name} {text}: {other:?}"),
            }
        }
    }

    #[test]
    fn values_at_the_edge_of_the_range_pass() {
        let allowed = [
            ("initial_window", "1pkt"),
            ("max_window", "2pkts"),
            ("receive_window", "1460B"),
            ("receive_window", "1GiB"),
            ("rto_initial", "60s"),
            ("rto_max", "1s"),
            ("ack_delay", "500ms"),
            ("abc", "none"),
            ("tso", "2pkts"),
            ("tso", "2920B"),
            ("tso", "none"),
            ("limit_output", "1B"),
        ];
        for (name, text) in allowed {
            let mut config = Config::default();
            config.set(name, text).unwrap();
            assert_eq!(config.check(), Ok(()), "{name} {text}");
        }
    }
}
