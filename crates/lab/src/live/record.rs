//! What a run on real packets left, as the plain data that results are made of.
//!
//! What both worlds have is made by the code that makes the simulator's records. Times are those of
//! the testbed; a flow's completion time counts from when it was really handed over. The kernel does
//! not show which packets of a flow were marked: that number is zero.

use std::collections::BTreeMap;

use tidegate_dataplane::{DropReason, Rule};
use tidegate_live::switch::{PortSeen, QueueSeen, Weighted};
use tidegate_live::testbed::{self, FlowResult};
use tidegate_report::Record;
use tidegate_report::record::{Distribution, Link, Queue};
use tidegate_sim::observe::Observations;
use tidegate_sim::{EngineCounters, LinkId, Outcome, Tally, run};
use tidegate_units::{ConfigError, Rate, Time};

use super::plan::port_of;
use crate::record::{PROBABILITIES, by_reason, by_rule, real};
use tidegate_scenario::{Built, Experiment};

/// The record of an experiment that was run on a testbed.
pub(super) fn record(
    experiment: &Experiment,
    command: String,
    built: &Built,
    live: &testbed::Outcome,
) -> Result<Record, ConfigError> {
    let outcome = outcome(built, live);
    let mut record = crate::record::record(experiment, command, built, &outcome)?;
    let counters = &mut record.counters;
    let ports = &live.counters.ports;
    counters.marks = sum(ports.iter().map(|port| &port.marks));
    counters.drops = sum(ports.iter().map(|port| &port.drops));
    counters.retransmissions = live.kernels.retransmissions;
    counters.timeouts = live.kernels.timeouts;
    // From a host to the switch, and from the switch to a host.
    counters.packet_hops = ports
        .iter()
        .map(|port| port.received.packets + port.sent.packets)
        .sum();
    let observe = &built.setup.observe;
    let links = (0..built.ports.len() as u32).map(LinkId);
    for link in links {
        let seen = port_of(&built.setup, link).and_then(|port| live.ports.get(port));
        let (Some(seen), Some(name)) = (seen, built.ports.get(link.index())) else {
            continue;
        };
        if observe.ports.has(link) {
            let queues = seen.queues.iter().zip(0..);
            record
                .queues
                .extend(queues.map(|(seen, number)| queue(name, number, seen)));
        }
        if observe.links.has(link) {
            let rate = built.setup.network.link(link).rate;
            let per_packet = u64::from(built.setup.accounting.per_packet);
            record.links.push(self::link(name, rate, per_packet, seen));
        }
    }
    let window = observe.window;
    for (flow, result) in record.flows.iter_mut().zip(&live.flows) {
        if !observe.flows.has(flow.number) {
            continue;
        }
        let from = result.started_at.unwrap_or(live.ended_at).max(window.from);
        let last = result.received_at.unwrap_or(live.ended_at);
        let span = last.min(window.to).min(live.ended_at) - from;
        flow.received = Some(result.received_in_window);
        let goodput = Rate::from_bytes_over(result.received_in_window, span);
        flow.goodput_bps = Some(goodput.map_or(0, Rate::as_bps));
    }
    Ok(record)
}

/// What the simulator would say of the same flows.
fn outcome(built: &Built, live: &testbed::Outcome) -> Outcome {
    let flows = built.setup.flows.iter().zip(&live.flows);
    let flows: Vec<_> = flows.map(|(flow, result)| of_flow(flow, result)).collect();
    let count = |is: fn(&FlowResult) -> bool| live.flows.iter().filter(|flow| is(flow)).count();
    let finished = count(|flow| flow.received_at.is_some());
    let started = count(|flow| flow.started_at.is_some());
    Outcome {
        flows,
        probes: live.pings.clone(),
        links: Vec::new(),
        ports: Vec::new(),
        tally: Tally {
            finished: finished as u32,
            live: (started - finished) as u32,
            ..Tally::default()
        },
        ended_at: live.ended_at,
        end: match live.end {
            testbed::End::Finished => run::End::Finished,
            testbed::End::Interrupted => run::End::Interrupted,
            testbed::End::Stalled => {
                run::End::Stalled("nothing arrived although flows wait".to_owned())
            }
            testbed::End::TimeUp => run::End::TimeUp,
        },
        observed: Observations::default(),
        engine_counters: EngineCounters::default(),
    }
}

/// As if the flow had started when it should have: the thread that starts them may be a little late.
fn of_flow(flow: &tidegate_sim::Flow, result: &FlowResult) -> tidegate_sim::FlowResult {
    let finish = result.started_at.zip(result.received_at);
    let finish = finish.map_or(Time::MAX, |(start, end)| flow.start + (end - start));
    tidegate_sim::FlowResult {
        received_at: finish,
        acked_at: finish,
        retransmissions: result.retransmissions,
        ..tidegate_sim::FlowResult::PENDING
    }
}

fn sum<'a>(counts: impl Iterator<Item = &'a BTreeMap<&'static str, u64>>) -> BTreeMap<String, u64> {
    let mut sum = BTreeMap::new();
    for (name, count) in counts.flatten() {
        *sum.entry((*name).to_owned()).or_default() += count;
    }
    sum
}

fn queue(port: &str, number: u8, seen: &QueueSeen) -> Queue {
    Queue {
        port: port.to_owned(),
        queue: number,
        sent: seen.waits.weight(),
        sent_bytes: seen.sent_bytes,
        bytes: distribution(&seen.bytes, 1.0),
        packets: distribution(&seen.packets, 1.0),
        // From nanoseconds.
        wait_ps: distribution(&seen.waits, 1_000.0),
        marks: by_rule(|rule: Rule| seen.marks(rule)),
        drops: by_reason(|reason: DropReason| seen.drops(reason)),
    }
}

fn link(name: &str, rate: Rate, per_packet: u64, seen: &PortSeen) -> Link {
    let payload = seen.bytes.saturating_sub(seen.packets * per_packet);
    let speed = |bytes| Rate::from_bytes_over(bytes, seen.span).map_or(0.0, |r| real(r.as_bps()));
    Link {
        name: name.to_owned(),
        rate_bps: rate.as_bps(),
        packets: seen.packets,
        bytes: seen.bytes,
        utilisation: speed(seen.bytes) / real(rate.as_bps()),
        goodput_bps: speed(payload),
        paused: 0.0,
    }
}

/// A histogram in short, each number times `unit`.
fn distribution(seen: &Weighted, unit: f64) -> Distribution {
    let mut quantiles: Vec<(f64, f64)> = Vec::new();
    if seen.weight() == 0 {
        return Distribution::default();
    }
    for part in PROBABILITIES {
        let value = real(seen.quantile(part)) * unit;
        let pair = (f64::from(part) / 10_000.0, value);
        match quantiles.last_mut() {
            Some(last) if last.1 >= value => *last = pair,
            _ => quantiles.push(pair),
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let mean = seen.sum() as f64 / real(seen.weight());
    Distribution {
        mean: mean * unit,
        max: real(seen.max()) * unit,
        quantiles,
    }
}
