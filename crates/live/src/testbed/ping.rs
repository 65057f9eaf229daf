//! Series of echo requests. The other host's kernel answers, and both times are measured close to
//! the wire: the clock is read just before the request is sent, and the kernel stamps the answer.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, RawFd};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use tidegate_units::{Span, Time};

use super::bed::address;
use super::plan::Ping;
use crate::clock::{Clock, Since};
use crate::sys::socket;

/// A series in progress.
#[derive(Debug)]
pub(super) struct Series {
    socket: Socket,
    plan: Ping,
    sent: u32,
    request: Vec<u8>,
    /// Departure time of each request that can still be answered, by its number modulo 2^16.
    sent_at: Vec<Since>,
    pub(super) answers: Vec<(Time, Span)>,
}

/// Headers of IP and ICMP.
const HEADERS: u32 = 28;

impl Series {
    /// Prepares a series on a thread in the namespace of the requesting host.
    pub(super) fn new(plan: Ping) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::ICMPV4))?;
        socket.set_nonblocking(true)?;
        socket.set_tos_v4(u32::from(plan.dscp) << 2)?;
        let target = SockAddr::from(std::net::SocketAddrV4::new(address(plan.to), 0));
        socket.connect(&target)?;
        // The first call only enables stamps.
        let _ = socket::arrival(socket.as_fd());
        let mut request = vec![0; (plan.bytes.max(HEADERS) - HEADERS + 8) as usize];
        request[0] = 8; // An echo request; the kernel fills in the checksum and its own number.
        Ok(Self { socket, plan, sent: 0, request, sent_at: Vec::new(), answers: Vec::new() })
    }

    /// Descriptor that can be polled for answers.
    pub(super) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Time of the next request, in the time of the plan.
    pub(super) fn next(&self) -> Option<Time> {
        let is_over = self.plan.count.is_some_and(|count| self.sent >= count);
        let due = self.plan.start + self.plan.every * u64::from(self.sent);
        (!is_over).then_some(due)
    }

    /// Sends the request that is due.
    pub(super) fn send(&mut self) {
        let number = self.sent as u16;
        self.sent = self.sent.saturating_add(1);
        self.request[6..8].copy_from_slice(&number.to_be_bytes());
        let now = Since::now();
        match self.sent_at.get_mut(usize::from(number)) {
            Some(place) => *place = now,
            None => self.sent_at.push(now),
        }
        // A request that cannot be sent counts as not answered.
        let _ = self.socket.send(&self.request);
    }

    /// Takes received answers; `start` is the start of the plan.
    pub(super) fn receive(&mut self, clock: Clock, start: Time) {
        let mut answer = [0; 2_048];
        while let Ok(len) = (&self.socket).read(&mut answer) {
            let is_answer = len >= 8 && answer[0] == 0;
            let number = u16::from_be_bytes([answer[6], answer[7]]);
            let asked = self.sent_at.get(usize::from(number));
            let (Some(asked), true) = (asked, is_answer) else {
                continue;
            };
            let Ok(arrival) = socket::arrival(self.socket.as_fd()) else {
                continue;
            };
            let at = clock.now() - Since::now().stamp(arrival);
            let round_trip = asked.until(arrival);
            self.answers.push((Time::ZERO + (at - start), round_trip));
        }
    }
}
