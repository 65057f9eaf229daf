//! Judges the results of a reproduction.

use std::fmt::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tidegate_report::folder::without_places;
use tidegate_report::{Folder, reading};
use tidegate_reproduce::measurements::{Measurements, Runs};
use tidegate_reproduce::{Entry, Version, library};
use tidegate_results::Record;
use tidegate_results::record::Flow;
use tidegate_scenario::Scenario;
use tidegate_study::Comparison;
use tidegate_study::compare::PAGE;
use tidegate_study::text::{count, quoted};

use super::done::FinishedFigures;
use super::{ReproductionRequest, entry};
use crate::output::{Error, Output};

/// Note in a figure's folder.
pub(crate) const NOTE: &str = "figure.json";

/// Folder of trials, in a figure's folder.
pub(crate) const TRIALS: &str = "trials";

/// Folder of further seeds, in a figure's folder. It has a folder for each look, named by its
/// number of seeds.
pub(crate) const SEEDS: &str = "seeds";

/// Figure and version in a folder.
#[derive(Serialize, Deserialize)]
pub(crate) struct Note {
    figure: String,
    version: String,
}

impl Note {
    pub(crate) fn new(entry: &Entry, version: Version) -> Self {
        Self { figure: entry.figure.id.clone(), version: version.name().to_owned() }
    }

    pub(crate) fn write(&self, folder: &Folder) -> Result<(), Error> {
        let note = serde_json::to_vec_pretty(self).map_err(Error::new)?;
        folder.write_file(NOTE, &note).map_err(Error::new)
    }

    /// Version in a folder.
    fn version(path: &Path) -> Result<Version, Error> {
        let file = path.join(NOTE);
        let text = reading::bytes(&file, reading::MADE).map_err(Error::read(&file))?;
        let note: Self = serde_json::from_slice(&text).map_err(Error::read(&file))?;
        let versions = [Version::Full, Version::Quick];
        let found = versions.into_iter().find(|version| version.name() == note.version);
        found.ok_or_else(|| Error::read(&file)(format!("unknown version `{}`", note.version)))
    }
}

/// Finished runs of a folder.
#[derive(Default)]
pub(crate) struct Results {
    pub(crate) records: Vec<Record>,
    /// Label of each run without results.
    missing: Vec<String>,
}

impl Results {
    pub(crate) fn of(comparison: Comparison<Flow>) -> Self {
        let missing = comparison.missing().into_iter().map(str::to_owned);
        Self { missing: missing.collect(), records: comparison.records }
    }

    /// Adds the finished runs of further seeds in a figure's folder.
    pub(crate) fn add_seeds(&mut self, path: &Path) -> Result<(), Error> {
        for folder in seeds(path)? {
            for id in folder.finished() {
                self.records.push(folder.read(&id).map_err(Error::new)?);
            }
        }
        Ok(())
    }

    fn missing(&self) -> Vec<&str> {
        self.missing.iter().map(String::as_str).collect()
    }

    /// Reads a folder, which may have no finished runs.
    fn read(folder: &Folder) -> Result<Self, Error> {
        let finished = folder.finished();
        let records = finished.iter().map(|id| folder.read(id).map_err(Error::new));
        let planned = folder.manifest().runs.iter();
        let missing = planned.filter(|run| !finished.contains(&run.id));
        Ok(Self {
            records: records.collect::<Result<_, _>>()?,
            missing: missing.map(|run| run.label.clone()).collect(),
        })
    }
}

/// Folders of further seeds in a figure's folder, the fewest first.
pub(crate) fn seeds(path: &Path) -> Result<Vec<Folder>, Error> {
    let path = path.join(SEEDS);
    let mut looks: Vec<usize> = match std::fs::read_dir(&path) {
        Err(_) => Vec::new(),
        Ok(entries) => {
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
        }
    };
    looks.sort_unstable();
    let open = |look: usize| Folder::open(&path.join(look.to_string())).map_err(Error::new);
    looks.into_iter().map(open).collect()
}

/// Records of points of other figures that claims compare with. They come from the folders beside
/// this figure's, if they exist, and their labels begin with the other figure's id.
fn of_others(entry: &Entry, root: &Path) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    let patterns = entry.figure.claims.iter().flat_map(|claim| &claim.against);
    let patterns = patterns.filter_map(|against| library::of_other_figure(against));
    let mut seen = Vec::new();
    for (id, label) in patterns.filter(|pattern| {
        let is_new = !seen.contains(pattern);
        seen.push(*pattern);
        is_new
    }) {
        let path = root.join(id);
        let Ok(folder) = Folder::open(&path) else {
            continue;
        };
        for folder in std::iter::once(folder).chain(seeds(&path)?) {
            let finished = folder.finished();
            let runs = folder.manifest().runs.iter();
            for run in runs.filter(|run| run.label == label && finished.contains(&run.id)) {
                let mut record = folder.read(&run.id).map_err(Error::new)?;
                record.run.label = format!("{id}: {label}");
                records.push(record);
            }
        }
    }
    Ok(records)
}

/// Whether a figure has claims that compare it with another.
pub(crate) fn compares_figures(entry: &Entry) -> bool {
    let mut against = entry.figure.claims.iter().flat_map(|claim| &claim.against);
    against.any(|against| library::of_other_figure(against).is_some())
}

/// Measures the claims of a figure in its own runs and in the runs of its trials.
pub(crate) fn measure(
    (name, entry): (&str, &Entry),
    version: Version,
    (revision, made_by): (&str, &str),
    results: &[Results],
    root: &Path,
) -> Result<Measurements, Error> {
    let none = Results::default();
    let (own, trials) = results.split_first().unwrap_or((&none, &[]));
    let missing: Vec<Vec<&str>> = results.iter().map(Results::missing).collect();
    let missing = |index: usize| missing.get(index).map_or(&[][..], Vec::as_slice);
    let trials = entry.trials.iter().zip(trials).enumerate();
    let trials = trials.map(|(index, (tried, results))| {
        let runs = Runs { records: &results.records, unfinished: missing(index + 1) };
        (runs, command(name, version, &tried.trial.set))
    });
    let others = of_others(entry, root)?;
    let whole: Vec<Record>;
    let records = if others.is_empty() {
        &own.records
    } else {
        whole = own.records.iter().cloned().chain(others).collect();
        &whole
    };
    let own = Runs { records, unfinished: missing(0) };
    let trials: Vec<_> = trials.collect();
    Ok(Measurements::new(entry, version, revision, made_by, own, &trials))
}

/// The command that makes a figure with some settings changed.
pub(crate) fn command(name: &str, version: Version, set: &[String]) -> String {
    let mut command = format!("tidegate reproduce {}", quoted(name));
    if version == Version::Quick {
        command.push_str(" --quick");
    }
    for change in set {
        _ = write!(command, " --set {}", quoted(change));
    }
    command
}

/// Judges the results of figures in a folder. Figures without runs have the version of `asked`.
pub(crate) fn judge_all(
    names: &[String],
    root: &Path,
    asked: &ReproductionRequest,
    output: Output,
) -> Result<FinishedFigures, Error> {
    let mut done = FinishedFigures::new(root, "");
    for name in names {
        // Overrides may not fit the current file.
        let entry = |version| match entry(name, version, &asked.set) {
            Err(_) if !asked.set.is_empty() => entry(name, version, &[]),
            entry => entry,
        };
        let whole = entry(Version::Full)?;
        if whole.figure.is_computed {
            let version = asked.version();
            let command = command(name, version, &asked.set);
            let measured = measure((name, &whole), version, ("", &command), &[], root)?;
            done.add(&whole, measured, &[], None, output);
            continue;
        }
        let path = root.join(&whole.figure.id);
        let folder = Folder::open(&path).map_err(Error::new)?;
        let version = Note::version(&path)?;
        let entry = entry(version)?;
        let mut is_other = is_other(&folder, &entry.scenario);
        let manifest = folder.manifest().clone();
        if !done.revision.contains(&manifest.revision) {
            if !done.revision.is_empty() {
                done.revision.push_str(", ");
            }
            done.revision.push_str(&manifest.revision);
        }
        let mut results = vec![Results::read(&folder)?];
        results[0].add_seeds(&path)?;
        warn_missing(&path, results[0].missing.len(), output);
        for tried in &entry.trials {
            // A folder of an earlier program may lack a trial.
            let path = path.join(TRIALS).join(&tried.trial.name);
            results.push(match Folder::open(&path) {
                Ok(folder) => {
                    is_other |= self::is_other(&folder, &tried.scenario);
                    Results::read(&folder)?
                }
                Err(_) => Results::default(),
            });
        }
        if is_other {
            output.warn(&format!(
                "the results in {} have different settings than {name} has now; they are judged anyway",
                path.display()
            ));
            done.others.push(entry.figure.id.clone());
        }
        let report = path.join(PAGE).is_file();
        let report = report.then(|| format!("{}/{}", entry.figure.id, PAGE));
        let made_by = (manifest.revision.as_str(), manifest.command.as_str());
        let measured = measure((name, &entry), version, made_by, &results, root)?;
        done.add(&entry, measured, &results[0].records, report, output);
    }
    Ok(done)
}

/// Whether the results of a folder have different settings. Titles do not count.
fn is_other(folder: &Folder, scenario: &Scenario) -> bool {
    let settings = |text: &str| {
        let is_title = |line: &&str| line.starts_with("title = ");
        let lines = text.lines().filter(|line| !is_title(line));
        lines.map(without_places).collect::<Vec<_>>()
    };
    settings(&folder.manifest().scenario) != settings(&scenario.resolved())
}

fn warn_missing(path: &Path, runs: usize, output: Output) {
    if runs > 0 {
        let runs = count(runs, "run");
        output.warn(&format!("no results for {runs} of {}", path.display()));
    }
}
