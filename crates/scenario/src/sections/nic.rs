//! `[nic]`.

use tidegate_dataplane::{NonEct, sched};

use super::switch::{Buffer, Marking};
use crate::sections::declare::section;
use crate::settings::reader::Located;

section! {
    "[nic]",
    /// Ports of the hosts: marking, scheduler and buffer as in `[switch]`. Without this section
    /// hosts are ideal: first in, first out, unlimited. With it, the defaults are `none`, `fifo`
    /// and `unlimited`.
    pub(crate) struct Nic {
        /// Handling of packets that are not ECN-capable when the scheme marks.
        non_ect: NonEct = NonEct::Pass,
        /// Marking scheme.
        marking: Located<Marking> = "none",
        /// Packet scheduler.
        scheduler: Located<sched::Config>,
        /// Packet buffer: one for the whole node.
        buffer: Located<Buffer> = "unlimited",
    }
}
