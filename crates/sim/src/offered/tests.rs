use tidegate_units::Settings;

use super::*;
use crate::topology;
use crate::workload::{List, burst, poisson};

fn poisson(settings: &[(&str, &str)]) -> Source {
    let mut config = poisson::Config::default();
    for (field, text) in settings {
        config.set(field, text).unwrap();
    }
    Source::Poisson(config)
}

fn offered_on(network: Network, sources: Vec<Source>) -> (Setup, Offered) {
    let traffic = Traffic { sources, probes: Vec::new() };
    let racks = network.racks();
    let rack = |host: HostId| racks[host.index()].0;
    let plan = traffic.plan(network.hosts(), &rack, 1).unwrap();
    let flows = plan.iter().map(|planned| planned.flow).collect();
    let setup = Setup::new(network, flows);
    let offered = Offered::new(&setup, &traffic, &plan).unwrap();
    (setup, offered)
}

fn named(kind: &str, settings: &[(&str, &str)]) -> Network {
    let mut config = topology::Config::named(kind).unwrap();
    for (field, text) in settings {
        config.set(field, text).unwrap();
    }
    config.build().unwrap()
}

/// Name and load of the busiest link.
fn busiest((setup, offered): &(Setup, Offered)) -> (String, f64) {
    let (link, load) = offered.busiest().unwrap();
    let link = setup.network.link(link);
    let name = |node| setup.network.name(node);
    (format!("{}>{}", name(link.from), name(link.to)), load)
}

#[test]
fn all_senders_to_one_receiver_load_its_link_by_the_setting() {
    let star = || named("star", &[("hosts", "33")]);
    let settings = [("to", "0"), ("sizes", "14600B"), ("flows", "20000")];
    let once = offered_on(star(), vec![poisson(&settings)]);
    let (link, load) = busiest(&once);
    assert_eq!(link, "switch0>host0");
    // 60 % payload, and 40 bytes of headers for each 1460; four standard errors of 20 000 gaps.
    assert!((load / (0.6 * 1500.0 / 1460.0) - 1.0).abs() < 0.03, "{load}");
    assert_eq!(once.1.overload(), None);
    // The same load at each of 32 senders is 32 times the capacity of the receiver's link.
    let of_senders = [settings.as_slice(), &[("load_on", "senders")]].concat();
    let silent = offered_on(star(), vec![poisson(&of_senders)]);
    let (link, load) = silent.1.overload().unwrap();
    assert_eq!(silent.0.network.link(link).to, HostId(0).node());
    assert!((load / (32.0 * 0.6 * 1500.0 / 1460.0) - 1.0).abs() < 0.03, "{load}");
}

#[test]
fn random_pairs_load_links_by_expectation() {
    // Among 100 flows some host gets far more than others; in the long run all get the same.
    let fabric = named("leaf-spine", &[("leaves", "4"), ("spines", "4"), ("hosts_per_leaf", "4")]);
    let (setup, offered) =
        offered_on(fabric, vec![poisson(&[("flows", "100"), ("sizes", "1460B")])]);
    let loads = |is_meant: &dyn Fn(bool, bool) -> bool| -> Vec<f64> {
        let links = (0..).zip(setup.network.links());
        let is_host = |node| setup.network.is_host(node);
        let meant = links.filter(|(_, link)| is_meant(is_host(link.from), is_host(link.to)));
        meant.map(|(number, _)| offered.load(LinkId(number))).collect()
    };
    let of_hosts = loads(&|from, to| from || to);
    let of_fabric = loads(&|from, to| !from && !to);
    assert!(of_hosts.iter().all(|load| (load / of_hosts[0] - 1.0).abs() < 1e-9));
    // 12 of 15 receivers are in another rack, and four hosts share four uplinks.
    let expected = of_hosts[0] * 12.0 / 15.0;
    assert!(of_fabric.iter().all(|load| (load / expected - 1.0).abs() < 1e-9));
    // Four links to a receiver in another rack and two within the rack, and as many for ACKs.
    let hops = 100.0 * (4.0 * 12.0 / 15.0 + 2.0 * 3.0 / 15.0) * 2.0;
    assert!((offered.packet_hops / hops - 1.0).abs() < 1e-9, "{}", offered.packet_hops);
}

#[test]
fn traffic_between_racks_shares_the_uplinks() {
    let fabric = named("leaf-spine", &[("leaves", "4"), ("spines", "2"), ("hosts_per_leaf", "8")]);
    let settings = [
        ("pattern", "inter-rack"),
        ("load_on", "uplinks"),
        ("oversubscription", "4"),
        ("sizes", "14600B"),
        ("flows", "20000"),
        ("load", "0.9"),
    ];
    let found = offered_on(fabric, vec![poisson(&settings)]);
    let (link, load) = busiest(&found);
    assert!(
        link.starts_with("leaf") && link.contains("spine") || link.starts_with("spine"),
        "{link}"
    );
    assert!((load / (0.9 * 1500.0 / 1460.0) - 1.0).abs() < 0.03, "{load}");
}

#[test]
fn bursts_count_for_the_load_but_not_as_overload() {
    let star = named("star", &[("hosts", "9")]);
    let burst = burst::Config {
        to: crate::workload::Hosts::one(8),
        every: Some(Span::from_us(100)),
        bursts: 5,
        ..burst::Config::default()
    };
    let found = offered_on(star, vec![Source::Burst(burst)]);
    let each = found.1.payload / 5;
    let (link, load) = busiest(&found);
    assert_eq!(link, "switch0>host8");
    assert_eq!(found.1.span, Span::from_us(500));
    let payload = real(each) * 8.0 / 10e9 / 100e-6;
    assert!(load > payload && load < payload * 1.05, "{load} {payload}");
    assert!(load > 1.0, "the test needs more than the link can carry: {load}");
    assert_eq!(found.1.overload(), None);
}

#[test]
fn listed_flows_count_on_their_given_paths() {
    let text = "id,start_s,src,dst,bytes,path\na,0,0,2,14600,1\nb,0.0001,1,3,14600,1\n";
    let fabric = named("leaf-spine", &[("leaves", "2"), ("spines", "2"), ("hosts_per_leaf", "2")]);
    let traffic =
        Traffic { sources: vec![Source::List(List::parse(text).unwrap())], probes: Vec::new() };
    let plan = traffic.plan(4, &|host| host.0 / 2, 1).unwrap();
    let mut setup = Setup::new(fabric, plan.iter().map(|planned| planned.flow).collect());
    setup.paths = vec![1, 1];
    let offered = Offered::new(&setup, &traffic, &plan).unwrap();
    let found = (setup, offered);
    let (link, load) = busiest(&found);
    assert_eq!(link, "leaf0>spine1");
    // 30 000 bytes on the wire in 200 us at 10 Gb/s.
    assert!((load - 0.12).abs() < 1e-9, "{load}");
}

#[test]
fn flows_that_start_at_once_have_no_load_and_endless_ones_fill_their_links() {
    let star = || named("star", &[("hosts", "3")]);
    let flow = |src, bytes| Flow {
        start: Time::ZERO,
        bytes,
        src: HostId(src),
        dst: HostId(2),
        rate: (src == 1).then_some(Rate::from_gbps(1)),
        service: 0,
        group: 0,
    };
    let empty = Traffic::default();
    let setup = Setup::new(star(), vec![flow(0, 1_000)]);
    let once = Offered::new(&setup, &empty, &[]).unwrap();
    assert_eq!((once.span, once.busiest()), (Span::ZERO, None));
    let mut setup = Setup::new(star(), vec![flow(0, Flow::ENDLESS), flow(1, Flow::ENDLESS)]);
    setup.stop.at = Time::from_ms(12);
    let endless = Offered::new(&setup, &empty, &[]).unwrap();
    // 5 and 1 Gb/s for 12 ms in packets of 1500 bytes over two links, and ACKs.
    let packets = 6e9 * 0.012 / 8.0 / 1500.0;
    let hops = packets * 2.0 * (1.0 + acks(&setup));
    assert!((endless.packet_hops / hops - 1.0).abs() < 1e-9);
}
