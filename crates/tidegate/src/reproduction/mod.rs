//! Reproductions in results folders: their figures, and the verdicts on them.

pub(crate) mod done;
pub(crate) mod judging;
mod table;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tidegate_report::{Folder, reading};
use tidegate_reproduce::{Entry, Version};
use tidegate_study::read_scenario;

use crate::output::{Error, ExitStatus, Output};

/// Description of a reproduction, in its folder.
const ASKED: &str = "reproduction.json";

/// Figures of a reproduction.
#[derive(Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReproductionRequest {
    pub(crate) figures: Vec<String>,
    pub(crate) quick: bool,
    /// Overrides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) set: Vec<String>,
}

impl ReproductionRequest {
    pub(crate) fn version(&self) -> Version {
        if self.quick { Version::Quick } else { Version::Full }
    }

    /// Writes the description: some figures have no runs, and so no folder.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(self).map_err(Error::new)?;
        let path = folder.join(ASKED);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
        written.map_err(Error::write(&path))
    }

    /// Reads the description in a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(ASKED);
        let text = reading::bytes(&path, reading::MADE).map_err(Error::read(&path))?;
        serde_json::from_slice(&text).map_err(Error::read(&path))
    }

    /// Reads the description of shards, which has to be the same in all.
    fn of_shards(shards: &[PathBuf]) -> Result<Self, Error> {
        let asked = Self::read(&shards[0])?;
        for other in &shards[1..] {
            if Self::read(other)? != asked {
                let (one, other) = (shards[0].display(), other.display());
                return Err(Error::new(format!(
                    "{one} and {other} have different figures or settings"
                )));
            }
        }
        Ok(asked)
    }
}

/// Judges the figures of a folder into which shards were merged.
pub(crate) fn judge_merged(folder: &Path, output: Output) -> Result<ExitStatus, Error> {
    let asked = ReproductionRequest::read(folder)?;
    let done = judging::judge_all(&asked.figures, folder, &asked, output)?;
    done.write(asked.figures.len(), None, output)?;
    Ok(done.status)
}

/// Copies the description of shards into the whole.
pub(crate) fn merge_requests(shards: &[PathBuf], whole: &Path) -> Result<(), Error> {
    ReproductionRequest::of_shards(shards)?.write(whole)
}

/// Whether a folder holds a reproduction.
pub(crate) fn is_begun(folder: &Path) -> bool {
    folder.join(ASKED).is_file()
}

/// Paths of the results of all figures and trials of some shards, below the folder of the whole.
pub(crate) fn places(shards: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let asked = ReproductionRequest::of_shards(shards)?;
    let mut places = Vec::new();
    for name in &asked.figures {
        let entry = entry(name, asked.version(), &asked.set)?;
        if !entry.figure.is_computed {
            let own = PathBuf::from(&entry.figure.id);
            let trials = entry.trials.iter();
            places.extend(trials.map(|tried| own.join(judging::TRIALS).join(&tried.trial.name)));
            places.push(own);
        }
    }
    Ok(places)
}

/// Copies the note of a figure's folder, if it has one.
pub(crate) fn copy_note(from: &Path, to: &Folder) -> Result<(), Error> {
    match reading::bytes(&from.join(judging::NOTE), reading::MADE) {
        Ok(note) => to.write_file(judging::NOTE, &note).map_err(Error::new),
        Err(_) => Ok(()),
    }
}

/// The figure of this name, or of a scenario file.
pub(crate) fn entry(name: &str, version: Version, set: &[String]) -> Result<Entry, Error> {
    if let Some(entry) = Entry::embedded(name, version, set) {
        return entry.map_err(Error::new);
    }
    let read = |overrides: &[String]| read_scenario(Path::new(name), overrides);
    let entry = Entry::new(&read, version, set).map_err(Error::new)?;
    entry.ok_or_else(|| Error::new(format!("{name} has no table [figure] with claims")))
}
