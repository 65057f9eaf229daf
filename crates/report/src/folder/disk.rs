//! Atomic files: written under a temporary name, synced to disk, then renamed.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::Error;
use crate::reading;

/// How files are created. Tests replace it by a full disk.
pub(super) type Create = fn(&Path) -> io::Result<File>;

/// Extension of unfinished files.
const PARTIAL: &str = ".partial";

/// A unique temporary name for `path`, since several programs on several machines may write the
/// same file at once.
pub(super) fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let own = RandomState::new().hash_one(0);
    path.with_file_name(format!(".{name}.{own:016x}{PARTIAL}"))
}

/// Whether the name belongs to an unfinished file.
pub(super) fn is_partial(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(PARTIAL)
}

/// Whether the name stays in its directory and is not a temporary name.
pub(super) fn is_plain(name: &str) -> bool {
    !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

/// Writes a file atomically.
pub(super) fn replace(path: &Path, bytes: &[u8], create: Create) -> Result<(), Error> {
    let partial = beside(path);
    let written = write(&partial, bytes, create)
        .and_then(|()| fs::rename(&partial, path).map_err(Error::write(path)))
        .and_then(|()| sync_parent(path));
    if written.is_err() {
        // The remains may fill the disk; the first error is reported.
        drop(fs::remove_file(&partial));
    }
    written
}

/// Writes a file atomically unless it exists. Returns whether it did.
pub(super) fn publish(path: &Path, bytes: &[u8], create: Create) -> Result<bool, Error> {
    let partial = beside(path);
    let published = write(&partial, bytes, create).and_then(|()| {
        match fs::hard_link(&partial, path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            // Without hard links, the last writer wins.
            Err(_) => fs::rename(&partial, path).map(|()| true).map_err(Error::write(path)),
        }
    });
    // The temporary name is no longer needed, or gone.
    drop(fs::remove_file(&partial));
    if matches!(published, Ok(true)) {
        sync_parent(path)?;
    }
    published
}

/// Writes a file and syncs it to disk.
pub(super) fn write(path: &Path, bytes: &[u8], create: Create) -> Result<(), Error> {
    let attempt = || {
        let mut file = create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    attempt().map_err(Error::write(path))
}

/// Hard-links a file, or writes a copy of it (`bytes`) if the file system has no hard links.
pub(super) fn link(file: &Path, name: &Path, bytes: &[u8], create: Create) -> Result<(), Error> {
    match fs::hard_link(file, name) {
        Ok(()) => Ok(()),
        Err(_) => write(name, bytes, create),
    }
}

/// Syncs the directory of `path` to disk.
pub(super) fn sync_parent(path: &Path) -> Result<(), Error> {
    path.parent().map_or(Ok(()), sync)
}

/// Syncs a directory to disk.
pub(super) fn sync(directory: &Path) -> Result<(), Error> {
    // Other systems cannot open directories.
    if cfg!(unix) {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let synced = File::open(directory).and_then(|directory| directory.sync_all());
        synced.map_err(Error::write(directory))?;
    }
    Ok(())
}

/// Removes unfinished files from a directory.
pub(super) fn clear(directory: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(directory).map_err(Error::read(directory))? {
        let entry = entry.map_err(Error::read(directory))?;
        if is_partial(&entry.file_name().to_string_lossy()) {
            let path = entry.path();
            let removed =
                if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(Error::write(&path))?;
        }
    }
    Ok(())
}

/// Reads a text.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    read_file(path).map_err(Error::read(path))
}

/// Reads a table of a known length.
pub(super) fn read_table(path: &Path, bytes: u64) -> Result<Vec<u8>, Error> {
    let found = fs::metadata(path).map_err(Error::read(path))?;
    if found.len() != bytes {
        let what = format!("it has {} bytes of {bytes}", found.len());
        return Err(Error::broken(path, what));
    }
    reading::bytes(path, bytes).map_err(Error::read(path))
}

/// Limit of bytes in a text: the manifest of 100,000 runs, the most of a scenario, has about 50 MB.
const LONGEST: u64 = 128 << 20;

/// Reads a text from a regular file; a pipe or a device might block or never end.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    reading::bytes(path, LONGEST)
}
