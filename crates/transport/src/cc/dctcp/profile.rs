//! The known DCTCPs, each as a set of choices.

use tidegate_units::Ratio;

use super::{
    Arithmetic, Config, Counting, CutAlpha, IdleAlpha, LossAfterMark, LossCut, MarkThreshold,
    Rounding, TimeoutCut, WindowEnd,
};
use crate::cc::{Cwr, Pace, Regrowth};

impl Config {
    /// The names of the known DCTCPs.
    pub const PROFILES: &'static [&'static str] = &[
        "ecn-sharp-ns3",
        "freebsd",
        "freebsd-thesis",
        "linux-3.18",
        "linux-4.9",
        "linux-5.1",
        "ns2",
        "ns3",
        "rfc8257",
        "thesis-plain",
    ];

    /// The choices of a known implementation.
    pub fn profile(name: &str) -> Option<Self> {
        let rfc = Self::default();
        Some(match name {
            // ECN♯'s ns-3 tree: NewReno around it, no lower bound of the window.
            "ecn-sharp-ns3" => Self {
                counting: Counting::SegmentsAndDuplicates,
                window_end: WindowEnd::At,
                min_window: 0,
                min_threshold: 0,
                mark_threshold: MarkThreshold::AtLeastHalfFlight,
                timeout: TimeoutCut::AlphaOrHalf,
                ..rfc
            },
            "freebsd" => Self {
                initial_alpha: Ratio::ONE,
                counting: Counting::EdgeBytesAndDuplicates,
                window_end: WindowEnd::AfterOutsideRecovery,
                rounding: Rounding::Bytes,
                timeout: TimeoutCut::Half,
                ..Self::freebsd_thesis()
            },
            "freebsd-thesis" => Self::freebsd_thesis(),
            "linux-3.18" => Self { arithmetic: Arithmetic::Shift10, ..Self::linux_before_5_1() },
            "linux-4.9" => Self::linux_before_5_1(),
            "linux-5.1" => Self {
                counting: Counting::Delivered,
                loss: LossCut::HalfWindow,
                // Entering recovery sets ssthresh, whether marks have already done so or not.
                loss_after_mark: LossAfterMark::Cuts,
                timeout: TimeoutCut::HalfWindow,
                ..Self::linux_before_5_1()
            },
            // The patch of the TCN, MQ-ECN and BCC simulations.
            "ns2" => Self {
                initial_alpha: Ratio::ZERO,
                counting: Counting::EveryPacket,
                window_end: WindowEnd::AfterRewound,
                rounding: Rounding::ThresholdDown,
                min_window: 1,
                regrowth: Regrowth::ExceptFirstEcho,
                loss: LossCut::HalfWindow,
                timeout: TimeoutCut::HalfUnlessMarked,
                ..rfc
            },
            "ns3" => Self {
                counting: Counting::Segments,
                window_end: WindowEnd::At,
                // The slow start threshold is computed before the ACK is taken in.
                cut_alpha: CutAlpha::Before,
                min_window: 0,
                min_threshold: 0,
                pace: Pace::PrrNs3,
                loss: LossCut::Alpha,
                // It asks for ssthresh before it enters the state in which that is half.
                timeout: TimeoutCut::Alpha,
                ..rfc
            },
            "rfc8257" => rfc,
            // DCTCP of the thesis: no CWR, and the window frozen after a reduction.
            "thesis-plain" => Self {
                regrowth: Regrowth::Frozen,
                cwr: Cwr::Silent,
                idle_alpha: IdleAlpha::Kept,
                ..Self::freebsd_thesis()
            },
            _ => return None,
        })
    }

    fn linux_before_5_1() -> Self {
        Self {
            counting: Counting::BytesAndDuplicates,
            window_end: WindowEnd::At,
            arithmetic: Arithmetic::Shift10NotZero,
            rounding: Rounding::Packets,
            pace: Pace::Prr,
            loss: LossCut::Alpha,
            loss_after_mark: LossAfterMark::OnlyRepairs,
            timeout: TimeoutCut::Alpha,
            ..Self::default()
        }
    }

    /// FreeBSD as the ODCTCP thesis describes it.
    pub(in crate::cc) fn freebsd_thesis() -> Self {
        Self {
            initial_alpha: Ratio::ZERO,
            counting: Counting::EdgeBytes,
            window_end: WindowEnd::AfterOrRecovered,
            arithmetic: Arithmetic::Shift10,
            cut_alpha: CutAlpha::Before,
            rounding: Rounding::Down,
            regrowth: Regrowth::Continues,
            loss: LossCut::HalfBeforeMark,
            idle_alpha: IdleAlpha::Reset,
            ..Self::default()
        }
    }
}
