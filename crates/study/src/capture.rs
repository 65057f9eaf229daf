//! Captures: the packets of chosen links of one run as a pcapng file, which Wireshark reads.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use tidegate_results::Record;
use tidegate_results::outcome::record;
use tidegate_results::record::End;
use tidegate_scenario::{Built, Experiment, Problem};
use tidegate_sim::LinkId;
use tidegate_sim::capture::LinkCapture;
use tidegate_sim::run::{self, Status};
use tidegate_units::Time;

use crate::sweep::Failure;

/// Packets of a capture, unless another limit is given: about a gigabyte.
pub const LIMIT: u64 = 10_000_000;

/// A capture of one run.
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
    /// Packets in the file.
    pub packets: u64,
    /// The time of the first packet that the limit left out, if there is one.
    pub full_at: Option<Time>,
}

impl Capture {
    /// A capture of the links that a text names, of at most `limit` packets. Refuses what the run
    /// cannot give, and a file that exists.
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

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Contents of the file, once its run has finished.
    pub fn taken(&self) -> Option<Taken> {
        self.taken.get().copied()
    }

    /// A warning that packets are missing, if the limit left some out.
    pub fn warning(&self) -> Option<String> {
        let Taken { packets, full_at } = self.taken()?;
        let at = full_at?;
        Some(format!(
            "the capture reached its limit of {packets} packets at {at}: {} lacks later ones\n  \
             help: capture fewer links, end the run earlier, or raise the limit",
            self.path.display()
        ))
    }

    /// Runs an experiment on one thread and writes the capture. A run that did not come to its end
    /// leaves no file.
    pub(crate) fn run(
        &self,
        experiment: &Experiment,
        built: &Built,
        command: String,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(Status),
    ) -> Result<Record, Failure> {
        let unwritten = |error: io::Error| Failure::Uncaptured { path: self.path.clone(), error };
        let refused = |error: tidegate_units::ConfigError| Failure::Refused(error.to_string());
        // A file that appeared meanwhile is another program's.
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
            let record = record(experiment, command, built, &outcome).map_err(refused)?;
            Ok((record, taken))
        };
        let written = write();
        match written {
            Ok((record, taken)) if record.run.end != End::Interrupted => {
                // A run is captured once.
                _ = self.taken.set(taken);
                Ok(record)
            }
            other => {
                // The file is this run's own; that it cannot be removed either changes nothing.
                _ = fs::remove_file(&self.path);
                other.map(|(record, _)| record)
            }
        }
    }
}
