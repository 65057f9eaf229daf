//! Interfaces that disappear and return, and interfaces of the other kind.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use tidegate_harness::suite;
use tidegate_live::config::{DeviceKind, OnLoop, PortSettings};
use tidegate_live::namespace::Namespace;
use tidegate_live::{Config, Live};
use tidegate_units::Rate;

use super::bed::{Bed, address};

pub(crate) fn a_link_that_goes_down_and_comes_back_is_used_again() {
    let bed = Bed::new(2);
    let counters = bed.run(&bed.config("1Gbps"), || {
        assert!(bed.reaches(0, 1));
        bed.switch.ip("link set port1 down").unwrap();
        bed.switch.ip("link set port1 up").unwrap();
        assert!(bed.reaches(0, 1), "after it was down");
        assert!(bed.reaches(1, 0), "and back");
    });
    assert_eq!(counters.imbalance(), 0);
    assert!(counters.ports.iter().all(|port| port.is_up));
}

/// The kernel keeps an error for the next send: a frame that comes much later must not get it.
pub(crate) fn a_link_that_was_down_for_a_moment_costs_no_frame_later() {
    let bed = Bed::new(2);
    for host in &bed.hosts {
        // No host sends in that moment.
        host.set("net/ipv6/conf/host/disable_ipv6", "1").unwrap();
    }
    let mut config = bed.config("1Gbps");
    // Nor does the switch send later.
    config.options.on_loop = OnLoop::Ignore;
    let looks = AtomicU64::new(0);
    let count = |_: &mut Live| {
        looks.fetch_add(1, Ordering::Relaxed);
    };
    let counters = bed.run_with(&config, count, || {
        assert!(bed.reaches(0, 1) && bed.reaches(1, 0));
        let moment = "link set port1 down\nlink set port1 up\n";
        bed.switch.ip_batch(moment).unwrap();
        let before = looks.load(Ordering::Relaxed);
        while looks.load(Ordering::Relaxed) < before + 4 {
            thread::yield_now();
        }
        assert!(bed.reaches(0, 1));
    });
    assert_eq!(counters.ports[1].dropped(), 0, "{counters:?}");
}

pub(crate) fn an_interface_that_is_made_again_is_used_again() {
    let bed = Bed::new(2);
    let counters = bed.run(&bed.config("1Gbps"), || {
        assert!(bed.reaches(0, 1));
        bed.switch.ip("link delete port1").unwrap();
        bed.attach(1);
        assert!(bed.reaches(1, 0), "after it was made again");
        assert!(bed.reaches(0, 1), "and back");
    });
    assert_eq!(counters.imbalance(), 0);
}

/// The absence shows only in the kernel's state of the socket: name and number are the same.
pub(crate) fn an_interface_that_was_elsewhere_for_a_moment_is_used_again() {
    let bed = Bed::new(2);
    let elsewhere = Namespace::new().unwrap();
    bed.run(&bed.config("1Gbps"), || {
        // In most of these moments the switch does not check.
        for _ in 0..5 {
            assert!(bed.reaches(0, 1) && bed.reaches(1, 0));
            elsewhere.adopt(&bed.switch, "port1", "port1").unwrap();
            bed.switch.adopt(&elsewhere, "port1", "port1").unwrap();
        }
        assert!(bed.reaches(0, 1) && bed.reaches(1, 0));
    });
}

pub(crate) fn tap_interfaces_are_ports_too() {
    let bed = Bed::new(2);
    let mut config = bed.config("200Mbps");
    config.marking.set("threshold", "1ms").unwrap();
    for port in &mut config.ports {
        port.interface = format!("tap-{}", port.interface);
        port.device = DeviceKind::Tap;
    }
    let counters = bed.run(&config, || {
        // The kernel's ends go to the hosts, in place of the previous ones.
        for (number, host) in bed.hosts.iter().enumerate() {
            host.ip("link delete host").unwrap();
            host.adopt(&bed.switch, &format!("tap-port{number}"), "host").unwrap();
            address(host, number);
        }
        bed.transfer(0, 1, "10.0.0.2:5001", 2_000_000);
    });
    assert_eq!(counters.imbalance(), 0, "{counters:?}");
    assert!(counters.ports[1].sent.bytes > 2_000_000);
    assert_eq!(counters.ports[1].marked, bed.counter(1, "IpExt", "InCEPkts"));
    assert!(counters.ports[1].marked > 0);
    assert_eq!(bed.counter(1, "Tcp", "InCsumErrors"), 0);
}

/// A veth pair reports a frame that is longer than its other end accepts in the same way as one
/// that it has no room for.
pub(crate) fn a_frame_longer_than_a_hosts_mtu_stops_no_port() {
    let bed = Bed::new(3);
    for host in &bed.hosts[1..] {
        host.ip("link set host mtu 1280").unwrap();
    }
    let counters = bed.run(&bed.config("1Gbps"), || {
        assert!(bed.reaches(0, 1));
        let sender = bed.hosts[0].run(|| UdpSocket::bind("10.0.0.1:0"));
        let sender = sender.unwrap().unwrap();
        sender.set_broadcast(true).unwrap();
        for _ in 0..5 {
            sender.send_to(&[7; 1_400], "10.0.0.255:9").unwrap();
        }
        assert!(bed.reaches(0, 1), "after a frame that is too long for it");
        assert!(bed.reaches(0, 2) && bed.reaches(2, 1), "and the other");
    });
    assert_eq!(counters.imbalance(), 0);
    for port in &counters.ports[1..] {
        assert_eq!(port.drops["no-buffer"], 5, "{port:?}");
        assert_eq!((port.held, port.is_up), (0, true));
        // As many attempts as designed, not half a million a second.
        assert!(port.stalled_ns < 100_000_000, "{}", port.stalled_ns);
    }
}

/// State of the second port as seen by a test while the switch runs, and the processor time of the
/// switch's thread.
#[derive(Default)]
struct Seen {
    is_up: AtomicBool,
    used_ns: AtomicU64,
    uptime_ns: AtomicU64,
}

impl Seen {
    fn look(&self, live: &Live) {
        let port = &live.counters().ports[1];
        let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        let used = times.split(' ').next().unwrap().parse().unwrap();
        self.is_up.store(port.is_up, Ordering::Relaxed);
        self.used_ns.store(used, Ordering::Relaxed);
        self.uptime_ns.store(live.uptime().as_ns(), Ordering::Relaxed);
    }

    fn times(&self) -> [u64; 2] {
        [&self.used_ns, &self.uptime_ns].map(|time| time.load(Ordering::Relaxed))
    }

    fn wait_for(&self, is_up: bool) {
        let is_so = suite::wait_until(|| self.is_up.load(Ordering::Relaxed) == is_up);
        assert!(is_so, "the port never became {}", if is_up { "up" } else { "down" });
    }
}

pub(crate) fn a_tap_interface_that_is_removed_is_left_alone_and_used_again() {
    let mut bed = Bed::new(2);
    let mut config = bed.config("200Mbps");
    config.ports[1].interface = "tap1".into();
    config.ports[1].device = DeviceKind::Tap;
    bed.hosts[1].ip("link delete host").unwrap();
    let lodging = Namespace::new().unwrap();
    let first = std::mem::replace(&mut bed.hosts[1], lodging);
    let seen = Seen::default();
    let counters = bed.run_with(
        &config,
        |live| seen.look(live),
        || {
            // Removed by name.
            bed.switch.ip("link delete tap1").unwrap();
            seen.wait_for(false);
            let before = seen.times();
            // A loop that sleeps shows in the switch's own time only.
            let begun = before[1];
            assert!(suite::wait_until(|| seen.times()[1] > begun + 1_000_000_000));
            let after = seen.times();
            let [used, passed] = [0, 1].map(|which| after[which] - before[which]);
            assert!(used * 2 < passed, "{used} ns of {passed} ns");

            // Created again by another process: the switch has no privilege any more.
            bed.switch.ip("tuntap add tap1 mode tap").unwrap();
            seen.wait_for(true);
            first.adopt(&bed.switch, "tap1", "host").unwrap();
            address(&first, 1);

            // Removed with its namespace.
            drop(first);
            seen.wait_for(false);
            bed.switch.ip("tuntap add tap1 mode tap").unwrap();
            seen.wait_for(true);
            bed.hosts[1].adopt(&bed.switch, "tap1", "host").unwrap();
            address(&bed.hosts[1], 1);
            assert!(bed.reaches(0, 1) && bed.reaches(1, 0));
        },
    );
    assert_eq!(counters.imbalance(), 0);
    assert!(counters.ports[1].is_up);
}

pub(crate) fn an_interface_of_another_switch_is_refused_until_that_one_ends() {
    let namespaces = [Namespace::new().unwrap(), Namespace::new().unwrap()];
    let commands = "link add one type veth peer two\nlink property add dev one altname uno\n";
    for namespace in &namespaces {
        namespace.ip_batch(commands).unwrap();
    }
    let open = |namespace: usize, name: &str| {
        let mut config = Config::new();
        config.ports.push(PortSettings::new(name, Rate::from_gbps(1)));
        namespaces[namespace].run(|| Live::open(&config)).unwrap()
    };
    let first = open(0, "one").unwrap();
    let process = std::process::id();
    for name in ["one", "uno"] {
        let error = open(0, name).unwrap_err().to_string();
        let expected = format!(
            "cannot use interface one: another switch forwards its frames (process {process})\nhint: end it"
        );
        assert!(error.starts_with(&expected), "{error}");
    }
    // The other end of the cable and another namespace are free.
    let others = (open(0, "two").unwrap(), open(1, "one").unwrap());
    drop((first, others));
    open(0, "uno").unwrap();
}

pub(crate) fn interfaces_that_cannot_be_ports_are_refused() {
    let namespace = Namespace::new().unwrap();
    let error = |names: &[&str]| {
        let mut config = Config::new();
        let port = |name: &&str| PortSettings::new(*name, Rate::from_gbps(1));
        config.ports = names.iter().map(port).collect();
        let opened = namespace.run(|| Live::open(&config).map(drop)).unwrap();
        opened.unwrap_err().to_string()
    };
    let found = error(&["lo"]);
    assert!(found.starts_with("interface = lo is out of range"), "{found}");
    assert!(error(&["lo", "lo"]).contains("no other port uses"));
    // None of several interfaces is changed, nor the same one under another name.
    let commands = "link add one type veth peer two\nlink property add dev one altname uno\n";
    namespace.ip_batch(commands).unwrap();
    assert!(error(&["one", "two", "lo"]).starts_with("interface = lo"));
    assert!(error(&["one", "two", "gone"]).contains("find interface gone"));
    assert!(error(&["one", "uno"]).contains("no other port uses"));
    let shown = namespace.ip("link show one").unwrap();
    assert!(shown.contains("mtu 1500"), "{shown}");
}
