//! A TAP interface: the kernel's side is an interface like any other, this side reads and writes
//! one frame at a time. For hosts without packet sockets, good for about 1 Gb/s.
//!
//! Frames have no arrival time except the time at which they are read. Frames sent by the kernel
//! wait until then in the interface's own queue, which is invisible to schemes. The kernel's side
//! may be in another namespace, where it cannot be queried: a link that is down shows when a frame
//! is sent.
//!
//! An interface that was removed, alone or with its namespace, is attached again when one with its
//! name exists in the namespace in which it was opened. This needs no privilege if the interface
//! has no owner, or is owned by the current user.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use tidegate_units::Time;

use super::{Device, Received, SendError};
use crate::config::Options;
use crate::error::Error;
use crate::sys::{interface, tap};

/// A TAP interface.
#[derive(Debug)]
pub struct Tap {
    file: File,
    name: String,
    /// Whether an interface is attached.
    is_attached: bool,
    /// Socket for queries about the interface.
    control: OwnedFd,
    /// One byte longer than the longest frame, so that longer frames are detected.
    buffer: Box<[u8]>,
    /// Whether the last frame could be sent.
    is_up: bool,
}

impl Tap {
    /// Opens a TAP interface and sets it up. If none with the name exists it is created, and
    /// disappears with this value. Needs `CAP_NET_ADMIN`.
    pub fn open(name: &str, options: &Options) -> Result<Self, Error> {
        let failed = || Error::system(format!("open TAP interface {name}"), "CAP_NET_ADMIN");
        let file = tap::open(name).map_err(failed())?;
        let control = interface::control().map_err(failed())?;
        interface::set_up(control.as_fd(), name).map_err(failed())?;
        interface::disable_offloads(control.as_fd(), name).map_err(failed())?;
        Ok(Self {
            file,
            name: name.into(),
            is_attached: true,
            control,
            is_up: true,
            buffer: vec![0; options.frame_size as usize + 1].into(),
        })
    }

    /// Descriptor that can be polled for frames; without an interface there is nothing to poll.
    pub(crate) fn descriptor(&self) -> RawFd {
        if self.is_attached { self.file.as_raw_fd() } else { -1 }
    }

    /// Attaches to an interface with the name, if there is one again.
    #[cold]
    fn attach(&mut self) {
        // Attaching takes a kernel lock that may be held for long while interfaces are removed.
        let is_there =
            interface::index(self.control.as_fd(), &self.name).is_ok_and(|index| index.is_some());
        self.is_attached = is_there && tap::attach(&self.file, &self.name).is_ok();
        if self.is_attached {
            // Its creator may have set it up; otherwise this needs a privilege.
            let _ = interface::set_up(self.control.as_fd(), &self.name);
            let _ = interface::disable_offloads(self.control.as_fd(), &self.name);
        }
    }
}

impl Device for Tap {
    fn receive(&mut self, now: Time, most: usize, mut take: impl FnMut(Received<'_>)) -> usize {
        let mut count = 0;
        while count < most && self.is_attached {
            let len = match self.file.read(&mut self.buffer) {
                Ok(len) => len,
                Err(error) => {
                    // Otherwise there is no frame now; a link that is down is detected elsewhere.
                    self.is_attached = error.raw_os_error() != Some(libc::EBADFD);
                    break;
                }
            };
            let longest = self.buffer.len() - 1;
            take(Received {
                bytes: &self.buffer[..len.min(longest)],
                tag: None,
                len,
                arrival: now,
                is_unfinished: false,
            });
            count += 1;
        }
        count
    }

    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, SendError> {
        if !self.is_up || !self.is_attached {
            return Err(SendError::LinkDown);
        }
        for (taken, frame) in frames.iter().enumerate() {
            match self.file.write(frame) {
                Ok(_) => {}
                Err(_) if taken > 0 => return Ok(taken),
                Err(error) => {
                    return match error.raw_os_error() {
                        Some(libc::EAGAIN | libc::EINTR | libc::ENOMEM) => Ok(0),
                        Some(libc::ENOBUFS) => Err(SendError::NoBuffer),
                        Some(libc::EIO | libc::EBADFD | libc::ENETDOWN) => {
                            self.is_up = false;
                            Err(SendError::LinkDown)
                        }
                        _ => Err(SendError::Refused),
                    };
                }
            }
        }
        Ok(frames.len())
    }

    fn maintain(&mut self) -> bool {
        if !self.is_attached {
            self.attach();
        }
        // The next frame shows whether it is up again.
        std::mem::replace(&mut self.is_up, true) && self.is_attached
    }
}
