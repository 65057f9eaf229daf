use alloc::string::ToString;

use tidegate_units::{Bytes, PktId};

use super::average::power;
use super::*;
use crate::buffer::PerPort;
use crate::mark::testing::{cx, port_info};
use crate::sched::{Dwrr, Round, Scheduler, Wrr, dwrr, wrr};
use crate::{Port, PortConfig};

/// Two queues of 18 KB each at 10 Gb/s, as in figure 2 of TCN, and a priority queue behind them.
fn two_queues(queue: QueueId) -> Option<Round> {
    (queue.0 < 2).then_some(Round { group: 0, quantum: 18_000 })
}

fn mq_ecn(config: &Config) -> MqEcn {
    let port = PortInfo { round: &two_queues, scheduler: "sp/dwrr", ..port_info(3) };
    MqEcn::new(config, &port).unwrap()
}

fn default() -> MqEcn {
    mq_ecn(&Config::default())
}

fn turn(mq_ecn: &mut MqEcn, ns: u64, queue: u8, event: TurnEvent) {
    mq_ecn.on_turn(&Turn { queue: QueueId(queue), now: Time::from_ns(ns), event });
}

fn round_ps(mq_ecn: &MqEcn) -> u64 {
    mq_ecn.groups[0].round
}

/// A scheme whose round time is `ps`.
pub(super) fn with_round(config: &Config, ps: u64) -> MqEcn {
    let mut mq_ecn = mq_ecn(config);
    mq_ecn.groups[0].round = ps;
    mq_ecn
}

pub(super) fn arrival(ns: u64, queue: u8, queue_bytes: u32) -> Cx {
    Cx { now: Time::from_ns(ns), queue: QueueId(queue), queue_bytes, port_packets: 1, ..cx() }
}

fn departure(ns: u64, queue: u8, len: u32) -> Cx {
    let mut cx = arrival(ns, queue, 0);
    cx.pkt.len = len;
    cx.port_packets = 0;
    cx
}

#[test]
fn two_backlogged_queues_have_half_the_threshold_each() {
    // 36 KB per round at 10 Gb/s are 28.8 µs.
    let mut mq_ecn = default();
    for queue in 0..2 {
        turn(&mut mq_ecn, 0, queue, TurnEvent::Joined);
    }
    for round in 0..100 {
        turn(&mut mq_ecn, 14_400 + round * 28_800, 0, TurnEvent::Ended);
        turn(&mut mq_ecn, 28_800 + round * 28_800, 1, TurnEvent::Ended);
    }
    assert_eq!(round_ps(&mq_ecn).next_multiple_of(100), 28_800_000);
    mq_ecn.groups[0].round = 28_800_000;
    for queue in [0, 1] {
        assert_eq!(mq_ecn.threshold(QueueId(queue)), Some(48_750));
        assert_eq!(mq_ecn.capacity(QueueId(queue)), Some(Rate::from_gbps(5)));
    }
    let mark = MarkDecision::Mark(Rule::QueueLength);
    let verdicts = [47_249, 47_250, 47_251].map(|bytes| mq_ecn.on_enqueue(&arrival(0, 0, bytes)));
    assert_eq!(verdicts, [MarkDecision::Pass, MarkDecision::Pass, mark]);
}

#[test]
fn a_dwrr_port_with_two_backlogged_queues_converges_to_half_the_link() {
    let quanta = alloc::vec![18_000, 18_000];
    let scheduler = Dwrr::new(&dwrr::Config { quanta }).unwrap();
    let port = PortInfo { round: &|queue| scheduler.round(queue), ..port_info(2) };
    let marker = MqEcn::new(&Config::default(), &port).unwrap();
    let mut port = Port::new(&PortConfig::default(), marker, scheduler.clone());
    let mut buffer = PerPort::new(1, Bytes::from_kb(1_000)).unwrap();
    for packet in 0..40 {
        let queue = QueueId(packet % 2);
        port.enqueue(PktId(0), cx().pkt, queue, Time::ZERO, &mut buffer).unwrap();
    }
    // 600 µs are 500 packets: the time within which figure 2c of TCN converges.
    for _ in 0..500 {
        let left = port.depart(Time::MAX, &mut buffer).unwrap();
        port.enqueue(left.id, cx().pkt, left.queue, left.at, &mut buffer).unwrap();
    }
    let capacity = port.marker().capacity(QueueId(0)).unwrap().as_bps();
    assert!(capacity.abs_diff(5_000_000_000) < 50_000_000, "{capacity}");
}

/// A port with a cyclic WRR of two queues, which hold three packets and one.
fn cyclic_port(config: &Config) -> (Port<MqEcn, Wrr>, PerPort) {
    let scheduler =
        Wrr::new(&wrr::Config { quanta: alloc::vec![1500, 1500], order: wrr::Order::Cyclic })
            .unwrap();
    let port = PortInfo { round: &|queue| scheduler.round(queue), ..port_info(2) };
    let marker = MqEcn::new(config, &port).unwrap();
    let mut port = Port::new(&PortConfig::default(), marker, scheduler.clone());
    let mut buffer = PerPort::new(1, Bytes::from_kb(1_000)).unwrap();
    for queue in [0, 0, 0, 1] {
        let queue = QueueId(queue);
        port.enqueue(PktId(0), cx().pkt, queue, Time::ZERO, &mut buffer).unwrap();
    }
    (port, buffer)
}

#[test]
fn a_backlogged_wrr_port_is_not_idle_although_one_queue_emptied() {
    for idle_decay in [IdleDecay::Fractional, IdleDecay::Steps] {
        let config = Config { idle_decay, ..Config::default() };
        let (mut port, mut buffer) = cyclic_port(&config);
        // Queue 0, then queue 1, which empties at 1.2 µs; two packets stay in queue 0.
        for _ in 0..2 {
            port.depart(Time::MAX, &mut buffer).unwrap();
        }
        let before = round_ps(port.marker());
        assert_ne!(before, 0);
        let late = Time::from_us(100);
        port.enqueue(PktId(0), cx().pkt, QueueId(0), late, &mut buffer).unwrap();
        assert_eq!(round_ps(port.marker()), before, "{idle_decay:?}");
    }
}

#[test]
fn a_queue_that_joins_a_wrr_round_is_measured_from_then_on() {
    let config = Config { old_weight: Ratio::ZERO, ..Config::default() };
    let (mut port, mut buffer) = cyclic_port(&config);
    // Queue 1 empties at 1.2 µs, its packet is off the wire at 2.4 µs. Queue 0 is alone.
    for _ in 0..3 {
        port.depart(Time::MAX, &mut buffer).unwrap();
    }
    // The packet joins at 3 µs, leaves at 3.6 µs and is off the wire at 4.8 µs.
    let join = Time::from_us(3);
    port.enqueue(PktId(0), cx().pkt, QueueId(1), join, &mut buffer).unwrap();
    let left = port.depart(Time::MAX, &mut buffer).unwrap();
    assert_eq!((left.queue, left.at), (QueueId(1), Time::from_ns(3_600)));
    assert_eq!(round_ps(port.marker()), 1_800_000);
}

#[test]
fn a_queue_without_rounds_has_the_ports_threshold() {
    let mut mq_ecn = with_round(&Config::default(), 28_800_000);
    assert_eq!(mq_ecn.threshold(QueueId(2)), Some(97_500));
    assert_eq!(mq_ecn.capacity(QueueId(2)), None);
    let mark = MarkDecision::Mark(Rule::QueueLength);
    let verdicts = [95_999, 96_000, 96_001].map(|bytes| mq_ecn.on_enqueue(&arrival(0, 2, bytes)));
    assert_eq!(verdicts, [MarkDecision::Pass, MarkDecision::Pass, mark]);
    turn(&mut mq_ecn, 9, 2, TurnEvent::Ended);
    assert_eq!(round_ps(&mq_ecn), 28_800_000);
    assert_eq!(mq_ecn.on_enqueue(&arrival(0, 3, u32::MAX)), MarkDecision::Pass);
    assert_eq!(mq_ecn.threshold(QueueId(3)), None);
    assert_eq!(mq_ecn.capacity(QueueId(3)), None);
}

#[test]
fn no_share_exceeds_the_threshold_and_rounds_below_a_nanosecond_do_not_count() {
    // 18 KB in 14.4 µs are the whole link.
    for (ps, threshold) in [(0, 97_500), (999, 97_500), (14_400_000, 97_500), (14_400_001, 97_499)]
    {
        let mut mq_ecn = with_round(&Config::default(), ps);
        assert_eq!(mq_ecn.threshold(QueueId(0)), Some(threshold), "{ps}");
        let full = mq_ecn.on_enqueue(&arrival(0, 0, threshold - 1500));
        let above = mq_ecn.on_enqueue(&arrival(0, 0, threshold - 1499));
        assert_eq!(
            [full, above],
            [MarkDecision::Pass, MarkDecision::Mark(Rule::QueueLength)],
            "{ps}"
        );
    }
    let link = Some(Rate::from_gbps(10));
    for ps in [0, 999, 1000, 14_400_000] {
        assert_eq!(with_round(&Config::default(), ps).capacity(QueueId(0)), link);
    }

    // A quantum of one byte takes 0.8 ns at 10 Gb/s: the whole link until the round reaches a
    // nanosecond.
    let tiny = PortInfo { round: &|_| Some(Round { group: 0, quantum: 1 }), ..port_info(1) };
    let mut mq_ecn = MqEcn::new(&Config::default(), &tiny).unwrap();
    for (ps, threshold) in [(999, 97_500), (1000, 78_000)] {
        mq_ecn.groups[0].round = ps;
        assert_eq!(mq_ecn.threshold(QueueId(0)), Some(threshold));
        let hit = mq_ecn.on_enqueue(&arrival(0, 0, 90_000)) != MarkDecision::Pass;
        assert_eq!(hit, ps == 1000);
    }
    assert_eq!(mq_ecn.capacity(QueueId(0)), Some(Rate::from_gbps(8)));

    let config = Config { arithmetic: Arithmetic::Kernel, ..Config::default() };
    let mut mq_ecn = MqEcn::new(&config, &tiny).unwrap();
    for (ns, threshold) in [(0, 97_500), (1, 83_751)] {
        mq_ecn.groups[0].round = ns;
        assert_eq!(mq_ecn.threshold(QueueId(0)), Some(threshold), "0.8 · 1.0737 of 97500");
    }
}

#[test]
fn a_turn_is_measured_from_its_start_to_its_end() {
    let mut mq_ecn = default();
    turn(&mut mq_ecn, 1_000, 0, TurnEvent::Joined);
    turn(&mut mq_ecn, 5_000, 0, TurnEvent::Ended);
    assert_eq!(round_ps(&mq_ecn), 1_000_000, "a quarter of 4 µs");
    turn(&mut mq_ecn, 13_000, 0, TurnEvent::Ended);
    assert_eq!(round_ps(&mq_ecn), 2_750_000, "0.75 · 1 µs + 0.25 · 8 µs");
    // The last packet takes 1.2 µs: 3.8 + 1.2 = 5 µs.
    turn(&mut mq_ecn, 16_800, 0, TurnEvent::Emptied { len: 1500 });
    assert_eq!(round_ps(&mq_ecn), 3_312_500, "0.75 · 2.75 µs + 0.25 · 5 µs");
}

#[test]
fn a_queue_that_empties_may_count_its_transmission_twice() {
    let config = Config { emptying: Emptying::Twice, ..Config::default() };
    let mut mq_ecn = mq_ecn(&config);
    turn(&mut mq_ecn, 0, 0, TurnEvent::Joined);
    turn(&mut mq_ecn, 1_600, 0, TurnEvent::Emptied { len: 1500 });
    assert_eq!(round_ps(&mq_ecn), 1_000_000, "a quarter of 1.6 + 2 · 1.2 µs");
}

#[test]
fn a_first_turn_starts_after_the_queues_own_packet() {
    for (start, ps) in [(Start::AfterOwnPacket, 2_975_000), (Start::Now, 3_275_000)] {
        let config = Config { start, ..Config::default() };
        let mut mq_ecn = mq_ecn(&config);
        turn(&mut mq_ecn, 0, 0, TurnEvent::Joined);
        turn(&mut mq_ecn, 2_800, 0, TurnEvent::Emptied { len: 1500 });
        assert_eq!(round_ps(&mq_ecn), 1_000_000);
        // Its packet is on the wire until 4 µs.
        turn(&mut mq_ecn, 2_800, 0, TurnEvent::Joined);
        turn(&mut mq_ecn, 12_900, 0, TurnEvent::Ended);
        // 0.75 · 1 µs + 0.25 · 8.9 µs or 0.25 · 10.1 µs.
        assert_eq!(round_ps(&mq_ecn), ps);
        // From then on, both start at the arrival.
        turn(&mut mq_ecn, 12_900, 0, TurnEvent::Emptied { len: 1500 });
        let before = round_ps(&mq_ecn);
        turn(&mut mq_ecn, 20_000, 0, TurnEvent::Joined);
        turn(&mut mq_ecn, 24_000, 0, TurnEvent::Ended);
        assert_eq!(round_ps(&mq_ecn), before * 3 / 4 + 1_000_000);
    }
}

#[test]
fn a_skipped_queue_restarts_without_a_sample() {
    let mut mq_ecn = default();
    turn(&mut mq_ecn, 0, 0, TurnEvent::Emptied { len: 1500 });
    let before = round_ps(&mq_ecn);
    turn(&mut mq_ecn, 6_000, 0, TurnEvent::Skipped);
    assert_eq!(round_ps(&mq_ecn), before);
    turn(&mut mq_ecn, 10_000, 0, TurnEvent::Ended);
    assert_eq!(round_ps(&mq_ecn), before * 3 / 4 + 1_000_000);
}

#[test]
fn turns_may_end_with_the_groups_last_packet() {
    let config = Config { turn_end: TurnEnd::LastPacket, ..Config::default() };
    let mut mq_ecn = mq_ecn(&config);
    turn(&mut mq_ecn, 0, 0, TurnEvent::Joined);
    // Queue 1 sends 1500 bytes from 2.8 µs to 4 µs, the priority queue another 1500 after that.
    mq_ecn.on_dequeue(&departure(2_800, 1, 1500), Span::ZERO);
    mq_ecn.on_dequeue(&departure(4_000, 2, 1500), Span::ZERO);
    turn(&mut mq_ecn, 5_200, 0, TurnEvent::Ended);
    assert_eq!(round_ps(&mq_ecn), 1_000_000, "a quarter of 4 µs");
    mq_ecn.on_dequeue(&departure(10_800, 0, 1500), Span::ZERO);
    turn(&mut mq_ecn, 15_000, 0, TurnEvent::Ended);
    assert_eq!(round_ps(&mq_ecn), 2_750_000, "0.75 · 1 µs + 0.25 · (12 − 4) µs");
}

#[test]
fn an_idle_port_forgets_by_whole_slots() {
    let after = |idle_ns: u64, port_packets| {
        let mut mq_ecn = with_round(&Config::default(), 16_000_000);
        // On the wire from 1 µs to 2.2 µs.
        mq_ecn.on_dequeue(&departure(1_000, 0, 1500), Span::ZERO);
        let cx = Cx { port_packets, ..arrival(2_200 + idle_ns, 2, 0) };
        mq_ecn.on_enqueue(&cx);
        round_ps(&mq_ecn)
    };
    let times = [0, 1_199, 1_200, 2_399, 2_400, 1_000_000_000].map(|ns| after(ns, 0));
    assert_eq!(times, [16_000_000, 16_000_000, 12_000_000, 12_000_000, 9_000_000, 0]);
    assert_eq!(after(2_400, 1), 16_000_000, "a port that is not empty is not idle");

    let mut mq_ecn = with_round(&Config::default(), 16_000_000);
    let busy = Cx { port_packets: 1, ..departure(0, 0, 1500) };
    mq_ecn.on_dequeue(&departure(1_000, 0, 1500), Span::ZERO);
    mq_ecn.on_dequeue(&Cx { now: Time::from_us(9), ..busy }, Span::ZERO);
    assert_eq!(
        mq_ecn.rules.idle_since,
        Time::from_ns(2_200),
        "a port with packets left is not idle"
    );
}

#[test]
fn the_idle_slot_can_be_set() {
    let config = Config { idle_slot: Some(Span::from_us(10)), ..Config::default() };
    let mut mq_ecn = with_round(&config, 16_000_000);
    mq_ecn.on_enqueue(&departure(19_999, 0, 1500));
    assert_eq!(round_ps(&mq_ecn), 12_000_000);
}

#[test]
fn fractional_decay_is_repeated_by_arrivals_at_the_priority_queue() {
    let config = Config { idle_decay: IdleDecay::Fractional, ..Config::default() };
    let mut mq_ecn = mq_ecn(&config);
    turn(&mut mq_ecn, 0, 0, TurnEvent::Joined);
    turn(&mut mq_ecn, 1_000, 0, TurnEvent::Emptied { len: 1500 });
    let mut after = |ns, queue| {
        mq_ecn.groups[0].round = 16_000_000;
        mq_ecn.on_enqueue(&arrival(ns, queue, 0));
        round_ps(&mq_ecn)
    };
    // Idle since 1 µs, the start of the last packet. 0.75^1.5 = 0.649519.
    assert_eq!(after(2_199, 2), 16_000_000, "less than a slot");
    assert_eq!(after(2_200, 2), 12_000_000);
    assert!(after(2_800, 2).abs_diff(10_392_305) < 2);
    assert_eq!(after(3_400, 0), 9_000_000);
    mq_ecn.on_enqueue(&arrival(3_400, 2, 0));
    assert!(round_ps(&mq_ecn).abs_diff(5_062_500) < 2, "the same two slots again");

    turn(&mut mq_ecn, 3_400, 0, TurnEvent::Joined);
    turn(&mut mq_ecn, 3_400, 1, TurnEvent::Joined);
    turn(&mut mq_ecn, 3_400, 1, TurnEvent::Emptied { len: 1500 });
    let before = round_ps(&mq_ecn);
    mq_ecn.on_enqueue(&arrival(90_000, 2, 0));
    assert_eq!(round_ps(&mq_ecn), before, "queue 0 still holds a packet");
}

#[test]
fn kernel_decay_steps_at_most_ten_times() {
    let config = Config {
        idle_decay: IdleDecay::Steps,
        arithmetic: Arithmetic::Kernel,
        ..Config::default()
    };
    let mut mq_ecn = mq_ecn(&config);
    turn(&mut mq_ecn, 0, 0, TurnEvent::Joined);
    turn(&mut mq_ecn, 1_000, 0, TurnEvent::Emptied { len: 1500 });
    let mut after = |idle: u64, queue| {
        mq_ecn.groups[0].round = 1_003;
        mq_ecn.on_enqueue(&arrival(2_200 + idle, queue, 0));
        round_ps(&mq_ecn)
    };
    // Each step rounds down: 752.25, 564, 423, …
    assert_eq!([after(1_199, 0), after(1_200, 0), after(2_400, 1)], [1_003, 752, 564]);
    // 423, 317, 237, 177, 132, 99, 74, 55 after ten.
    assert_eq!([after(12_000, 0), after(13_199, 0), after(13_200, 0)], [55, 55, 0]);
    assert_eq!(after(13_200, 2), 1_003, "the priority queue is not in the group");
    turn(&mut mq_ecn, 2_200, 1, TurnEvent::Joined);
    mq_ecn.groups[0].round = 1_003;
    mq_ecn.on_enqueue(&arrival(90_000, 0, 0));
    assert_eq!(round_ps(&mq_ecn), 1_003, "queue 1 holds a packet");
}

#[test]
fn kernel_arithmetic_decays_by_whole_slots_too() {
    let config = Config { arithmetic: Arithmetic::Kernel, ..Config::default() };
    let mut mq_ecn = with_round(&config, 1_000);
    mq_ecn.on_enqueue(&departure(2_400, 0, 1500));
    assert_eq!(round_ps(&mq_ecn), 562, "1000 · 9/16, rounded down");
}

#[test]
fn kernel_arithmetic_overstates_the_rate() {
    let config = Config { arithmetic: Arithmetic::Kernel, ..Config::default() };
    let mut mq_ecn = mq_ecn(&config);
    turn(&mut mq_ecn, 0, 0, TurnEvent::Joined);
    // 28.8 µs and 3 ps: 28800 ns / 4.
    mq_ecn.on_turn(&Turn {
        queue: QueueId(0),
        now: Time::from_ps(28_800_003),
        event: TurnEvent::Ended,
    });
    assert_eq!(round_ps(&mq_ecn), 7_200);
    mq_ecn.groups[0].round = 28_800;
    // 18000 · 2^33 / 28800 = 5 Gb/s · 1.073741824, and the same fraction of 48750 bytes.
    let rate = Rate::from_bps(5_368_709_120);
    assert_eq!(mq_ecn.capacity(QueueId(0)), rate);
    assert_eq!(mq_ecn.threshold(QueueId(0)), Some(52_344));
    let verdicts = [50_844, 50_845].map(|bytes| mq_ecn.on_enqueue(&arrival(0, 0, bytes)));
    assert_eq!(verdicts, [MarkDecision::Pass, MarkDecision::Mark(Rule::QueueLength)]);
    mq_ecn.groups[0].round = 1;
    assert_eq!(mq_ecn.capacity(QueueId(0)), Some(Rate::from_gbps(10)));
}

#[test]
fn groups_have_round_times_of_their_own() {
    let port = PortInfo {
        round: &|queue| Some(Round { group: queue.0, quantum: 18_000 }),
        ..port_info(2)
    };
    let mut mq_ecn = MqEcn::new(&Config::default(), &port).unwrap();
    turn(&mut mq_ecn, 0, 1, TurnEvent::Joined);
    turn(&mut mq_ecn, 115_200, 1, TurnEvent::Ended);
    assert_eq!([0, 1].map(|group: usize| mq_ecn.groups[group].round), [0, 28_800_000]);
    assert_eq!(mq_ecn.threshold(QueueId(0)), Some(97_500));
    assert_eq!(mq_ecn.threshold(QueueId(1)), Some(48_750));
    turn(&mut mq_ecn, 0, 2, TurnEvent::Joined);
}

#[test]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "positive numbers of at most 40 bits"
)]
fn powers_with_a_fraction_match_real_numbers() {
    let one = 4_294_967_296.0;
    for (base, exponent) in [(0.75, 0.5), (0.75, 1.75), (0.75, 9.3), (0.5, 0.001), (0.99, 200.7)] {
        let fixed = power((base * one) as u64, (exponent * one) as u128) as f64 / one;
        let real = f64::powf(base, exponent);
        assert!((real - fixed).abs() < 1e-7, "{base}^{exponent}: {fixed}, {real}");
    }
    assert_eq!(power(3 << 30, 0), 1 << 32);
    assert_eq!(power(3 << 30, 2 << 32), 9 << 28);
    assert_eq!(power(3 << 30, u128::MAX >> 1), 0);
    assert_eq!(power(0, 1 << 32), 0);
}

#[test]
fn the_extremes_neither_wrap_nor_panic() {
    let port = PortInfo {
        rate: Rate::from_bps(1).unwrap(),
        round: &|_| Some(Round { group: 255, quantum: u32::MAX }),
        ..port_info(1)
    };
    let config = Config { threshold: Size::Bytes(Bytes(u64::from(u32::MAX))), ..Config::default() };
    let mut mq_ecn = MqEcn::new(&config, &port).unwrap();
    for event in [TurnEvent::Joined, TurnEvent::Emptied { len: u32::MAX }, TurnEvent::Ended] {
        mq_ecn.on_turn(&Turn { queue: QueueId(0), now: Time::MAX, event });
    }
    mq_ecn.groups[255].round = u64::MAX;
    let mut cx = arrival(u64::MAX, 0, u32::MAX);
    cx.pkt.len = u32::MAX;
    assert_eq!(mq_ecn.on_enqueue(&cx), MarkDecision::Mark(Rule::QueueLength));
    mq_ecn.on_dequeue(&cx, Span::MAX);
    assert!(mq_ecn.capacity(QueueId(0)).is_some());
    assert_eq!(mq_ecn.threshold(QueueId(0)), Some(u32::MAX));
    assert_eq!(size_of::<Queue>(), 16);
    assert!(size_of::<MqEcn>() <= 64);
}

#[test]
fn a_scheduler_without_rounds_is_refused_by_name() {
    let error = MqEcn::new(&Config::default(), &port_info(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "scheduler = fifo is out of range; allowed: one with rounds: dwrr, wrr, sp-dwrr, sp-wrr"
    );
}

#[test]
fn impossible_parameters_are_named() {
    let port = PortInfo { round: &two_queues, ..port_info(2) };
    let field = |config: Config| match MqEcn::new(&config, &port) {
        Err(ConfigError::OutOfRange { field, .. }) => Some(field),
        Err(other) => panic!("{other:?}"),
        Ok(_) => None,
    };
    let threshold = |bytes| Config { threshold: Size::Bytes(Bytes(bytes)), ..Config::default() };
    assert_eq!(field(threshold(1 << 32)), Some("threshold"));
    assert_eq!(field(threshold((1 << 32) - 1)), None);
    let old_weight =
        |percent| Config { old_weight: Ratio::new(percent, 100).unwrap(), ..Config::default() };
    assert_eq!(field(old_weight(100)), Some("old_weight"));
    assert_eq!(field(old_weight(99)), None);
    let idle_slot = |ps| Config { idle_slot: Some(Span::from_ps(ps)), ..Config::default() };
    assert_eq!(field(idle_slot(0)), Some("idle_slot"));
    assert_eq!(field(idle_slot(1)), None);
    let turns = |idle_decay, turn_end| Config { idle_decay, turn_end, ..Config::default() };
    let (fractional, last) = (IdleDecay::Fractional, TurnEnd::LastPacket);
    assert_eq!(field(turns(fractional, last)), Some("turn_end"));
    assert_eq!(field(turns(fractional, TurnEnd::Now)), None);
    assert_eq!(field(turns(IdleDecay::Steps, last)), None);
}
