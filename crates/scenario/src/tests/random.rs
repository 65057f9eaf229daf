//! Random scenarios are accepted or refused, and read back unchanged.

use tidegate_units::{Form, Rng};

use super::*;
use crate::layout::Section;
use crate::text::document;

fn resolves(overrides: &[String]) -> Result<String, Problem> {
    let scenario = Scenario::parse("base.toml", BASE, overrides)?;
    let resolved = scenario.resolved();
    let again = Scenario::parse("resolved.toml", &resolved, &[]);
    let again = again.unwrap_or_else(|problem| panic!("{overrides:?}\n{problem}\n{resolved}"));
    assert_eq!(again.resolved(), resolved, "{overrides:?}");
    assert!(given(&scenario) == given(&again), "{overrides:?}\n{resolved}");
    Ok(resolved)
}

/// Additional overrides for kinds whose defaults do not work alone.
fn company(key: &str, kind: &str) -> Vec<String> {
    let queues = "switch.scheduler={ kind = \"sp-dwrr\", quanta = [1500, 1500] }";
    let more: &[&str] = match (key, kind) {
        ("switch.marking", "or") => {
            &["switch.marking={ kind = \"or\", first = { kind = \"tcn\" }, second = { kind = \
                \"codel\" } }"]
        }
        ("switch.marking", _) => &[queues],
        ("switch.buffer", "pfc") => {
            &["nic={}", "switch.buffer.classes=1", "switch.buffer.bypass=[]"]
        }
        ("switch.flow_control", _) => {
            &[queues, "nic.scheduler={ kind = \"sp-dwrr\", quanta = [1500, 1500] }"]
        }
        ("traffic.0", "list") => &["traffic.0.flows=a,0,0,1,1000"],
        ("traffic.0", "long-lived") => &["traffic.0.bytes=10KB"],
        ("traffic.0", "ecn-sharp-queue-track") => &["topology.hosts=17", "traffic.0.flows=20"],
        ("traffic.0", "ecn-sharp" | "bcc" | "diff-ecn-fabric") => &[
            "topology={ kind = \"leaf-spine\", leaves = 2, spines = 1, hosts_per_leaf = 2 }",
            "traffic.0.flows=20",
        ],
        ("traffic.0", "messages") => &["traffic.0.idle=1ms"],
        ("traffic.0", _) if kind != "burst" => &["traffic.0.flows=20"],
        _ => &[],
    };
    more.iter().map(ToString::to_string).collect()
}

/// Section of the table at a path.
fn section(path: &str) -> &'static Section {
    let path: Vec<String> = path.split('.').map(str::to_owned).collect();
    Section::at(&path).unwrap().0
}

#[test]
fn every_kind_and_profile_is_read_made_and_resolved() {
    let tables = [
        "topology",
        "switch.marking",
        "switch.scheduler",
        "switch.buffer",
        "switch.flow_control",
        "transport",
        "transport.cc",
        "traffic.0",
    ];
    let mut count = 0;
    for key in tables {
        let section = section(key);
        for kind in section.kinds().unwrap() {
            let mut overrides = vec![format!("{key}.kind={kind}")];
            overrides.extend(company(key, kind));
            let profiles =
                (section.profiles)(kind).map_or(&["none"][..], |profiles| profiles.names);
            for profile in profiles {
                let mut overrides = overrides.clone();
                if *profile != "none" {
                    overrides.push(format!("{key}.profile={profile}"));
                }
                resolves(&overrides).unwrap_or_else(|problem| panic!("{overrides:?}\n{problem}"));
                count += 1;
            }
        }
    }
    assert!(count > 60, "{count}");
}

/// A cheap random number below `most`.
fn below(rng: &mut Rng, most: usize) -> usize {
    rng.next_u32() as usize % most.max(1)
}

/// A value for a setting of this form, usually a valid one.
fn some_value(rng: &mut Rng, form: Form) -> String {
    let number = [1_u64, 2, 3, 7, 10, 64, 1500, 100_000][below(rng, 8)];
    match form {
        Form::Bool => ["true", "false"][below(rng, 2)].into(),
        Form::Bytes => format!("{number}KB"),
        Form::Choice(choices) => choices[below(rng, choices.len())].name.into(),
        Form::List(inner) => {
            let items: Vec<String> = (0..=below(rng, 2))
                .map(|_| match inner {
                    Form::Number(_) => some_value(rng, *inner),
                    _ => document::quoted(&some_value(rng, *inner)),
                })
                .collect();
            format!("[{}]", items.join(", "))
        }
        Form::Number(most) => number.min(most).to_string(),
        Form::Optional(_) if below(rng, 2) == 0 => "none".into(),
        Form::Optional(inner) => some_value(rng, *inner),
        Form::Rate => format!("{number}Mbps"),
        Form::Ratio => format!("{}/{}", 1 + below(rng, 9), 1 + below(rng, 9)),
        Form::Size => [format!("{number}pkts"), format!("{number}B")][below(rng, 2)].clone(),
        Form::Span => format!("{number}us"),
        Form::Text(_) => ["all", "0", "web-search"][below(rng, 3)].into(),
    }
}

#[test]
fn random_settings_resolve_to_the_same_runs_or_are_refused() {
    let tables = [
        "topology",
        "switch.marking",
        "switch.scheduler",
        "switch.buffer",
        "transport",
        "transport.receiver",
        "transport.cc",
        "transport.tagging",
        "transport.host_delay",
        "transport.host_receive",
        "traffic.0",
        "measure",
    ];
    let (mut read, mut refused) = (0, 0);
    for seed in 0..400 {
        let mut rng = Rng::new(seed, 5);
        let mut overrides = Vec::new();
        for _ in 0..=below(&mut rng, 2) {
            let key = tables[below(&mut rng, tables.len())];
            let section = section(key);
            let kinds = section.kinds().unwrap_or_else(|| vec![""]);
            let kind = kinds[below(&mut rng, kinds.len())];
            if !kind.is_empty() {
                overrides.push(format!("{key}.kind={kind}"));
                overrides.extend(company(key, kind));
            }
            let Some(part) = (section.part)(kind, section.default_profile(kind)) else {
                continue;
            };
            for _ in 0..below(&mut rng, 4) {
                let fields = part.fields();
                if let Some(field) = fields.get(below(&mut rng, fields.len())) {
                    let value = some_value(&mut rng, field.form);
                    overrides.push(format!("{key}.{}={value}", field.name));
                }
            }
        }
        // A panic shows the overrides, which `resolves` puts into its messages.
        let scenario = Scenario::parse_within("base.toml", BASE, &overrides, Limits::FUZZING);
        match scenario.and_then(|scenario| scenario.plan()) {
            Ok(_) => {
                resolves(&overrides).unwrap_or_else(|problem| panic!("{overrides:?}\n{problem}"));
                read += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(read > 100 && refused > 20, "{read} read, {refused} refused");
}

#[test]
fn mutated_scenarios_are_read_or_refused_and_never_panic() {
    const WORDS: [&str; 16] = [
        "kind",
        "\"none\"",
        "{}",
        "[]",
        "=",
        "\n",
        "[sweep]\n",
        "{ from = 1, to = 3, step = 1 }",
        "99999999999999999999",
        "-1",
        "\"all\"",
        "'",
        "♯",
        "0.5",
        "[[traffic]]\n",
        ".",
    ];
    let rounds = std::env::var_os("SCENARIO_MUTATIONS");
    let rounds = rounds.and_then(|text| text.to_str()?.parse().ok()).unwrap_or(1_500_u64);
    for seed in 0..rounds {
        let mut rng = Rng::new(seed, 7);
        let (_, text) = FILES[below(&mut rng, FILES.len())];
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=below(&mut rng, 3) {
            let at = below(&mut rng, bytes.len() + 1);
            let to = (at + below(&mut rng, 20)).min(bytes.len());
            match below(&mut rng, 5) {
                0 => drop(bytes.drain(at..to)),
                1 => {
                    let word = WORDS[below(&mut rng, WORDS.len())];
                    drop(bytes.splice(at..at, word.bytes()));
                }
                2 => {
                    let word = WORDS[below(&mut rng, WORDS.len())];
                    drop(bytes.splice(at..to, word.bytes()));
                }
                3 => {
                    // Moves a line elsewhere.
                    let lines: Vec<Vec<u8>> =
                        bytes.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
                    let mut lines = lines;
                    let line = lines.remove(below(&mut rng, lines.len()));
                    lines.insert(below(&mut rng, lines.len() + 1), line);
                    bytes = lines.join(&b'\n');
                }
                _ => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = rng.next_u32() as u8;
                    }
                }
            }
        }
        if let Err(problem) = fuzz::scenario(&bytes) {
            panic!("seed {seed}: {problem}\n{}", String::from_utf8_lossy(&bytes));
        }
    }
}
