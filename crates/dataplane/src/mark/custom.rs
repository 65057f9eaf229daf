//! A scheme that is not part of the library: whoever uses the library brings it along, behind a
//! pointer.
//!
//! It is for trying out an idea before it becomes a file here. It has no name in scenarios, and two
//! calls through a pointer for each packet. Ports of all other schemes know nothing of it.

use alloc::boxed::Box;
use core::fmt::{self, Debug, Formatter};

use tidegate_units::{ConfigError, QueueId, Span};

use super::{Cx, MarkDecision, Marker, PortInfo};

/// The decisions of such a scheme at one port. What a scheme sees and when it is asked is as for
/// every [`Marker`]; the shared pool is not shown to it.
pub trait Decide: Send {
    /// Decides on an arriving packet.
    fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision;

    /// Decides on a departing packet, which waited for `sojourn`.
    fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision;

    /// The marking threshold of `queue` in bytes as it stands, if the scheme has one.
    fn threshold(&self, _queue: QueueId) -> Option<u32> {
        None
    }
}

/// Makes such a scheme for each port of a run.
pub trait Make: Debug + Send + Sync {
    /// The scheme of one port, or why it cannot be.
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
