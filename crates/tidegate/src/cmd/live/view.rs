//! Counters of a switch as a table of 80 columns.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;
use tidegate_results::format::quantity;
use tidegate_sim::observe::statistics::real;

use crate::output::Paint;

/// The counters that the table shows, at one moment.
#[derive(Debug, Deserialize)]
pub(super) struct Sample {
    pub(super) uptime_ns: u64,
    stations: u64,
    ports: Vec<Port>,
}

#[derive(Debug, Deserialize)]
struct Port {
    interface: String,
    is_up: bool,
    #[serde(default)]
    is_blocked: bool,
    #[serde(default)]
    is_looping: bool,
    #[serde(default)]
    stalled_ns: u64,
    sent: Amount,
    marked: u64,
    drops: BTreeMap<String, u64>,
    held: u64,
    lateness: Times,
    queues: Vec<Queue>,
}

#[derive(Debug, Deserialize)]
struct Queue {
    dequeued: Amount,
    held: Amount,
    sojourn: Times,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Amount {
    packets: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Times {
    p50_ns: u64,
    p99_ns: u64,
}

impl Sample {
    pub(super) fn read(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }
}

/// Columns of a name.
const WIDTH: usize = 14;

/// An interface that has taken no frame for 100 ms is shown as stalled.
const STALLED_NS: u64 = 100_000_000;

impl Port {
    /// Abnormal state, or nothing.
    fn state(&self) -> &'static str {
        match self {
            Self { is_up: false, .. } => " down",
            Self { is_blocked: true, .. } => " block",
            Self { stalled_ns: STALLED_NS.., .. } => " stall",
            Self { is_looping: true, .. } => " loop",
            _ => "",
        }
    }

    fn dropped(&self) -> u64 {
        self.drops.values().sum()
    }
}

const HEAD: &str =
    "port, queue       Mb/s   pkt/s   held wait p50 wait p99 late p99 marks/s drops/s";

/// A table of rates since `before`, or since the switch was opened.
pub(super) fn table(before: Option<&Sample>, now: &Sample, paint: Paint) -> String {
    // The switch may have been restarted.
    let before = before
        .filter(|before| before.uptime_ns < now.uptime_ns && before.ports.len() == now.ports.len());
    let span = now.uptime_ns - before.map_or(0, |before| before.uptime_ns);
    let mut text = format!(
        "up {}, {} ports, {} stations\n\n{}\n",
        time(now.uptime_ns),
        now.ports.len(),
        now.stations,
        paint.bold(HEAD)
    );
    for (number, port) in now.ports.iter().enumerate() {
        let old = before.and_then(|before| before.ports.get(number));
        let since = |value: u64, old: Option<u64>| value.saturating_sub(old.unwrap_or(0));
        let rate = |value, old| per_second(since(value, old), span);
        let sent = old.map(|old| old.sent);
        let state = port.state();
        // Cuts the name, never the state.
        let room = WIDTH - state.len();
        let name = format!("{:.room$}{state}", port.interface);
        let alone = match port.queues.as_slice() {
            [queue] => Some(queue.sojourn),
            _ => None,
        };
        let wait = |of: fn(Times) -> u64| alone.map_or_else(String::new, |times| time(of(times)));
        _ = writeln!(
            text,
            "{name:<WIDTH$}{:>8}{:>8}{:>7}{:>9}{:>9}{:>9}{:>8}{:>8}",
            megabits(since(port.sent.bytes, sent.map(|sent| sent.bytes)), span),
            rate(port.sent.packets, sent.map(|sent| sent.packets)),
            short(port.held),
            wait(|times| times.p50_ns),
            wait(|times| times.p99_ns),
            time(port.lateness.p99_ns),
            rate(port.marked, old.map(|old| old.marked)),
            rate(port.dropped(), old.map(Port::dropped)),
        );
        if alone.is_some() {
            continue;
        }
        for (number, queue) in port.queues.iter().enumerate() {
            let old = old.and_then(|old| old.queues.get(number));
            let old = old.map(|old| old.dequeued);
            _ = writeln!(
                text,
                "{:<14}{:>8}{:>8}{:>7}{:>9}{:>9}",
                format!("  queue {number}"),
                megabits(since(queue.dequeued.bytes, old.map(|old| old.bytes)), span),
                rate(queue.dequeued.packets, old.map(|old| old.packets)),
                short(queue.held.packets),
                time(queue.sojourn.p50_ns),
                time(queue.sojourn.p99_ns),
            );
        }
    }
    text
}

fn per_second(count: u64, span_ns: u64) -> String {
    let count = u128::from(count) * 1_000_000_000;
    short((count / u128::from(span_ns.max(1))) as u64)
}

/// With one decimal.
fn megabits(bytes: u64, span_ns: u64) -> String {
    let tenths = u128::from(bytes) * 80_000 / u128::from(span_ns.max(1));
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// A number in at most six characters.
fn short(number: u64) -> String {
    match number {
        0..=99_999 => number.to_string(),
        100_000..=9_999_999 => format!("{}k", number / 1_000),
        10_000_000..=9_999_999_999 => format!("{}M", number / 1_000_000),
        _ => format!("{}G", number / 1_000_000_000),
    }
}

/// A time in at most seven characters, up to a thousand seconds.
fn time(nanoseconds: u64) -> String {
    quantity(real(nanoseconds) / 1e9, "s")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(uptime_ns: u64, packets: u64) -> Sample {
        let queue = r#"{"dequeued":{"packets":PKTS,"bytes":BYTES},"held":{"packets":3,"bytes":9},
            "sojourn":{"p50_ns":1500,"p99_ns":250000000}}"#;
        let text = format!(
            r#"{{"uptime_ns":{uptime_ns},"stations":2,"not_shown":1,"ports":[
            {{"interface":"a-long-name-of-15","is_up":true,"sent":{{"packets":PKTS,"bytes":BYTES}},
            "marked":7,"drops":{{"port-full":4}},"held":6,
            "lateness":{{"p50_ns":1,"p99_ns":999}},"queues":[{queue},{queue}]}},
            {{"interface":"b","is_up":false,"sent":{{"packets":0,"bytes":0}},"marked":0,
            "drops":{{}},"held":0,"lateness":{{"p50_ns":0,"p99_ns":0}},"queues":[{queue}]}}]}}"#
        );
        let text = text.replace("PKTS", &packets.to_string());
        Sample::read(&text.replace("BYTES", &(packets * 1_250).to_string())).unwrap()
    }

    #[test]
    fn rates_are_since_the_last_view_and_fit_80_columns() {
        let (before, now) = (sample(1_000_000_000, 1_000), sample(3_000_000_000, 201_000));
        let text = table(Some(&before), &now, Paint::Plain);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "up 3 s, 2 ports, 2 stations");
        // 200,000 packets of 1250 bytes in two seconds.
        let words: Vec<&str> = lines[3].split_whitespace().collect();
        assert_eq!(words[1..], ["1000.0", "100k", "6", "999", "ns", "0", "0"]);
        let words: Vec<&str> = lines[4].split_whitespace().collect();
        assert_eq!(words[..5], ["queue", "0", "1000.0", "100k", "3"]);
        assert!(lines[6].starts_with("b down"), "{text}");
        assert!(lines[3].starts_with("a-long-name-of "), "{text}");
    }

    #[test]
    fn abnormal_state_follows_the_name_of_a_port() {
        let mut now = sample(1_000_000_000, 5);
        let line = |now: &Sample| {
            let text = table(None, now, Paint::Plain);
            text.lines().nth(3).unwrap().to_owned()
        };
        now.ports[0].stalled_ns = STALLED_NS - 1;
        assert!(line(&now).starts_with("a-long-name-of "), "{}", line(&now));
        now.ports[0].is_looping = true;
        assert!(line(&now).starts_with("a-long-na loop "), "{}", line(&now));
        now.ports[0].stalled_ns = STALLED_NS;
        assert!(line(&now).starts_with("a-long-n stall "), "{}", line(&now));
        now.ports[0].is_blocked = true;
        assert!(line(&now).starts_with("a-long-n block "), "{}", line(&now));
    }

    #[test]
    fn first_view_covers_the_time_since_the_switch_was_opened() {
        let text = table(None, &sample(2_000_000_000, 20), Paint::Plain);
        let line = text.lines().nth(3).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[1..3], ["0.1", "10"]);
        assert_eq!(words[words.len() - 2..], ["3", "2"]);
        // A restarted switch does not lead to negative rates.
        let (old, new) = (sample(9_000_000_000, 500), sample(2_000_000_000, 20));
        assert_eq!(table(Some(&old), &new, Paint::Plain), text);
    }

    #[test]
    fn numbers_stay_short() {
        let numbers = [99_999, 100_000, 9_999_999, 10_000_000, 50_000_000_000];
        assert_eq!(numbers.map(short), ["99999", "100k", "9999k", "10M", "50G"]);
        let times = [999, 1_500, 99_900_000, 250_000_000, 3_000_000_000];
        assert_eq!(times.map(time), ["999 ns", "1.50 µs", "99.9 ms", "250 ms", "3 s"]);
    }
}
