//! As much of HTTP as pages need: one request a connection, each on a thread of its own, and few of
//! them.
//!
//! Heads are read by `httparse`, which hyper has too. The rest is written by hand: what is answered
//! is a table of pages, and whatever a larger server could do beyond that would have to be
//! forbidden again.

#![expect(
    clippy::disallowed_methods,
    reason = "the program's edge: browsers that are too slow are not waited for"
)]

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::answer::{Answer, Body};
use super::connections::{Connection, Connections};
use super::guard::Guard;
use super::site::Site;

/// The most bytes of a text, which JSON may make twice as long, of a head and of a body, and lines
/// of a head.
pub(super) const TEXT: usize = 256 << 10;
const HEAD: usize = 16 << 10;
const BODY: usize = 2 * TEXT;
const LINES: usize = 64;

/// What is said of a longer text.
pub(super) const TOO_LONG: &str = "that is too long: a text may have 256 KiB";

/// The time that a request may take to arrive, and each part of an answer to be read.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers until the process ends.
pub(super) fn listen(listener: &TcpListener, site: &Site, guard: &Guard) {
    let connections = &Connections::default();
    thread::scope(|scope| {
        for stream in listener.incoming().flatten() {
            let Ok(connection) = connections.take(&stream) else {
                continue;
            };
            let talk = move || {
                // A browser that goes away in between is no error.
                drop(talk(stream, site, guard, connection));
            };
            // Without a thread it is closed.
            drop(thread::Builder::new().spawn_scoped(scope, talk));
        }
    });
}

/// Reads a request and answers it.
fn talk(
    mut stream: TcpStream,
    site: &Site,
    guard: &Guard,
    mut connection: Connection<'_>,
) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let limit = Instant::now() + PATIENCE;
    let mut slow = Slow { stream: &stream, limit };
    let request = Request::read(&mut slow)?;
    let with_body = !matches!(&request, Ok(request) if request.method == "HEAD");
    let refusal = match &request {
        Err(refused) => Some(Answer::text(refused.0, refused.1)),
        Ok(request) => guard.refusal(request),
    };
    let mut answer = match (&request, refusal) {
        (Ok(request), None) if connection.admit() => site.answer(request),
        (_, Some(refused)) => refused,
        _ => Answer::text("503 Service Unavailable", "too many requests at once: try again"),
    };
    if let Body::Simulation(simulation) = answer.body {
        let Some(bytes) = simulation.answer(&|| is_gone(&stream)) else {
            return Ok(());
        };
        answer.body = Body::Bytes(bytes);
    }
    if matches!(answer.body, Body::Events(_)) && !connection.follow() {
        let full = "too many pages follow runs: close some";
        answer = Answer::text("503 Service Unavailable", full);
    }
    send(&mut stream, answer, with_body)
}

fn send(stream: &mut TcpStream, answer: Answer, with_body: bool) -> io::Result<()> {
    stream.write_all(answer.head().as_bytes())?;
    match answer.body {
        _ if !with_body => Ok(()),
        Body::Bytes(bytes) => stream.write_all(&bytes),
        Body::Simulation(_) => unreachable!("it was made bytes before"),
        Body::Events(mut follower) => loop {
            stream.write_all(follower.next_event().as_bytes())?;
        },
    }
}

/// Whether the browser has hung up.
fn is_gone(stream: &TcpStream) -> bool {
    let looked = stream.set_nonblocking(true).and_then(|()| {
        let said = stream.peek(&mut [0]);
        stream.set_nonblocking(false).and(said)
    });
    match looked {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}

/// A stream that has to have said everything by some time.
struct Slow<'a> {
    stream: &'a TcpStream,
    limit: Instant,
}

impl Read for Slow<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.limit.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(bytes)
    }
}

/// What is asked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without the slash at its beginning, and without what comes after a question mark.
    pub(super) path: String,
    pub(super) query: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// Why a request is none: a status, and words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused(&'static str, &'static str);

const NO_REQUEST: Refused = Refused("400 Bad Request", "this is no request that a browser makes");

impl Request {
    /// Reads a request; a stream that fails or ends before its head does is left alone.
    pub(super) fn read(stream: &mut impl Read) -> io::Result<Result<Self, Refused>> {
        let mut bytes = Vec::new();
        let mut part = [0; 4096];
        let (mut request, length) = loop {
            let count = stream.read(&mut part)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes.extend_from_slice(&part[..count]);
            match Self::head(&bytes) {
                Err(refused) => return Ok(Err(refused)),
                Ok(Some(read)) => break read,
                Ok(None) if bytes.len() > HEAD => {
                    let why = "the head is too long";
                    return Ok(Err(Refused("431 Request Header Fields Too Large", why)));
                }
                Ok(None) => {}
            }
        };
        let whole = match request.length() {
            Err(refused) => return Ok(Err(refused)),
            Ok(whole) => whole,
        };
        request.body = bytes.split_off(length);
        request.body.truncate(whole);
        let read = request.body.len();
        request.body.resize(whole, 0);
        stream.read_exact(&mut request.body[read..])?;
        Ok(Ok(request))
    }

    /// A request without its body, and how long its head is; nothing if that is not over.
    fn head(bytes: &[u8]) -> Result<Option<(Self, usize)>, Refused> {
        let mut lines = [httparse::EMPTY_HEADER; LINES];
        let mut head = httparse::Request::new(&mut lines);
        let length = match head.parse(bytes) {
            Ok(httparse::Status::Complete(length)) if length <= HEAD => length,
            Ok(httparse::Status::Partial) => return Ok(None),
            _ => return Err(NO_REQUEST),
        };
        let target = head.path.unwrap_or_default();
        // No address has others, and a browser takes a backslash for a slash.
        if !target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
            return Err(NO_REQUEST);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Some(path) = path.strip_prefix('/') else {
            return Err(NO_REQUEST);
        };
        let mut headers = Vec::new();
        for line in head.headers {
            let Ok(value) = std::str::from_utf8(line.value) else {
                return Err(NO_REQUEST);
            };
            headers.push((line.name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let request = Self {
            method: head.method.unwrap_or_default().to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            body: Vec::new(),
        };
        Ok(Some((request, length)))
    }

    /// How long the body is.
    fn length(&self) -> Result<usize, Refused> {
        if self.headers("transfer-encoding").next().is_some() {
            let why = "say how long the body is";
            return Err(Refused("411 Length Required", why));
        }
        let mut said = self.headers("content-length");
        match (said.next().map(str::parse::<usize>), said.next()) {
            (None, _) => Ok(0),
            (Some(Ok(length)), None) if length <= BODY => Ok(length),
            (Some(Ok(_)), None) => Err(Refused("413 Content Too Large", TOO_LONG)),
            _ => Err(NO_REQUEST),
        }
    }

    fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        let lines = self.headers.iter();
        lines.filter_map(move |(key, value)| (key == name).then_some(value.as_str()))
    }

    /// Whether a line of the head is there more than once.
    pub(super) fn is_repeated(&self, name: &str) -> bool {
        self.headers(name).nth(1).is_some()
    }

    /// What a line of the head says, if there is one of the kind.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers(name);
        all.next().filter(|_| all.next().is_none())
    }

    /// The values of a name in the query.
    pub(super) fn asked(&self, name: &str) -> impl Iterator<Item = &str> {
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.filter_map(move |(key, value)| (key == name).then_some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Option<Result<Request, Refused>> {
        Request::read(&mut &*text).ok()
    }

    #[test]
    fn a_request_is_read_from_its_head() {
        let text =
            "GET /a/b?c=d&c=e&f=g HTTP/1.1\r\nhOst: localhost:1\r\nCookie: a\r\nCookie: b\r\n\r\n";
        let request = read(text.as_bytes()).unwrap().unwrap();
        assert_eq!(request.method, "GET");
        assert_eq!(request.path, "a/b");
        assert_eq!(request.asked("c").collect::<Vec<_>>(), ["d", "e"]);
        assert_eq!(request.header("host"), Some("localhost:1"));
        assert_eq!(request.header("cookie"), None, "it is there twice");
        for wrong in [
            "GET\r\n\r\n",
            "GET a HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /\\evil.example HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /?a=\\ HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /\u{e9} HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET / HTTP/9\r\n\r\n",
            "GET / HTTP/1.1\r\nno colon\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        ] {
            assert_eq!(read(wrong.as_bytes()), Some(Err(NO_REQUEST)), "{wrong:?}");
        }
        assert_eq!(read(b""), None);
        assert_eq!(read(b"GET / HTTP/1.1\r\nHost"), None);
    }

    #[test]
    fn a_body_is_as_long_as_its_head_says_and_not_too_long() {
        let body = |text: &str| read(text.as_bytes()).map(|read| read.map(|request| request.body));
        let head = "POST / HTTP/1.1\r\nContent-Length: ";
        assert_eq!(body(&format!("{head}3\r\n\r\nabcd")), Some(Ok(b"abc".to_vec())));
        assert_eq!(body(&format!("{head}3\r\n\r\nab")), None);
        assert_eq!(body("POST / HTTP/1.1\r\n\r\nabc"), Some(Ok(Vec::new())));
        let status = |text: &str| body(text).unwrap().unwrap_err().0;
        assert_eq!(status(&format!("{head}{}\r\n\r\n", BODY + 1)), "413 Content Too Large");
        let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(status(chunked), "411 Length Required");
        let long = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(HEAD));
        assert_eq!(status(&long), "431 Request Header Fields Too Large");
    }
}
