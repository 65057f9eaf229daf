use std::sync::atomic::AtomicBool;

use std::num::NonZeroUsize;

use tidegate_dataplane::{DropReason, NonEct, Rule, buffer, mark, sched};
use tidegate_transport::cc;
use tidegate_transport::protocol::{Sample, dcqcn};
use tidegate_units::{Ratio, Span, Time};

use super::journal::Fate;
use super::link::total_pause_rate;
use super::series::SenderSample;
use super::*;
use crate::flow::Flow;
use crate::network::{HostId, Network};
use crate::routes::Ecmp;
use crate::run::{End, Outcome, run, run_by_heap};
use crate::setup::{
    Accounting, HostDelay, HostReceive, Opening, Ports, Stack, Stop, Tcp, Transport,
};
use crate::workload::Probe;

const HOSTS: u32 = 5;
/// Link from the switch to the last host, where all flows meet.
const BOTTLENECK: LinkId = LinkId(2 * (HOSTS - 1) + 1);

/// Hosts around a switch, at 10 Gb/s and 5 µs each way; DCTCP over two queues.
fn star(flows: Vec<Flow>) -> Setup {
    let mut network = Network::new(HOSTS, 1);
    for host in 0..HOSTS {
        let switch = network.switch(0);
        let host = HostId(host).node();
        network.connect(host, switch, Rate::from_gbps(10), Span::from_us(5));
    }
    let mut marking = mark::Config::named("queue-red").unwrap();
    marking.set("threshold", "30000B").unwrap();
    let mut scheduling = sched::Config::named("dwrr").unwrap();
    scheduling.set("quanta", "1500, 1500").unwrap();
    let mut buffer = buffer::Config::named("per-port").unwrap();
    buffer.set("limit", "150000B").unwrap();
    let mut config = tidegate_transport::Config::profile("tcn-sim").unwrap();
    config.initial_window = tidegate_units::Size::Packets(16);
    let cc = cc::Config::named("dctcp").unwrap();
    let stack = Stack { config, cc };
    Setup {
        network,
        flows,
        paths: Vec::new(),
        think_times: Vec::new(),
        probes: Vec::new(),
        switch: Ports { marking, scheduling, buffer, non_ect: NonEct::Pass },
        flow_control: None,
        custom: None,
        nic: None,
        transports: vec![Transport::Tcp(Box::new(Tcp { source: stack.clone(), sink: stack }))],
        accounting: Accounting::default(),
        opening: Opening::Ready,
        tagging: None,
        host_delay: HostDelay::default(),
        host_receive: HostReceive::default(),
        threads: NonZeroUsize::MIN,
        ecmp: Ecmp::PerNode,
        observe: Observe::default(),
        stop: Stop::default(),
        seed: 1,
    }
}

fn flow(src: u32, start_us: u64, bytes: u64) -> Flow {
    Flow {
        start: Time::from_us(start_us),
        bytes,
        src: HostId(src),
        dst: HostId(HOSTS - 1),
        rate: None,
        service: (src % 2) as u8,
        group: (src % 2) as u8,
    }
}

/// Four simultaneous senders, and a late one.
fn incast() -> Setup {
    let mut flows = (0..4).map(|src| flow(src, 0, 400_000)).collect::<Vec<_>>();
    flows.push(flow(1, 700, 90_000));
    star(flows)
}

/// DCQCN over PFC, with so little buffer that the hosts are paused.
fn lossless() -> Setup {
    let mut setup = star((0..4).map(|src| flow(src, 0, 300_000)).collect());
    for flow in &mut setup.flows {
        flow.service = 1;
    }
    let mut pfc = buffer::Config::named("pfc").unwrap();
    for (field, text) in
        [("buffer", "1MB"), ("classes", "2"), ("rule", "static"), ("xoff", "20KB"), ("xon", "15KB")]
    {
        pfc.set(field, text).unwrap();
    }
    setup.switch.buffer = pfc;
    setup.nic = Some(Ports {
        marking: mark::Config::named("none").unwrap(),
        scheduling: setup.switch.scheduling.clone(),
        buffer: buffer::Config::named("unlimited").unwrap(),
        non_ect: NonEct::Pass,
    });
    setup.transports = vec![Transport::other(dcqcn::Config::default())];
    setup
}

/// All observations, at times unrelated to the buckets of the fast engine.
fn everything(setup: &Setup) -> Observe {
    let flows = setup.flows.len() as u32;
    Observe {
        ports: Which::All,
        links: Which::All,
        flows: Which::All,
        port_flows: Some(PortFlows {
            ports: Which::All,
            period: Span::from_us(7),
            ideal: Some(Span::from_us(40)),
            convention: Convention::TcnPaper,
        }),
        series: Some(Sampling {
            interval: Span::from_ps(3_777_777),
            queues: vec![(BOTTLENECK, QueueId(0)), (BOTTLENECK, QueueId(1))],
            links: vec![BOTTLENECK, LinkId(0)],
            flows: (0..flows).collect(),
            ..Sampling::default()
        }),
        journal: Some(Journal { ports: vec![BOTTLENECK], limit: 400 }),
        ..Observe::default()
    }
}

fn go(setup: &Setup) -> Outcome {
    run(setup, &AtomicBool::new(false)).unwrap()
}

fn go_by_heap(setup: &Setup) -> Outcome {
    run_by_heap(setup, &AtomicBool::new(false)).unwrap()
}

fn percent(part: u32) -> Ratio {
    Ratio::new(part, 100).unwrap()
}

/// Runs that end in each possible way.
fn endings() -> Vec<(&'static str, Setup)> {
    let mut time_up = incast();
    time_up.stop.at = Time::from_us(500);
    let mut enough = incast();
    enough.stop.finished = Some(2);
    let mut persistent = incast();
    persistent.opening = Opening::Persistent;
    persistent.flows.push(flow(0, 9_000, 50_000));
    // Probes also have slots in the table of connections.
    persistent.probes.push(Probe {
        src: HostId(0),
        dst: HostId(HOSTS - 1),
        start: Time::from_us(3),
        every: Span::from_us(50),
        count: 10,
        bytes: 100,
        class: 1,
    });
    let mut handshake = incast();
    handshake.opening = Opening::Handshake;
    vec![
        ("finished", incast()),
        ("time up", time_up),
        ("enough", enough),
        ("persistent", persistent),
        ("handshake", handshake),
        ("lossless", lossless()),
    ]
}

#[test]
fn observing_changes_no_result() {
    for (name, mut setup) in endings() {
        for engine in [go, go_by_heap] {
            setup.observe = Observe::default();
            let alone = engine(&setup);
            assert_eq!(
                alone.observed,
                Observations { window: alone.observed.window, ..Observations::default() }
            );
            setup.observe = everything(&setup);
            let seen = engine(&setup);
            assert!(seen.observed.series.as_ref().unwrap().len() > 50, "{name}");
            assert_eq!(seen.fingerprint(), alone.fingerprint(), "{name}");
            let seen = Outcome {
                observed: alone.observed.clone(),
                // An observation ends a step early.
                engine_counters: alone.engine_counters,
                ..seen
            };
            assert_eq!(seen, alone, "{name}");
        }
    }
}

#[test]
fn both_engines_see_the_same() {
    for (name, mut setup) in endings() {
        setup.observe = everything(&setup);
        let [fast, slow] = [go, go_by_heap].map(|engine| engine(&setup).observed);
        assert_eq!(fast, slow, "{name}");
        setup.observe.window = Window { from: Time::from_us(31), to: Time::from_ps(433_333_333) };
        let [fast, slow] = [go, go_by_heap].map(|engine| engine(&setup).observed);
        assert_eq!(fast, slow, "{name}");
        assert_eq!(fast.window, setup.observe.window, "{name}");
        assert!(fast.queue(BOTTLENECK, QueueId(1)).unwrap().sent() > 50, "{name}");
    }
}

#[test]
fn a_series_agrees_with_the_progress_of_a_run() {
    let mut setup = incast();
    setup.observe = everything(&setup);
    let outcome = go(&setup);
    let series = outcome.observed.series.as_ref().unwrap();
    let count = series.len();
    assert_eq!(series.times().next(), Some(Time::ZERO));
    // No event has happened before the first sample.
    assert_eq!(series.active_flows[..2], [0, 4]);
    assert_eq!(series.active_flows.iter().max(), Some(&5));
    assert!(series.active_flows[count - 1] >= 1);
    for (number, flow) in series.flows.iter().enumerate() {
        let samples = &flow.samples;
        assert!(samples.is_sorted_by_key(|sample| sample.received));
        for (sample, at) in samples.iter().zip(series.times()) {
            let started = setup.flows[number].start < at;
            let finished = outcome.flows[number].acked_at < at;
            assert_eq!(sample.sender.is_some(), started && !finished, "{at:?}");
            if outcome.flows[number].received_at < at {
                assert_eq!(sample.received, setup.flows[number].bytes);
            }
        }
        let senders = samples.iter().filter_map(|sample| sample.sender);
        assert!(senders.clone().any(|sender| sender.alpha().is_some()));
        assert!(senders.clone().any(|sender| {
            matches!(sender, SenderSample::Tcp { rtt: Some(rtt), .. } if rtt >= Span::from_us(20))
        }));
    }
    let queue = &series.queues[1];
    assert_eq!(queue.samples.len(), count);
    assert!(queue.samples.iter().all(|sample| sample.threshold == Some(30_000)));
    let seen = outcome.observed.queue(BOTTLENECK, QueueId(1)).unwrap();
    let longest = queue.samples.iter().map(|sample| sample.bytes).max().unwrap();
    assert!(longest > 15_000 && u64::from(longest) <= seen.bytes.max());
    let link = &series.links[0];
    assert!(link.bytes.is_sorted());
    let fastest = link.rates(series.interval).flatten().max().unwrap();
    // One packet more than fits may start in an interval.
    let packet = Rate::from_bytes_over(1_500, series.interval).unwrap();
    assert!(fastest.as_bps() <= Rate::from_gbps(10).as_bps() + packet.as_bps());
}

#[test]
fn rates_windows_and_estimates_of_dcqcn_are_shown() {
    let mut setup = lossless();
    setup.observe = everything(&setup);
    let observed = go(&setup).observed;
    let series = observed.series.unwrap();
    let senders = series.flows[0].samples.iter().filter_map(|sample| sample.sender);
    let rates = senders.filter_map(|sender| match sender {
        SenderSample::Other(Sample { rate, alpha, .. }) => rate.zip(alpha),
        SenderSample::Tcp { .. } => None,
    });
    let rates = rates.collect::<Vec<_>>();
    assert!(rates.iter().any(|&(rate, _)| rate == Rate::from_gbps(10)));
    assert!(rates.iter().any(|&(rate, alpha)| rate < Rate::from_gbps(9) && alpha > 0));
    let least = dcqcn::Config::default().min_rate;
    assert!(rates.iter().all(|&(rate, _)| rate >= least));
}

#[test]
fn a_long_series_keeps_every_second_sample() {
    let mut setup = incast();
    setup.stop.at = Time::from_us(600);
    let sampling = |interval, limit| Sampling {
        interval,
        limit,
        links: vec![BOTTLENECK],
        flows: vec![2],
        queues: vec![(BOTTLENECK, QueueId(0))],
        window: None,
    };
    let mut series = |interval, limit| {
        setup.observe.series = Some(sampling(interval, limit));
        go(&setup).observed.series.unwrap()
    };
    // 601 samples at 0 to 600 µs exceed the limit of 100: 76 at every 8 µs do not.
    let thin = series(Span::from_us(1), 100);
    assert_eq!((thin.len(), thin.interval), (76, Span::from_us(8)));
    assert_eq!(thin, series(Span::from_us(8), 100));
    assert_eq!(series(Span::from_us(1), 601).interval, Span::from_us(1));
    assert_eq!(series(Span::from_us(1), 600).interval, Span::from_us(2));
    let least = series(Span::from_us(1), 2);
    assert_eq!((least.len(), least.interval), (2, Span::from_us(512)));
}

#[test]
fn pauses_are_counted_and_timed() {
    let mut setup = lossless();
    setup.observe.links = Which::All;
    let outcome = go(&setup);
    assert_eq!(outcome.end, End::Finished);
    assert_eq!(outcome.tally.dropped, 0);
    let observed = &outcome.observed;
    let uplink = observed.link(LinkId(0)).unwrap();
    assert!(uplink.pauses > 0);
    assert_eq!(uplink.pauses, u64::from(outcome.links[0].pauses));
    let share = uplink.paused_share().unwrap();
    assert!(share > 0.05 && share < 0.95, "{share}");
    assert_eq!(observed.link(BOTTLENECK).unwrap().pauses, 0);
    assert_eq!(observed.link(BOTTLENECK).unwrap().paused, Span::ZERO);
    let all = observed.links.iter().map(|link| link.pauses).sum::<u64>();
    let seconds = u128::from(observed.window.span().as_ps());
    let rate = u128::from(all) * 64 * 8 * 1_000_000_000_000 / seconds;
    let total = total_pause_rate(&observed.links).unwrap();
    assert_eq!(u128::from(total.as_bps()), rate);
}

#[test]
fn a_busy_link_is_fully_utilized_and_shared_fairly() {
    let mut setup = star((0..4).map(|src| flow(src, 0, Flow::ENDLESS)).collect());
    setup.stop.at = Time::from_ms(12);
    setup.observe = everything(&setup);
    setup.observe.window.from = Time::from_ms(2);
    let outcome = go(&setup);
    assert_eq!(outcome.end, End::TimeUp);
    let observed = &outcome.observed;
    assert_eq!(observed.window.span(), Span::from_ms(10));
    let link = observed.link(BOTTLENECK).unwrap();
    let used = link.utilisation().unwrap();
    assert!(used > 0.99 && used <= 1.0001, "{used}");
    let payload = link.payload_utilisation().unwrap();
    assert!((payload / used - 1460.0 / 1500.0).abs() < 1e-6);
    assert!(observed.fairness().unwrap() > 0.95);
    // The flows received all bytes that the link carried, except for packets in flight.
    let received = observed.flows.iter().map(|flow| flow.received).sum::<u64>();
    assert!(received.abs_diff(link.payload) < 100_000, "{received} of {}", link.payload);
    let series = observed.series.as_ref().unwrap();
    let fairness = series.fairness();
    assert_eq!(fairness.len(), series.len() - 1);
    assert!(fairness.iter().flatten().all(|&index| (0.25..=1.0 + 1e-9).contains(&index)));
    // DCTCP keeps the queue around the threshold.
    let seen = observed.queue(BOTTLENECK, QueueId(0)).unwrap();
    let median = seen.bytes.percentile(percent(50)).unwrap();
    assert!((5_000..60_000).contains(&median), "{median}");
    assert_eq!(seen.bytes.total(), Span::from_ms(10).as_ps());
}

#[test]
fn goodput_counts_from_the_start_to_the_last_byte() {
    let mut setup = star(vec![flow(0, 100, 200_000), flow(1, 5_000, 14_600)]);
    setup.observe.flows = Which::Only(vec![1, 0]);
    let outcome = go(&setup);
    let [late, early] = outcome.observed.flows[..] else {
        panic!("two flows were selected");
    };
    assert_eq!((late.flow, early.flow), (1, 0));
    assert_eq!((late.received, early.received), (14_600, 200_000));
    assert_eq!(Some(early.span), outcome.flows[0].completion(&setup.flows[0]));
    assert_eq!(early.goodput(), Rate::from_bytes_over(200_000, early.span));
}

#[test]
fn a_lone_flow_has_a_slowdown_of_one() {
    for accounting in [Accounting::default(), Accounting::ETHERNET] {
        let mut setup = star(vec![
            flow(0, 0, 10 * 1_460),
            flow(1, 5_000, 1),
            flow(2, 9_000, 1_461),
            flow(3, 12_000, Flow::ENDLESS),
        ]);
        setup.accounting = accounting;
        setup.host_delay.values = vec![Span::from_us(1), Span::from_us(3), Span::from_us(7)];
        setup.stop.finished = Some(3);
        let outcome = go(&setup);
        let ideals = Ideals::new(&setup).unwrap();
        for number in 0..3 {
            assert_eq!(ideals.slowdown(&outcome, number), Some(1.0), "{number}");
        }
        assert_eq!((ideals.time(3), ideals.time(4)), (None, None));
        assert_eq!(ideals.slowdown(&outcome, 3), None);
    }
}

#[test]
fn completion_times_are_distinguished_by_group_and_class() {
    let mut setup = incast();
    setup.flows[3].bytes = Flow::ENDLESS;
    setup.stop.finished = Some(4);
    let outcome = go(&setup);
    let times = |convention, wanted: fn(&Flow, completion::SizeClass) -> bool| {
        Completions::new(&setup, &outcome, convention, wanted).unwrap()
    };
    let all = times(Convention::TcnPaper, |_, _| true);
    assert_eq!((all.times().len(), all.unfinished()), (4, 1));
    assert!(all.times().is_sorted());
    let odd = times(Convention::TcnPaper, |flow, _| flow.group == 1);
    assert_eq!((odd.times().len(), odd.unfinished()), (2, 1));
    let small = times(Convention::TcnScript, |_, class| class == completion::SizeClass::Small);
    let acked = outcome.flows[4].acknowledged(&setup.flows[4]);
    assert_eq!(small.times(), [acked.unwrap()]);
    let received = outcome.flows.iter().zip(&setup.flows);
    let received = received.filter_map(|(result, flow)| result.completion(flow));
    let mean = statistics::mean(received.map(Span::as_ps));
    assert_eq!(all.mean(), mean);
}

#[test]
fn impossible_observations_are_refused_by_name() {
    type Change = fn(&mut Observe);
    let refused = |change: Change| {
        let mut setup = incast();
        change(&mut setup.observe);
        let error = run(&setup, &AtomicBool::new(false)).unwrap_err();
        error.to_string()
    };
    let cases: [(Change, &str); 8] = [
        (
            |observe| observe.window.to = Time::ZERO,
            "observe.window = 0 ps to 0 ps is out of range; allowed: an end after the beginning",
        ),
        (
            |observe| observe.links = Which::Only(vec![LinkId(10)]),
            "observe.links = 10 is out of range; allowed: links 0 to 9",
        ),
        (
            |observe| observe.flows = Which::Only(vec![5]),
            "observe.flows = 5 is out of range; allowed: flows 0 to 4",
        ),
        (
            |observe| {
                observe.series = Some(Sampling { interval: Span::ZERO, ..Sampling::default() });
            },
            "observe.series.interval = 0s is out of range; allowed: more than zero",
        ),
        (
            |observe| {
                observe.series = Some(Sampling { limit: 1, ..Sampling::default() });
            },
            "observe.series.limit = 1 is out of range; allowed: at least 2",
        ),
        (
            |observe| {
                observe.series = Some(Sampling {
                    queues: vec![(BOTTLENECK, QueueId(2))],
                    ..Sampling::default()
                });
            },
            "observe.series.queues = 2 of link 9 is out of range; allowed: queues 0 to 1",
        ),
        (
            |observe| {
                observe.series = Some(Sampling { links: vec![LinkId(10)], ..Sampling::default() });
            },
            "observe.series.links = 10 is out of range; allowed: links 0 to 9",
        ),
        (
            |observe| {
                observe.series = Some(Sampling { flows: vec![7], ..Sampling::default() });
            },
            "observe.series.flows = 7 is out of range; allowed: flows 0 to 4",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(refused(change), expected);
    }
    assert!(Sampling::default().check().is_ok());
}

/// At the bottleneck, which only data crosses, the flows' waiting bytes add up to its queues.
#[test]
fn waiting_bytes_of_flows_add_up_to_the_queues() {
    for (name, mut setup) in endings() {
        setup.probes.clear();
        setup.observe = everything(&setup);
        let all = go(&setup).observed;
        let series = all.series.unwrap();
        let at = |port: &&series::PortFlowsSeries| port.link == BOTTLENECK;
        let port = series.port_flows.iter().find(at).unwrap();
        let mut is_busy = false;
        for (number, sample) in port.samples.iter().enumerate() {
            let lengths = series.queues.iter().map(|it| it.samples[number].bytes);
            let queued: u64 = lengths.map(u64::from).sum();
            let by_class = sample.small + sample.medium + sample.large;
            let by_flow: u64 = port.waiting.iter().map(|flow| flow[number]).sum();
            assert_eq!((by_class, by_flow), (queued, queued), "{name}, sample {number}");
            let waiting = port.waiting.iter().filter(|flow| flow[number] > 0).count();
            assert!(sample.active as usize >= waiting, "{name}, sample {number}");
            is_busy |= queued > 0;
        }
        assert!(is_busy, "{name}");
        // Samples of the number of active flows are within the range of the full histogram.
        let seen = all.port_flows.iter().find(|port| port.link == BOTTLENECK);
        let most = seen.unwrap().active.max();
        let sampled = port.samples.iter().map(|sample| u64::from(sample.active)).max();
        assert!(0 < most && sampled.unwrap() <= most, "{name}");
    }
}

#[test]
fn a_period_of_zero_agrees_with_diff_ecn_s_exact_table() {
    let mut setup = incast();
    setup.switch.marking = mark::Config::named("diff-ecn").unwrap();
    let mut scheduling = sched::Config::named("sp-dwrr").unwrap();
    scheduling.set("quanta", "1500,1500,1500").unwrap();
    setup.switch.scheduling = scheduling;
    setup.observe = everything(&setup);
    if let Some(flows) = &mut setup.observe.port_flows {
        flows.period = Span::ZERO;
    }
    let series = go(&setup).observed.series.unwrap();
    let at = |port: &&series::PortFlowsSeries| port.link == BOTTLENECK;
    let port = series.port_flows.iter().find(at).unwrap();
    let counted: Vec<Option<u32>> = series.queues[0].samples.iter().map(|it| it.flows).collect();
    let seen: Vec<Option<u32>> = port.samples.iter().map(|it| Some(it.active)).collect();
    assert_eq!(counted, seen);
    assert!(seen.iter().any(|&flows| flows > Some(2)));
}

#[test]
fn marks_of_flows_add_up() {
    let mut setup = incast();
    setup.observe = everything(&setup);
    let outcome = go(&setup);
    let series = outcome.observed.series.unwrap();
    let mut marks = 0;
    for (flow, result) in series.flows.iter().zip(&outcome.flows) {
        let last = flow.samples.last().unwrap().marks;
        assert_eq!(flow.marks().sum::<u32>(), last);
        assert!(last <= result.marks);
        marks += last;
    }
    assert!(marks > 0);
}

/// Four senders whose packets are marked, and some of which are dropped.
fn crowded() -> Setup {
    let mut setup = incast();
    setup.switch.buffer = buffer::Config::named("per-port").unwrap();
    setup.switch.buffer.set("limit", "60KB").unwrap();
    setup.observe.journal = Some(Journal { ports: vec![BOTTLENECK], ..Journal::default() });
    setup
}

#[test]
fn a_journal_has_every_packet_with_its_fate() {
    let setup = crowded();
    let outcome = go(&setup);
    let [journal] = &outcome.observed.journals[..] else {
        panic!("one port has a journal");
    };
    let packets = &journal.packets;
    assert_eq!((journal.link, journal.beyond), (BOTTLENECK, 0));
    let stats = outcome.ports[BOTTLENECK.index()].as_ref().unwrap();
    let count = |is: &dyn Fn(&journal::ObservedPacket) -> bool| {
        packets.iter().filter(|packet| is(packet)).count() as u64
    };
    for rule in Rule::ALL {
        let of_rule = count(&|packet| packet.mark.is_some_and(|mark| mark.rule == rule));
        assert_eq!(of_rule, stats.marks(rule), "{rule:?}");
    }
    for reason in DropReason::ALL {
        let dropped = count(&|packet| packet.fate == Fate::Dropped(reason));
        assert_eq!(dropped, stats.drops(reason), "{reason:?}");
    }
    assert!(stats.total_marks() > 0 && stats.total_drops() > 0, "{stats:?}");
    let sent = count(&|packet| packet.fate == Fate::Sent);
    assert_eq!(sent, outcome.links[BOTTLENECK.index()].packets);
    // Every flow is there, and data packets are not answers.
    for number in 0..setup.flows.len() as u32 {
        assert!(count(&|packet| packet.flow == Some(number)) > 60, "{number}");
    }
    assert_eq!(count(&|packet| packet.is_answer), 0);
}

#[test]
fn a_journal_has_the_queue_lengths_that_each_packet_met() {
    let outcome = go(&crowded());
    let packets = &outcome.observed.journals[0].packets;
    for (index, packet) in packets.iter().enumerate() {
        let waits = |other: &&journal::ObservedPacket| {
            let taken = other.left > other.arrived || other.fate == Fate::Sent;
            taken && other.left > packet.arrived
        };
        let waiting = packets[..index].iter().filter(waits);
        let (mut queue, mut port) = (0, 0);
        for other in waiting {
            port += other.bytes;
            queue += other.bytes * u32::from(other.queue == packet.queue);
        }
        assert_eq!((packet.queue_bytes, packet.port_bytes), (queue, port), "{packet:?}");
    }
}

#[test]
fn a_journal_stops_at_its_limit_and_counts_the_rest() {
    let mut setup = crowded();
    let whole = go(&setup);
    setup.observe.journal.as_mut().unwrap().limit = 50;
    let cut = go(&setup);
    let [whole, cut] = [whole, cut].map(|mut outcome| outcome.observed.journals.remove(0));
    // The fates of the last recorded packets are known too.
    assert_eq!(cut.packets[..], whole.packets[..50]);
    assert_eq!(cut.beyond, whole.packets.len() as u64 - 50);
}

#[test]
fn a_series_may_have_a_window_of_its_own() {
    let mut setup = incast();
    setup.observe.window = Window { from: Time::from_us(100), to: Time::from_us(200) };
    let mut sampling =
        Sampling { interval: Span::from_us(10), links: vec![BOTTLENECK], ..Sampling::default() };
    setup.observe.series = Some(sampling.clone());
    let narrow = go(&setup).observed.series.unwrap();
    assert_eq!((narrow.from, narrow.len()), (Time::from_us(100), 11));
    sampling.window = Some(Window::default());
    setup.observe.series = Some(sampling);
    let wide = go(&setup).observed.series.unwrap();
    assert_eq!(wide.from, Time::ZERO);
    assert!(wide.len() > 50, "{}", wide.len());
    assert_eq!(wide.links[0].bytes[10..21], narrow.links[0].bytes[..]);
}
