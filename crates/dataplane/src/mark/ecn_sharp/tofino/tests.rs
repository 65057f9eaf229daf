use alloc::vec::Vec;

use tidegate_units::Rng;

use super::*;

fn pipeline() -> Pipeline {
    Pipeline::new(Span::from_ps(1_024_000 * 200), 2).unwrap()
}

#[test]
fn each_register_is_accessed_once_per_packet() {
    let mut pipeline = pipeline();
    let mut rng = Rng::new(1, 0);
    let (mut now, mut marks) = (Time::from_us(1), 0);
    for packet in 1..=20_000 {
        now += Span::from_ns(u64::from(rng.next_u32() % 20_000));
        // Below the target about once in a hundred packets, so that all actions occur.
        let is_below = rng.next_u32().is_multiple_of(100);
        marks += u32::from(pipeline.mark(QueueId(1), now, is_below));
        let queue = &pipeline.queues[1];
        let accesses = [
            pipeline.clock_low.accesses,
            pipeline.clock_high.accesses,
            queue.first_above.accesses,
            queue.marking_state.accesses,
            queue.schedule.accesses,
        ];
        assert_eq!(accesses, [packet; 5]);
    }
    assert!((1_000..19_000).contains(&marks), "{marks}");
    assert_eq!(pipeline.queues[0].schedule.accesses, 0);
}

fn emulated(pipeline: &mut Pipeline, ns: u64) -> u32 {
    clock(pipeline.clock_low.open(), pipeline.clock_high.open(), Time::from_ns(ns))
}

#[test]
fn the_clock_counts_ticks_across_the_wraps_that_packets_see() {
    let mut pipeline = pipeline();
    let mut tick = |ns| emulated(&mut pipeline, ns);
    assert_eq!([tick(0), tick(1023), tick(1024), tick(1024)], [0, 0, 1, 1]);
    let wrap = 1 << 32;
    assert_eq!(tick(wrap - 1), (1 << 22) - 1);
    assert_eq!(tick(wrap), 1 << 22);
    assert_eq!(tick(wrap + 5 * 1024), (1 << 22) + 5);
    // A silent wrap that ends later in the cycle is not seen.
    assert_eq!(tick(2 * wrap + 6 * 1024), (1 << 22) + 6);
    // A silence that ends earlier in the cycle is seen as one wrap, however many there were.
    assert_eq!(tick(5 * wrap), 2 << 22);
}

#[test]
fn the_clock_wraps_after_2_to_the_32_ticks() {
    let mut pipeline = pipeline();
    let mut last = 0;
    for half in 0..2048_u64 {
        last = emulated(&mut pipeline, (half << 31) + 2048);
        assert_eq!(u64::from(last), ((half << 31) + 2048) >> 10);
    }
    assert_eq!(last, (1023 << 22) + (1 << 21) + 2);
    assert_eq!(emulated(&mut pipeline, 2048 << 31), 0);
}

#[test]
fn marks_follow_algorithm_1_in_ticks() {
    let mut pipeline = pipeline();
    let marked: Vec<u64> = (1000..1700)
        .filter(|tick| pipeline.mark(QueueId(0), Time::from_ns(tick * 1024), false))
        .collect();
    // Detected after more than 200 ticks; then after more than 200, 100, 67, 50, 40 and 33 ticks.
    assert_eq!(marked[..7], [1201, 1402, 1502, 1569, 1619, 1659, 1692]);
    assert!(!pipeline.mark(QueueId(0), Time::from_ns(1701 * 1024), true));
    assert!(!pipeline.mark(QueueId(0), Time::from_ns(1702 * 1024), false));
    assert!(!pipeline.mark(QueueId(0), Time::from_ns(1902 * 1024), false));
    assert!(pipeline.mark(QueueId(0), Time::from_ns(1903 * 1024), false));
    assert!(!pipeline.mark(QueueId(0), Time::from_ns(2103 * 1024), false));
    assert!(pipeline.mark(QueueId(0), Time::from_ns(2104 * 1024), false));
}

#[test]
fn the_table_is_as_fine_as_127_allows() {
    let first = |interval| Divider::new(interval).unwrap().table()[8];
    // 509 / 8 = 63.6 and 1017 / 16 = 63.6 round up to 64.
    assert_eq!([508, 509, 1016, 1017, 2032, 2033].map(first), [127, 64, 127, 64, 127, 64]);
    assert_eq!(Divider::new(1).unwrap().scale(), -6);
}

#[test]
fn the_table_divides_1000_and_200_as_worked_out() {
    let cases: [(u32, i32, [u8; 8], [u32; 8]); 2] = [
        (1000, 3, [125, 112, 100, 91, 84, 77, 72, 67], [1000, 500, 336, 250, 200, 168, 144, 125]),
        // 67 / 2 = 33.5 is rounded down.
        (200, 1, [100, 89, 80, 73, 67, 62, 58, 54], [200, 100, 67, 50, 40, 33, 29, 25]),
    ];
    for (interval, scale, table, quotients) in cases {
        let divider = Divider::new(interval).unwrap();
        assert_eq!(divider.table()[..8], [0; 8]);
        assert_eq!(divider.table()[8..], table);
        assert_eq!(divider.scale(), scale);
        assert_eq!([1, 2, 3, 4, 5, 6, 7, 8].map(|count| divider.divide(count)), quotients);
    }
}

/// The quotient before it is rounded, and the count's true one.
fn quotients(divider: &Divider, count: u32) -> (f64, f64) {
    let magnitude = count.ilog2();
    let index = (u64::from(count) << 3 >> magnitude) as usize;
    let power = 2_f64.powi(divider.scale() - magnitude.cast_signed());
    (f64::from(divider.table[index]) * power, f64::from(divider.interval) / f64::from(count))
}

#[test]
#[expect(clippy::cast_sign_loss, reason = "quotients are positive")]
fn quotients_are_never_too_small_and_at_most_12_4_percent_too_large() {
    for interval in [200, 1000] {
        let divider = Divider::new(interval).unwrap();
        let mut worst = 0.0_f64;
        for count in 1..=2000 {
            let (quotient, exact) = quotients(&divider, count);
            assert!(quotient >= exact, "{interval} / {count}");
            assert_eq!(divider.divide(count), quotient as u32);
            worst = worst.max(quotient / exact - 1.0);
        }
        assert!((0.1240..0.1245).contains(&worst), "{interval}: {worst}");
    }
}

#[test]
#[expect(clippy::cast_sign_loss, reason = "quotients are positive")]
fn every_interval_is_divided_within_a_seventh() {
    let intervals = [1, 2, 7, 127, 195, 508, 509, 1016, 1017, 2032, 2033, 97_656, u32::MAX];
    for interval in intervals {
        let divider = Divider::new(interval).unwrap();
        assert!(divider.table().iter().all(|&entry| entry <= 127), "{interval}");
        assert!(divider.table()[8] >= 64, "{interval}: the table is scaled to its full width");
        for count in (1..5000).chain([1 << 31, u32::MAX]) {
            let (quotient, exact) = quotients(&divider, count);
            let error = quotient / exact - 1.0;
            assert!((-1e-12..1.0 / 7.0).contains(&error), "{interval} / {count}: {error}");
            assert_eq!(divider.divide(count), quotient as u32, "{interval} / {count}");
        }
    }
    assert_eq!(Divider::new(1000).unwrap().divide(0), 0);
    assert!(Divider::new(0).is_none());
    // 65 · 2^26 does not fit: ⌈2^32 / 2^23 / 8⌉ = 64 and a little.
    assert_eq!(Divider::new(u32::MAX).unwrap().divide(1), u32::MAX);
}
