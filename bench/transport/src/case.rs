//! Measurements by name, with their target.

use tidegate_transport::config::Echo;
use tidegate_transport::{Config, cc};
use tidegate_units::Size;

use crate::work;

/// Target: most instructions of a data segment and its share of an ACK, sender and receiver
/// together.
pub(crate) const TARGET: u32 = 600;

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// The congestion control of both ends, or `None` for the empty loop.
    pub(crate) cc: Option<&'static str>,
    /// Segments per ACK.
    pub(crate) per_ack: u8,
    /// Whether every eighth segment arrives marked.
    pub(crate) marking: bool,
}

impl Case {
    /// Every case.
    pub(crate) fn all() -> Vec<Self> {
        let rules = cc::Config::NAMES.iter().copied();
        let cases = rules.flat_map(|cc| {
            [(1, false), (2, false), (1, true)].map(|(per_ack, marking)| Self {
                cc: Some(cc),
                per_ack,
                marking,
            })
        });
        // Reno's segments are not ECN-capable: nothing can mark them.
        cases.filter(|case| !case.marking || case.cc != Some("reno")).collect()
    }

    /// The empty loop of the same kind.
    #[must_use]
    pub(crate) const fn empty(self) -> Self {
        Self { cc: None, ..self }
    }

    /// Moves `segments` segments.
    pub(crate) fn run(self, segments: u32) {
        let Some(name) = self.cc else {
            work::no_segments(segments, self.per_ack, self.marking);
            return;
        };
        let config = Config {
            delayed_ack: self.per_ack,
            echo: match name {
                "dctcp" => Echo::DctcpPaper,
                "odctcp" => Echo::Odctcp,
                _ => Echo::Rfc3168,
            },
            max_window: Some(Size::Packets(work::WINDOW)),
            ..Config::default()
        };
        let cc = cc::Config::named(name).expect("every case names a known congestion control");
        work::segments(&config, &cc, segments, self.marking);
    }
}
