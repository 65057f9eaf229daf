//! Cost of runs, estimated or learnt from an earlier study, and the runs of a shard.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;
use tidegate_report::reading;
use tidegate_scenario::Experiment;
use tidegate_sim::observe::statistics::real;

use crate::log::LOG;
use crate::{Error, Shard};

/// Costs that runs had in a results folder, in packet-hops: the same on every machine.
#[derive(Default)]
struct MeasuredCosts(BTreeMap<String, f64>);

/// Fields of a log line that matter here.
#[derive(Deserialize)]
struct Line {
    run: String,
    packet_hops: Option<u64>,
}

/// Assumed packet-hops per second: the unit of estimates.
const SPEED: f64 = 1e7;

/// Runs of a scenario with the path of their folder, relative to the results folder of all.
pub type Plan<'a> = (&'a Path, &'a [Experiment]);

/// The runs of each plan that belong to a shard. Costs come from the log of the folder `learn`, if
/// it is given, and from estimates otherwise.
pub fn share(
    plans: &[Plan<'_>],
    shard: Shard,
    learn: Option<&Path>,
) -> Result<Vec<Vec<Experiment>>, Error> {
    let mut own = shard.own(&all_costs(plans, learn)?).into_iter();
    let of_plan = |(_, plan): &Plan<'_>| {
        let own = plan.iter().filter(|_| own.next() == Some(true));
        own.cloned().collect()
    };
    Ok(plans.iter().map(of_plan).collect())
}

/// Expected time of each run on one core, in seconds.
pub fn seconds(plans: &[Plan<'_>], learn: Option<&Path>) -> Result<Vec<f64>, Error> {
    let costs = all_costs(plans, learn)?;
    Ok(costs.into_iter().map(|hops| hops / SPEED).collect())
}

fn all_costs(plans: &[Plan<'_>], learn: Option<&Path>) -> Result<Vec<f64>, Error> {
    let mut costs = Vec::new();
    for (place, plan) in plans {
        let learnt = learn.map(|folder| MeasuredCosts::read(&folder.join(place)));
        costs.extend(self::costs(plan, &learnt.transpose()?.unwrap_or_default()));
    }
    Ok(costs)
}

/// Cost of each run: as logged, or in proportion to its estimate.
fn costs(plan: &[Experiment], learnt: &MeasuredCosts) -> Vec<f64> {
    let known = plan.iter().filter_map(|run| Some((run.outline.seconds(), learnt.0.get(&run.id)?)));
    let (seconds, hops) = known.fold((0.0, 0.0), |(s, h), (seconds, hops)| (s + seconds, h + hops));
    let speed = if seconds > 0.0 { hops / seconds } else { SPEED };
    let cost = |run: &Experiment| {
        let known = learnt.0.get(&run.id);
        known.map_or_else(|| run.outline.seconds() * speed, |hops| *hops)
    };
    plan.iter().map(cost).collect()
}

impl MeasuredCosts {
    fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(LOG);
        let text = match reading::text(&path, reading::MADE) {
            // No run has ended.
            Err(error) if error.kind() == ErrorKind::NotFound && folder.is_dir() => String::new(),
            text => text.map_err(|error| Error::Read { path, error })?,
        };
        // A truncated line is skipped.
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let costs = lines.filter_map(|line| Some((line.run, real(line.packet_hops?))));
        Ok(Self(costs.collect()))
    }
}
