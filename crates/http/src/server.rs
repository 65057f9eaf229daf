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

#[cfg(test)]
mod tests {
    use std::net::{Shutdown, SocketAddr};
    use std::panic::{self, AssertUnwindSafe};
    use std::sync::Mutex;
    use std::sync::mpsc;

    use super::*;
    use crate::connections::{ADMITTED, ASKING, STREAMS};

    /// Time in which anything that should happen does.
    const SOON: Duration = Duration::from_secs(60);

    const LIMITS: Limits = Limits { body: 1 << 10, patience: SOON };

    /// Serves while `clients` runs, which gets the address.
    fn serve<F>(limits: Limits, answer: F, clients: impl FnOnce(SocketAddr))
    where
        F: Fn(&Request, &dyn Fn() -> bool) -> Option<Answer> + Send + Sync,
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let server = Server::new(Guard::same_origin(address, &[]), limits);
            let (listener, is_over) = (&listener, &is_over);
            scope.spawn(move || server.run(listener, is_over, answer));
            let done = panic::catch_unwind(AssertUnwindSafe(|| clients(address)));
            is_over.store(true, Ordering::Release);
            drop(TcpStream::connect(address));
            done.unwrap();
        });
    }

    fn connect(address: SocketAddr) -> TcpStream {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream
    }

    /// A client that has sent a request with these lines after its host.
    fn ask(address: SocketAddr, request: &str, lines: &str) -> TcpStream {
        let mut stream = connect(address);
        let text = format!("{request} HTTP/1.1\r\nHost: {address}\r\n{lines}\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// The whole answer.
    fn read(mut stream: TcpStream) -> String {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn status(stream: TcpStream) -> u16 {
        read(stream)[9..12].parse().unwrap()
    }

    const HELLO: fn(&Request, &dyn Fn() -> bool) -> Option<Answer> =
        |_, _| Some(Answer::text("200 OK", "hello"));

    #[test]
    fn answer_to_head_has_the_length_of_the_omitted_body() {
        serve(LIMITS, HELLO, |address| {
            let (whole, head) = (read(ask(address, "GET /", "")), read(ask(address, "HEAD /", "")));
            assert_eq!(whole, format!("{head}hello\n"));
            assert!(head.ends_with("Content-Length: 6\r\n\r\n"), "{head}");
        });
    }

    #[test]
    fn requests_beyond_the_limits_and_with_repeated_lines_are_refused() {
        serve(LIMITS, HELLO, |address| {
            let of = |request, lines: &str| status(ask(address, request, lines));
            let json = "Content-Type: application/json\r\n";
            assert_eq!(of("POST /", &format!("{json}Content-Length: 3\r\n\r\nabc")), 200);
            assert_eq!(of("POST /", &format!("{json}Content-Length: 1025\r\n")), 413);
            assert_eq!(of("POST /", &format!("{json}Transfer-Encoding: chunked\r\n")), 411);
            assert_eq!(of("POST /", &format!("{json}{json}")), 400);
            assert_eq!(of("GET /", &format!("Host: {address}\r\n")), 400);
            assert_eq!(of("GET /", "Content-Length: 0\r\nContent-Length: 0\r\n"), 400);
            assert_eq!(of("GET /", &"A: b\r\n".repeat(64)), 400);
            // One byte too many. The server reads all of it, so that its answer arrives.
            let mut long = connect(address);
            let begin = format!("GET / HTTP/1.1\r\nHost: {address}\r\nA: ");
            write!(long, "{begin}{}", "x".repeat((16 << 10) + 1 - begin.len())).unwrap();
            assert_eq!(status(long), 431);
        });
    }

    #[test]
    fn silent_clients_do_not_keep_others_out() {
        serve(LIMITS, HELLO, |address| {
            let mut silent: Vec<TcpStream> = (0..ASKING).map(|_| connect(address)).collect();
            let late = ask(address, "GET /", "");
            // The oldest one makes room.
            assert_eq!(silent[0].read(&mut [0]).unwrap(), 0);
            assert_eq!(status(late), 200);
            write!(silent[1], "GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
            assert_eq!(status(silent.swap_remove(1)), 200);
        });
    }

    #[test]
    fn admitted_requests_have_room_of_their_own() {
        let (begun, begins) = mpsc::channel();
        let begun = Mutex::new(begun);
        let is_free = AtomicBool::new(false);
        let answer = |request: &Request, is_gone: &dyn Fn() -> bool| {
            begun.lock().unwrap().send(()).unwrap();
            while !is_free.load(Ordering::Acquire) && !is_gone() {
                thread::sleep(Duration::from_millis(1));
            }
            HELLO(request, is_gone)
        };
        serve(LIMITS, answer, |address| {
            let admitted: Vec<_> = (0..ADMITTED).map(|_| ask(address, "GET /", "")).collect();
            for _ in &admitted {
                begins.recv_timeout(SOON).unwrap();
            }
            assert_eq!(status(ask(address, "GET /", "")), 503);
            // Silent clients evict each other, and no admitted request.
            let silent: Vec<_> = (0..2 * ASKING).map(|_| connect(address)).collect();
            assert_eq!((&silent[0]).read(&mut [0]).unwrap(), 0);
            is_free.store(true, Ordering::Release);
            assert!(admitted.into_iter().all(|one| status(one) == 200));
        });
    }

    #[test]
    fn streams_leave_room_for_other_requests() {
        let answer = |request: &Request, is_gone: &dyn Fn() -> bool| {
            if request.path != "stream" {
                return HELLO(request, is_gone);
            }
            let next = || {
                thread::sleep(Duration::from_millis(1));
                b".".to_vec()
            };
            let body = Body::Stream(Box::new(next));
            Some(Answer { body, ..Answer::new("text/event-stream", Vec::new()) })
        };
        serve(LIMITS, answer, |address| {
            let streams: Vec<_> = (0..STREAMS).map(|_| ask(address, "GET /stream", "")).collect();
            let has_begun = |mut stream: &TcpStream| {
                let mut begin = [0; 12];
                stream.read_exact(&mut begin).unwrap();
                &begin == b"HTTP/1.1 200"
            };
            assert!(streams.iter().all(has_begun));
            assert_eq!(status(ask(address, "GET /stream", "")), 503);
            assert_eq!(status(ask(address, "GET /", "")), 200);
            // A client that leaves makes room.
            streams[0].shutdown(Shutdown::Both).unwrap();
            let begun = Instant::now();
            while !has_begun(&ask(address, "GET /stream", "")) {
                assert!(begun.elapsed() < SOON);
            }
        });
    }

    #[test]
    fn slow_request_ends_with_the_patience() {
        let limits = Limits { patience: Duration::from_millis(50), ..LIMITS };
        serve(limits, HELLO, |address| {
            let mut slow = connect(address);
            write!(slow, "GET / HTTP/1.1\r\nHost").unwrap();
            assert_eq!(slow.read(&mut [0]).unwrap(), 0, "no answer");
        });
    }
}
