use super::*;
use crate::ideal::transit;
use crate::network::{Capacity, LinkId};
use crate::routes::Routes;

/// Settings by name.
type Texts<'a> = &'a [(&'a str, &'a str)];

/// A topology with some of its settings changed.
fn set(name: &str, settings: Texts) -> Config {
    let mut config = Config::named(name).unwrap();
    for (field, text) in settings {
        config.set(field, text).unwrap();
    }
    config
}

fn network(name: &str, settings: Texts) -> Network {
    set(name, settings).build().unwrap()
}

fn error(name: &str, settings: Texts) -> String {
    set(name, settings).build().unwrap_err().to_string()
}

fn path(network: &Network, src: u32, dst: u32) -> Vec<LinkId> {
    let mut out = Vec::new();
    let routes = Routes::new(network).unwrap();
    routes.path(HostId(src), HostId(dst), 1, &mut out);
    out
}

fn round_trip(network: &Network, src: u32, dst: u32) -> Span {
    let [there, back] = [(src, dst), (dst, src)].map(|(src, dst)| path(network, src, dst));
    network.path_delay(&there) + network.path_delay(&back)
}

/// Checks the number of links between all hosts. `expected` is called with two different hosts.
fn check_hops(network: &Network, expected: impl Fn(u32, u32) -> usize) {
    let routes = Routes::new(network).unwrap();
    let mut out = Vec::new();
    let mut longest = 0;
    for src in 0..network.hosts() {
        for dst in (0..network.hosts()).filter(|&dst| dst != src) {
            routes.path(HostId(src), HostId(dst), (src ^ dst).into(), &mut out);
            assert_eq!(out.len(), expected(src, dst), "host {src} to host {dst}");
            assert_eq!(network.link(out[0]).from, NodeId(src));
            let steps = out.windows(2);
            assert!(
                steps
                    .map(|pair| [pair[0], pair[1]].map(|link| *network.link(link)))
                    .all(|[before, after]| before.to == after.from)
            );
            assert_eq!(network.link(out[out.len() - 1]).to, NodeId(dst));
            longest = longest.max(out.len());
        }
    }
    assert_eq!(routes.longest() as usize, longest);
}

#[test]
fn hosts_of_a_star_are_two_links_apart() {
    check_hops(&network("star", &[]), |_, _| 2);
    check_hops(&network("star", &[("hosts", "2")]), |_, _| 2);
}

#[test]
fn hosts_across_a_dumbbell_are_three_links_apart() {
    let settings = [("left", "3"), ("right", "5")];
    let far = |src, dst| 2 + usize::from((src < 3) != (dst < 3));
    check_hops(&network("dumbbell", &settings), far);
}

#[test]
fn hosts_of_a_parking_lot_are_as_far_apart_as_their_switches() {
    let switch = [0_u32, 0, 2, 2, 3];
    let far = |src: u32, dst: u32| {
        let [src, dst] = [src, dst].map(|host| switch[host as usize]);
        2 + src.abs_diff(dst) as usize
    };
    check_hops(&network("parking-lot", &[]), far);
    let settings =
        [("hosts", "1, 1, 1, 1, 1, 1"), ("pipe_rates", "10Gbps"), ("pipe_delays", "1us")];
    let far = |src: u32, dst: u32| 2 + src.abs_diff(dst) as usize;
    check_hops(&network("parking-lot", &settings), far);
}

#[test]
fn hosts_of_a_leaf_spine_are_two_or_four_links_apart() {
    let settings = [("leaves", "5"), ("spines", "3"), ("hosts_per_leaf", "4")];
    let far = |src, dst| if src / 4 == dst / 4 { 2 } else { 4 };
    check_hops(&network("leaf-spine", &settings), far);
}

#[test]
fn hosts_of_a_fat_tree_are_two_four_or_six_links_apart() {
    for half in [1, 2, 3] {
        let k = (2 * half).to_string();
        let far = |src: u32, dst: u32| {
            let same = |size: u32| src / size == dst / size;
            match (same(half), same(half * half)) {
                (true, _) => 2,
                (false, true) => 4,
                (false, false) => 6,
            }
        };
        check_hops(&network("fat-tree", &[("k", &k)]), far);
    }
}

#[test]
fn a_fat_tree_has_the_published_numbers_of_nodes_and_cables() {
    for k in [2_u32, 4, 6, 8, 20] {
        let network = network("fat-tree", &[("k", &k.to_string())]);
        let hosts = k * k * k / 4;
        assert_eq!(network.hosts(), hosts);
        assert_eq!(network.switches(), 5 * k * k / 4);
        // A tier of cables each for hosts, edge and core, two links per cable.
        assert_eq!(network.links().len() as u32, 2 * 3 * hosts);
        // Every switch has k cables.
        let mut cables = vec![0; network.nodes() as usize];
        for link in network.links() {
            cables[link.from.index()] += 1;
        }
        assert!(cables[hosts as usize..].iter().all(|&count| count == k));
        // Each core switch has one cable into each pod.
        let cores = network.switch(k * k);
        let aggregation = network.switch(k * k / 2);
        let mut pods: Vec<(u32, u32)> = network
            .links()
            .iter()
            .filter(|link| link.from >= cores)
            .map(|link| (link.from.0, (link.to.0 - aggregation.0) / (k / 2)))
            .collect();
        pods.sort_unstable();
        pods.dedup();
        assert_eq!(pods.len() as u32, k * k / 4 * k);
    }
}

#[test]
fn oversubscription_equals_the_papers() {
    let gigabits = |to_hosts: u64, to_switches: u64| Capacity {
        to_hosts: to_hosts * 1_000_000_000,
        to_switches: to_switches * 1_000_000_000,
    };
    // TCN does not oversubscribe.
    let tcn = network("leaf-spine", &[]);
    assert_eq!((tcn.hosts(), tcn.switches()), (144, 24));
    assert_eq!(tcn.capacity(tcn.switch(11)), gigabits(120, 120));
    assert_eq!(tcn.capacity(tcn.switch(12)), gigabits(0, 120));
    // ECN♯, BCC and DiffECN: two to one.
    let two_to_one =
        network("leaf-spine", &[("leaves", "8"), ("spines", "8"), ("hosts_per_leaf", "16")]);
    assert_eq!(two_to_one.hosts(), 128);
    assert_eq!(two_to_one.capacity(two_to_one.switch(7)), gigabits(160, 80));
    // By speed: 16 hosts of 25 Gb/s and 4 spines of 100 Gb/s.
    let by_speed = network(
        "leaf-spine",
        &[
            ("spines", "4"),
            ("hosts_per_leaf", "16"),
            ("host_rate", "25Gbps"),
            ("fabric_rate", "100Gbps"),
        ],
    );
    assert_eq!(by_speed.capacity(by_speed.switch(0)), gigabits(400, 400));
}

#[test]
fn base_round_trips_equal_the_papers() {
    let eight = |host_delay, fabric_delay, rate| {
        let settings = [
            ("leaves", "8"),
            ("spines", "8"),
            ("hosts_per_leaf", "16"),
            ("host_delay", host_delay),
            ("fabric_delay", fabric_delay),
            ("host_rate", rate),
            ("fabric_rate", rate),
        ];
        round_trip(&network("leaf-spine", &settings), 0, 127)
    };
    let us = Span::from_us;
    assert_eq!(eight("19us", "1us", "100Gbps"), us(80), "BCC");
    assert_eq!(eight("10us", "10us", "10Gbps"), us(80), "ECN♯");
    assert_eq!(eight("15us", "15us", "40Gbps"), us(120), "DiffECN");
    assert_eq!(round_trip(&network("star", &[]), 0, 8), us(100), "TCN");
    assert_eq!(round_trip(&network("dumbbell", &[]), 0, 15), us(100));
    // The ODCTCP thesis: 10 + 1 + 10 ms, 10 + 1 ms, 10 ms.
    let lot = network("parking-lot", &[]);
    assert_eq!(round_trip(&lot, 0, 4), Span::from_ms(21));
    assert_eq!(round_trip(&lot, 1, 2), Span::from_ms(11));
    assert_eq!(round_trip(&lot, 3, 4), Span::from_ms(10));
    let slowest = |src, dst| lot.bottleneck(&path(&lot, src, dst)).map(Rate::as_bps);
    assert_eq!(slowest(0, 4), Some(100_000_000));
    assert_eq!(slowest(2, 3), Some(1_000_000_000));
}

#[test]
fn the_fabric_of_tcn_has_the_published_round_trip() {
    let fabric = network("leaf-spine", &[]);
    let propagation = round_trip(&fabric, 0, 143);
    assert_eq!(propagation, Span::from_ns(81_600));
    // The paper's 85.2 µs are these and one packet of 1500 bytes forwarded by three switches,
    // without the serialization on the sender's cable and without the ACK's.
    let there = path(&fabric, 0, 143);
    let first = fabric.link(there[0]).rate.time_for(1500);
    let forwarding = transit(&fabric, &there, 1500) - fabric.path_delay(&there) - first;
    assert_eq!(forwarding, Span::from_ns(3 * 1_200));
    assert_eq!(propagation + forwarding, Span::from_ns(85_200));
}

#[test]
fn hosts_of_a_star_may_differ() {
    // ECN♯'s multi-queue setup: RTTs of 160, 160, 180, 240 µs.
    let settings =
        [("hosts", "6"), ("host_delays", "30us, 30us, 40us, 70us, 30us"), ("host_delay", "50us")];
    let star = network("star", &settings);
    let trips: Vec<_> = (0..4).map(|src| round_trip(&star, src, 5)).collect();
    assert_eq!(trips, [160, 160, 180, 240].map(Span::from_us));
    // ECN♯'s queue tracking: 16 senders, RTTs of 30 to 190 µs.
    let delays: Vec<_> =
        (0..16).map(|sender| ["10us", "20us", "35us", "50us", "90us"][sender % 5]).collect();
    let delays = delays.join(",");
    let settings = [("hosts", "17"), ("host_delays", delays.as_str()), ("host_delay", "5us")];
    let star = network("star", &settings);
    let trips: Vec<_> = [0, 4, 15].map(|src| round_trip(&star, src, 16)).into();
    assert_eq!(trips, [30, 190, 30].map(Span::from_us));
    // DiffECN's preliminary experiment, with a slower first sender: 13 + 1 µs each way.
    let settings = [
        ("hosts", "5"),
        ("host_delays", "13us, 13us, 13us, 13us"),
        ("host_delay", "1us"),
        ("host_rates", "25Gbps"),
        ("host_rate", "40Gbps"),
    ];
    let star = network("star", &settings);
    assert_eq!(round_trip(&star, 3, 4), Span::from_us(28));
    let rates = [0, 1, 4].map(|src| star.link(LinkId(2 * src)).rate);
    assert_eq!(rates, [25, 40, 40].map(Rate::from_gbps));
}

#[test]
fn hosts_of_a_dumbbell_may_differ() {
    let settings = [
        ("left", "1"),
        ("right", "2"),
        ("host_rates", "1Gbps, 2Gbps"),
        ("host_delays", "1us, 2us"),
    ];
    let dumbbell = network("dumbbell", &settings);
    let cable = |host: u32| {
        let link = dumbbell.link(LinkId(2 * host));
        (link.rate, link.delay)
    };
    assert_eq!(cable(0), (Rate::from_gbps(1), Span::from_us(1)));
    assert_eq!(cable(1), (Rate::from_gbps(2), Span::from_us(2)));
    assert_eq!(cable(2), (Rate::from_gbps(10), Span::from_us(15)));
}

#[test]
fn switches_have_the_names_of_their_tiers() {
    let name = |network: &Network, switch| network.name(network.switch(switch));
    let leaf_spine = network("leaf-spine", &[]);
    let names = [0, 11, 12, 23].map(|switch| name(&leaf_spine, switch));
    assert_eq!(names, ["leaf0", "leaf11", "spine0", "spine11"]);
    let fat_tree = network("fat-tree", &[("k", "4")]);
    let names = [7, 8, 15, 16, 19].map(|switch| name(&fat_tree, switch));
    assert_eq!(names, ["edge7", "agg0", "agg7", "core0", "core3"]);
    assert_eq!(name(&network("dumbbell", &[]), 1), "switch1");
}

#[test]
fn impossible_counts_are_refused_by_name() {
    let cases: &[(&str, Texts, &str)] = &[
        ("star", &[("hosts", "0")], "hosts = 0"),
        ("star", &[("hosts", "1")], "hosts = 1"),
        ("star", &[("hosts", "16777217")], "hosts = 16777217"),
        ("dumbbell", &[("left", "0")], "left = 0"),
        ("dumbbell", &[("right", "0")], "right = 0"),
        ("dumbbell", &[("left", "16777216")], "left = 16777216"),
        ("dumbbell", &[("right", "16777209")], "right = 16777209"),
        ("dumbbell", &[("right", "4294967295")], "right = 4294967295"),
        ("parking-lot", &[("hosts", "")], "hosts = 0 switches"),
        ("parking-lot", &[("hosts", "5")], "hosts = 1 switches"),
        ("parking-lot", &[("hosts", "0,1,0,0")], "hosts = 1 hosts in all"),
        ("parking-lot", &[("hosts", "4294967295,4294967295")], "hosts = 8589934590 hosts in all"),
        ("leaf-spine", &[("leaves", "0")], "leaves = 0"),
        ("leaf-spine", &[("leaves", "16777217")], "leaves = 16777217"),
        ("leaf-spine", &[("spines", "0")], "spines = 0"),
        ("leaf-spine", &[("spines", "1398102")], "spines = 1398102"),
        ("leaf-spine", &[("hosts_per_leaf", "0")], "hosts_per_leaf = 0"),
        ("leaf-spine", &[("hosts_per_leaf", "1398102")], "hosts_per_leaf = 1398102"),
        ("leaf-spine", &[("leaves", "1"), ("hosts_per_leaf", "1")], "hosts_per_leaf = 1"),
        ("fat-tree", &[("k", "0")], "k = 0"),
        ("fat-tree", &[("k", "1")], "k = 1"),
        ("fat-tree", &[("k", "7")], "k = 7"),
        ("fat-tree", &[("k", "407")], "k = 407"),
        ("fat-tree", &[("k", "408")], "k = 408"),
        ("fat-tree", &[("k", "4294967294")], "k = 4294967294"),
    ];
    for (name, settings, begin) in cases {
        let error = error(name, settings);
        assert!(
            error.starts_with(&format!("{begin} is out of range; allowed: ")),
            "{name}: {error}"
        );
    }
    assert_eq!(
        error("star", &[("hosts", "0")]),
        "hosts = 0 is out of range; allowed: 2 to 16777216"
    );
    assert_eq!(
        error("fat-tree", &[("k", "7")]),
        "k = 7 is out of range; allowed: an even number from 2 to 406"
    );
}

#[test]
fn the_smallest_counts_are_built() {
    let cases: &[(&str, Texts)] = &[
        ("star", &[("hosts", "2")]),
        ("dumbbell", &[("left", "1"), ("right", "1")]),
        ("parking-lot", &[("hosts", "1,1"), ("pipe_rates", "1Gbps"), ("pipe_delays", "1us")]),
        ("leaf-spine", &[("leaves", "1"), ("spines", "1"), ("hosts_per_leaf", "2")]),
        ("leaf-spine", &[("leaves", "2"), ("spines", "1"), ("hosts_per_leaf", "1")]),
        ("fat-tree", &[("k", "2")]),
    ];
    for (name, settings) in cases {
        let network = network(name, settings);
        assert_eq!(network.hosts(), 2, "{name}");
        assert!(Routes::new(&network).is_ok(), "{name}");
    }
}

#[test]
fn lists_of_the_wrong_length_are_refused_by_name() {
    let refused = |name, field, text: &str, rest| {
        let expected = format!("{field} = {rest}");
        assert_eq!(error(name, &[(field, text)]), expected);
    };
    let tenfold = |text: &str| [text; 10].join(",");
    let allowed = "10 values is out of range; allowed: at most 9 values, one for each host";
    refused("star", "host_rates", &tenfold("1Gbps"), allowed);
    refused("star", "host_delays", &tenfold("1us"), allowed);
    let allowed = "2 values is out of range; allowed: 3 values, one for each pipe, or a single one";
    refused("parking-lot", "pipe_rates", "1Gbps,2Gbps", allowed);
    refused("parking-lot", "pipe_delays", "1us,2us", allowed);
    let seventeen = [tenfold("1us"), ["1us"; 7].join(",")].join(",");
    assert!(error("dumbbell", &[("host_delays", &seventeen)]).contains("at most 16 values"));
    let many = vec!["1"; 4097].join(",");
    assert!(error("parking-lot", &[("hosts", &many)]).contains("allowed: 2 to 4096 switches"));
}

#[test]
fn delays_above_10_seconds_are_refused_by_name() {
    for name in Config::NAMES {
        let fields = Config::named(name).unwrap().fields();
        let delays = fields.iter().filter(|field| field.name.contains("delay"));
        let mut found = 0;
        for field in delays {
            found += 1;
            let refused = error(name, &[(field.name, "10.000000000001s")]);
            let expected =
                format!("{} = 10.000000000001s is out of range; allowed: at most 10s", field.name);
            assert_eq!(refused, expected);
            assert!(set(name, &[(field.name, "10s")]).build().is_ok());
        }
        assert!(found > 0, "{name} has no delay");
    }
}

#[test]
fn every_field_is_set_and_read_by_text() {
    for name in Config::NAMES {
        let config = Config::named(name).unwrap();
        assert_eq!(config.name(), *name);
        for field in config.fields() {
            let text = config.value(field.name).unwrap();
            let mut copy = config.clone();
            copy.set(field.name, &text).unwrap();
            assert_eq!(copy, config, "{name}: {} = {text}", field.name);
        }
        assert_eq!(config.value("colour"), None);
        let mut config = config;
        let unknown = config.set("colour", "red").unwrap_err().to_string();
        assert!(unknown.starts_with("there is no setting `colour`"));
        assert!(config.build().unwrap().check().is_ok());
    }
    assert_eq!(Config::named("ring"), None);
    let zero = set("star", &[]).set("host_rate", "0Gbps").unwrap_err();
    assert!(zero.to_string().starts_with("host_rate: `0Gbps` must not be zero"));
}

/// Checks that the documentation page has a row for each field with its default.
#[test]
fn the_page_has_every_field_and_default() {
    let page = include_str!("../../../../docs/topologies.md");
    for name in Config::NAMES {
        let title = format!("## {name}\n");
        let (_, section) = page.split_once(&title).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let config = Config::named(name).unwrap();
        for field in config.fields() {
            let default = config.value(field.name).unwrap();
            let default = if default.is_empty() { "empty" } else { &default };
            let row = format!("| `{}` | {default} |", field.name);
            assert!(section.contains(&row), "{name}: no row `{row}`");
        }
        let rows = section.lines().filter(|line| line.starts_with("| `")).count();
        assert_eq!(rows, config.fields().len(), "{name}");
    }
}
