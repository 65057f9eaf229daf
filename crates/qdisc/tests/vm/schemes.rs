//! Every scheme marks real packets, and the marks are the ones that the receiver counts.

use serde_json::Value;

use crate::bed::{Bed, DEVICE};
use crate::program::Loaded;

/// Settings of a scheme at 50 Mb/s, where a full packet takes 246 µs, and the rules of its marks.
const CASES: &[(&str, &[&str])] = &[
    ("none", &[]),
    ("tcn --set threshold=4ms --set min_threshold=500us --set max_probability=0.5", &["sojourn"]),
    (
        "ecn-sharp --set ins_target=3ms --set pst_target=600us --set pst_interval=10ms",
        &["sojourn", "persistent"],
    ),
    (
        "ecn-sharp --set ins_target=3ms --set pst_target=600us --set pst_interval=10ms \
         --set arithmetic=tofino",
        &["sojourn", "persistent"],
    ),
    ("codel --set target=600us --set interval=10ms", &["persistent"]),
    ("queue-red --threshold 15KB", &["queue-length"]),
    ("queue-red --threshold 15KB --set decide=dequeue", &["queue-length"]),
    (
        "port-red --threshold 30KB --set min_threshold=5KB --set max_probability=0.5 \
         --set correction=packets",
        &["port-length"],
    ),
    (
        "diff-ecn --set profile=testbed --set tables=hardware --threshold 30KB \
         --scheduler sp-dwrr --set scheduler.strict=1 --set scheduler.quanta=1538,1538",
        &["flow-share"],
    ),
    (
        "bcc --set port_threshold=15KB --set pool_threshold=100KB --buffer dynamic-threshold \
         --set buffer.pool_size=200KB --set buffer.reserve_size=20KB",
        &["port-length"],
    ),
];

pub(crate) fn every_scheme_marks_by_its_rule_what_the_receiver_counts() {
    for (words, rules) in CASES {
        let bed = Bed::new("dctcp");
        let loaded = Loaded::new(DEVICE, &format!("--scheme {words} --rate 50Mbps"));
        let before = (bed.sent(), bed.received(), bed.received_ce());
        bed.transfer(2, 1 << 19);
        let counters = loaded.unload();
        let (sent, received) = (bed.sent() - before.0, bed.received() - before.1);
        let marks = bed.received_ce() - before.2;
        let by_rule = counters["marks"].as_object().unwrap();
        let found: Vec<_> = by_rule.keys().map(String::as_str).collect();
        let mut rules = rules.to_vec();
        rules.sort_unstable();
        assert_eq!(found, rules, "{words}: {counters:#}");
        let sum: u64 = by_rule.values().filter_map(Value::as_u64).sum();
        assert_eq!((sum, &counters["marked"]), (marks, &Value::from(marks)), "{words}");
        let drops = counters["drops"].as_object().unwrap();
        let drops: u64 = drops.values().filter_map(Value::as_u64).sum();
        assert_eq!(sent, received + drops, "{words}: {counters:#}");
        assert_eq!(counters["received"]["packets"], sent, "{words}");
    }
}
