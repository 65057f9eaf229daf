use tidegate_units::{Span, Time};

use super::*;

fn source(name: &str, settings: &[(&str, &str)]) -> Source {
    let mut source = Source::named(name).unwrap();
    for (field, text) in settings {
        source.set(field, text).unwrap();
    }
    source
}

fn traffic(sources: Vec<Source>) -> Traffic {
    Traffic { sources, probes: Vec::new() }
}

fn rack(host: HostId) -> u32 {
    host.0 / 4
}

#[test]
fn sources_are_merged_by_start_and_then_by_their_order() {
    let list = List::parse("late,0.002,0,1,10\nearly,0.001,2,3,20\nalso,0.001,3,2,30\n").unwrap();
    let burst =
        source("burst", &[("start", "1ms"), ("from", "4-5"), ("to", "6"), ("sizes", "40B")]);
    let long = source("long-lived", &[("from", "7"), ("to", "6"), ("bytes", "50B")]);
    let planned = traffic(vec![burst, Source::List(list), long]).plan(8, &rack, 1).unwrap();
    let found: Vec<_> = planned
        .iter()
        .map(|planned| (planned.flow.start, planned.source, planned.index, planned.flow.bytes))
        .collect();
    let at = Time::from_ms;
    assert_eq!(
        found,
        [
            (at(0), 2, 0, 50),
            (at(1), 0, 0, 40),
            (at(1), 0, 1, 40),
            (at(1), 1, 1, 20),
            (at(1), 1, 2, 30),
            (at(2), 1, 0, 10),
        ]
    );
}

#[test]
fn another_source_does_not_change_the_streams_of_the_others() {
    let poisson = source("poisson", &[("flows", "50")]);
    let burst = source("burst", &[("senders", "random"), ("fan_in", "3")]);
    let flows = |sources| traffic(sources).plan(8, &rack, 1).unwrap();
    let alone = flows(vec![poisson.clone()]);
    let both = flows(vec![poisson.clone(), burst]);
    let kept: Vec<_> = both.into_iter().filter(|planned| planned.source == 0).collect();
    assert_eq!(alone, kept);
    // Two sources with the same settings create different flows.
    let twice = flows(vec![poisson.clone(), poisson]);
    let second: Vec<_> =
        twice.iter().filter(|planned| planned.source == 1).map(|planned| planned.flow).collect();
    assert_ne!(second[..], alone.iter().map(|planned| planned.flow).collect::<Vec<_>>()[..]);
}

#[test]
fn an_error_names_the_source_and_the_field() {
    let message = |sources| traffic(sources).flows(8, &rack, 1).unwrap_err().to_string();
    let good = source("long-lived", &[]);
    let load = source("poisson", &[("load", "1.5")]);
    assert_eq!(
        message(vec![good.clone(), load]),
        "source 1 (poisson): load = 3/2 is out of range; \
         allowed: at most 1 without an end: set `flows` or `until`"
    );
    let list = List::parse("1,0,0,9,5").unwrap();
    assert_eq!(
        message(vec![Source::List(list)]),
        "source 0 (list): line 1, dst: `9` is not a host of this network; accepted: 0 to 7"
    );
    let probes = vec![probe::Config { every: Span::ZERO, ..probe::Config::default() }];
    let pings = Traffic { sources: vec![good], probes };
    assert_eq!(
        pings.probes(8).unwrap_err().to_string(),
        "source 0 (probe): every = 0ps is out of range; allowed: above zero"
    );
}

#[test]
fn every_source_has_its_name_and_its_fields() {
    for &name in Source::NAMES {
        let source = Source::named(name).unwrap();
        assert_eq!(source.name(), name);
        for field in source.fields() {
            let text = source.value(field.name).unwrap();
            let mut copy = source.clone();
            copy.set(field.name, &text).unwrap();
            assert_eq!(copy, source, "{name}: {} = {text}", field.name);
        }
    }
    let mut list = Source::List(List::default());
    assert_eq!((list.name(), list.fields().len(), list.value("id")), ("list", 0, None));
    assert!(list.set("id", "1").is_err());
    assert_eq!(Source::named("websearch"), None);
}

#[test]
fn every_published_set_runs_on_its_network() {
    for &name in Published::NAMES {
        let mut source = Source::named(name).unwrap();
        source.set("flows", "1000").unwrap();
        assert_eq!(source.name(), "poisson");
        let flows = traffic(vec![source]).flows(144, &|host| host.0 / 16, 1);
        let flows = flows.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(flows.len() >= 900, "{name}: {}", flows.len());
        assert!(flows.iter().all(|flow| flow.bytes > 0 && flow.src != flow.dst));
    }
}
