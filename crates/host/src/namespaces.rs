//! Network namespaces of this machine that are visible to this process: namespaces of processes,
//! named ones, and ones that a process holds open.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::Error;
use crate::kernel::numbers;

/// Folder of named namespaces.
const NAMED: &str = "/run/netns";

/// One file of each network namespace, by its number.
pub fn all() -> BTreeMap<u64, File> {
    let mut found = BTreeMap::new();
    let mut add = |path: &Path| {
        if let Ok(file) = File::open(path)
            && let Ok(data) = file.metadata()
        {
            found.entry(data.ino()).or_insert(file);
        }
    };
    add(Path::new("/proc/thread-self/ns/net"));
    for process in numbers(Path::new("/proc")) {
        for path in of_process(process) {
            add(&path);
        }
    }
    for entry in fs::read_dir(NAMED).into_iter().flatten().flatten() {
        add(&entry.path());
    }
    found
}

/// Namespaces that a process is in or holds open.
fn of_process(process: u32) -> Vec<PathBuf> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let threads = numbers(&folder.join("task"));
    let mut paths: Vec<_> =
        threads.map(|thread| folder.join(format!("task/{thread}/ns/net"))).collect();
    let files = fs::read_dir(folder.join("fd")).into_iter().flatten().flatten();
    let is_namespace = |path: &PathBuf| {
        fs::read_link(path).is_ok_and(|target| target.to_string_lossy().starts_with("net:["))
    };
    paths.extend(files.map(|file| file.path()).filter(is_namespace));
    paths
}

/// Runs `action` on a thread within a namespace.
pub fn within<T: Send>(
    namespace: &File,
    action: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let kind = Some(LinkNameSpaceType::Network);
            let entered = move_into_link_name_space(namespace.as_fd(), kind);
            entered.map_err(Error::system("enter a network namespace"))?;
            action()
        });
        match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
