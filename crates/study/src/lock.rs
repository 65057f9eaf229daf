//! Locks of results folders: one program writes to a folder, or several shards of one study.
//!
//! Resuming a folder discards half-written runs, which must not be another program's.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::Error;

/// Lock of a results folder, held until it is dropped. A crash releases it too.
#[derive(Debug)]
pub struct FolderLock {
    /// `None` if the folder does not exist or cannot be opened.
    file: Option<File>,
}

/// Writers that a lock admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// A single program.
    One,
    /// Several shards, none of which discards anything.
    Shards,
}

/// [`is_locked`] holds a lock for a moment, so an attempt is repeated.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(25);

impl FolderLock {
    /// Locks a folder if it exists.
    pub fn take(folder: &Path, writers: Writers) -> Result<Self, Error> {
        // A later read or write reports why the folder cannot be opened.
        let Ok(file) = lock_file(folder, true) else {
            return Ok(Self { file: None });
        };
        for _ in 0..TRIES {
            let locked = match writers {
                Writers::One => file.try_lock(),
                Writers::Shards => file.try_lock_shared(),
            };
            // A file system without locks does not prevent a run.
            if !matches!(locked, Err(TryLockError::WouldBlock)) {
                return Ok(Self { file: Some(file) });
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "the program's edge: another program has the folder"
            )]
            thread::sleep(PAUSE);
        }
        Err(Error::Locked(folder.to_owned()))
    }

    /// The same lock, or one of a folder that was created since.
    pub fn or_take(self, folder: &Path, writers: Writers) -> Result<Self, Error> {
        match self.file {
            Some(_) => Ok(self),
            None => Self::take(folder, writers),
        }
    }
}

/// Whether a program has a folder to itself now. Shards and concurrent callers do not count.
pub fn is_locked(folder: &Path) -> bool {
    let Ok(file) = lock_file(folder, false) else {
        return false;
    };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// The file whose lock stands for a folder: the folder itself, or a file in it on Windows, which
/// cannot lock folders.
#[cfg_attr(unix, expect(unused_variables, reason = "a folder needs no file in it"))]
fn lock_file(folder: &Path, create: bool) -> io::Result<File> {
    #[cfg(unix)]
    let file = File::open(folder);
    #[cfg(not(unix))]
    let file = File::options().write(true).create(create).open(folder.join(".lock"));
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admits_one_writer_or_several_shards() {
        let folder = std::env::temp_dir().join(format!("tidegate-lock-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(!is_locked(&folder));
        let own = FolderLock::take(&folder, Writers::One).unwrap();
        assert!(is_locked(&folder));
        assert!(FolderLock::take(&folder, Writers::Shards).is_err());
        drop(own);
        let shards = [0, 1].map(|_| FolderLock::take(&folder, Writers::Shards).unwrap());
        assert!(!is_locked(&folder));
        assert!(FolderLock::take(&folder, Writers::One).is_err());
        drop(shards);
        assert!(!is_locked(&folder));
        std::fs::remove_dir(&folder).unwrap();
        assert!(FolderLock::take(&folder, Writers::One).is_ok());
    }
}
