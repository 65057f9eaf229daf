//! A scheme supplied by the user of the library, called through a pointer.
//!
//! It is for trying out an idea before it becomes a file here. It has no name in scenarios and
//! costs two calls through a pointer per packet. Ports of all other schemes are unaffected.

use alloc::boxed::Box;
use core::fmt::{self, Debug, Formatter};

use tidegate_units::{ConfigError, QueueId, Span};

use super::{Cx, MarkDecision, Marker, PortInfo};

/// Decisions of a custom scheme at one port. Inputs and call times are the same as for every
/// [`Marker`], except that the scheme does not see the shared pool.
pub trait Decide: Send {
    /// Decides on an arriving packet.
    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision;

    /// Decides on a departing packet, which waited for `sojourn`.
    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision;

    /// Current marking threshold of `queue` in bytes, if the scheme has one.
    fn threshold(&self, _queue: QueueId) -> Option<u32> {
        None
    }
}

/// Builds a custom scheme for each port of a run.
pub trait Make: Debug + Send + Sync {
    /// The scheme of one port, or the reason why it cannot be built.
    fn make(&self, port: &PortInfo) -> Result<Box<dyn Decide>, ConfigError>;
}

/// A scheme behind a pointer.
pub struct Custom(pub Box<dyn Decide>);

impl Debug for Custom {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Custom")
    }
}

impl Marker for Custom {
    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
        self.0.on_enqueue(cx)
    }

    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision {
        self.0.on_dequeue(cx, sojourn)
    }

    fn threshold(&self, queue: QueueId) -> Option<u32> {
        self.0.threshold(queue)
    }
}
