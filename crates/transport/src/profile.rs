//! The published stacks, each as a set of settings.

use tidegate_units::{Bytes, Setting, Size, Span, choices};

use crate::config::{
    AckPolicy, Config, Echo, EcnFallback, Ect, Growth, IdleRestart, Qdisc, Repair, SlowStart,
    SynLoss,
};

choices! {
    /// A published stack. The congestion control is not part of it.
    ///
    /// Both testbeds of Linux delay every ACK by the plain rule, up to 40 ms: a sender whose last
    /// segment waits alone then runs into its own timeout of 10 ms.
    #[non_exhaustive]
    pub enum Profile {
        /// The hosts of BCC's simulations: ns-2, jumbo frames.
        BccSim = "bcc-sim",
        /// The hosts of ECN♯'s simulations: ns-3 without SACK.
        EcnSharpSim = "ecn-sharp-sim",
        /// The hosts of ECN♯'s testbed: Linux 4.9. Of its timeouts the paper says only that one
        /// adds more than 1 ms to a flow: `rto_min` is an assumption, the 10 ms of TCN's testbed.
        EcnSharpTestbed = "ecn-sharp-testbed",
        /// A present Linux host as it comes, for networks of your own.
        Linux = "linux",
        /// The hosts of TCN's fabric simulations with ns-2's own repair. It sends nothing on the
        /// first duplicates; the other profiles of ns-2 repair by RFC 6675.
        Ns2Sack1 = "ns2-sack1",
        /// The hosts of the ODCTCP thesis behind dummynet.
        OdctcpDummynet = "odctcp-dummynet",
        /// The hosts of the ODCTCP thesis's testbed: FreeBSD.
        OdctcpTestbed = "odctcp-testbed",
        /// The standards' own values.
        Rfc = "rfc",
        /// The hosts of TCN's small simulations: ns-2, RTO 10 ms.
        TcnMicro = "tcn-micro",
        /// The hosts of TCN's fabric simulations: ns-2, RTO 5 ms.
        TcnSim = "tcn-sim",
        /// The hosts of TCN's testbed: Linux 3.18.
        TcnTestbed = "tcn-testbed",
    }
}

impl Profile {
    /// The settings.
    pub fn config(self) -> Config {
        match self {
            Self::BccSim => Config {
                mss: 8960,
                initial_window: Size::Packets(20),
                max_window: Some(Size::Packets(125)),
                ack_delay: Span::from_us(6),
                ect_ack: Ect::Always,
                ..Config::ns2(Span::from_ms(5))
            },
            Self::EcnSharpSim => Config {
                mss: 1400,
                receive_window: Bytes(160_000_000),
                rto_min: Span::from_ms(5),
                rto_initial: Span::from_ms(5),
                clock_granularity: Span::from_us(100),
                syn_loss: SynLoss::Ignored,
                delayed_ack: 1,
                sack: false,
                abc: None,
                growth: Growth::Always,
                idle_restart: IdleRestart::Off,
                echo: Echo::DctcpCwrClears,
                ect_ack: Ect::Never,
                ect_probe: Ect::Never,
                ect_retransmission: Ect::Never,
                ..Config::default()
            },
            Self::EcnSharpTestbed => {
                Config { ecn_fallback: EcnFallback::AfterSynLoss, ..Config::linux_testbed() }
            }
            Self::Linux => Config {
                rto_min: Span::from_ms(200),
                rto_max: Span::from_secs(120),
                acks: AckPolicy::Linux,
                dsack: true,
                ecn_fallback: EcnFallback::AfterSynLoss,
                echo: Echo::DctcpTwoAcks,
                ect_syn: Ect::ByRule,
                ..Config::linux_testbed()
            },
            Self::Ns2Sack1 => Config {
                repair: Repair::Ns2,
                limited_transmit: false,
                ..Config::ns2(Span::from_ms(5))
            },
            Self::OdctcpTestbed | Self::OdctcpDummynet => Config {
                mss: 1448,
                // Without ten segments to begin with, the thesis restarts from four (section
                // 4.2.3), which RFC 5681 makes the initial window.
                initial_window: Size::Packets(if self == Self::OdctcpTestbed { 10 } else { 4 }),
                // The default limit of FreeBSD's socket buffers, up to which they grow.
                receive_window: Bytes::from_kib(2 * 1024),
                rto_min: Span::from_ms(230),
                clock_granularity: Span::from_ms(1),
                ack_delay: Span::from_ms(100),
                abc: Some(2),
                slow_start: SlowStart::UpTo,
                echo: Echo::Odctcp,
                ..Config::default()
            },
            Self::Rfc => Config::default(),
            Self::TcnMicro => Config {
                idle_restart: IdleRestart::Off,
                initial_window: Size::Packets(10),
                // These scripts leave ns-2's default.
                rto_initial: Span::from_secs(3),
                ..Config::ns2(Span::from_ms(10))
            },
            Self::TcnSim => Config::ns2(Span::from_ms(5)),
            Self::TcnTestbed => Config::linux_testbed(),
        }
    }
}

impl Config {
    /// The settings of a published stack by name; `rfc` is the default.
    pub fn profile(name: &str) -> Option<Self> {
        Profile::read(name).ok().map(Profile::config)
    }

    /// The Linux 3.18 of the TCN testbed, with its `rto_min`.
    fn linux_testbed() -> Self {
        Self {
            mss: 1448,
            rto_min: Span::from_ms(10),
            syn_loss: SynLoss::Ignored,
            prr: true,
            // Linux counts acknowledged segments without a limit; no ACK covers this many.
            abc: Some(u8::MAX),
            idle_restart: IdleRestart::Decay,
            qdisc: Qdisc::Fq,
            echo: Echo::DctcpPaper,
            ..Self::default()
        }
    }

    /// The ns-2 stack of the TCN simulations.
    fn ns2(rto: Span) -> Self {
        Self {
            initial_window: Size::Packets(16),
            max_window: Some(Size::Packets(1256)),
            rto_initial: rto,
            rto_min: rto,
            rto_max: Span::from_secs(64),
            syn_loss: SynLoss::Ignored,
            delayed_ack: 1,
            abc: None,
            growth: Growth::Always,
            idle_restart: IdleRestart::Ns2,
            echo: Echo::DctcpPaper,
            ..Self::default()
        }
    }
}
