//! Files that are there in full or not at all: written beside their place, brought to the disk,
//! then renamed.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::error::Error;
use crate::reading;

/// How files are made. Tests put a full disk in its place.
pub(super) type Create = fn(&Path) -> io::Result<File>;

/// The ending of what is not finished.
const PARTIAL: &str = ".partial";

/// Where `path` is written before it is renamed: each time another place, since several programs,
/// on several machines, may write the same file at once.
pub(super) fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let own = RandomState::new().hash_one(0);
    path.with_file_name(format!(".{name}.{own:016x}{PARTIAL}"))
}

/// Whether the name is of something that was never finished.
pub(super) fn is_partial(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(PARTIAL)
}

/// Whether the name is of something in the directory itself, and not of ours for what is
/// unfinished.
pub(super) fn is_plain(name: &str) -> bool {
    !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

/// Puts a file in its place, in full or not at all.
pub(super) fn replace(path: &Path, bytes: &[u8], create: Create) -> Result<(), Error> {
    let partial = beside(path);
    let written = write(&partial, bytes, create)
        .and_then(|()| fs::rename(&partial, path).map_err(Error::write(path)))
        .and_then(|()| sync_parent(path));
    if written.is_err() {
        // It may be what filled the disk; what went wrong is said already.
        drop(fs::remove_file(&partial));
    }
    written
}

/// Puts a file in its place, in full, unless there is one. Returns whether it did.
pub(super) fn publish(path: &Path, bytes: &[u8], create: Create) -> Result<bool, Error> {
    let partial = beside(path);
    let published = write(&partial, bytes, create).and_then(|()| {
        match fs::hard_link(&partial, path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            // A file system without second names: whoever comes last has the place.
            Err(_) => fs::rename(&partial, path).map(|()| true).map_err(Error::write(path)),
        }
    });
    // Its first name is of no use, or gone.
    drop(fs::remove_file(&partial));
    if matches!(published, Ok(true)) {
        sync_parent(path)?;
    }
    published
}

/// Writes a file and brings it to the disk.
pub(super) fn write(path: &Path, bytes: &[u8], create: Create) -> Result<(), Error> {
    let attempt = || {
        let mut file = create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    attempt().map_err(Error::write(path))
}

/// Gives a file that is on the disk a second name, or a copy of it, `bytes`, if the file system has
/// no such names.
pub(super) fn link(file: &Path, name: &Path, bytes: &[u8], create: Create) -> Result<(), Error> {
    match fs::hard_link(file, name) {
        Ok(()) => Ok(()),
        Err(_) => write(name, bytes, create),
    }
}

/// Brings the names in the directory of `path` to the disk.
pub(super) fn sync_parent(path: &Path) -> Result<(), Error> {
    path.parent().map_or(Ok(()), sync)
}

/// Brings the names in a directory to the disk.
pub(super) fn sync(directory: &Path) -> Result<(), Error> {
    // Other systems do not open directories.
    if cfg!(unix) {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let synced = File::open(directory).and_then(|directory| directory.sync_all());
        synced.map_err(Error::write(directory))?;
    }
    Ok(())
}

/// Removes what was never finished from a directory.
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

/// Reads a table that has so many bytes.
pub(super) fn read_table(path: &Path, bytes: u64) -> Result<Vec<u8>, Error> {
    let found = fs::metadata(path).map_err(Error::read(path))?;
    if found.len() != bytes {
        let what = format!("it has {} bytes of {bytes}", found.len());
        return Err(Error::broken(path, what));
    }
    reading::bytes(path, bytes).map_err(Error::read(path))
}

/// The most bytes of a text: a manifest of the 100,000 runs that a scenario may have has some 50
/// MB.
const LONGEST: u64 = 128 << 20;

/// Reads a text, if it is a file: a pipe or a device in its place would be waited for, or never
/// end.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    reading::bytes(path, LONGEST)
}
