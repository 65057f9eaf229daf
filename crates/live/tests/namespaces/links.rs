//! Interfaces that come and go, interfaces of the other kind, and none at all.

use std::thread;

use tidegate_live::config::DeviceKind;
use tidegate_live::{Live, drop_privileges};

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

pub(crate) fn without_privilege_the_error_names_it() {
    let bed = Bed::new(1);
    let mut config = bed.config("1Gbps");
    config.ports[0].interface = "lo".into();
    // Only this thread loses its privileges.
    let error = |config: tidegate_live::Config| {
        let thread = thread::spawn(move || {
            drop_privileges().unwrap();
            Live::open(&config).unwrap_err()
        });
        thread.join().unwrap()
    };
    let found = error(config.clone());
    assert!(
        found.is_privilege() && found.to_string().contains("CAP_NET_RAW"),
        "{found}"
    );
    config.ports[0].device = DeviceKind::Tap;
    config.ports[0].interface = "tap-new".into();
    let found = error(config);
    assert!(found.to_string().contains("CAP_NET_ADMIN"), "{found}");
    let mut config = bed.config("1Gbps");
    config.ports[0].interface = "absent".into();
    let found = bed.switch.run(|| Live::open(&config).unwrap_err()).unwrap();
    assert!(
        found
            .to_string()
            .starts_with("cannot find interface absent"),
        "{found}"
    );
}
