//! The counters of a running switch over HTTP: `/counters` as JSON, `/metrics` for Prometheus.
//!
//! A thread of its own answers one request at a time, each on its own connection, and gives nobody
//! more than a few seconds. The switch's thread makes the counters, and only when they are asked for.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::clock::Clock;
use crate::counters::Counters;
use crate::error::Error;
use crate::prometheus;
use crate::sys::process;

/// A listening endpoint. It closes when this value is dropped.
#[derive(Debug)]
pub struct Endpoint {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    is_wanted: AtomicBool,
    is_over: AtomicBool,
    latest: Mutex<Option<Counters>>,
    arrived: Condvar,
}

impl Endpoint {
    /// Listens at an address; port 0 is any that is free.
    pub fn listen(address: SocketAddr) -> Result<Self, Error> {
        let failed = || Error::system(format!("listen at {address}"), "CAP_NET_BIND_SERVICE");
        let listener = TcpListener::bind(address).map_err(failed())?;
        let address = listener.local_addr().map_err(failed())?;
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("endpoint".into())
            .spawn(move || answer_all(&listener, &own))
            .map_err(failed())?;
        Ok(Self {
            shared,
            address,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Hands over the counters, if somebody waits for them. To be called some times a second.
    pub fn serve(&self, counters: impl FnOnce() -> Counters) {
        if self.shared.is_wanted.swap(false, Ordering::Acquire) {
            *self.shared.lock() = Some(counters());
            self.shared.arrived.notify_all();
        }
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        // Wakes the thread up, which looks at the flag first.
        let woken = TcpStream::connect_timeout(&self.address, PATIENCE);
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<Counters>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the switch's thread for counters and waits for them.
    fn counters(&self) -> Option<Counters> {
        let mut latest = self.lock();
        *latest = None;
        self.is_wanted.store(true, Ordering::Release);
        let waiting = self
            .arrived
            .wait_timeout_while(latest, PATIENCE, |latest| latest.is_none());
        waiting.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}

/// How long a reader, a writer or the switch may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// The longest head of a request.
const LONGEST: usize = 4_096;

fn answer_all(listener: &TcpListener, shared: &Shared) {
    // If it fails there was nothing to give up.
    let _ = process::drop_capabilities();
    loop {
        let accepted = listener.accept();
        if shared.is_over.load(Ordering::Acquire) {
            return;
        }
        match accepted {
            // Whatever a client does, it harms only itself.
            Ok((stream, _)) => drop(answer(stream, shared)),
            // Such as too many open files: it may pass.
            Err(_) => thread::park_timeout(Duration::from_millis(100)),
        }
    }
}

fn answer(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = read_head(&mut stream)?;
    let (status, kind, body) = respond(&head, || shared.counters());
    let body = if head.starts_with(b"HEAD ") {
        ""
    } else {
        &body
    };
    let answer = format!(
        "HTTP/1.0 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes())
}

/// The request up to its empty line, or as much of it as is answered.
fn read_head(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let clock = Clock::start();
    let mut head = Vec::new();
    let mut bytes = [0; 512];
    let limit = tidegate_units::Span::from_ms(PATIENCE.as_millis() as u64);
    loop {
        let len = stream.read(&mut bytes)?;
        head.extend_from_slice(&bytes[..len]);
        let is_whole = head.windows(4).any(|window| window == b"\r\n\r\n");
        // One that comes byte by byte has no more time than another.
        let is_late = clock.now() - tidegate_units::Time::ZERO > limit;
        if len == 0 || is_whole || is_late || head.len() > LONGEST {
            return Ok(head);
        }
    }
}

/// A status, a kind of content and a body.
fn respond(
    head: &[u8],
    counters: impl FnOnce() -> Option<Counters>,
) -> (&'static str, &'static str, String) {
    const PLAIN: &str = "text/plain; charset=utf-8";
    let line = head.split(|&byte| byte == b'\r' || byte == b'\n').next();
    let line = line.and_then(|line| std::str::from_utf8(line).ok());
    let mut words = line.unwrap_or_default().split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return ("400 Bad Request", PLAIN, "this is no HTTP request\n".into());
    };
    if !matches!(method, "GET" | "HEAD") {
        return (
            "405 Method Not Allowed",
            PLAIN,
            "only GET and HEAD\n".into(),
        );
    }
    let path = path.split('?').next().unwrap_or_default();
    let render: fn(&Counters) -> String = match path {
        "/counters" => |counters| serde_json::to_string(counters).unwrap_or_default(),
        "/metrics" => prometheus::text,
        "/" => {
            let body = "the counters of a switch: /counters (JSON), /metrics (Prometheus)\n";
            return ("200 OK", PLAIN, body.into());
        }
        _ => {
            return (
                "404 Not Found",
                PLAIN,
                "there are /counters and /metrics\n".into(),
            );
        }
    };
    let kind = match path {
        "/counters" => "application/json",
        _ => "text/plain; version=0.0.4; charset=utf-8",
    };
    match counters() {
        Some(counters) => ("200 OK", kind, render(&counters)),
        None => (
            "503 Service Unavailable",
            PLAIN,
            "the switch does not answer\n".into(),
        ),
    }
}

/// Fetches the JSON counters of the switch whose endpoint is at `address`.
pub fn fetch(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(2 * PATIENCE))?;
    stream.write_all(b"GET /counters HTTP/1.0\r\n\r\n")?;
    let mut text = String::new();
    stream.take(1 << 24).read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    if head.starts_with("HTTP/1.0 200 ") {
        Ok(body.to_owned())
    } else {
        let line = head.lines().next().unwrap_or("nothing");
        Err(io::Error::other(format!("the answer was: {line}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loopback() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 0))
    }

    /// Serves until the action is done.
    fn during<T: Send>(action: impl FnOnce(SocketAddr) -> T + Send) -> T {
        let endpoint = Endpoint::listen(loopback()).unwrap();
        let address = endpoint.address();
        thread::scope(|scope| {
            let acting = scope.spawn(move || action(address));
            while !acting.is_finished() {
                endpoint.serve(|| Counters {
                    uptime_ns: 7,
                    ..Counters::default()
                });
                thread::park_timeout(Duration::from_millis(2));
            }
            acting.join().unwrap()
        })
    }

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // What was not read of a long request may reset the connection after the answer.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn counters_are_there_as_json_and_for_prometheus() {
        let (json, text) = during(|address| {
            let text = ask(address, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
            (fetch(address).unwrap(), text)
        });
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["uptime_ns"], 7);
        assert!(
            text.contains("\r\n\r\n# HELP tidegate_uptime_seconds"),
            "{text}"
        );
    }

    #[test]
    fn garbage_gets_an_error_and_the_next_client_an_answer() {
        let cases: [(&[u8], &str); 8] = [
            (b"", "HTTP/1.0 400"),
            (b"\xFF\x00\xFE\r\n\r\n", "HTTP/1.0 400"),
            (b"GET", "HTTP/1.0 400"),
            (b"POST /metrics HTTP/1.0\r\n\r\n", "HTTP/1.0 405"),
            (b"GET /secret HTTP/1.0\r\n\r\n", "HTTP/1.0 404"),
            (b"GET /../../etc/passwd HTTP/1.0\r\n\r\n", "HTTP/1.0 404"),
            (b"HEAD /counters?x HTTP/1.0\r\n\r\n", "HTTP/1.0 200"),
            (&[b'x'; 3_000], "HTTP/1.0 400"),
        ];
        during(|address| {
            for (request, expected) in cases {
                let answer = ask(address, request);
                assert!(answer.starts_with(expected), "{expected}: {answer}");
            }
            drop(TcpStream::connect(address).unwrap());
            assert!(fetch(address).is_ok());
        });
    }

    #[test]
    fn a_switch_that_does_not_answer_is_told() {
        let (status, _, _) = respond(b"GET /counters HTTP/1.0", || None);
        assert!(status.starts_with("503"));
    }
}
