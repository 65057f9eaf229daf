//! Measurement of a run: its cost, and observations in the window over which averages are taken.
//!
//! Observations come from further runs of the same setup, so that they do not slow the measured
//! run. A run has the same events every time.

use std::sync::atomic::AtomicBool;

use tidegate_sim::observe::statistics::{deviation, weighted_mean};
use tidegate_sim::observe::{Observe, ObservedQueue, Which, Window};
use tidegate_sim::run::{self, Outcome};
use tidegate_sim::{HostId, LinkId, Setup};
use tidegate_units::Time;

use crate::options::Scenario;
use crate::process;
use crate::report::float;
use crate::scenario::mss;

/// A measured run.
pub(crate) struct Measured {
    pub(crate) scenario: Scenario,
    pub(crate) outcome: Outcome,
    /// CPU seconds of one run, the mean of `runs`.
    pub(crate) cpu_seconds: f64,
    pub(crate) runs: u32,
    /// Peak after the first run.
    pub(crate) peak_memory_kib: u64,
    pub(crate) seen: Seen,
}

/// Observations between two moments.
pub(crate) struct Seen {
    pub(crate) window: Window,
    /// Data packets that arrived with a mark.
    pub(crate) data_marked: u64,
    /// Data packets that left the ports of switches: payload over segment size.
    pub(crate) data_forwarded: u64,
    /// Payload sent from switches to hosts.
    pub(crate) bytes_delivered: u64,
    pub(crate) queue: Queue,
}

/// Packets waiting at a port, over time.
pub(crate) struct Queue {
    pub(crate) mean: f64,
    /// Standard deviation, known if a port has one queue.
    pub(crate) deviation: Option<f64>,
    /// Maximum, known if a port has one queue.
    pub(crate) most: Option<u64>,
}

/// Runs are repeated until they have taken this many seconds together, because one run may be too
/// short to measure.
const LEAST_SECONDS: f64 = 1.0;
const MOST_RUNS: u32 = 100;

/// Runs a setup for its speed, and again for observations in the window.
pub(crate) fn measure(
    scenario: Scenario,
    setup: &Setup,
    window: Window,
) -> Result<Measured, String> {
    let before = process::cpu_seconds()?;
    let outcome = run(setup)?;
    let mut cpu_seconds = process::cpu_seconds()? - before;
    let peak_memory_kib = process::peak_memory_kib()?;
    let mut runs = 1;
    while runs < MOST_RUNS && cpu_seconds < LEAST_SECONDS {
        let before = process::cpu_seconds()?;
        let again = run(setup)?;
        cpu_seconds += process::cpu_seconds()? - before;
        runs += 1;
        assert_eq!(
            outcome.fingerprint(),
            again.fingerprint(),
            "a run has the same results every time"
        );
    }
    Ok(Measured {
        scenario,
        seen: Seen::new(setup, &outcome, scenario, window)?,
        outcome,
        cpu_seconds: cpu_seconds / f64::from(runs),
        runs,
        peak_memory_kib,
    })
}

pub(crate) fn run(setup: &Setup) -> Result<Outcome, String> {
    run::run(setup, &AtomicBool::new(false)).map_err(|error| error.to_string())
}

impl Seen {
    fn new(
        setup: &Setup,
        whole: &Outcome,
        scenario: Scenario,
        window: Window,
    ) -> Result<Self, String> {
        let mut observed = setup.clone();
        observed.observe = Observe {
            window,
            ports: match scenario {
                Scenario::LeafSpine => Which::All,
                Scenario::Star => Which::Only(vec![link_to(setup, setup.flows[0].dst)]),
            },
            links: Which::All,
            ..Observe::default()
        };
        let outcome = run(&observed)?;
        assert_eq!(whole.fingerprint(), outcome.fingerprint(), "observing changes no result");
        let observed = outcome.observed;
        let marks_by = |at: Time| -> Result<u64, String> {
            if at >= whole.ended_at {
                return Ok(marks(whole));
            }
            let mut part = setup.clone();
            part.stop.at = at;
            Ok(marks(&run(&part)?))
        };
        let before = if window.from == Time::ZERO { 0 } else { marks_by(window.from)? };
        let network = &setup.network;
        let (mut forwarded, mut bytes_delivered) = (0, 0);
        for seen in &observed.links {
            let link = network.link(seen.link);
            if !network.is_host(link.from) {
                forwarded += seen.payload;
            }
            if network.is_host(link.to) {
                bytes_delivered += seen.payload;
            }
        }
        Ok(Self {
            window: observed.window,
            data_marked: marks_by(window.to)? - before,
            data_forwarded: forwarded / u64::from(mss(setup)),
            bytes_delivered,
            queue: Queue::of(&observed.queues),
        })
    }
}

/// Data packets that have arrived marked.
fn marks(outcome: &Outcome) -> u64 {
    outcome.flows.iter().map(|flow| u64::from(flow.marks)).sum()
}

/// The link to a host.
fn link_to(setup: &Setup, host: HostId) -> LinkId {
    let mut links = setup.network.links().iter();
    let number = links.position(|link| link.to == host.node());
    LinkId(number.expect("every host has a link") as u32)
}

impl Queue {
    /// Over the time of all these ports together, with one queue each.
    fn of(queues: &[(LinkId, ObservedQueue)]) -> Self {
        let ports = queues.chunk_by(|(one, _), (other, _)| one == other).count();
        let mean_of = |each: &dyn Fn(&ObservedQueue) -> f64| {
            queues.iter().map(|(_, queue)| each(queue)).sum::<f64>() / float(ports as u64)
        };
        let mean_of_one = |queue: &ObservedQueue| weighted_mean(&queue.packets).unwrap_or(0.0);
        let mean = mean_of(&mean_of_one);
        let square = mean_of(&|queue| {
            let deviation = deviation(&queue.packets).unwrap_or(0.0);
            mean_of_one(queue).powi(2) + deviation.powi(2)
        });
        let is_single = ports == queues.len();
        let most = queues.iter().map(|(_, queue)| queue.packets.max()).max();
        Self {
            mean,
            deviation: is_single.then(|| (square - mean.powi(2)).max(0.0).sqrt()),
            most: most.filter(|_| is_single),
        }
    }
}
