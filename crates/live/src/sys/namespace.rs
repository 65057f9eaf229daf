//! Network namespaces of threads.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use super::check;

/// Moves this thread to a new network namespace. Needs `CAP_SYS_ADMIN`.
pub(crate) fn unshare() -> io::Result<()> {
    // SAFETY: no pointers; only the namespace of this thread changes.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// Moves this thread to a network namespace. Needs `CAP_SYS_ADMIN`.
pub(crate) fn enter(namespace: &File) -> io::Result<()> {
    // SAFETY: no pointers; only the namespace of this thread changes.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}
