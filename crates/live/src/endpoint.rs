//! Counters of a running switch over HTTP: `/counters` as JSON, `/metrics` for Prometheus.
//!
//! The threads of [`tidegate_http`] answer clients. The switch's thread makes the counters: only on
//! request, once for all clients that wait, and in at most a hundredth of its time.

use std::fmt::Debug;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use socket2::SockRef;
use tidegate_http::{Answer, Guard, Limits, Request, Server};
use tidegate_units::{Span, Time};

use crate::clock::Clock;
use crate::counters::Counters;
use crate::error::Error;
use crate::prometheus;
use crate::sys::process;

/// A bound address that is not served yet. Binding may need a privilege; serving needs none, and
/// threads that start after a process has dropped its privileges never have any.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    guard: Guard,
}

/// A running server of counters. It closes when this value is dropped.
#[derive(Debug)]
pub struct Endpoint {
    shared: Arc<Shared>,
    listener: Arc<TcpListener>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
    clock: Clock,
    /// Time before which the switch makes no counters, in picoseconds of the clock.
    rest: AtomicU64,
}

#[derive(Debug, Default)]
struct Shared {
    is_wanted: AtomicBool,
    is_over: AtomicBool,
    latest: Mutex<Latest>,
    ready: Condvar,
}

/// The last counters that the switch made.
#[derive(Debug, Default)]
struct Latest {
    /// How many times it has made some.
    number: u64,
    pages: Option<Arc<dyn Pages>>,
}

/// Pages of an endpoint.
pub trait Pages: Debug + Send + Sync {
    /// The page `/counters`.
    fn json(&self) -> String;

    /// The page `/metrics`, in Prometheus' text format.
    fn metrics(&self) -> String;
}

impl Pages for Counters {
    fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn metrics(&self) -> String {
        prometheus::text(self)
    }
}

impl Listener {
    /// Binds an address; port 0 takes any free port. Clients may name the server by any address, by
    /// `localhost` and by `names`.
    pub fn bind(address: SocketAddr, names: &[String]) -> Result<Self, Error> {
        let bound = TcpListener::bind(address).and_then(|listener| {
            let address = listener.local_addr()?;
            Ok(Self { socket: listener, address, guard: Guard::open(names) })
        });
        bound.map_err(Error::system(format!("listen at {address}"), "CAP_NET_BIND_SERVICE"))
    }

    /// Starts to serve.
    pub fn start(self) -> Result<Endpoint, Error> {
        let (shared, listener) = (Arc::<Shared>::default(), Arc::new(self.socket));
        let server = Server::new(self.guard, Limits { body: 0, patience: TIMEOUT });
        let thread = thread::Builder::new().name("endpoint".into());
        let thread = thread.spawn({
            let (shared, listener) = (Arc::clone(&shared), Arc::clone(&listener));
            move || {
                // It fails if there are none to drop. The threads of clients inherit both.
                let _ = process::drop_capabilities();
                process::lower_priority();
                let answer = |request: &Request, _: &dyn Fn() -> bool| Some(shared.answer(request));
                server.run(&listener, &shared.is_over, answer);
            }
        });
        let thread = thread.map_err(Error::system("start a thread", "no capability"))?;
        Ok(Endpoint {
            shared,
            listener,
            address: self.address,
            thread: Some(thread),
            clock: Clock::start(),
            rest: AtomicU64::default(),
        })
    }
}

impl Endpoint {
    /// Serves at an address; port 0 takes any free port. Clients may name the server by any
    /// address, by `localhost` and by `names`.
    pub fn listen(address: SocketAddr, names: &[String]) -> Result<Self, Error> {
        Listener::bind(address, names)?.start()
    }

    /// Address of the server.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    fn rest(&self) -> Time {
        Time::from_ps(self.rest.load(Ordering::Relaxed))
    }

    fn set_rest(&self, until: Time) {
        self.rest.store(until.as_ps(), Ordering::Relaxed);
    }

    /// Makes counters if a client waits for them. Call it several times a second.
    pub fn serve<P: Pages + 'static>(&self, counters: impl FnOnce() -> P) {
        let began = self.clock.now();
        if began < self.rest() {
            return;
        }
        if self.shared.is_wanted.swap(false, Ordering::Acquire) {
            let pages = Arc::new(counters());
            let now = self.clock.now();
            self.set_rest(now + rest_after(now - began));
            let mut latest = self.shared.lock();
            latest.number += 1;
            latest.pages = Some(pages);
            self.shared.ready.notify_all();
        }
    }
}

/// Pause after making counters at this cost: many ports with many queues have many counters, and
/// the switch forwards nothing meanwhile. Clients wait for two seconds.
fn rest_after(cost: Span) -> Span {
    (cost * 99).min(Span::from_secs(1))
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        // A client checks `is_over` under the lock before it waits.
        drop(self.shared.lock());
        self.shared.ready.notify_all();
        // Wakes the thread that accepts.
        let woken = SockRef::from(&*self.listener).shutdown(Shutdown::Both);
        if let (Ok(()), Some(thread)) = (woken, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &Request) -> Answer {
        let (kind, render): (_, fn(&dyn Pages) -> String) = match request.path.as_str() {
            "counters" => ("application/json", |pages| pages.json()),
            "metrics" => ("text/plain; version=0.0.4; charset=utf-8", |pages| pages.metrics()),
            "" => {
                return Answer::text("200 OK", "counters: /counters (JSON), /metrics (Prometheus)");
            }
            _ => return Answer::text("404 Not Found", "page not found: use /counters or /metrics"),
        };
        match self.next() {
            Some(pages) => Answer::new(kind, render(&*pages).into_bytes()),
            None => Answer::text("503 Service Unavailable", "the switch sent no counters"),
        }
    }

    /// Waits for the next counters.
    fn next(&self) -> Option<Arc<dyn Pages>> {
        let latest = self.lock();
        let number = latest.number;
        self.is_wanted.store(true, Ordering::Release);
        let waits =
            |latest: &mut Latest| latest.number == number && !self.is_over.load(Ordering::Acquire);
        let waited = self.ready.wait_timeout_while(latest, TIMEOUT, waits);
        let (latest, _) = waited.unwrap_or_else(PoisonError::into_inner);
        latest.pages.clone().filter(|_| latest.number != number)
    }
}

/// Time of a client to send its request, and of the switch to make counters.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Fetches the JSON counters of the switch whose endpoint is at `address`.
pub fn fetch(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(2 * TIMEOUT))?;
    stream.write_all(format!("GET /counters HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
    let mut text = String::new();
    stream.take(1 << 24).read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    // Older switches answer HTTP/1.0.
    if ["HTTP/1.1 200 ", "HTTP/1.0 200 "].iter().any(|line| head.starts_with(line)) {
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

    /// Serves during an action.
    fn during<T: Send>(action: impl FnOnce(SocketAddr) -> T + Send) -> T {
        let endpoint = Endpoint::listen(loopback(), &[]).unwrap();
        let address = endpoint.address();
        thread::scope(|scope| {
            let acting = scope.spawn(move || action(address));
            while !acting.is_finished() {
                endpoint.serve(|| Counters { uptime_ns: 7, ..Counters::default() });
                thread::park_timeout(Duration::from_millis(2));
            }
            acting.join().unwrap()
        })
    }

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // Unread bytes of a long request may reset the connection after the answer.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn counters_are_served_as_json_and_for_prometheus() {
        let (json, text) = during(|address| {
            let text = ask(address, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
            (fetch(address).unwrap(), text)
        });
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["uptime_ns"], 7);
        assert!(text.contains("\r\n\r\n# HELP tidegate_uptime_seconds"), "{text}");
    }

    #[test]
    fn invalid_requests_get_an_error_and_the_next_client_an_answer() {
        let long = vec![b'x'; 20_000];
        let cases: [(&[u8], &str); 8] = [
            (b"\xFF\x00\xFE\r\n\r\n", "HTTP/1.1 400"),
            (b"GET\r\n\r\n", "HTTP/1.1 400"),
            (b"POST /metrics HTTP/1.0\r\n\r\n", "HTTP/1.1 405"),
            (b"POST /metrics HTTP/1.0\r\nContent-Length: 1\r\n\r\n", "HTTP/1.1 413"),
            (b"GET /secret HTTP/1.0\r\n\r\n", "HTTP/1.1 404"),
            (b"GET /../../etc/passwd HTTP/1.0\r\n\r\n", "HTTP/1.1 404"),
            (b"HEAD /counters?x HTTP/1.0\r\n\r\n", "HTTP/1.1 200"),
            (&long, "HTTP/1.1 431"),
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
    fn counters_cost_at_most_a_hundredth_of_the_time() {
        assert_eq!(rest_after(Span::from_us(20)), Span::from_us(1_980));
        assert_eq!(rest_after(Span::from_ms(30)), Span::from_secs(1));
        assert_eq!(rest_after(Span::MAX), Span::from_secs(1));
        // After costly counters, the next client waits until the pause is over.
        let endpoint = Endpoint::listen(loopback(), &[]).unwrap();
        let mut made = 0;
        let mut ask = |endpoint: &Endpoint| {
            endpoint.shared.is_wanted.store(true, Ordering::Release);
            endpoint.serve(|| {
                made += 1;
                Counters::default()
            });
            made
        };
        assert_eq!(ask(&endpoint), 1);
        endpoint.set_rest(Time::MAX);
        assert_eq!(ask(&endpoint), 1);
        assert!(endpoint.shared.is_wanted.load(Ordering::Acquire));
        endpoint.set_rest(Time::ZERO);
        assert_eq!(ask(&endpoint), 2);
    }

    #[test]
    fn client_learns_that_the_switch_makes_no_counters() {
        let endpoint = Endpoint::listen(loopback(), &[]).unwrap();
        let answer = ask(endpoint.address(), b"GET /counters HTTP/1.0\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    }

    #[test]
    fn silent_clients_do_not_block_others() {
        during(|address| {
            let connect = |_| TcpStream::connect(address).unwrap();
            let idle: Vec<_> = (0..500).map(connect).collect();
            assert!(fetch(address).is_ok());
            drop(idle);
        });
    }

    #[test]
    fn clients_that_do_not_read_do_not_block_others() {
        during(|address| {
            let deaf = (0..500).map(|_| {
                let mut stream = TcpStream::connect(address).unwrap();
                // A connection that was replaced meanwhile cannot write.
                let _ = stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n");
                stream
            });
            let deaf: Vec<_> = deaf.collect();
            // Refused while all admitted requests wait for counters.
            let is_answered = |_| {
                thread::park_timeout(Duration::from_millis(2));
                fetch(address).is_ok()
            };
            assert!((0..50).any(is_answered));
            drop(deaf);
        });
    }

    #[test]
    fn sending_byte_by_byte_does_not_extend_the_deadline() {
        during(|address| {
            let mut stream = TcpStream::connect(address).unwrap();
            // Ends only when the server closes the connection.
            while stream.write_all(b"x").is_ok() {
                thread::park_timeout(Duration::from_millis(50));
            }
            assert!(fetch(address).is_ok());
        });
    }

    #[test]
    fn clients_that_ask_at_once_share_counters() {
        let endpoint = Endpoint::listen(loopback(), &[]).unwrap();
        let address = endpoint.address();
        let mut made = 0;
        let answers = thread::scope(|scope| {
            let asking: Vec<_> = (0..20).map(|_| scope.spawn(move || fetch(address))).collect();
            // All clients have asked by then.
            thread::park_timeout(Duration::from_millis(300));
            while !asking.iter().all(thread::ScopedJoinHandle::is_finished) {
                endpoint.serve(|| {
                    made += 1;
                    Counters::default()
                });
                thread::park_timeout(Duration::from_millis(2));
            }
            let answers = asking.into_iter().map(|client| client.join().unwrap());
            answers.flatten().count()
        });
        assert_eq!(answers, 20);
        assert!(made < 20, "{made}");
    }
}
