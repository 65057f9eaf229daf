use tidegate_units::Rng;

use super::*;
use crate::buffer::testing::{error, request};

/// No reserve, a pool of 9000 bytes for all ports, α 2.
fn plain() -> Config {
    Config {
        pool_size: Bytes(9000),
        alpha: vec![Ratio::whole(2)],
        reserve_size: Bytes(0),
        ..Config::default()
    }
}

fn hold(buffer: &mut DynamicThreshold, port: u16, queue: u8, len: u32) -> Charge {
    buffer.admit(request(port, queue, len)).unwrap()
}

/// Lengths, reserves and pools, each as many as the table holds.
fn accounts(buffer: &DynamicThreshold) -> [&[u32]; 3] {
    let (lengths, rest) = buffer.held.split_at(buffer.queues.len());
    let (reserves, pools) = rest.split_at(buffer.queues.len());
    [lengths, reserves, pools]
}

fn is_empty(buffer: &DynamicThreshold) -> bool {
    buffer.held.iter().all(|&bytes| bytes == 0)
}

#[test]
fn the_length_with_the_packet_may_equal_the_threshold() {
    // 3000 held, 2000 of them by the queue itself: the threshold is half of 6000.
    let config = Config { alpha: vec![Ratio::new(1, 2).unwrap()], ..plain() };
    for (len, fits) in [(999, true), (1000, true), (1001, false)] {
        let mut buffer = config.build(2, 1).unwrap();
        let _first = hold(&mut buffer, 0, 0, 2000);
        let _other = hold(&mut buffer, 1, 0, 1000);
        assert_eq!(buffer.admit(request(0, 0, len)).is_ok(), fits, "{len}");
    }
}

#[test]
fn the_length_before_the_packet_must_be_below_the_threshold() {
    // α 1/2 with `held` of 9000 bytes used: drops from held >= (9000 − held)/2 on, which is 3000.
    for (held, fits) in [(2999, true), (3000, false), (3001, false)] {
        let config = Config {
            alpha: vec![Ratio::new(1, 2).unwrap(), Ratio::whole(8)],
            compare: Compare::BeforePacket,
            length: Length::Port,
            ..plain()
        };
        let mut buffer = config.build(1, 2).unwrap();
        let _held = hold(&mut buffer, 0, 1, held);
        assert_eq!(buffer.admit(request(0, 0, 6000 - 1)).is_ok(), fits, "{held}");
    }
}

#[test]
fn a_threshold_between_two_bytes_is_neither_rounded_up_nor_down() {
    // α 1/3 of 1000 is 333.3: with the packet, 333 passes; before it, 333 is still below.
    let alpha = vec![Ratio::new(1, 3).unwrap()];
    let config =
        |compare| Config { pool_size: Bytes(1000), alpha: alpha.clone(), compare, ..plain() };
    let mut buffer = config(Compare::WithPacket).build(1, 1).unwrap();
    assert!(buffer.admit(request(0, 0, 334)).is_err());
    assert!(buffer.admit(request(0, 0, 333)).is_ok());
    // 250 held: 750/3 = 250 is reached. 249 held: 751/3 = 250.3 is not.
    let mut buffer = config(Compare::BeforePacket).build(1, 1).unwrap();
    let _held = hold(&mut buffer, 0, 0, 249);
    let one = buffer.admit(request(0, 0, 1)).unwrap();
    assert!(buffer.admit(request(0, 0, 1)).is_err());
    buffer.release(one);
    assert!(buffer.admit(request(0, 0, 1)).is_ok());
}

#[test]
fn the_pool_is_never_overfilled_for_any_alpha() {
    for compare in [Compare::BeforePacket, Compare::WithPacket] {
        let config = Config { compare, alpha: vec![Ratio::whole(u32::MAX)], ..plain() };
        let mut buffer = config.build(2, 1).unwrap();
        assert_eq!(buffer.admit(request(0, 0, 9001)), Err(DropReason::PoolFull));
        let _held = hold(&mut buffer, 0, 0, 8000);
        assert_eq!(buffer.admit(request(1, 0, 1001)), Err(DropReason::PoolFull));
        let _last = hold(&mut buffer, 1, 0, 1000);
        assert_eq!(buffer.pool_bytes(PortId(0), QueueId(0)), 9000);
        assert_eq!(buffer.admit(request(1, 0, 1)), Err(DropReason::PoolFull));
    }
}

#[test]
fn the_reserve_is_used_first_and_counts_for_the_length_but_not_for_the_pool() {
    let config = Config { reserve_size: Bytes(3000), alpha: vec![Ratio::ONE], ..plain() };
    let mut buffer = config.build(2, 1).unwrap();
    let _first = hold(&mut buffer, 0, 0, 1500);
    let second = hold(&mut buffer, 0, 0, 1500);
    assert_eq!(buffer.pool_bytes(PortId(0), QueueId(0)), 0);
    // Length 3000 + 3000 against 9000 free; then 6000 + 1 against 6000.
    let _third = hold(&mut buffer, 0, 0, 3000);
    assert_eq!(buffer.pool_bytes(PortId(1), QueueId(0)), 3000);
    assert_eq!(buffer.admit(request(0, 0, 1)), Err(DropReason::PoolFull));
    buffer.release(second);
    assert_eq!(buffer.pool_bytes(PortId(0), QueueId(0)), 3000);
    // The reserve accepts the bytes that it released, and not one byte more.
    let _refill = hold(&mut buffer, 0, 0, 1500);
    assert_eq!(accounts(&buffer), [&[6000, 0], &[3000, 0], &[3000, 0]]);
}

#[test]
fn the_leak_charges_the_whole_queue_and_frees_the_packet() {
    let config = Config { reserve: Reserve::Leaking, reserve_size: Bytes(6000), ..plain() };
    let mut buffer = config.build(1, 1).unwrap();
    // 1500 and then 3000 are charged: 4500 of 6000. The third packet needs 4500 more and uses the
    // pool.
    let charges: Vec<Charge> = (0..3).map(|_| hold(&mut buffer, 0, 0, 1500)).collect();
    assert_eq!(*buffer.held, [4500, 4500, 1500]);
    for charge in charges {
        buffer.release(charge);
    }
    assert_eq!(*buffer.held, [0, 1500, 0]);
}

#[test]
fn a_queue_s_own_reserve_protects_it() {
    let config =
        |reserve| Config { reserve, reserve_size: Bytes(1500), pool_size: Bytes(1), ..plain() };
    let mut buffer = config(Reserve::PerPort).build(1, 2).unwrap();
    let _first = hold(&mut buffer, 0, 0, 1500);
    assert_eq!(buffer.admit(request(0, 1, 1500)), Err(DropReason::PoolFull));
    let mut buffer = config(Reserve::PerQueue).build(1, 2).unwrap();
    let _first = hold(&mut buffer, 0, 0, 1500);
    let _second = hold(&mut buffer, 0, 1, 1500);
}

#[test]
fn each_queue_has_its_own_alpha() {
    let config = Config { alpha: vec![Ratio::ONE, Ratio::new(1, 8).unwrap()], ..plain() };
    let mut buffer = config.build(2, 2).unwrap();
    assert!(buffer.admit(request(1, 1, 1126)).is_err(), "9000/8 = 1125");
    assert!(buffer.admit(request(1, 1, 1125)).is_ok());
    assert!(buffer.admit(request(0, 0, 7875)).is_ok());
}

#[test]
fn the_compared_length_is_the_queue_s_or_the_port_s() {
    // 3000 in the other queue of the port; 1500 more against α 1/2 of 6000.
    for (length, fits) in [(Length::Port, false), (Length::Queue, true)] {
        let config =
            Config { alpha: vec![Ratio::whole(8), Ratio::new(1, 2).unwrap()], length, ..plain() };
        let mut buffer = config.build(1, 2).unwrap();
        let _other = hold(&mut buffer, 0, 0, 3000);
        assert_eq!(buffer.admit(request(0, 1, 1500)).is_ok(), fits);
    }
}

#[test]
fn pools_are_independent() {
    let pool = |buffer: &DynamicThreshold, port| buffer.pool_bytes(PortId(port), QueueId(0));
    let config = Config { ports_per_pool: 2, ..plain() };
    let mut buffer = config.build(5, 1).unwrap();
    let _held = hold(&mut buffer, 1, 0, 1000);
    let _last = hold(&mut buffer, 4, 0, 500);
    assert_eq!([0, 1, 2, 3, 4].map(|port| pool(&buffer, port)), [1000, 1000, 0, 0, 500]);

    let config = Config { pools: vec![1, 0, 1], ..plain() };
    let mut buffer = config.build(3, 1).unwrap();
    let _held = hold(&mut buffer, 0, 0, 1000);
    assert_eq!([0, 1, 2].map(|port| pool(&buffer, port)), [1000, 0, 1000]);
}

#[test]
fn greedy_queues_settle_at_equal_shares() {
    // BCC, section 4.2: αB/(1 + Mα) = 4 · 3145728/33 = 381300.4 each, and 95325.1 free.
    let config = Config { reserve_size: Bytes(0), ..Config::default() };
    let mut buffer = config.build(8, 1).unwrap();
    let len = 1500;
    loop {
        let admitted = (0..8).filter(|&port| buffer.admit(request(port, 0, len)).is_ok()).count();
        if admitted == 0 {
            break;
        }
    }
    let [lengths, _, pools] = accounts(&buffer);
    for &length in lengths {
        assert!(length.abs_diff(381_300) <= len, "{length}");
    }
    let free = 3 * 1024 * 1024 - pools[0];
    assert!(free.abs_diff(95_325) <= len, "{free}");
}

#[test]
fn pools_and_reserves_are_the_sums_of_their_receipts_at_every_step() {
    for seed in 0..64 {
        let mut rng = Rng::new(seed, 0);
        let reserve = if seed % 2 == 0 { Reserve::PerPort } else { Reserve::PerQueue };
        let config = Config {
            pool_size: Bytes(40_000),
            ports_per_pool: 2,
            reserve_size: Bytes(2000 * (seed % 3)),
            reserve,
            compare: if seed % 5 == 0 { Compare::BeforePacket } else { Compare::WithPacket },
            length: if seed % 7 < 3 { Length::Port } else { Length::Queue },
            ..plain()
        };
        let mut buffer = config.build(4, 3).unwrap();
        let mut held: Vec<Charge> = Vec::new();
        for _ in 0..500 {
            let draw = rng.next_u32();
            if draw % 5 < 3 {
                let ask = request((draw >> 8) as u16 % 4, (draw >> 16) as u8 % 3, draw >> 21);
                held.extend(buffer.admit(ask));
            } else if !held.is_empty() {
                buffer.release(held.swap_remove(draw as usize % held.len()));
            }
            let sum = |on_reserve: bool| -> u32 {
                let side = |charge: &&Charge| (charge.account() & ON_RESERVE != 0) == on_reserve;
                held.iter().filter(side).map(Charge::bytes).sum()
            };
            let [_, reserves, pools] = accounts(&buffer);
            assert_eq!(pools.iter().sum::<u32>(), sum(false));
            assert_eq!(reserves.iter().sum::<u32>(), sum(true));
            assert!(pools.iter().all(|&pool| pool <= 40_000));
            assert!(reserves.iter().all(|&held| held <= buffer.reserve_size));
        }
        for charge in held {
            buffer.release(charge);
        }
        assert!(is_empty(&buffer));
    }
}

#[test]
fn the_extremes_do_not_overflow() {
    let most = Bytes(u64::from(u32::MAX));
    for alpha in [Ratio::whole(u32::MAX), Ratio::new(u32::MAX, u32::MAX).unwrap()] {
        for reserve in [Reserve::Leaking, Reserve::PerPort, Reserve::PerQueue] {
            let config = Config { pool_size: most, reserve, alpha: vec![alpha], ..plain() };
            let mut buffer = config.build(256, 128).unwrap();
            let all = hold(&mut buffer, 255, 127, u32::MAX);
            assert_eq!(buffer.admit(request(255, 126, u32::MAX)), Err(DropReason::PoolFull));
            buffer.release(all);
            assert!(is_empty(&buffer));
        }
    }
    let tiny = Config { pool_size: most, alpha: vec![Ratio::new(1, u32::MAX).unwrap()], ..plain() };
    let mut buffer = tiny.build(1, 1).unwrap();
    assert_eq!(buffer.admit(request(0, 0, 2)), Err(DropReason::PoolFull));
    assert!(buffer.admit(request(0, 0, 1)).is_ok());
    let half = Bytes(1 << 31);
    let leaking = Config {
        pool_size: half,
        reserve_size: Bytes(half.0 - 1),
        reserve: Reserve::Leaking,
        ..plain()
    };
    let mut buffer = leaking.build(1, 1).unwrap();
    let _pool = hold(&mut buffer, 0, 0, 1 << 31);
    assert_eq!(buffer.admit(request(0, 0, u32::MAX)), Err(DropReason::PoolFull));
}

#[test]
fn packets_for_unknown_ports_and_queues_are_dropped() {
    let mut buffer = plain().build(2, 2).unwrap();
    assert_eq!(buffer.admit(request(0, 2, 1)), Err(DropReason::QueueFull));
    assert_eq!(buffer.admit(request(2, 0, 1)), Err(DropReason::PortFull));
    let _held = hold(&mut buffer, 1, 0, 1);
    assert_eq!(buffer.pool_bytes(PortId(0), QueueId(2)), 0);
    assert_eq!(buffer.pool_bytes(PortId(2), QueueId(0)), 0);
    buffer.release(Charge::new(1, u32::MAX));
    assert_eq!(buffer.held.iter().sum::<u32>(), 2, "a length and a pool");
}

#[test]
fn impossible_parameters_are_named() {
    let field = |config: Config| error(config.build(2, 2));
    let with = |change: fn(&mut Config)| {
        let mut config = plain();
        change(&mut config);
        field(config)
    };
    assert_eq!(error(plain().build(0, 1)), "ports");
    assert_eq!(error(plain().build(1, 0)), "queues");
    assert_eq!(error(plain().build(u16::MAX, 1)), "ports");
    assert_eq!(with(|c| c.pool_size = Bytes(0)), "pool_size");
    assert_eq!(with(|c| c.pool_size = Bytes(1 << 32)), "pool_size");
    assert_eq!(with(|c| c.ports_per_pool = 0), "ports_per_pool");
    assert_eq!(with(|c| c.pools = vec![0]), "pools");
    assert_eq!(with(|c| c.pools = vec![0, 2]), "pools");
    assert_eq!(with(|c| c.alpha = vec![]), "alpha");
    assert_eq!(with(|c| c.alpha = vec![Ratio::ONE; 3]), "alpha");
    assert_eq!(with(|c| c.alpha = vec![Ratio::ONE, Ratio::ZERO]), "alpha");

    // 4294967295 − 9000 bytes are left for one reserve or for two.
    let reserve = |reserve, bytes| field(Config { reserve, reserve_size: Bytes(bytes), ..plain() });
    assert_eq!(reserve(Reserve::PerPort, 4_294_958_295), "none");
    assert_eq!(reserve(Reserve::PerPort, 4_294_958_296), "reserve_size");
    assert_eq!(reserve(Reserve::PerQueue, 2_147_479_147), "none");
    assert_eq!(reserve(Reserve::PerQueue, 2_147_479_148), "reserve_size");
}

#[test]
fn slack_ends_where_a_packet_could_be_dropped_or_marked() {
    // 9000 bytes, α 2: with 1500 held by one queue and x more, the queue has at most 1500 + x and
    // the threshold is 2 · (7500 − x). They meet at 4500.
    let mut buffer = plain().build(2, 1).unwrap();
    let _held = hold(&mut buffer, 0, 0, 1500);
    let slack = |total, pool_below| {
        let influx = Influx { total, per_ingress: 0 };
        buffer.has_slack(influx, pool_below)
    };
    assert_eq!([4499, 4500].map(|total| slack(total, u32::MAX)), [true, false]);
    // A scheme that reads a pool at or above 3000 bytes.
    assert_eq!([1499, 1500].map(|total| slack(total, 3000)), [true, false]);
    assert!(!slack(u32::MAX, u32::MAX));
}
