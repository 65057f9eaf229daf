//! Runs of a scenario: every point of its sweep with its repetitions.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::name::id;
use super::{Point, Scenario, at_point};
use crate::sections::Described;
use crate::sections::switch::Marking;
use crate::settings::limits::Limits;
use crate::settings::reader::Located;
use crate::setup::build::Built;
use crate::setup::outline::Outline;
use crate::sweep::axis::Coordinate;
use crate::text::problem::Problem;

/// One run of a scenario.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Unique among the runs of the scenario, and valid in a file name.
    pub id: String,
    /// Label of its point, in a few words; the name of the scenario if there is no sweep.
    pub label: String,
    /// Coordinates of its point, one per axis of the sweep.
    pub point: Vec<Coordinate>,
    /// Number of its repetition, from 0.
    pub replication: u32,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Outline of its point.
    pub outline: Arc<Outline>,
    described: Arc<Described>,
    overrides: Vec<String>,
    limits: Limits,
}

impl Scenario {
    /// All runs: the points of the sweep in order, the first axis varying slowest, each with its
    /// repetitions. Each point is built once, which proves that all can run.
    pub fn plan(&self) -> Result<Vec<Experiment>, Problem> {
        let plan = self.plan_points();
        match &self.text {
            Some(text) => plan.map_err(|problem| text.diagnose(problem)),
            None => plan,
        }
    }

    pub(super) fn plan_points(&self) -> Result<Vec<Experiment>, Problem> {
        let mut taken = BTreeSet::new();
        let mut runs = Vec::new();
        for point in &self.points {
            let described = &point.described;
            let (seed, count) = (described.seed, described.runs);
            let beyond = || {
                Problem::new("the seeds of the runs exceed the largest number")
                    .at(described.locs.of("seed"))
            };
            let last = seed.checked_add(u64::from(count - 1)).ok_or_else(beyond)?;
            let outline = described.outline(seed, &self.limits);
            let outline = outline.map_err(|problem| match self.axes.len() {
                0 => problem,
                _ => at_point(problem, &point.label),
            })?;
            let outline = Arc::new(outline);
            for (replication, seed) in (0..).zip(seed..=last) {
                runs.push(self.experiment(point, &outline, (replication, seed), &mut taken));
            }
        }
        Ok(runs)
    }

    fn experiment(
        &self,
        point: &Point,
        outline: &Arc<Outline>,
        (replication, seed): (u32, u64),
        taken: &mut BTreeSet<String>,
    ) -> Experiment {
        let mut overrides = self.overrides.clone();
        if !self.axes.is_empty() {
            overrides.push("sweep={}".into());
        }
        overrides.extend(point.sets.iter().cloned());
        if self.base.runs != 1 {
            overrides.push("runs=1".into());
        }
        overrides.push(format!("seed={seed}"));
        Experiment {
            id: id(&point.label, seed, taken),
            label: point.label.clone(),
            point: point.settings.clone(),
            replication,
            seed,
            outline: Arc::clone(outline),
            described: Arc::clone(&point.described),
            overrides,
            limits: self.limits,
        }
    }
}

impl Experiment {
    /// Builds the run.
    pub fn build(&self) -> Result<Built, Problem> {
        self.described.build(self.seed, &self.limits)
    }

    /// Name of the switches' marking scheme; of a combination both names: `tcn or codel`.
    pub fn scheme(&self) -> String {
        fn name(marking: &Located<Marking>) -> String {
            match &marking.item {
                Marking::One(config) => config.name().to_owned(),
                Marking::Or(pair) => format!("{} or {}", name(&pair.0), name(&pair.1)),
            }
        }
        name(&self.described.switch.marking)
    }

    /// Overrides of the scenario's file that select only this run, after the overrides that the
    /// scenario was read with.
    pub fn overrides(&self) -> Vec<String> {
        self.overrides.clone()
    }
}
