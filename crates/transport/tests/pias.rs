//! PIAS on the segments of real connections.

use tidegate_transport::pias::{Pias, Profile};
use tidegate_transport::{Config, Endpoint, Segment, Seq, cc};
use tidegate_units::{Span, Time};

struct Host {
    endpoint: Endpoint,
    pias: Pias,
    /// Classes of data segments in the order in which they left, with their first byte.
    tags: Vec<(u64, u8)>,
}

impl Host {
    fn new(profile: Profile, own: Seq, peer: Seq) -> Self {
        let config = Config::default();
        let rule = cc::Config::named("reno").expect("reno is a rule");
        Self {
            endpoint: Endpoint::established(&config, &rule, own, peer)
                .expect("the defaults can be used"),
            pias: Pias::new(&profile.config()).expect("the profiles can be used"),
            tags: Vec::new(),
        }
    }

    fn write(&mut self, bytes: u64, now: Time) {
        let unacked = self.endpoint.written() - self.endpoint.acked();
        self.pias.on_write(self.endpoint.written(), unacked, now);
        self.endpoint.write(bytes, now);
    }

    fn poll(&mut self, now: Time) -> Option<Segment> {
        let mut segment = self.endpoint.poll_segment(now)?;
        segment.class = Pias::CONTROL;
        if let Some(offset) = self.endpoint.stream_offset(&segment) {
            segment.class = self.pias.class(offset, segment.len, now);
            self.tags.push((offset, segment.class));
        }
        Some(segment)
    }
}

/// Sends `messages` one after the other, a millisecond apart, and loses the data segments whose
/// numbers are given. Answers with the tags of the sender.
fn tags(profile: Profile, messages: &[u64], lost: &[usize]) -> Vec<(u64, u8)> {
    // So near the end of the circle that sequence numbers wrap; positions do not.
    let (own, peer) = (Seq(0u32.wrapping_sub(90_000)), Seq(5));
    let mut client = Host::new(profile, own, peer);
    let mut server = Host::new(profile, peer, own);
    let mut now = Time::ZERO;
    let mut sent = 0;
    for &bytes in messages {
        client.write(bytes, now);
        while client.endpoint.acked() < client.endpoint.written() {
            let mut quiet = true;
            while let Some(segment) = client.poll(now) {
                quiet = false;
                if !lost.contains(&sent) {
                    server.endpoint.on_segment(&segment, now);
                }
                sent += 1;
            }
            while let Some(segment) = server.poll(now) {
                quiet = false;
                assert_eq!(segment.class, 0);
                client.endpoint.on_segment(&segment, now);
            }
            if quiet {
                let timers = [client.endpoint.poll_timeout(), server.endpoint.poll_timeout()];
                now = timers.into_iter().flatten().min().expect("data is in flight");
                client.endpoint.on_timeout(now);
                server.endpoint.on_timeout(now);
            }
        }
        now += Span::from_ms(1);
    }
    client.tags
}

fn high(tags: &[(u64, u8)]) -> usize {
    tags.iter().filter(|(_, class)| *class == 0).count()
}

#[test]
fn the_first_69_full_segments_of_each_message_are_high_with_ns2() {
    // 150 segments of 1460 bytes each.
    let tags = tags(Profile::Ns2, &[219_000, 219_000], &[]);
    assert_eq!(tags.len(), 300);
    assert_eq!([high(&tags[..150]), high(&tags[150..])], [69, 69]);
    assert!(tags[..69].iter().all(|(_, class)| *class == 0));
    assert_eq!(tags[150], (219_000, 0));
}

#[test]
fn a_segment_that_is_sent_again_is_tagged_by_offset_with_ns2_and_by_bytes_with_the_kernel() {
    let again = |profile| {
        let tags = tags(profile, &[219_000], &[3]);
        let copies: Vec<u8> = tags
            .iter()
            .filter(|(offset, _)| *offset == 3 * 1_460)
            .map(|(_, class)| *class)
            .collect();
        (tags.len(), copies)
    };
    assert_eq!(again(Profile::Ns2), (151, vec![0, 0]));
    // It left again before 102 400 bytes had been sent.
    assert_eq!(again(Profile::Kernel), (151, vec![0, 0]));
}

#[test]
fn the_kernel_begins_a_message_after_the_gap() {
    // 70 segments of 1460 bytes make 102 200; the second message comes a millisecond later.
    let tags = tags(Profile::Kernel, &[219_000, 219_000], &[]);
    assert_eq!([high(&tags[..150]), high(&tags[150..])], [70, 70]);
}
