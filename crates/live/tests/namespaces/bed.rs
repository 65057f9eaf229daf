//! Hosts around a switch, each a namespace.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tidegate_harness::suite;
use tidegate_live::config::PortSettings;
use tidegate_live::namespace::Namespace;
use tidegate_live::{Config, Counters, Error, Live, drop_privileges, raise_priority};

/// Time limit: longer than any success takes.
const TIMEOUT: Duration = suite::CEILING;

/// Hosts with an interface `host` each, and the namespace of the switch with the other ends,
/// `port0` and so on. Host `n` has the addresses 10.0.0.n+1 and `fd00::n+1`.
pub(crate) struct Bed {
    pub(crate) hosts: Vec<Namespace>,
    pub(crate) switch: Namespace,
}

impl Bed {
    pub(crate) fn new(hosts: usize) -> Self {
        let bed = Self {
            hosts: (0..hosts).map(|_| Namespace::new().unwrap()).collect(),
            switch: Namespace::new().unwrap(),
        };
        for (number, host) in bed.hosts.iter().enumerate() {
            bed.attach(number);
            host.set("net/ipv4/tcp_ecn", "1").unwrap();
            // The machine's default may not react to marks.
            host.set("net/ipv4/tcp_congestion_control", "reno").unwrap();
        }
        bed
    }

    /// Connects a host to the switch.
    pub(crate) fn attach(&self, number: usize) {
        let (host, port) = (&self.hosts[number], format!("port{number}"));
        host.connect("host", &self.switch, &port).unwrap();
        // The switch's own kernel sends nothing.
        let quiet = format!("net/ipv6/conf/{port}/disable_ipv6");
        self.switch.set(&quiet, "1").unwrap();
        address(host, number);
    }

    /// A switch of packet sockets for this bed.
    pub(crate) fn config(&self, rate: &str) -> Config {
        let mut config = Config::new();
        config.ports = (0..self.hosts.len())
            .map(|number| PortSettings::new(format!("port{number}"), rate.parse().unwrap()))
            .collect();
        config
    }

    /// Runs the switch, without privileges once it is open, while `load` runs. Returns its counters
    /// at the end.
    pub(crate) fn run(&self, config: &Config, load: impl FnOnce()) -> Counters {
        self.run_with(config, |_| (), load)
    }

    /// Like [`run`](Self::run), with `control` called as in [`Live::run`].
    pub(crate) fn run_with(
        &self,
        config: &Config,
        mut control: impl FnMut(&mut Live) + Send,
        load: impl FnOnce(),
    ) -> Counters {
        let (is_open, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        let stopping = Stopping(&stop);
        thread::scope(|scope| {
            let switch = scope.spawn(|| {
                let opening = Opening(&is_open);
                self.switch.run(|| {
                    let mut live = Live::open(config)?;
                    drop(opening);
                    // Reduces the influence of other processes on the results.
                    let _ = raise_priority();
                    drop_privileges()?;
                    live.run(|live| {
                        control(live);
                        if stop.load(Ordering::Relaxed) {
                            ControlFlow::Break(())
                        } else {
                            ControlFlow::Continue(())
                        }
                    })?;
                    Ok::<_, Error>(live.counters())
                })
            });
            while !is_open.load(Ordering::Acquire) {
                thread::yield_now();
            }
            load();
            drop(stopping);
            switch.join().unwrap().unwrap().unwrap()
        })
    }

    /// Sends `bytes` over TCP from one host to another. Returns when all have arrived.
    pub(crate) fn transfer(&self, from: usize, to: usize, address: &str, bytes: usize) {
        let listener = self.hosts[to].run(|| TcpListener::bind(address)).unwrap();
        let listener = listener.unwrap();
        let address = listener.local_addr().unwrap();
        thread::scope(|scope| {
            let receiver = scope.spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream.set_read_timeout(Some(TIMEOUT)).unwrap();
                let mut buffer = vec![0; 1 << 16];
                let mut received = 0;
                loop {
                    match stream.read(&mut buffer).unwrap() {
                        0 => return received,
                        len => received += len,
                    }
                }
            });
            let stream = self.hosts[from].run(|| TcpStream::connect_timeout(&address, TIMEOUT));
            let mut stream = stream.unwrap().unwrap();
            stream.set_write_timeout(Some(TIMEOUT)).unwrap();
            let block = vec![7; 1 << 16];
            let mut left = bytes;
            while left > 0 {
                let len = left.min(block.len());
                stream.write_all(&block[..len]).unwrap();
                left -= len;
            }
            stream.shutdown(Shutdown::Write).unwrap();
            assert_eq!(receiver.join().unwrap(), bytes);
        });
    }

    /// Whether a packet from one host reaches another, tried until success or the time limit.
    pub(crate) fn reaches(&self, from: usize, to: usize) -> bool {
        let target = format!("10.0.0.{}:9", to + 1);
        let receiver = self.hosts[to].run(|| UdpSocket::bind(&target));
        let receiver = receiver.unwrap().unwrap();
        receiver.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let sender = self.hosts[from].run(|| UdpSocket::bind("0.0.0.0:0"));
        let sender = sender.unwrap().unwrap();
        suite::wait_until(|| {
            // While the link is down there is no path.
            let _ = sender.send_to(b"hello", &target);
            receiver.recv(&mut [0; 16]).is_ok()
        })
    }

    /// Whether a host has no TCP connection that can still send.
    pub(crate) fn is_silent(&self, host: usize) -> bool {
        let read = || std::fs::read_to_string("/proc/thread-self/net/tcp");
        let text = self.hosts[host].run(read).unwrap().unwrap();
        let states = text.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().nth(3));
        // TIME-WAIT and LISTEN.
        states.into_iter().all(|state| ["06", "0A"].contains(&state))
    }

    /// Frames counted by a host's kernel at its interface: received and sent.
    pub(crate) fn frames(&self, host: usize) -> [u64; 2] {
        let read = || std::fs::read_to_string("/proc/thread-self/net/dev");
        let text = self.hosts[host].run(read).unwrap().unwrap();
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let (_, counts) = lines.find(|(name, _)| name.trim() == "host").unwrap();
        let counts: Vec<_> = counts.split_ascii_whitespace().collect();
        [counts[1], counts[9]].map(|count| count.parse().unwrap())
    }

    /// A counter of a host's kernel.
    pub(crate) fn counter(&self, host: usize, group: &str, name: &str) -> u64 {
        let counter = self.hosts[host].counter(group, name).unwrap();
        counter.unwrap_or_else(|| panic!("the kernel counts no {group} {name}"))
    }
}

/// Gives a host its addresses.
pub(crate) fn address(host: &Namespace, number: usize) {
    let number = number + 1;
    host.ip(&format!("address add 10.0.0.{number}/24 dev host")).unwrap();
    host.ip(&format!("address add fd00::{number}/64 dev host nodad")).unwrap();
}

/// Signals that the switch is open, or never will be.
struct Opening<'a>(&'a AtomicBool);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Stops the switch, also if the load fails.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
