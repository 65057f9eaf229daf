use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::answer::{Answer, Body};
use crate::connections::{Connection, Connections};
use crate::guard::Guard;
use crate::request::Request;

/// Part of an answer that a client has to read in time.
const PART: usize = 64 << 10;

/// Pause after a failed accept, such as for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Limits of requests and clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most bytes of a request's body.
    pub body: usize,
    /// Time of a client to send its request, and to read each 64 KiB of the answer.
    pub patience: Duration,
}

/// An HTTP server.
#[derive(Debug)]
pub struct Server {
    guard: Guard,
    limits: Limits,
}

impl Server {
    /// A server that answers the requests that pass `guard`.
    pub const fn new(guard: Guard, limits: Limits) -> Self {
        Self { guard, limits }
    }

    /// Serves until `is_over`. It checks that after each connection: shut the listener down to wake
    /// it.
    ///
    /// `answer` runs on a thread of its own for each request. Its second argument tells whether the
    /// client has closed the connection. Without an answer, the server closes the connection.
    pub fn run<F>(&self, listener: &TcpListener, is_over: &AtomicBool, answer: F)
    where
        F: Fn(&Request, &dyn Fn() -> bool) -> Option<Answer> + Sync,
    {
        let (connections, answer) = (&Connections::default(), &answer);
        thread::scope(|scope| {
            while !is_over.load(Ordering::Acquire) {
                let Ok((stream, _)) = listener.accept() else {
                    if !is_over.load(Ordering::Acquire) {
                        thread::sleep(PAUSE);
                    }
                    continue;
                };
                let Ok(connection) = connections.take(&stream) else {
                    continue;
                };
                // A client that goes away is no error.
                let talk = move || drop(self.talk(&stream, connection, answer));
                // Without a thread the connection is closed.
                drop(thread::Builder::new().name("http".into()).spawn_scoped(scope, talk));
            }
            connections.close();
        });
    }

    /// Reads a request and answers it.
    fn talk<F>(
        &self,
        stream: &TcpStream,
        mut connection: Connection<'_>,
        answer: &F,
    ) -> io::Result<()>
    where
        F: Fn(&Request, &dyn Fn() -> bool) -> Option<Answer> + Sync,
    {
        let full = |why| Answer::text("503 Service Unavailable", why);
        let request = Request::read(&mut self.timed(stream), self.limits.body)?;
        let has_body = !matches!(&request, Ok(request) if request.method == "HEAD");
        let mut answer = match request {
            Err(refused) => refused.answer(),
            Ok(request) => match self.guard.refusal(&request) {
                Some(refused) => refused,
                None if !connection.admit() => full("too many requests: try again"),
                None => match answer(&request, &|| is_closed(stream)) {
                    Some(answer) => answer,
                    None => return Ok(()),
                },
            },
        };
        if matches!(answer.body, Body::Stream(_)) && !connection.stream() {
            answer = full("too many pages follow runs: close one");
        }
        if matches!(answer.body, Body::Bytes(_)) {
            connection.answer();
        }
        self.send(stream, answer.head().as_bytes())?;
        match answer.body {
            _ if !has_body => Ok(()),
            Body::Bytes(bytes) => self.send(stream, &bytes),
            Body::Stream(mut next) => loop {
                self.send(stream, &next())?;
            },
        }
    }

    fn send(&self, stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
        bytes.chunks(PART).try_for_each(|part| self.timed(stream).write_all(part))
    }

    fn timed<'a>(&self, stream: &'a TcpStream) -> Timed<'a> {
        Timed { stream, until: Instant::now() + self.limits.patience }
    }
}

/// Whether the client has closed the connection.
fn is_closed(stream: &TcpStream) -> bool {
    let peeked = stream.set_nonblocking(true).and_then(|()| {
        let peeked = stream.peek(&mut [0]);
        stream.set_nonblocking(false).and(peeked)
    });
    match peeked {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}

/// A stream with a deadline.
struct Timed<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl Timed<'_> {
    /// Time that is left, as a timeout of the stream.
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(bytes)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
