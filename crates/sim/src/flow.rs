//! A flow: bytes that an application asks the network to carry.

use tidegate_units::{Rate, Time};

use crate::network::HostId;

/// Bytes from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Time at which the application hands over the bytes.
    pub start: Time,
    /// Number of bytes; [`Flow::ENDLESS`] sends until the run ends.
    pub bytes: u64,
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Rate at which the application hands over its bytes; `None` if all at once.
    pub rate: Option<Rate>,
    /// Service of the flow, which selects its queue in the switches.
    pub service: u8,
    /// Group of its results, such as background and query.
    pub group: u8,
}

impl Flow {
    /// A size that is never reached.
    pub const ENDLESS: u64 = u64::MAX;
}

const _: () =
    assert!(size_of::<Flow>() <= 40, "the list of flows stays in memory for the whole run");
