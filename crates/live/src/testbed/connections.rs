//! TCP connections between hosts, with both ends in this process: bytes read by a receiver belong
//! to the flow that its sender is sending.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::AsFd;

use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry, Token};
use socket2::{Domain, Protocol, Socket, Type};
use tidegate_units::{Span, Time};

use super::bed::address;
use super::plan::Flow;
use crate::namespace::Namespace;
use crate::sys::socket;

/// Port at which hosts listen.
const PORT: u16 = 5001;

/// Bytes written or read at once.
const BLOCK: usize = 1 << 18;

/// Bytes that a paced application hands over at a time: two segments.
const PORTION: u64 = 2 * 1460;

/// All connections of a run.
pub(super) struct Connections<'a> {
    hosts: &'a [Namespace],
    registry: Registry,
    /// First token of connections.
    first_token: usize,
    list: Vec<Option<Connection>>,
    /// By address of the sender, until its receiver is known.
    waiting: BTreeMap<SocketAddr, usize>,
    idle: BTreeMap<(u16, u16, u8), Vec<usize>>,
    block: Box<[u8]>,
}

struct Connection {
    sender: TcpStream,
    receiver: Option<TcpStream>,
    path: (u16, u16, u8),
    job: Option<Job>,
    /// Segments retransmitted for earlier flows.
    retransmissions: u32,
}

/// A flow on a connection.
struct Job {
    number: usize,
    flow: Flow,
    started_at: Time,
    written: u64,
    received: u64,
    /// Whether the kernel accepts no more at present; it signals when it does.
    is_blocked: bool,
}

/// Bytes that arrived for a flow.
pub(super) struct Arrived {
    pub(super) number: usize,
    pub(super) bytes: u64,
    /// Segments retransmitted, if these were the flow's last bytes.
    pub(super) finished: Option<u32>,
}

/// Listens on a thread in the namespace of a host.
pub(super) fn listen(host: u16) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::from((address(host), PORT)).into())?;
    socket.listen(1_024)?;
    Ok(TcpListener::from_std(socket.into()))
}

impl<'a> Connections<'a> {
    pub(super) fn new(hosts: &'a [Namespace], registry: Registry, first_token: usize) -> Self {
        Self {
            hosts,
            registry,
            first_token,
            list: Vec::new(),
            waiting: BTreeMap::new(),
            idle: BTreeMap::new(),
            block: vec![0x54; BLOCK].into(),
        }
    }

    /// Starts opening a connection for a flow.
    pub(super) fn open(&mut self, flow: &Flow) -> io::Result<usize> {
        let namespace = &self.hosts[usize::from(flow.from)];
        namespace.enter().map_err(io::Error::other)?;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        socket.set_tos_v4(u32::from(flow.dscp) << 2)?;
        socket.bind(&SocketAddrV4::new(address(flow.from), 0).into())?;
        let target = SocketAddrV4::new(address(flow.to), PORT).into();
        match socket.connect(&target) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        let mut sender = TcpStream::from_std(socket.into());
        let own = sender.local_addr()?;
        let place = self.list.iter().position(Option::is_none);
        let place = place.unwrap_or(self.list.len());
        let token = Token(self.first_token + 2 * place);
        self.registry.register(&mut sender, token, Interest::WRITABLE)?;
        self.waiting.insert(own, place);
        let connection = Connection {
            sender,
            receiver: None,
            path: (flow.from, flow.to, flow.dscp),
            job: None,
            retransmissions: 0,
        };
        match self.list.get_mut(place) {
            Some(slot) => *slot = Some(connection),
            None => self.list.push(Some(connection)),
        }
        Ok(place)
    }

    /// An idle connection for a flow, if there is one.
    pub(super) fn take_idle(&mut self, flow: &Flow) -> Option<usize> {
        self.idle.get_mut(&(flow.from, flow.to, flow.dscp))?.pop()
    }

    /// Keeps a connection for a later flow.
    pub(super) fn keep(&mut self, place: usize) {
        if let Some(Some(connection)) = self.list.get(place) {
            self.idle.entry(connection.path).or_default().push(place);
        }
    }

    /// Closes a connection.
    pub(super) fn close(&mut self, place: usize) {
        if let Some(slot) = self.list.get_mut(place) {
            *slot = None;
        }
    }

    /// Starts a flow on a connection and hands over available bytes.
    pub(super) fn start(
        &mut self,
        place: usize,
        number: usize,
        flow: Flow,
        now: Time,
    ) -> io::Result<()> {
        if let Some(Some(connection)) = self.list.get_mut(place) {
            connection.job = Some(Job {
                number,
                flow,
                started_at: now,
                written: 0,
                received: 0,
                is_blocked: false,
            });
        }
        self.write(place, now)
    }

    /// Accepts connections waiting at a listener.
    pub(super) fn accept(&mut self, listener: &TcpListener) {
        while let Ok((mut receiver, from)) = listener.accept() {
            let Some(place) = self.waiting.remove(&from) else {
                continue;
            };
            let token = Token(self.first_token + 2 * place + 1);
            let registered = self.registry.register(&mut receiver, token, Interest::READABLE);
            if let (Ok(()), Some(Some(connection))) = (registered, self.list.get_mut(place)) {
                connection.receiver = Some(receiver);
            }
        }
    }

    /// Connection of a token, and the end that it belongs to.
    pub(super) fn of_token(&self, token: Token) -> Option<(usize, End)> {
        let number = token.0.checked_sub(self.first_token)?;
        let end = if number % 2 == 1 { End::Receiver } else { End::Sender };
        Some((number / 2, end))
    }

    /// Hands over as many bytes as the kernel accepts. Errors are the connection's.
    pub(super) fn write(&mut self, place: usize, now: Time) -> io::Result<()> {
        let Some(Some(connection)) = self.list.get_mut(place) else {
            return Ok(());
        };
        let Some(job) = &mut connection.job else {
            return Ok(());
        };
        job.is_blocked = false;
        loop {
            let left = job.allowed(now).saturating_sub(job.written);
            if left == 0 {
                return Ok(());
            }
            let len = left.min(BLOCK as u64) as usize;
            match connection.sender.write(&self.block[..len]) {
                Ok(written) => job.written += written as u64,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    // There is no room, or no connection yet.
                    io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected => {
                        job.is_blocked = true;
                        return Ok(());
                    }
                    _ => return Err(error),
                },
            }
        }
    }

    /// Reads one block. Returns the bytes that arrived, or `None` if there are no more at present.
    pub(super) fn read(&mut self, place: usize) -> Option<Arrived> {
        let connection = self.list.get_mut(place)?.as_mut()?;
        let receiver = connection.receiver.as_mut()?;
        let len = match receiver.read(&mut self.block) {
            Ok(len) if len > 0 => len as u64,
            _ => return None,
        };
        let job = connection.job.as_mut()?;
        job.received += len;
        let is_over = job.flow.bytes.is_some_and(|bytes| job.received >= bytes);
        let mut arrived = Arrived { number: job.number, bytes: len, finished: None };
        if is_over {
            connection.job = None;
            let all = socket::retransmissions(connection.sender.as_fd());
            arrived.finished = Some(all - connection.retransmissions.min(all));
            connection.retransmissions = all;
        }
        Some(arrived)
    }

    /// Time at which a paced application hands over more; `None` if none waits for that.
    pub(super) fn next_portion(&self, place: usize) -> Option<Time> {
        let job = self.list.get(place)?.as_ref()?.job.as_ref()?;
        let rate = job.flow.rate?;
        let is_over = job.flow.bytes.is_some_and(|bytes| job.written >= bytes);
        if is_over || job.is_blocked {
            return None;
        }
        let more = job.written + PORTION;
        let more = job.flow.bytes.map_or(more, |bytes| more.min(bytes));
        // Rates are at least one bit per second, so this is one division.
        let bits = u128::from(more) * 8_000_000_000_000;
        let span = bits / u128::from(rate.as_bps());
        Some(job.started_at + Span::from_ps(u64::try_from(span).unwrap_or(u64::MAX)))
    }

    /// Flows in progress, with the segments retransmitted for each.
    pub(super) fn unfinished(&self) -> impl Iterator<Item = (usize, u32)> {
        let connections = self.list.iter().flatten();
        connections.filter_map(|connection| {
            let all = socket::retransmissions(connection.sender.as_fd());
            let own = all - connection.retransmissions.min(all);
            Some((connection.job.as_ref()?.number, own))
        })
    }
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Receiver,
    Sender,
}

impl Job {
    /// Bytes that the application has handed over by `now`.
    fn allowed(&self, now: Time) -> u64 {
        let bytes = self.flow.bytes.unwrap_or(u64::MAX);
        match self.flow.rate {
            None => bytes,
            Some(rate) => bytes.min(rate.bytes_in(now - self.started_at)),
        }
    }
}
