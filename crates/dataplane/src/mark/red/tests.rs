use alloc::vec;

use tidegate_units::Span;

use super::*;
use crate::mark::testing::{cx, site};

const STEP: Law = Law {
    max_probability: Ratio::ONE,
    decide: Point::Enqueue,
    reading: Reading::Inclusive,
    compare: Compare::Above,
    unit: Unit::Bytes,
    packet_size: 1500,
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
    [Thresholds { high, low }]
}

fn made(thresholds: &[Thresholds], law: &Law) -> Red<Queue> {
    Red::new(thresholds, law, &site(1)).unwrap()
}

fn ratio(numerator: u32, denominator: u32) -> Ratio {
    Ratio::new(numerator, denominator).unwrap()
}

/// The rest of a queue of several packets.
fn at(queue_bytes: u32) -> Cx {
    let queue_packets = 9;
    Cx {
        queue_bytes,
        queue_packets,
        ..cx()
    }
}

/// Whether a packet that finds or leaves `bytes` is marked, at arrival and at departure.
fn marks(red: &Red<Queue>, bytes: u32) -> [bool; 2] {
    let mut red = red.clone();
    [red.on_enqueue(&at(bytes)), red.on_dequeue(&at(bytes))]
        .map(|verdict| verdict == Verdict::Mark(Rule::QueueLength))
}

#[test]
fn each_convention_has_its_own_first_marked_length() {
    use {Compare::*, Reading::*};
    // The plain form, and two that go through the law of the others: a short queue passes, and an
    // average that is the newest sample.
    let pass = ShortQueue::Pass;
    let newest = Some(Ratio::ONE);
    let forms = [
        STEP,
        Law {
            short_queue: pass,
            ..STEP
        },
        Law {
            average_weight: newest,
            ..STEP
        },
    ];
    let first = [
        (Inclusive, Above, 1_501),
        (Inclusive, AtLeast, 1_500),
        (Exclusive, Above, 3_001),
        (Exclusive, AtLeast, 3_000),
    ];
    for form in forms {
        for (reading, compare, first) in first {
            for decide in [Point::Enqueue, Point::Dequeue] {
                let law = Law {
                    decide,
                    reading,
                    compare,
                    ..form.clone()
                };
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
    assert!(
        is_plain(&thresholds(3_000, 3_000), &STEP),
        "equal thresholds are a step"
    );
    assert!(!is_plain(&thresholds(2_999, 3_000), &STEP));
    let [step, rise] = [thresholds(None, 3_000)[0], thresholds(0, 3_000)[0]];
    assert!(!is_plain(&[rise, step], &STEP));
    assert!(!is_plain(&[step, rise], &STEP));
    assert!(size_of::<Red<Queue>>() <= 32);
    assert!(size_of::<Slot>() <= 32);
}

#[test]
fn a_step_among_rises_ignores_the_probability() {
    let pair = [thresholds(3_000, 3_000)[0], thresholds(0, 3_000)[0]];
    let mut red = made(&pair, &STEP);
    let hits = [1_500, 1_501].map(|bytes| red.on_enqueue(&at(bytes)) != Verdict::Pass);
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
        let mut red = made(&[Thresholds { high, low: None }], law);
        assert_eq!(red.threshold(0), None, "not in bytes");
        let queued = |queue_packets| Cx {
            queue_packets,
            ..cx()
        };
        (0..9).find(|&packets| red.on_enqueue(&queued(packets)) != Verdict::Pass)
    };
    assert_eq!(
        [1, 2, 3].map(|packets| first(&law, packets)),
        [Some(2), Some(2), Some(3)]
    );
    let law = Law {
        short_queue: ShortQueue::Mark,
        ..law
    };
    assert_eq!(
        [0, 1, 2].map(|packets| first(&law, packets)),
        [Some(0), Some(1), Some(2)]
    );
    let law = Law {
        reading: Reading::Inclusive,
        ..law
    };
    assert_eq!(
        [1, 2, 3].map(|packets| first(&law, packets)),
        [Some(0), Some(1), Some(2)]
    );
}

#[test]
fn a_short_queue_counts_the_packet_itself_if_the_reading_does() {
    let law = Law {
        short_queue: ShortQueue::Pass,
        ..STEP
    };
    let mut red = made(&thresholds(None, 0), &law);
    let mut marked = |queue_packets| {
        red.on_enqueue(&Cx {
            queue_packets,
            ..cx()
        }) != Verdict::Pass
    };
    assert_eq!([marked(0), marked(1)], [false, true]);
}

#[test]
fn the_probability_rises_between_the_thresholds() {
    let half = ratio(1, 2);
    let law = Law {
        max_probability: half,
        reading: Reading::Exclusive,
        ..STEP
    };
    let hits = |law: &Law, bytes| {
        let mut red = made(&thresholds(1_000, 3_000), law);
        let hit = |_: &i32| red.on_enqueue(&at(bytes)) != Verdict::Pass;
        (0..10_000).filter(hit).count()
    };
    assert_eq!(
        [999, 1_000, 3_001].map(|bytes| hits(&law, bytes)),
        [0, 0, 10_000]
    );
    assert!(hits(&law, 2_000).abs_diff(2_500) < 200);
    assert!(hits(&law, 3_000).abs_diff(5_000) < 200);
    let law = Law {
        compare: Compare::AtLeast,
        ..law
    };
    assert!(hits(&law, 2_999).abs_diff(5_000) < 200);
    assert_eq!(hits(&law, 3_000), 10_000);
}

/// The gaps between marks of `spread` at a steady length, in packets of `len` bytes.
fn gaps(spread: Spread, chance: Chance, len: u32) -> Vec<u32> {
    let mut rng = Rng::new(1, 1);
    let mut count = spread.after_a_mark();
    let gap = |_| {
        let mut gap = 1;
        while !spread.draw(chance, &mut count, len, &mut rng) {
            gap += 1;
        }
        gap
    };
    (0..7_000).map(gap).collect()
}

#[test]
fn marks_counted_in_packets_are_evenly_spread() {
    // With p = 1/8, the gap is each of 1 to 7 with 1/7: p / (1 − 7·p) = 1.
    let gaps = gaps(Spread::Packets, CERTAIN / 8, 1500);
    assert_eq!(gaps.iter().max(), Some(&7));
    for gap in 1..=7 {
        let seen = gaps.iter().filter(|&&other| other == gap).count();
        assert!(seen.abs_diff(1_000) < 120, "{gap}: {seen}");
    }
}

#[test]
fn marks_by_themselves_have_no_longest_gap() {
    let gaps = gaps(Spread::Alone, CERTAIN / 8, 1500);
    let mean = gaps.iter().sum::<u32>() / 700;
    assert!((75..85).contains(&mean), "{mean} tenths");
    assert!(gaps.iter().max() > Some(&30));
}

#[test]
fn marks_counted_in_bytes_are_evenly_spread_over_bytes() {
    // With p = 1/8 a packet of 8000 bytes and packets of 1000: after k − 1 without a mark, the next
    // is marked with 1/(64 − k), and for certain at k = 56, where p / (1 − c·p) = 1. So each gap up
    // to 55 has 1/63, and 56 has the remaining 8/63 of 7000: 889.
    let gaps = gaps(Spread::Bytes { mean: 8_000 }, CERTAIN / 8, 1_000);
    let seen = |range: core::ops::Range<u32>| gaps.iter().filter(|gap| range.contains(gap)).count();
    assert_eq!(gaps.iter().max(), Some(&56));
    assert!(seen(56..57).abs_diff(889) < 120);
    // Nine gaps of 1/63 each: 1000.
    assert!(seen(1..10).abs_diff(1_000) < 120);
    assert!(seen(40..49).abs_diff(1_000) < 120);
}

#[test]
fn a_large_packet_is_marked_more_often() {
    // One packet of 7000 bytes: 7000·p / (8000 − 7000·p) = 875/7125 of 10 000: 1228.
    let spread = Spread::Bytes { mean: 8_000 };
    let mut rng = Rng::new(1, 1);
    let hits = (0..10_000).filter(|_| spread.draw(CERTAIN / 8, &mut 0, 7_000, &mut rng));
    assert!(hits.count().abs_diff(1_228) < 120);
    // All that is left of the probability: 56 000 bytes.
    assert!((0..1_000).all(|_| spread.draw(CERTAIN / 8, &mut 49_000, 7_000, &mut rng)));
}

#[test]
fn the_count_starts_anew_after_a_mark_and_below_the_ramp() {
    let count_after = |correction, lengths: &[u32]| {
        let law = Law {
            correction,
            // Never drawn, so that only the count changes.
            max_probability: Ratio::ZERO,
            reading: Reading::Exclusive,
            ..STEP
        };
        let mut red = made(&thresholds(1_000, 3_000), &law);
        for &length in lengths {
            red.on_enqueue(&at(length));
        }
        red.special.unwrap().slots[0].count
    };
    let packets = |lengths| count_after(Correction::Packets, lengths);
    assert_eq!(
        packets(&[2_000, 1_000]),
        2,
        "the lower threshold is between them"
    );
    assert_eq!(packets(&[2_000, 999]), 0);
    assert_eq!(packets(&[2_000, 3_001]), 1);
    assert_eq!(count_after(Correction::None, &[2_000, 3_001]), 0);

    let mut rng = Rng::new(1, 1);
    let mut bytes = 5_000;
    let spread = Spread::Bytes { mean: 9_000 };
    assert!(!spread.draw(0, &mut bytes, 1_500, &mut rng));
    assert_eq!(bytes, 0, "the lower threshold is below");
    assert!(!spread.draw(1, &mut bytes, 1_500, &mut rng));
    assert_eq!(bytes, 1_500);
    assert!(spread.draw(CERTAIN, &mut bytes, 1_500, &mut rng));
    assert_eq!(bytes, 0);
    assert_eq!(count_after(Correction::Bytes, &[3_001]), 0);
}

#[test]
fn extreme_counts_do_not_overflow() {
    let mut rng = Rng::new(1, 1);
    let mut count = u64::MAX - 1;
    assert!(Spread::Packets.draw(CERTAIN, &mut count, 1, &mut rng));
    let mut count = u64::MAX;
    let spread = Spread::Bytes { mean: u32::MAX };
    assert!(spread.draw(CERTAIN, &mut count, u32::MAX, &mut rng));
}

fn averages(weight: Ratio) -> Averages {
    let law = Law {
        average_weight: Some(weight),
        ..STEP
    };
    Averages::new(&law, &site(1), 1).unwrap()
}

#[test]
fn an_average_moves_by_its_weight() {
    let mut averages = averages(ratio(1, 4));
    let mut average = |sample| {
        averages.take(0, false, sample, Time::ZERO);
        averages.length(0)
    };
    // 0.25 · 1000 = 250; 0.75 · 250 + 0.25 · 2000 = 687.5; 0.75 · 687.5 = 515.625.
    assert_eq!(average(1_000), 250 << 24);
    assert_eq!(average(2_000), 1_375 << 23);
    assert_eq!(average(0), 4_125 << 21);
}

#[test]
fn an_average_decays_by_the_packets_that_an_idle_link_could_have_sent() {
    // A packet of 1500 bytes takes 1.2 µs at 10 Gb/s.
    let decayed = |idle: Span| {
        let mut averages = averages(ratio(1, 2));
        averages.take(0, false, 16_000, Time::ZERO);
        let empty = Time::from_us(7);
        averages.start_idling(0, empty);
        averages.take(0, true, 1_500, empty + idle);
        averages.length(0) >> Average::SHIFT
    };
    let idle = [0, 1_199, 1_200, 2_399, 3_600].map(|ns| decayed(Span::from_ns(ns)));
    assert_eq!(idle, [8_000, 8_000, 4_000, 4_000, 1_000]);
    assert_eq!(decayed(Span::MAX), 0);
}

#[test]
fn an_average_decays_once_per_idle_time() {
    let mut averages = averages(ratio(1, 2));
    averages.take(0, false, 16_000, Time::ZERO);
    averages.start_idling(0, Time::ZERO);
    for _ in 0..3 {
        // The pool of another port may be found empty again without a departure here.
        averages.take(0, true, 0, Time::from_ns(1_200));
    }
    assert_eq!(averages.length(0), 4_000 << 24);
}

#[test]
fn an_average_is_compared_exactly() {
    let law = Law {
        average_weight: Some(ratio(1, 2)),
        reading: Reading::Exclusive,
        ..STEP
    };
    let marked = |law: &Law, samples: &[u32]| {
        let mut red = made(&thresholds(None, 1_000), law);
        assert_eq!(red.threshold(0), Some(1_000));
        let verdicts = samples
            .iter()
            .map(|&bytes| red.on_enqueue(&at(bytes)) != Verdict::Pass);
        verdicts.collect::<Vec<_>>()
    };
    // The average is 1000, then 1000.5: half a byte above the threshold.
    assert_eq!(marked(&law, &[2_000, 1_001]), [false, true]);
    let law = Law {
        compare: Compare::AtLeast,
        ..law
    };
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
    let later = |ns, queue_bytes| Cx {
        now: Time::from_ns(ns),
        ..at(queue_bytes)
    };
    assert_eq!(
        red.on_enqueue(&later(0, 4_000)),
        Verdict::Pass,
        "2000, decided at departure"
    );
    let mark = Verdict::Mark(Rule::QueueLength);
    assert_eq!(
        red.on_dequeue(&later(0, 1_500)),
        mark,
        "not idle, and not a sample"
    );
    assert_eq!(red.on_dequeue(&later(1_000, 0)), mark);
    red.on_enqueue(&later(2_200, 0));
    let slots = |red: &Red<Queue>| {
        red.special
            .as_ref()
            .unwrap()
            .averages
            .as_ref()
            .unwrap()
            .length(0)
    };
    assert_eq!(slots(&red), 1_000 << 24, "one packet time idle");
    assert_eq!(red.on_dequeue(&later(2_200, 0)), Verdict::Pass);
}

#[test]
fn powers_agree_with_floating_point() {
    for weight in [ratio(1, 512), ratio(1, 2), ratio(1, 1_000_000)] {
        let keep = averages(weight).keep;
        for exponent in [0, 1, 2, 3, 10, 1_000, 65_537] {
            let base = 1.0 - f64::from(weight.numerator()) / f64::from(weight.denominator());
            let expected = base.powi(i32::try_from(exponent).unwrap());
            let got = power(keep, exponent) as f64 / ONE as f64;
            assert!(
                (got - expected).abs() < 1e-11,
                "{weight} {exponent}: {got} {expected}"
            );
        }
    }
    assert_eq!(power(ONE - 1, u64::MAX), 0, "each step loses a little");
    assert_eq!(
        [power(0, 0), power(0, 1), power(ONE, u64::MAX)],
        [ONE, 0, ONE]
    );
}

#[test]
fn a_queue_that_does_not_exist_is_never_marked() {
    let rise = Law {
        average_weight: Some(Ratio::ONE),
        ..STEP
    };
    for law in [STEP, rise] {
        let mut red = made(&thresholds(None, 0), &law);
        let stranger = Cx {
            queue: tidegate_units::QueueId(1),
            ..at(u32::MAX)
        };
        assert_eq!(red.on_enqueue(&stranger), Verdict::Pass);
        assert_eq!(
            red.on_dequeue(&Cx {
                queue_bytes: 0,
                ..stranger
            }),
            Verdict::Pass
        );
        assert_eq!(red.threshold(1), None);
        red.set_threshold(1, 5);
        assert_eq!(red.threshold(0), Some(0));
    }
}

#[test]
fn the_largest_lengths_do_not_overflow() {
    for form in [
        STEP,
        Law {
            average_weight: Some(Ratio::ONE),
            ..STEP
        },
    ] {
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
        match Red::<S>::new(thresholds, law, &site(1)) {
            Err(ConfigError::OutOfRange { field, .. }) => Some(field),
            _ => None,
        }
    }
    let step = thresholds(None, 3_000);
    let error = |law: &Law| field::<Queue>(&step, law);
    let weight = |weight| Law {
        average_weight: Some(weight),
        ..STEP
    };
    assert_eq!(error(&weight(Ratio::ZERO)), Some("average_weight"));
    assert_eq!(error(&weight(ratio(3, 2))), Some("average_weight"));
    assert_eq!(
        error(&Law {
            packet_size: 0,
            ..STEP
        }),
        Some("packet_size")
    );
    assert_eq!(
        error(&Law {
            mean_packet: 0,
            ..STEP
        }),
        Some("mean_packet")
    );
    assert_eq!(
        error(&Law {
            max_probability: ratio(3, 2),
            ..STEP
        }),
        Some("max_probability")
    );
    let packets = Law {
        unit: Unit::Packets,
        ..STEP
    };
    assert_eq!(
        error(&packets),
        Some("threshold"),
        "3000 bytes are no packets"
    );
    let pass = Law {
        short_queue: ShortQueue::Pass,
        ..STEP
    };
    assert_eq!([error(&pass), field::<Port>(&step, &pass)], [None, None]);
    assert_eq!(field::<Pool>(&step, &packets), Some("unit"));
    assert_eq!(field::<Pool>(&step, &pass), Some("short_queue"));
    assert_eq!(
        field::<Queue>(&thresholds(3_001, 3_000), &STEP),
        Some("min_threshold")
    );
    assert_eq!(
        field::<Queue>(&thresholds(None, 1 << 32), &STEP),
        Some("threshold")
    );
    assert_eq!(
        field::<Queue>(&thresholds(1 << 32, 3_000), &STEP),
        Some("min_threshold")
    );
}
