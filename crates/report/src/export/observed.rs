//! The observed queues and links of a run as tables: in files they stand in `run.json`.

use tidegate_results::record::{Distribution, Link, Queue};

use super::table::{Field, field};

/// The columns of the table of links.
pub const LINKS: &[Field<Link>] = &[
    field!(Link, "its name, such as `leaf0>host3`", name: String),
    field!(Link, "its speed in bit/s", rate_bps: u64),
    field!(Link, "packets sent in the observed window", packets: u64),
    field!(Link, "bytes sent in it, as packets count", bytes: u64),
    field!(Link, "the part of the time in which it sent", utilisation: f64),
    field!(Link, "payload per second, in bit/s", goodput_bps: f64),
    field!(Link, "the part of the time in which it was paused, in any class", paused: f64),
];

/// The columns of the table of queues.
pub const QUEUES: &[Field<QueueRow>] = &[
    field!(QueueRow, "its port, such as `leaf0>host3`", port: String),
    field!(QueueRow, "its number at the port", queue: u8),
    field!(QueueRow, "packets sent in the observed window", sent: u64),
    field!(QueueRow, "bytes sent in it, as packets count", sent_bytes: u64),
    field!(QueueRow, "packets marked, whatever the rule", marks: u64),
    field!(QueueRow, "packets dropped, whatever the reason", drops: u64),
    field!(QueueRow, "bytes that waited: their mean over time", bytes_mean: f64),
    field!(QueueRow, "the median of them over time", bytes_p50: f64),
    field!(QueueRow, "their 99th percentile over time", bytes_p99: f64),
    field!(QueueRow, "the most of them", bytes_max: f64),
    field!(QueueRow, "packets that waited: their mean over time", packets_mean: f64),
    field!(QueueRow, "the median of them over time", packets_p50: f64),
    field!(QueueRow, "their 99th percentile over time", packets_p99: f64),
    field!(QueueRow, "the most of them", packets_max: f64),
    field!(QueueRow, "how long packets waited, in picoseconds: the mean", wait_mean_ps: f64),
    field!(QueueRow, "the median of it", wait_p50_ps: f64),
    field!(QueueRow, "its 99th percentile", wait_p99_ps: f64),
    field!(QueueRow, "the longest wait", wait_max_ps: f64),
];

/// A row of the table of queues.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueRow {
    port: String,
    queue: u8,
    sent: u64,
    sent_bytes: u64,
    marks: u64,
    drops: u64,
    bytes_mean: f64,
    bytes_p50: f64,
    bytes_p99: f64,
    bytes_max: f64,
    packets_mean: f64,
    packets_p50: f64,
    packets_p99: f64,
    packets_max: f64,
    wait_mean_ps: f64,
    wait_p50_ps: f64,
    wait_p99_ps: f64,
    wait_max_ps: f64,
}

/// The rows of queues, in short.
pub fn queue_rows(queues: &[Queue]) -> Vec<QueueRow> {
    let row = |queue: &Queue| {
        let short = |of: &Distribution| [of.mean, quantile(of, 0.5), quantile(of, 0.99), of.max];
        let [bytes_mean, bytes_p50, bytes_p99, bytes_max] = short(&queue.bytes);
        let [packets_mean, packets_p50, packets_p99, packets_max] = short(&queue.packets);
        let [wait_mean_ps, wait_p50_ps, wait_p99_ps, wait_max_ps] = short(&queue.wait_ps);
        QueueRow {
            port: queue.port.clone(),
            queue: queue.queue,
            sent: queue.sent,
            sent_bytes: queue.sent_bytes,
            marks: queue.marks.values().sum(),
            drops: queue.drops.values().sum(),
            bytes_mean,
            bytes_p50,
            bytes_p99,
            bytes_max,
            packets_mean,
            packets_p50,
            packets_p99,
            packets_max,
            wait_mean_ps,
            wait_p50_ps,
            wait_p99_ps,
            wait_max_ps,
        }
    };
    queues.iter().map(row).collect()
}

/// The value at a probability: that of the first pair that reaches it, since pairs with the same
/// value are one, with the largest probability.
fn quantile(of: &Distribution, probability: f64) -> f64 {
    let mut pairs = of.quantiles.iter();
    let found = pairs.find(|&&(at, _)| at >= probability);
    found.map_or(of.max, |&(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "what is found is a copy")]
    fn a_quantile_is_the_first_value_that_reaches_it() {
        let of = Distribution {
            mean: 3.0,
            max: 9.0,
            quantiles: vec![(0.4, 0.0), (0.5, 2.0), (0.95, 5.0), (1.0, 9.0)],
        };
        let found = [0.0, 0.4, 0.45, 0.5, 0.51, 0.99, 1.0].map(|at| quantile(&of, at));
        assert_eq!(found, [0.0, 0.0, 2.0, 2.0, 5.0, 9.0, 9.0]);
        assert_eq!(quantile(&Distribution::default(), 0.5), 0.0);
    }
}
