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

#[cfg(test)]
mod tests {
    use tidegate_units::{Bytes, Ecn, PktId, Rate, Time};

    use super::*;
    use crate::buffer::{AnyBuffer, PerPort};
    use crate::egress::{self, Offer, Served};
    use crate::mark::Tcn;
    use crate::{Pkt, PortConfig, sched};

    /// TCN with a step, as it is in the library.
    #[derive(Debug)]
    struct Step(Span);

    impl Decide for Tcn {
        fn on_enqueue(&mut self, cx: &Cx) -> MarkDecision {
            Marker::on_enqueue(self, cx)
        }

        fn on_dequeue(&mut self, cx: &Cx, sojourn: Span) -> MarkDecision {
            Marker::on_dequeue(self, cx, sojourn)
        }
    }

    impl Make for Step {
        fn make(&self, port: &PortInfo) -> Result<Box<dyn Decide>, ConfigError> {
            assert_eq!((port.rate, port.queues), (Rate::from_gbps(10), 1));
            Ok(Box::new(Tcn::step(self.0)))
        }
    }

    #[test]
    fn it_decides_as_the_same_scheme_of_the_library() {
        let scheduling = sched::Config::named("fifo").unwrap();
        let mut marking = crate::mark::Config::named("tcn").unwrap();
        marking.set("threshold", "3us").unwrap();
        for can_pause in [false, true] {
            let config = PortConfig { can_pause, ..PortConfig::default() };
            let own = egress::build(&config, &marking, &scheduling).unwrap();
            let step = Step(Span::from_us(3));
            let custom = egress::build_custom(&config, &step, &scheduling).unwrap();
            let served = [own, custom].map(|mut port| {
                let mut buffer = AnyBuffer::PerPort(PerPort::new(1, Bytes::from_kb(30)).unwrap());
                let pkt = Pkt { len: 1500, ecn: Ecn::Ect0, ..Pkt::default() };
                // Two for each that can leave, so that they wait longer and longer, and some are
                // dropped.
                let offers = (0..60).map(|id| Offer {
                    at: Time::from_ns(600 * u64::from(id)),
                    pkt,
                    id: PktId(id),
                    queue: QueueId(0),
                });
                let offers: alloc::vec::Vec<Offer> = offers.collect();
                let mut served = Served::default();
                port.serve(&offers, Time::from_us(100), &mut buffer, &mut served);
                assert!(port.stats().total_marks() > 10 && !served.dropped.is_empty());
                (served.sent, served.dropped, port.stats().clone())
            });
            assert_eq!(served[0], served[1]);
        }
    }
}
