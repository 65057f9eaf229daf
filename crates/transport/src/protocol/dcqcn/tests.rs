use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use tidegate_units::{Bytes, ConfigError, Ecn, Rate, Ratio, Rng, Setting, Settings, Span, Time};

use super::*;

const G: u64 = 1_000_000_000;
const M: u64 = 1_000_000;

fn us(us: u64) -> Time {
    Time::from_us(us)
}

fn limiter(config: &Config, gbps: u32) -> Limiter {
    Limiter::new(config, Rate::from_gbps(gbps)).unwrap()
}

fn profile(profile: Profile, gbps: u32) -> Config {
    profile.config(Rate::from_gbps(gbps))
}

fn rate(limiter: &mut Limiter, at: Time) -> u64 {
    limiter.rate(at).as_bps()
}

fn target(limiter: &mut Limiter, at: Time) -> u64 {
    limiter.target(at).as_bps()
}

#[test]
fn the_paper_halves_at_the_first_cnp_and_recovers_half_of_the_loss_at_each_timer() {
    let mut limiter = limiter(&Config::default(), 40);
    assert_eq!(rate(&mut limiter, us(99)), 40 * G);
    assert!(!limiter.is_active());
    // α = 1: 40 (1 − 1/2) = 20 Gb/s.
    limiter.on_cnp(us(100));
    assert!(limiter.is_active());
    let golden = [
        (us(100), 20_000 * M),
        (Time::from_ps(154_999_999), 20_000 * M),
        (us(155), 30_000 * M),
        (us(210), 35_000 * M),
        (us(265), 37_500 * M),
        (us(320), 38_750 * M),
        // Stage 5: additive, but the target is at the line already.
        (us(375), 39_375 * M),
    ];
    for (at, expected) in golden {
        assert_eq!(rate(&mut limiter, at), expected, "{at}");
        assert_eq!(target(&mut limiter, at), 40 * G);
    }
}

#[test]
fn the_paper_lowers_alpha_without_cnps_and_raises_it_after_the_cut() {
    let mut limiter = limiter(&Config::default(), 40);
    limiter.on_cnp(us(100));
    assert_eq!(limiter.alpha(us(154)), Alpha::ONE);
    // 2^32 · 255/256 and · (255/256)^2.
    assert_eq!(limiter.alpha(us(155)).as_q32(), 4_278_190_080);
    assert_eq!(limiter.alpha(us(210)).as_q32(), 4_261_478_400);
    // 35 Gb/s (1 − 65025/131072) = 35 Gb/s · 66047/131072.
    limiter.on_cnp(us(220));
    assert_eq!(rate(&mut limiter, us(220)), 17_636_451_721);
    assert_eq!(target(&mut limiter, us(220)), 35 * G);
    // 4261478400 · 255/256 + 2^24.
    assert_eq!(limiter.alpha(us(220)).as_q32(), 4_261_609_216);
    // Both timers began again: nothing at 265, the next at 275.
    assert_eq!(limiter.alpha(us(274)).as_q32(), 4_261_609_216);
    assert_eq!(rate(&mut limiter, us(274)), 17_636_451_721);
    // Half of 35000000000 − 17636451721 = 17363548279, rounded up.
    assert_eq!(rate(&mut limiter, us(275)), 26_318_225_861);
    // 4261609216 · 255/256 = 4244962305.0…: 4261609216/256 = 16646911 exactly.
    assert_eq!(limiter.alpha(us(275)).as_q32(), 4_244_962_305);
}

#[test]
fn additive_increase_follows_five_stages_of_the_timer() {
    let mut limiter = limiter(&Config::default(), 40);
    limiter.on_cnp(us(0));
    limiter.on_cnp(us(10));
    // Stages 1 to 4 approach 20 Gb/s from 10; stages 5 and 6 raise the target by 40 Mb/s.
    let golden = [
        (10, 10_000_000, 20_000),
        (65, 15_000_000, 20_000),
        (120, 17_500_000, 20_000),
        (175, 18_750_000, 20_000),
        (230, 19_375_000, 20_000),
        (285, 19_707_500, 20_040),
        (340, 19_893_750, 20_080),
    ];
    for (at, kbps, target_mbps) in golden {
        assert_eq!(rate(&mut limiter, us(at)), kbps * 1_000, "{at}");
        assert_eq!(target(&mut limiter, us(at)), target_mbps * M, "{at}");
    }
}

/// The steps of the target, in Mb/s, when the byte counter expires `bytes` times and then the timer
/// `timer` times; fast recovery lasts two stages.
fn steps(stage_rule: StageRule, bytes: usize, timer: u64) -> Vec<u64> {
    let config = Config {
        stage_rule,
        fast_recovery: 2,
        byte_counter: Some(Bytes(1_000)),
        additive_increase: bps(M),
        hyper_increase: bps(100 * M),
        ..Config::default()
    };
    let mut limiter = limiter(&config, 40);
    limiter.on_cnp(Time::ZERO);
    limiter.on_cnp(Time::ZERO);
    let mut targets = Vec::from([target(&mut limiter, Time::ZERO)]);
    for _ in 0..bytes {
        limiter.on_sent(1_000, Time::ZERO);
        targets.push(target(&mut limiter, Time::ZERO));
    }
    for i in 1..=timer {
        targets.push(target(&mut limiter, us(55 * i)));
    }
    targets.windows(2).map(|pair| (pair[1] - pair[0]) / M).collect()
}

#[test]
fn the_phase_depends_on_both_stages() {
    // Byte stages 1 to 6, then time stages 1 to 6, with F = 2.
    let steps_of = |rule| steps(rule, 6, 6);
    assert_eq!(steps_of(StageRule::Above), [0, 1, 1, 1, 1, 1, 1, 1, 100, 200, 300, 400]);
    assert_eq!(steps_of(StageRule::AtLeast), [0, 1, 1, 1, 1, 1, 1, 100, 200, 300, 400, 500]);
    assert_eq!(
        steps_of(StageRule::CountLast),
        [0, 0, 1, 100, 100, 100, 100, 100, 100, 100, 100, 100]
    );
    // One counter alone never reaches hyper increase, except where only the larger is asked.
    assert_eq!(steps(StageRule::Above, 0, 5), [0, 1, 1, 1, 1]);
    assert_eq!(steps(StageRule::AtLeast, 0, 5), [0, 1, 1, 1, 1]);
    assert_eq!(steps(StageRule::CountLast, 0, 5), [0, 0, 1, 100, 100]);
}

#[test]
fn the_byte_counter_expires_at_its_size_and_starts_with_the_first_cut() {
    let config = Config { byte_counter: Some(Bytes(3_000)), ..Config::default() };
    let mut limiter = limiter(&config, 40);
    limiter.on_sent(2_999, us(0));
    limiter.on_cnp(us(0));
    let mut after = |bytes| {
        limiter.on_sent(bytes, us(1));
        rate(&mut limiter, us(1)) / G
    };
    assert_eq!([after(2_999), after(1)], [20, 30]);
    assert_eq!([after(2_999), after(1)], [30, 35], "it began again at zero");
    after(2_999);
    limiter.on_cnp(us(1));
    limiter.on_sent(1, us(1));
    assert_eq!(rate(&mut limiter, us(1)), 17_500 * M, "a cut begins it again too");
}

#[test]
fn rdma3_raises_alpha_before_it_cuts() {
    let mut limiter = limiter(&profile(Profile::Rdma3, 40), 40);
    assert_eq!(limiter.alpha(us(0)).as_q32(), 1 << 31);
    // α = 1/2 · 255/256 + 1/256 = 257/512; 40 (1 − 257/1024) = 40 · 767/1024.
    limiter.on_cnp(us(0));
    assert_eq!(limiter.alpha(us(0)).as_q32(), 2_155_872_256);
    assert_eq!(rate(&mut limiter, us(59)), 29_960_937_500);
    assert_eq!(rate(&mut limiter, us(60)), 34_980_468_750);
}

#[test]
fn hpcc3_cuts_at_the_end_of_a_decrease_interval_by_the_alpha_of_its_slots() {
    let mut limiter = limiter(&profile(Profile::Hpcc3, 25), 25);
    limiter.on_cnp(us(10));
    assert_eq!(limiter.alpha(us(10)), Alpha::ONE);
    assert_eq!(rate(&mut limiter, Time::from_ps(13_999_999)), 25 * G);
    // Slots end at 11, 12, 13 and 14 µs; the first CNP counts for none: α = (255/256)^4.
    assert_eq!(limiter.alpha(us(14)).as_q32(), 4_228_250_625);
    // 25 Gb/s · (2^33 − 255^4) / 2^33.
    assert_eq!(rate(&mut limiter, us(14)), 12_694_171_068);
    assert_eq!(target(&mut limiter, us(14)), 25 * G);
    // No CNP came in the interval up to 18 µs.
    assert_eq!(rate(&mut limiter, us(313)), 12_694_171_068);
    // Half of 25000000000 − 12694171068, 300 µs after the cut.
    assert_eq!(rate(&mut limiter, us(314)), 18_847_085_534);
}

#[test]
fn hpcc3_takes_one_cut_per_interval_and_one_raise_per_slot() {
    let mut limiter = limiter(&profile(Profile::Hpcc3, 100), 100);
    limiter.on_cnp(us(0));
    for ns in [100, 200, 1_500, 1_600] {
        limiter.on_cnp(Time::from_ns(ns));
    }
    // α stays 1 in the two slots with CNPs, then falls twice: (255/256)^2 = 65025/65536.
    assert_eq!(limiter.alpha(us(2)), Alpha::ONE);
    assert_eq!(limiter.alpha(us(4)).as_q32(), 4_261_478_400);
    // 100 Gb/s · 66047/131072 = 50389862060.5….
    assert_eq!(rate(&mut limiter, us(4)), 50_389_862_060);
    assert_eq!(rate(&mut limiter, us(8)), 50_389_862_060, "no CNP since");
}

#[test]
fn the_slots_of_alpha_keep_their_places_over_a_long_silence() {
    let mut limiter = limiter(&profile(Profile::Hpcc3, 100), 100);
    limiter.on_cnp(us(0));
    let quiet = Time::from_ns(20_000_300);
    assert_eq!(limiter.alpha(quiet), Alpha::default());
    limiter.on_cnp(quiet);
    // The slot ends at 20 001 µs and raises α from 0 to 1/256.
    assert_eq!(limiter.alpha(Time::from_ns(20_000_999)), Alpha::default());
    assert_eq!(limiter.alpha(us(20_001)).as_q32(), 1 << 24);
}

#[test]
fn hpcc3_keeps_the_target_until_an_increase() {
    let config = profile(Profile::Hpcc3, 100);
    let mut limiter = limiter(&config, 100);
    limiter.on_cnp(us(0));
    limiter.on_cnp(us(5));
    assert!(rate(&mut limiter, us(8)) < 30 * G, "cut twice");
    assert_eq!(target(&mut limiter, us(8)), 100 * G);
    let before = rate(&mut limiter, us(308));
    assert!(before > 60 * G, "increased at 308 µs");
    limiter.on_cnp(us(309));
    assert_eq!(target(&mut limiter, us(312)), before);
    // R_AI = 100 Gb/s / 5000 = 20 Mb/s at the second expiry, R_HAI = 200 Mb/s from the third on.
    assert_eq!(target(&mut limiter, us(612)), before);
    assert_eq!(target(&mut limiter, us(912)), before + 20 * M);
    assert_eq!(target(&mut limiter, us(1_212)), before + 220 * M);
}

#[test]
fn a_cnp_at_the_end_of_a_decrease_interval_counts_for_the_next() {
    let mut limiter = limiter(&profile(Profile::Hpcc3, 100), 100);
    limiter.on_cnp(us(0));
    limiter.on_cnp(us(4));
    let cut = rate(&mut limiter, us(4));
    assert_eq!(rate(&mut limiter, Time::from_ps(7_999_999)), cut);
    assert!(rate(&mut limiter, us(8)) < cut);
}

#[test]
fn the_rate_stops_at_the_least_and_at_the_line() {
    let mut limiter = limiter(&Config::default(), 40);
    for _ in 0..100 {
        limiter.on_cnp(us(0));
    }
    assert_eq!(rate(&mut limiter, us(0)), 100 * M);
    assert_eq!(target(&mut limiter, us(0)), 100 * M);
    // 39.9 Gb/s in steps of 40 Mb/s take about a thousand timers of 55 µs.
    assert!(rate(&mut limiter, Time::from_ms(50)) < 40 * G);
    assert_eq!(rate(&mut limiter, Time::from_ms(60)), 40 * G);
    assert_eq!(limiter.alpha(Time::from_secs(1)), Alpha::default(), "α decays to nothing");
    assert_eq!(rate(&mut limiter, Time::MAX), 40 * G);
    assert_eq!(limiter.alpha(Time::MAX), Alpha::default());
    limiter.on_cnp(Time::MAX);
    assert_eq!(rate(&mut limiter, Time::MAX), 40 * G, "α was zero");
}

#[test]
fn the_end_of_time_is_survived() {
    let mut limiter = limiter(&Config::default(), 40);
    limiter.on_cnp(Time::MAX - Span::from_ps(1));
    assert_eq!(rate(&mut limiter, Time::MAX), 30 * G);
    assert!(limiter.alpha(Time::MAX) < Alpha::ONE);
}

#[test]
fn asking_often_gives_the_same_rate_as_asking_once() {
    for name in Profile::NAMES {
        let config = Profile::read(name).unwrap().config(Rate::from_gbps(100));
        let mut often = limiter(&config, 100);
        let mut once = often.clone();
        let mut rng = Rng::new(1, 0);
        let mut now = Time::ZERO;
        for _ in 0..2_000 {
            for _ in 0..rng.next_u32() % 8 {
                now += Span::from_ns(u64::from(rng.next_u32() % 40_000));
                let rate = often.rate(now).as_bps();
                assert!((config.min_rate.as_bps()..=100 * G).contains(&rate), "{name}");
                assert!(often.target(now).as_bps() >= rate, "{name}");
                assert!(often.alpha(now) <= Alpha::ONE, "{name}");
            }
            often.on_cnp(now);
            once.on_cnp(now);
            assert_eq!(often.rate(now), once.rate(now), "{name}");
            assert_eq!(often.alpha(now), once.alpha(now), "{name}");
        }
    }
}

#[test]
fn the_profiles_are_those_of_the_fact_sheet() {
    // In the order paper, rdma3, hpcc3, hpcc3-paper, hpcc3-config; links of 50 Gb/s, so that the
    // steps of HPCC3 are twice those at 25 Gb/s: 5 and 50 Mb/s.
    let names = ["paper", "rdma3", "hpcc3", "hpcc3-paper", "hpcc3-config"];
    let table = [
        ("feedback", ["cnp", "cnp-polled", "ack-echo", "ack-echo", "ack-echo"]),
        ("cnp_interval", ["50us"; 5]),
        ("alpha_rule", ["per-cnp", "per-cnp", "slotted", "slotted", "slotted"]),
        ("alpha_interval", ["55us", "55us", "1us", "50us", "1us"]),
        ("initial_alpha", ["1", "1/2", "1", "1", "1"]),
        ("gain", ["1/256"; 5]),
        ("cut_order", ["cut-first", "raise-first", "cut-first", "cut-first", "cut-first"]),
        ("decrease_interval", ["none", "none", "4us", "50us", "4us"]),
        ("target_rule", ["always", "always", "after-increase", "after-increase", "after-increase"]),
        ("increase_interval", ["55us", "60us", "300us", "55us", "900us"]),
        ("byte_counter", ["10MB", "300MB", "none", "none", "none"]),
        ("fast_recovery", ["5", "5", "1", "1", "1"]),
        ("stage_rule", ["above", "at-least", "count-last", "count-last", "count-last"]),
        ("additive_increase", ["40Mbps", "40Mbps", "10Mbps", "10Mbps", "50Mbps"]),
        ("hyper_increase", ["200Mbps", "200Mbps", "100Mbps", "100Mbps", "100Mbps"]),
        ("min_rate", ["100Mbps", "100Mbps", "1Gbps", "1Gbps", "100Mbps"]),
        ("payload", ["1000"; 5]),
        ("overhead", ["62", "30", "48", "48", "48"]),
        ("ack_every", ["1"; 5]),
        ("nack_interval", ["500us"; 5]),
        ("retransmit_timeout", ["4ms"; 5]),
        ("livelock_time", ["50ms"; 5]),
    ];
    assert_eq!(
        table.map(|(field, _)| field),
        Config::FIELDS.iter().map(|f| f.name).collect::<Vec<_>>()[..]
    );
    for (i, name) in names.into_iter().enumerate() {
        let config = Profile::read(name).unwrap().config(Rate::from_gbps(50));
        for (field, values) in table {
            assert_eq!(config.value(field).as_deref(), Some(values[i]), "{name}: {field}");
        }
    }
    assert_eq!(Profile::NAMES.len(), names.len());
    // A step of hyper increase that differs from the additive one elsewhere too.
    let fast = Profile::Hpcc3.config(Rate::from_gbps(100));
    assert_eq!(fast.hyper_increase, bps(200 * M));
    let slow = Profile::Hpcc3.config(bps(1));
    assert_eq!(slow.additive_increase, bps(1), "a step is never zero");
}

#[test]
fn impossible_parameters_are_named() {
    let line = Rate::from_gbps(10);
    let error = |change: fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        match config.check(line) {
            Err(ConfigError::OutOfRange { field, .. }) => field,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(error(|c| c.cnp_interval = Span::ZERO), "cnp_interval");
    assert_eq!(error(|c| c.alpha_interval = Span::ZERO), "alpha_interval");
    assert_eq!(error(|c| c.decrease_interval = Some(Span::ZERO)), "decrease_interval");
    assert_eq!(error(|c| c.increase_interval = Span::ZERO), "increase_interval");
    assert_eq!(error(|c| c.retransmit_timeout = Span::ZERO), "retransmit_timeout");
    assert_eq!(error(|c| c.initial_alpha = ratio(257, 256)), "initial_alpha");
    assert_eq!(error(|c| c.gain = Ratio::ZERO), "gain");
    assert_eq!(error(|c| c.gain = ratio(2, 1)), "gain");
    assert_eq!(error(|c| c.byte_counter = Some(Bytes(0))), "byte_counter");
    assert_eq!(error(|c| c.min_rate = bps(10 * G + 1)), "min_rate");
    assert_eq!(error(|c| c.payload = 0), "payload");
    assert_eq!(error(|c| c.overhead = u32::MAX), "overhead");
    assert_eq!(error(|c| c.ack_every = 0), "ack_every");
    let whole = Config { gain: Ratio::ONE, min_rate: line, ..Config::default() };
    assert_eq!(whole.check(line), Ok(()));
    assert!(Sender::new(&whole, bps(1)).is_err());
    assert!(Receiver::new(&whole, bps(1)).is_err());
}

fn pair(config: &Config) -> (Sender, Receiver) {
    let line = Rate::from_gbps(10);
    let sender = Sender::new(config, line).unwrap();
    (sender, Receiver::new(config, line).unwrap())
}

fn answer(kind: Kind, offset: u64) -> Packet {
    Packet { offset, len: 0, kind, ecn: Ecn::NotEct, echo: false, last: false, again: false }
}

fn data(offset: u64, len: u32, ecn: Ecn) -> Packet {
    Packet { len, ecn, ..answer(Kind::Data, offset) }
}

#[test]
fn packets_leave_at_the_rate_from_line_rate_on() {
    let (mut sender, _) = pair(&Config::default());
    assert_eq!(sender.poll_timeout(), None);
    sender.write(2_500);
    assert_eq!(sender.poll_timeout(), Some(Time::ZERO));
    let first = sender.poll_packet(us(1)).unwrap();
    assert_eq!((first.offset, first.len, first.last, first.again), (0, 1_000, false, false));
    assert_eq!((first.kind, first.ecn), (Kind::Data, Ecn::Ect0));
    // 1062 bytes at 10 Gb/s take 849.6 ns.
    let next = us(1) + Span::from_ps(849_600);
    assert_eq!(sender.poll_timeout(), Some(next));
    assert_eq!(sender.poll_packet(next - Span::from_ps(1)), None);
    // A CNP in between halves the rate from the next packet on.
    sender.on_packet(&answer(Kind::Cnp, 0), us(1));
    assert_eq!(sender.rate(us(1)), bps(5 * G));
    assert_eq!(sender.alpha(us(1)), Alpha::ONE);
    assert_eq!(sender.poll_packet(next).unwrap().offset, 1_000);
    let third = next + Span::from_ps(2 * 849_600);
    assert_eq!(sender.poll_timeout(), Some(third));
    let tail = sender.poll_packet(third).unwrap();
    assert_eq!((tail.len, tail.last), (500, true));
    // Nothing to send: the timer of the first packet remains.
    assert_eq!(sender.poll_timeout(), Some(us(1) + Span::from_ms(4)));
    assert_eq!(sender.stats().packets, 3);
}

#[test]
fn a_nack_sends_the_sender_back_and_old_or_wild_answers_are_ignored() {
    let (mut sender, _) = pair(&Config::default());
    sender.write(5_000);
    let mut now = Time::ZERO;
    let mut send = |sender: &mut Sender| {
        now += Span::from_us(1);
        sender.poll_packet(now).map(|packet| (packet.offset, packet.again))
    };
    for i in 0..4 {
        assert_eq!(send(&mut sender), Some((i * 1_000, false)));
    }
    sender.on_packet(&answer(Kind::Nack, 4_001), us(5));
    sender.on_packet(&answer(Kind::Ack, u64::MAX), us(5));
    sender.on_packet(&data(0, 1_000, Ecn::Ce), us(5));
    assert_eq!((sender.acked(), sender.stats().nacks), (0, 0));
    sender.on_packet(&answer(Kind::Nack, 2_000), us(5));
    assert_eq!((sender.acked(), sender.stats().nacks), (2_000, 1));
    sender.on_packet(&answer(Kind::Nack, 1_000), us(5));
    assert_eq!(sender.stats().nacks, 1, "an old one");
    assert_eq!(send(&mut sender), Some((2_000, true)));
    // An ACK for data sent before it went back moves it forward.
    sender.on_packet(&answer(Kind::Ack, 4_000), us(6));
    assert_eq!(send(&mut sender), Some((4_000, false)));
    assert!(!sender.is_done());
    sender.on_packet(&answer(Kind::Ack, 5_000), us(7));
    assert!(sender.is_done());
    assert_eq!(sender.poll_timeout(), None);
    assert_eq!(sender.stats().again_bytes, 1_000);
}

#[test]
fn a_lost_tail_is_sent_again_after_the_timeout() {
    let (mut sender, _) = pair(&Config::default());
    sender.write(2_000);
    sender.poll_packet(us(0)).unwrap();
    sender.poll_packet(us(1)).unwrap();
    sender.on_packet(&answer(Kind::Ack, 1_000), us(10));
    let deadline = us(10) + Span::from_ms(4);
    assert_eq!(sender.poll_timeout(), Some(deadline), "progress starts the timer again");
    sender.on_packet(&answer(Kind::Ack, 1_000), us(20));
    assert_eq!(sender.poll_timeout(), Some(deadline), "an old ACK does not");
    sender.on_timeout(deadline - Span::from_ps(1));
    assert_eq!(sender.poll_packet(deadline), None);
    sender.on_timeout(deadline);
    assert_eq!(sender.stats().timeouts, 1);
    assert_eq!(sender.poll_packet(deadline).unwrap().offset, 1_000);
}

#[test]
fn a_receiver_acknowledges_in_order_data_and_reports_each_gap_once() {
    let (_, mut receiver) = pair(&Config::default());
    let mut reply = |offset, len, now| {
        receiver.on_packet(&data(offset, len, Ecn::Ect0), now);
        let reply = receiver.poll_packet().map(|packet| (packet.kind, packet.offset));
        assert_eq!(receiver.poll_packet(), None);
        reply
    };
    assert_eq!(reply(0, 1_000, us(0)), Some((Kind::Ack, 1_000)));
    assert_eq!(reply(2_000, 1_000, us(1)), Some((Kind::Nack, 1_000)));
    assert_eq!(reply(3_000, 1_000, us(2)), None);
    assert_eq!(reply(4_000, 1_000, us(500)), None);
    assert_eq!(reply(5_000, 1_000, us(501)), Some((Kind::Nack, 1_000)), "500 µs later");
    assert_eq!(reply(1_000, 1_000, us(502)), Some((Kind::Ack, 2_000)));
    assert_eq!(reply(3_000, 1_000, us(503)), Some((Kind::Nack, 2_000)), "another gap");
    assert_eq!(reply(0, 1_000, us(504)), Some((Kind::Ack, 2_000)), "a duplicate");
    assert_eq!(reply(1_500, 1_000, us(505)), Some((Kind::Ack, 2_500)), "an overlap");
    assert_eq!(reply(2_500, 0, us(506)), None, "no bytes");
    assert_eq!(reply(u64::MAX, u32::MAX, us(507)), Some((Kind::Nack, 2_500)));
    receiver.on_packet(&answer(Kind::Ack, 9), us(508));
    assert_eq!((receiver.poll_packet(), receiver.delivered()), (None, 2_500));
}

#[test]
fn an_ack_may_wait_for_others_but_not_the_last_one() {
    let config = Config { ack_every: 3, nack_interval: None, ..Config::default() };
    let (_, mut receiver) = pair(&config);
    let mut acks = Vec::new();
    for i in 0..5 {
        let last = i == 4;
        let packet = Packet { last, ..data(i * 10, 10, Ecn::Ect0) };
        receiver.on_packet(&packet, us(i));
        acks.push(receiver.poll_packet().map(|packet| packet.offset));
    }
    assert_eq!(acks, [None, None, Some(30), None, Some(50)]);
    receiver.on_packet(&data(40, 10, Ecn::Ect0), us(5));
    let duplicate = receiver.poll_packet().map(|packet| packet.offset);
    assert_eq!(duplicate, Some(50), "nor one that is sent again");
    receiver.on_packet(&data(60, 10, Ecn::Ect0), us(6));
    assert_eq!(receiver.poll_packet().map(|packet| packet.kind), Some(Kind::Nack));
    receiver.on_packet(&data(70, 10, Ecn::Ect0), Time::from_secs(9));
    assert_eq!(receiver.poll_packet(), None, "each gap is reported once");
}

/// The times of CNPs, in µs, when packets arrive at the given times, marked or not.
fn cnps(feedback: Feedback, arrivals: &[(u64, Ecn)]) -> Vec<u64> {
    let config = Config { feedback, ..Config::default() };
    let (_, mut receiver) = pair(&config);
    let mut times = Vec::new();
    let mut collect = |receiver: &mut Receiver, now: Time| {
        while let Some(packet) = receiver.poll_packet() {
            assert!(!packet.echo);
            if packet.kind == Kind::Cnp {
                times.push(now.as_ns() / 1_000);
            }
        }
    };
    let mut offset = 0;
    let end = (10_000, Ecn::Ect0);
    for &(at, ecn) in arrivals.iter().chain([&end]) {
        while let Some(due) = receiver.poll_timeout().filter(|&due| due < us(at)) {
            receiver.on_timeout(due);
            collect(&mut receiver, due);
        }
        receiver.on_packet(&data(offset, 10, ecn), us(at));
        offset += 10;
        collect(&mut receiver, us(at));
    }
    times
}

#[test]
fn the_receiver_sends_at_most_one_cnp_per_interval() {
    let (ce, ect) = (Ecn::Ce, Ecn::Ect0);
    // At once; then at the end of each interval of 50 µs that saw a mark.
    let marks = [(10, ce), (20, ce), (59, ce), (61, ect), (200, ce), (250, ce)];
    assert_eq!(cnps(Feedback::Cnp, &marks), [10, 60, 200, 250]);
    assert_eq!(cnps(Feedback::Cnp, &[(10, ect), (20, ect)]), []);
    // Polls at 10, 60, 110, 160, 210, 260, …
    let marks = [(10, ect), (20, ce), (59, ce), (61, ect), (200, ce), (210, ce), (399, ce)];
    assert_eq!(cnps(Feedback::CnpPolled, &marks), [60, 210, 260, 410]);
    assert_eq!(cnps(Feedback::CnpPolled, &[(10, ce), (11, ect)]), [10]);
    assert_eq!(cnps(Feedback::Cnp, &[(10, ce), (60, ce)]), [10, 60], "its length has passed");
}

#[test]
fn a_mark_at_the_end_of_the_interval_is_notified_at_once() {
    let (_, mut receiver) = pair(&Config::default());
    for at in [10, 60] {
        receiver.on_packet(&data(at, 10, Ecn::Ce), us(at));
        let first = receiver.poll_packet().map(|packet| packet.kind);
        assert_eq!(first, Some(Kind::Cnp), "{at}");
        receiver.poll_packet();
    }
}

#[test]
fn an_echo_answers_for_the_packets_since_the_last_answer() {
    let config = Config { ack_every: 2, ..profile(Profile::Hpcc3, 10) };
    let (mut sender, mut receiver) = pair(&config);
    let marks = [Ecn::Ect0, Ecn::Ce, Ecn::Ect0, Ecn::Ect0];
    let mut echoes = Vec::new();
    for (i, ecn) in (0..).zip(marks) {
        receiver.on_packet(&data(i * 10, 10, ecn), us(i));
        echoes.extend(receiver.poll_packet());
    }
    assert_eq!(receiver.poll_timeout(), None);
    let seen: Vec<_> = echoes.iter().map(|packet| (packet.offset, packet.echo)).collect();
    assert_eq!(seen, [(20, true), (40, false)]);
    sender.write(40);
    sender.poll_packet(us(0)).unwrap();
    for packet in &echoes {
        sender.on_packet(packet, us(5));
    }
    assert_eq!(sender.stats().notifications, 1);
    assert!(sender.is_done());
}

/// One flow over a channel that loses, marks, delays and reorders.
#[derive(Clone, Copy, Debug)]
struct Channel {
    seed: u64,
    /// Chances in units of 2^−32.
    loss: u32,
    mark: u32,
    /// One-way delay, and its random part.
    delay: Span,
    jitter: Span,
}

impl Channel {
    fn run(self, config: &Config, messages: &[u64]) -> Sender {
        enum Event {
            Backward(Packet),
            Forward(Packet),
            Write(u64),
        }
        let (mut sender, mut receiver) = pair(config);
        let mut rng = Rng::new(self.seed, 7);
        let mut events = BTreeMap::new();
        let mut serial = 0_u64;
        let mut push = |events: &mut BTreeMap<_, _>, at: Time, event| {
            serial += 1;
            events.insert((at, serial), event);
        };
        for (i, &bytes) in (0..).zip(messages) {
            push(&mut events, Time::from_ms(3 * i), Event::Write(bytes));
        }
        let total: u64 = messages.iter().sum();
        let mut now = Time::ZERO;
        let mut delivered = 0;
        for _ in 0..2_000_000_u32 {
            if sender.is_done() && sender.acked() == total {
                break;
            }
            let next = events.first_key_value().map(|(&(at, _), _)| at);
            let timers = [next, sender.poll_timeout(), receiver.poll_timeout()];
            let at = timers.into_iter().flatten().min().expect("a flow never stalls");
            assert!(at >= now || next != Some(at), "time goes on");
            now = now.max(at);
            sender.on_timeout(now);
            receiver.on_timeout(now);
            if next.is_some_and(|next| next <= now) {
                match events.pop_first().map(|(_, event)| event) {
                    Some(Event::Backward(packet)) => sender.on_packet(&packet, now),
                    Some(Event::Forward(packet)) => {
                        receiver.on_packet(&packet, now);
                        assert!(receiver.delivered() >= delivered);
                        delivered = receiver.delivered();
                    }
                    Some(Event::Write(bytes)) => sender.write(bytes),
                    None => unreachable!("there was a first event"),
                }
            }
            let mut sent = Vec::new();
            sent.extend(sender.poll_packet(now));
            sent.extend(core::iter::from_fn(|| receiver.poll_packet()));
            for mut packet in sent {
                if rng.next_u32() < self.loss {
                    continue;
                }
                let jitter = self.jitter.as_ps() / 1_000 * u64::from(rng.next_u32() % 1_000);
                let at = now + self.delay + Span::from_ps(jitter);
                if packet.kind == Kind::Data {
                    if rng.next_u32() < self.mark {
                        packet.ecn = Ecn::Ce;
                    }
                    push(&mut events, at, Event::Forward(packet));
                } else {
                    push(&mut events, at, Event::Backward(packet));
                }
            }
            let rate = sender.rate(now);
            assert!(config.min_rate <= rate && rate <= Rate::from_gbps(10), "{self:?}");
            assert!(sender.alpha(now) <= Alpha::ONE, "{self:?}");
            assert!(sender.acked() <= receiver.delivered(), "{self:?}");
            assert!(receiver.delivered() <= total, "{self:?}");
        }
        assert_eq!(receiver.delivered(), total, "{self:?}");
        assert_eq!(sender.acked(), total, "{self:?}");
        sender
    }
}

#[test]
fn everything_arrives_once_and_in_order_over_any_channel() {
    let messages = [100_000, 1, 999, 40_000];
    for name in Profile::NAMES {
        let published = Profile::read(name).unwrap().config(Rate::from_gbps(10));
        for seed in 0..24 {
            let mut rng = Rng::new(seed, 1);
            let mut chance = |percent: u32| (u32::MAX / 100) * (rng.next_u32() % (percent + 1));
            let channel = Channel {
                seed,
                loss: chance(20),
                mark: chance(100),
                delay: Span::from_us(5),
                jitter: Span::from_us(if seed % 2 == 0 { 0 } else { 20 }),
            };
            let config = Config {
                ack_every: 1 + seed as u32 % 4,
                nack_interval: published.nack_interval.filter(|_| seed % 3 != 0),
                ..published.clone()
            };
            channel.run(&config, &messages);
        }
    }
}

#[test]
fn a_clean_channel_repeats_nothing_and_runs_at_line_rate() {
    for name in Profile::NAMES {
        let config = Profile::read(name).unwrap().config(Rate::from_gbps(10));
        let channel =
            Channel { seed: 1, loss: 0, mark: 0, delay: Span::from_us(5), jitter: Span::ZERO };
        let mut sender = channel.run(&config, &[1_000_000]);
        let stats = Stats { packets: 1_000, ..Stats::default() };
        assert_eq!(sender.stats(), &stats, "{name}");
        assert_eq!(sender.rate(Time::from_secs(1)), Rate::from_gbps(10));
    }
}

#[test]
fn a_packet_and_a_flow_are_small() {
    assert!(size_of::<Packet>() <= 24);
    assert!(size_of::<Sender>() <= 384, "{}", size_of::<Sender>());
    assert!(size_of::<Receiver>() <= 128, "{}", size_of::<Receiver>());
}

#[test]
fn a_copy_waits_while_earlier_packets_fill_the_hosts_queue() {
    let (mut sender, _) = pair(&Config::default());
    sender.write(3_000);
    sender.poll_packet(us(0)).unwrap();
    // The first packet leaves in 10 ms, after the timeout of 4 ms: a copy before 6 ms would wait
    // behind it. New data is not held back.
    sender.on_queued(us(10_000));
    assert!(sender.poll_timeout().unwrap() < us(10));
    sender.poll_packet(us(10)).unwrap();
    sender.on_timeout(us(4_000));
    assert!(sender.poll_packet(us(4_000)).unwrap().again);
    sender.on_queued(us(10_001));
    assert_eq!(sender.poll_timeout(), Some(us(6_001)));
    assert_eq!(sender.poll_packet(us(6_000)), None);
    assert!(sender.poll_packet(us(6_001)).unwrap().again);
}

#[test]
fn answers_without_progress_for_long_are_a_livelock_and_silence_is_not() {
    let config = Config { livelock_time: Span::from_ms(10), ..Config::default() };
    let (mut sender, _) = pair(&config);
    sender.write(1_000_000);
    let mut at = us(0);
    while sender.stats().packets < 5 {
        sender.poll_packet(at);
        at = sender.poll_timeout().unwrap();
    }
    sender.on_packet(&answer(Kind::Ack, 1_000), us(1_000));
    sender.on_packet(&answer(Kind::Nack, 1_000), us(10_999));
    assert!(!sender.is_livelocked());
    // Progress starts the time over; a pause without answers is none.
    sender.on_packet(&answer(Kind::Ack, 2_000), us(10_999));
    sender.on_timeout(Time::from_secs(1));
    assert!(!sender.is_livelocked());
    sender.on_packet(&answer(Kind::Ack, 3_000), Time::from_secs(1));
    sender.on_packet(&answer(Kind::Nack, 3_000), Time::from_ms(1_009));
    assert!(!sender.is_livelocked());
    sender.on_packet(&answer(Kind::Nack, 3_000), Time::from_ms(1_010));
    assert!(sender.is_livelocked());
}
