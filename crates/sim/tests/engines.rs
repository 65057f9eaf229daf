//! The fast engine against the reference engine: the same outcome for every setup.

mod common;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

use common::cases::{bfc_case, case, ring_case};
use common::{Dice, flow, link_to, ports, setup, stack, star, tcp};
use tidegate_dataplane::mark;
use tidegate_sim::observe::{Sampling, Which};
use tidegate_sim::pause::ClassPauses;
use tidegate_sim::setup::{Opening, Stop, ThinkTime, Transport};
use tidegate_sim::topology::leaf_spine;
use tidegate_sim::workload::Probe;
use tidegate_sim::{End, Flow, HostId, LinkId, Network, Outcome, Setup, run};
use tidegate_transport::protocol::dcqcn;
use tidegate_units::{QueueId, Rate, Size, Span, Time};

/// Outcomes of both engines, or `None` for an invalid setup.
fn both(setup: &Setup) -> Option<[Outcome; 2]> {
    let never = AtomicBool::new(false);
    let fast = run::run(setup, &never);
    let slow = run::run_by_heap(setup, &never);
    match (fast, slow) {
        (Ok(fast), Ok(slow)) => Some([fast, slow]),
        (Err(fast), Err(slow)) => {
            assert_eq!(fast.to_string(), slow.to_string());
            None
        }
        (fast, slow) => panic!("{fast:?} against {slow:?}"),
    }
}

/// Outcome of a valid setup on `threads` threads.
fn on_threads(setup: &Setup, threads: usize) -> Outcome {
    let setup =
        Setup { threads: NonZeroUsize::new(threads).expect("at least one"), ..setup.clone() };
    run::run(&setup, &AtomicBool::new(false))
        .expect("the setup is valid, since it ran on one thread")
}

/// Asserts that the case has the same outcome on several threads.
fn same_on_threads(setup: &Setup, one: &Outcome, case: u64) {
    // Each takes as long as one thread: only a long test tries all of them.
    let counts: &[usize] = match std::env::var_os("ENGINE_CASES") {
        Some(_) => &[2, 3, 8],
        None => &[[2, 3, 8][(case % 3) as usize]],
    };
    for &threads in counts {
        let both = [on_threads(setup, threads), one.clone()];
        let difference = difference(&both);
        assert!(
            difference.is_none() && both[0] == both[1],
            "case {case} on {threads} threads: {difference:?}\n{setup:?}"
        );
    }
}

/// First difference between two outcomes.
fn difference([fast, slow]: &[Outcome; 2]) -> Option<String> {
    let kind = |end: &End| std::mem::discriminant(end);
    if kind(&fast.end) != kind(&slow.end) {
        return Some(format!("end: {:?} against {:?}", fast.end, slow.end));
    }
    for (index, pair) in fast.flows.iter().zip(&slow.flows).enumerate() {
        if pair.0 != pair.1 {
            return Some(format!("flow {index}: {:?} against {:?}", pair.0, pair.1));
        }
    }
    for (index, pair) in fast.links.iter().zip(&slow.links).enumerate() {
        if pair.0 != pair.1 {
            return Some(format!("link {index}: {:?} against {:?}", pair.0, pair.1));
        }
    }
    for (index, pair) in fast.ports.iter().zip(&slow.ports).enumerate() {
        if pair.0 != pair.1 {
            return Some(format!("port {index}: {:?} against {:?}", pair.0, pair.1));
        }
    }
    if fast.pauses != slow.pauses {
        return Some(format!("pauses: {:?} against {:?}", fast.pauses, slow.pauses));
    }
    if fast.deadlocks != slow.deadlocks {
        return Some(format!("{:?} against {:?}", fast.deadlocks, slow.deadlocks));
    }
    if fast.tally != slow.tally {
        return Some(format!("tally: {:?} against {:?}", fast.tally, slow.tally));
    }
    // A stall is noticed at an observation, and only the reference engine jumps to the next event.
    if !matches!(fast.end, End::Stalled(_)) && fast.ended_at != slow.ended_at {
        return Some(format!("ended: {} against {}", fast.ended_at, slow.ended_at));
    }
    if fast.probes != slow.probes {
        return Some("probes".to_owned());
    }
    let is_stalled = matches!(fast.end, End::Stalled(_));
    let observed = [&fast.observed, &slow.observed];
    let windows = observed.map(|seen| seen.window);
    if windows[0] != windows[1] {
        return Some(format!("window: {windows:?}"));
    }
    for (name, is_same) in [
        ("hosts", observed[0].host_waits == observed[1].host_waits),
        ("queues", observed[0].queues == observed[1].queues),
        ("links", observed[0].links == observed[1].links),
        ("flows", observed[0].flows == observed[1].flows),
        // An engine that waits longer before it notices a stall may have thinned its samples once
        // more.
        ("series", is_stalled || observed[0].series == observed[1].series),
    ] {
        if !is_same {
            return Some(format!("observations of {name}, {:?}", fast.end));
        }
    }
    if fast.end != slow.end {
        return Some(format!("end: {:?} against {:?}", fast.end, slow.end));
    }
    (fast.fingerprint() != slow.fingerprint()).then(|| "fingerprint".to_owned())
}

/// The setup with this number, observed in the middle of buckets, with pings, or stopped early.
fn case_looked_at(seed: u64) -> Setup {
    let setup = if seed % 16 == 8 { ring_case(seed) } else { case(seed) };
    looked_at(seed, setup)
}

fn looked_at(seed: u64, mut setup: Setup) -> Setup {
    let mut dice = Dice::new(!seed);
    if dice.once_in(3) {
        let links = (0..setup.network.links().len() as u32).map(LinkId);
        setup.observe.series = Some(Sampling {
            interval: Span::from_ps(1 + dice.below(20_000_000)),
            limit: 500,
            links: links.clone().collect(),
            queues: links
                .filter(|&link| !setup.network.is_host(setup.network.link(link).from))
                .map(|link| (link, QueueId(0)))
                .collect(),
            flows: vec![0],
            window: None,
        });
    }
    if dice.once_in(3) {
        setup.probes = vec![Probe {
            src: HostId(0),
            dst: HostId(1),
            start: Time::from_us(dice.below(50)),
            every: Span::from_ps(1 + dice.below(30_000_000)),
            count: 40,
            bytes: 64 + dice.below(1_000) as u32,
            class: 0,
        }];
    }
    if dice.once_in(4) {
        setup.stop.stalled = Span::from_us(1 + dice.below(3_000));
    }
    setup.observe.host_waits = dice.once_in(2);
    if dice.once_in(4) {
        // Also the queue of a host, ideal hosts included.
        let host = link_to(&setup.network, 0);
        let series = setup.observe.series.iter_mut();
        series.for_each(|series| series.queues.push((Network::reverse(host), QueueId(0))));
    }
    setup
}

/// Whether hosts have much longer links than switches, whose ports do not depend on each other: if
/// so, they are served level by level.
fn has_short_links_inside(setup: &Setup) -> bool {
    let network = &setup.network;
    let shortest = |of_hosts: bool| {
        let links = network.links().iter();
        let links = links.filter(|link| network.is_host(link.from) == of_hosts);
        links.map(|link| link.delay).min()
    };
    let is_coupled = !["per-port", "per-queue", "unlimited"].contains(&setup.switch.buffer.name())
        || ["bcc", "pool-red", "or"].contains(&setup.switch.marking.name());
    shortest(true) >= Some(Span::from_us(5))
        && shortest(false) <= Some(Span::from_ns(333))
        && !is_coupled
}

/// Effects of pauses that a run shows.
fn pauses_seen(setup: &Setup, outcome: &Outcome) -> Vec<&'static str> {
    let mut seen = Vec::new();
    if outcome.links.iter().any(|link| link.pauses > 0) {
        seen.push("paused");
        if outcome.engine_counters.bounded_steps > 0 {
            seen.push("paused and bounded");
        }
    }
    let apart = |pair: &[ClassPauses]| {
        pair[0].of.link == pair[1].of.link && pair[0].paused != pair[1].paused
    };
    if outcome.pauses.windows(2).any(apart) {
        seen.push("classes paused apart");
        seen.extend(setup.nic.as_ref().map(|nic| nic.scheduling.name()));
    }
    if !outcome.deadlocks.is_empty() {
        seen.push("deadlock");
    }
    seen
}

/// Number of random setups to try: set another one with `ENGINE_CASES=5000`.
fn case_count(usual: u64) -> u64 {
    let more = std::env::var_os("ENGINE_CASES");
    more.map_or(usual, |text| {
        let number = text.to_str().and_then(|text| text.parse().ok());
        number.expect("ENGINE_CASES is a number")
    })
}

/// Random setups under BFC, each identified by its number. Every packet is accounted for.
#[test]
fn both_engines_agree_under_bfc() {
    let mut seen = BTreeMap::new();
    for seed in 0..case_count(150) {
        let setup = looked_at(seed, bfc_case(seed));
        let outcomes = both(&setup).expect("the setup is valid");
        if let Some(difference) = difference(&outcomes) {
            panic!("case {seed}: {difference}\n{setup:?}");
        }
        let [fast, _] = &outcomes;
        same_on_threads(&setup, fast, seed);
        let Outcome { tally, links, end, .. } = fast;
        assert!(tally.delivered + tally.dropped <= tally.sent, "case {seed}");
        let paused = |of_host: bool| {
            let mut both = setup.network.links().iter().zip(links);
            both.any(|(link, count)| {
                count.pauses > 0 && setup.network.is_host(link.from) == of_host
            })
        };
        let things = [
            ("finished", *end == End::Finished),
            ("dropped", tally.dropped > 0),
            ("hosts paused", paused(true)),
            ("switches paused", paused(false)),
        ];
        for (name, _) in things.into_iter().filter(|(_, is_seen)| *is_seen) {
            *seen.entry(name).or_insert(0) += 1;
        }
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}

/// Random setups, each identified by its number.
#[test]
fn both_engines_agree_on_random_setups() {
    let count = case_count(400);
    let mut seen = BTreeMap::new();
    let mut see = |what: &'static str| *seen.entry(what).or_insert(0) += 1;
    for seed in 0..count {
        let setup = case_looked_at(seed);
        let Some(outcomes) = both(&setup) else {
            see("refused");
            continue;
        };
        if let Some(difference) = difference(&outcomes) {
            let [fast, slow] = outcomes.each_ref().map(|it| (it.ended_at, &it.end));
            panic!("case {seed}: {difference}\n{fast:?} against {slow:?}\n{setup:?}");
        }
        let [fast, _] = &outcomes;
        same_on_threads(&setup, fast, seed);
        see(setup.switch.marking.name());
        see(setup.switch.scheduling.name());
        see(setup.switch.buffer.name());
        for transport in &setup.transports {
            see(match transport {
                Transport::Other(config) => config.name(),
                Transport::Tcp(tcp) => tcp.source.cc.name(),
            });
        }
        see(match fast.end {
            End::Finished => "finished",
            End::Interrupted => "interrupted",
            End::Stalled(_) => "stalled",
            End::TimeUp => "time-up",
        });
        pauses_seen(&setup, fast).into_iter().for_each(&mut see);
        if fast.tally.dropped > 0 {
            see("dropped");
        }
        if has_short_links_inside(&setup) {
            see("levels");
        }
        let counters = fast.engine_counters;
        let modes = [
            ("wide", counters.wide_buckets),
            ("bounded", counters.bounded_steps),
            ("coupled", counters.coupled_steps),
        ];
        for (mode, _) in modes.iter().filter(|(_, count)| *count > 0) {
            see(mode);
        }
        if modes.iter().all(|(_, count)| *count > 0) {
            see("wide, bounded and coupled");
        }
        if fast.flows.iter().any(|flow| flow.timeouts > 0) {
            see("timeout");
        }
        if setup.host_receive.gro.is_some() {
            see("merged");
        }
        if setup.host_receive.jitter > Span::ZERO {
            see("jitter");
        }
        if setup.has_fair_hosts() {
            see("fair hosts");
            if setup.observe.ports == Which::All {
                see("fair hosts looked at");
            }
        }
        let waits = fast.observed.host_waits.iter();
        if waits.max() > Some(&Span::ZERO) {
            see("waits at hosts");
        }
        let is_bursty = |transport: &Transport| match transport {
            Transport::Other(_) => false,
            Transport::Tcp(tcp) => tcp.source.config.tso.is_some(),
        };
        if setup.transports.iter().any(is_bursty) {
            see("bursts");
        }
    }
    // A mode that never occurred was not tested.
    let mut expected = mark::Config::NAMES.to_vec();
    expected.extend(["or", "finished", "time-up", "paused", "dropped", "timeout"]);
    expected.extend(["merged", "jitter", "bursts"]);
    expected.extend(["fair hosts", "fair hosts looked at", "waits at hosts"]);
    expected.extend([
        "levels",
        "stalled",
        "wide, bounded and coupled",
        "paused and bounded",
        "classes paused apart",
        "deadlock",
    ]);
    expected.extend(tidegate_dataplane::sched::Config::NAMES);
    expected.extend(tidegate_dataplane::buffer::Config::NAMES);
    expected.extend(tidegate_transport::cc::Config::NAMES);
    expected.extend(tidegate_transport::protocol::Config::NAMES);
    for name in expected {
        assert!(seen.contains_key(name), "no case with {name}: {seen:?}");
    }
    assert!(seen["refused"] < count / 4, "{seen:?}");
}

/// Flows of one size, at the same moment, over equal links: everything is a tie.
#[test]
fn ties_are_broken_in_the_same_way() {
    for delay in [0, 1, 800_000, 25_000_000].map(Span::from_ps) {
        for opening in [Opening::Handshake, Opening::Persistent, Opening::Ready] {
            let rounds = (0..3).map(|round| Time::from_ps(round * 32_000_000));
            let flows = rounds.flat_map(|start| {
                (0..8).map(move |src| Flow {
                    service: (src % 4) as u8,
                    ..flow(start, src, (src / 4 + 1) % 2 * 4, 14_600)
                })
            });
            let flows: Vec<Flow> = flows.filter(|flow| flow.src != flow.dst).collect();
            let probe = Probe {
                src: HostId(7),
                dst: HostId(0),
                start: Time::ZERO,
                every: Span::from_ps(1_200_000),
                count: 50,
                bytes: 1500,
                class: 0,
            };
            for nic in [None, Some(ports("none", "fifo", "unlimited"))] {
                let setup = Setup {
                    opening,
                    nic,
                    probes: vec![probe],
                    switch: ports(
                        "queue-red threshold=5pkts",
                        "dwrr quanta=1500,1500,1500,1500",
                        "per-port limit=45KB",
                    ),
                    ..setup(star(8, delay), flows.clone())
                };
                let outcomes = both(&setup).expect("the setup is valid");
                assert_eq!(difference(&outcomes), None, "{delay} {opening:?}");
                assert!(outcomes[0].tally.dropped > 0);
            }
        }
    }
}

/// Both engines agree at any stopping time.
#[test]
fn a_stop_in_the_middle_of_a_bucket_is_exact() {
    let flows = (0..6).map(|src| flow(Time::ZERO, src, 6, 30_000)).collect();
    let whole = setup(star(7, Span::from_us(2)), flows);
    stops_are_exact(&whole, 1_234_567);
    // A fabric with levels of ports.
    let fabric = leaf_spine::Config {
        leaves: 2,
        spines: 2,
        hosts_per_leaf: 4,
        host_delay: Span::from_us(5),
        fabric_delay: Span::from_ns(200),
        ..leaf_spine::Config::default()
    };
    let flows = (0..6).map(|src| flow(Time::ZERO, src, 6, 30_000)).collect();
    stops_are_exact(&setup(fabric.build().unwrap(), flows), 1_734_567);
}

fn stops_are_exact(whole: &Setup, apart: u64) {
    let mut last = 0;
    for step in 0..120 {
        let setup = Setup {
            stop: Stop { at: Time::from_ps(1 + step * apart), ..Stop::default() },
            ..whole.clone()
        };
        let outcomes = both(&setup).expect("the setup is valid");
        assert_eq!(difference(&outcomes), None, "stop at {}", setup.stop.at);
        let packets = outcomes[0].links[link_to(&setup.network, 6).index()].packets;
        assert!(packets >= last, "later stops never have fewer packets");
        last = packets;
    }
    assert!(last > 100, "most of the run is covered: {last} packets");
}

/// The slot of a broken connection is reused, without any of its state.
#[test]
fn a_flow_is_unaffected_by_an_earlier_broken_one() {
    let rate = Rate::from_bps(1_000_000).expect("the rate is not zero");
    let rated = |start, group, bytes| Flow { rate: Some(rate), group, ..flow(start, 0, 1, bytes) };
    let full = |mss| {
        let mut stack = stack("tcn-sim", "dctcp");
        stack.config.mss = mss;
        stack.config.max_retries = Some(1);
        stack.config.rto_min = Span::from_ms(1);
        stack.config.rto_initial = Span::from_ms(1);
        stack.config.max_window = Some(Size::Packets(100));
        tcp(stack)
    };
    let base = |flows| Setup {
        // Full packets of the first group do not fit.
        switch: ports("none", "fifo", "per-port limit=1000B"),
        transports: Vec::<Transport>::from([full(1460), full(500)]),
        ..setup(star(3, Span::from_us(1)), flows)
    };
    let second = rated(Time::from_ms(8), 1, 14_600);
    let alone = both(&base(vec![second])).expect("the setup is valid");
    let after =
        both(&base(vec![rated(Time::ZERO, 0, 14_600), second])).expect("the setup is valid");
    assert_eq!(difference(&after), None);
    assert_eq!(after[0].tally.broken, 1, "the first connection breaks");
    assert_eq!(
        after[0].flows[1].received_at, alone[0].flows[0].received_at,
        "the second flow has its own rate"
    );
}

#[test]
fn reporting_its_status_does_not_change_a_run() {
    let flows = (0..8).map(|src| flow(Time::from_us(u64::from(src)), src, 8, 3_000_000));
    let setup = setup(star(9, Span::from_us(2)), flows.collect());
    let never = AtomicBool::new(false);
    let mut reports = Vec::new();
    let watched = run::run_watched(&setup, &never, &mut |status| reports.push(status)).unwrap();
    assert_eq!(watched, run::run(&setup, &never).unwrap());
    // 24 MB at 10 Gb/s take 20 ms: ten thousand buckets of 2 µs at most.
    assert!(reports.len() >= 30, "{} times", reports.len());
    assert!(reports.is_sorted_by(|a, b| a.now < b.now && a.finished <= b.finished));
    let last = reports.last().unwrap();
    assert!(last.now <= watched.ended_at && last.finished <= 8);
}

/// Messages on one connection, beside a flow without pauses that shares the link.
#[test]
fn messages_wait_for_the_one_before_on_both_engines() {
    let base = |messages: u64, opening| {
        let flows =
            vec![flow(Time::ZERO, 0, 2, 20_000 * messages), flow(Time::from_us(3), 1, 2, 500_000)];
        Setup {
            think_times: vec![(0, ThinkTime { message: 20_000, pause: Span::from_ms(2) })],
            opening,
            ..setup(star(3, Span::from_us(2)), flows)
        }
    };
    for opening in [Opening::Ready, Opening::Handshake, Opening::Persistent] {
        let four = both(&base(4, opening)).expect("the setup is valid");
        assert_eq!(difference(&four), None);
        assert_eq!(four[0].end, End::Finished);
        let took = four[0].flows[0].received_at - Time::ZERO;
        // Three pauses, and four messages that take microseconds each.
        assert!(took > Span::from_ms(6) && took < Span::from_ms(8), "{took}");
        let one = both(&base(1, opening)).expect("the setup is valid");
        assert_eq!(difference(&one), None);
        assert!(one[0].flows[0].received_at < Time::from_ms(2));
    }
    // A think time longer than the stall limit is not a stall.
    let mut long = base(3, Opening::Ready);
    long.think_times[0].1.pause = Span::from_secs(300);
    let long = both(&long).expect("the setup is valid");
    assert_eq!(difference(&long), None);
    assert_eq!(long[0].end, End::Finished);
    assert!(long[0].flows[0].received_at > Time::from_secs(600));
    // A run that ends between two messages has no finished flow.
    let mut cut = base(4, Opening::Ready);
    cut.stop.at = Time::from_ms(3);
    let cut = both(&cut).expect("the setup is valid");
    assert_eq!(difference(&cut), None);
    assert_eq!(cut[0].flows[0].received_at, Time::MAX);
    assert_eq!(cut[0].tally.live, 1);
}

/// Runs with enough packets per bucket for threads to be worthwhile, with ties, drops, pauses,
/// reused connections, and samples.
#[test]
fn several_threads_give_the_outcome_of_one() {
    let config = leaf_spine::Config {
        leaves: 8,
        spines: 4,
        hosts_per_leaf: 8,
        host_rate: Rate::from_gbps(10),
        fabric_rate: Rate::from_gbps(10),
        host_delay: Span::from_us(20),
        fabric_delay: Span::from_ns(500),
    };
    let network = config.build().expect("the topology's settings are valid");
    let flows = (0..3_u32).flat_map(|round| {
        (0..64).map(move |src| Flow {
            service: (src % 4) as u8,
            ..flow(
                Time::from_us(u64::from(round * 150 + src % 8)),
                src,
                // Four flows per host.
                (src + 9) % 64 / 4 * 4,
                150_000 + u64::from(src % 5) * 1_000,
            )
        })
    });
    let mut flows: Vec<Flow> = flows.collect();
    flows.sort_by_key(|flow| flow.start);
    let scheduler = "dwrr quanta=1500,1500,3000,1500";
    let lossy = Setup {
        opening: Opening::Persistent,
        switch: ports("queue-red threshold=20pkts", scheduler, "per-port limit=60KB"),
        ..setup(network, flows)
    };
    let pool = "dynamic-threshold pool_size=90KB reserve_size=3KB alpha=1";
    let pooled = Setup {
        opening: Opening::Handshake,
        switch: ports("bcc port_threshold=30KB pool_threshold=60KB headroom=3us", scheduler, pool),
        ..lossy.clone()
    };
    let pfc = "pfc buffer=2MB classes=4 headroom=30KB rule=static xoff=20KB xon=15KB";
    let lossless = Setup {
        opening: Opening::Ready,
        switch: ports("queue-red threshold=20pkts", scheduler, pfc),
        nic: Some(ports("none", scheduler, "unlimited")),
        transports: vec![Transport::other(dcqcn::Config::default())],
        ..lossy.clone()
    };
    for mut setup in [lossy, pooled, lossless] {
        setup.observe.series = Some(Sampling {
            interval: Span::from_us(7),
            flows: vec![0, 70, 191],
            ..Sampling::default()
        });
        let one = on_threads(&setup, 1);
        assert_eq!(one.tally.finished, 192);
        let is_paused = one.links.iter().any(|link| link.pauses > 0);
        assert!(one.tally.dropped > 0 || is_paused, "{:?}", setup.switch);
        for threads in [2, 3, 8] {
            let both = [on_threads(&setup, threads), one.clone()];
            assert_eq!(difference(&both), None, "{threads} threads");
            assert_eq!(both[0], both[1], "{threads} threads");
        }
    }
}
