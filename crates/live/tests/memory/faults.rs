//! A million invalid frames of all kinds: none stops the switch, and none is lost without a reason.

use tidegate_live::Switch;
use tidegate_live::device::memory::Memory;
use tidegate_live::frame::parse;
use tidegate_units::{Ecn, Rng, Span, Time};

use super::{below, config, frame};

/// A divisor of the number of frames between two checks, so that all are checked in the end.
const FRAMES: u32 = 1_000_000;
const PORTS: u16 = 4;

#[test]
fn a_million_random_frames_are_all_accounted_for() {
    let mut config = config(PORTS);
    config.options.frames = 512;
    config.options.addresses = 64;
    config.options.multicast_limit = Some(10_000);
    config.options.unknown_limit = Some(20_000);
    config.marking.set("threshold", "20us").unwrap();
    let devices = vec![Memory::new(); usize::from(PORTS)];
    let mut switch = Switch::new(&config, devices).unwrap();
    let mut rng = Rng::new(1, 0);
    let mut now = Time::ZERO;
    let (mut sent, mut marked) = (0, 0);
    for number in 0..FRAMES {
        let port = below(&mut rng, u32::from(PORTS)) as usize;
        let frame = garbage(&mut rng);
        switch.devices_mut()[port].push(now, frame);
        now += Span::from_ns(u64::from(below(&mut rng, 4_000)));
        if number % 16 == 15 {
            disturb(&mut rng, &mut switch);
            switch.maintain(now);
            while switch.receive(now) > 0 {}
            switch.transmit(now);
            for device in switch.devices_mut() {
                let is_marked = |frame: &Vec<u8>| {
                    parse(frame).unwrap().ip.is_some_and(|ip| ip.ecn() == Ecn::Ce)
                };
                sent += device.sent.len() as u64;
                marked += device.sent.iter().filter(|frame| is_marked(frame)).count() as u64;
                device.sent.clear();
            }
        }
    }
    let counters = switch.counters(now);
    assert_eq!(counters.imbalance(), 0);
    let total = |of: fn(&tidegate_live::counters::PortCounters) -> u64| {
        counters.ports.iter().map(of).sum::<u64>()
    };
    assert_eq!(total(|port| port.received.packets), u64::from(FRAMES));
    assert_eq!(total(|port| port.sent.packets), sent);
    assert!(marked >= total(|port| port.marked));
    // Asserts that every event occurred.
    assert!(total(|port| port.marked) > 0 && total(|port| port.filtered) > 0);
    for reason in [
        "runt",
        "oversized",
        "no-memory",
        "no-buffer",
        "link-down",
        "multicast-storm",
        "unknown-storm",
        "refused",
        "port-full",
    ] {
        let happened = counters.ports.iter().any(|port| port.drops.contains_key(reason));
        assert!(happened, "{reason}");
    }
    assert!(counters.evicted > 0 && counters.moved > 0 && counters.stations <= 64);
}

/// Takes links down and up, and lets devices run out of room and refuse long frames.
fn disturb(rng: &mut Rng, switch: &mut Switch<Memory>) {
    let port = below(rng, u32::from(PORTS)) as usize;
    let device = &mut switch.devices_mut()[port];
    device.is_up = below(rng, 8) > 0;
    device.room = [usize::MAX, usize::MAX, 3, 0][below(rng, 4) as usize];
    device.longest = [1_518, 1_518, 700][below(rng, 3) as usize];
    device.longest_behind = [1_518, 1_518, 600][below(rng, 3) as usize];
}

/// A frame of random bytes, or a valid one with random damage, truncated or extended.
fn garbage(rng: &mut Rng) -> Vec<u8> {
    let len = [below(rng, 100), below(rng, 1_600), below(rng, 2_200)][below(rng, 3) as usize];
    let mut bytes = vec![0; len as usize];
    for chunk in bytes.chunks_mut(8) {
        let word = rng.next_u64().to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
    if below(rng, 4) == 0 {
        return bytes;
    }
    let stations = [below(rng, 40), below(rng, 40)].map(|station| station as u16);
    let mut good = frame(stations[0], stations[1], below(rng, 256) as u8, len as usize);
    if below(rng, 4) == 0 {
        // One or several tags.
        let tag = [[0x81, 0, 0, 5], [0x88, 0xA8, 0, 6]][below(rng, 2) as usize];
        for _ in 0..=below(rng, 3) {
            good.splice(12..12, tag);
        }
    }
    if below(rng, 4) == 0 {
        // As IPv6, complete if it is long enough.
        let len = good.len();
        good[12..15].copy_from_slice(&[0x86, 0xDD, 0x6F]);
        let payload = (len.saturating_sub(54) as u16).to_be_bytes();
        good[18..20].copy_from_slice(&payload);
    }
    for _ in 0..below(rng, 3) {
        let at = below(rng, 60) as usize % good.len();
        good[at] = rng.next_u32() as u8;
    }
    good.truncate(below(rng, 4_000) as usize);
    good
}
