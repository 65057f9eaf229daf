//! Every marking scheme on the same millisecond of overload: the time of its first mark, the number
//! of marks, and their reasons.
//!
//! Forty flows send to a 10 Gb/s port with one strict-priority queue above seven DWRR queues: first
//! at 14 Gb/s, then at 7 Gb/s. Senders do not react, so all schemes see the same packets and differ
//! only in their decisions. Run with `cargo run --release -p tidegate-dataplane --example schemes`.
#![expect(clippy::print_stdout, reason = "the program prints a table")]

use tidegate_dataplane::mark::{self, AnyMarker};
use tidegate_dataplane::sched::{self, AnyScheduler};
use tidegate_dataplane::{Accepted, Departure, Pkt, Port, PortConfig, Rule, buffer};
use tidegate_units::{ConfigError, Ecn, FlowId, PktId, QueueId, Span, Time};

const PACKETS: u32 = 2_000;
const FLOWS: u32 = 40;

fn main() -> Result<(), ConfigError> {
    println!(
        "{:<14} {:>10} {:>8} {:>8}  marks by rule",
        "scheme", "first mark", "marked", "dropped"
    );
    for name in mark::Config::NAMES {
        let marking = mark::Config::named(name).expect("NAMES lists known schemes");
        let mut scheduling = sched::Config::named("sp-dwrr").expect("sp-dwrr is a scheduler");
        scheduling.set("strict", "1")?;
        scheduling.set("quanta", "1500, 1500, 1500, 1500, 1500, 1500, 1500")?;
        let port = Port::build(&PortConfig::default(), &marking, &scheduling)?;
        let report = run(port)?;
        println!("{name:<14} {report}");
    }
    Ok(())
}

/// Sends the packets through the port and summarizes the result in one line.
fn run(mut port: Port<AnyMarker, AnyScheduler>) -> Result<String, ConfigError> {
    let mut buffer = buffer::Config::named("dynamic-threshold")
        .expect("dynamic-threshold is a buffer")
        .build(8, port.queues())?;
    let mut first_mark = None;
    let mut note = |at: Time, ecn: Ecn| {
        if ecn == Ecn::Ce {
            first_mark.get_or_insert(at);
        }
    };
    let mut now = Time::ZERO;
    for i in 0..PACKETS {
        // 1500 bytes take 857 ns at 14 Gb/s and 1714 ns at 7 Gb/s.
        now += Span::from_ns(if i < PACKETS / 2 { 857 } else { 1_714 });
        while let Some(Departure { at, ecn, .. }) = port.depart(now, &mut buffer) {
            note(at, ecn);
        }
        let flow = i % FLOWS;
        let pkt = Pkt { len: 1500, flow: FlowId(flow), ecn: Ecn::Ect0, ..Pkt::default() };
        // Queues 1 to 7, of which the first gets most of the flows.
        let queue = QueueId(if flow < 16 { 1 } else { 1 + (flow % 7) as u8 });
        if let Ok(Accepted { ecn, .. }) = port.enqueue(PktId(i), pkt, queue, now, &mut buffer) {
            note(now, ecn);
        }
    }
    while let Some(Departure { at, ecn, .. }) = port.depart(Time::MAX, &mut buffer) {
        note(at, ecn);
    }

    let stats = port.stats();
    let by_rule: Vec<String> = Rule::ALL
        .into_iter()
        .filter(|&rule| stats.marks(rule) > 0)
        .map(|rule| format!("{} {}", rule.name(), stats.marks(rule)))
        .collect();
    let first_mark =
        first_mark.map_or_else(|| "never".to_owned(), |at| format!("{} us", at.as_ns() / 1_000));
    Ok(format!(
        "{first_mark:>10} {:>8} {:>8}  {}",
        stats.total_marks(),
        stats.total_drops(),
        by_rule.join(", ")
    ))
}
