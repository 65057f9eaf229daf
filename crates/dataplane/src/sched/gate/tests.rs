use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use tidegate_units::Rng;

use super::*;
use crate::sched::testing::Bench;
use crate::sched::{AnyScheduler, Config};

fn set(queues: &[u8]) -> QueueSet {
    let mut set = QueueSet::default();
    for &queue in queues {
        set.insert(QueueId(queue));
    }
    set
}

fn below(rng: &mut Rng, end: u32) -> u32 {
    rng.next_u32() % end
}

/// A scheduler of four queues.
fn scheduler(name: &str) -> AnyScheduler {
    let mut config = Config::named(name).unwrap();
    let strict = config.value("strict").is_some();
    let lists = if strict {
        ["1500, 3000, 1500", "1, 2, 1"]
    } else {
        ["1500, 3000, 1500, 700", "1, 2, 1, 3"]
    };
    for (field, text) in [("queues", "4"), ("quanta", lists[0]), ("weights", lists[1])] {
        if config.value(field).is_some() {
            config.set(field, text).unwrap();
        }
    }
    config.build().unwrap()
}

fn bench(name: &str) -> Bench<Gate<AnyScheduler>> {
    Bench::new(Gate::new(scheduler(name)))
}

#[test]
fn an_open_gate_changes_nothing() {
    for name in Config::NAMES {
        let mut plain = Bench::new(scheduler(name));
        let mut gated = bench(name);
        let mut rng = Rng::new(7, 0);
        for id in 0..2_000 {
            if below(&mut rng, 2) == 0 {
                let (queue, len) = (below(&mut rng, 4) as u8, 64 + below(&mut rng, 1437));
                plain.enqueue_ranked(id, queue, len, u64::from(id % 7));
                gated.enqueue_ranked(id, queue, len, u64::from(id % 7));
            } else if plain.port.packets() > 0 {
                assert_eq!(gated.departure(), plain.departure(), "{name}");
            }
            assert_eq!(gated.turns(), plain.turns(), "{name}");
        }
        assert_eq!(gated.drain(), plain.drain(), "{name}");
    }
}

/// For random pauses: no packet of a paused queue leaves, packets of other queues do, none is lost,
/// and each queue's packets stay in order.
#[test]
fn only_paused_queues_wait_under_every_scheduler() {
    for name in Config::NAMES {
        let mut bench = bench(name);
        let is_merged = bench.port.scheduler().is_merged();
        let mut rng = Rng::new(3, 1);
        let mut waiting = vec![VecDeque::new(); 4];
        let mut paused = QueueSet::default();
        for id in 0..20_000 {
            match below(&mut rng, 10) {
                0 => {
                    paused = QueueSet::default();
                    for queue in 0..4 {
                        if below(&mut rng, 3) == 0 {
                            paused.insert(QueueId(queue));
                        }
                    }
                    bench.port.pause(paused, bench.now);
                    if is_merged && !paused.is_empty() {
                        paused = QueueSet::first_queues(4);
                    }
                }
                1..=4 => {
                    let (queue, len) = (below(&mut rng, 4) as u8, 64 + below(&mut rng, 1437));
                    bench.enqueue(id, queue, len);
                    waiting[usize::from(queue)].push_back(id);
                }
                _ => {
                    let may_leave = (0..4_u8).any(|queue| {
                        !paused.contains(QueueId(queue)) && !waiting[usize::from(queue)].is_empty()
                    });
                    assert_eq!(bench.port.scheduler().is_blocked(), !may_leave, "{name}");
                    if may_leave {
                        let (id, queue, _) = bench.departure();
                        assert!(!paused.contains(QueueId(queue)), "{name}");
                        assert_eq!(waiting[usize::from(queue)].pop_front(), Some(id), "{name}");
                    } else {
                        assert!(bench.is_held(), "{name}");
                    }
                }
            }
        }
        bench.port.pause(QueueSet::default(), bench.now);
        let left: usize = waiting.iter().map(VecDeque::len).sum();
        assert_eq!(bench.drain().len(), left, "{name}");
    }
}

/// Queues of the next packets, all of 1500 bytes.
fn served(bench: &mut Bench<Gate<AnyScheduler>>, packets: usize) -> Vec<u8> {
    (0..packets).map(|_| bench.departure().1).collect()
}

#[test]
fn a_pause_accumulates_no_service() {
    for name in ["dwrr", "wfq", "wrr", "sp-dwrr", "sp-wfq", "sp-wrr"] {
        let mut config = Config::named(name).unwrap();
        for (field, text) in
            [("quanta", "1500, 1500, 1500"), ("weights", "1, 1, 1"), ("strict", "0")]
        {
            if config.value(field).is_some() {
                config.set(field, text).unwrap();
            }
        }
        let mut bench = Bench::new(Gate::new(config.build().unwrap()));
        for id in 0..300 {
            bench.enqueue(id, (id % 3) as u8, 1500);
        }
        bench.port.pause(set(&[1]), bench.now);
        let first = served(&mut bench, 60);
        assert_near(&first, [30, 0, 30], name);
        bench.port.pause(QueueSet::default(), bench.now);
        assert_near(&served(&mut bench, 60), [20, 20, 20], name);
    }
}

/// Asserts the number of packets served from each queue, give or take one: WFQ's stamps differ by
/// that much at the start.
fn assert_near(served: &[u8], expected: [usize; 3], name: &str) {
    for (queue, expected) in (0..3).zip(expected) {
        let packets: usize = served.iter().map(|&it| usize::from(it == queue)).sum();
        let is_near = packets.abs_diff(expected) <= usize::from(expected > 0);
        assert!(is_near, "{name}: {packets} of queue {queue}");
    }
}

#[test]
fn the_highest_priority_queue_that_is_not_paused_is_served() {
    let mut bench = bench("sp");
    for id in 0..8 {
        bench.enqueue(id, (id % 4) as u8, 100);
    }
    bench.port.pause(set(&[0, 2]), bench.now);
    assert_eq!(served(&mut bench, 3), [1, 1, 3]);
    bench.port.pause(set(&[1]), bench.now);
    assert_eq!(served(&mut bench, 5), [0, 0, 2, 2, 3]);
}

#[test]
fn a_packet_keeps_the_rank_of_its_arrival_through_a_pause() {
    let mut config = Config::named("pifo").unwrap();
    config.set("rank", "srpt").unwrap();
    config.set("weights", "1, 1").unwrap();
    let mut bench = Bench::new(Gate::new(config.build().unwrap()));
    bench.enqueue_ranked(1, 0, 100, 50);
    bench.enqueue_ranked(2, 1, 100, 40);
    bench.port.pause(set(&[1]), bench.now);
    bench.enqueue_ranked(3, 1, 100, 10);
    bench.enqueue_ranked(4, 0, 100, 60);
    assert_eq!(bench.dequeue(), 1);
    bench.port.pause(QueueSet::default(), bench.now);
    assert_eq!(bench.drain(), [3, 2, 4]);
}

#[test]
fn turns_report_withdrawal_and_return_of_a_queue() {
    let mut bench = bench("dwrr");
    for id in 0..4 {
        bench.enqueue(id, (id % 2) as u8, 1500);
    }
    bench.turns();
    bench.port.pause(set(&[0, 3]), bench.now);
    assert_eq!(bench.turns(), ["0 withdrawn"]);
    bench.port.pause(QueueSet::default(), bench.now);
    assert_eq!(bench.turns(), ["0 joined"]);
    // It is now behind the other one.
    assert_eq!(served(&mut bench, 1), [1]);
}

/// Stamps: 1000, 2000 and 3000 for queue 0; 1500 for queue 1 and, after the pause, 1500 more than
/// the packet in service, which had 1000.
#[test]
fn scfq_stamps_a_resumed_queue_behind_the_packet_in_service() {
    for (name, strict) in [("wfq", None), ("sp-wfq", Some("0"))] {
        let mut config = Config::named(name).unwrap();
        config.set("weights", "1, 1").unwrap();
        config.set("clock", "scfq").unwrap();
        if let Some(strict) = strict {
            config.set("strict", strict).unwrap();
        }
        let mut bench = Bench::new(Gate::new(config.build().unwrap()));
        for (id, queue, len) in [(0, 0, 1000), (1, 0, 1000), (2, 0, 1000), (3, 1, 1500)] {
            bench.enqueue(id, queue, len);
        }
        assert_eq!(bench.dequeue(), 0, "{name}");
        bench.port.pause(set(&[1]), bench.now);
        bench.port.pause(set(&[]), bench.now);
        assert_eq!(bench.drain(), [1, 3, 2], "{name}");
    }
}
