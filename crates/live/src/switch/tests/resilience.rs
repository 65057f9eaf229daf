//! Events that must not stop a port: oversized frames, devices that accept nothing, storms, unknown
//! stations and loops.

use super::*;

/// Steps every microsecond for this time.
fn run_for(switch: &mut Switch<Memory>, from: Time, span: Span) {
    let mut now = from;
    while now < from + span {
        step(switch, now);
        now += Span::from_us(1);
    }
}

#[test]
fn a_frame_too_long_for_a_receiver_stops_no_port() {
    let mut switch = switch(&config(3));
    let short = tagged(0, 0x0800, &ipv4(0, &[0; 100]));
    for device in &mut switch.devices_mut()[1..] {
        device.longest_behind = 1_000;
    }
    for _ in 0..3 {
        switch.devices_mut()[0].push(Time::ZERO, frame(1, 255, 0));
        switch.devices_mut()[0].push(Time::ZERO, short.clone());
    }
    run_for(&mut switch, Time::ZERO, Span::from_us(200));
    let sent = sent(&mut switch);
    assert_eq!(sent[1], [short.clone(), short.clone(), short.clone()]);
    assert_eq!(sent[1], sent[2]);
    let port = &switch.counters(Time::ZERO).ports[1];
    assert_eq!((port.drops["no-buffer"], port.held), (3, 0));
    assert_eq!(port.stalled_ns, 0, "the last frame was sent");
}

#[test]
fn a_stalled_device_is_reported_and_its_frames_are_given_up() {
    let mut switch = switch(&config(2));
    switch.devices_mut()[1].room = 0;
    switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, 0));
    step(&mut switch, Time::ZERO);
    let mut tries = 0;
    while let Some(next) = switch.next_departure() {
        tries += 1;
        step(&mut switch, next.max(Time::from_us(tries)));
    }
    assert!(tries < 2_000, "{tries}");
    let port = &switch.counters(Time::ZERO).ports[1];
    assert_eq!((port.drops["stalled"], port.held), (1, 0));
    assert!(port.stalled_ns >= 1_000_000_000, "{}", port.stalled_ns);
}

#[test]
fn storms_are_limited_and_frames_to_known_stations_are_not() {
    let mut config = config(3);
    config.options.frames = 4_096;
    config.buffer.set("limit", "3MB").unwrap();
    config.options.broadcast_limit = Some(100);
    config.options.multicast_limit = Some(200);
    config.options.unknown_limit = Some(300);
    let mut switch = switch(&config);
    switch.devices_mut()[1].push(Time::ZERO, frame(2, 2, 0));
    step(&mut switch, Time::ZERO);
    let mut group = frame(1, 2, 0);
    group[..6].copy_from_slice(&[1, 0, 0x5E, 0, 0, 1]);
    let before = switch.counters(Time::ZERO).ports[1].queues[0].enqueued.packets;
    for _ in 0..500 {
        for frame in [&frame(1, 255, 0), &group, &frame(1, 77, 0), &frame(1, 2, 0)] {
            switch.devices_mut()[0].push(Time::ZERO, frame.clone());
        }
    }
    step(&mut switch, Time::ZERO);
    let counters = switch.counters(Time::ZERO);
    let drops = &counters.ports[0].drops;
    // A tenth of a second's frames pass at once, and one that starts.
    assert_eq!(
        ["broadcast-storm", "multicast-storm", "unknown-storm"].map(|reason| drops[reason]),
        [500 - 11, 500 - 21, 500 - 31]
    );
    let after = counters.ports[1].queues[0].enqueued.packets;
    assert_eq!(after - before, 500 + 11 + 21 + 31);
}

#[test]
fn a_flood_to_a_slow_port_leaves_slots_to_others() {
    let mut config = config(3);
    config.buffer.set("limit", "100MB").unwrap();
    config.ports[1].rate = Rate::from_bps(1_000_000).unwrap();
    let mut switch = switch(&config);
    for (port, station) in [(1, 2), (2, 3)] {
        switch.devices_mut()[port].push(Time::ZERO, frame(station, 255, 0));
    }
    step(&mut switch, Time::ZERO);
    for number in 0..10_000 {
        switch.devices_mut()[0].push(Time::from_us(number), frame(1, 2, 0));
        if number.is_multiple_of(20) {
            switch.devices_mut()[0].push(Time::from_us(number), frame(1, 3, 0));
        }
    }
    run_for(&mut switch, Time::ZERO, Span::from_ms(11));
    let ports = switch.counters(Time::ZERO).ports;
    assert!(ports[1].drops["no-memory"] > 9_000);
    assert!(ports[2].drops.is_empty(), "{:?}", ports[2].drops);
    assert_eq!(ports[2].sent.packets, 501, "all, and the broadcast");
}

#[test]
fn station_above_the_limit_is_neither_learned_nor_forwarded() {
    let mut config = config(2);
    config.ports[0].stations = Some(2);
    let mut switch = switch(&config);
    for from in [1, 2, 3, 1] {
        switch.devices_mut()[0].push(Time::ZERO, frame(from, 255, 0));
    }
    step(&mut switch, Time::ZERO);
    let ports = switch.counters(Time::ZERO).ports;
    assert_eq!((ports[0].drops["station-limit"], ports[0].stations), (1, 2));
    drain(&mut switch);
    assert_eq!(sent(&mut switch)[1].len(), 3);
}

/// Three broadcasts where two switches are connected by two cables, for a tenth of a second.
/// Returns the number of frames received at a port of the first.
fn melt(limit: Option<u32>) -> u64 {
    let mut config = config(3);
    config.options.broadcast_limit = limit;
    let mut switches = [switch(&config), switch(&config)];
    for _ in 0..3 {
        switches[0].devices_mut()[0].push(Time::ZERO, frame(1, 255, 0));
    }
    let mut now = Time::ZERO;
    while now < Time::from_ms(100) {
        for switch in &mut switches {
            step(switch, now);
        }
        for port in [1, 2] {
            let taken = [0, 1]
                .map(|which: usize| std::mem::take(&mut switches[which].devices_mut()[port].sent));
            for (frames, other) in taken.into_iter().zip([1, 0]) {
                for frame in frames {
                    switches[other].devices_mut()[port].push(now, frame);
                }
            }
        }
        now += Span::from_us(5);
    }
    counts(&switches[0], |port| port.queues[0].enqueued.packets)[0]
}

#[test]
fn a_storm_in_a_loop_is_limited() {
    // The wire carries 10,000 of these frames in a tenth of a second.
    let unlimited = melt(None);
    assert!(unlimited > 9_000, "{unlimited}");
    // At most a tenth of a second's frames at once from each of two ports, and as many meanwhile:
    // each dropped frame is one less that circulates.
    let limited = melt(Some(1_000));
    assert!((100..=404).contains(&limited), "{limited}");
}

/// Carries the frames of each of two ports of a switch to the other, like a cable between them.
fn carry(switch: &mut Switch<Memory>, ports: [usize; 2], now: Time) {
    let frames = ports.map(|port| std::mem::take(&mut switch.devices_mut()[port].sent));
    for (frames, port) in frames.into_iter().zip([ports[1], ports[0]]) {
        for frame in frames {
            switch.devices_mut()[port].push(now, frame);
        }
    }
}

/// A switch of three ports, the last two of which are connected by a cable for a second.
fn looped(on_loop: OnLoop) -> (Switch<Memory>, Time) {
    let mut config = config(3);
    config.options.on_loop = on_loop;
    config.options.broadcast_limit = None;
    config.options.probe_every = Span::from_ms(100);
    let mut switch = switch(&config);
    let mut now = Time::ZERO;
    for number in 0..10_000 {
        now = Time::from_us(number * 100);
        if number.is_multiple_of(100) {
            switch.maintain(now);
        }
        if number == 0 {
            switch.devices_mut()[0].push(now, frame(1, 255, 0));
        }
        step(&mut switch, now);
        carry(&mut switch, [1, 2], now);
    }
    (switch, now)
}

#[test]
fn a_loop_is_found_by_its_own_frames() {
    let (mut switch, now) = looped(OnLoop::Report);
    let found = switch.take_loop().unwrap();
    assert_eq!((found.from.0 + found.to.0, found.blocked), (3, None));
    assert_eq!(switch.take_loop(), None, "once");
    let ports = switch.counters(now).ports;
    assert!(ports[1].is_looping && ports[2].is_looping && !ports[0].is_looping);
    assert!(ports[1].loops > 5 && ports[1].probes > 5 && !ports[1].is_blocked);
    // The broadcast circulated until the loop was found: 10,000 times a second.
    let sent = ports[0].sent.packets;
    assert!(sent < 3_000 && ports[2].drops["loop-storm"] > 0, "{sent}");

    // A frame that comes back from a station at another port no longer misplaces it.
    for step_number in 0..20 {
        let at = now + Span::from_us(step_number);
        if step_number == 0 {
            switch.devices_mut()[0].push(at, frame(1, 255, 0));
        }
        step(&mut switch, at);
        carry(&mut switch, [1, 2], at);
    }
    assert_eq!(switch.counters(now).ports[0].stations, 1);

    // Frames between stations behind both ports may be circulating.
    let later = now + Span::from_ms(50);
    for (port, station) in [(1, 5), (2, 6)] {
        switch.devices_mut()[port].push(later, frame(station, station, 0));
    }
    for _ in 0..100 {
        switch.devices_mut()[1].push(later, frame(5, 6, 0));
    }
    let before = switch.counters(later).ports[1].drops["loop-storm"];
    step(&mut switch, later);
    let lost = switch.counters(later).ports[1].drops["loop-storm"] - before;
    assert!((88..=100).contains(&lost), "{lost}");
}

#[test]
fn one_port_is_blocked_until_the_loop_is_gone() {
    let (mut switch, now) = looped(OnLoop::Block);
    assert_eq!(switch.take_loop().unwrap().blocked, Some(PortId(2)));
    let ports = switch.counters(now).ports;
    assert_eq!([0, 1, 2].map(|port: usize| ports[port].is_blocked), [false, false, true]);
    assert!(ports[2].drops["blocked"] > 0);
    // No frame circulates any more.
    let before = switch.counters(now).ports[0].sent.packets;
    switch.devices_mut()[1].push(now, frame(9, 255, 0));
    step(&mut switch, now);
    drain(&mut switch);
    let ports = switch.counters(now).ports;
    assert_eq!(ports[0].sent.packets, before + 1);
    // The cable is removed.
    let later = now + Span::from_secs(1);
    switch.maintain(later);
    let ports = switch.counters(later).ports;
    assert!(ports.iter().all(|port| !port.is_blocked && !port.is_looping));
}

#[test]
fn every_loop_and_every_blocked_port_is_reported() {
    const NOW: Time = Time::from_secs(3);
    let found = |pairs: &[[usize; 2]], ports| {
        let mut config = config(ports);
        config.options.on_loop = OnLoop::Block;
        let mut switch = switch(&config);
        switch.maintain(NOW);
        step(&mut switch, NOW);
        let sent = sent(&mut switch);
        for &[from, to] in pairs {
            for frame in &sent[from] {
                switch.devices_mut()[to].push(NOW, frame.clone());
            }
        }
        step(&mut switch, NOW);
        let blocked = std::iter::from_fn(|| switch.take_loop()?.blocked);
        let told: Vec<u16> = blocked.map(|port| port.0).collect();
        let counters = switch.counters(NOW);
        let really = counters.ports.iter().zip(0..).filter(|(port, _)| port.is_blocked);
        (told, really.map(|(_, number)| number).collect::<Vec<u16>>())
    };
    // Two cables, and three ports at one hub.
    assert_eq!(found(&[[0, 1], [2, 3]], 4), (vec![1, 3], vec![1, 3]));
    assert_eq!(found(&[[0, 1], [0, 2]], 3), (vec![1, 2], vec![1, 2]));
}

#[test]
fn loops_are_not_detected_if_they_are_ignored() {
    let (mut switch, now) = looped(OnLoop::Ignore);
    assert_eq!(switch.take_loop(), None);
    let ports = switch.counters(now).ports;
    assert!(ports.iter().all(|port| port.probes == 0 && port.loops == 0));
}

#[test]
fn schemes_are_replaced_by_prepared_ones() {
    let mut config = config(2);
    let mut switch = switch(&config);
    config.marking.set("threshold", "1ps").unwrap();
    let mut markers = Markers::new(&config).unwrap();
    switch.swap_markers(&mut markers);
    for _ in 0..2 {
        switch.devices_mut()[0].push(Time::ZERO, frame(1, 2, 0b10));
    }
    step(&mut switch, Time::ZERO);
    drain(&mut switch);
    assert_eq!(switch.counters(Time::ZERO).ports[1].marked, 1);
}
