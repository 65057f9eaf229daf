//! TAP interfaces: what the kernel sends on one can be read, what is written to it the kernel
//! receives.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;

use libc::c_short;

use super::interface::{control_interface, request};

/// Opens a TAP interface, which is made if there is none of the name. Needs `CAP_NET_ADMIN` for
/// one that this user does not own.
pub(crate) fn open(name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options.custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    let file = options.open("/dev/net/tun")?;
    attach(&file, name)?;
    Ok(file)
}

/// Joins an open file that has no interface, or none any more, to one, as [`open`] does.
pub(crate) fn attach(file: &File, name: &str) -> io::Result<()> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as c_short;
    // SAFETY: this request reads a name and flags from an interface request.
    unsafe { control_interface(file.as_fd(), libc::TUNSETIFF, &mut request) }
}
