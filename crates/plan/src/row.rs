//! Rows of a plan: the threshold of each queue at each speed, by formula.

use tidegate_units::{Rate, Ratio, Span};

use crate::formula::{dcqcn, sojourn, standard};
use crate::judge::{Judgement, judge};
use crate::marking::{Marking, time};
use crate::network::{Network, Queue, Transport};
use crate::threshold::ramp;

/// Threshold of one queue at ports of one speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'a> {
    /// The queue.
    pub queue: &'a Queue,
    /// The speed.
    pub speed: Rate,
    /// Threshold on the queue length.
    pub marking: Marking,
    /// Threshold on the sojourn time, for switches that measure it (TCN); `None` without a `λ`.
    pub sojourn: Option<Span>,
    /// Formula with its numbers.
    pub formula: String,
    /// Source of the formula.
    pub section: &'static str,
    /// Consequences of the threshold.
    pub judgement: Judgement,
}

impl Row<'_> {
    /// Whether marks come before drops or pauses at one congested port at least; always true for an
    /// unmarked queue.
    pub fn works(&self) -> bool {
        self.marking == Marking::Off || self.judgement.congested > 0
    }
}

/// One row for each queue and speed.
pub(crate) fn rows(network: &Network) -> Vec<Row<'_>> {
    let speeds = network.speeds();
    let of_queue = |queue| speeds.iter().map(move |&speed| row(network, queue, speed));
    network.queues.iter().flat_map(of_queue).collect()
}

fn row<'a>(network: &'a Network, queue: &'a Queue, speed: Rate) -> Row<'a> {
    let rtt = network.rtt.p90;
    let marking = ramp(network, queue, speed).map_or(Marking::Off, Marking::Length);
    let (formula, section) = match (queue.lambda, queue.transport) {
        (Some((lambda, source)), _) => {
            let formula =
                format!("K = λ·C·RTT = {} × {speed} × {}; λ {source}", decimal(lambda), time(rtt));
            (formula, standard::SECTION)
        }
        (None, Transport::Dcqcn) => {
            let formula = format!("K_min = C × 32 µs, K_max = C × 128 µs, P_max = 20 % at {speed}");
            (formula, dcqcn::SECTION)
        }
        (None, _) => {
            let formula = queue.transport.unmarked_because().to_owned();
            (formula, "RFC 3168 §5")
        }
    };
    Row {
        queue,
        speed,
        sojourn: queue.lambda.map(|(lambda, _)| sojourn::threshold(lambda, rtt)),
        formula,
        section,
        judgement: judge(network, queue, speed, &marking),
        marking,
    }
}

/// A ratio with two decimals, or a small one as it is.
fn decimal(ratio: Ratio) -> String {
    let value = f64::from(ratio.numerator()) / f64::from(ratio.denominator());
    if value < 0.1 {
        return ratio.to_string();
    }
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
