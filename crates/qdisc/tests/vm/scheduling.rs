//! Classes, schedulers, the wire's rate, and a pool of two ports.

#![expect(clippy::disallowed_methods, reason = "the clock of the machine is virtual")]

use std::path::Path;
use std::thread;
use std::time::Instant;

use tidegate_qdisc::kernel::port;

use crate::bed::{Bed, DEVICE};
use crate::program::{Loaded, succeed};

/// Bytes of a flow.
const BYTES: usize = 1 << 20;

/// Bytes that have left each queue.
fn dequeued() -> Vec<u64> {
    let folder = Path::new("/sys/fs/bpf/tidegate-qdisc").join(DEVICE);
    let counters = port::counters(&folder).unwrap();
    counters.queues.iter().map(|queue| queue.dequeued.bytes).collect()
}

/// Sends two flows at once. Returns the bytes that have left each queue when the first flow is
/// over.
fn compete(bed: &Bed, services: [u32; 2]) -> Vec<u64> {
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            bed.flow(0, services[0], BYTES);
            dequeued()
        });
        scope.spawn(|| bed.flow(1, services[1], BYTES));
        first.join().unwrap()
    })
}

pub(crate) fn a_scheduler_serves_classes_by_dscp_and_by_priority() {
    let bed = Bed::new("dctcp");
    let port = "--scheme tcn --threshold 2ms --rate 50Mbps";
    // Expedited forwarding, which has queue 0, and best effort.
    let by_dscp = "--set dscp.queues=46:0,0:1";
    // The kernel gives forwarded packets for low delay priority 6.
    let by_priority = "--by priority --set dscp.queues=6:0,0:1";
    let strict = "--scheduler sp --set scheduler.queues=2";
    let weighted = "--scheduler dwrr --set scheduler.quanta=4614,1538";
    for (class, service) in [(by_dscp, 46 << 2), (by_priority, 0x10)] {
        let loaded = Loaded::new(DEVICE, &format!("{port} {class} {strict}"));
        let sent = compete(&bed, [service, 0]);
        assert!(sent[0] >= BYTES as u64 && sent[1] * 4 < sent[0], "{sent:?}");
        drop(loaded);
        let loaded = Loaded::new(DEVICE, &format!("{port} {class} {weighted}"));
        let sent = compete(&bed, [service, 0]);
        let percent = sent[0] * 100 / sent[1];
        assert!((250..350).contains(&percent), "{percent}");
        drop(loaded);
    }
}

pub(crate) fn packets_leave_at_the_rate() {
    let bed = Bed::new("dctcp");
    let loaded = Loaded::new(DEVICE, "--scheme tcn --threshold 2ms --rate 40Mbps");
    let begun = Instant::now();
    bed.transfer(2, BYTES);
    let elapsed = begun.elapsed().as_nanos();
    // A byte takes 200 ns. Handshakes and ends are idle times.
    let percent = elapsed * 100 / u128::from(dequeued()[0] * 200);
    assert!((100..105).contains(&percent), "{percent}");
    assert_eq!(loaded.unload()["lost_ns"], 0);
}

pub(crate) fn a_pool_that_another_port_has_filled_marks() {
    let bed = Bed::new("cubic");
    succeed(
        "load left right --scheme bcc --set port_threshold=2MB --set pool_threshold=60KB \
         --buffer dynamic-threshold --set buffer.pool_size=200KB --set buffer.reserve_size=0B \
         --set buffer.alpha=1 --rate 20Mbps",
    );
    let ports = [Loaded::of("left"), Loaded::of("right")];
    thread::scope(|scope| {
        // This flow does not ask for ECN, and nothing keeps its queue short.
        bed.receiver.set("net/ipv4/tcp_ecn", "2").unwrap();
        scope.spawn(|| bed.flow_back(0, BYTES));
        scope.spawn(|| bed.flow(1, 0, BYTES / 8));
    });
    let [left, right] = ports.map(Loaded::unload);
    let longest =
        |port: &serde_json::Value| port["queues"][0]["sojourn"]["max_ns"].as_u64().unwrap();
    assert!(right["marks"]["pool-length"].as_u64() > Some(0), "{right:#}");
    assert!(longest(&right) < longest(&left));
}
