//! Searches for settings that beat the formula for an operator's goal.
//!
//! Nothing is simulated here: [`Tuning::scenario`] has every candidate in every cell (a load and a
//! workload) under every seed, and [`Tuning::search`] asks for the runs that it needs, round by
//! round.

pub mod halving;
mod page;
pub mod space;
#[cfg(test)]
mod tests;
pub mod vary;
pub mod within;

pub use page::{json, sheet};

use tidegate_results::statistics::mean;

use crate::evidence::estimate::{Against, Estimate, Outcome};
use crate::evidence::measure::{Measure, Values};
use halving::Schedule;
use space::Candidate;
use vary::Vary;
use within::{Goal, Limit, prefers_higher};

/// Approximate packet-hops of a run of a search.
pub const PACKET_HOPS: f64 = 1e7;
/// Default budget in runs.
pub const BUDGET: usize = 100;

/// Request for a search.
#[derive(Clone, Debug)]
pub struct Request {
    /// Measure to optimize.
    pub goal: Goal,
    /// Limits to keep.
    pub limits: Vec<Limit>,
    /// Varied keys.
    pub varies: Vec<Vary>,
    /// First seed.
    pub seed: u64,
}

/// A load and a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Label in tables.
    pub label: String,
    /// Keys of the scenario with their values, as the inside of a table.
    pub sets: String,
    /// Load, if loads are varied.
    pub load: Option<f64>,
}

/// A search that can be run.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The request.
    pub request: Request,
    /// Candidates, the formula first.
    pub candidates: Vec<Candidate>,
    /// Cells, at least one.
    pub cells: Vec<Cell>,
    /// Rounds that the budget allows.
    pub schedule: Schedule,
    /// Traffic that would bring queues to their thresholds.
    pub reach: String,
}

/// One run: the indices of a candidate, a cell and a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    candidate: usize,
    cell: usize,
    seed: u32,
}

impl Tuning {
    /// Cells for all combinations of loads and workloads; one that sets nothing if neither is
    /// given.
    pub fn cells(
        loads: &[f64],
        sizes: &[String],
        with_load: impl Fn(f64) -> String,
        with_sizes: impl Fn(&str) -> String,
    ) -> Vec<Cell> {
        let mut cells = vec![Cell { label: String::new(), sets: String::new(), load: None }];
        let join = |first: &str, second: &str| {
            if first.is_empty() { second.to_owned() } else { format!("{first}, {second}") }
        };
        if !sizes.is_empty() {
            let of =
                |sizes: &String| Cell { label: sizes.clone(), sets: with_sizes(sizes), load: None };
            cells = sizes.iter().map(of).collect();
        }
        if !loads.is_empty() {
            let of = |cell: &Cell| {
                let of = |load: &f64| Cell {
                    label: join(&cell.label, &format!("load {load}")).replace(',', ""),
                    sets: join(&cell.sets, &with_load(*load)),
                    load: Some(*load),
                };
                loads.iter().map(of).collect::<Vec<_>>()
            };
            cells = cells.iter().flat_map(of).collect();
        }
        cells
    }

    /// The scenario of all runs that the search may ask for: `base` with a sweep. Runs are in the
    /// order of candidates, cells and seeds, as in [`Tuning::number`].
    pub fn scenario(&self, base: &str) -> String {
        use std::fmt::Write;
        let mut text = format!("{base}\n[sweep]\ncandidate = [\n");
        for candidate in &self.candidates {
            let label = crate::evidence::model::quoted(&candidate.label);
            _ = writeln!(text, "  {{ label = {label}, {} }},", candidate.sets);
        }
        text += "]\n";
        if self.has_cells() {
            text += "cell = [\n";
            for cell in &self.cells {
                let label = crate::evidence::model::quoted(&cell.label);
                _ = writeln!(text, "  {{ label = {label}, {} }},", cell.sets);
            }
            text += "]\n";
        }
        text
    }

    /// Whether loads or workloads are varied.
    pub fn has_cells(&self) -> bool {
        self.cells.iter().any(|cell| !cell.sets.is_empty())
    }

    /// Number of seeds that a candidate may run under.
    pub fn seeds(&self) -> u32 {
        self.schedule.seeds() + self.schedule.confirm
    }

    /// Number of a run in the scenario.
    pub fn number(&self, place: Place) -> usize {
        (place.candidate * self.cells.len() + place.cell) * self.seeds() as usize
            + place.seed as usize
    }

    fn places(&self, candidates: &[usize], seeds: std::ops::Range<u32>) -> Vec<Place> {
        let mut places = Vec::new();
        for seed in seeds {
            for &candidate in candidates {
                let cells = 0..self.cells.len();
                places.extend(cells.map(|cell| Place { candidate, cell, seed }));
            }
        }
        places
    }

    /// Runs the search. `run` measures the runs with the given numbers, in their order, or returns
    /// `None` if it was stopped.
    pub fn search<E: From<String>>(
        &self,
        mut run: impl FnMut(&[usize]) -> Result<Option<Vec<Values>>, E>,
    ) -> Result<Option<Found>, E> {
        let mut results = Results::new(self);
        let mut measure = |results: &mut Results<'_>, places: Vec<Place>| {
            let open: Vec<Place> =
                places.into_iter().filter(|place| !results.has(*place)).collect();
            let numbers: Vec<usize> = open.iter().map(|place| self.number(*place)).collect();
            let Some(values) = run(&numbers)? else {
                return Ok::<bool, E>(false);
            };
            open.into_iter().zip(values).for_each(|(place, values)| results.add(place, values));
            Ok(true)
        };
        let mut alive: Vec<usize> = (1..self.candidates.len()).collect();
        for &(kept, seeds) in &self.schedule.rounds {
            alive.truncate(kept);
            let mut all = vec![0];
            all.extend(&alive);
            if !measure(&mut results, self.places(&all, 0..seeds))? {
                return Ok(None);
            }
            if let Some(error) = results.lacking(0..seeds) {
                return Err(E::from(error));
            }
            let score = |candidate: usize| results.score(candidate, 0..seeds);
            // The sort is stable: of equal candidates, the first stays.
            alive.sort_by(|&a, &b| score(a).compare(&score(b)));
        }
        let best = alive[0];
        let seeds = self.schedule.seeds()..self.seeds();
        if !measure(&mut results, self.places(&[0, best], seeds.clone()))? {
            return Ok(None);
        }
        Ok(Some(results.found(best, seeds)))
    }
}

/// Measured values so far.
struct Results<'a> {
    tuning: &'a Tuning,
    values: Vec<Option<Values>>,
}

/// Score of a candidate; less is better.
struct Score {
    violation: f64,
    goal: f64,
    tie: f64,
}

impl Score {
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        let by_limits = self.violation.total_cmp(&other.violation);
        let by_goal = || self.goal.total_cmp(&other.goal);
        by_limits.then_with(by_goal).then_with(|| self.tie.total_cmp(&other.tie))
    }
}

impl<'a> Results<'a> {
    fn new(tuning: &'a Tuning) -> Self {
        let runs = tuning.candidates.len() * tuning.cells.len() * tuning.seeds() as usize;
        Self { tuning, values: vec![None; runs] }
    }

    fn has(&self, place: Place) -> bool {
        self.values[self.tuning.number(place)].is_some()
    }

    fn add(&mut self, place: Place, values: Values) {
        let number = self.tuning.number(place);
        self.values[number] = Some(values);
    }

    fn get(&self, candidate: usize, cell: usize, seed: u32, measure: Measure) -> Option<f64> {
        let place = Place { candidate, cell, seed };
        self.values[self.tuning.number(place)]?.get(measure)
    }

    fn all(
        &self,
        candidate: usize,
        cell: usize,
        seeds: std::ops::Range<u32>,
        measure: Measure,
    ) -> Vec<f64> {
        seeds.filter_map(|seed| self.get(candidate, cell, seed, measure)).collect()
    }

    fn mean(
        &self,
        candidate: usize,
        cell: usize,
        seeds: std::ops::Range<u32>,
        measure: Measure,
    ) -> Option<f64> {
        mean(&self.all(candidate, cell, seeds, measure))
    }

    /// Error if the formula has no value for the goal or a limit, so that nothing can be compared
    /// with it.
    fn lacking(&self, seeds: std::ops::Range<u32>) -> Option<String> {
        let request = &self.tuning.request;
        let limits = request.limits.iter().map(|limit| limit.measure);
        for measure in std::iter::once(request.goal.measure()).chain(limits) {
            let lacks = |cell: &usize| self.mean(0, *cell, seeds.clone(), measure).is_none();
            let Some(cell) = (0..self.tuning.cells.len()).find(lacks) else {
                continue;
            };
            let (name, label) = (measure.title(), &self.tuning.cells[cell].label);
            let place = if label.is_empty() { String::new() } else { format!(" with {label}") };
            let why = match measure {
                Measure::Queue => {
                    "no queue is observed\nhint: `observe.ports = \"switches\"` observes all switch queues"
                }
                Measure::Pauses => {
                    "no link is observed\nhint: `observe.links = \"all\"` observes all links"
                }
                _ => "the traffic has no such flows",
            };
            return Some(format!("no run has a value for `{name}`{place}: {why}"));
        }
        None
    }

    /// Excess over a limit, in the worst cell.
    fn violation(&self, limit: &Limit, candidate: usize, seeds: &std::ops::Range<u32>) -> f64 {
        let of = |cell| {
            let value = self.mean(candidate, cell, seeds.clone(), limit.measure);
            let formula = self.mean(0, cell, seeds.clone(), limit.measure);
            limit.violation(value, formula)
        };
        (0..self.tuning.cells.len()).map(of).fold(0.0, f64::max)
    }

    fn score(&self, candidate: usize, seeds: std::ops::Range<u32>) -> Score {
        let request = &self.tuning.request;
        let limits = request.limits.iter();
        let violation = limits.map(|limit| self.violation(limit, candidate, &seeds));
        let goal = request.goal.measure();
        let sign = if prefers_higher(request.goal) { -1.0 } else { 1.0 };
        Score {
            violation: violation.fold(0.0, f64::max),
            goal: (self.relative(candidate, &seeds, goal))
                .map_or(f64::INFINITY, |relative| sign * relative),
            tie: match request.goal {
                Goal::NoDrops => {
                    (self.relative(candidate, &seeds, Measure::P99Small)).unwrap_or(f64::INFINITY)
                }
                _ => 0.0,
            },
        }
    }

    /// A measure relative to the formula's over all cells: the sum of logarithms of ratios, or of
    /// differences for counts that can be zero. `None` without a value in a cell where the formula
    /// has one.
    fn relative(
        &self,
        candidate: usize,
        seeds: &std::ops::Range<u32>,
        measure: Measure,
    ) -> Option<f64> {
        let mut sum = 0.0;
        for cell in 0..self.tuning.cells.len() {
            let own = self.mean(candidate, cell, seeds.clone(), measure);
            let formula = self.mean(0, cell, seeds.clone(), measure);
            let Some(formula) = formula else {
                continue;
            };
            let own = own?;
            sum += match measure {
                Measure::Drops | Measure::Pauses => own - formula,
                _ => (own / formula).ln(),
            };
        }
        Some(sum)
    }

    /// Pairs of a measure and the formula's, one for each seed: over several cells the geometric
    /// mean, or the mean if a value is zero.
    fn pairs(
        &self,
        candidate: usize,
        cells: std::ops::Range<usize>,
        seeds: std::ops::Range<u32>,
        measure: Measure,
    ) -> Vec<(f64, f64)> {
        let over_cells = |candidate: usize, seed: u32| {
            let values: Option<Vec<f64>> =
                cells.clone().map(|cell| self.get(candidate, cell, seed, measure)).collect();
            let values = values?;
            if values.iter().all(|value| *value > 0.0) {
                let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
                return Some(mean(&logarithms)?.exp());
            }
            mean(&values)
        };
        seeds
            .filter_map(|seed| Some((over_cells(candidate, seed)?, over_cells(0, seed)?)))
            .collect()
    }

    fn found(&self, best: usize, seeds: std::ops::Range<u32>) -> Found {
        let tuning = self.tuning;
        let cells = 0..tuning.cells.len();
        let against = |measure| {
            Against::of(measure, &self.pairs(best, cells.clone(), seeds.clone(), measure))
        };
        let goal = tuning.request.goal.measure();
        let by_cell = |cell: usize| {
            let estimate = |candidate, measure| {
                Estimate::of(&self.all(candidate, cell, seeds.clone(), measure))
            };
            InCell {
                label: tuning.cells[cell].label.clone(),
                load: tuning.cells[cell].load,
                formula: Measure::ALL.map(|measure| estimate(0, measure)).to_vec(),
                best: Measure::ALL.map(|measure| estimate(best, measure)).to_vec(),
                against: Against::of(goal, &self.pairs(best, cell..cell + 1, seeds.clone(), goal)),
            }
        };
        let places = cells.clone().flat_map(|cell| seeds.clone().map(move |seed| (cell, seed)));
        let of = |candidate: usize| -> Vec<Option<Values>> {
            let value = |(cell, seed)| {
                let place = Place { candidate, cell, seed };
                self.values[tuning.number(place)]
            };
            places.clone().map(value).collect()
        };
        let (own, formula) = (of(best), of(0));
        let has_marks = |values: &Values| values.marks > 0;
        let all = self.values.iter().flatten();
        let first = 0..tuning.schedule.rounds[0].1;
        let tried = |candidate: usize| Tried {
            candidate,
            against: Against::of(goal, &self.pairs(candidate, cells.clone(), first.clone(), goal)),
            keeps_limits: self.keeps(candidate, &first),
        };
        Found {
            best,
            against: Measure::ALL.into_iter().filter_map(against).collect(),
            cells: cells.clone().map(by_cell).collect(),
            tried: (0..tuning.candidates.len()).map(tried).collect(),
            formula_keeps: self.keeps(0, &seeds),
            best_keeps: self.keeps(best, &seeds),
            is_untested: own == formula && !formula.iter().flatten().any(has_marks),
            longest: all.filter_map(|values| values.longest).reduce(f64::max),
            goal,
        }
    }

    fn keeps(&self, candidate: usize, seeds: &std::ops::Range<u32>) -> bool {
        let mut limits = self.tuning.request.limits.iter();
        limits.all(|limit| self.violation(limit, candidate, seeds) <= 0.0)
    }
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Index of the best candidate besides the formula.
    pub best: usize,
    /// The best against the formula over all cells, under seeds that the search did not use.
    pub against: Vec<Against>,
    /// The same in each cell.
    pub cells: Vec<InCell>,
    /// Every candidate in the first round.
    pub tried: Vec<Tried>,
    /// Whether the formula keeps all limits.
    pub formula_keeps: bool,
    /// Whether the best keeps all limits.
    pub best_keeps: bool,
    /// Whether runs of the best and of the formula marked no packet and gave the same results.
    pub is_untested: bool,
    /// Most bytes in an observed queue in any run.
    pub longest: Option<f64>,
    goal: Measure,
}

/// Result of a search in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct InCell {
    /// Label of the cell.
    pub label: String,
    /// Load, if loads are varied.
    pub load: Option<f64>,
    /// The formula's estimate of each of [`Measure::ALL`].
    pub formula: Vec<Option<Estimate>>,
    /// The best candidate's.
    pub best: Vec<Option<Estimate>>,
    /// The goal, against the formula.
    pub against: Option<Against>,
}

/// A candidate in the first round, which includes all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Index of the candidate.
    pub candidate: usize,
    /// The goal, against the formula.
    pub against: Option<Against>,
    /// Whether it keeps all limits.
    pub keeps_limits: bool,
}

/// Conclusion of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// No queue came near a threshold: the runs show nothing.
    Untested,
    /// A candidate is better than the formula, and keeps all limits.
    Beaten,
    /// The formula misses a limit that the best keeps.
    OnlyBestKeeps,
    /// Nothing is shown to be better than the formula.
    FormulaStays,
    /// No candidate keeps the limits, nor does the formula.
    NothingKeeps,
}

impl Found {
    /// The goal of the best against the formula.
    pub fn gain(&self) -> Option<&Against> {
        self.against.iter().find(|against| against.measure == self.goal)
    }

    /// Conclusion of the search.
    pub fn ending(&self) -> Ending {
        if self.is_untested {
            return Ending::Untested;
        }
        let is_better = self.gain().is_some_and(|gain| gain.outcome == Outcome::Better);
        match (self.formula_keeps, self.best_keeps) {
            (false, false) => Ending::NothingKeeps,
            (false, true) => Ending::OnlyBestKeeps,
            (true, true) if is_better => Ending::Beaten,
            (true, _) => Ending::FormulaStays,
        }
    }
}
