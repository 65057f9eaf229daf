//! The note by which a running testbed is found.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process::Stdio;

use crate::sys::process;

/// A file with the id of the process that runs the switch. It is locked while that process, or one
/// that supervises it, is alive: the id alone may belong to another process by now.
#[derive(Debug)]
pub struct Note {
    file: File,
}

impl Note {
    /// Takes the note, or returns `None` if a testbed is running.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let file = options.open(path)?;
        if !process::lock(&file)? {
            return Ok(None);
        }
        file.set_len(0)?;
        Ok(Some(Self { file }))
    }

    /// Writes the process id, once.
    pub fn write(&mut self, process: u32) -> io::Result<()> {
        write!(self.file, "{process}")
    }

    /// The note as another process's standard input: it stays taken until that process has ended,
    /// too.
    pub fn share(&self) -> io::Result<Stdio> {
        self.file.try_clone().map(Stdio::from)
    }

    /// The process id in the note; if the note is taken, the id of the process that runs the
    /// switch, if there is one yet.
    pub fn holder(path: &Path) -> Option<u32> {
        fs::read_to_string(path).ok()?.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_taken_while_a_process_holds_it() {
        let folder = std::env::temp_dir().join(format!("tidegate-note-{}", std::process::id()));
        let path = folder.join("testbed.pid");
        let mut note = Note::take(&path).unwrap().unwrap();
        assert_eq!(Note::holder(&path), None);
        note.write(77).unwrap();
        assert!(Note::take(&path).unwrap().is_none());
        assert_eq!(Note::holder(&path), Some(77));
        let shared = note.share().unwrap();
        drop(note);
        assert!(Note::take(&path).unwrap().is_none(), "another has it");
        drop(shared);
        let note = Note::take(&path).unwrap();
        assert!(note.is_some());
        assert_eq!(Note::holder(&path), None, "the old number is gone");
        fs::remove_dir_all(&folder).unwrap();
    }
}
