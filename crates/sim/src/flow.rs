//! A flow: what an application asks the network to carry.

use tidegate_units::{Rate, Time};

use crate::network::HostId;

/// Bytes from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// When the application hands over the bytes.
    pub start: Time,
    /// How many; [`Flow::ENDLESS`] sends until the run ends.
    pub bytes: u64,
    /// The sender.
    pub src: HostId,
    /// The receiver.
    pub dst: HostId,
    /// The speed of the application, if it hands over its bytes at one instead of all at once.
    pub rate: Option<Rate>,
    /// The service it belongs to, which chooses its queue in the switches.
    pub service: u8,
    /// The group that its results belong to, such as background and query.
    pub group: u8,
}

impl Flow {
    /// A size that is never reached.
    pub const ENDLESS: u64 = u64::MAX;
}

const _: () = assert!(size_of::<Flow>() <= 40, "a list of flows is kept for the whole run");
