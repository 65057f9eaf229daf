//! Errors of results folders, with hints.

use std::io;
use std::path::{Path, PathBuf};
use std::{error, fmt};

/// A folder could not be created, read or written. The text names the file, the problem and, after
/// `hint:`, the remedy.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file was truncated or changed.
    Broken {
        /// File.
        path: PathBuf,
        /// Problem.
        what: String,
    },
    /// The folder holds results of another study.
    Differs {
        /// Folder.
        path: PathBuf,
        /// Difference.
        what: String,
    },
    /// The path for a new folder is occupied.
    Exists {
        /// Path.
        path: PathBuf,
        /// Existing content.
        found: Found,
    },
    /// A run id is invalid.
    Id {
        /// Run id.
        id: String,
        /// Problem.
        what: &'static str,
    },
    /// A later version of the program wrote the file.
    Newer {
        /// File.
        path: PathBuf,
        /// Format of the file.
        format: u32,
    },
    /// The folder holds no results.
    NoResults {
        /// Folder.
        path: PathBuf,
    },
    /// A file could not be read.
    Read {
        /// File.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A run has no complete record.
    Unfinished {
        /// Folder.
        path: PathBuf,
        /// Run id.
        id: String,
    },
    /// A file could not be written.
    Write {
        /// File.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
}

/// Content at the path of a new folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A file.
    File,
    /// Other files.
    Other,
    /// Results.
    Results,
}

impl Error {
    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Read { path, source }
    }

    pub(super) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Write { path, source }
    }

    pub(super) fn broken(path: &Path, what: impl fmt::Display) -> Self {
        Self::Broken { path: path.to_owned(), what: what.to_string() }
    }

    /// Hint.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Broken { path, .. } if path.ends_with(super::MANIFEST) => {
                "without it, the runs in the folder have no description; run again with another --out"
            }
            Self::Broken { .. } => {
                "it was truncated or changed after it was written; remove the run's folder, and --resume repeats the run"
            }
            Self::Differs { .. } => {
                "use a new folder with --out, or the scenario and program that began this one"
            }
            Self::Exists { found: Found::Results, .. } => {
                "run its missing runs with --resume, or use another folder with --out"
            }
            Self::Exists { .. } => "use another folder with --out",
            Self::Id { .. } => return None,
            Self::Newer { .. } => "read it with the version that wrote it, named in manifest.json",
            Self::NoResults { .. } => "a results folder has a manifest.json",
            Self::Unfinished { .. } => "--resume runs the missing runs",
            Self::Read { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => "check the path",
                io::ErrorKind::PermissionDenied => "check the permissions of the file",
                _ => return None,
            },
            // Files created before the first run.
            Self::Write { path, .. } if path.ends_with(super::RUNS) => {
                "no run has started; use another folder with --out"
            }
            Self::Write { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "use another folder with --out"
                }
                io::ErrorKind::QuotaExceeded | io::ErrorKind::StorageFull => {
                    "finished runs are kept; free disk space, then continue with --resume"
                }
                _ => "finished runs are kept; continue with --resume",
            },
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken { path, what } => write!(f, "{} is damaged: {what}", path.display())?,
            Self::Differs { path, what } => {
                write!(f, "{} holds results of another study: {what}", path.display())?;
            }
            Self::Exists { path, found } => {
                let what = match found {
                    Found::File => "is a file",
                    Found::Other => "is not empty and holds no results",
                    Found::Results => "already holds results",
                };
                write!(f, "{} {what}", path.display())?;
            }
            Self::Id { id, what } => write!(f, "run id {id:?} {what}")?,
            Self::Newer { path, format } => {
                let path = path.display();
                write!(f, "{path} has format {format}, this program knows {}", super::FORMAT)?;
            }
            Self::NoResults { path } => write!(f, "{} holds no results", path.display())?,
            Self::Read { path, source } => write!(f, "cannot read {}: {source}", path.display())?,
            Self::Unfinished { path, id } => {
                write!(f, "{} has no complete record of run {id}", path.display())?;
            }
            Self::Write { path, source } => write!(f, "cannot write {}: {source}", path.display())?,
        }
        self.hint().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Read { source, .. } | Self::Write { source, .. } => Some(source),
            _ => None,
        }
    }
}
