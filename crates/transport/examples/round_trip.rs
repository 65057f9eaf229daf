//! The cost of a data segment and its ACK: moves segments between two endpoints without loss.
//!
//! Count instructions with `valgrind --tool=callgrind` (or `perf stat -e instructions:u` where the
//! machine lets you) for two numbers of segments, and divide the difference. The count includes
//! the queue of this program, about 100 instructions per segment.
//!
//! ```text
//! round_trip RULE SEGMENTS
//! ```

use std::collections::VecDeque;

use tidegate_transport::{Config, Endpoint, Seq, window};
use tidegate_units::{Size, Span, Time};

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
        max_window: Some(Size::Packets(64)),
        ..Config::default()
    };
    let mut client = Endpoint::established(&config, &rule, Seq(0), Seq(0)).expect("defaults");
    let mut server = Endpoint::established(&config, &rule, Seq(0), Seq(0)).expect("defaults");
    let mut now = Time::ZERO;
    client.write(segments * 1460, now);
    // A window of segments is on the way at any time; each is acknowledged as it arrives.
    let mut pipe = VecDeque::with_capacity(64);
    while client.acked() < segments * 1460 {
        while let Some(segment) = client.poll_segment(now) {
            pipe.push_back(segment);
        }
        let data = pipe.pop_front().expect("the window is in use");
        now += Span::from_us(1);
        server.on_segment(&data, now);
        let ack = server
            .poll_segment(now)
            .expect("every segment is acknowledged");
        client.on_segment(&ack, now);
    }
}
