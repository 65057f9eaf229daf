//! Interfaces that come and go, and interfaces of the other kind.

use tidegate_live::config::DeviceKind;

use super::bed::{Bed, address};

pub(crate) fn a_link_that_goes_down_and_comes_back_is_used_again() {
    let bed = Bed::new(2);
    let counters = bed.run(&bed.config("1Gbps"), || {
        assert!(bed.reaches(0, 1));
        bed.switch.ip("link set port1 down").unwrap();
        bed.switch.ip("link set port1 up").unwrap();
        assert!(bed.reaches(0, 1), "after it was down");
        assert!(bed.reaches(1, 0), "and the other way");
    });
    assert_eq!(counters.imbalance(), 0);
    assert!(counters.ports.iter().all(|port| port.is_up));
}

pub(crate) fn an_interface_that_is_made_again_is_used_again() {
    let bed = Bed::new(2);
    let counters = bed.run(&bed.config("1Gbps"), || {
        assert!(bed.reaches(0, 1));
        bed.switch.ip("link delete port1").unwrap();
        bed.attach(1);
        assert!(bed.reaches(1, 0), "after it was made again");
        assert!(bed.reaches(0, 1), "and the other way");
    });
    assert_eq!(counters.imbalance(), 0);
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
        // The kernel's ends go to the hosts, in place of those they had.
        for (number, host) in bed.hosts.iter().enumerate() {
            host.ip("link delete host").unwrap();
            host.adopt(&bed.switch, &format!("tap-port{number}"), "host")
                .unwrap();
            address(host, number);
        }
        bed.transfer(0, 1, "10.0.0.2:5001", 2_000_000);
    });
    assert_eq!(counters.imbalance(), 0, "{counters:?}");
    assert!(counters.ports[1].sent.bytes > 2_000_000);
    assert_eq!(
        counters.ports[1].marked,
        bed.counter(1, "IpExt", "InCEPkts")
    );
    assert!(counters.ports[1].marked > 0);
    assert_eq!(bed.counter(1, "Tcp", "InCsumErrors"), 0);
}
