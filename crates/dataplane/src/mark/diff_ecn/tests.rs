use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

use tidegate_units::{Ecn, FlowId, PktId, Rate, Rng, Settings};

use super::*;
use crate::buffer::PerPort;
use crate::mark::testing::{cx, first_port_info as port_info};
use crate::sched::{Layered, dwrr, layered};
use crate::{DropReason, Port, PortConfig, mark, sched};

/// A port under test with its buffer and clock.
struct Rig {
    port: Port<DiffEcn, Layered<dwrr::Turns>>,
    buffer: PerPort,
    now: Time,
    sent: u32,
}

impl Rig {
    fn new(queues: u8, limit: u64, config: &Config) -> Self {
        // One strict queue, the default, above the others with a quantum of one packet.
        let quanta = vec![1500; usize::from(queues) - 1];
        let scheduler = Layered::new(&layered::Config {
            inner: dwrr::Config { quanta },
            ..layered::Config::default()
        })
        .unwrap();
        let scheme = DiffEcn::new(config, &port_info(queues)).unwrap();
        Self {
            port: Port::new(&PortConfig::default(), scheme, scheduler),
            buffer: PerPort::new(1, Bytes(limit)).unwrap(),
            now: Time::ZERO,
            sent: 0,
        }
    }

    /// Offers a packet and returns its queue.
    fn offer(&mut self, flow: u32, len: u32) -> Result<u8, DropReason> {
        let pkt = Pkt { len, flow: FlowId(flow), ecn: Ecn::Ect0, ..Pkt::default() };
        self.sent += 1;
        let id = PktId(self.sent);
        // The proposed queue is ignored.
        let proposed = QueueId(99);
        self.port
            .enqueue(id, pkt, proposed, self.now, &mut self.buffer)
            .map(|accepted| accepted.queue.0)
    }

    /// Queues one full packet of each flow and returns their queues.
    fn queue<const N: usize>(&mut self, flows: [u32; N]) -> [u8; N] {
        flows.map(|flow| self.offer(flow, 1500).unwrap())
    }

    /// Takes the next packet and returns its flow.
    fn take(&mut self) -> u32 {
        let departure = self.port.dequeue(self.now, &mut self.buffer);
        departure.unwrap().flow.0
    }

    fn flows(&self) -> u32 {
        self.port.marker().active_flows()
    }
}

const PLENTY: u64 = 1 << 30;

/// Exact tables with the testbed's threshold and round-trip time.
fn config() -> Config {
    Config {
        threshold: Some(Size::Bytes(Bytes(40_800))),
        rtt: Some(Span::from_us(190)),
        ..Config::default()
    }
}

fn both_tables() -> [Config; 2] {
    [Tables::Exact, Tables::Hardware].map(|tables| Config { tables: Some(tables), ..config() })
}

#[test]
fn each_new_flow_takes_the_lowest_empty_queue_and_keeps_it() {
    for config in both_tables() {
        let mut rig = Rig::new(4, PLENTY, &config);
        assert_eq!(rig.queue([70, 71, 70, 72, 71]), [1, 2, 1, 3, 2]);
        // All ordinary queues are taken: the next flow waits in the high-priority queue.
        assert_eq!(rig.queue([73, 70]), [0, 1]);
        assert_eq!(rig.take(), 73);
        // DWRR sends 70, 71, 72; flow 72 had one packet, so queue 3 is empty again.
        assert_eq!([rig.take(), rig.take(), rig.take()], [70, 71, 72]);
        assert_eq!(rig.queue([74, 72, 74]), [3, 0, 3]);
    }
}

#[test]
fn the_high_priority_queue_may_be_any_queue() {
    for mut config in both_tables() {
        config.priority_queue = 2;
        let port = PortInfo { first: Some(QueueId(2)), ..port_info(3) };
        let mut scheme = DiffEcn::new(&config, &port).unwrap();
        let mut port = Held([0; 3]);
        for (flow, queue) in [(1, 0), (2, 1), (3, 2)] {
            assert_eq!(port.arrive(&mut scheme, flow), queue);
        }
        port.depart(&mut scheme, 3, 2);
        assert_eq!(port.arrive(&mut scheme, 4), 2);
    }
}

#[test]
fn a_flow_that_drained_the_high_priority_queue_is_new() {
    for config in both_tables() {
        let mut rig = Rig::new(3, PLENTY, &config);
        assert_eq!(rig.queue([1, 2, 2, 3, 3]), [1, 2, 2, 0, 0]);
        // While flow 3 has packets here, no ordinary queue is served, so none empties.
        assert_eq!([rig.take(), rig.take()], [3, 3]);
        assert_eq!(rig.take(), 1);
        assert_eq!(rig.queue([3, 3]), [1, 1]);
    }
}

#[test]
fn probing_moves_a_flow_whose_packets_still_wait_in_the_high_priority_queue() {
    // With a strict scheduler an ordinary queue cannot empty while the high-priority queue holds
    // packets, so the scheme is called directly.
    for config in both_tables() {
        let mut scheme = DiffEcn::new(&config, &port_info(3)).unwrap();
        let mut port = Held([0; 3]);
        for (flow, queue) in [(1, 1), (2, 2), (3, 0), (3, 0)] {
            assert_eq!(port.arrive(&mut scheme, flow), queue);
        }
        port.depart(&mut scheme, 2, 2);
        assert_eq!(port.arrive(&mut scheme, 3), 2, "probing finds queue 2");
        port.depart(&mut scheme, 3, 0);
        port.depart(&mut scheme, 1, 1);
        assert_eq!(port.arrive(&mut scheme, 3), 2, "an ordinary queue is kept");
        assert_eq!(port.arrive(&mut scheme, 4), 1);
        assert_eq!(port.arrive(&mut scheme, 5), 0);
        assert_eq!(port.arrive(&mut scheme, 3), 2, "an ordinary queue is kept");
    }
}

/// Packets in each queue, all of 1500 bytes, with departures in any order.
struct Held([u32; 3]);

impl Held {
    fn arrive(&mut self, scheme: &mut DiffEcn, flow: u32) -> u8 {
        let mut cx = Self::cx(flow);
        cx.queue = scheme.assign(&cx.pkt, QueueId(0), self, cx.now);
        scheme.on_queued(&cx);
        self.0[cx.queue.index()] += 1;
        cx.queue.0
    }

    fn depart(&mut self, scheme: &mut DiffEcn, flow: u32, queue: u8) {
        let held = &mut self.0[usize::from(queue)];
        *held -= 1;
        let cx = Cx {
            queue: QueueId(queue),
            queue_packets: *held,
            queue_bytes: *held * 1500,
            ..Self::cx(flow)
        };
        scheme.on_dequeue(&cx, Span::ZERO);
    }

    fn cx(flow: u32) -> Cx {
        let mut cx = cx();
        cx.pkt.flow = FlowId(flow);
        cx
    }
}

impl Queues for Held {
    fn count(&self) -> u8 {
        3
    }

    fn bytes(&self, queue: QueueId) -> u32 {
        self.packets(queue) * 1500
    }

    fn packets(&self, queue: QueueId) -> u32 {
        self.0[queue.index()]
    }
}

#[test]
fn past_its_limit_a_flow_moves_to_the_shortest_queue() {
    for config in both_tables() {
        let mut rig = Rig::new(4, PLENTY, &config);
        assert_eq!(rig.queue([1, 1, 2, 3, 3]), [1, 1, 2, 3, 3]);
        // Ten packets of 1500 bytes pass; the eleventh goes to queue 2, the shortest.
        assert_eq!(rig.queue([4; 10]), [0; 10]);
        assert_eq!(rig.queue([4]), [2]);
        // The move is remembered: queue 2 is no longer the shortest.
        assert_eq!(rig.queue([4, 4]), [2, 2]);
        // Another flow has its own limit, and takes the lowest of equally short queues.
        assert_eq!(rig.queue([5; 10]), [0; 10]);
        assert_eq!(rig.queue([5, 5]), [1, 1]);
        assert_eq!(rig.queue([6; 11])[10], 3);
    }
}

#[test]
fn the_limit_is_reached_but_not_exceeded() {
    let queues = |pass_count, limit| {
        let config = Config { pass_count, pass_limit: Size::Bytes(Bytes(limit)), ..config() };
        let mut rig = Rig::new(2, PLENTY, &config);
        assert_eq!(rig.queue([1, 2]), [1, 0]);
        [rig.offer(2, 100), rig.offer(2, 100)].map(Result::unwrap)
    };
    // 1500 and 100 bytes pass at 1600; the next 100 make 1700.
    for (limit, expected) in [(1599, [1, 1]), (1600, [0, 1]), (1699, [0, 1]), (1700, [0, 0])] {
        assert_eq!(queues(PassCount::WithArrival, limit), expected, "{limit}");
    }
    for (limit, expected) in [(1499, [1, 1]), (1500, [0, 1]), (1599, [0, 1]), (1600, [0, 0])] {
        assert_eq!(queues(PassCount::BeforeArrival, limit), expected, "{limit}");
    }
    // A limit in packets counts packets of the configured size.
    let config = Config { pass_limit: Size::Packets(2), mtu: 9000, ..config() };
    let mut rig = Rig::new(2, PLENTY, &config);
    rig.queue([1]);
    assert_eq!([9000, 9000, 1].map(|len| rig.offer(2, len).unwrap()), [0, 0, 1]);
}

#[test]
fn a_dropped_packet_changes_nothing() {
    for config in both_tables() {
        let mut rig = Rig::new(3, 3000, &config);
        rig.now = Time::from_us(1);
        assert_eq!(rig.queue([1]), [1]);
        assert_eq!(rig.offer(2, 1501), Err(DropReason::PortFull));
        assert_eq!(rig.queue([3]), [2], "flow 2 took no queue");
        assert_eq!(rig.offer(4, 1500), Err(DropReason::PortFull));
        if config.tables() == Tables::Exact {
            assert_eq!(rig.flows(), 2);
        }
        assert_eq!([rig.take(), rig.take()], [1, 3]);
        assert_eq!(rig.queue([4, 2]), [1, 2]);
    }
}

#[test]
fn the_exact_count_agrees_with_a_model_and_packets_of_a_flow_leave_in_order() {
    let mut used_high = 0;
    // With lengths that are up to date, and with lengths up to 20 packets or 3 µs old.
    for (stream, tables, update_packets, update_time) in [
        (0, Tables::Exact, 1, Span::ZERO),
        (1, Tables::Hardware, 1, Span::ZERO),
        (2, Tables::Exact, 20, Span::ZERO),
        (3, Tables::Hardware, 1, Span::from_us(3)),
    ] {
        let config = Config {
            tables: Some(tables),
            pass_limit: Size::Packets(3),
            update_packets,
            update_time,
            ..config()
        };
        let mut rig = Rig::new(4, 60_000, &config);
        let mut rng = Rng::new(5, stream);
        let mut model = BTreeMap::<u32, VecDeque<PktId>>::new();
        for step in 0..40_000 {
            rig.now += Span::from_ns(100);
            let arrivals = if step / 500 % 2 == 0 { 5 } else { 3 };
            if rng.next_u32() % 8 < arrivals {
                let flow = rng.next_u32() % 9;
                let len = 64 + rng.next_u32() % 1437;
                if let Ok(queue) = rig.offer(flow, len) {
                    model.entry(flow).or_default().push_back(PktId(rig.sent));
                    used_high += u32::from(queue == 0);
                }
            } else if let Some(departure) = rig.port.dequeue(rig.now, &mut rig.buffer) {
                let flow = departure.flow.0;
                let waiting = model.get_mut(&flow).unwrap();
                assert_eq!(waiting.pop_front(), Some(departure.id), "step {step}");
                if waiting.is_empty() {
                    model.remove(&flow);
                }
            }
            if tables == Tables::Exact {
                assert_eq!(rig.flows() as usize, model.len(), "step {step}");
            }
        }
    }
    assert!(used_high > 1_000, "{used_high}");
}

#[test]
fn both_tables_map_alike_with_a_queue_for_each_flow() {
    let [exact, hardware] = both_tables();
    let mut rigs = [exact, hardware].map(|config| Rig::new(8, 100_000, &config));
    let mut rng = Rng::new(6, 0);
    for _ in 0..20_000 {
        let arrives = rng.next_u32().is_multiple_of(2);
        let (flow, len) = (rng.next_u32() % 7, 64 + rng.next_u32() % 1437);
        let [a, b] = rigs.each_mut().map(|rig| {
            if arrives {
                (Some(rig.offer(flow, len)), None)
            } else {
                (None, rig.port.dequeue(rig.now, &mut rig.buffer))
            }
        });
        assert_eq!(a.0, b.0);
        let departure = |side: Option<crate::Departure>| side.map(|d| (d.id, d.queue));
        assert_eq!(departure(a.1), departure(b.1));
    }
}

#[test]
fn after_an_idle_period_a_flow_is_new_and_before_it_shares_a_taken_queue() {
    let config = Config { tables: Some(Tables::Hardware), release: Release::Idle, ..config() };
    let queue_after = |idle: Span| {
        let mut rig = Rig::new(4, PLENTY, &config);
        assert_eq!(rig.queue([1]), [1]);
        assert_eq!(rig.take(), 1);
        // Queue 1 is empty, so flow 2 gets it.
        assert_eq!(rig.queue([2]), [1]);
        rig.now += idle;
        rig.queue([1])
    };
    // The period is 1.5 × 190 µs.
    assert_eq!(queue_after(Span::from_us(285)), [1]);
    assert_eq!(queue_after(Span::from_ps(285_000_001)), [2]);
}

/// The thresholds for one flow, two flows and so on, as the port reports them.
fn reported(config: &Config, queues: u8, flows: u32) -> Vec<u32> {
    let mut rig = Rig::new(queues, PLENTY, config);
    let threshold = |rig: &Rig| rig.port.marker().threshold(QueueId(0)).unwrap();
    let none = threshold(&rig);
    let with = |flow| {
        rig.offer(flow, 64).unwrap();
        threshold(&rig)
    };
    let reported: Vec<u32> = (0..flows).map(with).collect();
    assert_eq!(none, reported[0], "zero flows count as one");
    reported
}

#[test]
fn the_threshold_is_divided_among_the_flows_up_to_the_number_of_queues() {
    let bytes = reported(&config(), 32, 40);
    let expected: Vec<u32> = (1..=40).map(|flows| 40_800 / flows.min(32)).collect();
    assert_eq!(bytes, expected);
    let tofino = Config { cell: Some(Bytes(80)), ..config() };
    let cells: Vec<u32> = reported(&tofino, 32, 33);
    // 510 cells, 255, 170, 127.5, …, 15.9 with 32 flows.
    assert_eq!(cells[..4], [510, 255, 170, 127].map(|cells| cells * 80));
    assert_eq!(cells[30..], [16, 15, 15].map(|cells| cells * 80));
    let part =
        Config { cell: Some(Bytes(80)), threshold: Some(Size::Bytes(Bytes(40_879))), ..config() };
    assert_eq!(reported(&part, 2, 2), [40_800, 20_400]);
    let packets = Config { threshold: Some(Size::Packets(3)), mtu: 1000, ..config() };
    assert_eq!(reported(&packets, 2, 3), [3000, 1500, 1500]);
}

#[test]
fn a_derived_threshold_is_lambda_times_the_bandwidth_delay_product() {
    let mut config = Config { threshold: None, lambda: Ratio::new(17, 100), ..config() };
    // 0.17 × 190 µs = 32.3 µs, at 10 Gb/s 40 375 bytes.
    assert_eq!(reported(&config, 2, 2), [40_375, 20_187]);
    // 0.17 × 28 µs × 40 Gb/s = 23 800 bytes.
    config.rtt = Some(Span::from_us(28));
    let fast = PortInfo { rate: Rate::from_gbps(40), ..port_info(2) };
    let scheme = DiffEcn::new(&config, &fast).unwrap();
    assert_eq!(scheme.threshold(QueueId(1)), Some(23_800));
    assert_eq!(scheme.threshold(QueueId(2)), None);
}

#[test]
fn a_queue_is_marked_strictly_above_the_threshold() {
    let mark = MarkDecision::Mark(Rule::FlowShare);
    for (reading, before) in [(Reading::Inclusive, 1500), (Reading::Exclusive, 0)] {
        let config = Config { reading, ..config() };
        let mut scheme = DiffEcn::new(&config, &port_info(4)).unwrap();
        let verdicts = [40_799, 40_800, 40_801, u32::MAX].map(|length| {
            scheme.on_queued(&cx());
            let cx = Cx { queue_bytes: length - before, queue_packets: 1, ..cx() };
            scheme.on_dequeue(&cx, Span::ZERO)
        });
        assert_eq!(verdicts, [MarkDecision::Pass, MarkDecision::Pass, mark, mark]);
    }
    // The sum of the length and the packet exceeds 32 bits and must not wrap.
    let mut scheme = DiffEcn::new(&config(), &port_info(4)).unwrap();
    let full = Cx { queue_bytes: u32::MAX, ..cx() };
    assert_eq!(scheme.on_dequeue(&full, Span::ZERO), mark);
}

#[test]
fn the_departing_flow_counts_even_with_its_last_packet() {
    let config = Config { threshold: Some(Size::Bytes(Bytes(4000))), ..config() };
    let marks = |rig: &Rig| rig.port.stats().marks(Rule::FlowShare);
    // Two flows, 2000 bytes each: flow 1 leaves with 2001 bytes, flow 2 alone may have 4000.
    let mut rig = Rig::new(3, PLENTY, &config);
    rig.offer(1, 2001).unwrap();
    rig.offer(2, 2001).unwrap();
    rig.take();
    assert_eq!((marks(&rig), rig.flows()), (1, 1));
    rig.take();
    assert_eq!((marks(&rig), rig.flows()), (1, 0));
    // The high-priority queue has the same test: three flows, 1333 bytes each.
    let mut rig = Rig::new(3, PLENTY, &config);
    for (flow, len) in [(1, 64), (2, 64), (3, 1334), (4, 64)] {
        rig.offer(flow, len).unwrap();
    }
    // Four flows count as three, the number of queues: 1334 + 64 > 1333, and 64 is not.
    assert_eq!(rig.take(), 3);
    assert_eq!(marks(&rig), 1);
    assert_eq!(rig.take(), 4);
    assert_eq!(marks(&rig), 1);
}

#[test]
fn the_hardware_count_sets_the_threshold() {
    let config = Config { tables: Some(Tables::Hardware), ..config() };
    let mut rig = Rig::new(4, PLENTY, &config);
    let threshold = |rig: &Rig| rig.port.marker().threshold(QueueId(0)).unwrap();
    let mut seen = Vec::new();
    for flow in 0..6 {
        rig.queue([flow]);
        rig.take();
        seen.push((rig.flows(), threshold(&rig)));
    }
    // Flows count although no packet is queued; beyond four queues the threshold does not change.
    let expected = [(1, 40_800), (2, 20_400), (3, 13_600), (4, 10_200), (5, 10_200), (6, 10_200)];
    assert_eq!(seen, expected);
    // 285 µs later the next period begins; its first packet is not counted.
    rig.now = Time::from_ps(285_000_001);
    for (flow, flows) in [(0, 6), (0, 6), (1, 6)] {
        rig.queue([flow]);
        rig.take();
        assert_eq!(rig.flows(), flows);
    }
    rig.now += Span::from_ps(285_000_001);
    rig.queue([0]);
    rig.take();
    assert_eq!((rig.flows(), threshold(&rig)), (2, 20_400));
}

/// Order in which fourteen packets of one flow leave a port under `scheduler`, sent while the other
/// queues are taken; or the scheme's refusal.
fn order_of_a_flow(scheduler: &str, settings: &[(&str, &str)]) -> Result<Vec<u32>, ConfigError> {
    let mut scheduling = sched::Config::named(scheduler).unwrap();
    for (field, text) in settings {
        scheduling.set(field, text).unwrap();
    }
    let marking = mark::Config::named("diff-ecn").unwrap();
    let mut port = Port::build(&PortConfig::default(), &marking, &scheduling)?;
    let mut buffer = PerPort::new(1, Bytes(PLENTY)).unwrap();
    let mut offer = |id, flow| {
        let pkt = Pkt {
            len: 1500,
            flow: FlowId(flow),
            // Each flow has less and less left to send.
            rank: u64::from(100 - id),
            ..Pkt::default()
        };
        let asked = QueueId(0);
        port.enqueue(PktId(id), pkt, asked, Time::ZERO, &mut buffer).unwrap();
    };
    for flow in 1..=3 {
        offer(flow, flow);
        offer(10 + flow, flow);
    }
    for id in 20..34 {
        offer(id, 9);
    }
    let mut order = Vec::new();
    while let Some(departure) = port.dequeue(Time::ZERO, &mut buffer) {
        if departure.flow == FlowId(9) {
            order.push(departure.id.0);
        }
    }
    Ok(order)
}

#[test]
fn a_scheduler_that_would_reorder_a_flow_is_refused_by_name() {
    let sent: Vec<u32> = (20..34).collect();
    let quanta = [("quanta", "1500, 1500, 1500")];
    let weights = [("weights", "1, 1, 1")];
    let works: [(&str, &[_]); 6] = [
        ("sp", &[("queues", "4")]),
        ("sp-dwrr", &quanta),
        ("sp-wfq", &weights),
        ("sp-wrr", &quanta),
        ("sp-pifo", &weights),
        ("sp-dwrr", &[("strict", "0"), ("groups", "1, 3"), ("quanta", "1500, 1500, 1500, 1500")]),
    ];
    for (scheduler, settings) in works {
        let order = order_of_a_flow(scheduler, settings);
        assert_eq!(order.as_ref(), Ok(&sent), "{scheduler} {settings:?}");
    }
    let quanta = [("quanta", "1500, 1500, 1500, 1500")];
    let weights = [("weights", "1, 1, 1, 1")];
    let refused: [(&str, &[_]); 9] = [
        ("dwrr", &quanta),
        ("fifo", &[("queues", "4")]),
        ("pifo", &weights),
        ("sp-dwrr", &[("strict", "0"), quanta[0]]),
        ("sp-pifo", &[("rank", "srpt"), ("weights", "1, 1, 1")]),
        ("sp-pifo", &[("rank", "lstf"), ("weights", "1, 1, 1")]),
        ("sp-wrr", &[("strict", "0"), ("groups", "2, 2"), quanta[0]]),
        ("wfq", &weights),
        ("wrr", &quanta),
    ];
    for (scheduler, settings) in refused {
        let error = order_of_a_flow(scheduler, settings).unwrap_err().to_string();
        let expected = alloc::format!(
            "scheduler = {scheduler} is out of range; allowed: a scheduler that serves one queue \
             strictly first: sp-dwrr, sp-wfq or sp-wrr with strict = 1, or sp"
        );
        assert_eq!(error, expected);
    }
    let highest = [("queues", "4"), ("order", "highest-first")];
    assert_eq!(
        order_of_a_flow("sp", &highest).unwrap_err().to_string(),
        "priority_queue = 0 is out of range; allowed: 3, the queue that sp serves first"
    );
}

#[test]
fn the_exact_table_has_room_for_any_number_of_flows() {
    let mut rig = Rig::new(2, PLENTY, &config());
    for flow in 0..100_000 {
        rig.offer(flow, 64).unwrap();
    }
    assert_eq!(rig.flows(), 100_000);
    while rig.flows() > 0 {
        rig.take();
    }
}

#[test]
fn impossible_parameters_are_named() {
    let refused = |field: &str, text: &str, queues| {
        let mut config = Config { tables: Some(Tables::Hardware), ..config() };
        config.set(field, text).unwrap();
        let port = PortInfo { first: Some(QueueId(config.priority_queue)), ..port_info(queues) };
        match DiffEcn::new(&config, &port) {
            Err(ConfigError::OutOfRange { field, .. }) => Some(field),
            Err(other) => panic!("{other}"),
            Ok(_) => None,
        }
    };
    for (queues, field) in [(0, "queues"), (1, "queues"), (129, "queues")] {
        assert_eq!(refused("mtu", "1500", queues), Some(field));
    }
    assert_eq!(refused("mtu", "1500", 2), None);
    assert_eq!(refused("mtu", "1500", 128), None);
    let cases = [
        ("priority_queue", "3", "4", "priority_queue"),
        ("pass_limit", "4294967295B", "4294967296B", "pass_limit"),
        ("pass_limit", "1B", "0B", "pass_limit"),
        ("pass_limit", "1pkt", "0pkts", "pass_limit"),
        ("threshold", "1B", "0B", "threshold"),
        ("threshold", "4294967295B", "4294967296B", "threshold"),
        ("cell", "1B", "0B", "cell"),
        ("mtu", "1", "0", "mtu"),
        ("cell", "40800B", "40801B", "threshold"),
        ("period", "1/1000", "0", "period"),
        ("rtt", "1ns", "0us", "rtt"),
        ("map_entries", "1", "0", "map_entries"),
        ("map_entries", "65536", "65537", "map_entries"),
        ("count_registers", "2", "1", "count_registers"),
        ("count_registers", "1048576", "1048577", "count_registers"),
    ];
    for (field, good, bad, named) in cases {
        assert_eq!(refused(field, good, 4), None, "{field} = {good}");
        assert_eq!(refused(field, bad, 4), Some(named), "{field} = {bad}");
    }
    // Values that the exact tables do not use are not checked.
    let exact = Config { period: Ratio::ZERO, map_entries: 0, count_registers: 0, ..config() };
    assert!(DiffEcn::new(&exact, &port_info(4)).is_ok());
    let derived = Config { threshold: None, lambda: Some(Ratio::ZERO), ..config() };
    let error = DiffEcn::new(&derived, &port_info(4)).unwrap_err();
    assert!(matches!(error, ConfigError::OutOfRange { field: "lambda", .. }));
}

#[test]
fn the_scheme_is_one_pointer() {
    assert_eq!(size_of::<DiffEcn>(), size_of::<usize>());
    assert!(size_of::<mark::AnyMarker>() <= 64);
}
