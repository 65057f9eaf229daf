//! `[measure]`.

use tidegate_sim::observe::Convention;
use tidegate_sim::setup::Stop;
use tidegate_sim::workload;
use tidegate_units::Span;

use crate::sections::declare::section;

section! {
    "[measure]",
    /// Flows that count, and the end of the run.
    pub(crate) struct Measure {
        /// Definition of small and large flows, flow completion, and percentiles.
        convention: Convention = Convention::TcnPaper,
        /// Abort the run after this time without a delivery.
        stalled: Span = Stop::default().stalled,
        settings window: workload::Window,
    }
}
