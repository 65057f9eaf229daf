//! Hosts that leave work to missing hardware, and frames with more tags than a packet socket
//! accepts.

use std::process::Command;

use tidegate_harness::suite;
use tidegate_live::config::Checksums;
use tidegate_live::namespace::Namespace;

use super::bed::{Bed, address};

pub(crate) fn checksums_that_hosts_leave_to_hardware_are_finished_on_request() {
    let bed = Bed::new(2);
    // A pair with Linux's defaults, offloads on, but without packets longer than a frame.
    let maker = Namespace::new().unwrap();
    bed.hosts[0].ip("link delete host").unwrap();
    maker.ip("link add one type veth peer name two").unwrap();
    bed.hosts[0].adopt(&maker, "one", "host").unwrap();
    bed.switch.adopt(&maker, "two", "port0").unwrap();
    bed.hosts[0].ip("link set host gso_max_segs 1").unwrap();
    address(&bed.hosts[0], 0);
    let mut config = bed.config("1Gbps");
    config.options.checksums = Checksums::Finish;
    let counters = bed.run(&config, || {
        bed.transfer(0, 1, "10.0.0.2:5001", 300_000);
        bed.transfer(0, 1, "[fd00::2]:5001", 300_000);
    });
    let port = &counters.ports[0];
    assert!(port.unfinished > 100, "{counters:?}");
    assert_eq!(port.unfinished, port.finished, "{counters:?}");
    for group in ["Tcp", "Udp"] {
        assert_eq!(bed.counter(1, group, "InCsumErrors"), 0);
    }
}

/// Sends frames of the given length with a tag of 802.1ad, or with two tags and four bytes less.
const SEND: &str = r#"
import socket, sys
longest = int(sys.argv[1])
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(("host", 0))
stations = bytes([2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8])
service, customer = b"\x88\xa8\x00\x05", b"\x81\x00\x00\x06"
for _ in range(10):
    out.send(stations + service + b"\x88\xb5" + bytes(longest))
    out.send(stations + service + customer + b"\x88\xb5" + bytes(longest - 4))
"#;

pub(crate) fn service_tags_pass_besides_the_longest_packet() {
    // 1492 is the MTU behind PPPoE.
    for mtu in [1500, 1492] {
        let bed = Bed::new(2);
        for (number, host) in bed.hosts.iter().enumerate() {
            host.set("net/ipv6/conf/host/disable_ipv6", "1").unwrap();
            host.ip(&format!("link set host mtu {mtu}")).unwrap();
            let port = format!("link set port{number} mtu {mtu}");
            bed.switch.ip(&port).unwrap();
        }
        let sending = format!("link set host mtu {}", mtu + 8);
        bed.hosts[0].ip(&sending).unwrap();
        let before = bed.frames(1)[0];
        let counters = bed.run(&bed.config("1Gbps"), || {
            let send = || {
                let mut python = Command::new("python3");
                python.args(["-c", SEND, &mtu.to_string()]).status()
            };
            assert!(bed.hosts[0].run(send).unwrap().unwrap().success());
            suite::wait_until(|| bed.frames(1)[0] >= before + 20);
        });
        // One of them may be a probe.
        assert!(bed.frames(1)[0] >= before + 20, "{counters:?}");
        assert_eq!(counters.ports[0].received.packets, 20, "{counters:?}");
        assert_eq!(counters.ports[1].dropped(), 0, "{counters:?}");
    }
}
