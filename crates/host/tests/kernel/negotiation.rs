//! The handshake with a stock host, from a capture.

use super::bed::{Bed, Capture};
use super::program::Loaded;

const FIELDS: [&str; 5] =
    ["ip.src", "tcp.flags.syn", "tcp.flags.ack", "ip.dsfield.ecn", "tcp.flags"];

const ECE: u32 = 0x40;
const CWR: u32 = 0x80;
/// What newer negotiations use besides.
const AE: u32 = 0x100;

/// The handshake and the data of a connection that the first host opens.
struct Seen {
    /// Codepoint and flags of SYN and SYN-ACK.
    syn: (u32, u32),
    syn_ack: (u32, u32),
    /// Segments of the first host, and of the second, that were ECN-capable.
    capable: [u32; 2],
    /// Segments with CWR of the first and the second host.
    reduced: [u32; 2],
}

/// Opens a connection and sends data over it from one host.
fn observe(bed: &Bed, from: usize) -> Seen {
    let capture = Capture::start(bed);
    bed.run(&Bed::config("100Mbps", 10, 500), || {
        bed.transfer(from, 600_000);
    });
    let mut seen = Seen { syn: (9, 0), syn_ack: (9, 0), capable: [0; 2], reduced: [0; 2] };
    for packet in capture.read(&FIELDS, "tcp") {
        let ecn: u32 = packet[3].parse().unwrap();
        let flags = u32::from_str_radix(packet[4].trim_start_matches("0x"), 16).unwrap();
        let is_set = |field: &str| field == "1" || field == "True";
        let host = usize::from(packet[0] == "10.0.0.2");
        match (is_set(&packet[1]), is_set(&packet[2])) {
            (true, false) => seen.syn = (ecn, flags),
            (true, true) => seen.syn_ack = (ecn, flags),
            _ => {
                seen.capable[host] += u32::from(ecn > 0);
                seen.reduced[host] += u32::from(flags & CWR > 0);
            }
        }
    }
    seen
}

/// An ECN-setup SYN and SYN-ACK as RFC 3168, section 6.1.1 wants them, of packets that are not
/// ECN-capable: any peer with standard ECN accepts them.
fn check(seen: &Seen, what: &str) {
    let bits = ECE | CWR | AE;
    assert_eq!((seen.syn.0, seen.syn.1 & bits), (0, ECE | CWR), "SYN of {what}");
    assert_eq!((seen.syn_ack.0, seen.syn_ack.1 & bits), (0, ECE), "SYN-ACK of {what}");
}

pub(crate) fn one_sided_algorithms_negotiate_with_a_stock_peer() {
    for name in ["tg_odctcp_snd", "tg_odctcp_rcv"] {
        // The algorithm's host sends or receives, and opens the connection or waits for it.
        for ours in [0, 1] {
            let loaded = Loaded::new(name, &[]);
            let bed = Bed::new();
            bed.choose(ours, name, if ours == 0 { 1 } else { 2 });
            bed.choose(1 - ours, "reno", if ours == 0 { 2 } else { 1 });
            let from = if name == "tg_odctcp_snd" { ours } else { 1 - ours };
            let what = format!("{name} at host {ours}");
            let seen = observe(&bed, from);
            check(&seen, &what);
            assert!(seen.capable[from] > 100, "{what} has {:?} ECT", seen.capable);
            assert!(seen.reduced[from] > 0, "{what} has {:?} CWR", seen.reduced);
            let status = loaded.status();
            assert_eq!(
                (&status["opened"], &status["refused_ecn"]),
                (&1.into(), &0.into()),
                "{what}"
            );
        }
    }
}

/// Why the one-sided ones open connections differently: with ECT on the SYN a stock listener
/// refuses.
pub(crate) fn tg_dctcp_is_refused_by_a_stock_listener_and_is_reno_then() {
    let loaded = Loaded::new("tg_dctcp", &[]);
    let bed = Bed::new();
    bed.choose(0, "tg_dctcp", 2);
    let seen = observe(&bed, 0);
    assert_eq!((seen.syn.0, seen.syn.1 & (ECE | CWR)), (2, ECE | CWR));
    assert_eq!(seen.syn_ack.1 & ECE, 0);
    assert_eq!(seen.capable, [0; 2], "no receiver would echo a mark");
    let refused = |expected: (u64, u64)| {
        let status = loaded.status();
        assert_eq!(
            (&status["opened"], &status["refused_ecn"]),
            (&expected.0.into(), &expected.1.into()),
            "{status}"
        );
    };
    refused((1, 1));
    // Between two hosts that have it, it is accepted.
    bed.choose(1, "tg_dctcp", 2);
    let seen = observe(&bed, 0);
    assert_eq!(seen.syn_ack.1 & ECE, ECE);
    assert!(seen.capable[0] > 100 && seen.capable[1] > 100, "{:?}", seen.capable);
    refused((3, 1));
    // A client that does not ask for ECN gets none, in both directions.
    bed.choose(0, "reno", 2);
    for (from, opened) in [(0, 4), (1, 5)] {
        let seen = observe(&bed, from);
        assert_eq!(seen.syn.1 & (ECE | CWR), 0);
        assert_eq!(seen.capable, [0; 2], "no receiver would echo a mark");
        refused((opened, opened - 2));
    }
}
