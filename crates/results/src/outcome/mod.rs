//! From the outcome of a simulation to a record.

mod series;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::Record;
use crate::record::{
    Class, ClassPauses, Counters, Deadlock, Decisions, Distribution, End, Flow, Link, LinkClass,
    Pauses, PortFlows, Probe, Queue, Run, Series, Setting,
};
use crate::statistics::Percentile;
use tidegate_dataplane::{DropReason, PortStats, Rule};
use tidegate_sim::observe::completion::SizeClass;
use tidegate_sim::observe::{
    Convention, Histogram, Ideals, ObservedLink, ObservedPortFlows, ObservedQueue,
};
use tidegate_sim::{EngineCounters, LinkId, Outcome, pause, run};
use tidegate_units::{ConfigError, Rate, Ratio, Span};

use tidegate_scenario::{Built, Coordinate, Experiment};

use tidegate_sim::observe::statistics::{real, weighted_mean};

/// The record of a finished experiment. `command` repeats only this run.
pub fn record(
    experiment: &Experiment,
    command: String,
    built: &Built,
    outcome: &Outcome,
) -> Result<Record, ConfigError> {
    let observed = &outcome.observed;
    Ok(Record {
        run: Run {
            id: experiment.id.clone(),
            point: point(experiment),
            label: experiment.label.clone(),
            scheme: experiment.scheme(),
            percentile: percentile(built.convention),
            bins: built.window.bins.iter().map(|bin| bin.0).collect(),
            replication: experiment.replication,
            seed: experiment.seed.to_string(),
            fingerprint: format!("{:016x}", outcome.fingerprint()),
            command,
            end: end(&outcome.end),
            ended_at_ps: outcome.ended_at.as_ps(),
        },
        counters: Counters {
            host_wait_percent: host_wait_percent(built, outcome)?,
            ..counters(outcome)
        },
        queues: observed
            .queues
            .iter()
            .map(|(link, seen)| queue(name(*link, built), seen))
            .collect(),
        links: observed.links.iter().map(|seen| link(seen, built)).collect(),
        port_flows: observed.port_flows.iter().map(|seen| port_flows(seen, built)).collect(),
        pauses: built.setup.sends_pauses().then(|| pauses(built, outcome)),
        flows: flows(built, outcome)?,
        probes: probes(outcome),
        series: (observed.series.as_ref())
            .map_or_else(Series::default, |series| series::series(series, built)),
        trace: Vec::new(),
    })
}

/// The settings of an experiment's point in the sweep.
pub fn point(experiment: &Experiment) -> Vec<Setting> {
    let setting = |coordinate: &Coordinate| Setting {
        key: coordinate.key.clone(),
        value: coordinate.value.clone(),
    };
    experiment.point.iter().map(setting).collect()
}

fn end(end: &run::End) -> End {
    match end {
        run::End::Finished => End::Finished,
        run::End::Interrupted => End::Interrupted,
        run::End::Stalled(why) => End::Stalled(why.clone()),
        run::End::TimeUp => End::TimeUp,
    }
}

/// Percentile rule for completion times.
const fn percentile(convention: Convention) -> Percentile {
    match convention {
        Convention::BccScript | Convention::EcnSharpScript | Convention::TrafficGenerator => {
            Percentile::ScriptFloat
        }
        Convention::EcnSharpPaper | Convention::TcnPaper => Percentile::NearestRank,
        Convention::TcnScript => Percentile::ScriptInteger,
    }
}

fn counters(outcome: &Outcome) -> Counters {
    let ports = || outcome.ports.iter().flatten();
    let marks = |rule| ports().map(|port: &PortStats| port.marks(rule)).sum();
    let drops = |reason| ports().map(|port: &PortStats| port.drops(reason)).sum();
    let tally = outcome.tally;
    let flows = || outcome.flows.iter();
    Counters {
        marks: by_rule(marks),
        drops: by_reason(drops),
        packet_hops: outcome.links.iter().map(|link| link.packets).sum(),
        started: u64::from(tally.finished) + u64::from(tally.broken) + u64::from(tally.live),
        finished: tally.finished.into(),
        retransmissions: flows().map(|flow| u64::from(flow.retransmissions)).sum(),
        timeouts: flows().map(|flow| u64::from(flow.timeouts)).sum(),
        host_wait_percent: None,
        engine: engine(outcome.engine_counters),
    }
}

/// Percentage of their completion time that the slowest small flows (from the 99th percentile on)
/// waited at their own hosts behind other flows, if measured and above 50 %.
fn host_wait_percent(built: &Built, outcome: &Outcome) -> Result<Option<u8>, ConfigError> {
    let waits = &outcome.observed.host_waits;
    if waits.is_empty() {
        return Ok(None);
    }
    let classes = built.convention.classes(&built.setup, outcome)?;
    let flows = built.plan.iter().zip(&outcome.flows).zip(classes);
    let mut times: Vec<(Span, Span)> = (0_u64..)
        .zip(flows)
        .zip(waits)
        .filter(|((number, ((planned, _), class)), _)| {
            *class == SizeClass::Small && built.window.counts(*number, &planned.flow)
        })
        .filter_map(|((_, ((planned, result), _)), wait)| {
            Some((built.convention.time(&planned.flow, result)?, *wait))
        })
        .collect();
    times.sort_unstable();
    // By nearest rank, for every convention.
    let rank = (times.len() * 99).div_ceil(100);
    let tail = &times[rank.saturating_sub(1)..];
    let sum = |span: fn(&(Span, Span)) -> Span| -> u128 {
        tail.iter().map(|pair| u128::from(span(pair).as_ps())).sum()
    };
    let (time, wait) = (sum(|pair| pair.0), sum(|pair| pair.1));
    // No flow waits longer than its completion time.
    Ok((2 * wait > time).then(|| u8::try_from(wait * 100 / time).unwrap_or(100)))
}

fn engine(counters: EngineCounters) -> BTreeMap<String, u64> {
    let EngineCounters { wide_buckets, bounded_steps, coupled_steps } = counters;
    let counts = [
        ("wide-buckets", wide_buckets),
        ("bounded-steps", bounded_steps),
        ("coupled-steps", coupled_steps),
    ];
    let counts = counts.into_iter().filter(|&(_, count)| count > 0);
    counts.map(|(name, count)| (name.to_owned(), count)).collect()
}

fn by_rule(count: impl Fn(Rule) -> u64) -> BTreeMap<String, u64> {
    let counts = Rule::ALL.map(|rule| (rule.name().to_owned(), count(rule)));
    counts.into_iter().filter(|&(_, count)| count > 0).collect()
}

fn by_reason(count: impl Fn(DropReason) -> u64) -> BTreeMap<String, u64> {
    let counts = DropReason::ALL.map(|reason| (reason.name().to_owned(), count(reason)));
    counts.into_iter().filter(|&(_, count)| count > 0).collect()
}

fn flows(built: &Built, outcome: &Outcome) -> Result<Vec<Flow>, ConfigError> {
    let ideals = Ideals::new(&built.setup)?;
    let classes = built.convention.classes(&built.setup, outcome)?;
    let mut flows = Vec::with_capacity(outcome.flows.len());
    let planned = built.plan.iter().zip(&outcome.flows).zip(classes);
    for (((planned, result), class), number) in planned.zip(0_u32..) {
        let flow = &planned.flow;
        flows.push(Flow {
            number,
            name: built.name(number as usize).to_owned(),
            source: planned.source,
            src: flow.src.0,
            dst: flow.dst.0,
            service: flow.service,
            bytes: (flow.bytes != tidegate_sim::Flow::ENDLESS).then_some(flow.bytes),
            class: match class {
                SizeClass::Small => Class::Small,
                SizeClass::Medium => Class::Medium,
                SizeClass::Large => Class::Large,
            },
            counts: built.window.counts(u64::from(number), flow),
            start_ps: flow.start.as_ps(),
            fct_ps: built.convention.time(flow, result).map(Span::as_ps),
            ideal_ps: ideals.time(number).map(Span::as_ps),
            retransmissions: result.retransmissions,
            timeouts: result.timeouts,
            marks: result.marks,
            received: None,
            goodput_bps: None,
            rtt_ps: result.round_trip().map(|(rtt, _)| rtt.as_ps()),
            rtt_variation_ps: result.round_trip().map(|(_, variation)| variation.as_ps()),
        });
    }
    for seen in &outcome.observed.flows {
        if let Some(flow) = flows.get_mut(seen.flow as usize) {
            flow.received = Some(seen.received);
            // A flow outside the window has no goodput; a starved flow has zero.
            flow.goodput_bps =
                (seen.span > Span::ZERO).then(|| seen.goodput().map_or(0, Rate::as_bps));
        }
    }
    Ok(flows)
}

fn probes(outcome: &Outcome) -> Vec<Probe> {
    let series = outcome.probes.iter().zip(0..);
    let answers = series.flat_map(|(answers, series)| {
        answers.iter().map(move |&(at, rtt)| Probe {
            series,
            at_ps: at.as_ps(),
            rtt_ps: rtt.as_ps(),
        })
    });
    answers.collect()
}

/// The name of a link and of its port.
fn name(link: LinkId, built: &Built) -> String {
    let name = built.ports.get(link.index()).cloned();
    name.unwrap_or_else(|| format!("link {}", link.0))
}

/// The statistics of an observed queue of a port.
pub fn queue(port: String, seen: &ObservedQueue) -> Queue {
    Queue {
        port,
        queue: seen.queue.0,
        sent: seen.sent(),
        sent_bytes: seen.sent_bytes,
        bytes: distribution(&seen.bytes),
        packets: distribution(&seen.packets),
        wait_ps: distribution(&seen.waits),
        marks: by_rule(|rule| seen.marks(rule)),
        drops: by_reason(|reason| seen.drops(reason)),
    }
}

/// The measurements of a link. A link observed for no time has no shares.
fn link(seen: &ObservedLink, built: &Built) -> Link {
    let nothing = if seen.span > Span::ZERO { 0.0 } else { f64::NAN };
    Link {
        name: name(seen.link, built),
        rate_bps: seen.rate.as_bps(),
        packets: seen.packets,
        bytes: seen.bytes,
        utilisation: seen.utilisation().unwrap_or(nothing),
        goodput_bps: (seen.goodput()).map_or(nothing, |rate| real(rate.as_bps())),
        paused: seen.paused_share().unwrap_or(nothing),
        paused_by_class: (0..)
            .zip(&seen.by_class)
            .filter(|(_, class)| class.paused > Span::ZERO)
            .map(|(number, class)| (number, class.share_of(seen.span)))
            .collect(),
    }
}

fn port_flows(seen: &ObservedPortFlows, built: &Built) -> PortFlows {
    let decisions = seen.decisions.map(|seen| Decisions {
        both: seen.both,
        only_ideal: seen.only_ideal,
        only_scheme: seen.only_scheme,
        neither: seen.neither,
    });
    PortFlows { port: name(seen.link, built), active: distribution(&seen.active), decisions }
}

fn pauses(built: &Built, outcome: &Outcome) -> Pauses {
    let named = |of: &pause::LinkClass| LinkClass { link: name(of.link, built), class: of.class };
    let class = |class: &pause::ClassPauses| ClassPauses {
        of: named(&class.of),
        pauses: class.pauses.into(),
        paused_ps: class.paused.as_ps(),
        longest_ps: class.longest.as_ps(),
    };
    let deadlock = |deadlock: &pause::Deadlock| Deadlock {
        cycle: deadlock.cycle.iter().map(named).collect(),
        behind: deadlock.behind.iter().map(named).collect(),
        since_ps: deadlock.since.as_ps(),
    };
    Pauses {
        storm_ps: built.setup.observe.storm.as_ps(),
        classes: outcome.pauses.iter().map(class).collect(),
        deadlocks: outcome.deadlocks.iter().map(deadlock).collect(),
    }
}

/// Probabilities of stored quantiles, in parts of 10,000: enough to draw the distribution and its
/// tail.
const PROBABILITIES: [u32; 27] = [
    0, 100, 500, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500, 5_000, 5_500, 6_000,
    6_500, 7_000, 7_500, 8_000, 8_500, 9_000, 9_500, 9_750, 9_900, 9_950, 9_990, 9_999, 10_000,
];

/// Summarizes a histogram. Of equal quantiles only the one with the largest probability is kept, so
/// that a mostly empty queue takes no space. An empty histogram has no mean.
fn distribution(histogram: &Histogram) -> Distribution {
    let mut quantiles: Vec<(f64, f64)> = Vec::new();
    for part in PROBABILITIES {
        let fraction = Ratio::new(part, 10_000).expect("the denominator is not zero");
        let Some(value) = histogram.percentile(fraction).map(real) else {
            break;
        };
        let pair = (f64::from(part) / 10_000.0, value);
        match quantiles.last_mut() {
            Some(last) if last.1 >= value => *last = pair,
            _ => quantiles.push(pair),
        }
    }
    Distribution {
        mean: weighted_mean(histogram).unwrap_or(f64::NAN),
        max: real(histogram.max()),
        quantiles,
    }
}
