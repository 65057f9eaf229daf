use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use tidegate_units::{Rng, Span};

use super::*;

const LINE: Rate = Rate::from_gbps(10);

/// A channel that loses, marks, delays and reorders.
#[derive(Clone, Copy, Debug)]
struct Channel {
    seed: u64,
    /// Chances in units of 2^−32.
    loss: u32,
    mark: u32,
    jitter: Span,
}

/// An arrival at an end, or a write.
enum Event {
    Arrival(Side, Packet<AnyHeader>),
    Write(u64),
}

impl Channel {
    /// Carries these messages, one each 300 µs.
    fn run(self, config: &Config, messages: &[u64]) -> Connection {
        let mut connection = config.build(LINE).unwrap();
        let mut rng = Rng::new(self.seed, 7);
        let mut events = BTreeMap::new();
        let mut serial = 0_u64;
        let mut push = |events: &mut BTreeMap<_, _>, at: Time, event| {
            serial += 1;
            events.insert((at, serial), event);
        };
        for (number, &bytes) in (0..).zip(messages) {
            push(&mut events, Time::from_us(300 * number), Event::Write(bytes));
        }
        let total: u64 = messages.iter().sum();
        let (mut now, mut written) = (Time::ZERO, 0);
        let mut arrived = [0; 2];
        for _ in 0..1_000_000_u32 {
            if connection.arrived(Side::Source) == total {
                break;
            }
            let next = events.first_key_value().map(|(&(at, _), _)| at);
            let timers = [Side::Source, Side::Sink].map(|side| connection.poll_timeout(side));
            let wakes = timers.into_iter().chain([next]).flatten();
            now = now.max(wakes.min().expect("a flow never stalls"));
            for side in [Side::Source, Side::Sink] {
                connection.on_timeout(side, now);
            }
            if next.is_some_and(|next| next <= now) {
                match events.pop_first().map(|(_, event)| event) {
                    Some(Event::Arrival(side, packet)) => {
                        connection.on_packet(side, &packet.header, packet.ecn, now);
                    }
                    Some(Event::Write(bytes)) => {
                        connection.write(bytes);
                        written += bytes;
                    }
                    None => unreachable!("there was a first event"),
                }
            }
            for (from, to) in [(Side::Source, Side::Sink), (Side::Sink, Side::Source)] {
                while let Some(mut packet) = connection.poll_packet(from, now) {
                    assert_eq!(packet.len, packet.header.payload(), "{self:?}");
                    assert!(packet.len <= config.payload(), "{self:?}");
                    if from == Side::Source && packet.len > 0 {
                        let end = packet.header.offset().unwrap() + u64::from(packet.len);
                        assert!(end <= written, "{self:?}: sent more than was written");
                    }
                    if rng.next_u32() < self.loss {
                        continue;
                    }
                    if packet.ecn != Ecn::NotEct && rng.next_u32() < self.mark {
                        packet.ecn = Ecn::Ce;
                    }
                    let jitter = self.jitter.as_ps() / 1_000 * u64::from(rng.next_u32() % 1_000);
                    let at = now + Span::from_us(5) + Span::from_ps(jitter);
                    push(&mut events, at, Event::Arrival(to, packet));
                }
            }
            for side in [Side::Source, Side::Sink] {
                let before = arrived[side as usize];
                arrived[side as usize] = connection.arrived(side);
                assert!(arrived[side as usize] >= before, "{self:?}");
            }
            assert!(arrived[0] <= arrived[1] && arrived[1] <= written, "{self:?}");
        }
        assert_eq!(arrived, [total; 2], "{self:?}");
        connection
    }
}

#[test]
fn every_transport_delivers_everything_in_order_over_any_channel() {
    for name in Config::NAMES {
        let profiles = Config::profiles(name).map_or(&[][..], |profiles| profiles.names);
        let profiles = profiles.iter().map(|&profile| Some(profile)).chain([None]);
        for profile in profiles {
            let config = Config::profile(name, profile, LINE).unwrap();
            for seed in 0..12 {
                let mut rng = Rng::new(seed, 1);
                let mut chance = |percent: u32| (u32::MAX / 100) * (rng.next_u32() % (percent + 1));
                let (loss, mark) = (chance(20), chance(100));
                let jitter = Span::from_us(if seed % 2 == 0 { 0 } else { 20 });
                let channel = Channel { seed, loss, mark, jitter };
                channel.run(&config, &[100_000, 1, 999, 40_000]);
            }
        }
    }
}

#[test]
fn a_clean_channel_needs_no_retransmission() {
    for name in Config::NAMES {
        let config = Config::profile(name, None, LINE).unwrap();
        let channel = Channel { seed: 1, loss: 0, mark: 0, jitter: Span::ZERO };
        let connection = channel.run(&config, &[1_000_000]);
        assert_eq!(connection.counts(Side::Source), Counts::default(), "{name}");
    }
}

#[test]
fn marks_are_counted_at_the_end_that_says_so() {
    for name in Config::NAMES {
        let config = Config::profile(name, None, LINE).unwrap();
        let channel = Channel { seed: 1, loss: 0, mark: u32::MAX, jitter: Span::ZERO };
        let connection = channel.run(&config, &[100_000]);
        let marks = |side| connection.counts(side).marks;
        let [at, other] = match connection.marks_at() {
            Side::Source => [marks(Side::Source), marks(Side::Sink)],
            Side::Sink => [marks(Side::Sink), marks(Side::Source)],
        };
        assert!(at > 0 && other == 0, "{name}: {at} and {other}");
    }
}

#[test]
fn packets_of_tcp_are_ignored() {
    for name in Config::NAMES {
        let mut connection = Config::profile(name, None, LINE).unwrap().build(LINE).unwrap();
        let header = AnyHeader::Tcp(crate::Header { len: 1000, ..crate::Header::default() });
        for side in [Side::Source, Side::Sink] {
            connection.on_packet(side, &header, Ecn::Ce, Time::ZERO);
            assert_eq!(connection.counts(side), Counts::default(), "{name}");
            assert_eq!((connection.arrived(side), connection.poll_timeout(side)), (0, None));
        }
    }
}

#[test]
fn no_profile_has_another_name() {
    for name in Config::NAMES {
        assert_eq!(Config::profile(name, Some("no-such-profile"), LINE), None);
        if let Some(profiles) = Config::profiles(name) {
            let named = Config::profile(name, Some(profiles.default), LINE);
            assert_eq!(named, Config::profile(name, None, LINE), "{name}");
            let all: Vec<_> =
                profiles.names.iter().map(|one| Config::profile(name, Some(one), LINE)).collect();
            assert!(all.iter().all(Option::is_some), "{name}");
        }
    }
    assert_eq!(Config::profile("tcp", None, LINE), None);
}
