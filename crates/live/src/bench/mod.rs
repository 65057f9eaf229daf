//! Benchmarks: forwarding rate of the switch, cost of a packet and added latency, next to the
//! kernel's own bridge in the same run.
//!
//! Three namespaces in a row: a sender, the switch or the bridge, and a receiver, connected by veth
//! pairs. The sender sends as fast as it can, or at twice the rate of a shaped wire, on a thread of
//! its own, so that two cores are needed. The result is the count of the receiver's kernel within
//! the time.

use std::fs;
use std::io;
use std::net::UdpSocket;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use tidegate_units::{ByteTime, Rate, Span, Time};

use crate::clock::Clock;
use crate::config::{Config, Count, Options, PortSettings, Wait};
use crate::counters::{Counters, Quantiles, Times};
use crate::device::packet_socket::PacketSocket;
use crate::device::{BURST, Device};
use crate::error::Error;
use crate::machine::ProcessorTime;
use crate::namespace::Namespace;
use crate::run::Live;
use crate::sys::process;

mod soak;
mod steady;

pub use soak::{Chaos, Minute, soak};
pub use steady::{Second, Steady, steady};

/// Results of the benchmarks.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Frames of 60 bytes (64 with checksum), as fast as possible.
    pub small: Comparison,
    /// Frames of 1514 bytes, as fast as possible.
    pub large: Comparison,
    /// A wire of 1 Gb/s with TCN, offered twice its rate.
    pub shaped: Shaped,
    /// Round trips of a small packet through the switch.
    pub round_trip: Quantiles,
    /// Round trips of a small packet through the bridge.
    pub bridge_round_trip: Quantiles,
    /// Steal time: thousandths of processor time that a hypervisor gave to others.
    pub stolen: u32,
}

/// The switch and the bridge under the same load.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Comparison {
    /// The switch.
    pub switch: Forwarded,
    /// The kernel's bridge. It runs on the sender's processor, so its cost is not separated.
    pub bridge: Forwarded,
}

/// Forwarding rate.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Forwarded {
    /// Frames sent by the sender per second.
    pub offered_per_second: u64,
    /// Frames counted by the receiver's kernel per second.
    pub received_per_second: u64,
    /// Processor time of the switch per sent frame, spinning included.
    pub processor_ns_per_frame: Option<u64>,
}

/// Results of a shaped wire.
#[derive(Clone, Debug, Serialize)]
pub struct Shaped {
    /// Wire bits per second, framing included.
    pub bits_per_second: u64,
    /// Configured wire bits per second.
    pub configured_bits_per_second: u64,
    /// Lateness of packets.
    pub lateness: Quantiles,
    /// Wire time lost to lateness that was not caught up, in nanoseconds.
    pub lost_ns: u64,
    /// Frames sent with a mark.
    pub marked: u64,
}

/// Takes all measurements, `span` for each. Needs `CAP_SYS_ADMIN` and `CAP_NET_ADMIN`.
pub fn measure(span: Span) -> Result<Report, Error> {
    let compare = |len| {
        Ok::<_, Error>(Comparison {
            switch: Row::new()?.forward(len, span)?.0,
            bridge: Row::bridged()?.flood(len, span)?,
        })
    };
    let time = ProcessorTime::now();
    let shaped = Row::new()?.shaped(span)?;
    Ok(Report {
        small: compare(60)?,
        large: compare(1514)?,
        shaped,
        round_trip: Row::new()?.round_trips_of_switch(span)?,
        bridge_round_trip: Row::bridged()?.round_trips(span)?,
        stolen: ProcessorTime::now().stolen_since(time),
    })
}

/// A rate that no veth pair reaches.
const UNLIMITED: Rate = Rate::from_gbps(400);

/// Rate of the shaped wire.
const SHAPED: Rate = Rate::from_gbps(1);

/// Wire bits of a frame of 1514 bytes.
const WIRE_BITS: u64 = Count::Wire.bytes(1514) as u64 * 8;

/// Load of the shaped wire: twice its rate, so that it is never idle. The sender sleeps in between;
/// otherwise other processes on a quiet machine with two cores would run on the switch's core.
const OVERLOAD: Load = Load { len: 1514, rate: Some(Rate::from_gbps(2)) };

/// Frames sent in bursts.
#[derive(Clone, Copy)]
struct Load {
    /// Bytes of a frame.
    len: usize,
    /// Wire bits per second; `None` for as many as possible.
    rate: Option<Rate>,
}

/// Three namespaces in a row.
struct Row {
    left: Namespace,
    middle: Namespace,
    right: Namespace,
}

impl Row {
    fn new() -> Result<Self, Error> {
        let row =
            Self { left: Namespace::new()?, middle: Namespace::new()?, right: Namespace::new()? };
        for (namespace, name) in [(&row.left, "left"), (&row.right, "right")] {
            namespace.connect("host", &row.middle, name)?;
            // Disables background traffic.
            namespace.set("net/ipv6/conf/host/disable_ipv6", "1")?;
            row.middle.set(&format!("net/ipv6/conf/{name}/disable_ipv6"), "1")?;
        }
        row.left.ip("link set host address 02:00:00:00:00:01")?;
        row.right.ip("link set host address 02:00:00:00:00:02")?;
        row.left.ip("address add 10.0.0.1/24 dev host")?;
        row.right.ip("address add 10.0.0.2/24 dev host")?;
        Ok(row)
    }

    fn bridged() -> Result<Self, Error> {
        let row = Self::new()?;
        row.middle.ip("link add name bridge type bridge forward_delay 0")?;
        for name in ["left", "right"] {
            row.middle.ip(&format!("link set {name} master bridge"))?;
        }
        row.middle.ip("link set bridge up")?;
        Ok(row)
    }

    /// Measures the switch under a flood of frames of this length.
    fn forward(&self, len: usize, span: Span) -> Result<(Forwarded, Counters), Error> {
        self.switched(UNLIMITED, Wait::Spin, || self.flood(len, span)).map(
            |(mut forwarded, counters, used)| {
                let sent = counters.ports.get(1).map_or(0, |port| port.sent.packets);
                forwarded.processor_ns_per_frame = used.as_ns().checked_div(sent);
                (forwarded, counters)
            },
        )
    }

    fn shaped(&self, span: Span) -> Result<Shaped, Error> {
        let load = || self.send(OVERLOAD, span, &AtomicBool::new(false));
        let (forwarded, counters, _) = self.switched(SHAPED, Wait::Spin, load)?;
        let port = counters.ports.get(1).cloned().unwrap_or_default();
        Ok(Shaped {
            bits_per_second: forwarded.received_per_second * WIRE_BITS,
            configured_bits_per_second: SHAPED.as_bps(),
            lateness: port.lateness,
            lost_ns: port.lost_ns,
            marked: port.marked,
        })
    }

    fn round_trips_of_switch(&self, span: Span) -> Result<Quantiles, Error> {
        let measured = self.switched(UNLIMITED, Wait::Spin, || self.round_trips(span))?;
        Ok(measured.0)
    }

    /// Runs the switch while `load` runs. Returns the result of `load`, the switch's counters, and
    /// the processor time used.
    fn switched<T>(
        &self,
        rate: Rate,
        wait: Wait,
        load: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(T, Counters, Span), Error> {
        self.watched(rate, wait, load, |_| {})
    }

    /// Like [`switched`](Self::switched), with a call every 100 ms.
    fn watched<T>(
        &self,
        rate: Rate,
        wait: Wait,
        load: impl FnOnce() -> Result<T, Error>,
        mut look: impl FnMut(&mut Live) + Send,
    ) -> Result<(T, Counters, Span), Error> {
        let mut config = Config::new();
        config.options.wait = wait;
        // The receiver never sends.
        config.options.unknown_limit = None;
        config.ports = ["left", "right"].map(|name| port(name, rate)).into();
        let (is_ready, stop) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let switch = scope.spawn(|| {
                let result = self.middle.run(|| {
                    let mut live = Live::open(&config)?;
                    // Without priority the results include more of other processes; a refusal is
                    // ignored.
                    let _ = process::raise_priority();
                    crate::drop_privileges()?;
                    let began = process::thread_time();
                    is_ready.store(true, Ordering::Release);
                    live.run(|live| {
                        if stop.load(Ordering::Relaxed) {
                            return ControlFlow::Break(());
                        }
                        look(live);
                        ControlFlow::Continue(())
                    })?;
                    Ok::<_, Error>((live.counters(), process::thread_time() - began))
                });
                // Other threads must not wait for a switch that failed to open.
                is_ready.store(true, Ordering::Release);
                result
            });
            while !is_ready.load(Ordering::Acquire) {
                thread::yield_now();
            }
            let loaded = load();
            stop.store(true, Ordering::Relaxed);
            let (counters, used) = switch.join().expect("the switch does not panic")??;
            Ok((loaded?, counters, used))
        })
    }

    /// Sends frames of this length from left to right as fast as possible.
    fn flood(&self, len: usize, span: Span) -> Result<Forwarded, Error> {
        self.send(Load { len, rate: None }, span, &AtomicBool::new(false))
    }

    /// Sends frames from left to right for this time, or until `stop` is set.
    fn send(&self, load: Load, span: Span, stop: &AtomicBool) -> Result<Forwarded, Error> {
        let before = self.received()?;
        let (sent, took) = self.left.run(|| {
            let _ = process::raise_priority();
            process::sleep_exactly();
            let clock = Clock::start();
            let mut sender = PacketSocket::open("host", &Options::default(), clock)?;
            let frame = frame(load.len);
            let burst = [frame.as_slice(); BURST];
            let bytes = BURST as u32 * Count::Wire.bytes(load.len);
            let pause = load.rate.map(|rate| ByteTime::new(rate).span(bytes));
            let (mut sent, mut due) = (0, Time::ZERO);
            while clock.now() - Time::ZERO < span && !stop.load(Ordering::Relaxed) {
                sent += sender.send(&burst).unwrap_or_default() as u64;
                if let Some(pause) = pause {
                    due += pause;
                    clock.sleep_until(due);
                }
            }
            Ok::<_, Error>((sent, clock.now() - Time::ZERO))
        })??;
        let received = self.received()? - before;
        let per_second = |count: u64| count * 1_000_000 / (took.as_ns() / 1_000).max(1);
        Ok(Forwarded {
            offered_per_second: per_second(sent),
            received_per_second: per_second(received),
            processor_ns_per_frame: None,
        })
    }

    /// Frames counted by the receiver's kernel.
    fn received(&self) -> Result<u64, Error> {
        let text = self.right.run(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
        let text = text.map_err(Error::system("read counters", "no capability"))?;
        Ok(received_packets(&text, "host").unwrap_or_default())
    }

    /// Sends a small packet back and forth.
    fn round_trips(&self, span: Span) -> Result<Quantiles, Error> {
        let failed = || Error::system("exchange packets", "no capability");
        let echo = self.right.run(|| UdpSocket::bind("10.0.0.2:7"))?;
        let echo = echo.map_err(failed())?;
        let asker = self.left.run(|| UdpSocket::bind("10.0.0.1:0"))?;
        let asker = asker.map_err(failed())?;
        let ready = || -> io::Result<()> {
            for socket in [&echo, &asker] {
                socket.set_read_timeout(Some(Duration::from_millis(200)))?;
            }
            asker.connect("10.0.0.2:7")
        };
        ready().map_err(failed())?;
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _ = process::raise_priority();
                let mut bytes = [0; 64];
                while !stop.load(Ordering::Relaxed) {
                    if let Ok((len, from)) = echo.recv_from(&mut bytes) {
                        let _ = echo.send_to(&bytes[..len], from);
                    }
                }
            });
            let asking = scope.spawn(|| {
                let _ = process::raise_priority();
                let times = ask(&asker, span);
                stop.store(true, Ordering::Relaxed);
                times
            });
            let times = asking.join().expect("asking does not panic");
            Ok(times.quantiles())
        })
    }
}

/// Sends requests repeatedly for this time. Returns the time of each answer.
fn ask(asker: &UdpSocket, span: Span) -> Times {
    let clock = Clock::start();
    let mut times = Times::new();
    let mut bytes = [0; 64];
    while clock.now() - Time::ZERO < span {
        let began = clock.now();
        // At worst address resolution loses the first; lost packets are not measured.
        let sent = asker.send(&bytes[..32]);
        if sent.is_ok() && asker.recv(&mut bytes).is_ok() {
            times.add(clock.now() - began);
        }
    }
    times
}

fn port(name: &str, rate: Rate) -> PortSettings {
    PortSettings::new(name, rate)
}

/// An ECN-capable UDP packet from left to right. The receiver's kernel, which runs on the switch's
/// processor, drops it at once because its length is zero. An address that the receiver does not
/// have would cost a route lookup per packet, and frees of whole batches.
fn frame(len: usize) -> Vec<u8> {
    let mut frame = vec![0; len];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&[8, 0]);
    let ip_len = (len - 14) as u16;
    frame[14..34]
        .copy_from_slice(&[0x45, 2, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame[16..18].copy_from_slice(&ip_len.to_be_bytes());
    // A bridge with netfilter drops packets with a wrong checksum.
    let words = frame[14..34].chunks(2);
    let sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    frame[24..26].copy_from_slice(&(!(folded as u16)).to_be_bytes());
    frame
}

/// Received packets of an interface, from text in the form of `/proc/net/dev`.
fn received_packets(text: &str, interface: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, counts) = lines.find(|(name, _)| name.trim() == interface)?;
    counts.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_frame_has_a_valid_header_and_checksum() {
        for len in [60, 1514] {
            let frame = frame(len);
            let ip = crate::frame::parse(&frame).and_then(|facts| facts.ip);
            assert_eq!(ip.map(|ip| ip.class), Some(2));
            assert_eq!(crate::frame::tests::checksum(&frame[14..34]), 0);
        }
    }

    #[test]
    fn received_packets_are_the_second_count() {
        let text = "Inter-| Receive\n face |bytes packets\n    lo: 1 2 0\n  host: 300 4 0 0\n";
        assert_eq!(received_packets(text, "host"), Some(4));
        assert_eq!(received_packets(text, "lo"), Some(2));
        assert_eq!(received_packets(text, "other"), None);
    }
}
