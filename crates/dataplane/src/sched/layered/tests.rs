use alloc::string::ToString;
use alloc::vec;

use tidegate_units::Rng;

use super::*;
use crate::sched::testing::Bench;
use crate::sched::{dwrr, pifo, wfq, wrr};

fn config(strict: u8, groups: &[u8], quanta: &[u32]) -> Config<dwrr::Config> {
    Config {
        levels: Levels { strict, groups: groups.to_vec() },
        inner: dwrr::Config { quanta: quanta.to_vec() },
    }
}

#[test]
fn strict_queues_go_first_and_the_rest_in_turns() {
    let mut bench = Bench::new(config(2, &[], &[1000, 1000]).build().unwrap());
    for (id, queue) in [(1, 2), (2, 2), (3, 3), (4, 1), (5, 0), (6, 1)] {
        bench.enqueue(id, queue, 1000);
    }
    assert_eq!(bench.drain(), [5, 4, 6, 1, 3, 2]);
}

#[test]
fn turns_name_queues_by_their_number_at_the_port() {
    let mut bench = Bench::new(config(1, &[2, 1], &[1000, 1000, 500]).build().unwrap());
    for (id, queue, len) in [(1, 2, 1000), (2, 2, 1000), (3, 1, 1000), (4, 3, 500), (5, 0, 9)] {
        bench.enqueue(id, queue, len);
    }
    assert_eq!(bench.turns(), ["2 joined", "1 joined", "3 joined"]);
    assert_eq!([bench.dequeue(), bench.dequeue()], [5, 1]);
    assert!(bench.turns().is_empty());
    assert_eq!(bench.dequeue(), 3);
    assert_eq!(bench.turns(), ["2 ended", "1 emptied 1000"]);
    assert_eq!([bench.dequeue(), bench.dequeue()], [2, 4]);
    assert_eq!(bench.turns(), ["2 emptied 1000", "3 emptied 500"]);
}

#[test]
fn service_of_higher_levels_keeps_the_state_below() {
    let mut bench = Bench::new(config(1, &[], &[1500, 1500]).build().unwrap());
    for (id, queue, len) in [(1, 1, 1000), (2, 1, 500), (3, 2, 1500), (4, 1, 1)] {
        bench.enqueue(id, queue, len);
    }
    assert_eq!(bench.dequeue(), 1);
    bench.enqueue(9, 0, 9000);
    // 500 bytes of queue 1's turn are left.
    assert_eq!(bench.drain(), [9, 2, 3, 4]);
}

#[test]
fn groups_are_served_in_order_of_importance() {
    let mut bench = Bench::new(config(0, &[1, 2], &[100, 100, 100]).build().unwrap());
    for (id, queue) in [(1, 2), (2, 1), (3, 0), (4, 0), (5, 2)] {
        bench.enqueue(id, queue, 100);
    }
    assert_eq!(bench.drain(), [3, 4, 1, 2, 5]);
}

#[test]
fn each_group_has_rounds_of_its_own_and_strict_queues_none() {
    let layered = config(1, &[1, 2], &[10, 20, 30]).build().unwrap();
    let round = |group, quantum| Some(Round { group, quantum });
    assert_eq!(
        [0, 1, 2, 3, 4].map(|queue| layered.round(QueueId(queue))),
        [None, round(0, 10), round(1, 20), round(1, 30), None]
    );
    assert_eq!(layered.queues(), 4);
}

#[test]
fn groups_under_fair_queueing_have_no_rounds() {
    let layered = Config::<wfq::Config>::default().build().unwrap();
    assert_eq!([0, 1].map(|queue| layered.round(QueueId(queue))), [None; 2]);
}

/// Drives a scheduler of three queues and one whose only group has the same parameters, at random.
fn assert_same_order(inner: impl Divide) {
    let levels = Levels { strict: 0, groups: vec![3] };
    let mut plain = Bench::new(inner.build().unwrap());
    let mut layered = Bench::new(Config { levels, inner }.build().unwrap());
    let mut rng = Rng::new(1, 0);
    for id in 0..2_000 {
        // Queues go idle and come back.
        if rng.next_u32().is_multiple_of(3) || plain.port.packets() > 8 {
            while plain.port.packets() > rng.next_u32() % 4 {
                assert_eq!(plain.dequeue(), layered.dequeue());
            }
        }
        let (queue, len) = ((rng.next_u32() % 3) as u8, 64 + rng.next_u32() % 1_437);
        plain.enqueue(id, queue, len);
        layered.enqueue(id, queue, len);
    }
    assert_eq!(plain.drain(), layered.drain());
}

#[test]
fn one_group_is_served_like_a_port_without_levels() {
    for clock in [wfq::Clock::Authors, wfq::Clock::Scfq] {
        assert_same_order(wfq::Config { weights: vec![1, 2, 5], clock, ..wfq::Config::default() });
    }
    let quanta = vec![1_500, 3_000, 7_500];
    for order in [wrr::Order::ActiveList, wrr::Order::Cyclic] {
        let quanta = quanta.clone();
        assert_same_order(wrr::Config { quanta, order });
    }
    assert_same_order(dwrr::Config { quanta });
}

#[test]
fn wrr_groups_have_rounds() {
    let mut config = Config::<wrr::Config>::default();
    config.set("quanta", "1500, 3000").unwrap();
    let layered = config.build().unwrap();
    let round = |quantum| Some(Round { group: 0, quantum });
    assert_eq!(
        [0, 1, 2].map(|queue| layered.round(QueueId(queue))),
        [None, round(1_500), round(3_000)]
    );
}

#[test]
fn ranked_packets_wait_below_strict_queues() {
    let config = Config {
        levels: Levels { strict: 1, groups: vec![1, 2] },
        inner: pifo::Config { rank: pifo::RankFunction::Srpt, weights: vec![1; 3] },
    };
    let mut bench = Bench::new(config.build().unwrap());
    let is_ranked = [0, 1, 3, 4].map(|queue| bench.port.scheduler().is_ranked(QueueId(queue)));
    assert_eq!(is_ranked, [false, true, true, false], "queue 3 does not exist");
    for (id, queue, left) in [(1, 3, 7), (2, 2, 5), (3, 3, 4), (4, 1, 9), (5, 1, 8), (6, 0, 99)] {
        bench.enqueue_ranked(id, queue, 100, left);
    }
    assert_eq!(bench.drain(), [6, 5, 4, 3, 2, 1]);
    bench.enqueue(7, 2, 100);
    assert_eq!(bench.drain(), [7]);
}

#[test]
fn a_group_can_be_first_come_first_served() {
    let mut config = Config::<pifo::Config>::default();
    for (field, text) in [("groups", "2, 2"), ("weights", "1, 1, 1, 1"), ("rank", "lstf")] {
        config.set(field, text).unwrap();
    }
    let mut bench = Bench::new(config.build().unwrap());
    for (id, queue) in [(1, 4), (2, 2), (3, 3), (4, 1), (5, 0), (6, 2)] {
        bench.now = Time::from_us(u64::from(id));
        bench.enqueue(id, queue, 100);
    }
    assert_eq!(bench.drain(), [5, 2, 4, 6, 1, 3]);
}

#[test]
fn fair_queueing_and_round_robin_fit_inside() {
    let mut wfq = Config::<wfq::Config>::default();
    wfq.set("weights", "1, 3").unwrap();
    wfq.set("clock", "scfq").unwrap();
    let mut bench = Bench::new(wfq.build().unwrap());
    for (id, queue) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 2), (6, 0)] {
        bench.enqueue(id, queue, 1500);
    }
    assert_eq!(bench.drain(), [6, 3, 4, 1, 5, 2]);
    let mut wrr = Config::<wrr::Config>::default();
    wrr.set("quanta", "100, 100").unwrap();
    let mut bench = Bench::new(wrr.build().unwrap());
    bench.enqueue(1, 2, 100);
    assert_eq!(bench.dequeue(), 1);
    assert_eq!(bench.turns(), ["2 joined", "1 skipped", "2 emptied 100"]);
}

#[test]
fn the_fields_of_both_levels_can_be_set() {
    let names = |fields: &[Field]| fields.iter().map(|field| field.name).collect::<Vec<_>>();
    assert_eq!(
        names(Config::<wfq::Config>::FIELDS),
        ["strict", "groups", "weights", "clock", "division"]
    );
    let mut config = Config::<wfq::Config>::default();
    for (field, text) in [("strict", "2"), ("groups", "1, 3"), ("division", "integer")] {
        config.set(field, text).unwrap();
        assert_eq!(config.value(field).as_deref(), Some(text));
    }
    assert_eq!(config.value("quanta"), None);
    assert_eq!(
        config.set("quanta", "1").unwrap_err().to_string(),
        "there is no setting `quanta`; known: strict, groups, weights, clock, division"
    );
    assert!(config.set("strict", "x").unwrap_err().to_string().starts_with("strict: `x`"));
    assert!(config.set("clock", "x").unwrap_err().to_string().starts_with("clock: `x`"));
}

#[test]
fn impossible_levels_are_named() {
    let error = |strict, groups: &[u8], quanta: &[u32]| {
        let built = config(strict, groups, quanta).build();
        built.map(|layered| layered.queues()).map_err(|error| error.to_string())
    };
    assert_eq!(error(0, &[], &[1]), Ok(1));
    assert_eq!(error(100, &[], &[1; 28]), Ok(128));
    assert_eq!(
        error(100, &[], &[1; 29]).unwrap_err(),
        "strict = 100 is out of range; allowed: at most 128 queues together with the groups'"
    );
    for groups in [&[2, 2][..], &[1], &[0, 3], &[255, 4]] {
        let message = error(1, groups, &[1; 3]).unwrap_err();
        assert!(message.starts_with("groups = "), "{message}");
        assert!(message.ends_with("allowed: 1 or more queues each, 3 in all"));
    }
    assert!(error(1, &[], &[0]).unwrap_err().starts_with("quanta = 0 "));
    assert!(error(1, &[], &[]).unwrap_err().starts_with("quanta = 0 queues"));
}
