//! Locks of interfaces, so that no two switches forward the frames of one. Each is a name in the
//! network namespace (`@tidegate-live/eth0` in `/proc/net/unix`), which the kernel releases when
//! the process ends, however it ends.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::{fs, process};

use crate::error::Error;

/// Lock of an interface in the network namespace of the thread that made it.
#[derive(Debug)]
pub(crate) struct Lock {
    _name: UnixDatagram,
    /// A name with the number of the process, for the error of another.
    _holder: Option<UnixDatagram>,
}

impl Lock {
    /// Locks an interface, or names the process that has it.
    pub(crate) fn new(interface: &str) -> Result<Self, Error> {
        let name = format!("tidegate-live/{interface}");
        let lock = bind(&name).map_err(|error| {
            let error = match error.kind() {
                io::ErrorKind::AddrInUse => io::Error::new(error.kind(), another(&name)),
                _ => error,
            };
            Error::system(format!("use interface {interface}"), "no capability")(error)
        })?;
        let holder = bind(&format!("{name}/{}", process::id())).ok();
        Ok(Self { _name: lock, _holder: holder })
    }
}

fn bind(name: &str) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Message about the switch that has a lock.
fn another(name: &str) -> String {
    let sockets = fs::read_to_string("/proc/thread-self/net/unix").unwrap_or_default();
    let process = holder(&sockets, name).map_or_else(String::new, |id| format!(" (process {id})"));
    format!(
        "another switch forwards its frames{process}\n\
         hint: end it first; a second switch would duplicate every frame"
    )
}

/// Process that holds a lock, by the kernel's list of sockets.
fn holder(sockets: &str, name: &str) -> Option<u32> {
    let prefix = format!("@{name}/");
    let mut names = sockets.lines().filter_map(|line| line.split_ascii_whitespace().nth(7));
    names.find_map(|found| found.strip_prefix(&prefix)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found_in_the_list_of_sockets() {
        let sockets = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            00000000ae2a9bb2: 00000003 00000000 00000000 0001 03 18233\n\
            000000003f0c9b6e: 00000002 00000000 00000000 0002 01 1 @tidegate-live/eth1\n\
            000000003f0c9b6f: 00000002 00000000 00000000 0002 01 2 @tidegate-live/eth1/41\n\
            000000003f0c9b70: 00000002 00000000 00000000 0002 01 3 @tidegate-live/eth10/42\n";
        assert_eq!(holder(sockets, "tidegate-live/eth1"), Some(41));
        assert_eq!(holder(sockets, "tidegate-live/eth10"), Some(42));
        assert_eq!(holder(sockets, "tidegate-live/eth2"), None);
    }

    #[test]
    fn an_interface_is_locked_until_its_holder_ends() {
        let process = process::id();
        let interface = &format!("test-{process}");
        let first = Lock::new(interface).unwrap();
        let error = Lock::new(interface).unwrap_err().to_string();
        let expected = format!(
            "cannot use interface {interface}: another switch forwards its frames (process {process})\nhint: "
        );
        assert!(error.starts_with(&expected), "{error}");
        drop(first);
        assert!(Lock::new(interface).is_ok());
    }
}
