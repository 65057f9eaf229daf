//! Versions of a figure, with the scenarios of their runs.

use tidegate_scenario::{Problem, Scenario};

use super::figure::{Cut, Figure, Trial};
use super::library;

/// Version of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// All runs.
    Full,
    /// Minutes, with all other figures together.
    Quick,
    /// Seconds, for the tests.
    Reduced,
}

impl Version {
    /// All versions.
    pub const ALL: [Self; 3] = [Self::Full, Self::Quick, Self::Reduced];

    /// Name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Quick => "quick",
            Self::Reduced => "reduced",
        }
    }
}

/// Figure with its scenario.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Claims and plots.
    pub figure: Figure,
    /// Scenario, without the points that this version leaves out.
    pub scenario: Scenario,
    /// Reductions of this version, in words.
    pub cut: Vec<String>,
    /// Trials with one assumption changed.
    pub trials: Vec<Tried>,
}

/// Trial with its scenario.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Trial.
    pub trial: Trial,
    /// Scenario: the points that its claims need, as far as the version has them.
    pub scenario: Scenario,
}

impl Entry {
    /// A version of a figure. `read` reads its scenario with some overrides; `None` without
    /// `[figure]`. The caller's overrides `set` come last.
    pub fn new(
        read: &dyn Fn(&[String]) -> Result<Scenario, Problem>,
        version: Version,
        own: &[String],
    ) -> Result<Option<Self>, Problem> {
        let whole = read(&[])?;
        let Some(figure) = Figure::of(&whole)? else {
            return Ok(None);
        };
        figure.check_points(&whole)?;
        let none = Cut::default();
        let cut = match version {
            Version::Full => &none,
            Version::Quick => &figure.quick,
            Version::Reduced => &figure.reduced,
        };
        let mut overrides = cut.set.clone();
        overrides.extend(cut.runs.map(|runs| format!("runs={runs}")));
        overrides.extend(own.iter().cloned());
        let mut scenario = if overrides.is_empty() { whole.clone() } else { read(&overrides)? };
        scenario.keep(|label| cut.keeps(label));
        let mut words = cut.set.clone();
        if let Some(runs) = cut.runs.filter(|&runs| runs < whole.runs()) {
            words.push(format!("{runs} of {} repetitions", whole.runs()));
        }
        if scenario.points() < whole.points() {
            let (kept, all) = (scenario.points(), whole.points());
            words.push(format!("{kept} of {all} points: {}", cut.only.join(" · ")));
        }
        // With overrides, the trials would answer a different question.
        let trials =
            if own.is_empty() { tried(read, &figure, cut, &overrides)? } else { Vec::new() };
        Ok(Some(Self { figure, scenario, cut: words, trials }))
    }

    /// A version of a built-in figure; `None` if there is no such figure.
    pub fn embedded(id: &str, version: Version, own: &[String]) -> Option<Result<Self, Problem>> {
        let file = library::file(id)?;
        Self::new(&|overrides| file.scenario(overrides), version, own).transpose()
    }
}

/// Trials of a version, without those whose points it leaves out.
fn tried(
    read: &dyn Fn(&[String]) -> Result<Scenario, Problem>,
    figure: &Figure,
    cut: &Cut,
    overrides: &[String],
) -> Result<Vec<Tried>, Problem> {
    let one = |trial: &Trial| {
        let mut overrides = overrides.to_vec();
        overrides.extend(trial.set.iter().cloned());
        let mut scenario = read(&overrides)?;
        scenario.keep(|label| cut.keeps(label) && trial.runs(figure, label));
        Ok(Tried { trial: trial.clone(), scenario })
    };
    let all = figure.trials.iter().map(one);
    let mut all = all.collect::<Result<Vec<_>, _>>()?;
    all.retain(|tried| tried.scenario.points() > 0);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::library::{files, ids, of_other_figure};
    use super::super::pattern;
    use super::*;

    #[test]
    fn every_figure_has_the_name_of_its_file_and_a_plan_for_every_version() {
        assert!(ids().len() >= 14, "{:?}", ids());
        for id in ids() {
            for version in [Version::Full, Version::Quick, Version::Reduced] {
                let entry = match Entry::embedded(id, version, &[]) {
                    Some(Ok(entry)) => entry,
                    Some(Err(problem)) => panic!("{id}, {}: {problem}", version.name()),
                    None => panic!("{id} has no figure"),
                };
                assert_eq!(entry.figure.id, id);
                assert_eq!(entry.scenario.name, id);
                assert!(!entry.figure.claims.is_empty(), "{id} claims nothing");
                for tried in &entry.trials {
                    let labels = tried.scenario.labels();
                    let fits = |of: &String| labels.iter().any(|label| pattern::fits(of, label));
                    let mut claims = tried.trial.claims(&entry.figure);
                    let name = &tried.trial.name;
                    assert!(claims.any(|claim| fits(&claim.of)), "{id}: {name}");
                    if version == Version::Full {
                        let mut claims = tried.trial.claims(&entry.figure);
                        assert!(claims.all(|claim| fits(&claim.of)), "{id}: {name}");
                    }
                }
                let has_main = entry.figure.claims.iter().any(|claim| claim.is_main);
                assert!(has_main, "{id}: the tests would assert nothing");
            }
        }
    }

    #[test]
    fn claims_that_compare_figures_name_points_of_the_other() {
        let mut seen = 0;
        for file in files() {
            let claims = Figure::of_file(file).map_or_else(Vec::new, |figure| figure.claims);
            let patterns = claims.iter().flat_map(|claim| &claim.against);
            for (id, label) in patterns.filter_map(|pattern| of_other_figure(pattern)) {
                let other = Entry::embedded(id, Version::Full, &[]).unwrap();
                let other = other.unwrap_or_else(|problem| panic!("{problem}"));
                let labels = other.scenario.labels();
                assert!(labels.contains(&label), "{}: {id} has no {label}", file.id);
                seen += 1;
            }
        }
        assert!(seen > 0);
    }
}
