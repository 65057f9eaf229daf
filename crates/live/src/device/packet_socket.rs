//! An interface through a packet socket. Frames come in through a ring shared with the kernel,
//! which needs no system call and has arrival times. They go out directly from their slots, a burst
//! per call.
//!
//! The ring is a queue invisible to schemes: it fills only while the switch is not running. On
//! output the only queue of the kernel is the interface's own.
//!
//! An interface that goes down, or is removed and created again with the same name, is used again
//! as soon as it is back; this needs no privilege.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use tidegate_units::{ConfigError, Time};

use super::{Device, Received, SendError};
use crate::clock::{Clock, Since};
use crate::config::Options;
use crate::error::Error;
use crate::sys::packet::{self, Outcome};
use crate::sys::ring::Ring;
use crate::sys::{interface, packet::socket};

/// A packet socket.
#[derive(Debug)]
pub struct PacketSocket {
    ring: Ring,
    socket: OwnedFd,
    name: String,
    /// Number of the interface that the socket is bound to.
    index: Option<i32>,
    clock: Clock,
    is_up: bool,
    /// Remaining checks before the carrier itself is queried, because flags follow late.
    patience: u32,
    /// Whether a frame was not sent because the interface was down.
    was_down: bool,
    missed: u64,
    unfinished: u64,
}

impl PacketSocket {
    /// Opens an existing interface. Needs `CAP_NET_RAW`, and `CAP_NET_ADMIN` if the interface
    /// merges packets and must stop.
    pub(crate) fn open(name: &str, options: &Options, clock: Clock) -> Result<Self, Error> {
        let action = || format!("open a packet socket for {name}");
        let (index, _) = find(name)?;
        let socket = socket().map_err(Error::system(action(), "CAP_NET_RAW"))?;
        let ring = packet::prepare(socket.as_fd(), options.ring, options.frame_size)
            .map_err(Error::system(action(), "CAP_NET_RAW"))?;
        interface::disable_offloads(socket.as_fd(), name)
            .map_err(Error::system(format!("turn off the offloads of {name}"), "CAP_NET_ADMIN"))?;
        interface::make_room_for_tags(socket.as_fd(), name);
        packet::bind(socket.as_fd(), index).map_err(Error::system(action(), "CAP_NET_RAW"))?;
        let mut device = Self {
            ring,
            socket,
            name: name.into(),
            index: Some(index),
            clock,
            is_up: false,
            patience: 0,
            was_down: false,
            missed: 0,
            unfinished: 0,
        };
        device.is_up = device.is_running();
        Ok(device)
    }

    /// Whether the interface is up and has a carrier. A change of the carrier may be seen up to a
    /// second late.
    fn is_running(&mut self) -> bool {
        let socket = self.socket.as_fd();
        if let Some(is_up) = interface::is_running(socket, &self.name) {
            self.patience = 0;
            return is_up;
        }
        if self.patience > 0 {
            self.patience -= 1;
            return self.is_up;
        }
        self.patience = PATIENCE;
        interface::has_carrier(socket, &self.name)
    }

    /// Descriptor that can be polled for frames.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// Number and usual name of an interface that can be a port. Changes nothing, and needs no
/// privilege.
pub(crate) fn find(name: &str) -> Result<(i32, String), Error> {
    let failed = || Error::system(format!("find interface {name}"), "CAP_NET_RAW");
    let control = interface::control().map_err(failed())?;
    let index = interface::index(control.as_fd(), name)
        .and_then(|index| index.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV)))
        .map_err(failed())?;
    if !interface::is_ethernet(control.as_fd(), name).map_err(failed())? {
        let allowed = "an Ethernet interface, such as one end of a veth pair";
        return Err(ConfigError::out_of_range("interface", name, allowed).into());
    }
    let name = interface::name(control.as_fd(), index).map_err(failed())?;
    Ok((index, name))
}

/// One second, at ten checks per second.
const PATIENCE: u32 = 9;

impl Device for PacketSocket {
    #[inline]
    fn receive(&mut self, _now: Time, most: usize, mut take: impl FnMut(Received<'_>)) -> usize {
        let (mut clocks, clock) = (None, self.clock);
        let mut count = 0;
        let mut unfinished = 0;
        while count < most
            && self.ring.take(|frame| {
                // Reads the clocks once per burst, and not at all without frames.
                let (now, since) = *clocks.get_or_insert_with(|| (clock.now(), Since::now()));
                unfinished += u64::from(frame.is_unfinished);
                take(Received {
                    bytes: frame.bytes,
                    tag: frame.tag,
                    len: frame.len,
                    arrival: now - since.stamp(frame.stamp),
                    is_unfinished: frame.is_unfinished,
                });
            })
        {
            count += 1;
        }
        self.unfinished += unfinished;
        count
    }

    #[inline]
    fn send(&mut self, frames: &[&[u8]]) -> Result<usize, SendError> {
        if !self.is_up {
            return Err(SendError::LinkDown);
        }
        match packet::send(&self.socket, frames) {
            Outcome::Taken(taken) => Ok(taken),
            Outcome::NoBuffer => Err(SendError::NoBuffer),
            Outcome::Refused => Err(SendError::Refused),
            Outcome::Down => {
                self.is_up = false;
                self.was_down = true;
                Err(SendError::LinkDown)
            }
        }
    }

    fn maintain(&mut self) -> bool {
        let socket = self.socket.as_fd();
        self.missed += u64::from(packet::missed(socket));
        let was_down = std::mem::take(&mut self.was_down);
        let went_down = packet::went_down(socket) || was_down;
        let index = interface::index(socket, &self.name).unwrap_or_default();
        let is_another = index.is_some() && self.index.is_some() && index != self.index;
        // The interface is gone, or another one has its name and possibly its number.
        if index != self.index || went_down {
            self.index = index.filter(|&index| packet::bind(socket, index).is_ok());
        }
        self.is_up = self.index.is_some() && self.is_running();
        // The link may have been down meanwhile without a check.
        self.is_up && !is_another && !went_down
    }

    fn missed(&self) -> u64 {
        self.missed
    }

    fn unfinished(&self) -> u64 {
        self.unfinished
    }
}
