//! A run, from the first flow to its outcome.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use tidegate_dataplane::{DropReason, PortStats, Rule};
use tidegate_units::{ConfigError, Span, Time};

use crate::capture::{LinkCapture, Recording};
use crate::fabric::{EngineCounters, LinkCount};
use crate::hosts::Tally;
use crate::network::LinkId;
use crate::observe::Observations;
use crate::observe::observer::Observer;
use crate::pause::{ClassPauses, Deadlock};
use crate::result::FlowResult;
use crate::setup::Setup;
use crate::trace::flow::FlowTrace;
use crate::world::{BucketEngine, Engine, HeapEngine, ParallelEngine, Progress};

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Result of each flow, in the order of the flows.
    pub flows: Vec<FlowResult>,
    /// Round trips of each series of probes: arrival time and round-trip time of each answer.
    pub probes: Vec<Vec<(Time, Span)>>,
    /// Traffic of each link, by number.
    pub links: Vec<LinkCount>,
    /// Marks and drops of each port, by link number; `None` for ideal hosts.
    pub ports: Vec<Option<PortStats>>,
    /// Pauses of each class of a link that was paused: by link, then by class.
    pub pauses: Vec<ClassPauses>,
    /// Links that wait for each other forever at the end. A deadlock never dissolves, so earlier
    /// ones are included.
    pub deadlocks: Vec<Deadlock>,
    /// Totals.
    pub tally: Tally,
    /// Simulated time at the end; if flows ended the run, the time of the last finish.
    pub ended_at: Time,
    /// Reason for the end.
    pub end: End,
    /// Observations: empty unless the setup asks for some.
    pub observed: Observations,
    /// How the engine served switches with shared buffers; not part of the result.
    pub engine_counters: EngineCounters,
}

/// Reason why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Every flow that can end is finished, or its connection broke; or the requested number of
    /// flows is finished.
    Finished,
    /// The caller interrupted the run.
    Interrupted,
    /// Flows wait but nothing moves; the text names the cause.
    Stalled(String),
    /// The time limit was reached.
    TimeUp,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Simulated time.
    pub now: Time,
    /// Finished flows.
    pub finished: u32,
}

/// Steps, which are buckets of time, between status reports. They take from a millisecond of work,
/// with buckets of 200 ns, to half a second in a busy network with long buckets.
const STEPS_PER_STATUS: u32 = 1 << 8;

/// Runs a setup. Once `interrupt` is set, the run ends early and keeps the finished flows.
pub fn run(setup: &Setup, interrupt: &AtomicBool) -> Result<Outcome, ConfigError> {
    run_watched(setup, interrupt, &mut |_| {})
}

/// Runs a setup and reports its progress periodically. Reporting does not change the outcome.
pub fn run_watched(
    setup: &Setup,
    interrupt: &AtomicBool,
    report: &mut dyn FnMut(Status),
) -> Result<Outcome, ConfigError> {
    setup.check()?;
    // If the setup is invalid, the single-threaded engine reports the error.
    if ParallelEngine::suits(setup)
        && let Ok(outcome) = run_on::<ParallelEngine>(setup, interrupt, None, report)
    {
        return Ok(outcome);
    }
    run_on::<BucketEngine>(setup, interrupt, None, report)
}

/// Runs a setup on one thread and captures some of its links. The capture does not change the
/// outcome.
pub fn run_captured<W: Write>(
    setup: &Setup,
    interrupt: &AtomicBool,
    capture: &mut LinkCapture<W>,
    report: &mut dyn FnMut(Status),
) -> Result<Outcome, ConfigError> {
    run_on::<BucketEngine>(setup, interrupt, Some(Recording::Links(capture)), report)
}

/// Runs a setup on one thread and traces one of its flows. The trace does not change the outcome.
pub fn run_traced(
    setup: &Setup,
    interrupt: &AtomicBool,
    trace: &mut FlowTrace,
    report: &mut dyn FnMut(Status),
) -> Result<Outcome, ConfigError> {
    run_on::<BucketEngine>(setup, interrupt, Some(Recording::Flow(trace)), report)
}

/// Runs a setup on the reference engine: same outcome, one event at a time.
pub fn run_by_heap(setup: &Setup, interrupt: &AtomicBool) -> Result<Outcome, ConfigError> {
    run_on::<HeapEngine>(setup, interrupt, None, &mut |_| {})
}

fn run_on<E: Engine>(
    setup: &Setup,
    interrupt: &AtomicBool,
    mut recording: Option<Recording<'_>>,
    report: &mut dyn FnMut(Status),
) -> Result<Outcome, ConfigError> {
    setup.check()?;
    let mut engine = E::new(setup)?;
    if let Some(recording) = &mut recording {
        check_links(setup, &recording.links())?;
        engine.capture(recording);
    }
    if let Some(Recording::Links(recorder)) = &mut recording {
        let others = setup.transports.iter().filter(|transport| transport.tcp().is_none());
        others.for_each(|transport| recorder.set_payload(transport.payload()));
    }
    let mut observer = Observer::new(setup, &engine)?;
    let mut steps = 0_u32;
    let end = loop {
        // Stops at every observation that the next step would pass.
        while let Some(now) = observer.next_until(setup.stop.at)
            && now < engine.horizon()
        {
            engine.reach(now);
            observer.look(&engine, now);
        }
        let progress = engine.advance(setup.stop.at);
        observer.find_flows(&engine);
        if let Some(recording) = &mut recording {
            engine.record(recording);
        }
        if engine.has_finished(setup.stop.finished) {
            break End::Finished;
        }
        // Every engine evaluates this at the start of a bucket, and observations may have advanced
        // it past the start of the last one.
        let still = engine.plan().begin_of_bucket(engine.now()) - engine.progress_at();
        let is_stalled = still > setup.stop.stalled && engine.tally().live > 0;
        if progress == Progress::Silent || is_stalled {
            break End::Stalled(engine.diagnosis());
        }
        if let Some((at, flow)) = engine.livelock()
            && engine.plan().begin_of_bucket(engine.now()) > at
        {
            break End::Stalled(engine.livelock_diagnosis(flow));
        }
        if progress == Progress::Reached {
            break End::TimeUp;
        }
        if interrupt.load(Ordering::Relaxed) {
            break End::Interrupted;
        }
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(STEPS_PER_STATUS) {
            report(Status { now: engine.now(), finished: engine.tally().finished });
        }
    };
    while end == End::TimeUp
        && let Some(now) = observer.next_until(setup.stop.at)
    {
        observer.look(&engine, now);
    }
    let (ended_at, closed) = match end {
        End::Finished => {
            // The run ends with this flow. Other events in the same bucket of time are counted on
            // every engine; otherwise the links would have carried different amounts.
            let last = engine.last_finish(setup.stop.finished);
            let stop = engine.plan().end_of_bucket(last).min(setup.stop.at);
            while engine.now() < stop && engine.advance(stop) == Progress::Going {}
            if let Some(recording) = &mut recording {
                engine.record(recording);
            }
            (last, stop)
        }
        End::TimeUp => (setup.stop.at, setup.stop.at),
        End::Interrupted => (engine.now(), engine.now()),
        // The time that a run waits for progress depends on the engine.
        End::Stalled(_) => match engine.livelock() {
            Some((at, _)) => (engine.plan().end_of_bucket(at), engine.plan().end_of_bucket(at)),
            None => (engine.now(), engine.progress_at()),
        },
    };
    observer.find_flows(&engine);
    engine.end_run(ended_at);
    let observations = observer.finish(&engine, ended_at.min(closed), closed);
    let links = (0..setup.network.links().len() as u32).map(|link| engine.link(LinkId(link)));
    let (links, ports) =
        links.map(|link| (link.count, link.port.map(|port| port.stats().clone()))).unzip();
    let (pauses, deadlocks) = (engine.class_pauses(closed), engine.deadlocks());
    Ok(Outcome {
        flows: engine.take_results(),
        probes: engine.take_probes(setup.probes.len()),
        links,
        ports,
        pauses,
        deadlocks,
        tally: engine.tally(),
        ended_at,
        end,
        observed: observations,
        engine_counters: engine.counters(),
    })
}

/// Checks that the captured links exist.
fn check_links(setup: &Setup, links: &[LinkId]) -> Result<(), ConfigError> {
    let count = setup.network.links().len();
    match links.iter().find(|link| link.index() >= count) {
        Some(link) => {
            let allowed = format!("a link below {count}");
            Err(ConfigError::out_of_range("capture", link, allowed))
        }
        None => Ok(()),
    }
}

impl Outcome {
    /// Hash of all results: two runs with the same hash had the same results.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fnv::default();
        for flow in &self.flows {
            hash.add(flow.received_at.as_ps());
            hash.add(flow.acked_at.as_ps());
            hash.add(u64::from(flow.retransmissions) << 32 | u64::from(flow.timeouts));
            hash.add(u64::from(flow.marks));
        }
        for &(at, round_trip) in self.probes.iter().flatten() {
            hash.add(at.as_ps());
            hash.add(round_trip.as_ps());
        }
        for link in &self.links {
            hash.add(link.packets);
            hash.add(link.bytes);
        }
        for port in self.ports.iter().flatten() {
            for rule in Rule::ALL {
                hash.add(port.marks(rule));
            }
            for reason in DropReason::ALL {
                hash.add(port.drops(reason));
            }
        }
        hash.0
    }
}

/// The FNV-1a hash over words.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use tidegate_dataplane::{buffer, mark};
    use tidegate_units::Span;

    use super::*;
    use crate::capture::{Captured, Recorder};
    use crate::topology::leaf_spine;
    use crate::{Flow, HostId};

    /// Hosts of two racks send to one host of the third: marks at leaves and spines, and drops.
    fn fabric() -> Setup {
        let config = leaf_spine::Config {
            leaves: 3,
            spines: 2,
            hosts_per_leaf: 4,
            host_delay: Span::from_us(20),
            fabric_delay: Span::from_ns(200),
            ..leaf_spine::Config::default()
        };
        let flow = |src| Flow {
            start: Time::from_us(u64::from(src)),
            bytes: 300_000,
            src: HostId(src),
            dst: HostId(8 + src % 2),
            rate: None,
            service: 0,
            group: 0,
        };
        let mut setup = Setup::new(config.build().unwrap(), (0..8).map(flow).collect());
        setup.switch.marking = mark::Config::named("queue-red").unwrap();
        setup.switch.marking.set("threshold", "15KB").unwrap();
        setup.switch.buffer = buffer::Config::named("per-port").unwrap();
        setup.switch.buffer.set("limit", "45KB").unwrap();
        setup
    }

    /// A recorder of every link.
    #[derive(Default)]
    struct Notes {
        links: Vec<LinkId>,
        all: Vec<(Time, LinkId, String)>,
    }

    impl Recorder for Notes {
        fn links(&self) -> Vec<LinkId> {
            self.links.clone()
        }

        fn set_payload(&mut self, _payload: u32) {}

        fn note(&mut self, at: Time, link: LinkId, captured: &Captured) {
            let mut captured = *captured;
            // Clears numbers that engines assign in the order in which they process packets.
            (captured.packet.serial, captured.packet.spilled) = (0, 0);
            self.all.push((at, link, format!("{captured:?}")));
        }

        fn write(&mut self, _now: Time) {}
    }

    /// The fast engine serves a port for many packets before it serves the next port, which marks
    /// and drops them: a capture shows the packets as they were.
    #[test]
    fn a_capture_is_the_same_on_both_engines() {
        fn captured<E: Engine>(setup: &Setup) -> (Outcome, Notes) {
            let links = 0..setup.network.links().len() as u32;
            let mut notes = Notes { links: links.map(LinkId).collect(), all: Vec::new() };
            let interrupt = AtomicBool::new(false);
            let outcome =
                run_on::<E>(setup, &interrupt, Some(Recording::Links(&mut notes)), &mut |_| {});
            notes.all.sort();
            (outcome.unwrap(), notes)
        }
        let setup = fabric();
        let (fast, by_buckets) = captured::<BucketEngine>(&setup);
        let (slow, by_heap) = captured::<HeapEngine>(&setup);
        assert!(by_heap.all.len() > 10_000, "{} packets", by_heap.all.len());
        for (fast, slow) in by_buckets.all.iter().zip(&by_heap.all) {
            assert_eq!(fast, slow);
        }
        assert_eq!(by_buckets.all.len(), by_heap.all.len());
        assert_eq!(fast.fingerprint(), slow.fingerprint());
        let marking = fast.ports.iter().flatten();
        let marking = marking.filter(|port| port.total_marks() > 0).count();
        assert!(marking > 2 && fast.tally.dropped > 0, "{marking}, {:?}", fast.tally);
    }
}
