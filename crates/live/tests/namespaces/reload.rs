//! Thresholds that change while packets wait.

use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_harness::suite;
use tidegate_live::Counters;
use tidegate_live::counters::PortCounters;

use super::bed::Bed;
use super::exactness::check;

/// A threshold that is never reached, and one that is reached by a window of some packets, at 123
/// µs each. TCN decides when a packet leaves, so that a new threshold applies from the next packet
/// on.
const THRESHOLDS: [&str; 3] = ["100s", "500us", "100s"];

/// Each threshold applies until this many frames have left; the last to the end.
const FRAMES: u64 = 2_000;
/// For each change, enough bytes for three times as many frames plus at most one tick of the
/// control.
const BYTES: usize = 12_000_000;

pub(crate) fn thresholds_change_under_load_and_no_packet_is_lost() {
    let bed = Bed::new(2);
    // Disables all packets except the test's.
    for host in &bed.hosts {
        host.set("net/ipv6/conf/host/disable_ipv6", "1").unwrap();
    }
    let mut config = bed.config("100Mbps");
    config.buffer.set("limit", "20MB").unwrap();
    config.marking.set("threshold", THRESHOLDS[0]).unwrap();
    let mut changes: Vec<Counters> = Vec::new();
    let before = [0, 1].map(|host| bed.frames(host));
    let (forwarded, sent_before) = (AtomicU64::new(0), before[0][1] + before[1][1]);
    let counters = bed.run_with(
        &config,
        |live| {
            let counters = live.counters();
            let sum = |of: fn(&PortCounters) -> u64| counters.ports.iter().map(of).sum::<u64>();
            let frames = sum(|port| port.received.packets).saturating_sub(sum(|port| port.held));
            forwarded.store(frames, Ordering::Relaxed);
            let next = THRESHOLDS.get(changes.len() + 1);
            let since = changes.last().map_or(0, sent);
            if let Some(threshold) = next
                && sent(&counters) >= since + FRAMES
            {
                let mut new = config.clone();
                new.marking.set("threshold", threshold).unwrap();
                live.set_marking(&config.reload(&new).unwrap()).unwrap();
                // Nothing is forwarded meanwhile: any difference is caused by the change.
                assert_eq!(live.counters().ports, counters.ports);
                changes.push(counters);
            }
        },
        || {
            bed.transfer(0, 1, "10.0.0.2:5001", BYTES);
            // The connection's last packets come after its last byte.
            assert!(suite::wait_until(|| (0..2).all(|host| bed.is_silent(host))));
            let heard = || bed.frames(0)[1] + bed.frames(1)[1] - sent_before;
            assert!(suite::wait_until(|| forwarded.load(Ordering::Relaxed) >= heard()));
        },
    );
    check(&bed, &counters);
    assert_eq!(changes.len(), 2, "both changes came while packets passed");
    assert!(sent(&counters) > sent(&changes[1]) + FRAMES / 2);
    for seen in changes.iter().chain([&counters]) {
        assert_eq!(seen.imbalance(), 0, "{seen:?}");
        for port in &seen.ports {
            assert_eq!((port.dropped(), port.missed), (0, 0), "{port:?}");
        }
    }
    assert!(changes[0].ports[1].held > 0, "packets waited");

    // Marks start with the second threshold and end with it.
    let marks = |seen: &Counters| seen.ports[1].marks.values().sum::<u64>();
    let [first, second] = [0, 1].map(|change: usize| marks(&changes[change]));
    assert_eq!(first, 0);
    assert!(second > 10, "{second}");
    assert_eq!(marks(&counters), second);

    // Counts of the kernels on both sides.
    let after = [0, 1].map(|host| bed.frames(host));
    for (host, port) in counters.ports.iter().enumerate() {
        let [received, sent] = [0, 1].map(|side| after[host][side] - before[host][side]);
        assert_eq!(sent, port.received.packets, "host {host}");
        assert_eq!(received, port.sent.packets, "host {host}");
        let marks = port.marks.values().sum::<u64>();
        assert_eq!(marks, bed.counter(host, "IpExt", "InCEPkts"), "host {host}");
        assert_eq!(port.held, 0, "host {host}");
    }
}

/// Frames that have left for the receiver.
fn sent(counters: &Counters) -> u64 {
    counters.ports[1].sent.packets
}
