//! A folder of results on disk.
//!
//! ```text
//! manifest.json          the study, and the program that ran it
//! runs/ID/run.json       one run: how it ended, counters, queues, links
//! runs/ID/*.parquet      its flows, probes and series
//! summary.json, .csv     all runs side by side
//! report.html            the page
//! log.jsonl              events with wall-clock times, which no other file has
//! ```
//!
//! Every file under its final name is complete: a run's directory and every other file are written
//! under a temporary name and renamed. An interrupted run leaves nothing that looks like a result.

mod disk;
mod error;
mod run;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use disk::read_file;
pub use error::{Error, Found};

pub use crate::manifest::{Manifest, Planned, without_places};

use crate::export::csv;
use tidegate_results::record::Record;
use tidegate_results::summary::Summary;

/// Format of the files. It changes when an old reader would misunderstand new files.
pub const FORMAT: u32 = 1;

const MANIFEST: &str = "manifest.json";
const RUNS: &str = "runs";

/// A results folder.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// Shared by the folders of one command, since it lists every run.
    manifest: Arc<Manifest>,
    /// Point number of each run.
    points: Arc<BTreeMap<String, u32>>,
    create: disk::Create,
}

impl Folder {
    /// Creates a new folder. The path must be free or an empty directory.
    pub fn create(path: &Path, manifest: &Manifest) -> Result<Self, Error> {
        let folder = Self::begin(path, manifest)?;
        disk::clear(path)?;
        Ok(folder)
    }

    fn begin(path: &Path, manifest: &Manifest) -> Result<Self, Error> {
        check_ids(manifest)?;
        refuse_occupied(path)?;
        let runs = path.join(RUNS);
        fs::create_dir_all(&runs).map_err(Error::write(&runs))?;
        let folder = Self::at(path, manifest.clone());
        let text = folder.json(MANIFEST, manifest)?;
        if !disk::publish(&path.join(MANIFEST), &text, folder.create)? {
            // Another program was faster.
            return Err(Error::Exists { path: path.to_owned(), found: Found::Results });
        }
        disk::sync_parent(path)?;
        Ok(folder)
    }

    /// Opens a folder to resume its missing runs. The same program must have created it with the
    /// same scenario.
    pub fn resume(path: &Path, manifest: &Manifest) -> Result<Self, Error> {
        let folder = Self::open(path)?;
        if let Some(what) = folder.manifest.difference(manifest) {
            return Err(Error::Differs { path: path.to_owned(), what });
        }
        let runs = path.join(RUNS);
        fs::create_dir_all(&runs).map_err(Error::write(&runs))?;
        disk::clear(path)?;
        disk::clear(&runs)?;
        Ok(folder)
    }

    /// Opens a folder that several programs may fill at once. Creates it if it is missing;
    /// otherwise the same program must have created it with the same scenario. Unfinished files
    /// stay, since they may belong to another program.
    pub fn join(path: &Path, manifest: &Manifest) -> Result<Self, Error> {
        let begun = match Self::open(path) {
            Err(Error::NoResults { .. }) => Self::begin(path, manifest),
            Err(Error::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Self::begin(path, manifest)
            }
            opened => opened,
        };
        let folder = match begun {
            // Another program was faster.
            Err(Error::Exists { .. }) => Self::open(path)?,
            folder => folder?,
        };
        match folder.manifest.difference(manifest) {
            None => Ok(folder),
            Some(what) => Err(Error::Differs { path: path.to_owned(), what }),
        }
    }

    /// Opens a folder to read it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = path.join(MANIFEST);
        let text = match read_file(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_dir() => {
                return Err(Error::NoResults { path: path.to_owned() });
            }
            text => text.map_err(Error::read(&file))?,
        };
        check_format(&file, &text)?;
        let manifest: Manifest =
            serde_json::from_slice(&text).map_err(|error| Error::broken(&file, error))?;
        check_ids(&manifest)?;
        Ok(Self::at(path, manifest))
    }

    fn at(path: &Path, manifest: Manifest) -> Self {
        Self {
            path: path.to_owned(),
            points: Arc::new(manifest.points()),
            manifest: Arc::new(manifest),
            create: |path| File::create(path),
        }
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Manifest of the folder.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The ids of runs with a complete record, in the order of the sweep.
    pub fn finished(&self) -> Vec<String> {
        // A shard has few of the runs of its manifest, so it is faster to list its directory than
        // to check each run.
        let present = self.present().unwrap_or_default();
        let present: BTreeSet<String> = present.into_iter().collect();
        let runs = self.manifest.runs.iter().map(|run| &run.id);
        let is_finished = |id: &&String| present.contains(*id) && self.check(id).is_ok();
        runs.filter(is_finished).cloned().collect()
    }

    /// Checks that a run has a complete record: all files exist with their recorded length. A run
    /// without a record is [`Error::Unfinished`].
    pub fn check(&self, id: &str) -> Result<(), Error> {
        run::check(&self.place(id)?)
    }

    /// Writes a run's record and replaces an existing one. Several threads may write runs at once.
    pub fn write(&self, record: &Record) -> Result<(), Error> {
        let (place, point) = self.known(&record.run.id)?;
        run::write(&place, record, point, self.create)
    }

    /// Takes runs over from other folders if they are complete and unchanged. If the file system
    /// supports hard links, both folders share the files, which takes no space.
    pub fn adopt<'a>(&self, runs: impl Iterator<Item = (&'a Self, &'a str)>) -> Result<(), Error> {
        for (from, id) in runs {
            run::copy(&from.place(id)?, &self.known(id)?.0, self.create)?;
        }
        disk::sync(&self.path.join(RUNS))
    }

    /// The ids of all runs with a directory, complete or not, in no particular order.
    pub fn present(&self) -> Result<Vec<String>, Error> {
        let runs = self.path.join(RUNS);
        let mut found = Vec::new();
        for entry in fs::read_dir(&runs).map_err(Error::read(&runs))? {
            let name = entry.map_err(Error::read(&runs))?.file_name();
            let name = name.to_string_lossy();
            if self.points.contains_key(name.as_ref()) {
                found.push(name.into_owned());
            }
        }
        Ok(found)
    }

    /// Checks that a run is complete and all its files are unchanged.
    pub fn verify(&self, id: &str) -> Result<(), Error> {
        run::verify(&self.place(id)?)
    }

    /// Whether two folders have the same record of a run: all its files, byte by byte.
    pub fn agrees(&self, other: &Self, id: &str) -> Result<bool, Error> {
        run::is_copy(&self.place(id)?, &other.place(id)?)
    }

    /// Opens other folders, created with the same scenario by the same program. They share this
    /// folder's manifest: there may be a thousand folders with ten thousand runs each.
    pub fn open_alike(&self, others: &[PathBuf]) -> Result<Vec<Self>, Error> {
        let file = self.path.join(MANIFEST);
        let own = disk::read(&file)?;
        let open = |path: &PathBuf| {
            let file = path.join(MANIFEST);
            if disk::read(&file)? != own {
                let other = Self::open(path)?;
                if let Some(what) = other.manifest.difference(&self.manifest) {
                    let path = path.clone();
                    return Err(Error::Differs { path, what });
                }
            }
            let path = path.clone();
            Ok(Self { path, ..self.clone() })
        };
        others.iter().map(open).collect()
    }

    /// Reads a run's record with its flows, probes and series.
    pub fn read(&self, id: &str) -> Result<Record, Error> {
        run::read(&self.place(id)?)
    }

    /// Writes `summary.json` and `summary.csv`.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), Error> {
        #[derive(Serialize)]
        struct Versioned<'a> {
            format: u32,
            #[serde(flatten)]
            summary: &'a Summary,
        }
        self.write_json("summary.json", &Versioned { format: FORMAT, summary })?;
        self.write_file("summary.csv", csv::summary(summary).as_bytes())
    }

    /// Writes any other file of the folder atomically.
    pub fn write_file(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        disk::replace(&self.path.join(name), bytes, self.create)
    }

    /// Adds a line to `log.jsonl`.
    pub fn log(&self, entry: &impl Serialize) -> Result<(), Error> {
        let path = self.path.join("log.jsonl");
        let attempt = || {
            let mut line = serde_json::to_vec(entry)?;
            line.push(b'\n');
            let mut file = File::options().create(true).append(true).open(&path)?;
            file.write_all(&line)
        };
        attempt().map_err(Error::write(&path))
    }

    fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        self.write_file(name, &self.json(name, value)?)
    }

    /// The text of a file.
    fn json(&self, name: &str, value: &impl Serialize) -> Result<Vec<u8>, Error> {
        let text = serde_json::to_vec_pretty(value);
        let mut text = text.map_err(|error| Error::broken(&self.path.join(name), error))?;
        text.push(b'\n');
        Ok(text)
    }

    /// The directory of a run of the manifest, and the number of its point.
    fn known(&self, id: &str) -> Result<(PathBuf, u32), Error> {
        match self.points.get(id) {
            Some(&point) => Ok((self.path.join(RUNS).join(id), point)),
            None => {
                Err(Error::Id { id: id.to_owned(), what: "is not among the runs of the manifest" })
            }
        }
    }

    /// The directory of a run, which must exist.
    fn place(&self, id: &str) -> Result<PathBuf, Error> {
        let (place, _) = self.known(id)?;
        if place.is_dir() {
            Ok(place)
        } else {
            Err(Error::Unfinished { path: self.path.clone(), id: id.to_owned() })
        }
    }
}

/// Refuses a manifest whose runs cannot each have a directory of their own.
fn check_ids(manifest: &Manifest) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for Planned { id, .. } in &manifest.runs {
        let wrong = |what| Error::Id { id: id.clone(), what };
        if id.is_empty() || id.len() > 200 {
            return Err(wrong("must have 1 to 200 bytes"));
        }
        if !disk::is_plain(id) {
            return Err(wrong("is not fit for a file name: no leading dot, no slash"));
        }
        // Some file systems ignore case.
        if !seen.insert(id.to_lowercase()) {
            return Err(wrong("is not unique"));
        }
    }
    Ok(())
}

/// Refuses a path where a new folder would mix with other files.
fn refuse_occupied(path: &Path) -> Result<(), Error> {
    let exists = |found| Err(Error::Exists { path: path.to_owned(), found });
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return exists(Found::File),
        Err(error) => return Err(Error::read(path)(error)),
    };
    let mut occupied = false;
    for entry in entries {
        let name = entry.map_err(Error::read(path))?.file_name();
        if name == MANIFEST {
            return exists(Found::Results);
        }
        // Remains of a folder whose manifest was never written.
        let remains = name == RUNS
            && fs::read_dir(path.join(RUNS)).is_ok_and(|mut runs| runs.next().is_none());
        occupied |= !remains && !disk::is_partial(&name.to_string_lossy());
    }
    if occupied { exists(Found::Other) } else { Ok(()) }
}

/// Checks that this program knows the format of a file.
fn check_format(path: &Path, text: &[u8]) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let Format { format } =
        serde_json::from_slice(text).map_err(|error| Error::broken(path, error))?;
    if format > FORMAT {
        return Err(Error::Newer { path: path.to_owned(), format });
    }
    Ok(())
}
