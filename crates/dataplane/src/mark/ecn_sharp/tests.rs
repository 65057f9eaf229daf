use tidegate_units::{Ecn, QueueId};

use super::*;
use crate::Pkt;
use crate::mark::AnyMarker;
use crate::mark::testing::{cx, port_info};

const PASS: MarkDecision = MarkDecision::Pass;
const SOJOURN: MarkDecision = MarkDecision::Mark(Rule::Sojourn);
const PERSISTENT: MarkDecision = MarkDecision::Mark(Rule::Persistent);

fn ecn_sharp(config: &Config) -> EcnSharp {
    EcnSharp::new(config, &port_info(2)).unwrap()
}

fn at(ps: u64) -> Cx {
    Cx { now: Time::from_ps(ps), ..cx() }
}

/// Decides on a packet that leaves at `ps` and waited for 100 µs, between the two targets.
fn between(scheme: &mut EcnSharp, ps: u64) -> MarkDecision {
    scheme.on_dequeue(&at(ps), Span::from_us(100))
}

/// A scheme that marked its first packet of a persistent queue at 1201 µs.
fn marking(law: Law) -> EcnSharp {
    let config = Config { law, ..Config::default() };
    let mut scheme = ecn_sharp(&config);
    assert_eq!(between(&mut scheme, 1_000_000_000), PASS);
    assert_eq!(between(&mut scheme, 1_201_000_000), PERSISTENT);
    scheme
}

#[test]
fn the_instantaneous_part_marks_strictly_above_its_target() {
    let mut scheme = ecn_sharp(&Config::default());
    for (ps, verdict) in [(199_999_999, PASS), (200_000_000, PASS), (200_000_001, SOJOURN)] {
        assert_eq!(scheme.on_dequeue(&cx(), Span::from_ps(ps)), verdict, "{ps}");
    }
}

#[test]
fn missing_targets_are_derived_from_round_trip_times() {
    let mut config = Config {
        ins_target: None,
        pst_target: None,
        pst_interval: None,
        rtt: Span::from_us(220),
        mean_rtt: Span::from_us(100),
        lambda: Ratio::new(1, 2).unwrap(),
        ..Config::default()
    };
    let instantaneous =
        |config: &Config, us| ecn_sharp(config).on_dequeue(&cx(), Span::from_us(us)) == SOJOURN;
    assert_eq!([110, 111].map(|us| instantaneous(&config, us)), [false, true]);
    // The target is half of 100 µs, and the interval the whole 220 µs.
    let persistent = |config: &Config, us: u64, after: u64| {
        let mut scheme = ecn_sharp(config);
        scheme.on_dequeue(&at(0), Span::from_us(us));
        scheme.on_dequeue(&at(after * 1_000_000), Span::from_us(us)) == PERSISTENT
    };
    let found = [(49, 221), (50, 220), (50, 221)].map(|(us, after)| persistent(&config, us, after));
    assert_eq!(found, [false, false, true]);
    // Derived from the defaults, the targets equal the testbed's.
    config = Config { ins_target: None, pst_target: None, pst_interval: None, ..Config::default() };
    assert_eq!([200, 201].map(|us| instantaneous(&config, us)), [false, true]);
    let found = [(84, 201), (85, 200), (85, 201)].map(|(us, after)| persistent(&config, us, after));
    assert_eq!(found, [false, false, true]);
}

#[test]
fn a_draw_that_equals_the_probability_does_not_mark() {
    // Over a range of 2^32 the probability rises by 2^−32 per unit.
    let ramp = Ramp::new(("low", 0), 1 << 32, ("probability", Ratio::ONE)).unwrap();
    let drawn = u64::from(Rng::new(1, 1).next_u32());
    let marked = [drawn, drawn + 1].map(|level| hit(&mut (ramp.clone(), Rng::new(1, 1)), level));
    assert_eq!(marked, [false, true]);
}

#[test]
fn a_queue_is_persistent_strictly_after_an_interval() {
    for (ps, verdict) in [(1_199_999_999, PASS), (1_200_000_000, PASS), (1_200_000_001, PERSISTENT)]
    {
        let mut scheme = ecn_sharp(&Config::default());
        assert_eq!(between(&mut scheme, 1_000_000_000), PASS);
        assert_eq!(between(&mut scheme, 1_100_000_000), PASS);
        assert_eq!(between(&mut scheme, ps), verdict, "{ps}");
    }
}

#[test]
fn time_zero_is_a_time_like_any_other() {
    let config = Config { pst_target: Some(Span::ZERO), ..Config::default() };
    let mut scheme = ecn_sharp(&config);
    let verdicts = [0, 200_000_000, 200_000_001].map(|ps| scheme.on_dequeue(&at(ps), Span::ZERO));
    assert_eq!(verdicts, [PASS, PASS, PERSISTENT]);
}

#[test]
fn only_a_packet_strictly_below_the_target_ends_a_persistent_queue() {
    for (ps, verdict) in [(84_999_999, PASS), (85_000_000, PERSISTENT), (85_000_001, PERSISTENT)] {
        let mut scheme = ecn_sharp(&Config::default());
        between(&mut scheme, 1_000_000_000);
        scheme.on_dequeue(&at(1_100_000_000), Span::from_ps(ps));
        assert_eq!(between(&mut scheme, 1_201_000_000), verdict, "{ps}");
    }
}

#[test]
fn the_papers_law_divides_by_the_count_from_the_last_schedule() {
    let mut scheme = marking(Law::Paper);
    // Due after 1401, + 100, + 66.666666, + 50 µs.
    for next in [1_401_000_000, 1_501_000_000, 1_567_666_666, 1_617_666_666] {
        assert_eq!(between(&mut scheme, next), PASS, "{next}");
        assert_eq!(between(&mut scheme, next + 1), PERSISTENT, "{next}");
    }
}

#[test]
fn the_ns3_law_divides_by_the_square_root_from_now() {
    let mut scheme = marking(Law::Ns3);
    // Due at 1401 µs; marked at 1501 µs, so again 141.421356 µs later, then 115.470053 µs.
    assert_eq!(between(&mut scheme, 1_400_999_999), PASS);
    assert_eq!(between(&mut scheme, 1_501_000_000), PERSISTENT);
    for next in [1_642_421_356, 1_757_891_409] {
        assert_eq!(between(&mut scheme, next - 1), PASS, "{next}");
        assert_eq!(between(&mut scheme, next), PERSISTENT, "{next}");
    }
}

#[test]
fn the_tenth_gap_is_20_us_on_paper_and_63_us_in_ns3() {
    for (law, ps) in [(Law::Paper, 20_000_000), (Law::Ns3, 63_245_553)] {
        let mut scheme = marking(law);
        let mut now = 1_201_000_000;
        let Machine::Exact(_, exact) = &scheme.machine else { panic!("exact by default") };
        let mut phase = exact.queues[0];
        while let Phase::Marking { next, count: 1..10 } = phase {
            now = next.as_ps() + 1;
            assert_eq!(between(&mut scheme, now), PERSISTENT);
            let Machine::Exact(_, exact) = &scheme.machine else { panic!("exact by default") };
            phase = exact.queues[0];
        }
        let Phase::Marking { next, count: 10 } = phase else { panic!("{phase:?}") };
        // From now, or from the last due time a picosecond before.
        let last = now - u64::from(law == Law::Paper);
        assert_eq!(next.as_ps() - last, ps);
    }
}

#[test]
fn a_new_episode_starts_at_a_count_of_one() {
    let mut scheme = marking(Law::Paper);
    assert_eq!(between(&mut scheme, 1_402_000_000), PERSISTENT);
    assert_eq!(scheme.on_dequeue(&at(1_403_000_000), Span::ZERO), PASS);
    assert_eq!(between(&mut scheme, 1_503_000_000), PASS);
    assert_eq!(between(&mut scheme, 1_704_000_000), PERSISTENT);
    // Another whole interval.
    assert_eq!(between(&mut scheme, 1_904_000_000), PASS);
    assert_eq!(between(&mut scheme, 1_904_000_001), PERSISTENT);
}

#[test]
fn marked_and_unmarkable_packets_advance_the_persistent_part() {
    let mut scheme = ecn_sharp(&Config::default());
    let not_capable = |ps| Cx { pkt: Pkt { ecn: Ecn::NotEct, ..cx().pkt }, ..at(ps) };
    assert_eq!(scheme.on_dequeue(&at(1_000_000_000), Span::from_us(300)), SOJOURN);
    // Both parts mark: the instantaneous mark counts, and the persistent one is used up.
    assert_eq!(scheme.on_dequeue(&at(1_201_000_000), Span::from_us(300)), SOJOURN);
    assert_eq!(between(&mut scheme, 1_401_000_000), PASS);
    assert_eq!(scheme.on_dequeue(&not_capable(1_401_000_001), Span::from_us(100)), PERSISTENT);
    assert_eq!(between(&mut scheme, 1_501_000_000), PASS);
    assert_eq!(between(&mut scheme, 1_501_000_001), PERSISTENT);
}

#[test]
fn queues_do_not_share_state_and_unknown_ones_only_see_the_instantaneous_part() {
    for arithmetic in [Arithmetic::Exact, Arithmetic::Tofino] {
        let config = Config { arithmetic, ..Config::default() };
        let mut scheme = ecn_sharp(&config);
        let mut decide = |ps, queue| {
            let cx = Cx { queue: QueueId(queue), ..at(ps) };
            scheme.on_dequeue(&cx, Span::from_us(100))
        };
        assert_eq!(decide(1_000_000_000, 0), PASS);
        assert_eq!(decide(1_210_000_000, 1), PASS);
        assert_eq!([decide(1_000_000_000, 2), decide(1_210_000_000, 2)], [PASS, PASS]);
        assert_eq!(decide(1_210_000_000, 0), PERSISTENT);
    }
}

#[test]
fn the_queue_length_may_be_the_signal() {
    // At 10 Gb/s: 200 µs = 250 KB, 85 µs = 106.25 KB, without the departing packet.
    let config = Config { signal: Signal::QueueLength, ..Config::default() };
    let decide = |scheme: &mut EcnSharp, us: u64, queue_bytes| {
        let cx = Cx { queue_bytes, ..at(us * 1_000_000) };
        scheme.on_dequeue(&cx, Span::ZERO)
    };
    let length = MarkDecision::Mark(Rule::QueueLength);
    let mut scheme = ecn_sharp(&config);
    let verdicts = [249_999, 250_000, 250_001].map(|bytes| decide(&mut scheme, 1000, bytes));
    assert_eq!(verdicts, [PASS, PASS, length]);
    for (bytes, verdict) in [(106_249, PASS), (106_250, PERSISTENT)] {
        let mut scheme = ecn_sharp(&config);
        decide(&mut scheme, 1000, 200_000);
        decide(&mut scheme, 1100, bytes);
        assert_eq!(decide(&mut scheme, 1201, 200_000), verdict, "{bytes}");
    }
    // A fractional target of 106250.8 bytes: 106250 are below, 106251 are not.
    let config = Config { pst_target: Some(Span::from_ps(85_000_640)), ..config };
    for (bytes, verdict) in [(106_250, PASS), (106_251, PERSISTENT)] {
        let mut scheme = ecn_sharp(&config);
        decide(&mut scheme, 1000, 200_000);
        decide(&mut scheme, 1100, bytes);
        assert_eq!(decide(&mut scheme, 1201, 200_000), verdict, "{bytes}");
    }
}

#[test]
fn the_instantaneous_part_may_be_probabilistic() {
    for (arithmetic, high) in [(Arithmetic::Exact, 201), (Arithmetic::Tofino, 202)] {
        let config = Config {
            ins_min_target: Some(Span::from_us(100)),
            max_probability: Ratio::new(1, 2).unwrap(),
            arithmetic,
            ..Config::default()
        };
        let mut scheme = ecn_sharp(&config);
        // One packet below the persistent target after each, so that only one part acts.
        let mut hits = |us| {
            let hit = |_: &u32| {
                scheme.on_dequeue(&cx(), Span::ZERO);
                scheme.on_dequeue(&cx(), Span::from_us(us)) == SOJOURN
            };
            (0..10_000).filter(hit).count()
        };
        assert_eq!([hits(99), hits(high)], [0, 10_000]);
        assert!(hits(150).abs_diff(2_500) < 200);
        assert!(hits(199).abs_diff(5_000) < 200);
    }
    let config = Config {
        ins_min_target: Some(Span::from_us(190)),
        max_probability: Ratio::ZERO,
        ..Config::default()
    };
    let mut scheme = ecn_sharp(&config);
    between(&mut scheme, 1_000_000_000);
    assert_eq!(between(&mut scheme, 1_201_000_000), PERSISTENT, "the other part is unchanged");
}

#[test]
fn tofino_ticks_are_1024_ns() {
    let config = Config { arithmetic: Arithmetic::Tofino, ..Config::default() };
    let mut scheme = ecn_sharp(&config);
    // 200 µs are 195 ticks: 196 ticks are marked.
    let verdicts = [200_703_999, 200_704_000].map(|ps| scheme.on_dequeue(&cx(), Span::from_ps(ps)));
    assert_eq!(verdicts, [PASS, SOJOURN]);
    // 85 µs are 83 ticks: 82 are below. Detected after more than 195 ticks, and 195 after that.
    for (sojourn, verdict) in [(84_991_999, PASS), (84_992_000, PERSISTENT)] {
        let mut scheme = ecn_sharp(&config);
        between(&mut scheme, 1_024_000_000);
        scheme.on_dequeue(&at(1_100_000_000), Span::from_ps(sojourn));
        assert_eq!(between(&mut scheme, 1_195 * 1_024_000), PASS);
        assert_eq!(between(&mut scheme, 1_196 * 1_024_000), verdict);
    }
}

#[test]
fn tofino_marks_like_the_paper_within_the_error_of_its_division() {
    let run = |arithmetic| {
        let config = Config { arithmetic, ..Config::default() };
        let mut scheme = ecn_sharp(&config);
        let marked = |us: &u64| between(&mut scheme, us * 1_000_000) == PERSISTENT;
        (1000..3000).filter(marked).take(40).collect::<alloc::vec::Vec<_>>()
    };
    let (exact, tofino) = (run(Arithmetic::Exact), run(Arithmetic::Tofino));
    assert_eq!([exact.len(), tofino.len()], [40, 40]);
    for (marks, (exact, tofino)) in (0..).zip(exact.into_iter().zip(tofino)) {
        // Each distance loses a tick at most; an interval or a packet may start one tick late.
        let earliest = exact - marks - 2;
        let latest = exact + (exact - 1000) / 7 + 2;
        assert!((earliest..=latest).contains(&tofino), "{marks}: {exact} {tofino}");
    }
}

#[test]
fn equal_instantaneous_targets_are_a_step() {
    let mut scheme =
        ecn_sharp(&Config { ins_min_target: Some(Span::from_us(200)), ..Config::default() });
    let verdicts = [199_999_999, 200_000_000, 200_000_001]
        .map(|ps| scheme.on_dequeue(&at(0), Span::from_ps(ps)));
    assert_eq!(verdicts, [MarkDecision::Pass, MarkDecision::Pass, SOJOURN]);
}

#[test]
fn impossible_parameters_are_named() {
    let field = |config: Config| match EcnSharp::new(&config, &port_info(1)) {
        Err(ConfigError::OutOfRange { field, .. }) => Some(field),
        Err(other) => panic!("{other:?}"),
        Ok(_) => None,
    };
    let interval = |arithmetic, ps| Config {
        pst_interval: Some(Span::from_ps(ps)),
        arithmetic,
        ..Config::default()
    };
    assert_eq!(field(interval(Arithmetic::Exact, 0)), Some("pst_interval"));
    assert_eq!(field(interval(Arithmetic::Exact, 1)), None);
    assert_eq!(field(interval(Arithmetic::Tofino, 1_023_999)), Some("pst_interval"));
    assert_eq!(field(interval(Arithmetic::Tofino, 1_024_000)), None);
    assert_eq!(field(interval(Arithmetic::Tofino, (1_024_000 << 32) - 1)), None);
    assert_eq!(field(interval(Arithmetic::Tofino, 1_024_000 << 32)), Some("pst_interval"));
    let rise = |us, percent| Config {
        ins_min_target: Some(Span::from_us(us)),
        max_probability: Ratio::new(percent, 100).unwrap(),
        ..Config::default()
    };
    assert_eq!(field(rise(201, 100)), Some("ins_min_target"));
    assert_eq!(field(rise(200, 100)), None);
    assert_eq!(field(rise(200, 101)), Some("max_probability"));
    let unused = Config { ins_min_target: None, ..rise(200, 101) };
    assert_eq!(field(unused), Some("max_probability"));
    let ns3_on_tofino =
        Config { law: Law::Ns3, arithmetic: Arithmetic::Tofino, ..Config::default() };
    assert_eq!(field(ns3_on_tofino), Some("law"));
}

#[test]
fn the_extremes_neither_wrap_nor_panic() {
    for law in [Law::Ns3, Law::Paper] {
        let config = Config { pst_interval: Some(Span::MAX), law, ..Config::default() };
        let mut scheme = ecn_sharp(&config);
        for _ in 0..3 {
            assert_eq!(scheme.on_dequeue(&at(u64::MAX), Span::MAX), SOJOURN);
        }
    }
    assert_eq!(over_sqrt(Span::MAX, 1), Span::MAX);
    assert_eq!(over_sqrt(Span::MAX, 4), Span::from_ps(u64::MAX / 2));
    let fastest = Rate::from_bps(u64::MAX).unwrap();
    assert_eq!(bytes_rounded_up(fastest, Span::MAX), u64::MAX);
    assert_eq!(size_of::<Phase>(), 16);
    assert!(size_of::<AnyMarker>() <= 64);
}
