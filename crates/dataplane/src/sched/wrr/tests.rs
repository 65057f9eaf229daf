use alloc::string::ToString;
use alloc::vec;

use super::*;
use crate::sched::testing::Bench;

fn bench(quanta: &[u32], order: Order) -> Bench<Wrr> {
    let quanta = quanta.to_vec();
    Bench::new(Config { quanta, order }.build().unwrap())
}

const BOTH: [Order; 2] = [Order::ActiveList, Order::Cyclic];

#[test]
fn quanta_are_checked() {
    let error = |quanta| {
        let order = Order::Cyclic;
        Wrr::new(&Config { quanta, order }).unwrap_err().to_string()
    };
    assert_eq!(error(vec![0]), "quanta = 0 is out of range; allowed: 1 byte or more per queue");
    assert_eq!(error(vec![]), "quanta = 0 queues is out of range; allowed: 1 to 128 queues");
    assert!(error(vec![1; 129]).contains("129 queues"));
}

#[test]
fn a_head_is_served_up_to_the_budget_and_not_beyond() {
    for order in BOTH {
        for (second, served) in [(499, [1, 2, 3]), (500, [1, 2, 3]), (501, [1, 3, 2])] {
            let mut bench = bench(&[1500, 1500], order);
            bench.enqueue(1, 0, 1000);
            bench.enqueue(2, 0, second);
            bench.enqueue(3, 1, 1500);
            assert_eq!(bench.drain(), served, "{order:?} {second}");
        }
    }
}

#[test]
fn nothing_is_carried_over() {
    for order in BOTH {
        let mut bench = bench(&[1500, 1500], order);
        // DWRR would send both 2 and 3 in the second turn.
        for id in 1..4 {
            bench.enqueue(id, 0, 1000);
        }
        for id in 4..7 {
            bench.enqueue(id, 1, 1500);
        }
        assert_eq!(bench.drain(), [1, 4, 2, 5, 3, 6], "{order:?}");
    }
}

#[test]
fn a_packet_larger_than_the_quantum_takes_a_turn_of_its_own() {
    for order in BOTH {
        let mut bench = bench(&[1000, 1000], order);
        for (id, queue, len) in [(1, 0, 1001), (2, 0, 1), (3, 1, 500), (4, 1, 500), (5, 1, 1)] {
            bench.enqueue(id, queue, len);
        }
        assert_eq!(bench.drain(), [1, 3, 4, 2, 5], "{order:?}");
        bench.enqueue(6, 1, u32::MAX);
        assert_eq!(bench.drain(), [6]);
    }
}

#[test]
fn the_cyclic_order_goes_by_number() {
    let mut bench = bench(&[100; 4], Order::Cyclic);
    for (id, queue) in [(1, 3), (2, 1), (3, 0), (4, 1), (5, 3)] {
        bench.enqueue(id, queue, 100);
    }
    assert_eq!([bench.dequeue(), bench.dequeue()], [3, 2]);
    bench.enqueue(6, 2, 100);
    bench.enqueue(7, 0, 100);
    assert_eq!(bench.drain(), [6, 1, 7, 4, 5]);
}

#[test]
fn the_list_goes_by_time_of_joining() {
    let mut bench = bench(&[100; 4], Order::ActiveList);
    for (id, queue) in [(1, 3), (2, 1), (3, 0), (4, 1), (5, 3)] {
        bench.enqueue(id, queue, 100);
    }
    assert_eq!(bench.dequeue(), 1);
    bench.enqueue(6, 2, 100);
    assert_eq!(bench.drain(), [2, 3, 6, 5, 4]);
    // And again once the list has been empty.
    for (id, queue) in [(7, 2), (8, 0), (9, 2)] {
        bench.enqueue(id, queue, 100);
    }
    assert_eq!(bench.drain(), [7, 8, 9]);
}

#[test]
fn the_list_reports_joins_and_never_skips() {
    let mut bench = bench(&[1500; 3], Order::ActiveList);
    for (id, queue) in [(1, 2), (2, 2), (3, 0)] {
        bench.enqueue(id, queue, 1500);
    }
    assert_eq!(bench.turns(), ["2 joined", "0 joined"]);
    assert_eq!(bench.dequeue(), 1);
    assert!(bench.turns().is_empty());
    assert_eq!(bench.dequeue(), 3);
    assert_eq!(bench.turns(), ["2 ended", "0 emptied 1500"]);
    assert_eq!(bench.dequeue(), 2);
    assert_eq!(bench.turns(), ["2 emptied 1500"]);
}

#[test]
fn the_cyclic_order_reports_joins_and_skipped_queues() {
    let mut bench = bench(&[1500; 4], Order::Cyclic);
    bench.enqueue(1, 2, 1500);
    assert_eq!(bench.turns(), ["2 joined"]);
    bench.enqueue(2, 2, 1500);
    assert!(bench.turns().is_empty(), "queue 2 is in already");
    bench.enqueue(3, 1, 1500);
    assert_eq!(bench.turns(), ["1 joined"]);
    assert_eq!(bench.dequeue(), 3);
    assert_eq!(bench.turns(), ["0 skipped", "1 emptied 1500"]);
    assert_eq!(bench.dequeue(), 1);
    assert!(bench.turns().is_empty(), "no queue lies between 1 and 2");
    assert_eq!(bench.dequeue(), 2);
    assert_eq!(
        bench.turns(),
        ["2 ended", "3 skipped", "0 skipped", "1 skipped", "2 emptied 1500"],
        "a whole round back to the same queue"
    );
    bench.enqueue(4, 3, 1500);
    assert_eq!(bench.turns(), ["3 joined"]);
    assert_eq!(bench.dequeue(), 4);
    assert_eq!(bench.turns(), ["3 emptied 1500"]);
}

#[test]
fn each_queue_knows_its_quantum() {
    let order = Order::Cyclic;
    let quanta = vec![1500, 3000];
    let wrr = Config { quanta, order }.build().unwrap();
    let round = |quantum| Some(Round { group: 0, quantum });
    let rounds = [0, 1, 2].map(|queue| wrr.round(QueueId(queue)));
    assert_eq!(rounds, [round(1500), round(3000), None]);
}
