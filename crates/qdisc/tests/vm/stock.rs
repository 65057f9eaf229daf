//! The kernel's own qdiscs, by which the bed itself is tested.

use serde_json::Value;

use crate::bed::{Bed, DEVICE, call};

/// Puts a qdisc of the kernel on the bottleneck, below a shaper.
pub(crate) fn shape(rate: &str, leaf: &str) {
    call(&format!("tc qdisc add dev {DEVICE} root handle 1: htb default 1"));
    call(&format!("tc class add dev {DEVICE} parent 1: classid 1:1 htb rate {rate}"));
    call(&format!("tc qdisc add dev {DEVICE} parent 1:1 {leaf}"));
}

pub(crate) fn marks_of_the_kernels_own_qdisc_are_the_ce_packets_that_the_receiver_counts() {
    let bed = Bed::new("dctcp");
    shape("50mbit", "fq_codel ce_threshold 2ms");
    let before = (bed.sent(), bed.received());
    bed.transfer(2, 1 << 20);
    let qdiscs: Value = serde_json::from_str(&call("tc -json -statistics qdisc show")).unwrap();
    let leaf = qdiscs.as_array().unwrap().iter().find(|qdisc| qdisc["kind"] == "fq_codel").unwrap();
    assert!(bed.received_ce() > 0);
    assert_eq!(leaf["ce_mark"], bed.received_ce());
    let packets = bed.sent() - before.0;
    assert_eq!(packets, bed.received() - before.1);
    assert_eq!(leaf["packets"], packets);
}
