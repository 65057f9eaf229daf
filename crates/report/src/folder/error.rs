//! What can go wrong with a folder of results, and what to do then.

use std::io;
use std::path::{Path, PathBuf};
use std::{error, fmt};

/// Why a folder could not be made, read or written. The text names the file, says what is wrong
/// and, after `hint:`, what would work.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file is not what was written: cut off or changed.
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The folder holds results of something else.
    Differs {
        /// The folder.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// A new folder was asked for, but something is there.
    Exists {
        /// The place.
        path: PathBuf,
        /// What is there.
        found: Found,
    },
    /// The list of runs cannot be stored.
    Id {
        /// The id.
        id: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A later version of the program wrote it.
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// There are no results.
    NoResults {
        /// The folder.
        path: PathBuf,
    },
    /// A file could not be read.
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A run has no complete record.
    Unfinished {
        /// The folder.
        path: PathBuf,
        /// The run's id.
        id: String,
    },
    /// A file could not be written.
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What is where a new folder should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A file.
    File,
    /// Something else than results.
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

    /// What would work.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Broken { path, .. } if path.ends_with(super::MANIFEST) => {
                "nothing says what the runs beside it are; run again with another --out"
            }
            Self::Broken { .. } => {
                "it was cut off or changed after it was written; remove its run's folder, and --resume runs it again"
            }
            Self::Differs { .. } => {
                "give a new folder with --out, or repeat what the folder was begun with"
            }
            Self::Exists { found: Found::Results, .. } => {
                "go on with its missing runs with --resume, or give another folder with --out"
            }
            Self::Exists { .. } => "give another folder with --out",
            Self::Id { .. } => return None,
            Self::Newer { .. } => "read it with the version that wrote it, named in manifest.json",
            Self::NoResults { .. } => "a folder of results has a manifest.json",
            Self::Unfinished { .. } => "--resume runs what is missing",
            Self::Read { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => "check the path",
                io::ErrorKind::PermissionDenied => "check the permissions of the file",
                _ => return None,
            },
            // What is made before the first run.
            Self::Write { path, .. } if path.ends_with(super::RUNS) => {
                "nothing has run; give another folder with --out"
            }
            Self::Write { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "give another folder with --out"
                }
                io::ErrorKind::QuotaExceeded | io::ErrorKind::StorageFull => {
                    "the runs that are finished are kept; make room, then go on with --resume"
                }
                _ => "the runs that are finished are kept; go on with --resume",
            },
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken { path, what } => write!(f, "{} is damaged: {what}", path.display())?,
            Self::Differs { path, what } => {
                write!(f, "{} holds results of something else: {what}", path.display())?;
            }
            Self::Exists { path, found } => {
                let what = match found {
                    Found::File => "is a file",
                    Found::Other => "is not empty, and what it holds are not results",
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
