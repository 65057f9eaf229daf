//! Terms of the page, explained on it. `docs/glossary.md` has the same text and more terms.

use std::fmt::{Result, Write};

use crate::html::escaped;

/// Terms with their meanings, by name.
pub const TERMS: &[(&str, &str)] = &[
    (
        "α (alpha)",
        "DCTCP's and DCQCN's running estimate of the share of marked packets, from 0 to 1; it sets how far a sender slows down.",
    ),
    ("baseline", "The point of a sweep that all others are compared with, paired by seed."),
    ("CE", "Congestion Experienced: the ECN codepoint that a switch sets to mark a packet."),
    ("confidence interval", "Range that contains the true mean with 95 % confidence."),
    (
        "counted flow",
        "Flow that is part of the results: it starts after the warm-up and before the end of the measurement.",
    ),
    (
        "CWR",
        "Congestion Window Reduced: TCP flag by which the sender confirms that it has reacted to ECE.",
    ),
    ("ECE", "ECN Echo: TCP flag by which a receiver reports marks to the sender."),
    (
        "FCT",
        "Flow completion time: from the start of a flow to its last byte, or as the convention defines it.",
    ),
    ("fingerprint", "Hash of all results of a run. Equal fingerprints mean identical results."),
    ("goodput", "Payload delivered per second, without headers and retransmissions."),
    ("Jain's index", "Fairness of shares: 1 if all are equal, 1/n if one of n gets everything."),
    ("p99", "99th percentile: 99 % of all values are not larger."),
    ("pause frame", "PFC message that stops a class of the sending neighbour."),
    ("probe", "Small packet that is answered at once, to measure round-trip times."),
    (
        "RTO",
        "Retransmission timeout: without ACK for this time, the sender retransmits. It delays the flow by at least the minimum RTO.",
    ),
    ("slowdown", "Completion time divided by completion time in an empty network."),
    ("sojourn time", "Time a packet spends in a queue."),
    ("ssthresh", "Slow start threshold: the congestion window at which slow start ends."),
    ("threshold", "Queue length or sojourn time above which a scheme marks packets."),
    ("utilisation", "Share of time that a link spends sending."),
    ("warm-up", "Start of a run whose flows do not count in results."),
];

/// Writes the terms as the last section of a page.
pub(super) fn write(out: &mut String) -> Result {
    out.push_str("<section id=\"terms\"><details><summary>Glossary</summary><dl>\n");
    for (term, meaning) in TERMS {
        writeln!(out, "<dt>{}</dt><dd>{}</dd>", escaped(term), escaped(meaning))?;
    }
    out.push_str("</dl></details></section>\n");
    Ok(())
}
