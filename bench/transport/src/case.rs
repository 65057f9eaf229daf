//! What is measured, by name, and what it may cost.

use tidegate_transport::config::Echo;
use tidegate_transport::{Config, window};
use tidegate_units::Size;

use crate::work;

/// The most instructions of a data segment and its part of an ACK, sender and receiver together.
pub(crate) const TARGET: u32 = 600;

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// The window rule of both ends, or `None` for the empty loop.
    pub(crate) rule: Option<&'static str>,
    /// Segments per ACK.
    pub(crate) per_ack: u8,
    /// Whether every eighth segment arrives marked.
    pub(crate) marking: bool,
}

impl Case {
    /// Every case.
    pub(crate) fn all() -> Vec<Self> {
        let rules = window::Config::NAMES.iter().copied();
        let cases = rules.flat_map(|rule| {
            [(1, false), (2, false), (1, true)].map(|(per_ack, marking)| Self {
                rule: Some(rule),
                per_ack,
                marking,
            })
        });
        // Reno's segments are not ECN-capable: nothing can mark them.
        cases.filter(|case| !case.marking || case.rule != Some("reno")).collect()
    }

    /// The empty loop of the same kind.
    #[must_use]
    pub(crate) const fn empty(self) -> Self {
        Self { rule: None, ..self }
    }

    /// Moves `segments` segments.
    pub(crate) fn run(self, segments: u32) {
        let Some(name) = self.rule else {
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
        let rule = window::Config::named(name).expect("cases name listed rules");
        work::segments(&config, &rule, segments, self.marking);
    }
}
