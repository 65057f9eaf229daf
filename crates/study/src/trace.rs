//! Runs of which one flow is traced: every segment and ACK of it, and samples of its sender and of
//! the queues on its way, whatever else the scenario observes.

use std::sync::atomic::AtomicBool;

use tidegate_dataplane::sched::Scheduler;
use tidegate_results::Record;
use tidegate_results::outcome::record;
use tidegate_results::record::{TraceEvent, Traced};
use tidegate_scenario::{Built, Experiment};
use tidegate_sim::observe::Sampling;
use tidegate_sim::run::{self, Status};
use tidegate_sim::trace::flow::{Event, EventKind, FlowTrace};
use tidegate_sim::{LinkId, Setup};
use tidegate_units::{ConfigError, QueueId};

/// Runs an experiment with a trace of the flow of this number.
pub(crate) fn run(
    experiment: &Experiment,
    mut built: Built,
    flow: u32,
    command: String,
    interrupt: &AtomicBool,
    report: &mut dyn FnMut(Status),
) -> Result<Record, ConfigError> {
    let mut trace = FlowTrace::new(&built.setup, flow)?;
    observe(&mut built.setup, flow, trace.ports())?;
    let outcome = run::run_traced(&built.setup, interrupt, &mut trace, report)?;
    let mut record = record(experiment, command, &built, &outcome)?;
    let event = |event: Event| self::event(event, flow);
    record.trace = trace.finish().into_iter().map(event).collect();
    Ok(record)
}

/// Adds the flow and the queues on its way to what is sampled.
fn observe(setup: &mut Setup, flow: u32, ports: &[LinkId]) -> Result<(), ConfigError> {
    let queues = setup.switch.scheduling.build()?.queues();
    // Its packets mostly wait in the queue of its service.
    let service = setup.flows[flow as usize].service;
    let queue = QueueId(if service < queues { service } else { 0 });
    let series = setup
        .observe
        .series
        .get_or_insert_with(|| Sampling { limit: SAMPLES, ..Sampling::default() });
    if !series.flows.contains(&flow) {
        series.flows.push(flow);
    }
    for &link in ports {
        if !series.queues.contains(&(link, queue)) {
            series.queues.push((link, queue));
        }
    }
    Ok(())
}

/// The most samples of a run that observes none by itself: as many as a chart can show, so that
/// looking costs little.
const SAMPLES: u32 = 1_024;

fn event(event: Event, flow: u32) -> TraceEvent {
    TraceEvent {
        at_ps: event.at.as_ps(),
        flow,
        event: match event.kind {
            EventKind::Sent => Traced::Sent,
            EventKind::Resent => Traced::Resent,
            EventKind::Lost => Traced::Lost,
            EventKind::Arrived => Traced::Arrived,
            EventKind::Acked => Traced::Acked,
        },
        seq: event.seq,
        len: event.len,
        flag: event.is_flagged,
    }
}
