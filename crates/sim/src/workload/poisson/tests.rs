use std::collections::BTreeMap;

use tidegate_units::{Bytes, Settings};

use super::super::Published;
use super::*;

/// 8 racks of 16 hosts, or more if needed.
fn env(hosts: u32, seed: u64) -> Env<'static> {
    Env { hosts, rack: &|host| host.0 / 16, seed, stream: 7 }
}

fn flows(config: &Config, hosts: u32) -> Vec<Flow> {
    config.flows(&env(hosts, 1)).unwrap()
}

fn ended(flows: u64) -> Config {
    Config { flows: Some(flows), ..Config::default() }
}

/// Time from the first flow to the last, per flow, in microseconds.
fn mean_gap(flows: &[Flow]) -> f64 {
    let last = flows.last().unwrap().start;
    let each = last.as_ps() / flows.len() as u64;
    f64::from(u32::try_from(each / 1_000).expect("below 4 s")) / 1e3
}

#[test]
fn flows_arrive_at_the_rate_of_the_formula() {
    let count = 40_000;
    // Four standard errors of a mean of 40 000 exponential gaps: 2 %.
    let check = |config: &Config, hosts, expected: f64| {
        let found = mean_gap(&flows(config, hosts));
        assert!((found / expected - 1.0).abs() < 0.02, "{found} {expected}");
    };
    // 8 · 1 711 250 / 6e9 s / 128.
    check(&ended(count), 128, 17.825_520);
    // ECN♯: 219.1 flows a second from each of 128 servers.
    let ecn_sharp = Config { until: None, flows: Some(count), ..Published::EcnSharp.config() };
    check(&ecn_sharp, 128, 35.651_041);
    // BCC at a core load of 0.7; the default of 0.6 is 7/6 of the gap in the formula's test.
    let bcc = Config { flows: Some(count), ..Published::Bcc.config() };
    check(&bcc, 128, 2.685_765 * 7.0 / 6.0);
    // TrafficGenerator at 900 Mb/s.
    let generator = Config {
        load: "0.9".parse().unwrap(),
        flows: Some(count),
        ..Published::TrafficGenerator.config()
    };
    check(&generator, 9, 16_156.0);
    // 40 Gb/s at 60 %: 8 · 1 711 250 / 24e9 s, for any number of senders.
    let bottleneck = Config { flows: Some(count), ..Published::DiffEcnBottleneck.config() };
    check(&bottleneck, 41, 570.416_667);
    check(&bottleneck, 128, 570.416_667);
}

#[test]
fn every_pair_of_tcns_simulations_carries_the_same_bytes() {
    let config = Config {
        load: "0.9".parse().unwrap(),
        flows: Some(200_000),
        ..Published::TcnSimulation.config()
    };
    let flows = flows(&config, 144);
    let mut counts = BTreeMap::new();
    for flow in &flows {
        *counts.entry(flow.service).or_insert(0_u32) += 1;
        let formula = ((flow.dst.0 + 1) * 144 + flow.src.0 + 1) % 7 + 1;
        assert_eq!(u32::from(flow.service), formula);
        assert_eq!(flow.bytes % 1460, 0);
    }
    // Pairs by service, counted one by one.
    let mut pairs = BTreeMap::new();
    for (src, dst) in (0..144 * 144).map(|i| (i / 144, i % 144)) {
        if src != dst {
            let service = ((dst + 1) * 144 + src + 1) % 7 + 1;
            *pairs.entry(u8::try_from(service).unwrap()).or_insert(0_u32) += 1;
        }
    }
    assert_eq!(pairs.values().sum::<u32>(), 144 * 143);
    // λ of a pair is 10e9 · 0.9 / (8 · mean) / 143, with the means of the script: cache 913 703,
    // web search 1 671 357, Hadoop 4 149 016 and data mining 7 495 019 by the service modulo 4.
    let means = [913_703.0, 1_671_357.0, 4_149_016.0, 7_495_019.0];
    let rate = |service: u8| {
        let mean = means[usize::from(service % 4)];
        f64::from(pairs[&service]) * 9e9 / (8.0 * mean) / 143.0
    };
    let total: f64 = (1..=7).map(rate).sum();
    let gap = mean_gap(&flows);
    assert!((gap * total / 1e6 - 1.0).abs() < 0.01, "{gap} {total}");
    for service in 1..=7 {
        let expected = rate(service) / total * 200_000.0;
        let found = f64::from(counts[&service]);
        // Four standard deviations.
        assert!((found - expected).abs() < 4.0 * expected.sqrt(), "{service}: {found} {expected}");
    }
}

#[test]
fn a_service_without_pairs_does_not_slow_the_others() {
    // Two hosts have two pairs: 0 to 1 has service (2 · 2 + 1) mod 3 = 2, and 1 to 0 has (1 · 2 +
    // 2) mod 3 = 1. No pair has service 0.
    let config = Config {
        sizes: ["1B", "1GB", "1MB"].map(|text| Sizes::read(text).unwrap()).into(),
        assignment: Assignment::Pair,
        services: 3,
        ..ended(3_000)
    };
    let flows = flows(&config, 2);
    let of = |service| flows.iter().filter(|flow| flow.service == service).count();
    assert_eq!(of(0), 0);
    assert!((1..20).contains(&of(1)), "1 in 1000 of 3000: {}", of(1));
    // 8 · 1 MB / 6 Gb/s for one of the pairs, and a thousandth more for the other.
    let gap = mean_gap(&flows);
    assert!((gap / 1_332.0 - 1.0).abs() < 0.08, "{gap}");
}

#[test]
fn services_share_the_pairs_among_their_tables() {
    let config = Config {
        sizes: vec![Sizes::fixed(Bytes(1_000)), Sizes::fixed(Bytes(9_000))],
        assignment: Assignment::Weights,
        services: 2,
        service_weights: vec![3, 1],
        ..ended(40_000)
    };
    let flows = flows(&config, 2);
    for flow in &flows {
        assert_eq!(flow.bytes, [1_000, 9_000][usize::from(flow.service)]);
    }
    // The mean is ¾ · 1000 + ¼ · 9000 = 3000 bytes: 8 · 3000 / 6e9 s over two senders.
    let gap = mean_gap(&flows);
    assert!((gap / 2.0 - 1.0).abs() < 0.02, "{gap}");
}

#[test]
fn seeds_reproduce_and_differ() {
    let config = ended(100);
    let of = |seed| config.flows(&env(128, seed)).unwrap();
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn the_first_flows_never_change() {
    // Computed independently, with 60 decimal digits. A change here changes every result of every
    // user: it needs a very good reason.
    let found: Vec<_> = flows(&ended(3), 128)
        .iter()
        .map(|flow| (flow.start.as_ps(), flow.src.0, flow.dst.0, flow.bytes))
        .collect();
    assert_eq!(found, FIRST_FLOWS);
}

const FIRST_FLOWS: [(u64, u32, u32, u64); 3] = [
    (21_150_396, 120, 58, 73_175),
    (31_255_602, 109, 56, 13_710_004),
    (48_723_429, 61, 15, 195_426),
];

#[test]
fn another_load_keeps_pairs_and_sizes() {
    let double = Config { load: "1.2".parse().unwrap(), ..ended(200) };
    for (slow, fast) in flows(&ended(200), 128).iter().zip(flows(&double, 128)) {
        assert_eq!((slow.src, slow.dst, slow.bytes), (fast.src, fast.dst, fast.bytes));
        // Half the time, except for the rounding of each gap.
        assert!((fast.start.as_ps() * 2).abs_diff(slow.start.as_ps()) < 400);
    }
}

#[test]
fn arrivals_end_at_flows_or_until_whichever_is_first() {
    let both = Config {
        start: Span::from_ms(1),
        until: Some(Span::from_ms(3)),
        flows: Some(1_000_000),
        ..Config::default()
    };
    let until = flows(&both, 128);
    // 2 ms at 17.83 µs.
    assert!((80..150).contains(&until.len()), "{}", until.len());
    let (first, last) = (until[0].start, until[until.len() - 1].start);
    assert!(first > Time::from_ms(1) && last < Time::from_ms(3));
    let fewer = Config { flows: Some(10), ..both };
    assert_eq!(flows(&fewer, 128), until[..10]);
}

#[test]
fn a_load_without_an_end_or_meaning_is_refused() {
    for (settings, named) in [
        (&[][..], "flows"),
        (&[("load", "1.01")], "load"),
        (&[("load", "0"), ("flows", "5")], "load"),
        (&[("load", "60"), ("flows", "5")], "load"),
        (&[("load", "10"), ("flows", "5")], "load"),
        (&[("flows", "0")], "flows"),
        (&[("flows", "0"), ("until", "1ms")], "flows"),
        (&[("flows", "100000001")], "flows"),
        (&[("until", "100000s")], "until"),
        (&[("until", "1ms"), ("start", "1ms")], "until"),
        (&[("flows", "5"), ("mean", "script")], "mean"),
        (&[("flows", "5"), ("sizes", "")], "sizes"),
        (&[("flows", "5"), ("pattern", "all-to-one")], "to"),
        (&[("flows", "5"), ("mss", "0")], "mss"),
        // 14 000 s apart, so that 213 days hold some 1300.
        (&[("flows", "100000"), ("link", "1Mbps"), ("load", "0.001"), ("from", "0")], "flows"),
    ] {
        let mut config = Config::default();
        for (field, text) in settings {
            config.set(field, text).unwrap();
        }
        match config.flows(&env(128, 1)) {
            Err(ConfigError::OutOfRange { field, .. }) => assert_eq!(field, named, "{settings:?}"),
            other => panic!("{settings:?}: {other:?}"),
        }
    }
    // Ten times the link is a percentage by mistake; nine times is an overload with an end.
    let nine = Config { load: "9".parse().unwrap(), ..ended(5) };
    assert_eq!(flows(&nine, 128).len(), 5);
}

#[test]
fn a_load_refers_to_a_single_receiver_and_otherwise_to_the_senders() {
    // 8 · 1 711 250 / 6e9 s = 2281.7 µs at one link, for any pattern.
    let gap = |from: &str, to: &str, pattern: Pattern| {
        let config = Config {
            from: Hosts::read(from).unwrap(),
            to: Hosts::read(to).unwrap(),
            pattern,
            ..ended(20_000)
        };
        mean_gap(&flows(&config, 33))
    };
    for (from, to, pattern, expected) in [
        ("all", "0", Pattern::AllToAll, 2_281.7),
        ("all", "0", Pattern::AllToOne, 2_281.7),
        ("16-32", "0", Pattern::InterRack, 2_281.7),
        ("0", "1-32", Pattern::AllToAll, 2_281.7),
        ("0-7", "31-32", Pattern::AllToAll, 2_281.7 / 8.0),
    ] {
        let found = gap(from, to, pattern);
        // Four standard errors of a mean of 20 000 exponential gaps.
        assert!((found / expected - 1.0).abs() < 0.03, "{from} {to}: {found}");
    }
}

#[test]
fn any_field_can_be_set_by_name_and_text() {
    let mut config = Config::default();
    for (field, text) in [
        ("load", "9/10"),
        ("link", "40Gbps"),
        ("load_on", "uplinks-approximate"),
        ("counts", "wire-mss"),
        ("mean", "sampled"),
        ("period", "whole-us"),
        ("oversubscription", "2"),
        ("pattern", "inter-rack"),
        ("from", "0-15"),
        ("to", "16-31, 40"),
        ("sizes", "web-search, 3KB..60KB, 0 0; 500 1"),
        ("rounding", "trunc-bytes"),
        ("mss", "1400"),
        ("assignment", "weights"),
        ("services", "2"),
        ("first_service", "1"),
        ("service_weights", "3, 1"),
        ("group", "2"),
        ("start", "1ms"),
        ("until", "2ms"),
        ("flows", "10"),
    ] {
        config.set(field, text).unwrap();
        assert_eq!(config.value(field).as_deref(), Some(text));
    }
    assert_eq!(Config::FIELDS.len(), 21, "a field of this test is missing");
}
