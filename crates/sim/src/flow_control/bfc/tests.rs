//! BFC's rules and boundaries worked out by hand, and invariants over random packets.

use super::*;

/// A port of 40 Gb/s that identifies flows exactly, and a link of 13 us. Its queues are too long
/// above 40e9 / 8 · 26e-6 = 130,000 bytes, divided by the number of active ones.
fn port(queues: u8) -> (SwitchPort, Hop) {
    let hop = Config::default().hop(Span::from_us(13));
    let rate = Rate::from_gbps(40);
    let port = SwitchPort::new(rate, queues, (None, Takes::Empty), (1, 0));
    (port, hop)
}

/// A packet of a flow arrives. Returns its queue, and whether it is flagged.
fn arrive(port: &mut SwitchPort, hop: Hop, flow: u32, len: u32, now: Time) -> (u8, bool) {
    let queue = port.assign(FlowId(flow), hop.sticky, now);
    let is_long = port.on_queued(FlowId(flow), queue, len, hop.round_trip);
    (queue.0, is_long)
}

#[test]
fn a_round_trip_is_twice_the_delay_of_the_link() {
    let hop = Config::default().hop(Span::from_us(13));
    assert_eq!(hop.round_trip, Span::from_us(26));
    assert_eq!(hop.sticky, Span::from_us(52));
}

#[test]
fn a_queue_is_too_long_strictly_above_its_share_of_a_round_trip() {
    let now = Time::ZERO;
    // A lone queue: 130,000 bytes with the arrival are not too many.
    for (first, last, expected) in
        [(129_000, 999, false), (129_000, 1_000, false), (129_000, 1_001, true)]
    {
        let (mut port, hop) = port(4);
        assert_eq!(arrive(&mut port, hop, 7, first, now), (1, false));
        assert_eq!(arrive(&mut port, hop, 7, last, now), (1, expected));
    }
    // With a second queue that holds packets: half of it.
    for (len, expected) in [(64_999, false), (65_000, false), (65_001, true)] {
        let (mut port, hop) = port(4);
        assert_eq!(arrive(&mut port, hop, 7, 100, now), (1, false));
        assert_eq!(arrive(&mut port, hop, 8, len, now), (2, expected));
    }
    // With a third: 43,333 and a third.
    for (len, expected) in [(43_333, false), (43_334, true)] {
        let (mut port, hop) = port(4);
        arrive(&mut port, hop, 7, 100, now);
        arrive(&mut port, hop, 8, 100, now);
        assert_eq!(arrive(&mut port, hop, 9, len, now), (3, expected));
    }
}

#[test]
fn a_link_without_delay_flags_everything() {
    let (mut port, _) = port(4);
    let hop = Config::default().hop(Span::ZERO);
    assert_eq!(arrive(&mut port, hop, 7, 1, Time::ZERO), (1, true));
}

#[test]
fn paused_queues_are_inactive_and_at_least_one_queue_counts() {
    let now = Time::ZERO;
    let (mut port, hop) = port(4);
    arrive(&mut port, hop, 7, 100, now);
    let mut sender = Sender::Switch(port);
    sender.pause(1, true);
    let Sender::Switch(port) = &mut sender else { unreachable!("the sender is a switch port") };
    // Only the second queue is active, and may hold the whole amount.
    assert_eq!(arrive(port, hop, 8, 130_000, now), (2, false));
    assert_eq!(arrive(port, hop, 8, 1, now), (2, true));
    sender.pause(2, true);
    let Sender::Switch(port) = &mut sender else { unreachable!("the sender is a switch port") };
    // No queue is active now: that counts as one.
    assert_eq!(arrive(port, hop, 7, 129_900, now), (1, false));
    assert_eq!(arrive(port, hop, 7, 1, now), (1, true));
}

#[test]
fn a_flow_keeps_its_queue_while_packets_wait_and_for_two_round_trips_more() {
    let us = Time::from_us;
    let leaves = |port: &mut SwitchPort, flow, queue, now| {
        port.on_departed(FlowId(flow), QueueId(queue), 100, now);
    };
    let (mut port, hop) = port(4);
    assert_eq!(arrive(&mut port, hop, 7, 100, us(0)), (1, false));
    assert_eq!(arrive(&mut port, hop, 8, 100, us(1)), (2, false));
    // Flow 8 stays in queue 2, although queue 1 is empty.
    leaves(&mut port, 7, 1, us(2));
    assert_eq!(arrive(&mut port, hop, 8, 100, us(3)), (2, false));
    leaves(&mut port, 8, 2, us(4));
    leaves(&mut port, 8, 2, us(10));
    // 52 us later it still has queue 2, which no other flow took.
    assert_eq!(arrive(&mut port, hop, 8, 100, us(62)), (2, false));
    leaves(&mut port, 8, 2, us(70));
    let later = us(122) + Span::from_ps(1);
    assert_eq!(arrive(&mut port, hop, 8, 100, later), (1, false));
}

#[test]
fn a_new_flow_gets_the_lowest_queue_that_is_empty_and_runs() {
    let now = Time::ZERO;
    let (mut port, hop) = port(6);
    assert_eq!(arrive(&mut port, hop, 1, 100, now).0, 1);
    assert_eq!(arrive(&mut port, hop, 2, 100, now).0, 2);
    port.on_departed(FlowId(1), QueueId(1), 100, now);
    let mut sender = Sender::Switch(port);
    sender.pause(3, true);
    let Sender::Switch(port) = &mut sender else { unreachable!("the sender is a switch port") };
    // Queue 1 belongs to a flow that may return, but is taken all the same.
    assert_eq!(arrive(port, hop, 3, 100, now).0, 1);
    assert_eq!(arrive(port, hop, 1, 100, now).0, 1);
    assert_eq!(arrive(port, hop, 4, 100, now).0, 4);
    assert_eq!(arrive(port, hop, 5, 100, now).0, 5);
    // No empty queue is left: any of the five, the paused one included.
    let mut seen = [0; 6];
    for flow in 6..1_006 {
        seen[usize::from(arrive(port, hop, flow, 1, now).0)] += 1;
    }
    assert_eq!(seen[0], 0, "no data in the queue of control packets");
    let near = |count: &i32| (150..=250).contains(count);
    assert!(seen[1..].iter().all(near), "{seen:?}");
}

#[test]
fn takes_setting_decides_whether_a_kept_queue_is_reused() {
    let us = Time::from_us;
    for (takes, at, queue) in [
        (Takes::Empty, us(1), 1),
        (Takes::Unkept, us(1), 2),
        (Takes::Unkept, us(53), 2),
        (Takes::Unkept, us(53) + Span::from_ps(1), 1),
    ] {
        let (mut port, hop) = port(4);
        port.takes = takes;
        // The first flow's packet leaves at once, as a lone flow's packets do.
        assert_eq!(arrive(&mut port, hop, 7, 100, us(0)).0, 1);
        port.on_departed(FlowId(7), QueueId(1), 100, us(1));
        assert_eq!(arrive(&mut port, hop, 8, 100, at).0, queue, "{at}");
    }
    // When all queues are kept, a third flow shares one.
    let (mut port, hop) = port(2);
    port.takes = Takes::Unkept;
    arrive(&mut port, hop, 7, 100, us(0));
    port.on_departed(FlowId(7), QueueId(1), 100, us(0));
    assert_eq!(arrive(&mut port, hop, 8, 100, us(1)).0, 1);
}

#[test]
fn flows_with_one_hash_are_one_flow() {
    let hop = Config::default().hop(Span::from_us(13));
    let rate = Rate::from_gbps(40);
    let mut one = SwitchPort::new(rate, 8, (Some(1), Takes::Empty), (1, 0));
    assert_eq!(arrive(&mut one, hop, 5, 100, Time::ZERO).0, 1);
    assert_eq!(arrive(&mut one, hop, 6, 100, Time::ZERO).0, 1);
    // Two ports of different switches give a flow the same number.
    let id = |stream| {
        let table = (Some(4_000), Takes::Empty);
        SwitchPort::new(rate, 8, table, (1, stream)).id(FlowId(9))
    };
    assert_eq!(id(0), id(17));
    let exact = Config { flow_ids: FlowIds::Exact, ..Config::default() };
    assert_eq!(exact.ids(1_000), None);
    assert_eq!(Config::default().ids(32 * 41), Some(131_200));
    assert_eq!(Config::default().ids(u64::MAX), Some(u64::from(u32::MAX)));
}

#[test]
fn the_first_flagged_packet_pauses_and_the_last_resumes() {
    let mut flagged = Flagged::default();
    assert!(flagged.raise(4));
    assert!(!flagged.raise(4));
    assert!(flagged.raise(2), "another queue");
    assert!(!flagged.lower(4));
    assert!(flagged.lower(2));
    assert!(flagged.lower(4));
    assert!(flagged.raise(4), "and again");
}

#[test]
fn a_host_has_a_queue_for_each_flow_while_queues_last() {
    let mut port = HostPort::new(3);
    let send = |port: &mut HostPort, flow| {
        let queue = port.assign(FlowId(flow));
        assert!(!port.on_queued(FlowId(flow), queue), "nothing is paused");
        queue.0
    };
    let queues = [11, 11, 13, 11].map(|flow| send(&mut port, flow));
    assert_eq!(queues, [1, 1, 2, 1]);
    // Both queues are taken: connections 7 and 8 share them.
    assert_eq!([15, 17].map(|flow| send(&mut port, flow)), [2, 1]);
    for _ in 0..3 {
        port.on_departed(FlowId(11), QueueId(1));
    }
    port.on_departed(FlowId(17), QueueId(1));
    assert_eq!(send(&mut port, 19), 1);
}

#[test]
fn a_host_pauses_the_queue_of_a_flow_wherever_it_is() {
    let queues = |sender: &Sender| {
        let set = sender.paused_queues();
        (0..4).filter(|&queue| set.contains(QueueId(queue))).collect::<Vec<_>>()
    };
    let mut sender = Sender::Host(HostPort::new(4));
    sender.pause(13, true);
    assert!(sender.is_any_paused());
    assert_eq!(queues(&sender), [] as [u8; 0], "the paused flow has nothing to send");
    let Sender::Host(port) = &mut sender else { unreachable!("the sender is a host port") };
    assert!(!port.on_queued(FlowId(11), QueueId(1)));
    assert!(port.on_queued(FlowId(13), QueueId(2)), "a paused flow comes");
    assert!(!port.on_queued(FlowId(13), QueueId(2)), "it was paused before");
    assert_eq!(queues(&sender), [2]);
    sender.pause(11, true);
    assert_eq!(queues(&sender), [1, 2]);
    sender.pause(13, false);
    assert_eq!(queues(&sender), [1]);
    sender.pause(13, false);
    sender.pause(11, false);
    assert!(!sender.is_any_paused());
}

#[test]
fn all_queues_of_the_largest_port_except_the_first_hold_data() {
    assert_eq!(data_queues(2), 0b10);
    assert_eq!(data_queues(32), u128::from(u32::MAX) - 1);
    assert_eq!(data_queues(128), u128::MAX - 1);
}

/// Random arrivals and departures: bytes and packets agree with a plain list, no flow is in two
/// queues, and the table forgets only flows without packets.
#[test]
fn sums_agree_with_the_waiting_packets() {
    let mut rng = Rng::new(1, 0xbfc);
    let mut below =
        move |limit: u64| ((u128::from(rng.next_u64()) * u128::from(limit)) >> 64) as u64;
    for queues in [2, 5, 32] {
        let (mut port, hop) = port(queues);
        let mut waiting: Vec<(u32, u8, u32)> = Vec::new();
        let mut now = Time::ZERO;
        for step in 0..30_000_u32 {
            now += Span::from_ns(below(3_000));
            // The arriving flows change all the time.
            let flow = step / 100 + below(12) as u32;
            if below(2) == 0 || waiting.is_empty() {
                let len = 1 + below(1_500) as u32;
                let (queue, _) = arrive(&mut port, hop, flow, len, now);
                assert!((1..queues).contains(&queue));
                waiting.push((flow, queue, len));
            } else {
                let (flow, queue, len) = waiting.swap_remove(below(waiting.len() as u64) as usize);
                port.on_departed(FlowId(flow), QueueId(queue), len, now);
            }
            let of = |queue: usize| waiting.iter().filter(move |it| usize::from(it.1) == queue);
            for queue in 0..usize::from(queues) {
                let bytes: u32 = of(queue).map(|it| it.2).sum();
                assert_eq!(port.bytes[queue], bytes);
                assert_eq!(port.holding & 1 << queue != 0, bytes > 0);
            }
            for &(flow, queue, _) in &waiting {
                let entry = *port.entry(FlowId(flow));
                assert_eq!(entry.queue.0, queue, "a flow is not in two queues");
                let packets = waiting.iter().filter(|it| it.0 == flow).count();
                assert_eq!(entry.packets as usize, packets);
            }
        }
        assert!(port.flows.len() < 200, "{} of 312 flows", port.flows.len());
    }
}
