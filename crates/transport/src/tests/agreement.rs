//! What the two ends agree on in the handshake, and what follows from it.

use alloc::vec::Vec;

use tidegate_units::{Size, Time};

use crate::config::Config;
use crate::seq::Seq;
use crate::{Endpoint, Segment, window};

const T: Time = Time::ZERO;

fn config() -> Config {
    Config {
        mss: 1000,
        ..Config::default()
    }
}

fn rule(name: &str) -> window::Config {
    window::Config::named(name).unwrap()
}

fn poll(endpoint: &mut Endpoint, now: Time) -> Vec<Segment> {
    let mut segments = Vec::new();
    while let Some(segment) = endpoint.poll_segment(now) {
        endpoint.check();
        segments.push(segment);
    }
    segments
}

/// A client and a server after their handshake.
fn connect(client: &Config, server: &Config, name: &str) -> [Endpoint; 2] {
    let mut client = Endpoint::connect(client, &rule(name), Seq(0)).unwrap();
    let mut server = Endpoint::listen(server, &rule(name), Seq(0)).unwrap();
    server.on_segment(&poll(&mut client, T)[0], T);
    client.on_segment(&poll(&mut server, T)[0], T);
    server.on_segment(&poll(&mut client, T)[0], T);
    [client, server]
}

#[test]
fn a_largest_window_in_packets_is_one_of_the_agreed_size() {
    let ours = Config {
        max_window: Some(Size::Packets(12)),
        ..config()
    };
    let theirs = Config {
        mss: 100,
        ..config()
    };
    let [mut client, mut server] = connect(&ours, &theirs, "reno");
    client.write(100_000, T);
    for _ in 0..3 {
        for segment in poll(&mut client, T) {
            server.on_segment(&segment, T);
            for ack in poll(&mut server, T) {
                client.on_segment(&ack, T);
            }
        }
    }
    assert_eq!(client.window(), 12 * 100);
    assert_eq!(poll(&mut client, T).len(), 12);
}
