//! A file system for a booting kernel, in the format `newc` of cpio: files of this machine at
//! their own paths.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// The file system, as the kernel unpacks it.
pub(crate) struct Initramfs {
    archive: Vec<u8>,
    /// Paths that are in it.
    paths: BTreeSet<String>,
}

/// Modes of a folder and of a file that can be executed.
const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_755;

impl Initramfs {
    pub(crate) fn new() -> Self {
        Self { archive: Vec::new(), paths: BTreeSet::new() }
    }

    /// Adds a file of this machine at the same path.
    pub(crate) fn copy(&mut self, path: &Path) {
        let content = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.add(path.to_str().unwrap(), &content);
    }

    /// Adds a program of this machine with the libraries that it loads.
    pub(crate) fn copy_program(&mut self, path: &Path) {
        self.copy(path);
        // A static program has no libraries, and `ldd` fails.
        let output = Command::new("ldd").arg(path).output().unwrap();
        let libraries = String::from_utf8(output.stdout).unwrap();
        for word in libraries.split_ascii_whitespace().filter(|word| word.starts_with('/')) {
            self.copy(Path::new(word));
        }
    }

    /// Adds a file with this content, and the folders above it.
    pub(crate) fn add(&mut self, path: &str, content: &[u8]) {
        let above: Vec<_> = path.match_indices('/').map(|(end, _)| &path[..end]).collect();
        for folder in above.into_iter().filter(|folder| !folder.is_empty()) {
            self.entry(folder, FOLDER, &[]);
        }
        self.entry(path, FILE, content);
    }

    /// The whole archive.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.entry("/TRAILER!!!", 0, &[]);
        self.archive
    }

    /// Adds an entry unless there is one with this path: a magic number and 13 fields of eight
    /// hexadecimal digits, the path, and the content, both padded to four bytes.
    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        if !self.paths.insert(path.to_owned()) {
            return;
        }
        let name = &path[1..];
        let (inode, links) = (self.paths.len(), 1);
        let (length, name_length) = (content.len(), name.len() + 1);
        let header = format!(
            "070701{inode:08x}{mode:08x}{:016x}{links:08x}{:08x}{length:08x}{:032x}{name_length:08x}{:08x}",
            0, 0, 0, 0
        );
        for part in [[header.as_bytes(), name.as_bytes(), &[0]].concat().as_slice(), content] {
            self.archive.write_all(part).unwrap();
            self.archive.resize(self.archive.len().next_multiple_of(4), 0);
        }
    }
}
