//! Counters in Prometheus' text format, version 0.0.4.

use std::fmt::Write;

use crate::counters::{Counters, PortCounters, Quantiles, QueueCounters};

/// Text of all counters.
pub fn text(counters: &Counters) -> String {
    let mut page = Page(String::new());
    page.head("uptime_seconds", "gauge", "Since the switch was opened");
    page.line("uptime_seconds", "", seconds(counters.uptime_ns));
    page.head("stations", "gauge", "Stations seen lately");
    page.line("stations", "", counters.stations);
    page.head(
        "stations_evicted_total",
        "counter",
        "Stations that gave up their place in the table to another",
    );
    page.line("stations_evicted_total", "", counters.evicted);
    page.head("stations_moved_total", "counter", "Stations seen at another port than before");
    page.line("stations_moved_total", "", counters.moved);
    for (name, kind, help, of) in PORT {
        page.head(name, kind, help);
        for port in &counters.ports {
            page.line(name, &label(port), of(port));
        }
    }
    for (name, help, of) in REASONS {
        page.head(name, "counter", help);
        for port in &counters.ports {
            for (reason, count) in of(port) {
                let labels = format!("{},reason=\"{reason}\"", label(port));
                page.line(name, &labels, count);
            }
        }
    }
    for (name, kind, help, of) in QUEUE {
        page.head(name, kind, help);
        for (port, queue, number) in queues(counters) {
            page.line(name, &queue_label(port, number), of(queue));
        }
    }
    let name = "port_stalled_seconds";
    let help = "For how long the interface has taken no frame though some should leave";
    page.head(name, "gauge", help);
    for port in &counters.ports {
        page.line(name, &label(port), seconds(port.stalled_ns));
    }
    let name = "port_lateness_seconds";
    page.head(name, "summary", "How late packets left the port");
    for port in &counters.ports {
        page.summary(name, &label(port), &port.lateness);
    }
    let name = "queue_sojourn_seconds";
    page.head(name, "summary", "How long packets waited");
    for (port, queue, number) in queues(counters) {
        page.summary(name, &queue_label(port, number), &queue.sojourn);
    }
    page.0
}

/// A metric of a port or queue: its name, type, help text and value.
type Number<T> = (&'static str, &'static str, &'static str, fn(&T) -> u64);

const PORT: &[Number<PortCounters>] = &[
    ("port_up", "gauge", "Whether frames can leave", |port| port.is_up.into()),
    ("port_blocked", "gauge", "Whether the port is blocked because of a loop", |port| {
        port.is_blocked.into()
    }),
    ("port_looping", "gauge", "Whether a probe came back at this port lately", |port| {
        port.is_looping.into()
    }),
    ("port_stations", "gauge", "Stations at this port", |port| port.stations),
    ("port_probes_total", "counter", "Frames sent that find loops", |port| port.probes),
    ("port_loops_total", "counter", "Probes that came back", |port| port.loops),
    ("port_received_packets_total", "counter", "Frames that came in", |port| port.received.packets),
    ("port_received_bytes_total", "counter", "Bytes that came in", |port| port.received.bytes),
    ("port_sent_packets_total", "counter", "Frames that went out", |port| port.sent.packets),
    ("port_sent_bytes_total", "counter", "Bytes that went out", |port| port.sent.bytes),
    ("port_marked_packets_total", "counter", "Frames that went out with a mark", |port| {
        port.marked
    }),
    ("port_flooded_packets_total", "counter", "Copies of frames for unknown stations", |port| {
        port.flooded
    }),
    ("port_filtered_packets_total", "counter", "Frames that belong nowhere else", |port| {
        port.filtered
    }),
    ("port_missed_packets_total", "counter", "Frames that the kernel had no room for", |port| {
        port.missed
    }),
    ("port_unfinished_packets_total", "counter", "Frames without a checksum", |port| {
        port.unfinished
    }),
    ("port_finished_packets_total", "counter", "Frames whose checksum was computed here", |port| {
        port.finished
    }),
    ("port_held_packets", "gauge", "Frames that wait", |port| port.held),
];

/// Metrics of a port by reason.
type Reasons = fn(&PortCounters) -> &std::collections::BTreeMap<&'static str, u64>;

const REASONS: &[(&str, &str, Reasons)] = &[
    ("port_marks_total", "Marks by the rule that asked for them", |port| &port.marks),
    ("port_drops_total", "Frames dropped, by reason", |port| &port.drops),
];

const QUEUE: &[Number<QueueCounters>] = &[
    ("queue_enqueued_packets_total", "counter", "Packets admitted", |queue| queue.enqueued.packets),
    ("queue_enqueued_bytes_total", "counter", "Bytes admitted", |queue| queue.enqueued.bytes),
    ("queue_dequeued_packets_total", "counter", "Packets that left", |queue| {
        queue.dequeued.packets
    }),
    ("queue_dequeued_bytes_total", "counter", "Bytes that left", |queue| queue.dequeued.bytes),
    ("queue_held_packets", "gauge", "Packets that wait", |queue| queue.held.packets),
    ("queue_held_bytes", "gauge", "Bytes that wait", |queue| queue.held.bytes),
];

fn queues(counters: &Counters) -> impl Iterator<Item = (&PortCounters, &QueueCounters, usize)> {
    counters.ports.iter().flat_map(|port| {
        let queues = port.queues.iter().enumerate();
        queues.map(move |(number, queue)| (port, queue, number))
    })
}

/// Names of interfaces may contain any character except a slash and white space.
fn label(port: &PortCounters) -> String {
    let name = port.interface.replace('\\', "\\\\").replace('"', "\\\"");
    format!("port=\"{name}\"")
}

fn queue_label(port: &PortCounters, number: usize) -> String {
    format!("{},queue=\"{number}\"", label(port))
}

/// Nanoseconds as seconds, exactly.
fn seconds(nanoseconds: u64) -> String {
    let (whole, part) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    format!("{whole}.{part:09}")
}

struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP tidegate_{name} {help}");
        let _ = writeln!(self.0, "# TYPE tidegate_{name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = match labels {
            "" => writeln!(self.0, "tidegate_{name} {value}"),
            labels => writeln!(self.0, "tidegate_{name}{{{labels}}} {value}"),
        };
    }

    /// Without a sum, which is not recorded.
    fn summary(&mut self, name: &str, labels: &str, times: &Quantiles) {
        let values = [
            ("0.5", times.p50_ns),
            ("0.99", times.p99_ns),
            ("0.999", times.p999_ns),
            ("1", times.max_ns),
        ];
        for (quantile, value) in values {
            let labels = format!("{labels},quantile=\"{quantile}\"");
            self.line(name, &labels, seconds(value));
        }
        self.line(&format!("{name}_count"), labels, times.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_comment_or_a_number_with_its_name() {
        let port = PortCounters {
            interface: "a\"b".into(),
            drops: [("port-full", 3)].into(),
            queues: vec![QueueCounters::default(); 2],
            ..PortCounters::default()
        };
        let counters =
            Counters { uptime_ns: 1_500_000_000, ports: vec![port], ..Counters::default() };
        let text = text(&counters);
        for line in text.lines() {
            let is_comment = line.starts_with("# HELP ") || line.starts_with("# TYPE ");
            let value = line.rsplit(' ').next().unwrap();
            assert!(
                is_comment || (line.starts_with("tidegate_") && value.parse::<f64>().is_ok()),
                "{line}"
            );
        }
        assert!(text.contains("tidegate_uptime_seconds 1.500000000\n"));
        let drops = "tidegate_port_drops_total{port=\"a\\\"b\",reason=\"port-full\"} 3\n";
        assert!(text.contains(drops), "{text}");
        assert!(text.contains("tidegate_queue_held_bytes{port=\"a\\\"b\",queue=\"1\"} 0\n"));
        let count = "tidegate_queue_sojourn_seconds_count{port=\"a\\\"b\",queue=\"0\"} 0\n";
        assert!(text.contains(count));
    }
}
