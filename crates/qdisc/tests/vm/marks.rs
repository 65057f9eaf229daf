//! Marks on the way of a packet: decided by the qdisc, set at egress, counted by the receiver.

use crate::bed::{Bed, DEVICE};
use crate::program::Loaded;

pub(crate) fn every_mark_that_is_decided_is_set_and_received() {
    let bed = Bed::new("dctcp");
    let loaded = Loaded::new(DEVICE, "--scheme tcn --threshold 2ms --rate 50Mbps");
    let before = (bed.sent(), bed.received(), bed.received_ce());
    bed.transfer(2, 1 << 20);
    let waiting = loaded.status();
    let counters = loaded.unload();
    let packets = bed.sent() - before.0;
    let marks = bed.received_ce() - before.2;
    assert!(marks > 0);
    assert_eq!(counters["marks"]["sojourn"], marks);
    assert_eq!(counters["marked"], marks);
    assert_eq!(counters["unmarked"], 0);
    assert_eq!(packets, bed.received() - before.1);
    assert_eq!(counters["received"]["packets"], packets);
    assert_eq!(counters["sent"]["packets"], packets);
    assert_eq!(counters["queues"][0]["sojourn"]["count"], packets);
    assert_eq!(waiting["settings"]["scheme.threshold"], "2ms");
    assert_eq!(waiting["counters"], counters);
}
