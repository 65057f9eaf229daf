//! Errors of studies, in words for people.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use tidegate_report::folder;
use tidegate_scenario::Problem;

/// Reason why a study cannot be opened, run or compared. The text may end with a hint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(Box<Problem>),
    /// The results folder cannot be used.
    #[error(transparent)]
    Folder(#[from] folder::Error),
    /// Another program writes to the folder.
    #[error(
        "another tidegate is writing to {}\nhint: wait for it, stop it, or choose another folder",
        .0.display()
    )]
    Locked(PathBuf),
    /// A run failed.
    #[error("run {id} failed: {failure}")]
    Run {
        /// Its id.
        id: String,
        /// The reason.
        failure: Failure,
    },
    /// Results cannot be written.
    #[error("{0}")]
    Failed(Failure),
    /// A capture was asked for of several runs.
    #[error(
        "--capture takes a single run, and {file} has {runs} runs\nhint: choose one, such as the first: {first}"
    )]
    CaptureOfSeveral {
        /// The scenario.
        file: String,
        /// Number of its runs.
        runs: usize,
        /// The command of its first run.
        first: String,
    },
    /// No point has the name of the baseline.
    #[error("no point is called `{name}`\nhint: the points are {known}")]
    UnknownBaseline {
        /// The name.
        name: String,
        /// The labels of all points.
        known: String,
    },
    /// No folder has a finished run.
    #[error("no finished run in {0}")]
    NoResults(String),
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// An engine cannot run the tasks.
    #[error("{0}")]
    Engine(String),
    /// Figures cannot be written.
    #[error(transparent)]
    Figures(#[from] tidegate_report::figures::Error),
}

impl Error {
    /// Makes an error of an engine.
    pub(crate) fn engine(text: impl Display) -> Self {
        Self::Engine(text.to_string())
    }

    /// Makes an error of a file that cannot be written.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |error| Self::Write { path, error }
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        Self::Scenario(Box::new(problem))
    }
}

/// Reason why a run has no results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The program panicked with this text.
    #[error("panicked: {0}")]
    Panicked(String),
    /// The settings are impossible, for this reason.
    #[error("cannot run: {0}")]
    Refused(String),
    /// The capture could not be written.
    #[error("cannot write the capture {}: {error}", path.display())]
    Uncaptured {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The results could not be written.
    #[error(transparent)]
    Unwritten(folder::Error),
}
