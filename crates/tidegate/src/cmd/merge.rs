//! `tidegate merge`: the shards of a command, joined.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tidegate_report::{Folder, folder};

use super::laboratory::Begin;
use super::report::{self, Comparison};
use super::reproduce;
use super::run::{self, count};
use crate::args::Merge;
use crate::output::{Error, ExitStatus, Output};

/// How many runs that are missing or differ are named.
const NAMED: usize = 8;

/// A results folder of the whole: its place below the folder that is asked for, and those of the
/// shards.
struct Part {
    place: PathBuf,
    shards: Vec<Folder>,
    /// Which shards have a whole record of a run, and none if nobody has.
    holders: BTreeMap<String, Vec<usize>>,
    /// Runs of which a shard has a damaged record, with what is wrong with the first one.
    damaged: BTreeMap<String, String>,
}

pub(crate) fn merge(arguments: &Merge, output: Output) -> Result<ExitStatus, Error> {
    let parts = parts(&arguments.folders)?;
    let runs: usize = parts.iter().map(|part| part.shards[0].manifest().runs.len()).sum();
    let is_new = !arguments.out.exists();
    let written = write(&parts, arguments);
    if written.is_err() && is_new {
        // A half of the whole would be in the way of the next attempt.
        _ = std::fs::remove_dir_all(&arguments.out);
    }
    written?;
    output.say(&format!(
        "merged {} of {} into {}",
        count(runs, "run"),
        count(arguments.folders.len(), "folder"),
        arguments.out.display()
    ));
    finish(&parts, &arguments.out, output)
}

fn write(parts: &[Part], arguments: &Merge) -> Result<(), Error> {
    for part in parts {
        part.write(&below(&arguments.out, &part.place), Folder::create)?;
    }
    if is_reproduction(parts) {
        reproduce::merge_asked(&arguments.folders, &arguments.out)?;
    }
    Ok(())
}

/// Joins shards in a folder that may have some of their runs already.
pub(crate) fn join(shards: &[PathBuf], whole: &Path) -> Result<(), Error> {
    for part in parts(shards)? {
        part.write(&below(whole, &part.place), Folder::join)?;
    }
    Ok(())
}

/// All that shards hold, if it is complete and fits together.
fn parts(folders: &[PathBuf]) -> Result<Vec<Part>, Error> {
    let mut holders: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for folder in folders {
        let found = places_of(folder)?;
        // A shard of a reproduction need not have a single run.
        if found.is_empty() && !reproduce::is_begun(folder) {
            let folder = folder.display();
            return Err(Error::new(format!("{folder} holds no results")));
        }
        for place in found {
            let path = below(folder, &place);
            holders.entry(place).or_default().push(path);
        }
    }
    let parts = holders.into_iter().map(|(place, shards)| Part::open(place, &shards));
    let parts = parts.collect::<Result<Vec<_>, Error>>()?;
    let mut wrong = Vec::new();
    for part in &parts {
        part.check(&mut wrong)?;
    }
    if is_reproduction(&parts) {
        let places: BTreeSet<&Path> = parts.iter().map(|part| part.place.as_path()).collect();
        for place in reproduce::places(folders)? {
            if !places.contains(place.as_path()) {
                wrong.push(format!("{} is missing", place.display()));
            }
        }
    }
    if wrong.is_empty() { Ok(parts) } else { Err(Error::new(described(&wrong))) }
}

fn is_reproduction(parts: &[Part]) -> bool {
    parts.iter().all(|part| !part.place.as_os_str().is_empty())
}

/// Makes of the joined runs what the command makes of its own.
fn finish(parts: &[Part], out: &Path, output: Output) -> Result<ExitStatus, Error> {
    let mut verdict = ExitStatus::Good;
    for part in parts {
        let path = below(out, &part.place);
        let folder = Folder::open(&path).map_err(Error::new)?;
        let baseline = folder.manifest().baseline.clone();
        let comparison = Comparison::packed(vec![folder], baseline.as_deref())?;
        let page = path.join(report::PAGE);
        comparison.write(&page, None)?;
        let stalled = run::stalled(&comparison.records);
        if !stalled.is_empty() {
            verdict = ExitStatus::Bad;
        }
        if part.place.as_os_str().is_empty() {
            run::draw_trace(&comparison, &path, output)?;
            if output.json {
                output.print_json(&serde_json::json!({
                    "folder": out.display().to_string(),
                    "report": page.display().to_string(),
                    "failed": stalled,
                    "summary": comparison.summary,
                }))?;
            } else {
                report::print(&comparison, Some(&page), output)?;
            }
            report::warn(&comparison, output);
            return Ok(verdict);
        }
        for run::Failed { run, why } in stalled {
            output.warn(&format!("{}: {why}", part.named(&run)));
        }
    }
    let judged = reproduce::judge_merged(out, output)?;
    Ok(if verdict == ExitStatus::Bad { verdict } else { judged })
}

/// The places of results below a folder: itself, or the figures of a reproduction with their
/// trials.
fn places_of(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(place) = open.pop() {
        let path = root.join(&place);
        let is_results = path.join("manifest.json").is_file();
        if is_results {
            found.push(place.clone());
            if place.as_os_str().is_empty() {
                break;
            }
        }
        let cannot = |error| Error::new(format!("cannot read {}: {error}", path.display()));
        for entry in std::fs::read_dir(&path).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            // Runs are deep and many, and hold no further results.
            if entry.path().is_dir() && !(is_results && entry.file_name() == "runs") {
                open.push(place.join(entry.file_name()));
            }
        }
    }
    Ok(found)
}

impl Part {
    fn open(place: PathBuf, paths: &[PathBuf]) -> Result<Self, Error> {
        let first = Folder::open(&paths[0]).map_err(Error::new)?;
        let mut shards = first.open_alike(&paths[1..]).map_err(Error::new)?;
        shards.insert(0, first);
        let mut holders: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut damaged = BTreeMap::new();
        for (number, shard) in shards.iter().enumerate() {
            for id in shard.present().map_err(Error::new)? {
                match shard.verify(&id) {
                    Ok(()) => holders.entry(id).or_default().push(number),
                    Err(folder::Error::Unfinished { .. }) => {}
                    Err(error) => {
                        let text = error.to_string();
                        let what = text.lines().next().unwrap_or_default().to_owned();
                        damaged.entry(id).or_insert(what);
                    }
                }
            }
        }
        Ok(Self { place, shards, holders, damaged })
    }

    /// Finds records that are damaged, runs that no shard has, and those that two shards have
    /// differently.
    fn check(&self, wrong: &mut Vec<String>) -> Result<(), Error> {
        for run in &self.shards[0].manifest().runs {
            if let Some(what) = self.damaged.get(&run.id) {
                wrong.push(what.clone());
                continue;
            }
            let Some((first, others)) = self.holders(&run.id).split_first() else {
                wrong.push(format!("{} is missing", self.named(&run.id)));
                continue;
            };
            let first = &self.shards[*first];
            for other in others.iter().map(|&other| &self.shards[other]) {
                if !first.agrees(other, &run.id).map_err(Error::new)? {
                    wrong.push(format!(
                        "{} differs between {} and {}",
                        self.named(&run.id),
                        first.path().display(),
                        other.path().display()
                    ));
                }
            }
        }
        Ok(())
    }

    fn holders(&self, id: &str) -> &[usize] {
        self.holders.get(id).map_or(&[], Vec::as_slice)
    }

    fn named(&self, id: &str) -> String {
        self.place.join(id).display().to_string()
    }

    fn write(&self, path: &Path, begin: Begin) -> Result<(), Error> {
        let first = &self.shards[0];
        let whole = begin(path, first.manifest()).map_err(Error::new)?;
        let runs = first.manifest().runs.iter().filter_map(|run| {
            let holder = self.holders(&run.id).first()?;
            Some((&self.shards[*holder], run.id.as_str()))
        });
        whole.adopt(runs).map_err(Error::new)?;
        reproduce::copy_note(first.path(), &whole)?;
        self.write_log(&whole)
    }

    /// What happened when, in all shards.
    fn write_log(&self, whole: &Folder) -> Result<(), Error> {
        const LOG: &str = "log.jsonl";
        let mut log = Vec::new();
        for shard in &self.shards {
            // A shard without runs has none.
            log.extend(std::fs::read(shard.path().join(LOG)).unwrap_or_default());
        }
        whole.write_file(LOG, &log).map_err(Error::new)
    }
}

/// A place below a folder, or the folder itself, without a slash behind it.
fn below(root: &Path, place: &Path) -> PathBuf {
    if place.as_os_str().is_empty() { root.to_owned() } else { root.join(place) }
}

/// What stands in the way, in a few lines.
fn described(wrong: &[String]) -> String {
    let mut lines: Vec<&str> = wrong.iter().take(NAMED).map(String::as_str).collect();
    let more = format!("and {} more", wrong.len().saturating_sub(NAMED));
    if wrong.len() > NAMED {
        lines.push(&more);
    }
    let runs = count(wrong.len(), "run");
    format!(
        "cannot merge {runs}: {}\nhint: remove damaged runs, then run their shards with `--resume`, or again",
        lines.join(", ")
    )
}
