//! Scenarios as a whole: what they give, and that they read back.

use super::*;

pub(super) const FILES: [(&str, &str); 5] = [
    ("everything.toml", include_str!("testdata/everything.toml")),
    ("lossless.toml", include_str!("testdata/lossless.toml")),
    ("minimal.toml", include_str!("testdata/minimal.toml")),
    ("profiles.toml", include_str!("testdata/profiles.toml")),
    ("sweep.toml", include_str!("testdata/sweep.toml")),
];

fn read(name: &str, overrides: &[&str]) -> Result<Scenario, Problem> {
    let (_, text) = FILES.iter().find(|(file, _)| *file == name).unwrap();
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    Scenario::parse(name, text, &overrides)
}

/// What a plan comes to: everything that the simulator is told, for each run.
fn told(scenario: &Scenario) -> Vec<String> {
    let runs = scenario
        .plan()
        .unwrap_or_else(|problem| panic!("{problem}"));
    let one = |run: Experiment| {
        let built = run.build().unwrap_or_else(|problem| panic!("{problem}"));
        format!(
            "{} {} {:?} {} {built:?}",
            run.id, run.label, run.point, run.seed
        )
    };
    runs.into_iter().map(one).collect()
}

#[test]
fn what_is_resolved_reads_back_as_the_same_runs() {
    for (name, text) in FILES {
        let scenario =
            Scenario::parse(name, text, &[]).unwrap_or_else(|problem| panic!("{problem}"));
        let resolved = scenario.resolved();
        let again = Scenario::parse("resolved.toml", &resolved, &[]);
        let again = again.unwrap_or_else(|problem| panic!("{problem}\n{resolved}"));
        assert_eq!(again.resolved(), resolved, "{name}");
        let (before, after) = (told(&scenario), told(&again));
        assert_eq!(before.len(), after.len());
        for (before, after) in before.iter().zip(&after) {
            assert!(before == after, "{name}:\n{before}\n\n{after}");
        }
    }
}

#[test]
fn the_runs_of_a_sweep_are_in_its_order_with_labels_and_ids() {
    let scenario = read("sweep.toml", &[]).unwrap();
    let runs = scenario.plan().unwrap();
    let found: Vec<_> = runs
        .iter()
        .map(|run| (run.id.as_str(), run.label.as_str()))
        .collect();
    let expected = [
        ("tcn-load-0.3-s7", "TCN, load 0.3"),
        ("tcn-load-0.3-s8", "TCN, load 0.3"),
        ("tcn-load-0.6-s7", "TCN, load 0.6"),
        ("tcn-load-0.6-s8", "TCN, load 0.6"),
        ("codel-load-0.3-s7", "CoDel, load 0.3"),
    ];
    assert_eq!(found[..5], expected);
    assert_eq!(runs.len(), 12);
    assert_eq!(
        runs[11].overrides()[..2],
        ["sweep={}", "switch.marking={ kind = \"mq-ecn\" }"]
    );
}

#[test]
fn the_overrides_of_a_run_give_it_alone() {
    for (name, text) in FILES {
        let scenario = Scenario::parse(name, text, &[]).unwrap();
        for run in scenario.plan().unwrap() {
            let alone = Scenario::parse(name, text, &run.overrides());
            let alone = alone.unwrap_or_else(|problem| panic!("{:?}\n{problem}", run.overrides()));
            let [again] = &alone.plan().unwrap()[..] else {
                panic!("{:?} give more than one run", run.overrides());
            };
            let setup = |run: &Experiment| format!("{:?}", run.build().unwrap().setup);
            assert_eq!(again.seed, run.seed);
            assert!(setup(&run) == setup(again), "{:?}", run.overrides());
        }
    }
}

/// A star with one flow, and something to vary.
const BASE: &str = "[topology]\nkind = 'star'\nhosts = 4\n[switch]\n[transport]\n\
                    [[traffic]]\nkind = 'long-lived'\nbytes = '10KB'\n";

fn resolves(overrides: &[String]) -> Result<String, Problem> {
    let scenario = Scenario::parse("base.toml", BASE, overrides)?;
    let resolved = scenario.resolved();
    let again = Scenario::parse("resolved.toml", &resolved, &[]);
    let again = again.unwrap_or_else(|problem| panic!("{overrides:?}\n{problem}\n{resolved}"));
    assert_eq!(again.resolved(), resolved, "{overrides:?}");
    assert!(told(&scenario) == told(&again), "{overrides:?}\n{resolved}");
    Ok(resolved)
}

/// Overrides that make a kind usable where its defaults alone are not.
fn company(key: &str, kind: &str) -> Vec<String> {
    let queues = "switch.scheduler={ kind = \"dwrr\", quanta = [1500, 1500] }";
    let more: &[&str] = match (key, kind) {
        ("switch.marking", "or") => &[
            "switch.marking={ kind = \"or\", first = { kind = \"tcn\" }, second = { kind = \"codel\" } }",
        ],
        ("switch.marking", _) => &[queues],
        ("switch.buffer", "pfc") => &[
            "nic={}",
            "switch.buffer.classes=1",
            "switch.buffer.bypass=[]",
        ],
        ("traffic.0", "list") => &["traffic.0.flows=a,0,0,1,1000"],
        ("traffic.0", "long-lived") => &["traffic.0.bytes=10KB"],
        ("traffic.0", "ecn-sharp-queue-track") => &["topology.hosts=17", "traffic.0.flows=20"],
        ("traffic.0", "ecn-sharp" | "bcc" | "diff-ecn-fabric") => &[
            "topology={ kind = \"leaf-spine\", leaves = 2, spines = 1, hosts_per_leaf = 2 }",
            "traffic.0.flows=20",
        ],
        ("traffic.0", _) if kind != "burst" => &["traffic.0.flows=20"],
        _ => &[],
    };
    more.iter().map(ToString::to_string).collect()
}

#[test]
fn every_kind_and_profile_is_read_made_and_resolved() {
    let tables = [
        ("topology", Section::Topology),
        ("switch.marking", Section::Marking),
        ("switch.scheduler", Section::Scheduler),
        ("switch.buffer", Section::Buffer),
        ("transport", Section::Transport),
        ("transport.rule", Section::Rule),
        ("traffic.0", Section::Traffic),
    ];
    let mut count = 0;
    for (key, section) in tables {
        for kind in section.kinds().unwrap() {
            let mut overrides = vec![format!("{key}.kind={kind}")];
            overrides.extend(company(key, kind));
            let profiles = section.profiles(kind).unwrap_or(&["none"]);
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
fn below(rng: &mut tidegate_units::Rng, most: usize) -> usize {
    rng.next_u32() as usize % most.max(1)
}

/// A value for a setting of this form, mostly one that can be read.
fn some_value(rng: &mut tidegate_units::Rng, form: tidegate_units::Form) -> String {
    use tidegate_units::Form;
    let number = [1, 2, 3, 7, 10, 64, 1500, 100_000][below(rng, 8)];
    match form {
        Form::Bool => ["true", "false"][below(rng, 2)].into(),
        Form::Bytes => format!("{number}KB"),
        Form::Choice(choices) => choices[below(rng, choices.len())].name.into(),
        Form::List(inner) => {
            let items: Vec<String> = (0..1 + below(rng, 3))
                .map(|_| match inner {
                    Form::Number(_) => some_value(rng, *inner),
                    _ => document::quoted(&some_value(rng, *inner)),
                })
                .collect();
            format!("[{}]", items.join(", "))
        }
        Form::Number(most) => (number as u64).min(most).to_string(),
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
        ("topology", Section::Topology),
        ("switch.marking", Section::Marking),
        ("switch.scheduler", Section::Scheduler),
        ("switch.buffer", Section::Buffer),
        ("transport", Section::Transport),
        ("transport.receiver", Section::Receiver),
        ("transport.rule", Section::Rule),
        ("transport.tagging", Section::Tagging),
        ("transport.host_delay", Section::HostDelay),
        ("traffic.0", Section::Traffic),
        ("measure", Section::Measure),
    ];
    let (mut read, mut refused) = (0, 0);
    for seed in 0..400 {
        let mut rng = tidegate_units::Rng::new(seed, 5);
        let mut overrides = Vec::new();
        for _ in 0..1 + below(&mut rng, 3) {
            let (key, section) = tables[below(&mut rng, tables.len())];
            let kinds = section.kinds().unwrap_or_else(|| vec![""]);
            let kind = kinds[below(&mut rng, kinds.len())];
            if !kind.is_empty() {
                overrides.push(format!("{key}.kind={kind}"));
                overrides.extend(company(key, kind));
            }
            let Some(part) = section.part(kind, None) else {
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
        let result = std::panic::catch_unwind(|| {
            let scenario = Scenario::parse_within("base.toml", BASE, &overrides, Limits::FUZZING);
            match scenario.and_then(|scenario| scenario.plan().map(|_| scenario)) {
                Ok(_) => resolves(&overrides).is_ok(),
                Err(_) => false,
            }
        });
        match result {
            Ok(true) => read += 1,
            Ok(false) => refused += 1,
            Err(_) => panic!("seed {seed}: {overrides:?}"),
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
    let rounds = rounds
        .and_then(|text| text.to_str()?.parse().ok())
        .unwrap_or(1_500_u64);
    for seed in 0..rounds {
        let mut rng = tidegate_units::Rng::new(seed, 7);
        let (_, text) = FILES[below(&mut rng, FILES.len())];
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..1 + below(&mut rng, 4) {
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
                    // A line moves elsewhere.
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
            panic!(
                "seed {seed}: {problem}\n{}",
                String::from_utf8_lossy(&bytes)
            );
        }
    }
}

#[test]
fn problems_are_shown_with_file_line_caret_and_advice() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/scenario/testdata/problems.txt");
    let before = std::fs::read_to_string(&path).unwrap();
    let (head, cases) = before.split_once("\n=== ").unwrap();
    let mut after = head.to_owned();
    for case in cases.split("\n=== ") {
        let (given, _) = case.split_once("\n>>>").unwrap();
        let (title, given) = given.split_once('\n').unwrap();
        let is_override = |line: &&str| line.starts_with("--set ");
        let overrides: Vec<String> = given
            .lines()
            .filter(is_override)
            .map(|line| line["--set ".len()..].to_owned())
            .collect();
        let lines: Vec<&str> = given.lines().filter(|line| !is_override(line)).collect();
        let result = Scenario::parse("case.toml", &lines.join("\n"), &overrides);
        let said = match result.and_then(|scenario| scenario.plan()) {
            Ok(_) => panic!("{title}: nothing is wrong"),
            Err(problem) => problem.to_string(),
        };
        after.push_str(&format!("\n=== {title}\n{given}\n>>>\n{said}\n"));
    }
    if std::env::var_os("TIDEGATE_WRITE_REFERENCE").is_some() {
        std::fs::write(&path, after).unwrap();
        return;
    }
    for (line, (before, after)) in (1..).zip(before.lines().zip(after.lines())) {
        assert_eq!(before, after, "line {line} of problems.txt");
    }
    assert_eq!(before, after);
}

/// A folder of its own with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tidegate-{name}-{}", std::process::id()));
    for (file, text) in files {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn a_file_is_laid_over_those_that_it_includes() {
    let folder = folder(
        "include",
        &[
            (
                "base/fabric.toml",
                "[topology]\nkind = 'star'\nhosts = 5\nhost_delay = '3us'\n",
            ),
            ("base/sizes.cdf", "1000 0\n2000 1\n"),
            (
                "base/all.toml",
                "include = 'fabric.toml'\nseed = 3\n[switch]\nmarking = { kind = 'tcn', threshold = \
                 '9us' }\n[[traffic]]\nkind = 'poisson'\nsizes = 'file:sizes.cdf'\nflows = 5\n",
            ),
            (
                "mine.toml",
                "include = ['base/all.toml']\n[topology]\nhosts = 6\n[switch.marking]\nkind = \
                 'codel'\n[sweep]\n'traffic.0.sizes' = ['file:base/sizes.cdf', '5KB']\n",
            ),
            (
                "list.toml",
                "[[traffic]]\nkind = 'list'\nfile = 'flows.csv'\n",
            ),
            (
                "flows.csv",
                "id,start_s,src,dst,bytes\nb,0.5,0,1,10\na,0.25,1,0,20\n",
            ),
        ],
    );
    let scenario = Scenario::read(&folder.join("mine.toml"), &["seed=9".to_owned()]);
    let scenario = scenario.unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(scenario.name, "mine");
    let runs = scenario.plan().unwrap();
    assert_eq!(runs.len(), 2);
    let built = runs[0].build().unwrap();
    assert_eq!((built.setup.network.hosts(), built.setup.seed), (6, 9));
    assert_eq!(
        built.setup.network.links()[0].delay,
        tidegate_units::Span::from_us(3)
    );
    assert_eq!(built.setup.switch.marking.name(), "codel");
    assert!(
        built
            .setup
            .flows
            .iter()
            .all(|flow| (1000..=2000).contains(&flow.bytes))
    );
    assert!(
        runs[1]
            .build()
            .unwrap()
            .setup
            .flows
            .iter()
            .all(|flow| flow.bytes == 5000)
    );

    let list = Scenario::read(&folder.join("list.toml"), &[]).unwrap();
    let built = list.plan().unwrap()[0].build().unwrap();
    assert_eq!(built.names, ["a", "b"]);
    assert_eq!(
        built
            .plan
            .iter()
            .map(|planned| planned.index)
            .collect::<Vec<_>>(),
        [1, 0]
    );
    // What is resolved needs no other file.
    let again = Scenario::parse("resolved.toml", &list.resolved(), &[]).unwrap();
    assert_eq!(again.plan().unwrap()[0].build().unwrap().names, ["a", "b"]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn files_that_are_missing_or_include_themselves_are_refused() {
    let folder = folder(
        "cycle",
        &[
            ("a.toml", "include = 'b.toml'\n"),
            ("b.toml", "seed = 1\ninclude = ['c.toml']\n"),
            ("c.toml", "include = 'a.toml'\n"),
            ("missing.toml", "include = 'nowhere.toml'\n"),
            ("wrong.toml", "include = 5\n"),
            (
                "list.toml",
                "[[traffic]]\nkind = 'list'\nfile = 'nowhere.csv'\n",
            ),
            (
                "sizes.toml",
                "[[traffic]]\nkind = 'burst'\nsizes = 'file:bad.cdf'\n",
            ),
            ("bad.cdf", "1000 0.5\n"),
            (
                "diamond.toml",
                "include = ['leaf.toml', 'leaf.toml']\n[[traffic]]\nkind = 'burst'\n",
            ),
            ("leaf.toml", "seed = 4\n"),
        ],
    );
    let said = |file: &str| {
        let problem = Scenario::read(&folder.join(file), &[])
            .unwrap_err()
            .to_string();
        problem.replace(&format!("{}/", folder.display()), "")
    };
    let expected = [
        "`a.toml` includes itself",
        "  --> c.toml:1:11",
        "   |",
        " 1 | include = 'a.toml'",
        "   |           ^^^^^^^^",
        "  help: a file cannot be included by what it includes",
    ];
    assert_eq!(said("a.toml"), expected.join("\n"));
    assert!(said("missing.toml").starts_with("`nowhere.toml` cannot be read: "));
    assert!(said("missing.toml").contains("--> missing.toml:1:11"));
    assert!(said("absent.toml").starts_with("`absent.toml` cannot be read: "));
    assert!(
        said("wrong.toml").starts_with("`include` is a number, and should be the name of a file")
    );
    assert!(said("list.toml").starts_with("`nowhere.csv` cannot be read: "));
    assert!(said("list.toml").contains("--> list.toml:3:8"));
    assert!(
        said("sizes.toml")
            .starts_with("`bad.cdf`, line 1, lines: `1 lines of numbers` is too little")
    );
    assert!(Scenario::read(&folder.join("diamond.toml"), &[]).is_ok());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn overrides_set_values_tables_and_entries_of_lists() {
    let built = |overrides: &[&str]| {
        let scenario = read("sweep.toml", overrides).unwrap_or_else(|problem| panic!("{problem}"));
        let runs = scenario
            .plan()
            .unwrap_or_else(|problem| panic!("{problem}"));
        (runs[0].build().unwrap().setup, runs.len())
    };
    let (setup, runs) = built(&["sweep={}", "runs=1", "switch.marking.kind=tcn"]);
    assert_eq!((setup.switch.marking.name(), runs), ("tcn", 1));
    assert_eq!(
        setup.switch.marking.value("threshold").as_deref(),
        Some("78us")
    );
    let (setup, _) = built(&[
        "sweep={}",
        "switch.marking={ kind = \"tcn\", threshold = \"1ms\" }",
    ]);
    assert_eq!(
        setup.switch.marking.value("threshold").as_deref(),
        Some("1ms")
    );
    // A kind that stays keeps its settings, and one that changes loses them.
    let both = [
        "sweep={}",
        "switch.buffer.limit=9KB",
        "switch.buffer.kind=per-port",
    ];
    assert_eq!(
        built(&both).0.switch.buffer.value("limit").as_deref(),
        Some("9KB")
    );
    let away = [
        "sweep={}",
        "switch.buffer.kind=pfc",
        "switch.buffer.kind=per-port",
    ];
    assert_eq!(
        built(&away).0.switch.buffer.value("limit").as_deref(),
        Some("300KB")
    );
    // What is of no kind stays.
    let dcqcn = [
        "sweep={}",
        "transport.opening=handshake",
        "transport.kind=dcqcn",
    ];
    assert_eq!(
        built(&dcqcn).0.opening,
        tidegate_sim::setup::Opening::Handshake
    );
    let (setup, runs) = built(&[
        "traffic.0.flows=3",
        "traffic.1.fan-in=2",
        "sweep.scheme=[{ seed = 4 }]",
    ]);
    assert_eq!((setup.flows.len(), setup.seed, runs), (5, 4, 4));
    let (setup, _) = built(&["sweep={}", "transport.accounting.per_packet=50"]);
    assert_eq!(setup.accounting.per_packet, 50);
}

#[test]
fn the_load_follows_the_topology_unless_it_is_told_otherwise() {
    let last = |overrides: &[&str]| {
        let text = "[topology]\nkind = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n\
                    [[traffic]]\nkind = 'ecn-sharp'\nuntil = 'none'\nflows = 200\n";
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let scenario = Scenario::parse("load.toml", text, &overrides);
        let runs = scenario.and_then(|scenario| scenario.plan());
        let runs = runs.unwrap_or_else(|problem| panic!("{problem}"));
        runs[0].build().unwrap().setup.flows[199].start
    };
    // Four hosts and two spines of the same speed: 2 to 1.
    assert_eq!(
        last(&[]),
        last(&["traffic.0.link=10Gbps", "traffic.0.oversubscription=2"])
    );
    assert_eq!(
        last(&["traffic.0.link=hosts", "traffic.0.oversubscription=fabric"]),
        last(&[])
    );
    // Faster hosts do not make the uplinks faster, which the load is of.
    assert_eq!(last(&["topology.host_rate=20Gbps"]), last(&[]));
    assert_ne!(last(&["topology.fabric_rate=20Gbps"]), last(&[]));
    assert_ne!(last(&["topology.spines=4"]), last(&[]));
}

#[test]
fn labels_are_short_and_tell_points_apart() {
    let labels = |sweep: &str| -> Vec<String> {
        let text = format!("{BASE}[sweep]\n{sweep}");
        let scenario = Scenario::parse("labels.toml", &text, &[]);
        let runs = scenario.and_then(|scenario| scenario.plan());
        let runs = runs.unwrap_or_else(|problem| panic!("{problem}"));
        runs.into_iter().map(|run| run.label).collect()
    };
    assert_eq!(
        labels("switch.marking.kind = ['tcn', 'codel']"),
        ["tcn", "codel"]
    );
    assert_eq!(
        labels("'switch.marking' = [{ kind = 'tcn' }, { kind = 'codel' }]"),
        ["tcn", "codel"]
    );
    assert_eq!(
        labels("'switch.marking' = [{ kind = 'tcn' }, { kind = 'tcn', threshold = '9us' }]"),
        ["tcn", "tcn threshold 9us"]
    );
    assert_eq!(
        labels("'switch.marking' = [{ threshold = '3KB' }, { threshold = '9KB', label = 'high' }]"),
        ["threshold 3KB", "high"]
    );
    assert_eq!(
        labels("both = [{ seed = 2, transport.mss = 1000 }, { seed = 3 }]"),
        ["seed 2 mss 1000", "seed 3"]
    );
    assert_eq!(
        labels("'transport.rto_min' = ['5ms']\n'transport.sack' = [true, false]"),
        ["rto min 5ms, sack true", "rto min 5ms, sack false"]
    );
    assert_eq!(
        labels("'transport.rule.gain' = ['1/8']\n'switch.marking' = [{ kind = 'none' }]"),
        ["gain 1/8, none"]
    );
}

#[test]
fn ids_are_fit_for_files_and_never_the_same() {
    let mut taken = BTreeSet::new();
    assert_eq!(id("ECN♯, load 0.6", 1, &mut taken), "ecn-sharp-load-0.6-s1");
    assert_eq!(
        id("ECN♯ load 0.6", 1, &mut taken),
        "ecn-sharp-load-0.6-2-s1"
    );
    assert_eq!(id("../..", 1, &mut taken), "point-s1");
    assert_eq!(id("", 1, &mut taken), "point-2-s1");
    let long = id(&"x".repeat(500), u64::MAX, &mut taken);
    assert!(long.len() < 120 && describe::is_file_safe("a.b_c-d"));
    for name in ["", ".a", "-a", "a/b", "a b", "é", &"x".repeat(65)] {
        assert!(!describe::is_file_safe(name), "{name}");
    }
}
