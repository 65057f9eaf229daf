//! Runs with a trace of one flow: every segment and ACK, and samples of its sender and of the
//! queues on its path, independent of other observations.

use std::sync::atomic::AtomicBool;

use tidegate_dataplane::sched::Scheduler;
use tidegate_results::Record;
use tidegate_results::record::{TraceEvent, Traced};
use tidegate_scenario::{Built, Experiment};
use tidegate_sim::observe::Sampling;
use tidegate_sim::run::{self, Status};
use tidegate_sim::trace::flow::{Event, EventKind, FlowTrace};
use tidegate_sim::{LinkId, Setup};
use tidegate_units::{ConfigError, QueueId};

use crate::outcome::finished;

/// Runs an experiment with a trace of this flow; `None` if interrupted.
pub(crate) fn run(
    experiment: &Experiment,
    mut built: Built,
    flow: u32,
    command: String,
    interrupt: &AtomicBool,
    report: &mut dyn FnMut(Status),
) -> Result<Option<Record>, ConfigError> {
    let mut trace = FlowTrace::new(&built.setup, flow)?;
    observe(&mut built.setup, flow, trace.ports())?;
    let outcome = run::run_traced(&built.setup, interrupt, &mut trace, report)?;
    let Some(mut record) = finished(experiment, command, &built, &outcome)? else {
        return Ok(None);
    };
    let event = |event: Event| self::event(event, flow);
    record.trace = trace.finish().into_iter().map(event).collect();
    Ok(Some(record))
}

/// Samples the flow and the queues on its path.
fn observe(setup: &mut Setup, flow: u32, ports: &[LinkId]) -> Result<(), ConfigError> {
    let queues = setup.switch.scheduling.build()?.queues();
    // Its data packets wait in the queue of its service.
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

/// Maximum samples of a run without its own sampling: as many as a chart can show, at little cost.
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
