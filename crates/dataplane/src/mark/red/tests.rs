use alloc::vec;

use tidegate_units::Time;

use super::*;
use crate::mark::testing::{cx, port_info};

pub(super) const STEP: Law = Law {
    decide: Point::Enqueue,
    reading: Reading::Inclusive,
    compare: Compare::Above,
    unit: Unit::Bytes,
    packet_size: Some(1500),
    correction: Correction::None,
    mean_packet: 9000,
    average_weight: None,
    short_queue: ShortQueue::Mark,
};

fn size(bytes: u64) -> Size {
    Size::Bytes(Bytes(bytes))
}

fn thresholds(low: impl Into<Option<u64>>, high: u64) -> [Thresholds; 1] {
    let (low, high) = (low.into().map(size), size(high));
    let max_probability = Ratio::ONE;
    [Thresholds { high, low, max_probability }]
}

/// A rise from `low` to `high` that ends at a probability.
fn rise(low: u64, high: u64, max_probability: Ratio) -> [Thresholds; 1] {
    thresholds(low, high).map(|rise| Thresholds { max_probability, ..rise })
}

fn made(thresholds: &[Thresholds], law: &Law) -> Red<Queue> {
    Red::new(thresholds, law, &port_info(1)).unwrap()
}

fn ratio(numerator: u32, denominator: u32) -> Ratio {
    Ratio::new(numerator, denominator).unwrap()
}

/// The rest of a queue of several packets.
fn at(queue_bytes: u32) -> Cx {
    let queue_packets = 9;
    Cx { queue_bytes, queue_packets, ..cx() }
}

/// Whether a packet that finds or leaves `bytes` is marked, at arrival and at departure.
fn marks(red: &Red<Queue>, bytes: u32) -> [bool; 2] {
    let mut red = red.clone();
    [red.on_enqueue(&at(bytes)), red.on_dequeue(&at(bytes))]
        .map(|verdict| verdict == MarkDecision::Mark(Rule::QueueLength))
}

#[test]
fn each_convention_has_its_own_first_marked_length() {
    use {Compare::*, Reading::*};
    // The plain form, and two that go through the law of the others: a short queue passes, and an
    // average that is the newest sample.
    let pass = ShortQueue::Pass;
    let newest = Some(Ratio::ONE);
    let forms = [STEP, Law { short_queue: pass, ..STEP }, Law { average_weight: newest, ..STEP }];
    let first = [
        (Inclusive, Above, 1_501),
        (Inclusive, AtLeast, 1_500),
        (Exclusive, Above, 3_001),
        (Exclusive, AtLeast, 3_000),
    ];
    for form in forms {
        for (reading, compare, first) in first {
            for decide in [Point::Enqueue, Point::Dequeue] {
                let law = Law { decide, reading, compare, ..form.clone() };
                let red = made(&thresholds(None, 3_000), &law);
                let enqueue = decide == Point::Enqueue;
                assert_eq!(red.threshold(0), Some(3_000), "{law:?}");
                assert_eq!(marks(&red, first - 1), [false, false], "{law:?}");
                assert_eq!(marks(&red, first), [enqueue, !enqueue], "{law:?}");
            }
        }
    }
}

#[test]
fn only_a_plain_step_does_without_the_special_law() {
    let is_plain = |thresholds: &[Thresholds], law: &Law| made(thresholds, law).special.is_none();
    assert!(is_plain(&thresholds(None, 3_000), &STEP));
    assert!(is_plain(&thresholds(3_000, 3_000), &STEP), "equal thresholds are a step");
    assert!(!is_plain(&thresholds(2_999, 3_000), &STEP));
    let [step, rise] = [thresholds(None, 3_000)[0], thresholds(0, 3_000)[0]];
    assert!(!is_plain(&[rise, step], &STEP));
    assert!(!is_plain(&[step, rise], &STEP));
    assert!(size_of::<Red<Queue>>() <= 40);
}

#[test]
fn a_step_among_rises_ignores_the_probability() {
    let pair = [thresholds(3_000, 3_000)[0], thresholds(0, 3_000)[0]];
    let mut red = made(&pair, &STEP);
    let hits = [1_500, 1_501].map(|bytes| red.on_enqueue(&at(bytes)) != MarkDecision::Pass);
    assert_eq!(hits, [false, true]);
}

#[test]
fn packets_are_counted_as_ecn_sharp_s_simulator_does() {
    let law = Law {
        reading: Reading::Exclusive,
        compare: Compare::AtLeast,
        unit: Unit::Packets,
        short_queue: ShortQueue::Pass,
        ..STEP
    };
    let first = |law: &Law, packets| {
        let high = Size::Packets(packets);
        let step = Thresholds { high, low: None, max_probability: Ratio::ONE };
        let mut red = made(&[step], law);
        assert_eq!(red.threshold(0), None, "not in bytes");
        let queued = |queue_packets| Cx { queue_packets, ..cx() };
        (0..9).find(|&packets| red.on_enqueue(&queued(packets)) != MarkDecision::Pass)
    };
    assert_eq!([1, 2, 3].map(|packets| first(&law, packets)), [Some(2), Some(2), Some(3)]);
    let law = Law { short_queue: ShortQueue::Mark, ..law };
    assert_eq!([0, 1, 2].map(|packets| first(&law, packets)), [Some(0), Some(1), Some(2)]);
    let law = Law { reading: Reading::Inclusive, ..law };
    assert_eq!([1, 2, 3].map(|packets| first(&law, packets)), [Some(0), Some(1), Some(2)]);
}

#[test]
fn a_short_queue_counts_the_packet_itself_if_the_reading_does() {
    let law = Law { short_queue: ShortQueue::Pass, ..STEP };
    let mut red = made(&thresholds(None, 0), &law);
    let mut marked =
        |queue_packets| red.on_enqueue(&Cx { queue_packets, ..cx() }) != MarkDecision::Pass;
    assert_eq!([marked(0), marked(1)], [false, true]);
}

#[test]
fn the_probability_rises_between_the_thresholds() {
    let half = ratio(1, 2);
    let law = Law { reading: Reading::Exclusive, ..STEP };
    let hits = |law: &Law, bytes| {
        let mut red = made(&rise(1_000, 3_000, half), law);
        let hit = |_: &i32| red.on_enqueue(&at(bytes)) != MarkDecision::Pass;
        (0..10_000).filter(hit).count()
    };
    assert_eq!([999, 1_000, 3_001].map(|bytes| hits(&law, bytes)), [0, 0, 10_000]);
    assert!(hits(&law, 2_000).abs_diff(2_500) < 200);
    assert!(hits(&law, 3_000).abs_diff(5_000) < 200);
    let law = Law { compare: Compare::AtLeast, ..law };
    assert!(hits(&law, 2_999).abs_diff(5_000) < 200);
    assert_eq!(hits(&law, 3_000), 10_000);
}

#[test]
fn the_count_restarts_after_a_mark_and_below_the_ramp() {
    let count_after = |correction, lengths: &[u32]| {
        let law = Law { correction, reading: Reading::Exclusive, ..STEP };
        // Never drawn, so that only the count changes.
        let mut red = made(&rise(1_000, 3_000, Ratio::ZERO), &law);
        for &length in lengths {
            red.on_enqueue(&at(length));
        }
        let special = red.special.unwrap();
        special.slots.first().map(|slot| slot.memory.count)
    };
    let packets = |lengths| count_after(Correction::Packets, lengths);
    assert_eq!(packets(&[2_000, 1_000]), Some(2), "the lower threshold is between them");
    assert_eq!(packets(&[2_000, 999]), Some(0));
    assert_eq!(packets(&[2_000, 3_001]), Some(1));
    assert_eq!(count_after(Correction::None, &[2_000, 3_001]), Some(0));

    assert_eq!(count_after(Correction::Bytes, &[3_001]), Some(0));
}

#[test]
fn an_average_is_compared_exactly() {
    let law = Law { average_weight: Some(ratio(1, 2)), reading: Reading::Exclusive, ..STEP };
    let marked = |law: &Law, samples: &[u32]| {
        let mut red = made(&thresholds(None, 1_000), law);
        assert_eq!(red.threshold(0), Some(1_000));
        let verdicts =
            samples.iter().map(|&bytes| red.on_enqueue(&at(bytes)) != MarkDecision::Pass);
        verdicts.collect::<Vec<_>>()
    };
    // The average is 1000, then 1000.5: half a byte above the threshold.
    assert_eq!(marked(&law, &[2_000, 1_001]), [false, true]);
    let law = Law { compare: Compare::AtLeast, ..law };
    // 999.5, then 1000.
    assert_eq!(marked(&law, &[1_999]), [false]);
    assert_eq!(marked(&law, &[2_000]), [true]);
}

#[test]
fn an_average_is_taken_at_arrivals_and_its_queue_idles_from_its_last_departure() {
    let law = Law {
        average_weight: Some(ratio(1, 2)),
        reading: Reading::Exclusive,
        decide: Point::Dequeue,
        ..STEP
    };
    let mut red = made(&thresholds(None, 1_000), &law);
    let later = |ns, queue_bytes| Cx { now: Time::from_ns(ns), ..at(queue_bytes) };
    assert_eq!(red.on_enqueue(&later(0, 4_000)), MarkDecision::Pass, "2000, decided at departure");
    let mark = MarkDecision::Mark(Rule::QueueLength);
    assert_eq!(red.on_dequeue(&later(0, 1_500)), mark, "not idle, and not a sample");
    assert_eq!(red.on_dequeue(&later(1_200, 0)), mark);
    red.on_enqueue(&later(3_600, 0));
    let slots = |red: &Red<Queue>| red.special.as_ref().unwrap().slots[0].memory.average.length();
    // An arrival at a length of 0 would halve the average once.
    assert_eq!(slots(&red), 500 << 24, "two packet times idle");
    assert_eq!(red.on_dequeue(&later(3_600, 0)), MarkDecision::Pass);
}

#[test]
fn a_queue_that_does_not_exist_is_never_marked() {
    let rise = Law { average_weight: Some(Ratio::ONE), ..STEP };
    for law in [STEP, rise] {
        let mut red = made(&thresholds(None, 0), &law);
        let stranger = Cx { queue: tidegate_units::QueueId(1), ..at(u32::MAX) };
        assert_eq!(red.on_enqueue(&stranger), MarkDecision::Pass);
        assert_eq!(red.on_dequeue(&Cx { queue_bytes: 0, ..stranger }), MarkDecision::Pass);
        assert_eq!(red.threshold(1), None);
        assert_eq!(red.threshold(0), Some(0));
        let mut at_departure = made(&thresholds(None, 0), &Law { decide: Point::Dequeue, ..law });
        assert_eq!(at_departure.on_dequeue(&stranger), MarkDecision::Pass);
    }
}

#[test]
fn one_rise_holds_for_all_queues() {
    let rise = [thresholds(1_000, 3_000)[0]; 3];
    let mut red: Red<Queue> = Red::new(&rise, &STEP, &port_info(3)).unwrap();
    for queue in 0..3 {
        let verdict = |red: &mut Red<Queue>, bytes| {
            red.on_enqueue(&Cx { queue: tidegate_units::QueueId(queue), ..at(bytes) })
        };
        // With the 1500 bytes of the packet itself, beyond the rise.
        let above = verdict(&mut red, 1_501);
        assert_eq!(above, MarkDecision::Mark(Rule::QueueLength), "queue {queue}");
    }
}

#[test]
fn each_queue_can_have_its_own_probability() {
    let law = Law { reading: Reading::Exclusive, ..STEP };
    // Never, always and at times, on one ramp.
    let rises = [Ratio::ZERO, Ratio::ONE, ratio(1, 4)].map(|most| rise(0, 3_000, most)[0]);
    let mut red: Red<Queue> = Red::new(&rises, &law, &port_info(3)).unwrap();
    let mut hits = |queue| {
        let full = Cx { queue: tidegate_units::QueueId(queue), ..at(3_000) };
        let hit = |_: &i32| red.on_enqueue(&full) != MarkDecision::Pass;
        (0..10_000).filter(hit).count()
    };
    assert_eq!([hits(0), hits(1)], [0, 10_000]);
    assert!(hits(2).abs_diff(2_500) < 200);
}

#[test]
fn the_largest_lengths_do_not_overflow() {
    for form in [STEP, Law { average_weight: Some(Ratio::ONE), ..STEP }] {
        let red = made(&thresholds(None, u64::from(u32::MAX)), &form);
        assert_eq!(red.threshold(0), Some(u32::MAX));
        assert_eq!(marks(&red, u32::MAX - 1_500), [false, false]);
        assert_eq!(marks(&red, u32::MAX), [true, false]);
    }
}

#[test]
fn a_list_has_one_value_or_one_per_queue() {
    assert_eq!(per_queue("list", &[7], 3), Ok(vec![7, 7, 7]));
    assert_eq!(per_queue("list", &[1, 2], 2), Ok(vec![1, 2]));
    for list in [&[] as &[u8], &[1, 2]] {
        assert!(per_queue("list", list, 3).is_err());
    }
}

#[test]
fn impossible_parameters_are_named() {
    fn field<S: Scope>(thresholds: &[Thresholds], law: &Law) -> Option<&'static str> {
        match Red::<S>::new(thresholds, law, &port_info(1)) {
            Err(ConfigError::OutOfRange { field, .. }) => Some(field),
            _ => None,
        }
    }
    let step = thresholds(None, 3_000);
    let error = |law: &Law| field::<Queue>(&step, law);
    let weight = |weight| Law { average_weight: Some(weight), ..STEP };
    assert_eq!(error(&weight(Ratio::ZERO)), Some("average_weight"));
    assert_eq!(error(&weight(ratio(3, 2))), Some("average_weight"));
    assert_eq!(error(&Law { packet_size: Some(0), ..STEP }), Some("packet_size"));
    assert_eq!(error(&Law { mean_packet: 0, ..STEP }), Some("mean_packet"));
    assert_eq!(field::<Queue>(&rise(1_000, 3_000, ratio(3, 2)), &STEP), Some("max_probability"));
    let packets = Law { unit: Unit::Packets, ..STEP };
    assert_eq!(error(&packets), Some("threshold"), "3000 bytes are no packets");
    let pass = Law { short_queue: ShortQueue::Pass, ..STEP };
    assert_eq!([error(&pass), field::<Port>(&step, &pass)], [None, None]);
    assert_eq!(field::<Pool>(&step, &packets), Some("unit"));
    assert_eq!(field::<Pool>(&step, &pass), Some("short_queue"));
    assert_eq!(field::<Queue>(&thresholds(3_001, 3_000), &STEP), Some("min_threshold"));
    assert_eq!(field::<Queue>(&thresholds(None, 1 << 32), &STEP), Some("threshold"));
    assert_eq!(field::<Queue>(&thresholds(1 << 32, 3_000), &STEP), Some("min_threshold"));
}
