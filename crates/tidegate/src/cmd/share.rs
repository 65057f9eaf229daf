//! Which runs a shard has, of one plan or of many.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use tidegate_report::reading;
use tidegate_scenario::Experiment;
use tidegate_sim::observe::statistics::real;

use crate::args::Share;
use crate::output::Error;

/// What runs have cost in a results folder, in packets over links: the same on any machine.
#[derive(Default)]
struct Learnt(BTreeMap<String, f64>);

/// What is read of a line of the log.
#[derive(Deserialize)]
struct Line {
    run: String,
    packet_hops: Option<u64>,
}

/// Packets over links in a second, if nothing better is known: the unit of estimates.
const SPEED: f64 = 1e7;

/// The runs of each plan that a shard has; `None` without a shard. A plan comes with its place in
/// the results folder.
pub(crate) fn own(
    plans: &[(&Path, &[Experiment])],
    share: &Share,
) -> Result<Option<Vec<Vec<Experiment>>>, Error> {
    let Some(slice) = share.shard else {
        return Ok(None);
    };
    let mut own = slice.own(&all_costs(plans, share)?).into_iter();
    let of_plan = |(_, plan): &(&Path, &[Experiment])| {
        let own = plan.iter().filter(|_| own.next() == Some(true));
        own.cloned().collect()
    };
    Ok(Some(plans.iter().map(of_plan).collect()))
}

/// What each run of some plans should take on a core, in seconds.
pub(crate) fn seconds(plans: &[(&Path, &[Experiment])], share: &Share) -> Result<Vec<f64>, Error> {
    let costs = all_costs(plans, share)?;
    Ok(costs.into_iter().map(|hops| hops / SPEED).collect())
}

fn all_costs(plans: &[(&Path, &[Experiment])], share: &Share) -> Result<Vec<f64>, Error> {
    let mut costs = Vec::new();
    for (place, plan) in plans {
        let learnt = share.learn.as_deref().map(|folder| Learnt::read(&folder.join(place)));
        costs.extend(self::costs(plan, &learnt.transpose()?.unwrap_or_default()));
    }
    Ok(costs)
}

/// What each run costs: as in the log, and of others in proportion to their estimates.
fn costs(plan: &[Experiment], learnt: &Learnt) -> Vec<f64> {
    let known = plan.iter().filter_map(|run| Some((run.outline.seconds(), learnt.0.get(&run.id)?)));
    let (seconds, hops) = known.fold((0.0, 0.0), |(s, h), (seconds, hops)| (s + seconds, h + hops));
    let speed = if seconds > 0.0 { hops / seconds } else { SPEED };
    let cost = |run: &Experiment| {
        let known = learnt.0.get(&run.id);
        known.map_or_else(|| run.outline.seconds() * speed, |hops| *hops)
    };
    plan.iter().map(cost).collect()
}

impl Learnt {
    fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("log.jsonl");
        let text = match reading::text(&path, reading::MADE) {
            // None of its runs came to an end.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && folder.is_dir() => {
                String::new()
            }
            text => text
                .map_err(|error| Error::new(format!("cannot read {}: {error}", path.display())))?,
        };
        // A line that was cut off teaches nothing.
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let costs = lines.filter_map(|line| Some((line.run, real(line.packet_hops?))));
        Ok(Self(costs.collect()))
    }
}
