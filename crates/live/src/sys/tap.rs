//! TAP interfaces: reading returns frames that the kernel sends, writing delivers frames to the
//! kernel.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;

use libc::c_short;

use super::interface::{control_interface, request};

/// Opens a TAP interface, and creates it if none has the name. Needs `CAP_NET_ADMIN` unless this
/// user owns it.
pub(crate) fn open(name: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options.custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
    let file = options.open("/dev/net/tun")?;
    attach(&file, name)?;
    Ok(file)
}

/// Attaches an open file without an interface to an interface, like [`open`].
pub(crate) fn attach(file: &File, name: &str) -> io::Result<()> {
    let mut request = request(name)?;
    request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as c_short;
    // SAFETY: this request reads a name and flags from an interface request.
    unsafe { control_interface(file.as_fd(), libc::TUNSETIFF, &mut request) }
}
