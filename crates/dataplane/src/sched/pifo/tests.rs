use alloc::string::ToString;
use alloc::vec;

use tidegate_units::Rng;

use super::*;
use crate::sched::testing::Bench;

fn pifo(rank: RankFunction, weights: &[u32]) -> Pifo {
    let weights = weights.to_vec();
    Config { rank, weights }.build().unwrap()
}

/// STFQ at virtual time `start`.
fn stfq_at(start: u64, weights: &[u32]) -> Pifo {
    let mut pifo = pifo(RankFunction::Stfq, weights);
    for class in &mut pifo.classes {
        class.set_finish(start);
    }
    pifo
}

#[test]
fn weights_are_checked() {
    let error = |weights| {
        let rank = RankFunction::Lstf;
        Pifo::new(&Config { rank, weights }).unwrap_err().to_string()
    };
    assert_eq!(error(vec![0]), "weights = 0 is out of range; allowed: 1 to 65535 per queue");
    assert!(error(vec![1; 129]).contains("129 queues"));
    assert_eq!(pifo(RankFunction::Stfq, &[65_535; 128]).queues(), 128);
}

#[test]
fn the_smallest_remainder_goes_first_and_ties_go_by_arrival() {
    let mut bench = Bench::new(pifo(RankFunction::Srpt, &[1; 3]));
    for (id, queue, left) in [(1, 2, 500), (2, 2, 499), (3, 0, 501), (4, 1, 500), (5, 0, 500)] {
        bench.enqueue_ranked(id, queue, 100, left);
    }
    assert_eq!(bench.drain(), [2, 1, 4, 5, 3], "2 overtakes 1 in its own queue");
    bench.enqueue_ranked(6, 0, 100, u64::MAX);
    bench.enqueue_ranked(7, 0, 100, 1);
    bench.enqueue_ranked(8, 0, 100, 0);
    assert_eq!(bench.drain(), [8, 7, 6]);
    assert!(bench.turns().is_empty());
}

/// Of the flow with the fewest bytes left, the earliest packet leaves, although its rank is larger.
#[test]
fn pfabric_keeps_the_packets_of_a_flow_in_order() {
    let mut bench = Bench::new(pifo(RankFunction::Pfabric, &[1; 2]));
    let mut arrive = |id, flow, queue, left| bench.enqueue_of_flow(id, FlowId(flow), queue, left);
    for (id, flow, queue, left) in [
        (1, 7, 0, 500),
        (2, 8, 1, 450),
        (3, 7, 0, 400),
        (4, 8, 1, 300),
        (5, 9, 0, 350),
        (6, 7, 1, 350),
    ] {
        arrive(id, flow, queue, left);
    }
    // Flow 8 has 300 left: 2, then 4. Then 9 and 7 are equal, and 9's packet came before 7's sixth.
    assert_eq!(bench.drain(), [2, 4, 5, 1, 3, 6]);
}

#[test]
fn pfabric_agrees_with_an_exhaustive_search() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed, 1);
        let mut pifo = pifo(RankFunction::Pfabric, &[1]);
        let mut model: Vec<(u64, u32, u32)> = Vec::new();
        let pop = |pifo: &mut Pifo, model: &mut Vec<(u64, u32, u32)>| {
            let (_, _, flow) = *model.iter().min().unwrap();
            let of_flow = model.iter().filter(|entry| entry.2 == flow);
            let first = *of_flow.min_by_key(|entry| entry.1).unwrap();
            model.retain(|entry| *entry != first);
            let pick = pifo.pick(Time::ZERO, |_| {});
            assert_eq!(pick.slot, Some(Slot(first.1)), "seed {seed}");
        };
        for arrival in 0..300_u32 {
            let (rank, flow) = (u64::from(rng.next_u32() % 40), rng.next_u32() % 6);
            let pkt = Pkt { rank, flow: FlowId(flow), ..Pkt::default() };
            pifo.on_ranked(QueueId(0), Slot(arrival), &pkt, Time::ZERO);
            model.push((rank, arrival, flow));
            while !model.is_empty() && rng.next_u32() % 5 < 2 {
                pop(&mut pifo, &mut model);
            }
        }
        while !model.is_empty() {
            pop(&mut pifo, &mut model);
        }
    }
}

#[test]
fn the_least_slack_goes_first_as_time_passes() {
    let mut bench = Bench::new(pifo(RankFunction::Lstf, &[1; 2]));
    bench.enqueue_ranked(1, 0, 100, 5_000);
    bench.now = Time::from_ps(4_000);
    for (id, slack) in [(2, 1_001), (3, 1_000), (4, 999), (5, u64::MAX)] {
        bench.enqueue_ranked(id, 1, 100, slack);
    }
    assert_eq!(bench.drain(), [4, 1, 3, 2, 5]);
}

#[test]
fn start_times_share_the_link() {
    // Starts in bytes per weight: queue 0 at 0, 1500, 3000; queue 1 at 0, 500, 1000, 1500, 2000.
    let mut bench = Bench::new(pifo(RankFunction::Stfq, &[1, 3]));
    for id in 1..4 {
        bench.enqueue(id, 0, 1500);
    }
    for id in 4..9 {
        bench.enqueue(id, 1, 1500);
    }
    assert_eq!(bench.drain(), [1, 4, 5, 6, 2, 7, 8, 3]);
}

#[test]
fn a_start_is_the_later_of_the_last_finish_and_the_virtual_time() {
    let mut bench = Bench::new(pifo(RankFunction::Stfq, &[1; 2]));
    bench.enqueue(1, 0, 1000); // starts at 0, ends at 1000
    bench.enqueue(2, 0, 1000); // starts at 1000
    bench.enqueue(3, 0, 1000); // starts at 2000
    assert_eq!([bench.dequeue(), bench.dequeue()], [1, 2]);
    bench.enqueue(4, 1, 999); // starts at V = 1000, ends at 1999
    bench.enqueue(5, 1, 1); // starts at 1999
    bench.enqueue(6, 1, 1000); // starts at 2000, after 3
    assert_eq!([bench.dequeue(), bench.dequeue()], [4, 5]);
    assert_eq!(bench.drain(), [3, 6]);
    // Idle queues keep their finish: 0 ended at 3000, 1 at 3000; V is 2000.
    bench.enqueue(7, 0, 1);
    bench.enqueue(8, 1, 1);
    assert_eq!(bench.drain(), [7, 8]);
}

#[test]
fn an_emptied_queue_does_not_start_before_its_last_finish() {
    let mut bench = Bench::new(pifo(RankFunction::Stfq, &[1; 2]));
    bench.enqueue(1, 0, 1000);
    assert_eq!(bench.dequeue(), 1);
    bench.enqueue(2, 0, 1000); // starts at 1000, the end of the packet before
    bench.enqueue(3, 1, 1000); // starts at V = 0
    assert_eq!(bench.drain(), [3, 2]);
}

fn served(start: u64, seed: u64) -> Vec<u32> {
    let mut bench = Bench::new(stfq_at(start, &[1, 2, 3, 7]));
    let mut rng = Rng::new(seed, 0);
    let mut served = Vec::new();
    for id in 0..2000 {
        bench.enqueue(id, (rng.next_u32() % 4) as u8, 64 + rng.next_u32() % 1437);
        if id % 3 > 0 {
            served.push(bench.dequeue());
        }
    }
    served.extend(bench.drain());
    served
}

#[test]
fn start_times_may_wrap() {
    for seed in 0..4 {
        // 2000 packets take a virtual time below 2^42.
        for start in [0, 1 << 62, 1 << 63] {
            let start = u64::wrapping_sub(start, 1 << 40);
            assert_eq!(served(0, seed), served(start, seed));
        }
    }
}

#[test]
fn a_class_that_was_idle_for_long_starts_at_the_virtual_time() {
    let mut class = classes(&[1]).unwrap()[0].clone();
    assert_eq!(class.start(1000), 0);
    // Others drive the clock beyond half the range and once around.
    for quarter in [1_u64, 2, 3, 0] {
        let now = (quarter << 62) + 5;
        class.catch_up(now);
        assert_eq!(class.finish(), now);
    }
    class.catch_up(6);
    assert_eq!((class.start(1), class.finish()), (6, (1 << 20) + 6));
    // A finish ahead of the clock is kept, and one equal to it.
    for now in [7, (1 << 20) + 6] {
        class.catch_up(now);
        assert_eq!(class.finish(), (1 << 20) + 6);
    }
}

#[test]
fn a_finish_keeps_all_64_bits() {
    let mut class = classes(&[65_535]).unwrap()[0].clone();
    class.set_finish(0xFEDC_BA98_7654_3210);
    assert_eq!(class.finish(), 0xFEDC_BA98_7654_3210);
    assert_eq!((class.weight, size_of::<Class>()), (65_535, 12));
}

#[test]
fn the_heap_sorts_random_entries() {
    for seed in 0..20 {
        let mut rng = Rng::new(seed, 1);
        let mut pifo = pifo(RankFunction::Srpt, &[1]);
        let mut model: Vec<(u64, u64)> = Vec::new();
        let pop = |pifo: &mut Pifo, model: &mut Vec<(u64, u64)>| {
            model.sort_unstable();
            let entry = pifo.ranks.pop();
            assert_eq!((entry.rank, entry.arrival), model.remove(0), "seed {seed}");
        };
        for arrival in 0..300_u32 {
            let rank = u64::from(rng.next_u32() % 40);
            let pkt = Pkt { rank, ..Pkt::default() };
            pifo.on_ranked(QueueId(0), Slot(arrival), &pkt, Time::ZERO);
            model.push((rank, u64::from(arrival)));
            while !model.is_empty() && rng.next_u32() % 5 < 2 {
                pop(&mut pifo, &mut model);
            }
        }
        while !model.is_empty() {
            pop(&mut pifo, &mut model);
        }
    }
}

#[test]
fn stfq_keeps_its_order_when_ranks_wrap() {
    let mut pifo = stfq_at(u64::MAX - 10, &[1, 1]);
    let pkt = Pkt { len: 1500, ..Pkt::default() };
    // The second packet of queue 0 starts after the wrap, the first of queue 1 before it.
    for (queue, slot) in [(0, 0), (0, 1), (1, 2)] {
        pifo.on_ranked(QueueId(queue), Slot(slot), &pkt, Time::ZERO);
    }
    let order = [(); 3].map(|()| pifo.pick(Time::ZERO, |_| {}).slot);
    assert_eq!(order, [0, 2, 1].map(|slot| Some(Slot(slot))));
}
