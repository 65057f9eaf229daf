//! DCQCN: a sender that paces packets at a rate, cuts it when the receiver reports marks, and wins
//! it back in stages.
//!
//! Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3; the
//! stages come from QCN (IEEE 802.1Qau). The switch marks as for any ECN transport. The receiver
//! (*notification point*) answers marked packets with congestion notification packets, CNPs. The
//! sender (*reaction point*) starts at line rate and has no window. Loss is repaired by going back
//! to the packet that the receiver reports missing.
//!
//! - [`Limiter`] is the reaction point's rate alone;
//! - [`Sender`] adds pacing and go-back-N to it;
//! - [`Receiver`] delivers in order and notifies;
//! - [`Dcqcn`] is both ends of a flow.
//!
//! Everything takes the time as an argument. The limiter needs no timer of its own: the rate is
//! brought up to date when it is asked for, so an idle flow costs nothing.
//!
//! The two published simulators differ from the paper and from each other; every difference is an
//! option of [`Config`], and [`Profile`] names the published sets.
//!
//! Differs from the published simulators:
//!
//! - a duplicate packet is acknowledged again, and a sender that receives nothing goes back by
//!   itself: both assume a lossless network and would wait for ever after the loss of a last ACK;
//! - the target rate never passes the line rate (in `rdma3` it may, until the next cut);
//! - an interval of α or of the decrease is counted from the first CNP on and a CNP in the very
//!   instant of its end counts for the next one;
//! - `rdma3` also halves its timer and byte counter during hyper increase, which its published
//!   byte counter of 300 MB keeps it from ever reaching; that is left out.

mod connection;
mod limiter;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use connection::{Dcqcn, Header};
pub use limiter::{Alpha, Limiter};
pub use receiver::Receiver;
pub use sender::{Sender, Stats};

use tidegate_units::{Bytes, ConfigError, Ecn, Rate, Ratio, Span, choices, settings};

choices! {
    /// When α is updated.
    #[non_exhaustive]
    pub enum AlphaRule {
        /// Raised by each CNP; lowered whenever `alpha_interval` passes without one (section 3.1).
        PerCnp = "per-cnp",
        /// Once per `alpha_interval`: raised if a CNP came in it, lowered if not (HPCC3).
        Slotted = "slotted",
    }
}

choices! {
    /// Whether a CNP raises α before the rate is cut by it. Only for [`AlphaRule::PerCnp`].
    #[non_exhaustive]
    pub enum CutOrder {
        /// The cut uses the α from before the CNP (section 3.1, equation 1).
        CutFirst = "cut-first",
        /// The cut uses the α that the CNP raised (RDMA3).
        RaiseFirst = "raise-first",
    }
}

choices! {
    /// How the receiver reports marks.
    #[non_exhaustive]
    pub enum Feedback {
        /// Every ACK says whether the packets it answers were marked; there are no CNPs (HPCC3).
        AckEcho = "ack-echo",
        /// A CNP at once, then at most one per `cnp_interval` while marks arrive (section 3.1).
        Cnp = "cnp",
        /// A CNP at those ends of fixed intervals, counted from the flow's first packet, that saw
        /// a mark (RDMA3).
        CnpPolled = "cnp-polled",
    }
}

choices! {
    /// Which phase an increase belongs to, from the stages of the byte counter and of the timer.
    #[non_exhaustive]
    pub enum StageRule {
        /// Counts first. Fast recovery while the larger stage is below `F`; hyper increase by
        /// `(min − F) · R_HAI` once the smaller is above `F`; additive otherwise (section 3.1,
        /// figure 7, with the step of QCN).
        Above = "above",
        /// Counts first. As `above`, but hyper increase begins one stage earlier, once the smaller
        /// stage has reached `F`, by `(min − F + 1) · R_HAI` (RDMA3).
        AtLeast = "at-least",
        /// Counts last. Fast recovery while the larger stage is below `F`, one additive increase
        /// at `F`, hyper increase by `R_HAI` above (HPCC3).
        CountLast = "count-last",
    }
}

choices! {
    /// When a cut lowers the target to the rate from before the cut.
    #[non_exhaustive]
    pub enum TargetRule {
        /// Only if the rate has been increased since the last cut (HPCC3).
        AfterIncrease = "after-increase",
        /// At every cut (section 3.1).
        Always = "always",
    }
}

settings! {
    /// Parameters of DCQCN. The defaults come from the paper.
    #[named("dcqcn", "RDMA: rates that congestion notifications set", "transports/dcqcn.md")]
    pub struct Config {
        /// How the receiver reports marks.
        pub feedback: Feedback = Feedback::Cnp,
        /// At most one CNP in this time (`N`, section 3.1: 50 µs).
        pub cnp_interval: Span = Span::from_us(50),
        /// When α is updated.
        pub alpha_rule: AlphaRule = AlphaRule::PerCnp,
        /// Time after which α is lowered (`K`, section 3.1: 55 µs, longer than `cnp_interval`).
        pub alpha_interval: Span = Span::from_us(55),
        /// α when the first CNP arrives (section 3.1: 1; RDMA3: 1/2).
        pub initial_alpha: Ratio = Ratio::ONE,
        /// Weight of the newest sample in α (`g`, section 5.2: 1/256).
        pub gain: Ratio = GAIN,
        /// Whether a CNP raises α before the rate is cut by it.
        pub cut_order: CutOrder = CutOrder::CutFirst,
        /// Cut at most once in this time, at its end (HPCC3), or `none` to cut at each CNP.
        pub decrease_interval: Option<Span> = None,
        /// When a cut lowers the target.
        pub target_rule: TargetRule = TargetRule::Always,
        /// Time between increases (`T`, section 5.2: 55 µs).
        pub increase_interval: Span = Span::from_us(55),
        /// Wire bytes between increases (`B`, section 5.2: 10 MB), or `none` for the timer alone.
        pub byte_counter: Option<Bytes> = Some(Bytes(10_000_000)),
        /// Stages of fast recovery (`F`, section 3.1: 5).
        pub fast_recovery: u32 = 5,
        /// Which phase an increase belongs to.
        pub stage_rule: StageRule = StageRule::Above,
        /// Added to the target in additive increase (`R_AI`, section 3.1: 40 Mb/s).
        pub additive_increase: Rate = MBPS_40,
        /// Added to the target in hyper increase (`R_HAI`). The paper gives none; RDMA3, by the
        /// same authors, uses 200 Mb/s.
        pub hyper_increase: Rate = MBPS_200,
        /// Minimum rate. The paper gives none; RDMA3 uses 100 Mb/s.
        pub min_rate: Rate = MBPS_100,
        /// Payload of a full packet, bytes (section 5.2: 1 KB).
        pub payload: u32 = 1_000,
        /// Bytes of headers around the payload, for pacing and the byte counter. RoCEv2: Ethernet
        /// 18, IPv4 20, UDP 8, BTH 12, ICRC 4.
        pub overhead: u32 = 62,
        /// Acknowledge once per this many packets, and always the last one written.
        pub ack_every: u32 = 1,
        /// Repeat the NACK of a packet that is still missing after this time (both simulators:
        /// 500 µs), or `none` to report each gap once.
        pub nack_interval: Option<Span> = Some(Span::from_us(500)),
        /// Go back to the oldest unacknowledged packet after this time without progress. No paper
        /// gives one, since the network is assumed lossless; 4 ms is longer than any queue of the
        /// published fabrics.
        pub retransmit_timeout: Span = Span::from_ms(4),
        /// Abort the run if a flow's packets are answered for this time and nothing new is
        /// acknowledged: a livelock of go-back-N, which lossy buffers can cause.
        pub livelock_time: Span = Span::from_ms(50),
    }
}

choices! {
    /// A published set of parameters.
    #[non_exhaustive]
    pub enum Profile {
        /// The HPCC authors' simulator, scheme "dcqcn": fast timers.
        Hpcc3 = "hpcc3",
        /// The same simulator as its example configuration file sets it.
        Hpcc3Config = "hpcc3-config",
        /// The same simulator, scheme "dcqcn_paper": slow timers.
        Hpcc3Paper = "hpcc3-paper",
        /// The DCQCN paper.
        Paper = "paper",
        /// The DCQCN authors' simulator.
        Rdma3 = "rdma3",
    }
}

impl Profile {
    /// The parameters for hosts whose links run at `line`: HPCC3 scales its steps with it.
    pub fn config(self, line: Rate) -> Config {
        let part = |divisor| Rate::from_bps(line.as_bps() / divisor).unwrap_or(BPS_1);
        let hpcc3 = || Config {
            feedback: Feedback::AckEcho,
            alpha_rule: AlphaRule::Slotted,
            alpha_interval: Span::from_us(1),
            decrease_interval: Some(Span::from_us(4)),
            target_rule: TargetRule::AfterIncrease,
            increase_interval: Span::from_us(300),
            byte_counter: None,
            fast_recovery: 1,
            stage_rule: StageRule::CountLast,
            // 5 Mb/s and 50 Mb/s at 25 Gb/s, in proportion elsewhere.
            additive_increase: part(5_000),
            hyper_increase: part(500),
            min_rate: Rate::from_gbps(1),
            overhead: 48,
            ..Config::default()
        };
        match self {
            Self::Hpcc3 => hpcc3(),
            Self::Hpcc3Config => Config {
                increase_interval: Span::from_us(900),
                additive_increase: MBPS_50,
                hyper_increase: MBPS_100,
                min_rate: MBPS_100,
                ..hpcc3()
            },
            Self::Hpcc3Paper => Config {
                alpha_interval: Span::from_us(50),
                decrease_interval: Some(Span::from_us(50)),
                increase_interval: Span::from_us(55),
                ..hpcc3()
            },
            Self::Paper => Config::default(),
            Self::Rdma3 => Config {
                feedback: Feedback::CnpPolled,
                initial_alpha: HALF,
                cut_order: CutOrder::RaiseFirst,
                increase_interval: Span::from_us(60),
                byte_counter: Some(Bytes(300_000_000)),
                stage_rule: StageRule::AtLeast,
                overhead: 30,
                ..Config::default()
            },
        }
    }
}

impl Config {
    /// Whether every field can be used with links of speed `line`.
    pub fn check(&self, line: Rate) -> Result<(), ConfigError> {
        let long_enough = |field, span: Span| {
            if span == Span::ZERO {
                return Err(ConfigError::out_of_range(field, span, "above zero"));
            }
            Ok(())
        };
        long_enough("cnp_interval", self.cnp_interval)?;
        long_enough("alpha_interval", self.alpha_interval)?;
        if let Some(interval) = self.decrease_interval {
            long_enough("decrease_interval", interval)?;
        }
        long_enough("increase_interval", self.increase_interval)?;
        long_enough("retransmit_timeout", self.retransmit_timeout)?;
        long_enough("livelock_time", self.livelock_time)?;
        if self.initial_alpha > Ratio::ONE {
            let alpha = self.initial_alpha;
            return Err(ConfigError::out_of_range("initial_alpha", alpha, "0 to 1"));
        }
        if Alpha::share(self.gain) == 0 || self.gain > Ratio::ONE {
            return Err(ConfigError::out_of_range("gain", self.gain, "2^-32 to 1"));
        }
        if self.byte_counter == Some(Bytes(0)) {
            return Err(ConfigError::out_of_range("byte_counter", "0B", "above zero, or none"));
        }
        if self.min_rate > line {
            let allowed = "at most the line rate";
            return Err(ConfigError::out_of_range("min_rate", self.min_rate, allowed));
        }
        if self.payload == 0 {
            return Err(ConfigError::out_of_range("payload", 0, "at least 1"));
        }
        if self.payload.checked_add(self.overhead).is_none() {
            let allowed = "a packet below 4 GiB";
            return Err(ConfigError::out_of_range("overhead", self.overhead, allowed));
        }
        if self.ack_every == 0 {
            return Err(ConfigError::out_of_range("ack_every", 0, "at least 1"));
        }
        Ok(())
    }
}

/// Purpose of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Everything before `offset` has arrived.
    Ack,
    /// A congestion notification.
    Cnp,
    /// `len` bytes of the stream from `offset` on.
    Data,
    /// Everything before `offset` has arrived, the next bytes are missing, and later bytes came.
    Nack,
}

/// A packet of a DCQCN flow. The bytes themselves never exist here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Position in the stream, bytes since its start: it does not wrap.
    pub offset: u64,
    /// Payload bytes; zero for everything but data.
    pub len: u32,
    /// Purpose.
    pub kind: Kind,
    /// The IP codepoint: as sent, then as the network left it.
    pub ecn: Ecn,
    /// For [`Feedback::AckEcho`]: a packet that this ACK or NACK answers was marked.
    pub echo: bool,
    /// The last byte that was written when it left: to be acknowledged at once.
    pub last: bool,
    /// Sent before, in whole or in part; for statistics.
    pub again: bool,
}

const GAIN: Ratio = ratio(1, 256);
const HALF: Ratio = ratio(1, 2);
const BPS_1: Rate = bps(1);
const MBPS_40: Rate = bps(40_000_000);
const MBPS_50: Rate = bps(50_000_000);
const MBPS_100: Rate = bps(100_000_000);
const MBPS_200: Rate = bps(200_000_000);

const fn ratio(numerator: u32, denominator: u32) -> Ratio {
    Ratio::new(numerator, denominator).expect("the denominator is not zero")
}

const fn bps(bps: u64) -> Rate {
    Rate::from_bps(bps).expect("the rate is not zero")
}
