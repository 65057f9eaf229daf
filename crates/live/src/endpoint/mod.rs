//! The counters of a running switch over HTTP: `/counters` as JSON, `/metrics` for Prometheus.
//!
//! A separate thread answers up to 64 clients at once, each on a connection of its own, and allows
//! each at most a few seconds. The switch's thread creates the counters only on request, at most
//! once for all clients waiting at the time, and spends at most a hundredth of its time on them.

mod clients;
mod http;

use std::fmt::Debug;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use mio::{Interest, Poll, Waker};
use tidegate_units::{Span, Time};

use crate::clock::Clock;
use crate::counters::Counters;
use crate::error::Error;
use crate::prometheus;
use crate::sys::process;
use clients::Clients;

/// A bound address that is not served yet. Binding may need a privilege; serving needs none, and
/// threads started after a process gave up its privileges never had any.
pub struct Listener {
    clients: Clients,
    shared: Arc<Shared>,
    address: SocketAddr,
    waker: Waker,
}

/// A listening endpoint. It closes when this value is dropped.
#[derive(Debug)]
pub struct Endpoint {
    shared: Arc<Shared>,
    address: SocketAddr,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
    clock: Clock,
    /// Time until which the switch creates no counters, in picoseconds of the clock.
    rest: AtomicU64,
}

#[derive(Debug, Default)]
struct Shared {
    is_wanted: AtomicBool,
    is_over: AtomicBool,
    latest: Mutex<Option<Box<dyn Pages>>>,
}

/// Pages shown by an endpoint.
pub trait Pages: Debug + Send {
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
    /// Binds an address; port 0 selects any free port. Clients may use its address, `localhost` and
    /// `names` as the host.
    pub fn bind(address: SocketAddr, names: &[String]) -> Result<Self, Error> {
        let action = format!("listen at {address}");
        Self::open(address, names).map_err(Error::system(action, "CAP_NET_BIND_SERVICE"))
    }

    fn open(address: SocketAddr, names: &[String]) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let mut listener = mio::net::TcpListener::from_std(listener);
        let poll = Poll::new()?;
        let registry = poll.registry();
        registry.register(&mut listener, clients::LISTENER, Interest::READABLE)?;
        let waker = Waker::new(registry, clients::WAKER)?;
        let shared = Arc::new(Shared::default());
        Ok(Self {
            clients: Clients::new(poll, listener, names.to_vec(), Arc::clone(&shared)),
            shared,
            address,
            waker,
        })
    }

    /// Starts serving.
    pub fn start(self) -> Result<Endpoint, Error> {
        let mut clients = self.clients;
        let thread = thread::Builder::new().name("endpoint".into());
        let thread = thread.spawn(move || {
            // On failure there was nothing to give up.
            let _ = process::drop_capabilities();
            process::lower_priority();
            clients.serve();
        });
        let thread = thread.map_err(Error::system("start a thread", "no capability"))?;
        Ok(Endpoint {
            shared: self.shared,
            address: self.address,
            waker: self.waker,
            thread: Some(thread),
            clock: Clock::start(),
            rest: AtomicU64::default(),
        })
    }
}

impl Endpoint {
    /// Listens at an address; port 0 selects any free port. Clients may use its address,
    /// `localhost` and `names` as the host.
    pub fn listen(address: SocketAddr, names: &[String]) -> Result<Self, Error> {
        Listener::bind(address, names)?.start()
    }

    /// Listening address.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    fn rest(&self) -> Time {
        Time::from_ps(self.rest.load(Ordering::Relaxed))
    }

    fn set_rest(&self, until: Time) {
        self.rest.store(until.as_ps(), Ordering::Relaxed);
    }

    /// Passes the counters on, if a client waits for them. Call it some times a second.
    pub fn serve<P: Pages + 'static>(&self, counters: impl FnOnce() -> P) {
        let began = self.clock.now();
        if began < self.rest() {
            return;
        }
        if self.shared.is_wanted.swap(false, Ordering::Acquire) {
            let pages = Box::new(counters());
            let now = self.clock.now();
            self.set_rest(now + rest_after(now - began));
            *self.shared.lock() = Some(pages);
            // On failure, waiting clients learn that there are no counters.
            let _ = self.waker.wake();
        }
    }
}

/// Time without counters after they took `cost`: many ports with many queues have many counters,
/// and nothing is forwarded while they are created. Clients wait for two seconds.
fn rest_after(cost: Span) -> Span {
    (cost * 99).min(Span::from_secs(1))
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        if let (Ok(()), Some(thread)) = (self.waker.wake(), self.thread.take()) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<Box<dyn Pages>>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the counters passed by the switch.
    fn take(&self) -> Option<Box<dyn Pages>> {
        self.lock().take()
    }
}

/// Time limit of a client for sending and reading, and of the switch for answering.
const TIMEOUT: Span = Span::from_secs(2);

/// Fetches the JSON counters of the switch whose endpoint is at `address`.
pub fn fetch(address: SocketAddr) -> io::Result<String> {
    let timeout = Duration::from_nanos(TIMEOUT.as_ns());
    let mut stream = TcpStream::connect_timeout(&address, timeout)?;
    stream.set_read_timeout(Some(2 * timeout))?;
    stream.write_all(format!("GET /counters HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
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

    /// Serves until the action is finished.
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
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // Unread bytes of a long request may reset the connection after the answer.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    #[test]
    fn counters_are_there_as_json_and_for_prometheus() {
        let (json, text) = during(|address| {
            let text = ask(address, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
            (fetch(address).unwrap(), text)
        });
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["uptime_ns"], 7);
        assert!(text.contains("\r\n\r\n# HELP tidegate_uptime_seconds"), "{text}");
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
    fn counters_cost_a_hundredth_of_the_time_and_arrive_before_the_timeout() {
        assert_eq!(rest_after(Span::from_us(20)), Span::from_us(1_980));
        assert_eq!(rest_after(Span::from_ms(30)), Span::from_secs(1));
        assert!(rest_after(Span::MAX) < TIMEOUT);
        // Counters that take long are not created again for the next request until the switch has
        // rested.
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
    fn a_switch_that_does_not_answer_is_reported() {
        let endpoint = Endpoint::listen(loopback(), &[]).unwrap();
        let answer = ask(endpoint.address(), b"GET /counters HTTP/1.0\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.0 503"), "{answer}");
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
                // A client that lost its place meanwhile cannot write.
                let _ = stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n");
                stream
            });
            let deaf: Vec<_> = deaf.collect();
            // While all clients with a place wait for counters, another one is refused.
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
            // Until the client is disconnected, without which the test would not end.
            while stream.write_all(b"x").is_ok() {
                thread::park_timeout(Duration::from_millis(50));
            }
            assert!(fetch(address).is_ok());
        });
    }

    #[test]
    fn simultaneous_clients_get_the_same_counters() {
        let endpoint = Endpoint::listen(loopback(), &[]).unwrap();
        let address = endpoint.address();
        let mut made = 0;
        let answers = thread::scope(|scope| {
            let asking: Vec<_> = (0..20).map(|_| scope.spawn(move || fetch(address))).collect();
            // A slow switch: all clients have sent their request by then.
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
