//! `[observe]` and its tables.

use tidegate_units::Span;

use crate::sections::declare::{Flows, Optional, Ports, Rare, section};
use crate::settings::reader::{Located, Reader};
use crate::text::problem::Problem;

section! {
    "[observe]",
    /// Measurements beyond the flows. [More on observing](../observing.md).
    pub(crate) struct Observe {
        /// Ports whose distributions of queue length and waiting time are kept: `all`, `switches`,
        /// `none`, or names such as `leaf0>host3`, in which `*` matches anything.
        ports: Ports,
        /// Links whose load is measured, named as in `ports`.
        links: Ports,
        /// Flows, by number, whose goodput is measured.
        flows: Flows,
        /// Observed part of the run.
        window: Located<Window>,
        /// Time series, sampled at a fixed interval.
        series: Optional<Series>,
        /// Flow whose every segment and ACK is recorded, by number in order of start, or `none`.
        /// The flow and the queues on its path are sampled too.
        trace: Rare<u32>,
        /// Per-flow statistics of ports: active flows, backlog of small, medium and large flows,
        /// and agreement of marks with an ideal marker.
        port_flows: Optional<PortFlows>,
        /// Longest continuous PFC pause of a class on a link; a longer one is reported as a storm.
        storm: Span = tidegate_sim::observe::Observe::STORM,
    }
}

section! {
    "[observe.window]",
    /// Observed part of the run.
    pub(crate) struct Window {
        /// Start of the window.
        from: Span = Span::ZERO,
        /// End of the window; `none` for the end of the run.
        to: Option<Span> = None,
    }
    checked by ends_after_it_begins; const INLINE
}

fn ends_after_it_begins(window: &Window, reader: &Reader<'_>) -> Result<(), Problem> {
    if window.to.is_none_or(|to| window.from < to) {
        return Ok(());
    }
    Err(Problem::new("the observed window ends before it begins")
        .at(reader.locs().of("to"))
        .help(format!("set `to` later than `from`, {}", window.from)))
}

section! {
    "[observe.series]",
    /// Time series, sampled at a fixed interval.
    pub(crate) struct Series {
        /// Sampling interval.
        interval: Span = Span::from_us(10),
        /// Maximum samples: at one more, every second sample is dropped and the interval doubles.
        limit: u32 = 100_000,
        /// Ports whose queues are sampled, named as in `ports`; `leaf0>host3:1` is only queue 1.
        queues: Ports,
        /// Links whose bytes are sampled.
        links: Ports,
        /// Flows, by number, that are sampled.
        flows: Flows,
    }
}

section! {
    "[observe.port_flows]",
    /// Per-flow statistics of ports: active flows, backlog of small, medium and large flows, and
    /// agreement of marks with an ideal marker.
    pub(crate) struct PortFlows {
        /// Ports, named as in `observe`.
        ports: Ports,
        /// A flow stays active for this time after its last packet leaves; with `0ps`, while a
        /// packet waits.
        period: Span = Span::ZERO,
        /// Compare each decision with DiffECN's ideal marker, which measures flow rates over this
        /// time.
        ideal: Option<Span> = None,
    }
}
