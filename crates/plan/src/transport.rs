//! Transports of the hosts: their reaction to marks, and the threshold that they need.

use tidegate_units::{Ratio, Setting, choices};

choices! {
    /// Transport of the hosts, and its reaction to marks.
    pub enum Transport {
        /// Reduces the window in proportion to the fraction of marked bytes.
        Dctcp = "dctcp",
        /// DCTCP that also works if only one end supports it.
        Odctcp = "odctcp",
        /// Standard ECN over instantaneous marking: halves the window on a mark.
        EcnStar = "ecn-star",
        /// Standard ECN: halves the window on a mark, at most once a round trip.
        Rfc3168 = "rfc3168",
        /// No ECN: reacts to losses alone.
        Reno = "reno",
        /// RDMA over Ethernet: congestion notifications set the sending rate.
        Dcqcn = "dcqcn",
        /// RoCEv2 with DCQCN: another word for `dcqcn`.
        Roce = "roce",
        /// TCP that negotiates no ECN, as most systems do by default; with ECN, write `rfc3168`.
        Tcp = "tcp",
        /// CUBIC without ECN, the default of Linux; with `net.ipv4.tcp_ecn = 1`, write `rfc3168`.
        Cubic = "cubic",
        /// BBR version 1, which ignores marks.
        Bbr = "bbr",
        /// Traffic that must not be marked, such as control protocols.
        Unmarked = "none",
    }
}

impl Transport {
    /// Name in network files.
    pub fn name(self) -> String {
        self.write()
    }

    /// The transport itself, where several words name one.
    #[must_use]
    pub const fn canonical(self) -> Self {
        match self {
            Self::Roce => Self::Dcqcn,
            other => other,
        }
    }

    /// Whether its packets are ECN-capable and its senders slow down on marks.
    pub const fn reacts_to_marks(self) -> bool {
        match self {
            Self::Dctcp
            | Self::Odctcp
            | Self::EcnStar
            | Self::Rfc3168
            | Self::Dcqcn
            | Self::Roce => true,
            Self::Reno | Self::Tcp | Self::Cubic | Self::Bbr | Self::Unmarked => false,
        }
    }

    /// The simulator's congestion control that stands for it.
    pub(crate) const fn simulated_rule(self) -> &'static str {
        match self {
            Self::Dctcp => "dctcp",
            Self::Odctcp => "odctcp",
            Self::EcnStar => "ecn-star",
            Self::Rfc3168 => "rfc3168",
            Self::Dcqcn | Self::Roce => "dcqcn",
            Self::Cubic => "cubic",
            Self::Reno | Self::Tcp | Self::Bbr | Self::Unmarked => "reno",
        }
    }

    /// Reason why its queues are not marked.
    pub const fn unmarked_because(self) -> &'static str {
        match self {
            Self::Bbr => "bbr ignores marks",
            Self::Unmarked => "transport `none`: not marked",
            Self::Reno => "reno ignores marks",
            Self::Tcp => "tcp negotiates no ECN",
            Self::Cubic => "cubic negotiates no ECN by default",
            _ => "",
        }
    }

    /// Share of a bandwidth-delay product that it needs as a threshold for full throughput (`λ`),
    /// with the source. `None` if no threshold follows from it.
    pub const fn lambda(self) -> Option<(Ratio, &'static str)> {
        const DCTCP: Ratio = match Ratio::new(18, 25) {
            Some(ratio) => ratio,
            None => Ratio::ONE,
        };
        match self {
            Self::Dctcp | Self::Odctcp => Some((DCTCP, "of DCTCP as measured, BCC §2.2")),
            Self::EcnStar | Self::Rfc3168 => {
                Some((Ratio::ONE, "of a window that is halved, TCN §2.1"))
            }
            _ => None,
        }
    }
}
