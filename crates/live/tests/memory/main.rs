//! The switch on devices in memory: its invariants under any input, and its agreement with the
//! simulator.

#![expect(clippy::unwrap_used, reason = "a failing helper fails the test")]

mod agreement;
mod faults;
mod no_allocation;

use tidegate_live::Config;
use tidegate_live::config::PortSettings;
use tidegate_units::{Rate, Rng};

/// A switch with ports of 1 Gb/s.
fn config(ports: u16) -> Config {
    let mut config = Config::new();
    config.ports = (0..ports)
        .map(|port| PortSettings::new(format!("port{port}"), Rate::from_gbps(1)))
        .collect();
    config
}

/// An IPv4 packet with this class byte in a frame of `len` bytes, from and to the stations of these
/// ports.
fn frame(from: u16, to: u16, class: u8, len: usize) -> Vec<u8> {
    let mut frame = vec![0; len.max(42)];
    let ip_len = (frame.len() - 14) as u16;
    frame[..6].copy_from_slice(&station(to));
    frame[6..12].copy_from_slice(&station(from));
    frame[12..16].copy_from_slice(&[8, 0, 0x45, class]);
    frame[16..18].copy_from_slice(&ip_len.to_be_bytes());
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, from as u8, 10, 0, 0, to as u8]);
    frame
}

/// Address of the station at a port.
fn station(port: u16) -> [u8; 6] {
    [2, 0, 0, 0, 0, port as u8 + 1]
}

/// A frame from the station at a port from which every switch learns and which none forwards.
fn hello(port: u16) -> Vec<u8> {
    let mut hello = frame(port, 0, 0, 60);
    hello[..6].copy_from_slice(&[0x01, 0x80, 0xC2, 0, 0, 0x0E]);
    hello
}

fn below(rng: &mut Rng, limit: u32) -> u32 {
    rng.next_u32() % limit
}
