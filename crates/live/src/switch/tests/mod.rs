mod resilience;

use tidegate_dataplane::{buffer, sched};
use tidegate_units::{Rate, Ratio, Rng, Settings, Span};

use super::*;
use crate::config::PortSettings;
use crate::counters::{Amount, PortCounters};
use crate::device::memory::Memory;
use crate::device::{BURST, SHORT_BURST};
use crate::frame::tests::{checksum, ipv4, ipv6, tagged};

/// A switch of memory devices at 1 Gb/s: 1250 bytes take 10 µs.
fn config(ports: usize) -> Config {
    let mut config = Config::new();
    config.options.frames = 256;
    config.options.count = Count::Frame;
    config.ports = (0..ports)
        .map(|port| PortSettings::new(format!("port{port}"), Rate::from_gbps(1)))
        .collect();
    config
}

fn switch(config: &Config) -> Switch<Memory> {
    let devices = vec![Memory::new(); config.ports.len()];
    Switch::new(config, devices).unwrap()
}

/// A frame of 1250 bytes with this class from one station to another; 255 is broadcast.
fn frame(from: u8, to: u8, class: u8) -> Vec<u8> {
    let mut frame = tagged(0, 0x0800, &ipv4(class, &[0; 1208]));
    assert_eq!(frame.len(), 1250);
    let address = |station| match station {
        255 => [255; 6],
        _ => [2, 0, 0, 0, 0, station],
    };
    frame[..6].copy_from_slice(&address(to));
    frame[6..12].copy_from_slice(&address(from));
    frame
}

fn class(frame: &[u8]) -> u8 {
    frame::parse(frame).unwrap().ip.unwrap().class
}

/// Receives and sends all frames at `now`.
fn step(switch: &mut Switch<Memory>, now: Time) {
    switch.transmit(now);
    while switch.receive(now) > 0 {}
    switch.transmit(now);
    let counters = switch.counters(now);
    assert_eq!(counters.imbalance(), 0, "{counters:?}");
    let held: u64 = counters.ports.iter().map(|port| port.held).sum();
    assert_eq!(u64::from(switch.core.store.held()), held, "each waiting frame has a slot");
}

/// Steps from departure to departure until no packet waits. Returns the time of the last.
fn drain(switch: &mut Switch<Memory>) -> Time {
    let mut now = Time::ZERO;
    while let Some(next) = switch.next_departure() {
        now = next;
        step(switch, now);
    }
    now
}

fn sent(switch: &mut Switch<Memory>) -> Vec<Vec<Vec<u8>>> {
    let devices = switch.devices_mut().iter_mut();
    devices.map(|device| std::mem::take(&mut device.sent)).collect()
}

fn counts(switch: &Switch<Memory>, of: impl Fn(&PortCounters) -> u64) -> Vec<u64> {
    let counters = switch.counters(Time::from_secs(1));
    counters.ports.iter().map(of).collect()
}

#[test]
fn unknown_stations_are_flooded_and_known_ones_are_not() {
    let mut switch = switch(&config(3));
    let at = Time::from_us(100);
    switch.devices_mut()[0].push(at, frame(1, 2, 0));
    step(&mut switch, at);
    let lengths = |all: Vec<Vec<Vec<u8>>>| all.iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(sent(&mut switch), [vec![], vec![frame(1, 2, 0)], vec![frame(1, 2, 0)]]);
    let at = Time::from_us(200);
    switch.devices_mut()[1].push(at, frame(2, 1, 0));
    step(&mut switch, at);
    assert_eq!(lengths(sent(&mut switch)), [1, 0, 0]);
    let at = Time::from_us(300);
    switch.devices_mut()[0].push(at, frame(1, 2, 0));
    switch.devices_mut()[2].push(at, frame(3, 255, 0));
    step(&mut switch, at);
    drain(&mut switch);
    assert_eq!(lengths(sent(&mut switch)), [1, 2, 0]);
    assert_eq!(counts(&switch, |port| port.flooded), [1, 0, 1]);
    assert_eq!(switch.counters(at).stations, 3);
}

#[test]
fn frames_for_a_station_at_their_own_port_are_filtered() {
    let mut switch = switch(&config(2));
    let at = Time::from_us(100);
    let mut for_the_switch = frame(1, 2, 0);
    for_the_switch[..6].copy_from_slice(&[0x01, 0x80, 0xC2, 0, 0, 0x0E]);
    // Station 2 is known at port 0, so a frame for it from there has already arrived.
    for frame in [frame(2, 1, 0), frame(1, 2, 0), for_the_switch] {
        switch.devices_mut()[0].push(at, frame);
    }
    step(&mut switch, at);
    assert_eq!(counts(&switch, |port| port.filtered), [2, 0]);
    assert_eq!(sent(&mut switch)[1].len(), 1);
}

#[test]
fn runts_and_oversized_frames_are_dropped_and_counted() {
    let mut config = config(2);
    config.options.frame_size = 1_250;
    let mut switch = switch(&config);
    let mut long = frame(1, 2, 0);
    long.push(0);
    for bytes in [vec![], vec![0; 13], long, frame(1, 2, 0)] {
        switch.devices_mut()[0].push(Time::ZERO, bytes);
    }
    step(&mut switch, Time::ZERO);
    let drops = &switch.counters(Time::ZERO).ports[0].drops;
    assert_eq!((drops["runt"], drops["oversized"], drops.len()), (2, 1, 2));
    assert_eq!(sent(&mut switch)[1].len(), 1);
}

#[test]
fn tcn_sets_ce_in_packets_that_waited_longer_than_the_threshold() {
    let mut config = config(2);
    config.marking.set("threshold", "30us").unwrap();
    let mut switch = switch(&config);
    for class in [0b10, 0b10, 0b10, 0b10, 0b10, 0b01, 0b11, 0b00, 46 << 2 | 0b10] {
        switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, class));
    }
    step(&mut switch, Time::ZERO);
    drain(&mut switch);
    // They leave 10 µs apart: the first four within 30 µs. Packets that cannot be marked are not.
    let all = sent(&mut switch);
    let classes: Vec<u8> = all[1].iter().map(|frame| class(frame)).collect();
    assert_eq!(classes, [2, 2, 2, 2, 3, 3, 3, 0, 46 << 2 | 3]);
    assert!(all[1].iter().all(|frame| checksum(&frame[14..34]) == 0));
    let port = &switch.counters(Time::ZERO).ports[1];
    assert_eq!((port.marked, port.marks["sojourn"]), (3, 3), "one came marked");
}

#[test]
fn ipv6_and_tagged_packets_are_marked_and_non_ip_frames_are_not() {
    let mut config = config(2);
    config.marking.set("threshold", "0us").unwrap();
    let mut switch = switch(&config);
    let frames = [
        tagged(0, 0x0800, &ipv4(0, &[0; 100])),
        tagged(1, 0x86DD, &ipv6(0b10, &[0; 100])),
        tagged(2, 0x0800, &ipv4(0b01, &[0; 100])),
        tagged(0, 0x0806, &ipv4(0b10, &[0; 100])),
        tagged(0, 0x0800, &ipv4(0b10, &[0; 100])[..100]),
    ];
    for frame in &frames {
        switch.devices_mut()[0].push(Time::ZERO, frame.clone());
    }
    step(&mut switch, Time::ZERO);
    drain(&mut switch);
    let sent = &sent(&mut switch)[1];
    assert_eq!([&sent[1], &sent[2]].map(|frame| class(frame)), [3, 3]);
    assert_eq!([&sent[0], &sent[3], &sent[4]], [&frames[0], &frames[3], &frames[4]]);
    assert_eq!(switch.counters(Time::ZERO).ports[1].marked, 2);
}

#[test]
fn a_port_may_drop_packets_that_it_cannot_mark() {
    let mut config = config(2);
    config.marking.set("threshold", "0us").unwrap();
    config.options.set("non_ect", "drop").unwrap();
    let mut switch = switch(&config);
    for class in [0b00, 0b00, 0b10] {
        switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, class));
    }
    step(&mut switch, Time::ZERO);
    let end = drain(&mut switch);
    let classes: Vec<u8> = sent(&mut switch)[1].iter().map(|frame| class(frame)).collect();
    assert_eq!(classes, [0, 3]);
    assert_eq!(end, Time::from_us(10), "dropped packets take no time on the wire");
    assert_eq!(switch.counters(end).ports[1].drops["not-capable"], 1);
}

#[test]
fn the_dscp_chooses_the_queue_and_the_scheduler_the_order() {
    let mut config = config(2);
    config.scheduling = sched::Config::named("sp").unwrap();
    config.scheduling.set("queues", "3").unwrap();
    config.dscp.set("queues", "46:0, 10:1").unwrap();
    config.dscp.set("unknown", "last").unwrap();
    let mut switch = switch(&config);
    let dscps = [0, 10, 46, 0, 10, 46];
    for dscp in dscps {
        switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, dscp << 2));
    }
    switch.receive(Time::ZERO);
    drain(&mut switch);
    let order: Vec<u8> = sent(&mut switch)[1].iter().map(|frame| class(frame) >> 2).collect();
    assert_eq!(order, [46, 46, 10, 10, 0, 0]);
    let queues = &switch.counters(Time::ZERO).ports[1].queues;
    assert_eq!(queues.iter().map(|queue| queue.dequeued.packets).collect::<Vec<_>>(), [2, 2, 2]);
}

#[test]
fn packets_leave_at_the_rate_and_a_late_loop_catches_up() {
    let mut switch = switch(&config(2));
    for _ in 0..20 {
        switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, 0));
    }
    step(&mut switch, Time::ZERO);
    assert_eq!(sent(&mut switch)[1].len(), 1);
    assert_eq!(switch.next_departure(), Some(Time::from_us(10)));
    step(&mut switch, Time::from_ps(9_999_999));
    assert_eq!(sent(&mut switch)[1].len(), 0);
    step(&mut switch, Time::from_us(10));
    assert_eq!(sent(&mut switch)[1].len(), 1);
    step(&mut switch, Time::from_us(45));
    assert_eq!(sent(&mut switch)[1].len(), 3);
    let lateness = switch.counters(Time::ZERO).ports[1].lateness;
    assert_eq!((lateness.count, lateness.max_ns / 1_000), (5, 25));
}

#[test]
fn frames_wait_for_a_full_device_and_are_dropped_with_its_link() {
    let mut switch = switch(&config(2));
    for number in 0..6 {
        switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, number << 2));
    }
    switch.devices_mut()[1].room = 0;
    step(&mut switch, Time::ZERO);
    // 30 µs later three more are due, but only the staged one leaves the port: the rest waits in
    // its queue, where schemes see it.
    step(&mut switch, Time::from_us(30));
    assert_eq!(switch.counters(Time::ZERO).ports[1].queues[0].held.packets, 5);
    switch.devices_mut()[1].room = 3;
    step(&mut switch, Time::from_us(30));
    step(&mut switch, Time::from_us(30));
    let order: Vec<u8> = sent(&mut switch)[1].iter().map(|frame| class(frame) >> 2).collect();
    assert_eq!(order, [0, 1, 2]);
    switch.devices_mut()[1].is_up = false;
    switch.maintain(Time::ZERO);
    drain(&mut switch);
    let port = &switch.counters(Time::ZERO).ports[1];
    assert_eq!((port.drops["link-down"], port.held, port.is_up), (3, 0, false));
    switch.devices_mut()[1].is_up = true;
    switch.devices_mut()[1].room = BURST;
    switch.maintain(Time::ZERO);
    switch.devices_mut()[0].push(Time::from_ms(1), frame(1, 2, 0));
    step(&mut switch, Time::from_ms(1));
    assert_eq!(sent(&mut switch)[1].len(), 1);
}

#[test]
fn bursts_are_short_while_packets_wait() {
    let mut switch = switch(&config(2));
    for _ in 0..100 {
        switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, 0));
    }
    assert_eq!(switch.receive(Time::ZERO), BURST);
    assert_eq!(switch.receive(Time::ZERO), SHORT_BURST);
    drain(&mut switch);
    assert_eq!(counts(&switch, |port| port.held), [0, 0]);
    for _ in 0..100 {
        switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, 0));
    }
    assert_eq!(switch.receive(Time::ZERO), BURST);
}

#[test]
fn a_frame_that_a_device_refuses_does_not_hold_up_the_next() {
    let mut switch = switch(&config(2));
    switch.devices_mut()[1].longest = 1249;
    let short = tagged(0, 0x0800, &ipv4(0, &[0; 100]));
    for frame in [&frame(1, 2, 0), &short, &frame(1, 2, 0)] {
        switch.devices_mut()[0].push(Time::ZERO, frame.clone());
    }
    step(&mut switch, Time::ZERO);
    drain(&mut switch);
    assert_eq!(sent(&mut switch)[1], [short]);
    assert_eq!(switch.counters(Time::ZERO).ports[1].drops["refused"], 2);
}

#[test]
fn a_device_that_accepts_a_probe_is_not_stalled() {
    let mut switch = switch(&config(2));
    switch.devices_mut()[1].longest_behind = 1249;
    switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, 0));
    step(&mut switch, Time::ZERO);
    drain(&mut switch);
    assert!(counts(&switch, |port| port.stalled_ns)[1] > 0);
    switch.maintain(Time::from_secs(3));
    assert_eq!(counts(&switch, |port| port.stalled_ns), [0, 0]);
}

#[test]
fn stations_behind_a_link_that_went_down_are_flooded_again() {
    let mut switch = switch(&config(3));
    let at = Time::from_us(100);
    switch.devices_mut()[1].push(at, frame(2, 255, 0));
    step(&mut switch, at);
    switch.devices_mut()[1].is_up = false;
    switch.maintain(Time::ZERO);
    assert_eq!(switch.counters(at).stations, 0);
    drain(&mut switch);
    sent(&mut switch);
    switch.devices_mut()[0].push(Time::from_ms(1), frame(1, 2, 0));
    step(&mut switch, Time::from_ms(1));
    assert_eq!(sent(&mut switch)[2].len(), 1);
}

#[test]
fn ports_share_a_pool() {
    let mut config = config(3);
    config.buffer = buffer::Config::named("dynamic-threshold").unwrap();
    for (field, value) in [("pool_size", "10KB"), ("reserve_size", "0B"), ("alpha", "1")] {
        config.buffer.set(field, value).unwrap();
    }
    let mut switch = switch(&config);
    for (port, station) in [(0, 1), (1, 2), (2, 3)] {
        switch.devices_mut()[port].push(Time::ZERO, frame(station, station, 0));
    }
    step(&mut switch, Time::ZERO);
    // One queue alone may hold half of the pool: 4 packets; two may hold a third each: 2 packets.
    let flow = |switch: &mut Switch<Memory>, to| {
        for _ in 0..20 {
            switch.devices_mut()[0].push(Time::ZERO, frame(1, to, 0));
        }
        while switch.receive(Time::ZERO) > 0 {}
    };
    flow(&mut switch, 2);
    let held = |switch: &Switch<Memory>| counts(switch, |port| port.held);
    assert_eq!(held(&switch), [0, 4, 0]);
    flow(&mut switch, 3);
    assert_eq!(held(&switch), [0, 4, 2]);
    assert_eq!(counts(&switch, PortCounters::dropped), [0, 16, 18]);
}

#[test]
fn a_switch_without_free_slots_drops_and_recovers() {
    let mut config = config(3);
    config.options.frames = 4;
    let mut switch = switch(&config);
    for _ in 0..10 {
        switch.devices_mut()[0].push(Time::ZERO, frame(1, 255, 0));
    }
    switch.receive(Time::ZERO);
    let counters = switch.counters(Time::ZERO);
    assert_eq!(counters.imbalance(), 0);
    let lost = |port: &PortCounters| port.drops.get("no-memory").copied().unwrap_or(0);
    assert_eq!(counts(&switch, lost), [0, 8, 8], "counted at the egress port");
    drain(&mut switch);
    assert_eq!(switch.core.store.held(), 0);
    switch.devices_mut()[0].push(Time::from_ms(1), frame(1, 255, 0));
    sent(&mut switch);
    step(&mut switch, Time::from_ms(1));
    assert_eq!(sent(&mut switch)[2].len(), 1);
}

#[test]
fn no_packet_overtakes_another_of_its_queue() {
    let mut config = config(2);
    config.scheduling = sched::Config::named("dwrr").unwrap();
    config.scheduling.set("quanta", "1500, 3000, 4500").unwrap();
    let mut switch = switch(&config);
    let mut rng = Rng::new(1, 0);
    let (mut numbers, mut expected) = ([0_u32; 3], 0);
    let mut now = Time::ZERO;
    for _ in 0..20_000 {
        now += Span::from_ns(u64::from(rng.next_u32() % 14_000));
        let queue = (rng.next_u32() % 3) as u8;
        let mut frame = frame(1, 2, queue << 2 | 0b10);
        frame[100..104].copy_from_slice(&numbers[usize::from(queue)].to_be_bytes());
        numbers[usize::from(queue)] += 1;
        switch.devices_mut()[0].push(now, frame);
        // A loop that is occasionally late.
        if !rng.next_u32().is_multiple_of(8) {
            step(&mut switch, now);
        }
    }
    step(&mut switch, now);
    drain(&mut switch);
    let mut last = [None; 3];
    for frame in &sent(&mut switch)[1] {
        let number = u32::from_be_bytes(frame[100..104].try_into().unwrap());
        let last = &mut last[usize::from(class(frame) >> 2)];
        assert!(last.is_none_or(|last| last < number));
        *last = Some(number);
        expected += 1;
    }
    let port = &switch.counters(now).ports[1];
    assert_eq!(port.sent.packets, expected);
    assert!(port.dropped() > 0 && port.marked > 0, "{port:?}");
}

#[test]
fn every_scheme_can_take_over_while_packets_wait() {
    let mut config = config(2);
    config.scheduling = sched::Config::named("dwrr").unwrap();
    config.scheduling.set("quanta", "1500, 1500").unwrap();
    let mut refused = Vec::new();
    for name in mark::Config::NAMES {
        let mut switch = switch(&config);
        for number in 0..40 {
            switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, (number % 2) << 2 | 0b10));
        }
        switch.receive(Time::ZERO);
        let marking = mark::Config::named(name).unwrap();
        if switch.set_marking(&marking).is_err() {
            refused.push(*name);
        }
        for number in 0..40 {
            let at = Time::from_us(number * 13);
            switch.devices_mut()[0].push(at, frame(1, 2, 0b10));
            step(&mut switch, at);
        }
        drain(&mut switch);
        let counters = switch.counters(Time::ZERO);
        assert_eq!(counters.imbalance(), 0);
        assert_eq!(sent(&mut switch)[1].len(), 80, "{name}: packets were dropped");
    }
    // These schemes need a queue for each flow.
    assert_eq!(refused, ["diff-ecn", "ideal-share", "per-flow-tcn"]);
}

#[test]
fn a_refused_scheme_changes_nothing() {
    let mut config = config(2);
    config.marking.set("threshold", "0us").unwrap();
    let mut switch = switch(&config);
    // A scheme with rounds needs a scheduler with rounds.
    let refused = mark::Config::named("mq-ecn").unwrap();
    assert!(switch.set_marking(&refused).is_err());
    for _ in 0..2 {
        switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, 0b10));
    }
    step(&mut switch, Time::ZERO);
    drain(&mut switch);
    assert_eq!(switch.counters(Time::ZERO).ports[1].marked, 1);
}

#[test]
fn bytes_are_counted_as_they_came_and_went() {
    let mut switch = switch(&config(2));
    switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, 0));
    step(&mut switch, Time::ZERO);
    let counters = switch.counters(Time::ZERO);
    let one = Amount { packets: 1, bytes: 1250 };
    assert_eq!((counters.ports[0].received, counters.ports[1].sent), (one, one));
}

#[test]
fn an_emulated_cable_delays_frames_and_counts_them_as_held() {
    let mut config = config(2);
    config.ports[0].uplink = Some(Rate::from_gbps(1));
    config.ports[0].delay = Span::from_us(100);
    let mut switch = switch(&config);
    for _ in 0..2 {
        switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, 0));
    }
    step(&mut switch, Time::ZERO);
    assert_eq!(switch.counters(Time::ZERO).ports[0].held, 2);
    assert_eq!(switch.next_departure(), Some(Time::from_us(110)));
    step(&mut switch, Time::from_us(109));
    assert_eq!(switch.devices()[1].sent.len(), 0);
    step(&mut switch, Time::from_us(110));
    assert_eq!(switch.devices()[1].sent.len(), 1);
    assert_eq!(drain(&mut switch), Time::from_us(120));
    assert_eq!(switch.devices()[1].sent.len(), 2);
}

#[test]
fn observations_are_limited_to_the_window() {
    let mut config = config(2);
    config.marking.set("threshold", "15us").unwrap();
    let mut switch = switch(&config);
    switch.observe(Window { from: Time::from_us(10), to: Time::from_us(30) });
    // Five packets at once, 10 µs each, of which four wait, then three and so on.
    for _ in 0..5 {
        switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, 2));
    }
    step(&mut switch, Time::ZERO);
    drain(&mut switch);
    let seen = switch.observed(Time::from_us(100)).remove(1);
    assert_eq!((seen.span, seen.packets()), (Span::from_us(20), 2));
    assert_eq!(seen.bytes(), 2_500);
    let queue = &seen.queues[0];
    // Three packets for 10 µs and two for 10 µs.
    assert_eq!(queue.packets.sum(), 50_000_000);
    assert_eq!(queue.packets.total(), 20_000_000);
    let median = queue.packets.percentile(Ratio::new(1, 2).unwrap());
    assert_eq!((queue.packets.max(), median), (3, Some(2)));
    assert_eq!(queue.bytes.sum(), 50_000_000 * 1_250);
    // The packets that left at 10 and 20 µs; the second waited longer than the threshold.
    assert_eq!((queue.sent(), queue.waits.sum()), (2, 30_000_000));
    assert_eq!(queue.sent_bytes, 2_500);
    let marks: u64 = tidegate_dataplane::Rule::ALL.iter().map(|&rule| queue.marks(rule)).sum();
    assert_eq!(marks, 1);
}
