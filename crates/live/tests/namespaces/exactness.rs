//! The switch's counters agree with the kernels on both sides.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tidegate_dataplane::{mark, sched};
use tidegate_harness::suite;
use tidegate_live::{Counters, Live};

use super::bed::Bed;

/// RED that marks above a queue of this many full packets.
pub(crate) fn red(packets: u32) -> mark::Config {
    let mut marking = mark::Config::named("queue-red").unwrap();
    let threshold = format!("{}B", packets * 1538);
    marking.set("threshold", &threshold).unwrap();
    marking
}

/// Asserts that no packet was lost or damaged without being counted.
pub(crate) fn check(bed: &Bed, counters: &Counters) {
    assert_eq!(counters.imbalance(), 0, "{counters:?}");
    for port in &counters.ports {
        assert_eq!((port.missed, port.unfinished), (0, 0), "{port:?}");
    }
    for host in 0..bed.hosts.len() {
        for (group, name) in
            [("Tcp", "InCsumErrors"), ("Ip", "InHdrErrors"), ("IpExt", "InCsumErrors")]
        {
            assert_eq!(bed.counter(host, group, name), 0, "{group} {name}");
        }
    }
}

pub(crate) fn marks_are_the_ce_packets_that_the_receivers_kernel_counts() {
    let bed = Bed::new(3);
    let mut config = bed.config("200Mbps");
    config.marking = red(10);
    config.buffer.set("limit", "2MB").unwrap();
    let counters = bed.run(&config, || {
        std::thread::scope(|scope| {
            scope.spawn(|| bed.transfer(0, 2, "10.0.0.3:5001", 4_000_000));
            bed.transfer(1, 2, "10.0.0.3:5002", 4_000_000);
        });
    });
    check(&bed, &counters);
    for (host, port) in counters.ports.iter().enumerate() {
        assert_eq!(port.marked, bed.counter(host, "IpExt", "InCEPkts"), "host {host}");
        assert_eq!(port.marked, port.marks.values().sum::<u64>());
        assert_eq!(port.dropped(), 0, "{port:?}");
    }
    assert!(counters.ports[2].marked > 20, "{}", counters.ports[2].marked);
}

pub(crate) fn marks_on_ipv6_are_counted_too() {
    let bed = Bed::new(2);
    let mut config = bed.config("200Mbps");
    config.marking = red(5);
    config.buffer.set("limit", "2MB").unwrap();
    let counters = bed.run(&config, || bed.transfer(0, 1, "[fd00::2]:5001", 2_000_000));
    check(&bed, &counters);
    let marked = counters.ports[1].marked;
    assert_eq!(marked, bed.counter(1, "Ip6", "InCEPkts"));
    assert!(marked > 5, "{marked}");
}

pub(crate) fn the_queue_of_kernel_tcp_follows_the_threshold() {
    let median = |packets| {
        let bed = Bed::new(2);
        let mut config = bed.config("100Mbps");
        config.marking = red(packets);
        config.buffer.set("limit", "2MB").unwrap();
        let counters = bed.run(&config, || bed.transfer(0, 1, "10.0.0.2:5001", 6_000_000));
        check(&bed, &counters);
        let port = &counters.ports[1];
        assert_eq!(port.dropped(), 0);
        assert!(port.marked > 0, "{port:?}");
        port.queues[0].sojourn.p50_ns
    };
    let [short, long] = [8, 64].map(median);
    // A full packet takes 123 µs of this wire.
    assert!(short < long, "{short} ns with 8 packets, {long} ns with 64");
}

pub(crate) fn every_frame_that_goes_out_arrives_in_order_or_has_a_reason() {
    const PACKETS: u32 = 20_000;
    let bed = Bed::new(2);
    let mut config = bed.config("100Mbps");
    config.scheduling = sched::Config::named("dwrr").unwrap();
    config.scheduling.set("quanta", "1538, 1538").unwrap();
    // Disables all packets except the test's.
    for host in &bed.hosts {
        host.set("net/ipv6/conf/host/disable_ipv6", "1").unwrap();
    }
    let receiver = bed.hosts[1].run(|| UdpSocket::bind("10.0.0.2:10")).unwrap().unwrap();
    receiver.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let sender = bed.hosts[0].run(|| UdpSocket::bind("10.0.0.1:0")).unwrap().unwrap();
    let (arrived, missing, is_over) =
        (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    // The kernels on both sides may drop too, and count their drops.
    let by_kernels =
        || bed.counter(0, "Udp", "SndbufErrors") + bed.counter(1, "Udp", "RcvbufErrors");
    let by_switch = |counters: &Counters| counters.ports[1].dropped() + counters.ports[0].missed;
    let mut sent = 0_u64;
    let control = |live: &mut Live| missing.store(by_switch(&live.counters()), Ordering::Relaxed);
    let counters = bed.run_with(&config, control, || {
        assert!(bed.reaches(0, 1), "addresses are resolved");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut last = None;
                let mut bytes = [0; 2_000];
                while !is_over.load(Ordering::Relaxed) {
                    let Ok(len) = receiver.recv(&mut bytes) else {
                        continue;
                    };
                    assert_eq!(len, 1_000);
                    let number = u32::from_be_bytes(bytes[..4].try_into().unwrap());
                    assert!(last.is_none_or(|last| last < number), "{number} after {last:?}");
                    last = Some(number);
                    arrived.fetch_add(1, Ordering::Relaxed);
                }
            });
            let mut bytes = [0; 1_000];
            for number in 0..PACKETS {
                bytes[..4].copy_from_slice(&number.to_be_bytes());
                sent += u64::from(sender.send_to(&bytes, "10.0.0.2:10").is_ok());
            }
            let gone = || arrived.load(Ordering::Relaxed) + missing.load(Ordering::Relaxed);
            suite::wait_until(|| gone() + by_kernels() >= sent);
            is_over.store(true, Ordering::Relaxed);
        });
    });
    assert_eq!(counters.imbalance(), 0, "{counters:?}");
    let port = &counters.ports[1];
    assert!(port.drops["port-full"] > 0, "the wire was overloaded");
    let lost = by_switch(&counters) + by_kernels();
    assert_eq!(sent, arrived.into_inner() + lost, "{counters:?}");
}
