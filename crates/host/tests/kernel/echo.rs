//! The receiver's half, from a capture at the receiver: which mark does an ACK echo?

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use super::bed::{Bed, Capture};
use super::program::Loaded;

const FIELDS: [&str; 7] =
    ["ip.src", "tcp.len", "tcp.nxtseq", "tcp.ack", "ip.dsfield.ecn", "tcp.flags", "tcp.seq"];

const ECE: u32 = 0x40;
const CWR: u32 = 0x80;

/// Counts from a capture at the receiver.
struct Echoes {
    /// Segments with CE.
    marked: u32,
    /// ACKs with ECE.
    echoed: u32,
    /// ACKs whose ECE is not the CE of the last segment that they acknowledge.
    wrong: u32,
    /// The first such ACK, after the packets before it.
    example: String,
    acks: u32,
    /// The segments, in order.
    segments: Vec<Segment>,
}

/// A segment with data, and its acknowledgement.
struct Segment {
    has_cwr: bool,
    /// No other segment waited for an ACK.
    is_alone: bool,
    /// It was acknowledged before the next came.
    is_acked: bool,
}

impl Display for Echoes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { marked, echoed, wrong, acks, example, .. } = self;
        write!(
            f,
            "{marked} marked; {echoed} echoed and {wrong} wrong of {acks} ACKs
{example}"
        )
    }
}

impl Echoes {
    /// Segments with CWR before which nothing waited for an ACK, while ACKs were delayed, and the
    /// number acknowledged at once.
    fn reductions(&self) -> (usize, usize) {
        let pairs = self.segments.iter().zip(self.segments.iter().skip(1));
        // If the next one is not delayed either, none are: the kernel begins like that.
        let counted = pairs.filter(|(segment, next)| {
            let is_delaying = !(next.is_alone && next.is_acked);
            segment.has_cwr && segment.is_alone && is_delaying
        });
        let counted: Vec<_> = counted.map(|(segment, _)| segment.is_acked).collect();
        (counted.len(), counted.iter().filter(|&&is| is).count())
    }
}

fn observe(bed: &Bed) -> Echoes {
    let capture = Capture::start(bed);
    bed.run(&Bed::config("100Mbps", 10, 500), || {
        bed.transfer(0, 2_000_000);
    });
    let mut ends = BTreeMap::new();
    let mut echoes = Echoes {
        marked: 0,
        echoed: 0,
        wrong: 0,
        example: String::new(),
        acks: 0,
        segments: Vec::new(),
    };
    // Acknowledged bytes, and arrived bytes.
    let (mut acked, mut arrived) = (1, 1);
    let packets = capture.read(&FIELDS, "tcp.flags.syn == 0 and tcp.flags.fin == 0");
    for (place, packet) in packets.iter().enumerate() {
        let number = |field: usize| packet[field].parse::<u32>().unwrap();
        let flags = u32::from_str_radix(packet[5].trim_start_matches("0x"), 16).unwrap();
        if packet[0] == "10.0.0.1" && number(1) > 0 {
            // Sent again, as a host may that waited long for its ACK: it is old, and its mark is
            // not looked at.
            if ends.contains_key(&number(2)) {
                continue;
            }
            let is_marked = number(4) == 3;
            echoes.marked += u32::from(is_marked);
            ends.insert(number(2), is_marked);
            arrived = number(2);
            echoes.segments.push(Segment {
                has_cwr: flags & CWR > 0,
                is_alone: number(6) == acked,
                is_acked: false,
            });
        } else if packet[0] == "10.0.0.2"
            && let Some(&is_marked) = ends.get(&number(3))
        {
            let echoes_mark = flags & ECE > 0;
            acked = number(3);
            if let Some(last) = echoes.segments.last_mut().filter(|_| acked == arrived) {
                last.is_acked = true;
            }
            echoes.acks += 1;
            echoes.echoed += u32::from(echoes_mark);
            if echoes_mark != is_marked {
                echoes.wrong += 1;
                if echoes.example.is_empty() {
                    let before = &packets[place.saturating_sub(8)..=place];
                    echoes.example = format!("{FIELDS:?} {before:#?}");
                }
            }
        }
    }
    assert!(echoes.marked > 10 && echoes.acks > 100, "{echoes}");
    echoes
}

/// Thesis, section 5.2.2: a segment with CWR keeps the delayed ACK waiting.
pub(crate) fn a_segment_with_cwr_waits_for_its_ack_as_the_variant_has_it() {
    let bed = Bed::new();
    let of = |echo: &str| {
        let setting = format!("echo={echo}");
        let _loaded = Loaded::new("tg_odctcp_rcv", &[&setting]);
        bed.choose(0, "reno", 1);
        bed.choose(1, "tg_odctcp_rcv", 2);
        let echoes = observe(&bed);
        bed.choose(1, "reno", 2);
        echoes
    };
    let (waiting, inverted) = (of("odctcp"), of("odctcp-inverted"));
    // The timer of a delayed ACK, or a reader that opens the window, may come before the next
    // segment.
    let (reduced, at_once) = waiting.reductions();
    assert!(reduced > 1 && 2 * at_once < reduced, "{at_once} of {reduced}");
    let (reduced, at_once) = inverted.reductions();
    assert!(reduced > 1 && 4 * at_once > 3 * reduced, "{at_once} of {reduced}");
}

pub(crate) fn each_ack_echoes_the_last_segment_that_it_acknowledges() {
    let bed = Bed::new();
    // A stock receiver echoes until CWR comes: without the algorithm the check fails.
    bed.choose(0, "reno", 1);
    let stock = observe(&bed);
    assert!(stock.wrong > 0, "{stock}");
    {
        let _loaded = Loaded::new("tg_odctcp_rcv", &[]);
        bed.choose(1, "tg_odctcp_rcv", 2);
        let echoes = observe(&bed);
        assert!(echoes.wrong == 0 && echoes.echoed > 0, "tg_odctcp_rcv: {echoes}");
        bed.choose(1, "reno", 2);
    }
    for echo in ["dctcp-two-acks", "dctcp", "dctcp-paper"] {
        let setting = format!("echo={echo}");
        let _loaded = Loaded::new("tg_dctcp", &[&setting]);
        bed.choose(0, "tg_dctcp", 2);
        bed.choose(1, "tg_dctcp", 2);
        let echoes = observe(&bed);
        assert!(echoes.wrong == 0 && echoes.echoed > 0, "{echo}: {echoes}");
        bed.choose(0, "reno", 1);
        bed.choose(1, "reno", 2);
    }
}
