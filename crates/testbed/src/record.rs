//! The record of a run on real packets.
//!
//! Common parts come from the code that makes the simulator's records. Times are measured on the
//! testbed; a flow's completion time counts from its real hand-over to the kernel. The kernel
//! does not show which packets of a flow were marked: that number is zero.

use std::collections::BTreeMap;
use std::iter;

use tidegate_live::switch::ObservedPort;
use tidegate_live::testbed::{self, FlowResult, Progress};
use tidegate_results::Record;
use tidegate_results::outcome;
use tidegate_results::record::{Link, Quantity, Series, Trace};
use tidegate_scenario::{Built, Experiment};
use tidegate_sim::observe::Observations;
use tidegate_sim::observe::statistics::real;
use tidegate_sim::{EngineCounters, LinkId, Outcome, Tally, run};
use tidegate_units::{ConfigError, Rate, Span, Time};

use crate::plan::port_of;

/// The record of an experiment that was run on a testbed.
pub(super) fn record(
    experiment: &Experiment,
    command: String,
    built: &Built,
    live: &testbed::Outcome,
) -> Result<Record, ConfigError> {
    let outcome = simulated(built, live);
    let mut record = outcome::record(experiment, command, built, &outcome)?;
    let counters = &mut record.counters;
    let ports = &live.counters.ports;
    counters.marks = sum(ports.iter().map(|port| &port.marks));
    counters.drops = sum(ports.iter().map(|port| &port.drops));
    counters.retransmissions = live.kernels.retransmissions;
    counters.timeouts = live.kernels.timeouts;
    // From a host to the switch, and from the switch to a host.
    counters.packet_hops = ports.iter().map(|port| port.received.packets + port.sent.packets).sum();
    let observe = &built.setup.observe;
    let links = (0..built.ports.len() as u32).map(LinkId);
    for link in links {
        let seen = port_of(&built.setup, link).and_then(|port| live.ports.get(port));
        let (Some(seen), Some(name)) = (seen, built.ports.get(link.index())) else {
            continue;
        };
        if observe.ports.has(link) {
            let queues = seen.queues.iter().map(|seen| outcome::queue(name.clone(), seen));
            record.queues.extend(queues);
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
        flow.goodput_bps = (span > Span::ZERO).then(|| goodput.map_or(0, Rate::as_bps));
    }
    if let Some(progress) = &live.progress {
        record.series = series(progress);
    }
    Ok(record)
}

/// The goodput of each chosen flow since the sample before; the first has none before it.
fn series(progress: &Progress) -> Series {
    let interval = progress.sampling.interval;
    let speed = |&bytes: &u64| {
        Rate::from_bytes_over(bytes, interval).map_or(0.0, |rate| real(rate.as_bps()))
    };
    let flows = progress.sampling.flows.iter().zip(&progress.bytes);
    let traces = flows.map(|(flow, bytes)| Trace {
        of: format!("flow {flow}"),
        quantity: Quantity::Goodput,
        values: iter::once(f64::NAN).chain(bytes.iter().map(speed)).collect(),
    });
    Series {
        from_ps: progress.sampling.from.as_ps(),
        interval_ps: interval.as_ps(),
        traces: traces.collect(),
    }
}

/// The simulator's outcome for the same flows.
fn simulated(built: &Built, live: &testbed::Outcome) -> Outcome {
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
        pauses: Vec::new(),
        deadlocks: Vec::new(),
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

/// As if the flow had started when it should have: the thread that starts them may be a little
/// late.
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

fn link(name: &str, rate: Rate, per_packet: u64, seen: &ObservedPort) -> Link {
    let (packets, bytes) = (seen.packets(), seen.bytes());
    let payload = bytes.saturating_sub(packets * per_packet);
    // A flow observed for no time has no goodput.
    let nothing = if seen.span > Span::ZERO { 0.0 } else { f64::NAN };
    let speed =
        |bytes| Rate::from_bytes_over(bytes, seen.span).map_or(nothing, |r| real(r.as_bps()));
    Link {
        name: name.to_owned(),
        rate_bps: rate.as_bps(),
        packets,
        bytes,
        utilisation: speed(bytes) / real(rate.as_bps()),
        goodput_bps: speed(payload),
        paused: 0.0,
        paused_by_class: BTreeMap::new(),
    }
}
