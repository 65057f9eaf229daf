//! Where the files of a scenario come from.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// What holds the files of scenarios: a disk, an archive, memory.
pub trait Files: Debug + Send + Sync {
    /// A name of the file that no other file has, and its text of at most `longest` bytes; or why
    /// it cannot be read.
    fn read(&self, path: &Path, longest: u64) -> Result<(PathBuf, String), String>;

    /// What errors call a file.
    fn title(&self, path: &Path) -> String {
        path.display().to_string()
    }
}

/// No files.
#[derive(Debug)]
pub(crate) struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _path: &Path, _longest: u64) -> Result<(PathBuf, String), String> {
        Err("there are no files here".to_owned())
    }
}
