//! Every decision of the schemes in the kernel is the library's.

use std::collections::VecDeque;
use std::fs;

use tidegate_dataplane::Pkt;
use tidegate_dataplane::mark::{Config, Cx, MarkDecision, Marker, PortInfo, Queues};
use tidegate_testkit::vector::run_mark_with;
use tidegate_units::{Ecn, FlowId, QueueId, Rate, Rng, Span, Time};

use super::marker::InKernel;

/// Schemes in the kernel, with their golden cases: all, and the ones left out because their
/// settings are not in the kernel.
const SCHEMES: [(&str, usize, usize); 8] = [
    ("bcc", 15, 0),
    ("codel", 19, 0),
    // Exact tables.
    ("diff-ecn", 35, 22),
    // The law of ns-3.
    ("ecn-sharp", 26, 2),
    ("none", 8, 0),
    // A moving average.
    ("port-red", 12, 1),
    ("queue-red", 23, 1),
    ("tcn", 15, 0),
];

pub(crate) fn golden_vectors_hold_in_the_kernel() {
    let mut found = Vec::new();
    for (scheme, ..) in SCHEMES {
        let path = format!("{}/../../testdata/mark/{scheme}.toml", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(path).unwrap();
        let summary = run_mark_with(&text, |config, port| {
            config.build(port)?;
            // Whatever the library can do and the kernel cannot is left out, and counted below.
            Ok(InKernel::new(config, port).ok())
        });
        let summary = summary.unwrap_or_else(|error| panic!("{scheme}: {error}"));
        let all = text.matches("\n[[case]]\n").count();
        found.push((scheme, all, all - summary.cases));
    }
    assert_eq!(found, SCHEMES, "golden cases");
}

pub(crate) fn options_without_a_program_are_refused_by_name() {
    for (scheme, settings, refused) in [
        ("mq-ecn", &[][..], "scheme = mq-ecn is out of range; allowed: in the kernel bcc, "),
        ("queue-red", &[("average_weight", "1/500")], "average_weight = 1/500"),
        ("ecn-sharp", &[("law", "ns3")], "law = ns3 is out of range; allowed: paper"),
        ("diff-ecn", &[], "tables = exact is out of range; allowed: hardware"),
        ("diff-ecn", &[("profile", "testbed"), ("map_entries", "2048")], "map_entries = 2048"),
        ("diff-ecn", &[("profile", "testbed"), ("update_packets", "9")], "update_packets = 9"),
    ] {
        let config = config(scheme, settings);
        let error = tidegate_qdisc::setup::encode_scheme(&config, Rate::from_gbps(10), 8);
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with(refused), "{scheme}: {error}");
    }
}

fn config(scheme: &str, settings: &[(&'static str, &str)]) -> Config {
    let mut config = Config::named(scheme).unwrap();
    for (field, value) in settings {
        config.set(field, value).unwrap();
    }
    config
}

/// Queues of the random port.
const QUEUES: u8 = 4;

/// Random steps of the first configuration of a scheme, and of each further one.
const STEPS: [u32; 2] = [100_000, 30_000];

const RANDOM: &[(&str, &[(&str, &str)])] = &[
    ("tcn", &[("threshold", "78us")]),
    ("tcn", &[("threshold", "120us"), ("min_threshold", "40us"), ("max_probability", "0.7")]),
    ("tcn", &[("threshold", "78us"), ("clock", "stamp-4ns")]),
    ("tcn", &[("threshold", "78us"), ("min_threshold", "30us"), ("clock", "units-1024ns")]),
    ("ecn-sharp", &[]),
    ("ecn-sharp", &[("arithmetic", "tofino")]),
    ("ecn-sharp", &[("ins_min_target", "90us"), ("max_probability", "0.5")]),
    ("ecn-sharp", &[("signal", "queue-length"), ("ins_target", "20us"), ("pst_target", "4us")]),
    ("codel", &[("interval", "200us")]),
    ("codel", &[("interval", "200us"), ("profile", "es3")]),
    ("codel", &[("interval", "200us"), ("profile", "ns3")]),
    ("queue-red", &[("threshold", "20KB")]),
    ("queue-red", &[("threshold", "20KB"), ("min_threshold", "8KB"), ("max_probability", "0.4")]),
    (
        "queue-red",
        &[
            ("threshold", "20KB, 10KB, 30KB, 5KB"),
            ("min_threshold", "5KB, 10KB, 6KB, 5KB"),
            ("max_probability", "1, 0.5, 0.25, 0.1"),
            ("correction", "packets"),
            ("decide", "dequeue"),
            ("compare", "at-least"),
            ("reading", "exclusive"),
        ],
    ),
    ("queue-red", &[("threshold", "12pkts"), ("unit", "packets"), ("short_queue", "pass")]),
    ("port-red", &[("threshold", "60KB")]),
    (
        "port-red",
        &[
            ("threshold", "90KB"),
            ("min_threshold", "20KB"),
            ("max_probability", "0.2"),
            ("correction", "bytes"),
        ],
    ),
    ("bcc", &BCC),
    ("diff-ecn", &[("profile", "testbed")]),
    (
        "diff-ecn",
        &[
            ("profile", "testbed"),
            ("release", "idle"),
            ("pass_count", "before-arrival"),
            ("pass_limit", "3pkts"),
            ("reading", "exclusive"),
            ("map_entries", "4"),
            ("count_registers", "8"),
            ("threshold", "20KB"),
        ],
    ),
];

const BCC: [(&str, &str); 4] = [
    ("port_threshold", "60KB"),
    ("pool_threshold", "500KB"),
    ("pool_min_threshold", "100KB"),
    ("max_probability", "0.3"),
];

pub(crate) fn random_steps_have_the_library_s_answers() {
    let mut last = "";
    for (number, (scheme, settings)) in (0..).zip(RANDOM) {
        let steps = STEPS[usize::from(last == *scheme)];
        last = scheme;
        let config = config(scheme, settings);
        let first = (*scheme == "diff-ecn").then_some(QueueId(0));
        let info = PortInfo {
            rate: Rate::from_gbps(10),
            queues: QUEUES,
            round: &|_| None,
            first,
            scheduler: "sp-dwrr",
            seed: 7,
            stream: number,
        };
        let library = config.build(&info).unwrap();
        let kernel = InKernel::new(&config, &info).unwrap();
        let mut port = Port::new(number);
        let marks = port.run(steps, library, kernel).unwrap_or_else(|(step, text)| {
            panic!("{scheme} {settings:?}, step {step}: {text}");
        });
        // Both answers occur often.
        assert!(
            (steps / 100..steps / 100 * 99).contains(&marks),
            "{scheme} {settings:?}: {marks} marks"
        );
    }
}

/// A port with random arrivals and departures.
struct Port {
    rng: Rng,
    now: Time,
    pool: u32,
    queues: [VecDeque<Packet>; QUEUES as usize],
}

#[derive(Clone, Copy)]
struct Packet {
    pkt: Pkt,
    came: Time,
}

impl Queues for Port {
    fn count(&self) -> u8 {
        QUEUES
    }

    fn bytes(&self, queue: QueueId) -> u32 {
        self.queues[queue.index()].iter().map(|packet| packet.pkt.len).sum()
    }

    fn packets(&self, queue: QueueId) -> u32 {
        self.queues[queue.index()].len() as u32
    }
}

impl Port {
    fn new(stream: u64) -> Self {
        let queues = [(); QUEUES as usize].map(|()| VecDeque::new());
        Self { rng: Rng::new(3, stream), now: Time::from_us(1), pool: 0, queues }
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.rng.next_u32() % limit
    }

    fn cx(&self, queue: QueueId, pkt: Pkt) -> Cx {
        let all = || (0..QUEUES).map(QueueId);
        Cx {
            now: self.now,
            queue,
            queue_bytes: self.bytes(queue),
            queue_packets: self.packets(queue),
            port_bytes: all().map(|queue| self.bytes(queue)).sum(),
            port_packets: all().map(|queue| self.packets(queue)).sum(),
            pool_bytes: self.pool,
            pkt,
        }
    }

    /// The number of marks, or the first step with different answers.
    fn run(
        &mut self,
        steps: u32,
        mut a: impl Marker,
        mut b: impl Marker,
    ) -> Result<u32, (u32, String)> {
        let mut marks = 0;
        for step in 0..steps {
            let differ = |what: &str, pair: String| (step, format!("{what}: {pair}"));
            // Phases of growth and of drain, with times of 0 to 2.4 us, and a silence now and then.
            let grows = step / 200 % 2 == 0;
            let silence = if self.below(500) == 0 { 400_000_000 } else { 0 };
            let gap = u64::from(self.below(4)) * u64::from(self.below(800_000)) + silence;
            self.now += Span::from_ps(gap);
            self.pool = (self.pool + self.below(9_001)).saturating_sub(4_500).min(600_000);
            let arrives = self.below(100) < if grows { 58 } else { 42 };
            let proposed = QueueId(self.below(QUEUES.into()) as u8);
            if arrives {
                let len = [64, 1500, 1500, 700, 9000][self.below(5) as usize];
                let ecn = [Ecn::Ect0, Ecn::Ect0, Ecn::NotEct][self.below(3) as usize];
                let flow = FlowId(self.below(12));
                let pkt = Pkt { len, flow, ecn, ..Pkt::default() };
                let queue = a.assign(&pkt, proposed, self, self.now);
                let other = b.assign(&pkt, proposed, self, self.now);
                if queue != other {
                    return Err(differ("queue", format!("{queue:?} and {other:?}")));
                }
                let cx = self.cx(queue, pkt);
                let pair = (a.on_enqueue(&cx), b.on_enqueue(&cx));
                if pair.0 != pair.1 {
                    return Err(differ("arrival", format!("{pair:?} {cx:?}")));
                }
                a.on_queued(&cx);
                b.on_queued(&cx);
                marks += u32::from(pair.0 != MarkDecision::Pass);
                self.queues[queue.index()].push_back(Packet { pkt, came: self.now });
            } else if let Some(Packet { pkt, came }) = self.queues[proposed.index()].pop_front() {
                let cx = self.cx(proposed, pkt);
                let sojourn = self.now - came;
                let pair = (a.on_dequeue(&cx, sojourn), b.on_dequeue(&cx, sojourn));
                if pair.0 != pair.1 {
                    return Err(differ("departure", format!("{pair:?} {sojourn} {cx:?}")));
                }
                marks += u32::from(pair.0 != MarkDecision::Pass);
            }
        }
        Ok(marks)
    }
}
