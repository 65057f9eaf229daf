//! Synonyms of names and keys: terms of vendors, papers and daily use.

/// Synonym of a name or key.
pub(crate) struct Alias {
    words: &'static [&'static str],
    /// Name or key.
    pub(crate) name: &'static str,
    /// Explanation in a sentence.
    pub(crate) says: &'static str,
}

/// The synonym for a word in the form of [`plain`].
pub(crate) fn find(word: &str) -> Option<&'static Alias> {
    ALIASES.iter().find(|alias| alias.words.contains(&word))
}

/// A word in the form of names: lower case, with dashes, signs spelled out.
pub(crate) fn plain(word: &str) -> String {
    let mut plain = String::new();
    let dash = |plain: &mut String| {
        if !plain.is_empty() && !plain.ends_with('-') {
            plain.push('-');
        }
    };
    for c in word.trim().to_lowercase().chars() {
        match c {
            '#' | '♯' => {
                dash(&mut plain);
                plain.push_str("sharp");
            }
            '*' => {
                dash(&mut plain);
                plain.push_str("star");
            }
            '_' | '-' | ' ' | '/' => dash(&mut plain),
            c => plain.push(c),
        }
    }
    plain
}

const fn alias(words: &'static [&'static str], name: &'static str, says: &'static str) -> Alias {
    Alias { words, name, says }
}

const ALIASES: &[Alias] = &[
    alias(
        &["red", "ecn-red", "red-ecn", "aqm"],
        "queue-red",
        "RED has three forms: `queue-red` marks by the length of the packet's own queue, \
         `port-red` by the length of all queues of the port, `pool-red` by the occupancy of the \
         shared pool. A single threshold is DCTCP's step; `min_threshold` turns it into the \
         classic ramp.",
    ),
    alias(
        &["wred", "weighted-red", "wred-profile", "ecn-profile"],
        "queue-red",
        "WRED is RED with a profile per class: `queue-red` with one value per queue in \
         `threshold` and `min_threshold`. The page lists the vendors' terms.",
    ),
    alias(
        &[
            "k",
            "ecn-threshold",
            "marking-threshold",
            "ecn-marking-threshold",
            "step",
            "step-marking",
        ],
        "queue-red",
        "K is `threshold`, the queue length above which packets are marked. (The `k` of a fat-tree is \
         on the page of `fat-tree`.)",
    ),
    alias(
        &["dctcp-threshold", "dctcp-k", "dctcp-marking", "threshold-for-dctcp", "k-for-dctcp"],
        "queue-red",
        "DCTCP's threshold K is a switch setting: `threshold` of `queue-red`, chosen as below, K \
         = C × RTT × λ. The page of `dctcp` describes the hosts.",
    ),
    alias(
        &["kmin", "k-min", "min-th", "minth", "minimum-threshold", "wred-min", "green-min"],
        "queue-red",
        "Kmin is `min_threshold`, below which no packet is marked.",
    ),
    alias(
        &[
            "kmax",
            "k-max",
            "max-th",
            "maxth",
            "max-threshold",
            "maximum-threshold",
            "wred-max",
            "green-max",
        ],
        "queue-red",
        "Kmax is `threshold`, above which every packet is marked. With `min_threshold` there is \
         a ramp below it.",
    ),
    alias(
        &[
            "pmax",
            "p-max",
            "max-p",
            "maxp",
            "drop-probability",
            "mark-probability",
            "marking-probability",
        ],
        "queue-red",
        "Pmax is `max_probability`: the marking probability just below `threshold`, at the end \
         of the ramp.",
    ),
    alias(
        &["sojourn", "sojourn-time", "delay-marking", "queueing-delay"],
        "tcn",
        "Marking by sojourn time (queueing delay) is `tcn`; `codel` and `ecn-sharp` also \
         consider how long the delay persists.",
    ),
    alias(
        &["fq-codel", "fqcodel"],
        "codel",
        "CoDel runs per queue here. For one queue per flow use `per-flow-tcn` or `diff-ecn`.",
    ),
    alias(
        &["drop-tail", "droptail", "tail-drop", "taildrop", "no-ecn", "off"],
        "none",
        "Drop tail is the scheme `none`, which never marks.",
    ),
    alias(
        &["pool", "buffer-pool", "shared-pool", "dynamic-buffer", "dt"],
        "dynamic-threshold",
        "A pool shared by all ports is the buffer `dynamic-threshold`. `pool-red` and `bcc` mark \
         by its occupancy.",
    ),
    alias(
        &["buffer-size", "port-buffer", "static-buffer"],
        "per-port",
        "A dedicated buffer per port is `per-port`; `per-queue` divides it further, and \
         `dynamic-threshold` shares a pool.",
    ),
    alias(
        &["pause", "priority-flow-control", "lossless"],
        "pfc",
        "Lossless Ethernet is the buffer `pfc`, which sends pause frames based on ingress \
         accounting.",
    ),
    alias(
        &["backpressure", "backpressure-flow-control", "per-flow-pause"],
        "bfc",
        "Pausing single flows hop by hop is the flow control `bfc`.",
    ),
    alias(
        &["floodgate"],
        "pfc",
        "Floodgate's windows between switches are not implemented; on one switch it equals \
         `dcqcn` over the buffer `pfc`.",
    ),
    alias(
        &["rto", "min-rto", "minrto", "rtomin", "retransmission-timeout"],
        "rto-min",
        "`transport.rto_min` is the minimum retransmission timeout, which each profile sets; \
         `transport.rto_initial` is the initial one.",
    ),
    alias(
        &["base-rtt", "round-trip-time", "round-trip", "propagation-delay"],
        "host-delay",
        "The base round trip is the sum of the delays on the path: mostly `topology.host_delay`, \
         counted twice in each direction.",
    ),
    alias(
        &["gso", "lso", "segmentation-offload", "tso-autosizing"],
        "tso",
        "Hosts send bursts with `transport.tso`, such as \"64KiB\"; `transport.tso_sizing` sets \
         the target size. The page hosts.md compares it with Linux.",
    ),
    alias(
        &["tsq", "tcp-small-queues", "host-queue", "limit-output-bytes"],
        "qdisc",
        "`transport.qdisc = \"fq\"` gives each connection its own queue at the host, and \
         `transport.limit_output` limits a connection's bytes in it. The page hosts.md compares \
         it with Linux.",
    ),
    alias(
        &["lro", "receive-offload", "large-receive-offload"],
        "gro",
        "`transport.host_receive.gro`, such as \"64KiB\", lets hosts merge the segments of one \
         interrupt up to that size.",
    ),
    alias(
        &["interrupt-coalescing", "interrupt-moderation", "rx-usecs", "rx-frames", "napi"],
        "interrupt-delay",
        "Interrupts wait for `transport.host_receive.interrupt_delay` (`rx-usecs`) or for \
         `interrupt_frames` (`rx-frames`) packets.",
    ),
    alias(
        &["host-jitter", "host-noise", "stack-delay", "processing-time"],
        "packet-time",
        "A host's stack needs `transport.host_receive.packet_time` plus up to `jitter` per \
         packet; `transport.host_delay` is a fixed delay per flow.",
    ),
    alias(
        &["sack1", "fulltcp", "ns2-sack", "ns-2-sack1"],
        "ns2-sack1",
        "ns-2's loss recovery is `transport.repair = \"ns2\"`, part of the profile `ns2-sack1`.",
    ),
    alias(
        &["routing", "load-balancing", "multipath", "hashing"],
        "ecmp",
        "`switch.ecmp` selects among equal-cost paths.",
    ),
    alias(
        &["g", "dctcp-g", "dctcp-gain"],
        "gain",
        "DCTCP's g is `gain`: `transport.cc = { kind = \"dctcp\", gain = \"1/16\" }`.",
    ),
    alias(
        &["warmup", "warm-up-time"],
        "warm-up",
        "Flows that start before `measure.warm_up`, or are among the first \
         `measure.warm_up_flows`, are excluded from measurements.",
    ),
    alias(
        &["drr", "deficit-round-robin"],
        "dwrr",
        "Weighted deficit round robin is `dwrr`: the quanta are the weights.",
    ),
    alias(
        &["strict-priority", "priority", "pq", "spq"],
        "sp",
        "Strict priority is `sp`; `sp-dwrr` and its relatives put strict queues above the others.",
    ),
    alias(
        &["round-robin", "rr"],
        "wrr",
        "Packet-based round robin is `wrr`, byte-based is `dwrr`.",
    ),
    alias(
        &["clos", "fabric", "two-tier"],
        "leaf-spine",
        "A two-tier Clos network is `leaf-spine`; a three-tier one is `fat-tree`.",
    ),
    alias(
        &["rack", "single-switch", "tor"],
        "star",
        "Hosts around a single switch are the topology `star`.",
    ),
    alias(
        &["roce", "rocev2", "rdma", "cnp"],
        "dcqcn",
        "RoCE v2 with congestion control is `dcqcn`.",
    ),
    alias(
        &["newreno", "new-reno", "tcp"],
        "reno",
        "TCP without ECN is `reno`; `rfc3168` adds standard ECN, `dctcp` adds DCTCP's.",
    ),
    alias(
        &["websearch"],
        "web-search",
        "The flow size distribution of the DCTCP paper is `web-search`.",
    ),
    alias(
        &["datamining"],
        "data-mining",
        "The flow size distribution of the VL2 paper is `data-mining`.",
    ),
    alias(
        &["microburst", "query"],
        "burst",
        "Incast, many senders to one receiver at once, is the traffic source `burst`; the \
         scenario `incast` is a ready example.",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::catalogue::{self, key};

    #[test]
    fn every_alias_names_a_known_entry_and_hides_no_name() {
        let names = catalogue::all().iter().map(|entry| entry.name).collect::<BTreeSet<_>>();
        let mut seen = BTreeSet::new();
        for alias in ALIASES {
            let is_known = names.contains(alias.name) || !key::named(alias.name).is_empty();
            assert!(is_known, "{} leads nowhere", alias.name);
            for word in alias.words {
                assert_eq!(*word, plain(word), "it would not be found");
                assert!(!names.contains(word), "{word} is a name");
                // Of a fat-tree; the threshold is meant far more often.
                let is_free = *word == "k" || key::named(word).is_empty();
                assert!(is_free, "{word} is a key");
                assert!(seen.insert(*word), "{word} comes twice");
            }
        }
    }

    #[test]
    fn spelling_variants_find_the_same_word() {
        assert_eq!(plain("ECN#"), "ecn-sharp");
        assert_eq!(plain("ECN♯"), "ecn-sharp");
        assert_eq!(plain("ecn*"), "ecn-star");
        assert_eq!(plain(" DCTCP  threshold "), "dctcp-threshold");
        assert_eq!(plain("rto_min"), "rto-min");
        for word in ["RED", "wred", "K", "kmin", "dctcp threshold", "pool", "RTO"] {
            assert!(find(&plain(word)).is_some(), "{word}");
        }
        assert!(find("tcn").is_none());
    }
}
