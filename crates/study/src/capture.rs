//! Captures: packets of selected links of one run as a pcapng file, for Wireshark.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use tidegate_results::Record;
use tidegate_scenario::{Built, Experiment, Problem};
use tidegate_sim::LinkId;
use tidegate_sim::capture::LinkCapture;
use tidegate_sim::run::{self, Status};
use tidegate_units::Time;

use crate::error::Failure;
use crate::outcome::finished;

/// Default limit of packets: about a gigabyte.
pub const LIMIT: u64 = 10_000_000;

/// Capture of one run.
#[derive(Debug)]
pub struct Capture {
    path: PathBuf,
    links: Vec<LinkId>,
    limit: u64,
    taken: OnceLock<Taken>,
}

/// Contents of a finished capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Number of packets in the file.
    pub packets: u64,
    /// Time of the first packet beyond the limit, if any.
    pub full_at: Option<Time>,
}

impl Capture {
    /// Captures the named links of a run, up to `limit` packets. Refuses unknown links, traced
    /// runs, and an existing file.
    pub fn new(path: PathBuf, links: &str, limit: u64, run: &Experiment) -> Result<Self, Problem> {
        let built = run.build()?;
        if built.trace.is_some() {
            let text = "a run can be captured or traced, not both";
            return Err(Problem::new(text).help("leave out the capture, or the trace"));
        }
        let links = built.find_links("--at", links)?;
        if fs::symlink_metadata(&path).is_ok() {
            let text = format!("{} already exists", path.display());
            return Err(Problem::new(text).help("choose another file, or remove this one"));
        }
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|it| !it.is_dir()) {
            let (path, folder) = (path.display(), folder.display());
            let text = format!("cannot write the capture {path}: folder {folder} does not exist");
            return Err(Problem::new(text).help("create the folder, or choose another file"));
        }
        Ok(Self { path, links, limit, taken: OnceLock::new() })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Contents of the file, once the run has finished.
    pub fn taken(&self) -> Option<Taken> {
        self.taken.get().copied()
    }

    /// Warning about missing packets, if the limit was reached.
    pub fn warning(&self) -> Option<String> {
        let Taken { packets, full_at } = self.taken()?;
        let at = full_at?;
        Some(format!(
            "the capture reached its limit of {packets} packets at {at}: {} lacks later ones\n  \
             help: capture fewer links, end the run earlier, or raise the limit",
            self.path.display()
        ))
    }

    /// Runs an experiment on one thread and writes the capture. An interrupted run leaves no file.
    pub(crate) fn run(
        &self,
        experiment: &Experiment,
        built: &Built,
        command: String,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(Status),
    ) -> Result<Option<Record>, Failure> {
        let unwritten = |error: io::Error| Failure::Uncaptured { path: self.path.clone(), error };
        let refused = |error: tidegate_units::ConfigError| Failure::Refused(error.to_string());
        // A file created meanwhile belongs to another program.
        let file = File::create_new(&self.path).map_err(unwritten)?;
        let write = || {
            let network = &built.setup.network;
            let capture = LinkCapture::new(file, &command, network, &self.links);
            let mut capture = capture.map_err(unwritten)?.with_limit(self.limit);
            let outcome = run::run_captured(&built.setup, interrupt, &mut capture, report);
            let outcome = outcome.map_err(refused)?;
            capture.flush();
            let taken = Taken { packets: capture.written(), full_at: capture.full_at() };
            capture.finish().map_err(unwritten)?;
            let record = finished(experiment, command, built, &outcome).map_err(refused)?;
            Ok((record, taken))
        };
        let written = write();
        match written {
            Ok((Some(record), taken)) => {
                // A run is captured once.
                _ = self.taken.set(taken);
                Ok(Some(record))
            }
            other => {
                // The file is this run's own; that it cannot be removed either changes nothing.
                _ = fs::remove_file(&self.path);
                other.map(|_| None)
            }
        }
    }
}
