use alloc::collections::VecDeque;
use alloc::string::ToString;
use alloc::vec::Vec;
use alloc::{format, vec};

use tidegate_units::Rng;

use super::testing::Bench;
use super::*;

/// One setup per scheduler and variant, with at least five queues and quanta of a full packet.
const SETUPS: &[(&str, &[(&str, &str)])] = &[
    ("dwrr", &[("quanta", "1500, 3000, 1500, 6000, 1500")]),
    ("fifo", &[("queues", "5")]),
    ("pifo", &[("weights", "1, 2, 3, 4, 5")]),
    ("pifo", &[("weights", "1, 1, 1, 1, 1"), ("rank", "srpt")]),
    ("pifo", &[("weights", "1, 1, 1, 1, 1"), ("rank", "lstf")]),
    ("sp", &[("queues", "5")]),
    ("sp", &[("queues", "5"), ("order", "highest-first")]),
    ("sp-dwrr", &[("quanta", "1500, 3000, 1500, 1500")]),
    ("sp-dwrr", &[("strict", "0"), ("groups", "2, 3"), ("quanta", "1500, 3000, 1500, 1500, 2000")]),
    ("sp-pifo", &[("weights", "1, 2, 3"), ("strict", "2")]),
    ("sp-wfq", &[("weights", "1, 2, 3, 4")]),
    ("sp-wrr", &[("quanta", "1500, 3000, 1500, 1500")]),
    ("wfq", &[("weights", "1, 2, 3, 4, 5")]),
    ("wfq", &[("weights", "1, 2, 3, 4, 5"), ("clock", "scfq")]),
    ("wfq", &[("weights", "1, 2, 3, 4, 5"), ("division", "integer")]),
    ("wrr", &[("quanta", "1500, 3000, 1500, 6000, 1500")]),
    ("wrr", &[("quanta", "1500, 3000, 1500, 6000, 1500"), ("order", "active-list")]),
];

fn configured(name: &str, fields: &[(&str, &str)]) -> Config {
    let mut config = Config::named(name).unwrap();
    for (field, text) in fields {
        config.set(field, text).unwrap();
    }
    config
}

#[test]
fn every_packet_leaves_once_in_order_and_the_link_never_waits() {
    for (name, fields) in SETUPS {
        for seed in 0..10 {
            let mut bench = Bench::new(configured(name, fields).build().unwrap());
            assert_eq!(bench.port.queues(), 5);
            let ranked = bench.port.scheduler().is_ranked(QueueId(4));
            let what = format!("{name} {fields:?} seed {seed}");
            let mut rng = Rng::new(seed, 3);
            let mut waiting: Vec<VecDeque<u32>> = vec![VecDeque::new(); 5];
            let leave = |bench: &mut Bench<AnyScheduler>, waiting: &mut Vec<VecDeque<u32>>| {
                let (id, queue, _) = bench.departure();
                let waiting = &mut waiting[usize::from(queue)];
                let place = waiting.iter().position(|&other| other == id).expect(&what);
                assert!(place == 0 || ranked, "{what}: {id} left out of order");
                waiting.remove(place);
            };
            for id in 0..500 {
                bench.now = Time::from_us(u64::from(id));
                let queue = (rng.next_u32() % 5) as u8;
                let (len, rank) = (64 + rng.next_u32() % 1437, u64::from(rng.next_u32() % 99));
                bench.enqueue_ranked(id, queue, len, rank);
                waiting[usize::from(queue)].push_back(id);
                while bench.port.packets() > 0 && rng.next_u32() % 10 < 5 {
                    leave(&mut bench, &mut waiting);
                }
            }
            while bench.port.packets() > 0 {
                leave(&mut bench, &mut waiting);
            }
            assert!(waiting.iter().all(VecDeque::is_empty), "{what}");
        }
    }
}

#[test]
fn passing_through_equals_arrival_pick_and_departure() {
    for (name, fields) in SETUPS {
        let mut passed = configured(name, fields).build().unwrap();
        if passed.ranks_packets() {
            continue;
        }
        let mut stored = passed.clone();
        let mut rng = Rng::new(7, 0);
        let mut turns = [const { Vec::new() }; 2];
        let [first, second] = &mut turns;
        for round in 0..300 {
            let now = Time::from_us(round);
            // Up to three quanta: a packet above one quantum takes several turns.
            let mut packet = || (QueueId((rng.next_u32() % 5) as u8), 1 + rng.next_u32() % 4_500);
            for _ in 0..3 {
                let (queue, len) = packet();
                passed.on_pass(queue, len, now, |turn| first.push(*turn));
                pass_through(&mut stored, queue, len, now, |turn| second.push(*turn));
            }
            // Later packets are served alike: one in each queue, and a second one in some.
            let heads = [(); 5].map(|()| packet().1);
            let mut behind = [(); 5].map(|()| (packet().0.0 < 2).then(|| packet().1));
            for (queue, len) in (0..).map(QueueId).zip(heads) {
                passed.on_active(queue, len, now, |turn| first.push(*turn));
                stored.on_active(queue, len, now, |turn| second.push(*turn));
            }
            let mut waiting = 5;
            while waiting > 0 && *name != "fifo" {
                let pick = passed.pick(now, |turn| first.push(*turn));
                let other = stored.pick(now, |turn| second.push(*turn));
                assert_eq!(pick, other, "{name} {fields:?}");
                let (queue, len) = (pick.queue, heads[pick.queue.index()]);
                let next = behind[queue.index()].take();
                waiting -= usize::from(next.is_none());
                passed.on_departed(queue, len, next, now, |turn| first.push(*turn));
                stored.on_departed(queue, len, next, now, |turn| second.push(*turn));
            }
        }
        assert_eq!(turns[0], turns[1], "{name} {fields:?}");
    }
}

#[test]
fn no_queue_waits_longer_than_one_turn_of_every_other() {
    const QUANTA: [u64; 5] = [1500, 3000, 1500, 6000, 1500];
    for (name, fields) in SETUPS {
        if !["dwrr", "wrr"].contains(name) {
            continue;
        }
        for seed in 0..10 {
            let mut bench = Bench::new(configured(name, fields).build().unwrap());
            let mut rng = Rng::new(seed, 4);
            // Bytes sent to others while the queue's head waited.
            let mut waited = [0_u64; 5];
            for id in 0..4000 {
                bench.enqueue(id, (rng.next_u32() % 5) as u8, 64 + rng.next_u32() % 1437);
                if rng.next_u32() % 50 < 2 {
                    continue;
                }
                let (_, served, len) = bench.departure();
                for queue in 0..5_u8 {
                    let held = bench.port.queue_stats(QueueId(queue)).unwrap().held_packets;
                    let index = usize::from(queue);
                    waited[index] = if queue == served || held == 0 {
                        0
                    } else {
                        waited[index] + u64::from(len)
                    };
                    // One turn sends at most the quantum and the rest of the previous one, which is
                    // less than a packet.
                    let others = QUANTA.iter().map(|quantum| quantum + 1500).sum::<u64>();
                    assert!(waited[index] <= others - QUANTA[index] - 1500, "{name} {seed}");
                }
            }
        }
    }
}

#[test]
fn every_scheduler_is_known_by_name() {
    for &name in Config::NAMES {
        let config = Config::named(name).unwrap();
        assert_eq!(config.name(), name);
        let scheduler = config.build().unwrap();
        assert!(scheduler.queues() >= 1, "{name}");
        assert!(SETUPS.iter().any(|setup| setup.0 == name), "{name} has no setup");
        for field in config.fields() {
            let text = config.value(field.name).expect(field.name);
            let mut same = config.clone();
            same.set(field.name, &text).unwrap();
            assert_eq!(same, config, "{name}.{}", field.name);
            assert!(!field.doc.is_empty());
        }
        assert_eq!(config.value("no_such"), None);
        assert!(config.clone().set("no_such", "1").is_err());
    }
    assert!(Config::NAMES.is_sorted());
    assert_eq!(Config::named("round-robin"), None);
}

#[test]
fn any_scheduler_reports_its_rounds() {
    let rounds = |name, fields: &[_]| {
        let scheduler = configured(name, fields).build().unwrap();
        [0, 1].map(|queue| scheduler.round(QueueId(queue)).map(|round| round.quantum))
    };
    assert_eq!(rounds("dwrr", &[("quanta", "10, 20")]), [Some(10), Some(20)]);
    assert_eq!(rounds("sp-dwrr", &[("quanta", "10, 20")]), [None, Some(10)]);
    assert_eq!(rounds("wfq", &[("weights", "1, 1")]), [None, None]);
    assert_eq!(rounds("fifo", &[("queues", "2")]), [None, None]);
}

#[test]
fn any_scheduler_reports_its_errors() {
    let config = configured("sp-wrr", &[("quanta", "0")]);
    assert_eq!(
        config.build().unwrap_err().to_string(),
        "quanta = 0 is out of range; allowed: 1 byte or more per queue"
    );
}

#[test]
fn any_scheduler_fits_a_cache_line() {
    assert!(size_of::<AnyScheduler>() <= 64, "{}", size_of::<AnyScheduler>());
    assert!(size_of::<Dwrr>() <= 24);
    assert_eq!(size_of::<Fifo>(), 1);
}
