//! The operation model of a port: everything that the outside can do to it, and the invariants
//! afterwards.
//!
//! [`decode()`] turns any bytes into operations, so that random seeds in `cargo test` and a
//! fuzzer's inputs use the same code. [`check()`] runs them.

mod check;
mod decode;
mod model;
mod recording;

pub use check::{Drive, Order, Setup, Violation, check};
pub use decode::decode;

use tidegate_dataplane::Pkt;
use tidegate_units::{QueueId, Span};

/// An external operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Time passes.
    Advance(Span),
    /// Takes one packet, if one can leave.
    Dequeue,
    /// Takes packets until none can leave.
    Drain,
    /// Offers a packet for a queue, which the port may not have.
    Enqueue(QueueId, Pkt),
}

#[cfg(test)]
mod tests {
    use tidegate_dataplane::buffer::{Buffer, Charge, Request};
    use tidegate_dataplane::mark::Tcn;
    use tidegate_dataplane::sched::Fifo;
    use tidegate_dataplane::{DropReason, NonEct};
    use tidegate_units::{Ecn, PortId};

    use super::*;

    /// A buffer that admits everything and misreports by the configured amounts.
    struct FalseBuffer {
        extra: u32,
        pool: u32,
    }

    impl Buffer for FalseBuffer {
        fn admit(&mut self, request: Request) -> Result<Charge, DropReason> {
            Ok(Charge::new(request.len + self.extra, 0))
        }

        fn release(&mut self, _: Charge) {}

        fn pool_bytes(&self, _: PortId, _: QueueId) -> u32 {
            self.pool
        }
    }

    fn violation(buffer: FalseBuffer) -> String {
        let pkt = Pkt { len: 100, ecn: Ecn::Ect0, ..Pkt::default() };
        let ops = [Op::Enqueue(QueueId(0), pkt), Op::Dequeue];
        let setup = Setup { drive: Drive::Present, non_ect: NonEct::Pass, order: Order::PerPort };
        let tcn = Tcn::step(Span::from_us(78));
        match check(setup, tcn, Fifo::new(1).unwrap(), buffer, &ops) {
            Ok(()) => "none".to_owned(),
            Err(violation) => violation.to_string(),
        }
    }

    #[test]
    fn buffer_with_false_receipts_or_pool_is_detected() {
        assert_eq!(violation(FalseBuffer { extra: 0, pool: 0 }), "none");
        let wrong_receipt = violation(FalseBuffer { extra: 1, pool: 0 });
        assert!(wrong_receipt.contains("not for the length"), "{wrong_receipt}");
        let wrong_pool = violation(FalseBuffer { extra: 0, pool: 101 });
        assert!(wrong_pool.contains("the pool of queue 0 holds 101"), "{wrong_pool}");
    }
}
