//! Guard rails: memory per connection, and no allocation per segment once warm.

use tidegate_harness::allocation::{self, Counting};
use tidegate_transport::{Config, Endpoint, Seq, cc};
use tidegate_units::{Size, Span, Time};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Moves `messages` messages of 100 KB, losing every 50th segment.
fn run(client: &mut Endpoint, server: &mut Endpoint, now: &mut Time, messages: u32) {
    let mut count = 0_u32;
    for _ in 0..messages {
        client.write(100_000, *now);
        while client.acked() < client.written() {
            *now += Span::from_us(10);
            let mut quiet = true;
            while let Some(segment) = client.poll_segment(*now) {
                quiet = false;
                count += 1;
                if !count.is_multiple_of(50) {
                    server.on_segment(&segment, *now);
                }
            }
            while let Some(segment) = server.poll_segment(*now) {
                quiet = false;
                client.on_segment(&segment, *now);
            }
            if quiet {
                let next = [client.poll_timeout(), server.poll_timeout()].into_iter().flatten();
                *now = next.min().expect("something is outstanding").max(*now);
                client.on_timeout(*now);
                server.on_timeout(*now);
            }
        }
    }
}

#[test]
fn a_warm_connection_does_not_allocate_and_a_fresh_one_is_small() {
    assert!(size_of::<Endpoint>() <= 904, "{} bytes", size_of::<Endpoint>());
    let config = Config {
        rto_min: Span::from_ms(1),
        // Bounds the number of holes, and with it the memory of a warm connection.
        max_window: Some(Size::Packets(64)),
        ..Config::default()
    };
    for name in cc::Config::NAMES {
        let cc = cc::Config::named(name).expect("a rule of the list");
        let mut client = Endpoint::established(&config, &cc, Seq(0), Seq(0)).expect("defaults");
        let mut server = Endpoint::established(&config, &cc, Seq(0), Seq(0)).expect("defaults");
        let before = allocation::count();
        let mut fresh = Endpoint::established(&config, &cc, Seq(0), Seq(0)).expect("defaults");
        fresh.write(1, Time::ZERO);
        let made = allocation::count() - before;
        assert_eq!(made, 0, "{name}: nothing is on the heap yet");
        let mut now = Time::ZERO;
        run(&mut client, &mut server, &mut now, 20);
        let before = allocation::count();
        run(&mut client, &mut server, &mut now, 100);
        let made = allocation::count() - before;
        assert_eq!(made, 0, "{name}");
        assert!(client.stats().fast_recoveries > 10, "{name}: losses were repaired");
    }
}
