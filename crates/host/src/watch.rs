//! Samples of connections, summarized for a screen and for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::event::{Connection, Event, Kind};

/// State of a connection at its last sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Algorithm of the connection.
    pub algorithm: String,
    /// Both ends of the connection.
    #[serde(flatten)]
    pub connection: Connection,
    /// Estimate of the marked fraction, 0 to 1.
    pub alpha: f64,
    /// Window in packets.
    pub cwnd: u32,
    /// Smoothed round-trip time in microseconds.
    pub srtt_us: u32,
    /// ACKs with ECE so far.
    pub ece: u32,
    /// Segments with CE so far.
    pub ce: u32,
    /// Reductions for marks so far.
    pub cuts: u32,
    /// Whether the connection has ended.
    pub ended: bool,
    /// Time of the sample, in nanoseconds since the machine started.
    #[serde(skip)]
    time_ns: u64,
}

/// All connections with samples.
#[derive(Clone, Debug, Default)]
pub struct View {
    rows: BTreeMap<(String, Connection), Row>,
    /// Samples so far.
    samples: u64,
}

/// Intervals of silence after which a connection is no longer shown.
const LOOKS: u64 = 3;

impl View {
    /// Records a sample.
    pub fn take(&mut self, algorithm: &str, event: &Event) {
        self.samples += 1;
        let row = Row {
            algorithm: algorithm.to_owned(),
            connection: event.connection,
            alpha: f64::from(event.alpha) / 1024.0,
            cwnd: event.cwnd,
            srtt_us: event.srtt_us,
            ece: event.ece,
            ce: event.ce,
            cuts: event.cuts,
            ended: event.kind == Kind::End,
            time_ns: event.time_ns,
        };
        self.rows.insert((row.algorithm.clone(), row.connection), row);
    }

    /// Connections in order of their addresses.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    /// Drops connections that have ended, and those that were silent for some intervals.
    pub fn forget(&mut self, every_ns: u64) {
        let latest = self.rows.values().map(|row| row.time_ns).max().unwrap_or(0);
        let oldest = latest.saturating_sub(every_ns.saturating_mul(LOOKS));
        self.rows.retain(|_, row| !row.ended && row.time_ns >= oldest);
    }

    /// All connections in Prometheus' text format, version 0.0.4.
    pub fn metrics(&self) -> String {
        let mut text = String::new();
        for (name, kind, help, of) in NUMBERS {
            let name = format!("tidegate_host_{name}");
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for row in self.rows() {
                let Connection { namespace, local, peer } = row.connection;
                let _ = writeln!(
                    text,
                    "{name}{{algorithm=\"{}\",namespace=\"{namespace}\",local=\"{local}\",peer=\"{peer}\"}} {}",
                    row.algorithm,
                    of(row)
                );
            }
        }
        let name = "tidegate_host_samples_total";
        let _ = writeln!(text, "# HELP {name} Samples of connections\n# TYPE {name} counter");
        let _ = writeln!(text, "{name} {}", self.samples);
        text
    }
}

/// A metric of a connection: its name, type, help text and value.
type Number = (&'static str, &'static str, &'static str, fn(&Row) -> f64);

const NUMBERS: &[Number] = &[
    ("alpha", "gauge", "Estimate of the marked fraction", |row| row.alpha),
    ("cwnd_packets", "gauge", "Congestion window", |row| row.cwnd.into()),
    ("srtt_seconds", "gauge", "Smoothed round trip time", |row| f64::from(row.srtt_us) / 1e6),
    ("ece_acks_total", "counter", "ACKs that echoed a mark", |row| row.ece.into()),
    ("ce_segments_total", "counter", "Segments that arrived with a mark", |row| row.ce.into()),
    ("reductions_total", "counter", "Reductions for marks", |row| row.cuts.into()),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Flags;

    fn event(port: u16, kind: Kind, time_ns: u64) -> Event {
        let local = format!("10.0.0.1:{port}").parse().unwrap();
        let peer = "10.0.0.2:80".parse().unwrap();
        Event {
            time_ns,
            kind,
            flags: Flags::default(),
            connection: Connection { namespace: 7, local, peer },
            state: 0,
            una: 0,
            nxt: 0,
            acked: 0,
            marked: 0,
            mss: 1448,
            window: 14_480,
            ssthresh: u32::MAX,
            cwnd: 10,
            alpha: 256,
            srtt_us: 1500,
            ece: 3,
            ce: 0,
            cuts: 1,
        }
    }

    #[test]
    fn a_connection_is_shown_until_it_ends_or_is_silent() {
        let mut view = View::default();
        view.take("tg_dctcp", &event(1, Kind::Sample, 1_000));
        view.take("tg_dctcp", &event(2, Kind::Sample, 2_000));
        view.take("tg_dctcp", &event(3, Kind::End, 2_000));
        assert_eq!(view.rows().count(), 3);
        view.forget(1_000);
        let ports: Vec<_> = view.rows().map(|row| row.connection.local.port()).collect();
        assert_eq!(ports, [1, 2]);
        view.take("tg_dctcp", &event(2, Kind::Sample, 9_000));
        view.forget(1_000);
        assert_eq!(view.rows().count(), 1);
    }

    #[test]
    fn metrics_are_printed_for_prometheus() {
        let mut view = View::default();
        view.take("tg_dctcp", &event(1, Kind::Sample, 1));
        let text = view.metrics();
        let labels =
            "{algorithm=\"tg_dctcp\",namespace=\"7\",local=\"10.0.0.1:1\",peer=\"10.0.0.2:80\"}";
        for line in [
            "# TYPE tidegate_host_alpha gauge\n".to_owned(),
            format!("tidegate_host_alpha{labels} 0.25\n"),
            format!("tidegate_host_cwnd_packets{labels} 10\n"),
            format!("tidegate_host_srtt_seconds{labels} 0.0015\n"),
            format!("tidegate_host_ece_acks_total{labels} 3\n"),
            "tidegate_host_samples_total 1\n".to_owned(),
        ] {
            assert!(text.contains(&line), "{line} in\n{text}");
        }
    }
}
