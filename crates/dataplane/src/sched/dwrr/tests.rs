use alloc::collections::VecDeque;
use alloc::string::ToString;
use alloc::vec;

use tidegate_units::Rng;

use super::*;
use crate::sched::testing::Bench;

fn bench(quanta: &[u32]) -> Bench<Dwrr> {
    let quanta = quanta.to_vec();
    Bench::new(Config { quanta }.build().unwrap())
}

#[test]
fn quanta_are_checked() {
    let error = |quanta| Dwrr::new(&Config { quanta }).unwrap_err().to_string();
    assert_eq!(
        error(vec![1500, 0]),
        "quanta = 0 is out of range; allowed: 1 byte or more per queue"
    );
    assert_eq!(error(vec![]), "quanta = 0 queues is out of range; allowed: 1 to 128 queues");
    assert_eq!(
        error(vec![1; 129]),
        "quanta = 129 queues is out of range; allowed: 1 to 128 queues"
    );
}

#[test]
fn a_head_is_served_up_to_the_deficit_and_not_beyond() {
    for (second, order) in [(499, [1, 2, 3]), (500, [1, 2, 3]), (501, [1, 3, 2])] {
        let mut bench = bench(&[1500, 1500]);
        bench.enqueue(1, 0, 1000);
        bench.enqueue(2, 0, second);
        bench.enqueue(3, 1, 1500);
        assert_eq!(bench.drain(), order, "{second}");
    }
}

#[test]
fn the_rest_of_a_quantum_is_carried_over() {
    let mut bench = bench(&[1500, 1500]);
    // 500 bytes are left after packet 1 and make 2000 in the second turn.
    for (id, queue, len) in [(1, 0, 1000), (2, 0, 1000), (3, 0, 1000)] {
        bench.enqueue(id, queue, len);
    }
    for id in 4..7 {
        bench.enqueue(id, 1, 1500);
    }
    assert_eq!(bench.drain(), [1, 4, 2, 3, 5, 6]);
}

#[test]
fn a_queue_that_empties_loses_its_deficit() {
    let mut bench = bench(&[1500, 1500]);
    bench.enqueue(1, 0, 100);
    assert_eq!(bench.dequeue(), 1);
    // It has 1500 again and not 2900: packet 3 waits for another turn.
    bench.enqueue(2, 0, 1500);
    bench.enqueue(3, 0, 1400);
    bench.enqueue(4, 1, 1500);
    assert_eq!(bench.drain(), [2, 4, 3]);
}

#[test]
fn turns_are_reported_in_order() {
    let mut bench = bench(&[1500, 1500]);
    bench.enqueue(1, 1, 1500);
    bench.enqueue(2, 1, 200);
    bench.enqueue(3, 0, 1500);
    assert_eq!(bench.turns(), ["1 joined", "0 joined"]);
    assert_eq!(bench.dequeue(), 1);
    assert!(bench.turns().is_empty(), "a turn ends at the next pick");
    assert_eq!(bench.dequeue(), 3);
    assert_eq!(bench.turns(), ["1 ended", "0 emptied 1500"]);
    assert_eq!(bench.dequeue(), 2);
    assert_eq!(bench.turns(), ["1 emptied 200"]);
}

#[test]
fn a_queue_joins_at_the_back_and_only_the_front_leaves() {
    let mut bench = bench(&[100; 4]);
    for (id, queue) in [(1, 3), (2, 1), (3, 0), (4, 1), (5, 3)] {
        bench.enqueue(id, queue, 100);
    }
    assert_eq!(bench.dequeue(), 1);
    bench.enqueue(6, 2, 100);
    // 3 goes to the back, behind 2; then 1 and 0 as they joined.
    assert_eq!(bench.drain(), [2, 3, 6, 5, 4]);
}

#[test]
fn each_queue_knows_its_quantum_and_all_take_turns_together() {
    let dwrr = Config { quanta: vec![1500, 3000] }.build().unwrap();
    let round = |quantum| Some(Round { group: 0, quantum });
    let rounds = [0, 1, 2].map(|queue| dwrr.round(QueueId(queue)));
    assert_eq!(rounds, [round(1500), round(3000), None]);
}

#[test]
fn all_128_queues_can_need_several_rounds() {
    let mut bench = bench(&[1; 128]);
    for queue in 0..128 {
        bench.enqueue(u32::from(queue), queue, 3);
    }
    assert_eq!(bench.drain(), (0..128).collect::<Vec<_>>());
}

#[test]
fn the_largest_packets_are_served_with_the_smallest_quanta() {
    // Queue 1 gains three bytes while queue 0 gains one; 2^31 bytes each would overflow.
    let mut bench = bench(&[1, 3]);
    bench.enqueue(1, 0, 1 << 31);
    bench.enqueue(2, 1, (1 << 31) - 1);
    assert_eq!(bench.drain(), [2, 1]);
    bench.enqueue(3, 0, u32::MAX);
    assert_eq!(bench.drain(), [3]);
}

/// The textbook's loop, one quantum at a time.
struct Model {
    quanta: Vec<u32>,
    deficits: Vec<u64>,
    packets: Vec<VecDeque<(u32, u32)>>,
    active: VecDeque<usize>,
}

impl Model {
    fn new(quanta: &[u32]) -> Self {
        Self {
            quanta: quanta.to_vec(),
            deficits: vec![0; quanta.len()],
            packets: vec![VecDeque::new(); quanta.len()],
            active: VecDeque::new(),
        }
    }

    fn enqueue(&mut self, id: u32, queue: usize, len: u32) {
        if self.packets[queue].is_empty() {
            self.deficits[queue] = u64::from(self.quanta[queue]);
            self.active.push_back(queue);
        }
        self.packets[queue].push_back((id, len));
    }

    fn dequeue(&mut self) -> u32 {
        loop {
            let queue = self.active[0];
            let (id, len) = self.packets[queue][0];
            if u64::from(len) <= self.deficits[queue] {
                self.deficits[queue] -= u64::from(len);
                self.packets[queue].pop_front();
                if self.packets[queue].is_empty() {
                    self.active.pop_front();
                }
                return id;
            }
            self.deficits[queue] += u64::from(self.quanta[queue]);
            self.active.rotate_left(1);
        }
    }
}

#[test]
fn service_order_is_the_textbook_loop_s_for_any_quanta() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed, 0);
        let quanta: Vec<u32> =
            (0..5).map(|_| 1 + rng.next_u32() % (1 << (1 + seed % 12))).collect();
        let (mut bench, mut model) = (bench(&quanta), Model::new(&quanta));
        for id in 0..600 {
            let (queue, len) = ((rng.next_u32() % 5) as u8, 1 + rng.next_u32() % 2000);
            bench.enqueue(id, queue, len);
            model.enqueue(id, usize::from(queue), len);
            while bench.port.packets() > 0 && rng.next_u32() % 9 < 4 {
                assert_eq!(bench.dequeue(), model.dequeue(), "seed {seed}, quanta {quanta:?}");
            }
        }
    }
}

#[test]
fn backlogged_queues_get_their_share_to_within_a_quantum_and_a_packet() {
    let quanta = [1500, 3000, 4500];
    let mut bench = bench(&quanta);
    let mut rng = Rng::new(1, 0);
    for id in 0..3000 {
        bench.enqueue(id, (id % 3) as u8, 64 + rng.next_u32() % 1437);
    }
    let mut sent = [0_u64; 3];
    for _ in 0..1500 {
        let (_, queue, len) = bench.departure();
        sent[usize::from(queue)] += u64::from(len);
        // In rounds begun and ended, a queue sends its quanta to within one packet.
        let rounds = |queue: usize| sent[queue] / u64::from(quanta[queue]);
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            assert!(rounds(a).abs_diff(rounds(b)) <= 2, "{sent:?}");
        }
    }
}
