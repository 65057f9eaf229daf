//! Random frames through the live switch on devices in memory: the switch never panics, every lost
//! frame has a reason, and only the two ECN bits and their checksum change.

use tidegate_live::config::PortSettings;
use tidegate_live::device::memory::Memory;
use tidegate_live::frame::{self, Version};
use tidegate_live::{Config, Counters, Switch};
use tidegate_units::{Rate, Span, Time};

const PORTS: usize = 3;

/// Takes frames from `bytes`, each after a byte for its port and the time since the previous one,
/// and a byte for a quarter of its length. The error names the violated property.
pub fn check(mut bytes: &[u8]) -> Result<(), String> {
    let mut config = Config::new();
    config.ports = (0..PORTS)
        .map(|port| PortSettings::new(format!("port{port}"), Rate::from_gbps(1)))
        .collect();
    config.options.frames = 16;
    config.options.frame_size = 512;
    config.options.addresses = 8;
    config.marking.set("threshold", "1us").map_err(|error| error.to_string())?;
    let made = Switch::new(&config, vec![Memory::new(); PORTS]);
    let mut switch = made.map_err(|error| error.to_string())?;
    let mut frames: Vec<&[u8]> = Vec::new();
    let mut now = Time::ZERO;
    while let Some((&[head, len], rest)) = bytes.split_first_chunk() {
        let (frame, rest) = rest.split_at(rest.len().min(usize::from(len) * 4));
        now += Span::from_us(u64::from(head >> 2));
        let device = &mut switch.devices_mut()[usize::from(head & 3) % PORTS];
        device.push(now, frame.to_vec());
        frames.push(frame);
        bytes = rest;
        if head & 4 == 0 {
            step(&mut switch, &frames, now)?;
        }
    }
    step(&mut switch, &frames, now)?;
    // Not at each step: quantiles of times would dominate the run time.
    balanced(&switch.counters(now))?;
    while let Some(next) = switch.next_departure() {
        now = now.max(next);
        step(&mut switch, &frames, now)?;
    }
    let counters = switch.counters(now);
    balanced(&counters)?;
    let held: u64 = counters.ports.iter().map(|port| port.held).sum();
    if held > 0 {
        return Err(format!("{held} frames never leave"));
    }
    Ok(())
}

fn step(switch: &mut Switch<Memory>, frames: &[&[u8]], now: Time) -> Result<(), String> {
    while switch.receive(now) > 0 {}
    switch.transmit(now);
    for device in switch.devices_mut() {
        for sent in device.sent.drain(..) {
            if !frames.iter().any(|frame| is_same(frame, &sent)) {
                return Err(format!("{sent:02x?} left but never arrived"));
            }
        }
    }
    Ok(())
}

fn balanced(counters: &Counters) -> Result<(), String> {
    match counters.imbalance() {
        0 => Ok(()),
        surplus => Err(format!("{surplus} frames too many: {counters:?}")),
    }
}

/// Whether `sent` is `frame`, marked or unmarked.
fn is_same(frame: &[u8], sent: &[u8]) -> bool {
    if frame == sent {
        return true;
    }
    let Some(ip) = frame::parse(frame).and_then(|facts| facts.ip) else {
        return false;
    };
    let class = usize::from(ip.offset) + 1;
    let may_change = |at: usize| {
        at == class || ip.version == Version::V4 && (at == class + 9 || at == class + 10)
    };
    let mut pairs = frame.iter().zip(sent).enumerate();
    let is_marked = frame::parse(sent).and_then(|facts| facts.ip);
    is_marked.is_some_and(|marked| marked.class == ip.class | 0b11)
        && ip.ecn().is_capable()
        && frame.len() == sent.len()
        && pairs.all(|(at, (a, b))| a == b || may_change(at))
}
