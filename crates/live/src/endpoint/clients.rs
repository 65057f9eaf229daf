//! Clients of an endpoint, all on one thread.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mio::event::Event;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use tidegate_units::{Span, Time};

use super::http::{self, Form, Reply};
use super::{Pages, Shared, TIMEOUT};
use crate::clock::Clock;

/// Most simultaneous clients.
const MOST: usize = 64;

/// Longest head of a request.
const LONGEST: usize = 4_096;

/// Pause before the next client is accepted after the system refused one.
const PAUSE: Span = Span::from_ms(100);

pub(super) const LISTENER: Token = Token(MOST);
pub(super) const WAKER: Token = Token(MOST + 1);

/// All clients.
pub(super) struct Clients {
    poll: Poll,
    listener: TcpListener,
    names: Vec<String>,
    shared: Arc<Shared>,
    clock: Clock,
    places: [Option<Client>; MOST],
    /// Time of the next attempt to accept, if a client may be waiting.
    retry: Option<Time>,
}

struct Client {
    stream: TcpStream,
    state: State,
    /// Time at which the client is disconnected or, while it waits for counters, answered without
    /// them.
    deadline: Time,
}

enum State {
    /// Reading the request; the bytes so far.
    Asking(Vec<u8>),
    /// Waiting for counters.
    Waiting(Form),
    /// Sending the answer, of which this many bytes are sent.
    Answered(Vec<u8>, usize),
}

impl Clients {
    pub(super) fn new(
        poll: Poll,
        listener: TcpListener,
        names: Vec<String>,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            poll,
            listener,
            names,
            shared,
            clock: Clock::start(),
            places: [const { None }; MOST],
            retry: None,
        }
    }

    /// Serves until the endpoint is closed.
    pub(super) fn serve(&mut self) {
        let mut events = Events::with_capacity(2 * MOST);
        loop {
            // On failure, such as by a signal, there are no events.
            let _ = self.poll.poll(&mut events, self.timeout());
            if self.shared.is_over.load(Ordering::Acquire) {
                return;
            }
            let mut has_callers = self.retry.is_some();
            for event in &events {
                match event.token() {
                    LISTENER => has_callers = true,
                    WAKER => {}
                    Token(place) => self.advance(place, event),
                }
            }
            if has_callers {
                self.accept();
            }
            if let Some(counters) = self.shared.take() {
                self.answer(&*counters);
            }
            self.expire();
        }
    }

    /// Time until the next deadline.
    fn timeout(&self) -> Option<Duration> {
        let deadlines = self.places.iter().flatten().map(|client| client.deadline);
        let next = deadlines.chain(self.retry).min()?;
        let now = self.clock.now();
        if next <= now {
            return Some(Duration::ZERO);
        }
        // Rounded up, so that the deadline has passed.
        Some(Duration::from_nanos((next - now).as_ns()) + Duration::from_millis(1))
    }

    /// Accepts waiting clients, but at most as many as there are places: earlier ones come first.
    fn accept(&mut self) {
        self.retry = None;
        for _ in 0..MOST {
            match self.listener.accept() {
                Ok((stream, _)) => self.admit(stream),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return,
                    io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted => {}
                    _ => {
                        // May pass, for example too many open files.
                        self.retry = Some(self.clock.now() + PAUSE);
                        return;
                    }
                },
            }
        }
        self.retry = Some(self.clock.now());
    }

    /// Admits a client. If all places are taken, it replaces the client that has been slowest to
    /// send its request, or else to read. If all wait for counters, it is refused.
    fn admit(&mut self, mut stream: TcpStream) {
        let free = self.places.iter().position(Option::is_none);
        let Some(place) = free.or_else(|| self.slowest()) else {
            return;
        };
        let registry = self.poll.registry();
        let interest = Interest::READABLE | Interest::WRITABLE;
        if registry.register(&mut stream, Token(place), interest).is_ok() {
            self.places[place] = Some(Client {
                stream,
                state: State::Asking(Vec::new()),
                deadline: self.clock.now() + TIMEOUT,
            });
        }
    }

    fn slowest(&self) -> Option<usize> {
        let places = self.places.iter().enumerate();
        let slow = places.filter_map(|(place, client)| {
            let client = client.as_ref()?;
            let rank = match client.state {
                State::Asking(_) => 0,
                State::Answered(..) => 1,
                State::Waiting(_) => return None,
            };
            Some((rank, client.deadline, place))
        });
        slow.min().map(|(_, _, place)| place)
    }

    /// Reads from or writes to a client, which may end then.
    fn advance(&mut self, place: usize, event: &Event) {
        let Some(client) = self.places.get_mut(place).and_then(Option::as_mut) else {
            return;
        };
        let mut is_over = event.is_error();
        if let State::Asking(head) = &mut client.state {
            match read(&mut client.stream, head) {
                Ok(false) => {}
                Ok(true) => match http::reply(head, &self.names) {
                    Reply::Now(bytes) => client.state = State::Answered(bytes, 0),
                    Reply::Counters(form) => {
                        client.state = State::Waiting(form);
                        self.shared.is_wanted.store(true, Ordering::Release);
                    }
                },
                Err(_) => is_over = true,
            }
        }
        if is_over || client.write() {
            self.places[place] = None;
        }
    }

    /// Answers all clients waiting for counters.
    fn answer(&mut self, counters: &dyn Pages) {
        for place in &mut self.places {
            if let Some(client) = place
                && let State::Waiting(form) = client.state
            {
                client.state = State::Answered(form.answer(counters), 0);
                client.deadline = self.clock.now() + TIMEOUT;
                if client.write() {
                    *place = None;
                }
            }
        }
    }

    /// Disconnects clients past their deadline, and answers those whose counters did not come.
    fn expire(&mut self) {
        let now = self.clock.now();
        for place in &mut self.places {
            let Some(client) = place.as_mut().filter(|client| client.deadline <= now) else {
                continue;
            };
            if let State::Waiting(_) = client.state {
                client.state = State::Answered(http::no_counters(), 0);
                client.deadline = now + TIMEOUT;
                if !client.write() {
                    continue;
                }
            }
            *place = None;
        }
    }
}

impl Client {
    /// Sends pending bytes. Returns whether the client is finished.
    fn write(&mut self) -> bool {
        let State::Answered(bytes, sent) = &mut self.state else {
            return false;
        };
        loop {
            match self.stream.write(&bytes[*sent..]) {
                Ok(len) if len > 0 => *sent += len,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => {
                    // The end, or an error after which nothing can be sent.
                    let _ = self.stream.shutdown(Shutdown::Write);
                    return true;
                }
            }
        }
    }
}

/// Reads available bytes of a request. Returns whether it is complete enough to answer.
fn read(stream: &mut TcpStream, head: &mut Vec<u8>) -> io::Result<bool> {
    let mut bytes = [0; 512];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return Ok(true),
            Ok(len) => head.extend_from_slice(&bytes[..len]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if head.len() > LONGEST || head.windows(4).any(|window| window == b"\r\n\r\n") {
            return Ok(true);
        }
    }
}
