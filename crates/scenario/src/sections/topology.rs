//! `[topology]`.

use tidegate_sim::topology;

use crate::sections::declare::section;

section! {
    "[topology]",
    /// Hosts, switches and links. [More on topologies](../topologies.md).
    catalogue topology::Config = "leaf-spine"
}
