//! Source of a scenario's files.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// Storage of scenario files: a disk, an archive, memory.
pub trait Files: Debug + Send + Sync {
    /// Unique name of the file and its text of at most `longest` bytes, or the reason why it cannot
    /// be read.
    fn read(&self, path: &Path, longest: u64) -> Result<(PathBuf, String), String>;

    /// Maximum size of a list of flows or a table of sizes. The default is about two million flows.
    fn longest(&self) -> u64 {
        64 << 20
    }

    /// Name of a file in errors.
    fn title(&self, path: &Path) -> String {
        path.display().to_string()
    }
}

/// Empty storage.
#[derive(Debug)]
pub(crate) struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _path: &Path, _longest: u64) -> Result<(PathBuf, String), String> {
        Err("there are no files here".to_owned())
    }
}
