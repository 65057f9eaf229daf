//! Random setups: small, and as diverse as possible.

use tidegate_dataplane::{NonEct, mark};
use tidegate_sim::flow_control;
use tidegate_sim::flow_control::bfc::{self, FlowIds, Takes};
use tidegate_sim::observe::{Convention, Observe, PortFlows, Which};
use tidegate_sim::setup::{
    Accounting, Delayed, HostDelay, HostReceive, Opening, Ports, Stop, Tcp, Transport,
};
use tidegate_sim::topology::{self, dumbbell, fat_tree, leaf_spine, parking_lot, star};
use tidegate_sim::{Ecmp, Flow, HostId, Network, Setup};
use tidegate_transport::config::{Echo, Qdisc, Repair, TsoSizing};
use tidegate_transport::protocol::{self, dcqcn};
use tidegate_transport::{cc, pias};
use tidegate_units::{Bytes, Rate, Ratio, Size, Span, Time};

use super::{Dice, buffer, flow, marking, ports, scheduling, setup, stack};

const SCHEMES: [&str; 16] = [
    "bcc port_threshold=30KB pool_threshold=60KB pool_min_threshold=30KB mean_packet=1500",
    "codel target=10us interval=100us",
    "diff-ecn threshold=30KB",
    "diff-ecn threshold=30KB tables=hardware",
    "ecn-sharp",
    "ideal-red rtt=20us",
    "mq-ecn threshold=20pkts",
    "none",
    "per-flow-tcn threshold=10us",
    "pool-red threshold=40KB",
    "port-red threshold=20pkts",
    "queue-red threshold=20pkts",
    "queue-red threshold=30pkts min_threshold=5pkts max_probability=1/2",
    "rate-red port_threshold=30KB",
    "tcn threshold=20us",
    "tcn threshold=30us min_threshold=5us max_probability=1/4",
];

const SCHEDULERS: [&str; 12] = [
    "fifo",
    "fifo queues=4",
    "dwrr quanta=1500,1500,3000,1500",
    "wrr quanta=1500,1500,3000,1500",
    "wfq weights=1,2,3,4",
    "sp queues=4",
    "pifo rank=pfabric weights=1,1,1,1",
    "pifo rank=stfq weights=1,2,1,1",
    "sp-dwrr strict=1 quanta=1500,1500,1500",
    "sp-wfq strict=1 weights=1,1,2",
    "sp-wrr strict=1 quanta=1500,1500,1500",
    "sp-pifo strict=1 weights=1,1",
];

const BUFFERS: [&str; 8] = [
    "per-port limit=30KB",
    "per-port limit=300KB",
    "per-queue limit=20KB",
    "per-queue limit=100KB port_limit=150KB",
    "dynamic-threshold pool_size=200KB reserve_size=3KB alpha=1",
    "dynamic-threshold pool_size=90KB reserve_size=0B alpha=4 ports_per_pool=3",
    "pfc buffer=1MB classes=4 headroom=60KB rule=static xoff=20KB xon=15KB",
    "unlimited",
];

/// Profiles of TCP with a congestion control, and DCQCN.
const STACKS: [(&str, &str); 10] = [
    ("tcn-sim", "dctcp"),
    ("rfc", "dctcp"),
    ("tcn-testbed", "dctcp"),
    ("ecn-sharp-sim", "dctcp"),
    ("bcc-sim", "dctcp"),
    ("tcn-sim", "ecn-star"),
    ("rfc", "rfc3168"),
    ("rfc", "reno"),
    ("odctcp-testbed", "odctcp"),
    ("", "dcqcn"),
];

/// Topologies that are built below with settings of their own.
const TOPOLOGIES: [&str; 5] = ["dumbbell", "fat-tree", "leaf-spine", "parking-lot", "star"];

fn network(dice: &mut Dice) -> Network {
    let delays = [0, 1, 333, 1_000, 5_000, 40_000, 3_000_000].map(Span::from_ns);
    let delay = *dice.pick(&delays);
    let other = *dice.pick(&delays);
    let rates = [1_000_000_000, 9_999_999_967, 10_000_000_000, 100_000_000_000];
    let rate =
        |dice: &mut Dice| Rate::from_bps(*dice.pick(&rates)).expect("no rate in the list is zero");
    let (host_rate, fabric_rate) = (rate(dice), rate(dice));
    let left_out = topology::Config::NAMES.iter();
    let left_out: Vec<_> = left_out.filter(|name| !TOPOLOGIES.contains(name)).collect();
    let made = match dice.below(6 + left_out.len() as u64) {
        0 | 1 => star::Config {
            hosts: 3 + dice.below(8) as u32,
            host_rate,
            host_delay: delay,
            host_delays: if dice.once_in(3) { vec![other; 2] } else { Vec::new() },
            ..star::Config::default()
        }
        .build(),
        2 => dumbbell::Config {
            left: 4,
            right: 3,
            host_rate,
            host_delay: delay,
            bottleneck_rate: fabric_rate,
            bottleneck_delay: other,
            ..dumbbell::Config::default()
        }
        .build(),
        3 => leaf_spine::Config {
            leaves: 3,
            spines: 2,
            hosts_per_leaf: 3,
            host_rate,
            fabric_rate,
            host_delay: delay,
            fabric_delay: other,
        }
        .build(),
        4 => fat_tree::Config {
            k: 4,
            host_rate,
            fabric_rate,
            host_delay: delay,
            fabric_delay: other,
        }
        .build(),
        5 => parking_lot::Config {
            hosts: vec![2, 1, 2, 2],
            pipe_rates: vec![fabric_rate],
            pipe_delays: vec![other],
            host_rate,
            host_delay: delay,
        }
        .build(),
        more => {
            let name = left_out[more as usize - 6];
            let config =
                topology::Config::named(name).expect("the name is in the list of topologies");
            config.build()
        }
    };
    made.expect("all of these settings are valid")
}

fn flows(dice: &mut Dice, hosts: u32) -> Vec<Flow> {
    let count = 3 + dice.below(40);
    let bytes = [1, 100, 1460, 1461, 14_600, 14_600, 60_000, 200_000];
    // With a step of zero everything starts in the same picosecond.
    let step = *dice.pick(&[0, 0, 1, 1_200_000, 7_000_003, 200_000_000]);
    let incast = dice.once_in(3);
    let rated = dice.once_in(4);
    let mut start = 0;
    let flows = (0..count).map(|_| {
        start += dice.below(2) * step;
        let dst = if incast { 0 } else { dice.below(u64::from(hosts)) as u32 };
        let src = (dst + 1 + dice.below(u64::from(hosts) - 1) as u32) % hosts;
        let rate = rated && dice.once_in(2);
        Flow {
            rate: rate.then(|| Rate::from_bps(800_000_000).expect("the rate is not zero")),
            service: dice.below(5) as u8,
            group: dice.below(2) as u8,
            ..flow(Time::from_ps(start), src, dst, *dice.pick(&bytes))
        }
    });
    flows.collect()
}

/// The schemes above, and all others with their defaults.
fn schemes() -> Vec<&'static str> {
    let is_left_out = |name: &&&str| !SCHEMES.iter().any(|it| it.split(' ').next() == Some(name));
    let left_out = mark::Config::NAMES.iter().filter(is_left_out);
    SCHEMES.iter().chain(left_out).copied().collect()
}

fn switch(dice: &mut Dice) -> Ports {
    let schemes = schemes();
    let scheme = marking(dice.pick::<&str>(&schemes));
    let scheme = if dice.once_in(8) {
        let other = marking(dice.pick::<&str>(&schemes));
        mark::Config::Or(Box::new((scheme, other)))
    } else {
        scheme
    };
    let scheduler = dice.below(SCHEDULERS.len() as u64) as usize;
    // Schemes that move flows between queues need one queue that is served first.
    let scheduler = match &scheme {
        mark::Config::DiffEcn(_) | mark::Config::PerFlowTcn(_) => 8 + scheduler % 4,
        _ => scheduler,
    };
    Ports {
        marking: scheme,
        scheduling: scheduling(SCHEDULERS[scheduler]),
        buffer: buffer(dice.pick::<&str>(&BUFFERS)),
        non_ect: *dice.pick(&[NonEct::Pass, NonEct::Pass, NonEct::Drop]),
    }
}

fn transport(dice: &mut Dice) -> Transport {
    let is_left_out = |name: &&&str| !STACKS.iter().any(|(_, rule)| rule == *name);
    let left_out = cc::Config::NAMES.iter().filter(is_left_out);
    let left_out = left_out.chain(protocol::Config::NAMES.iter().filter(is_left_out));
    let left_out = left_out.map(|rule| ("rfc", *rule));
    let stacks: Vec<(&str, &str)> = STACKS.into_iter().chain(left_out).collect();
    let (profile, rule) = *dice.pick(&stacks);
    if let Some(config) = protocol::Config::named(rule) {
        return Transport::other(config);
    }
    let mut source = stack(profile, rule);
    if let cc::Config::Swift(swift) = &mut source.cc {
        // Round trips may be far above its target, and a thousandth of a packet takes long.
        swift.min_window = Ratio::new(1, 4).expect("four is not zero");
    }
    // With the standards' timeouts, runs with losses would be long.
    source.config.rto_min = source.config.rto_min.min(Span::from_ms(2));
    source.config.rto_initial = source.config.rto_initial.min(Span::from_ms(3));
    if dice.once_in(4) {
        source.config.ack_delay = Span::from_us(3);
    }
    let mut sink = source.clone();
    if dice.once_in(6) {
        sink.config.echo = *dice.pick(&[Echo::Rfc3168, Echo::DctcpPaper, Echo::Odctcp, Echo::Off]);
    }
    if dice.once_in(6) {
        source.config.max_retries = Some(2);
    }
    if dice.once_in(6) {
        source.config.initial_window = Size::Packets(100);
    }
    Transport::Tcp(Box::new(Tcp { source, sink }))
}

/// Overload of lossless switches: hosts and switches pause.
fn lossless(seed: u64) -> Setup {
    let mut dice = Dice::new(seed);
    let network = network(&mut dice);
    let flows = flows(&mut dice, network.hosts());
    overload(&mut dice, network, flows, seed)
}

/// The same on a ring of switches, where pauses can hold each other forever.
pub(crate) fn ring_case(seed: u64) -> Setup {
    let mut dice = Dice::new(seed);
    let delays = [0, 333, 1_000, 40_000].map(Span::from_ns);
    let network = super::ring(5, Rate::from_gbps(10), *dice.pick(&delays));
    let mut flows = flows(&mut dice, network.hosts());
    for flow in &mut flows {
        // All in one direction, with more traffic than the links can carry.
        flow.dst = HostId((flow.src.0 + 2) % 5);
        flow.bytes = 300_000;
    }
    overload(&mut dice, network, flows, seed)
}

fn overload(dice: &mut Dice, network: Network, mut flows: Vec<Flow>, seed: u64) -> Setup {
    let buffers = [
        "pfc buffer=1MB classes=4 headroom=60KB rule=static xoff=20KB xon=15KB",
        "pfc buffer=1MB classes=4 headroom=60KB rule=static xoff=4KB xon=2KB bypass=",
        "pfc buffer=400KB classes=2 headroom=9KB rule=shift shift=1 reserve=2KB",
        "pfc buffer=2MB classes=8 headroom=20KB rule=factor factor=1/16 bypass=0,3",
        "pfc buffer=3MB classes=8 headroom=60KB rule=static xoff=9KB xon=6KB provision=per-account",
    ];
    for flow in &mut flows {
        flow.rate = None;
    }
    let mut setup = Setup {
        switch: Ports { buffer: buffer(dice.pick::<&str>(&buffers)), ..switch(dice) },
        nic: Some(ports("none", dice.pick::<&str>(&SCHEDULERS), "unlimited")),
        transports: vec![transport(dice), transport(dice)],
        accounting: *dice.pick(&[Accounting::default(), Accounting::ETHERNET]),
        stop: Stop { at: Time::from_ms(*dice.pick(&[1, 20])), ..Stop::default() },
        seed,
        ..setup(network, flows)
    };
    if dice.once_in(2) {
        setup.observe.ports = Which::All;
        setup.observe.links = Which::All;
    }
    for transport in &mut setup.transports {
        if let Transport::Tcp(tcp) = transport {
            tcp.source.config.initial_window = Size::Packets(100);
        }
    }
    setup
}

/// Overload under BFC: few queues, so that flows share some, and hosts and switches are paused.
pub(crate) fn bfc_case(seed: u64) -> Setup {
    let mut dice = Dice::new(seed);
    let network = network(&mut dice);
    let mut flows = flows(&mut dice, network.hosts());
    for flow in &mut flows {
        flow.bytes *= 1 + dice.below(5);
    }
    let schemes = ["none", "none", "queue-red threshold=20pkts", "tcn threshold=20us"];
    let schedulers = [
        "sp-dwrr strict=1 quanta=1500",
        "sp-dwrr strict=1 quanta=1500,1500,1500",
        "sp-dwrr strict=1 quanta=1500,1500,1500,1500,1500,1500,1500",
        "sp-wfq strict=1 weights=1,1,2",
        "sp-wrr strict=1 quanta=1500,1500,1500",
        "sp queues=4",
        "sp-pifo strict=1 weights=1,1",
    ];
    let buffers = [
        "per-port limit=60KB",
        "per-port limit=3MB",
        "per-queue limit=50KB",
        "dynamic-threshold pool_size=400KB reserve_size=0B alpha=4 ports_per_pool=3",
        "unlimited",
    ];
    let mut node = |buffers: &[&str]| Ports {
        non_ect: *dice.pick(&[NonEct::Pass, NonEct::Pass, NonEct::Drop]),
        ..ports(
            dice.pick::<&str>(&schemes),
            dice.pick::<&str>(&schedulers),
            dice.pick::<&str>(buffers),
        )
    };
    let (switch, nic) = (node(&buffers), node(&["unlimited", "per-port limit=3MB"]));
    let flow_control = bfc::Config {
        flow_ids: *dice.pick(&[FlowIds::Exact, FlowIds::Hashed]),
        ids_per_queue: *dice.pick(&[1, 100]),
        sticky: *dice.pick(&[Ratio::ZERO, Ratio::whole(2)]),
        takes: *dice.pick(&[Takes::Empty, Takes::Unkept]),
    };
    Setup {
        switch,
        nic: Some(nic),
        flow_control: Some(flow_control::Config::Bfc(flow_control)),
        transports: vec![transport(&mut dice), Transport::other(dcqcn::Config::default())],
        accounting: *dice.pick(&[Accounting::default(), Accounting::ETHERNET]),
        opening: *dice.pick(&[Opening::Handshake, Opening::Persistent, Opening::Ready]),
        stop: Stop { at: Time::from_ms(*dice.pick(&[1, 60])), ..Stop::default() },
        seed,
        ..setup(network, flows)
    }
}

/// The setup with this number, which may be invalid.
pub(crate) fn case(seed: u64) -> Setup {
    let mut setup = if seed.is_multiple_of(4) { lossless(seed) } else { lossy(seed) };
    let mut dice = Dice::new(seed ^ (1 << 40));
    if dice.once_in(3) {
        setup.host_receive = host_receive(&mut dice);
    }
    if dice.once_in(3) {
        send_bursts(&mut setup, &mut dice);
    }
    if dice.once_in(3) {
        queue_fairly(&mut setup, &mut dice);
    }
    setup
}

/// Makes hosts without ports queue connections separately, with a large or a small limit for each.
fn queue_fairly(setup: &mut Setup, dice: &mut Dice) {
    let limits = [1, 1_500, 3_000, 9_999, 1 << 20].map(Bytes);
    for transport in &mut setup.transports {
        if let Transport::Tcp(tcp) = transport {
            let config = &mut tcp.source.config;
            config.qdisc = Qdisc::Fq;
            config.limit_output = *dice.pick(&limits);
        }
    }
}

/// Receive settings of hosts: some of them, or all.
fn host_receive(dice: &mut Dice) -> HostReceive {
    let spans = [0, 0, 1, 900_000, 20_000_000].map(Span::from_ps);
    let mut receive = HostReceive {
        interrupt_delay: *dice.pick(&spans),
        packet_time: *dice.pick(&spans),
        jitter: *dice.pick(&spans),
        ..HostReceive::default()
    };
    if receive.interrupt_delay > Span::ZERO {
        receive.interrupt_frames = *dice.pick(&[None, Some(1), Some(3), Some(30)]);
        receive.gro = *dice.pick(&[None, Some(Bytes(3_000)), Some(Bytes::from_kib(64))]);
    }
    receive
}

/// Makes TCP senders hand bursts to their cards, some of them with ns-2's loss recovery.
fn send_bursts(setup: &mut Setup, dice: &mut Dice) {
    for transport in &mut setup.transports {
        if let Transport::Tcp(tcp) = transport {
            let config = &mut tcp.source.config;
            config.tso = Some(*dice.pick(&[Size::Packets(2), Size::Packets(44)]));
            config.tso_sizing = *dice.pick(&[TsoSizing::Full, TsoSizing::Rate]);
            config.repair = *dice.pick(&[Repair::Ns2, Repair::Rfc6675]);
        }
    }
}

fn lossy(seed: u64) -> Setup {
    let mut dice = Dice::new(seed);
    let network = network(&mut dice);
    let flows = flows(&mut dice, network.hosts());
    let stop = match dice.below(6) {
        0 => Stop { at: Time::from_ps(1 + dice.below(300_000_000)), ..Stop::default() },
        1 => Stop { finished: Some(1 + dice.below(flows.len() as u64) as u32), ..Stop::default() },
        _ => Stop::default(),
    };
    let host_delay = HostDelay {
        values: if dice.once_in(3) {
            let values = [0, 1, 10_000, 700_000, 4_000_000_000].map(Span::from_ps);
            (0..4).map(|_| *dice.pick(&values)).collect()
        } else {
            Vec::new()
        },
        packets: *dice.pick(&[Delayed::Both, Delayed::Data]),
    };
    let nic = ["unlimited", "per-port limit=60KB", "dynamic-threshold pool_size=90KB"];
    Setup {
        switch: switch(&mut dice),
        nic: dice.once_in(3).then(|| {
            let scheme = *dice.pick(&["none", "tcn threshold=20us", "queue-red threshold=20pkts"]);
            let scheduler = *dice.pick(&["fifo", "dwrr quanta=1500,1500,3000,1500", "sp queues=4"]);
            ports(scheme, scheduler, dice.pick::<&str>(&nic))
        }),
        transports: vec![transport(&mut dice), transport(&mut dice)],
        accounting: *dice.pick(&[Accounting::default(), Accounting::ETHERNET]),
        opening: *dice.pick(&[Opening::Handshake, Opening::Persistent, Opening::Ready]),
        tagging: dice.once_in(4).then(|| pias::Config {
            thresholds: vec![Bytes(10_000), Bytes(50_000)],
            ..pias::Config::default()
        }),
        host_delay,
        ecmp: *dice.pick(&[Ecmp::FlowOnly, Ecmp::PerNode, Ecmp::ShiftByTtl]),
        observe: if dice.once_in(4) {
            Observe {
                ports: Which::All,
                links: Which::All,
                flows: Which::All,
                port_flows: Some(PortFlows {
                    ports: Which::All,
                    period: Span::from_us(30),
                    ideal: Some(Span::from_us(40)),
                    convention: Convention::TcnPaper,
                }),
                ..Observe::default()
            }
        } else {
            Observe::default()
        },
        stop,
        seed,
        ..setup(network, flows)
    }
}
