use tidegate_units::{Rng, Span, Time};

use super::*;

fn source(name: &str, settings: &[(&str, &str)]) -> Source {
    let mut source = Source::named(name).unwrap();
    for (field, text) in settings {
        source.set(field, text).unwrap();
    }
    source
}

fn traffic(sources: Vec<Source>) -> Traffic {
    Traffic {
        sources,
        probes: Vec::new(),
    }
}

fn rack(host: HostId) -> u32 {
    host.0 / 4
}

#[test]
fn sources_are_merged_by_start_and_then_by_their_order() {
    let list = List::parse("late,0.002,0,1,10\nearly,0.001,2,3,20\nalso,0.001,3,2,30\n").unwrap();
    let burst = source(
        "burst",
        &[
            ("start", "1ms"),
            ("from", "4-5"),
            ("to", "6"),
            ("sizes", "40B"),
        ],
    );
    let long = source(
        "long-lived",
        &[("from", "7"), ("to", "6"), ("bytes", "50B")],
    );
    let planned = traffic(vec![burst, Source::List(list), long])
        .plan(8, &rack, 1)
        .unwrap();
    let found: Vec<_> = planned
        .iter()
        .map(|planned| {
            (
                planned.flow.start,
                planned.source,
                planned.index,
                planned.flow.bytes,
            )
        })
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
fn another_source_leaves_the_streams_of_the_others_alone() {
    let poisson = source("poisson", &[("flows", "50")]);
    let burst = source("burst", &[("senders", "random"), ("fan_in", "3")]);
    let flows = |sources| traffic(sources).plan(8, &rack, 1).unwrap();
    let alone = flows(vec![poisson.clone()]);
    let both = flows(vec![poisson.clone(), burst]);
    let kept: Vec<_> = both
        .into_iter()
        .filter(|planned| planned.source == 0)
        .collect();
    assert_eq!(alone, kept);
    // Two sources with the same settings are not the same flows.
    let twice = flows(vec![poisson.clone(), poisson]);
    let second: Vec<_> = twice
        .iter()
        .filter(|planned| planned.source == 1)
        .map(|planned| planned.flow)
        .collect();
    assert_ne!(
        second[..],
        alone.iter().map(|planned| planned.flow).collect::<Vec<_>>()[..]
    );
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
    let probes = vec![probe::Config {
        every: Span::ZERO,
        ..probe::Config::default()
    }];
    let pings = Traffic {
        sources: vec![good],
        probes,
    };
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
    assert_eq!(
        (list.name(), list.fields().len(), list.value("id")),
        ("list", 0, None)
    );
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
        assert!(
            flows
                .iter()
                .all(|flow| flow.bytes > 0 && flow.src != flow.dst)
        );
    }
}

/// Changes, removes or repeats a few bytes.
fn mutate(rng: &mut Rng, text: &mut Vec<u8>) {
    for _ in 0..=rng.next_u32() % 4 {
        let at = rng.next_u32() as usize % text.len().max(1);
        let end = (at + rng.next_u32() as usize % 8).min(text.len());
        match rng.next_u32() % 5 {
            0 if at < text.len() => text[at] = rng.next_u32().to_le_bytes()[0],
            1 if at < text.len() => text[at] = b"0123456789-+.eE#, \n"[at % 19],
            2 => drop(text.drain(at..end)),
            3 => text.extend_from_within(at..end),
            // A longer number, for the extremes.
            _ => drop(text.splice(at..at, *b"99999")),
        }
    }
}

/// What reads a table must answer, whatever it is; and what it made of it must work.
fn answer(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(distribution) = Distribution::parse(&text) {
        let sizes = Sizes::Own(distribution.clone());
        assert_eq!(Sizes::read(&sizes.write()), Ok(sizes), "{text}");
        for rounding in [
            Rounding::CeilBytes,
            Rounding::CeilPackets,
            Rounding::TruncBytes,
        ] {
            let sampler = distribution.sampler(Some(rounding), 1460).unwrap();
            let mut before = 0;
            for part in 0..=20 {
                let size = sampler.quantile(part, 20);
                assert!(size >= before || part == 1, "{text}");
                before = size;
            }
            assert!(sampler.mean() <= Mean::whole(before.max(2)), "{text}");
        }
    }
    if let Ok(list) = List::parse(&text) {
        let most = |entry: &Entry| entry.flow.src.0.max(entry.flow.dst.0);
        let last = list.entries.iter().map(most).max().unwrap();
        assert!(list.check(last).is_err());
        assert!(last == u32::MAX || list.check(last + 1).is_ok());
        let source = Source::List(list);
        let planned = traffic(vec![source]).plan(u32::MAX, &rack, 1);
        assert!(planned.is_err() || planned.unwrap().is_sorted_by_key(|one| one.flow.start));
    }
    let _ = Sizes::read(&text);
    let _ = Hosts::read(&text);
}

#[test]
fn the_readers_answer_whatever_they_read() {
    let tables = [
        "0 0\n10000 0.15\n20000 0.2\n30000000 1\n",
        "# size, cdf\n500, 0.5\n500, 0.75\n1e6, 1.0\n",
        "id,start_s,src,dst,bytes,service,path\n1,0.5,0,1,20,3,\n2,5e-05,1,0,1,2,7\n",
        "1,0,0,1,1000\nquery,18446744.07,4294967295,2,18446744073709551614\n",
    ];
    for seed in 0..4000 {
        let mut rng = Rng::new(seed, 9);
        let noise: Vec<u8> = (0..rng.next_u32() % 60)
            .map(|_| rng.next_u32().to_le_bytes()[3])
            .collect();
        answer(&noise);
        for table in tables {
            let mut text = table.as_bytes().to_vec();
            mutate(&mut rng, &mut text);
            answer(&text);
        }
    }
}
