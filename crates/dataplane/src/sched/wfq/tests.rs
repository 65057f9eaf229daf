use alloc::string::ToString;
use alloc::vec;

use tidegate_units::Rng;

use super::*;
use crate::sched::testing::Bench;

fn wfq(weights: &[u32], clock: Clock) -> Wfq {
    Config { weights: weights.to_vec(), clock, ..Config::default() }.build().unwrap()
}

const BOTH: [Clock; 2] = [Clock::Authors, Clock::Scfq];

#[test]
fn weights_are_checked() {
    let error = |weights, division| {
        let config = Config { weights, division, ..Config::default() };
        config.build().map(|wfq| wfq.queues()).map_err(|error| error.to_string())
    };
    let refused = |text: &str| Err(text.to_string());
    assert_eq!(error(vec![1, 65_535], Division::Exact), Ok(2));
    assert_eq!(error(vec![1, 64], Division::Integer), Ok(2));
    assert_eq!(
        error(vec![1, 0], Division::Exact),
        refused("weights = 0 is out of range; allowed: 1 to 65535 per queue")
    );
    assert_eq!(
        error(vec![65_536], Division::Exact),
        refused("weights = 65536 is out of range; allowed: 1 to 65535 per queue")
    );
    assert_eq!(
        error(vec![65], Division::Integer),
        refused("weights = 65 is out of range; allowed: 1 to 64 per queue")
    );
    assert_eq!(
        error(vec![1; 129], Division::Exact),
        refused("weights = 129 queues is out of range; allowed: 1 to 128 queues")
    );
}

#[test]
fn the_smallest_stamp_goes_first_and_the_lowest_queue_among_equal_ones() {
    // Stamps 1000 against 999, 1000 and 1001, all counted from the same V.
    for (len, order) in [(999, [2, 1]), (1000, [1, 2]), (1001, [1, 2])] {
        let mut bench = Bench::new(wfq(&[1, 1], Clock::Scfq));
        bench.enqueue(1, 0, 1000);
        bench.enqueue(2, 1, len);
        assert_eq!(bench.drain(), order, "{len}");
        assert!(bench.turns().is_empty());
    }
}

#[test]
fn the_authors_clock_stamps_a_new_queue_behind_every_head() {
    // Stamps in packets: queue 0 gets 1, 2, 3 …; queue 1 gets 2, 3; queue 2 gets 3.
    let mut bench = Bench::new(wfq(&[1; 3], Clock::Authors));
    for (id, queue) in [(1, 0), (2, 0), (3, 0), (4, 0), (5, 1), (6, 1), (7, 2)] {
        bench.enqueue(id, queue, 1000);
    }
    assert_eq!(bench.drain(), [1, 2, 5, 3, 6, 7, 4]);
}

#[test]
fn the_self_clock_stamps_a_new_queue_behind_the_packet_in_service() {
    let mut bench = Bench::new(wfq(&[1; 3], Clock::Scfq));
    for (id, queue) in [(1, 0), (2, 0), (3, 0), (4, 0), (5, 1), (6, 1), (7, 2)] {
        bench.enqueue(id, queue, 1000);
    }
    assert_eq!(bench.drain(), [1, 5, 7, 2, 6, 3, 4]);
}

#[test]
fn the_authors_clock_advances_only_to_the_largest_stamp() {
    let mut bench = Bench::new(wfq(&[1; 3], Clock::Authors));
    bench.enqueue(1, 0, 100); // stamp 100
    bench.enqueue(2, 0, 100);
    bench.enqueue(3, 1, 1000); // stamp 1100
    assert_eq!(bench.dequeue(), 1); // 2 gets 200, V stays 1100
    bench.enqueue(4, 2, 100); // stamp 1200
    bench.enqueue(5, 1, 150);
    assert_eq!(bench.dequeue(), 2);
    assert_eq!(bench.dequeue(), 3); // 5 gets 1250, V becomes 1250
    bench.enqueue(6, 0, 10); // stamp 1260
    assert_eq!(bench.drain(), [4, 5, 6]);
}

#[test]
fn weights_share_the_link() {
    // Queue 0 is stamped 1500, 3000, …; queue 1 is stamped 500, 1000, … or, with the authors'
    // clock, behind the first packet of queue 0: 2000, 2500, …
    for (clock, expected) in [(Clock::Scfq, [100, 300]), (Clock::Authors, [101, 299])] {
        let mut bench = Bench::new(wfq(&[1, 3], clock));
        for id in 0..800 {
            bench.enqueue(id, (id % 2) as u8, 1500);
        }
        let mut sent = [0; 2];
        for _ in 0..400 {
            sent[usize::from(bench.departure().1)] += 1;
        }
        assert_eq!(sent, expected, "{clock:?}");
    }
}

#[test]
fn integer_division_rounds_down_to_bytes() {
    // 1999 / 2 is 999.5: behind 999, but equal to it in whole bytes.
    let order = |division| {
        let config = Config { weights: vec![2, 1], clock: Clock::Scfq, division };
        let mut bench = Bench::new(config.build().unwrap());
        bench.enqueue(1, 0, 1999);
        bench.enqueue(2, 1, 999);
        bench.drain()
    };
    assert_eq!(order(Division::Exact), [2, 1]);
    assert_eq!(order(Division::Integer), [1, 2]);
    // The same for the packets behind: 1 + 1999/2 against 1 + 999.
    let order = |division| {
        let config = Config { weights: vec![2, 1], clock: Clock::Scfq, division };
        let mut bench = Bench::new(config.build().unwrap());
        for (id, queue, len) in [(1, 0, 2), (2, 0, 1999), (3, 1, 1), (4, 1, 999)] {
            bench.enqueue(id, queue, len);
        }
        bench.drain()
    };
    assert_eq!(order(Division::Exact), [1, 3, 4, 2]);
    assert_eq!(order(Division::Integer), [1, 3, 2, 4]);
}

#[test]
fn stamps_may_wrap() {
    for clock in BOTH {
        let mut rng = Rng::new(5, 0);
        let arrivals: Vec<(u8, u32)> =
            (0..2000).map(|_| ((rng.next_u32() % 4) as u8, 64 + rng.next_u32() % 1437)).collect();
        let order = |start: u64| {
            let mut wfq = wfq(&[1, 2, 3, 7], clock);
            wfq.virtual_time = start;
            let mut bench = Bench::new(wfq);
            let mut served = Vec::new();
            for (id, &(queue, len)) in (0..).zip(&arrivals) {
                bench.enqueue(id, queue, len);
                if id % 3 > 0 {
                    served.push(bench.dequeue());
                }
            }
            served.extend(bench.drain());
            served
        };
        // 2000 packets take a virtual time below 2^42.
        assert_eq!(order(0), order((1_u64 << 41).wrapping_neg()), "{clock:?}");
        assert_eq!(order(0), order((1 << 63) - (1 << 40)), "{clock:?}");
    }
}

#[test]
fn waiting_stamps_and_the_clock_stay_close() {
    // The widest spread: the longest packets, the smallest weight, queues active one by one.
    let mut wfq = wfq(&[1; 128], Clock::Authors);
    for queue in 0..128 {
        wfq.on_active(QueueId(queue), u32::MAX, Time::ZERO, |_| {});
    }
    let spread = wfq.virtual_time - wfq.queues[0].stamp;
    assert_eq!(spread, 127 * (u64::from(u32::MAX) << FRACTION));
    assert!(spread < 1 << 59);
    assert_eq!(wfq.pick(Time::ZERO, |_| {}), Pick::head(QueueId(0)));
}

#[test]
fn fair_queueing_has_no_rounds() {
    assert_eq!(wfq(&[1], Clock::Authors).round(QueueId(0)), None);
}
