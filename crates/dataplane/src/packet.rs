//! Facts of a packet that the dataplane knows.

use tidegate_units::{Ecn, FlowId};

/// The facts of a packet that decisions need. The bytes stay with the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pkt {
    /// Length in bytes as the host counts it: IP length, or with the wire's framing.
    pub len: u32,
    /// The flow it belongs to. Only per-flow schemes read it.
    pub flow: FlowId,
    /// Its ECN codepoint on arrival.
    pub ecn: Ecn,
    /// Place where it entered the switch: ingress port × classes + class. Only PFC accounting reads
    /// it.
    pub ingress: u16,
    /// Input of a rank function: bytes that its flow has left to send (SRPT, pFabric), or its slack
    /// in picoseconds (LSTF). Zero otherwise.
    pub rank: u64,
}
