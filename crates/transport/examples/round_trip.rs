//! The cost of a data segment and its ACK: moves segments between two endpoints without loss.
//!
//! Count instructions with `perf stat -e instructions:u`, or `valgrind --tool=none` in a pinch, for
//! two numbers of segments, and divide the difference.
//!
//! ```text
//! round_trip RULE SEGMENTS
//! ```

use tidegate_transport::{Config, Endpoint, Seq, window};
use tidegate_units::{Span, Time};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "dctcp".into());
    let segments: u64 = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(100_000);
    let rule = window::Config::named(&name).expect("a window rule by name");
    let config = Config {
        delayed_ack: 1,
        ..Config::default()
    };
    let mut client = Endpoint::established(&config, &rule, Seq(0), Seq(0)).expect("defaults");
    let mut server = Endpoint::established(&config, &rule, Seq(0), Seq(0)).expect("defaults");
    let mut now = Time::ZERO;
    let mut left = segments;
    while left > 0 {
        // One message of one segment at a time: one data segment, one ACK.
        client.write(1460, now);
        let data = client.poll_segment(now).expect("room for one segment");
        now += Span::from_us(10);
        server.on_segment(&data, now);
        let ack = server
            .poll_segment(now)
            .expect("every segment is acknowledged");
        now += Span::from_us(10);
        client.on_segment(&ack, now);
        left -= 1;
    }
    assert_eq!(client.acked(), segments * 1460);
}
