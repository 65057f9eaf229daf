//! That one program at a time fills a results folder: whoever goes on with it throws away what is
//! half-written there, which must not be another's.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use tidegate_report::{Folder, folder};

use crate::args::Share;
use crate::output::Error;

/// Lasts as long as the program writes. A system that fails takes it back.
pub(crate) struct FolderLock {
    folder: Option<File>,
}

/// Who else may write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Others {
    /// Nobody.
    Kept,
    /// Other shards, which throw nothing away.
    Welcome,
}

impl Others {
    /// Those of a program that runs a share.
    pub(crate) fn of(share: &Share) -> Self {
        match share.shard {
            Some(_) => Self::Welcome,
            None => Self::Kept,
        }
    }
}

/// Somebody who only looks whether a folder is claimed holds it for a moment.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(25);

impl FolderLock {
    /// Claims a folder, if it is there.
    pub(crate) fn take(folder: &Path, others: Others) -> Result<Self, Error> {
        // What cannot be opened is reported by whoever reads it.
        let Ok(file) = lockable(folder, Missing::Made) else {
            return Ok(Self { folder: None });
        };
        for _ in 0..TRIES {
            // A file system without locks is no reason not to go on.
            let locked = match others {
                Others::Kept => file.try_lock(),
                Others::Welcome => file.try_lock_shared(),
            };
            if !matches!(locked, Err(TryLockError::WouldBlock)) {
                return Ok(Self { folder: Some(file) });
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "the program's edge: another program has the folder"
            )]
            thread::sleep(PAUSE);
        }
        Err(Error::new(format!(
            "another tidegate is writing to {}\nhint: wait for it, stop it, or choose another folder",
            folder.display()
        )))
    }

    /// Opens a results folder with a claim on it. One that is gone on with is claimed before
    /// anything is thrown away there, and a new one when it is there.
    pub(crate) fn open(
        path: &Path,
        others: Others,
        begin: impl FnOnce() -> Result<Folder, folder::Error>,
    ) -> Result<(Folder, Self), Error> {
        let claim = Self::take(path, others)?;
        let folder = begin().map_err(Error::new)?;
        Ok((folder, claim.or_taken(path, others)?))
    }

    /// The same claim, or one of a folder that was not there before.
    pub(crate) fn or_taken(self, folder: &Path, others: Others) -> Result<Self, Error> {
        match self.folder {
            Some(_) => Ok(self),
            None => Self::take(folder, others),
        }
    }
}

/// Whether some program has a folder for itself now. Several may ask at once, and see each other as
/// little as they see shards.
pub(crate) fn is_taken(folder: &Path) -> bool {
    let Ok(file) = lockable(folder, Missing::Left) else {
        return false;
    };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Whether a lock file that is missing is created.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Made,
    Left,
}

/// The file whose lock stands for a folder: the folder itself, or on Windows, which locks no
/// folders, a file in it.
fn lockable(folder: &Path, missing: Missing) -> io::Result<File> {
    #[cfg(unix)]
    {
        _ = missing;
        File::open(folder)
    }
    #[cfg(not(unix))]
    {
        let create = missing == Missing::Made;
        File::options().write(true).create(create).open(folder.join(".lock"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_writer_or_several_shards() {
        let folder = std::env::temp_dir().join(format!("tidegate-claim-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(!is_taken(&folder));
        let own = FolderLock::take(&folder, Others::Kept).unwrap();
        assert!(is_taken(&folder));
        assert!(FolderLock::take(&folder, Others::Welcome).is_err());
        drop(own);
        let shards = [0, 1].map(|_| FolderLock::take(&folder, Others::Welcome).unwrap());
        assert!(!is_taken(&folder));
        assert!(FolderLock::take(&folder, Others::Kept).is_err());
        drop(shards);
        assert!(!is_taken(&folder));
        std::fs::remove_dir(&folder).unwrap();
        assert!(FolderLock::take(&folder, Others::Kept).is_ok());
    }
}
