//! Thresholds on the queue length, by formula.

use tidegate_units::Rate;

use crate::formula::{dcqcn, standard};
use crate::marking::Ramp;
use crate::network::{Network, Queue, Transport};

/// Thresholds on the length by the formula, for a queue at ports of this speed; `None` if its
/// transport ignores marks.
pub(crate) fn ramp(network: &Network, queue: &Queue, speed: Rate) -> Option<Ramp> {
    match (queue.lambda, queue.transport) {
        (Some((lambda, _)), _) => {
            let threshold = standard::threshold(lambda, speed, network.rtt.p90);
            Some(Ramp::step(threshold))
        }
        (None, Transport::Dcqcn) => {
            let (min, max) = dcqcn::thresholds(speed);
            let probability = dcqcn::PROBABILITY;
            Some(Ramp { min, max, probability })
        }
        (None, _) => None,
    }
}
