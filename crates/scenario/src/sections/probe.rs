//! `[[probe]]`.

use tidegate_sim::workload::probe;

use crate::sections::declare::section;

section! {
    "[[probe]]",
    /// Pings between hosts, which measure round-trip times.
    settings probe::Config
}
