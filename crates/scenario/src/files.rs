//! Source of a scenario's files.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidegate_sim::workload::{LineError, List};

use crate::text::document::folder;
use crate::text::problem::{Location, Problem};

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

/// Files that a scenario refers to, each read once, and its lists of flows.
#[derive(Debug)]
pub(crate) struct Listed<'a> {
    files: &'a dyn Files,
    /// By path: absolute name and text.
    texts: RefCell<BTreeMap<PathBuf, (PathBuf, Arc<str>)>>,
    lists: RefCell<ListsRead>,
}

/// Flow lists that were read, by text and group.
type ListsRead = BTreeMap<(Arc<str>, u8), List>;

impl<'a> Listed<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self { files, texts: RefCell::default(), lists: RefCell::default() }
    }

    /// No files.
    pub(crate) fn none() -> Self {
        Self::new(&NoFiles)
    }

    /// Absolute name and text of a file, named relative to the file of the location.
    pub(crate) fn read(&self, name: &str, loc: &Location) -> Result<(PathBuf, Arc<str>), Problem> {
        let Some(folder) = folder(loc) else {
            let message = format!("the file `{name}` cannot be read from here");
            let help = "only a scenario read from a file can name other files";
            return Err(Problem::new(message).at(loc).help(help));
        };
        let path = folder.join(name);
        if let Some(known) = self.texts.borrow().get(&path) {
            return Ok(known.clone());
        }
        let (real, text) = self.files.read(&path, self.files.longest()).map_err(|why| {
            let problem = Problem::new(format!("`{}` cannot be read: {why}", path.display()));
            let is_long = why.starts_with("it is longer than");
            let help = "raise the limit: --max-file 1GiB, or max_file=\"1GiB\" in Python";
            if is_long { problem.at(loc).help(help) } else { problem.at(loc) }
        })?;
        let file = (real, Arc::from(text));
        self.texts.borrow_mut().insert(path, file.clone());
        Ok(file)
    }

    /// Names of the files read: as requested, and absolute.
    pub(crate) fn names(&self) -> BTreeMap<PathBuf, PathBuf> {
        let texts = self.texts.borrow();
        texts.iter().map(|(asked, (real, _))| (asked.clone(), real.clone())).collect()
    }

    /// All files read: absolute names and texts.
    pub(crate) fn read_so_far(&self) -> BTreeMap<PathBuf, Arc<str>> {
        self.texts.borrow().values().cloned().collect()
    }

    /// The flows of a list, all of one group.
    pub(crate) fn list(&self, text: &Arc<str>, group: u8) -> Result<List, LineError> {
        let key = (Arc::clone(text), group);
        if let Some(list) = self.lists.borrow().get(&key) {
            return Ok(list.clone());
        }
        let mut list = List::parse(text)?;
        list.set_group(group);
        self.lists.borrow_mut().insert(key, list.clone());
        Ok(list)
    }
}
