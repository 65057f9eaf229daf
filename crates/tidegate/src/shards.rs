//! Merges the results of shards: checks that they are complete and consistent, then writes the
//! whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tidegate_report::{Folder, folder};
use tidegate_study::log::LOG;
use tidegate_study::study::Opening;
use tidegate_study::text::count;

use crate::output::Error;
use crate::reproduction;

/// Maximum number of missing or different runs that an error names.
const NAMED: usize = 8;

/// One results folder of the whole, with the shards that have its runs.
pub(crate) struct Part {
    /// Path below the whole; empty if the part is the whole.
    place: PathBuf,
    shards: Vec<Folder>,
    /// Shards that have a whole record of a run.
    holders: BTreeMap<String, Vec<usize>>,
    /// Runs of which a shard has a damaged record, with the first error.
    damaged: BTreeMap<String, String>,
}

/// Merges shards into a folder that may have some of their runs already.
pub(crate) fn join(shards: &[PathBuf], whole: &Path) -> Result<(), Error> {
    for part in parts(shards)? {
        part.write(&part.below(whole), Opening::Join)?;
    }
    Ok(())
}

/// Reads the shards' folders, and checks that they are complete and consistent.
pub(crate) fn parts(folders: &[PathBuf]) -> Result<Vec<Part>, Error> {
    let mut holders: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for folder in folders {
        let found = places_of(folder)?;
        // A shard of a reproduction may have no runs.
        if found.is_empty() && !reproduction::is_begun(folder) {
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
        for place in reproduction::places(folders)? {
            if !places.contains(place.as_path()) {
                wrong.push(format!("{} is missing", place.display()));
            }
        }
    }
    if wrong.is_empty() { Ok(parts) } else { Err(Error::new(described(&wrong))) }
}

/// Whether these are the parts of a reproduction.
pub(crate) fn is_reproduction(parts: &[Part]) -> bool {
    !parts.iter().any(Part::is_whole)
}

/// Paths of all results below a folder: the folder itself, or the figures of a reproduction with
/// their trials.
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
        let cannot = Error::read(&path);
        for entry in std::fs::read_dir(&path).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            // The many folders of runs hold no other results.
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

    /// Finds damaged records, runs that no shard has, and runs whose copies differ.
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

    /// Number of runs.
    pub(crate) fn runs(&self) -> usize {
        self.shards[0].manifest().runs.len()
    }

    /// Whether the part is all there is.
    pub(crate) fn is_whole(&self) -> bool {
        self.place.as_os_str().is_empty()
    }

    /// Path of the part in a folder of the whole.
    pub(crate) fn below(&self, root: &Path) -> PathBuf {
        below(root, &self.place)
    }

    fn holders(&self, id: &str) -> &[usize] {
        self.holders.get(id).map_or(&[], Vec::as_slice)
    }

    /// Path of a run in the whole.
    pub(crate) fn named(&self, id: &str) -> String {
        self.place.join(id).display().to_string()
    }

    /// Writes the merged runs, the note of a figure, and the logs.
    pub(crate) fn write(&self, path: &Path, opening: Opening) -> Result<(), Error> {
        let first = &self.shards[0];
        let whole = opening.open(path, first.manifest()).map_err(Error::new)?;
        let runs = first.manifest().runs.iter().filter_map(|run| {
            let holder = self.holders(&run.id).first()?;
            Some((&self.shards[*holder], run.id.as_str()))
        });
        whole.adopt(runs).map_err(Error::new)?;
        reproduction::copy_note(first.path(), &whole)?;
        let mut log = Vec::new();
        for shard in &self.shards {
            // A shard without runs has no log.
            log.extend(std::fs::read(shard.path().join(LOG)).unwrap_or_default());
        }
        whole.write_file(LOG, &log).map_err(Error::new)
    }
}

/// A path below a folder, or the folder itself without a trailing slash.
fn below(root: &Path, place: &Path) -> PathBuf {
    if place.as_os_str().is_empty() { root.to_owned() } else { root.join(place) }
}

/// The error about runs that cannot be merged.
fn described(wrong: &[String]) -> String {
    let mut lines: Vec<&str> = wrong.iter().take(NAMED).map(String::as_str).collect();
    let more = format!("and {} more", wrong.len().saturating_sub(NAMED));
    if wrong.len() > NAMED {
        lines.push(&more);
    }
    format!(
        "cannot merge {}: {}\nhint: remove damaged runs, then run their shards with `--resume`, or again",
        count(wrong.len(), "run"),
        lines.join(", ")
    )
}
