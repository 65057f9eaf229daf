//! The observed queues and links of a run as tables. In a folder they are part of `run.json`.

use tidegate_results::record::{Distribution, Link, Queue};

use super::table::{Field, field};

/// The columns of the table of links.
pub const LINKS: &[Field<Link>] = &[
    field!(Link, "name, such as `leaf0>host3`", name: String),
    field!(Link, "link rate in bit/s", rate_bps: u64),
    field!(Link, "packets sent in the observed window", packets: u64),
    field!(Link, "bytes sent in the observed window, including headers as packets count them", bytes: u64),
    field!(Link, "share of time spent sending", utilisation: f64),
    field!(Link, "payload rate, in bit/s", goodput_bps: f64),
    field!(Link, "share of time in which at least one class was paused", paused: f64),
];

/// The columns of the table of queues.
pub const QUEUES: &[Field<QueueRow>] = &[
    field!(QueueRow, "port, such as `leaf0>host3`", port: String),
    field!(QueueRow, "queue number at the port", queue: u8),
    field!(QueueRow, "packets sent in the observed window", sent: u64),
    field!(QueueRow, "bytes sent in the observed window, including headers as packets count them", sent_bytes: u64),
    field!(QueueRow, "packets marked, by any rule", marks: u64),
    field!(QueueRow, "packets dropped, for any reason", drops: u64),
    field!(QueueRow, "mean queue length in bytes, over time", bytes_mean: f64),
    field!(QueueRow, "median queue length in bytes, over time", bytes_p50: f64),
    field!(QueueRow, "99th percentile of the queue length in bytes, over time", bytes_p99: f64),
    field!(QueueRow, "longest queue in bytes", bytes_max: f64),
    field!(QueueRow, "mean queue length in packets, over time", packets_mean: f64),
    field!(QueueRow, "median queue length in packets, over time", packets_p50: f64),
    field!(QueueRow, "99th percentile of the queue length in packets, over time", packets_p99: f64),
    field!(QueueRow, "longest queue in packets", packets_max: f64),
    field!(QueueRow, "mean sojourn time of packets, in picoseconds", wait_mean_ps: f64),
    field!(QueueRow, "median sojourn time, in picoseconds", wait_p50_ps: f64),
    field!(QueueRow, "99th percentile of the sojourn time, in picoseconds", wait_p99_ps: f64),
    field!(QueueRow, "longest sojourn time, in picoseconds", wait_max_ps: f64),
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

/// The rows of queues.
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

/// The value at a probability: the first pair that reaches it, since equal quantiles are stored
/// once, with the largest probability.
fn quantile(of: &Distribution, probability: f64) -> f64 {
    let mut pairs = of.quantiles.iter();
    let found = pairs.find(|&&(at, _)| at >= probability);
    found.map_or(of.max, |&(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "the result is a copy")]
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
