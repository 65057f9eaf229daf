//! Whole scenarios: their runs, and reading back their resolved text.

mod files;
mod problems;
mod random;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::*;

pub(crate) const FILES: [(&str, &str); 5] = [
    ("everything.toml", include_str!("../../testdata/everything.toml")),
    ("lossless.toml", include_str!("../../testdata/lossless.toml")),
    ("minimal.toml", include_str!("../../testdata/minimal.toml")),
    ("profiles.toml", include_str!("../../testdata/profiles.toml")),
    ("sweep.toml", include_str!("../../testdata/sweep.toml")),
];

/// A star with one flow and a setting to vary.
const BASE: &str = "[topology]\nkind = 'star'\nhosts = 4\n[switch]\n[transport]\n\
                    [[traffic]]\nkind = 'long-lived'\nbytes = '10KB'\n";

fn read(name: &str, overrides: &[&str]) -> Result<Scenario, Problem> {
    let (_, text) = FILES.iter().find(|(file, _)| *file == name).unwrap();
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    Scenario::parse(name, text, &overrides)
}

/// A plan as text: the complete simulator input of each run.
fn given(scenario: &Scenario) -> Vec<String> {
    let runs = scenario.plan().unwrap_or_else(|problem| panic!("{problem}"));
    let one = |run: Experiment| {
        let built = run.build().unwrap_or_else(|problem| panic!("{problem}"));
        // A planned run can start.
        let begun = tidegate_sim::run::run(&built.setup, &AtomicBool::new(true));
        begun.unwrap_or_else(|error| panic!("{}: {error}", run.label));
        format!("{} {} {:?} {} {built:?}", run.id, run.label, run.point, run.seed)
    };
    runs.into_iter().map(one).collect()
}

#[test]
fn resolved_scenarios_read_back_as_the_same_runs() {
    for (name, text) in FILES {
        let scenario =
            Scenario::parse(name, text, &[]).unwrap_or_else(|problem| panic!("{problem}"));
        let resolved = scenario.resolved();
        let again = Scenario::parse("resolved.toml", &resolved, &[]);
        let again = again.unwrap_or_else(|problem| panic!("{problem}\n{resolved}"));
        assert_eq!(again.resolved(), resolved, "{name}");
        let (before, after) = (given(&scenario), given(&again));
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
    let found: Vec<_> = runs.iter().map(|run| (run.id.as_str(), run.label.as_str())).collect();
    let expected = [
        ("tcn-load-0.3-s7", "TCN, load 0.3"),
        ("tcn-load-0.3-s8", "TCN, load 0.3"),
        ("tcn-load-0.6-s7", "TCN, load 0.6"),
        ("tcn-load-0.6-s8", "TCN, load 0.6"),
        ("codel-load-0.3-s7", "CoDel, load 0.3"),
    ];
    assert_eq!(found[..5], expected);
    assert_eq!(runs.len(), 12);
    assert_eq!(runs[11].overrides()[..2], ["sweep={}", "switch.marking={ kind = \"mq-ecn\" }"]);
}

#[test]
fn overrides_of_a_run_select_only_this_run() {
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

#[test]
fn overrides_set_values_tables_and_entries_of_lists() {
    let built = |overrides: &[&str]| {
        let scenario = read("sweep.toml", overrides).unwrap_or_else(|problem| panic!("{problem}"));
        let runs = scenario.plan().unwrap_or_else(|problem| panic!("{problem}"));
        (runs[0].build().unwrap().setup, runs.len())
    };
    let (setup, runs) = built(&["sweep={}", "runs=1", "switch.marking.kind=tcn"]);
    assert_eq!((setup.switch.marking.name(), runs), ("tcn", 1));
    assert_eq!(setup.switch.marking.value("threshold").as_deref(), Some("78us"));
    let (setup, _) = built(&["sweep={}", "switch.marking={ kind = \"tcn\", threshold = \"1ms\" }"]);
    assert_eq!(setup.switch.marking.value("threshold").as_deref(), Some("1ms"));
    // An unchanged kind keeps its settings; a changed one loses them.
    let both = ["sweep={}", "switch.buffer.limit=9KB", "switch.buffer.kind=per-port"];
    assert_eq!(built(&both).0.switch.buffer.value("limit").as_deref(), Some("9KB"));
    let away = ["sweep={}", "switch.buffer.kind=pfc", "switch.buffer.kind=per-port"];
    assert_eq!(built(&away).0.switch.buffer.value("limit").as_deref(), Some("300KB"));
    // Shared keys survive.
    let dcqcn = ["sweep={}", "transport.opening=handshake", "transport.kind=dcqcn"];
    assert_eq!(built(&dcqcn).0.opening, tidegate_sim::setup::Opening::Handshake);
    let (setup, runs) =
        built(&["traffic.0.flows=3", "traffic.1.fan-in=2", "sweep.scheme=[{ seed = 4 }]"]);
    assert_eq!((setup.flows.len(), setup.seed, runs), (5, 4, 4));
    let (setup, _) = built(&["sweep={}", "transport.accounting.per_packet=50"]);
    assert_eq!(setup.accounting.per_packet, 50);
}

#[test]
fn the_load_follows_the_topology_unless_it_is_set_otherwise() {
    let last = |overrides: &[&str]| {
        let text = "[topology]\nkind = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 4\n\
                    [[traffic]]\nkind = 'ecn-sharp'\nuntil = 'none'\nflows = 200\n";
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let scenario = Scenario::parse("load.toml", text, &overrides);
        let runs = scenario.and_then(|scenario| scenario.plan());
        let runs = runs.unwrap_or_else(|problem| panic!("{problem}"));
        runs[0].build().unwrap().setup.flows[199].start
    };
    // Four hosts and two spines at the same rate: 2 to 1.
    assert_eq!(last(&[]), last(&["traffic.0.link=10Gbps", "traffic.0.oversubscription=2"]));
    assert_eq!(last(&["traffic.0.link=hosts", "traffic.0.oversubscription=fabric"]), last(&[]));
    // Faster hosts do not make the uplinks faster, to which the load applies.
    assert_eq!(last(&["topology.host_rate=20Gbps"]), last(&[]));
    assert_ne!(last(&["topology.fabric_rate=20Gbps"]), last(&[]));
    assert_ne!(last(&["topology.spines=4"]), last(&[]));
}

#[test]
fn labels_are_short_and_unique() {
    let labels = |sweep: &str| -> Vec<String> {
        let text = format!("{BASE}[sweep]\n{sweep}");
        let scenario = Scenario::parse("labels.toml", &text, &[]);
        let runs = scenario.and_then(|scenario| scenario.plan());
        let runs = runs.unwrap_or_else(|problem| panic!("{problem}"));
        runs.into_iter().map(|run| run.label).collect()
    };
    assert_eq!(labels("switch.marking.kind = ['tcn', 'codel']"), ["tcn", "codel"]);
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
    // Settings with the names of range keys.
    assert_eq!(
        labels("traffic.0.to = [2, 3]\ntraffic.0.from = ['0-1']"),
        ["to 2, from 0-1", "to 3, from 0-1"]
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
fn flows_that_bypass_pfc_give_a_warning() {
    let warnings = |buffer: &str| {
        let buffer = format!("switch.buffer={{ kind = 'pfc'{buffer} }}");
        let overrides = ["nic={}".to_owned(), buffer];
        let scenario = Scenario::parse("pfc.toml", BASE, &overrides).unwrap();
        let plan = scenario.plan().unwrap();
        plan[0].outline.warnings.join("\n")
    };
    assert!(warnings("").starts_with("flows of service 0 queue without limit: `bypass`"));
    assert_eq!(warnings(", bypass = []"), "");
    assert_eq!(warnings(", egress = { kind = 'per-port', limit = '1MB' }"), "");
}

#[test]
fn a_lossless_transport_over_lossy_buffers_gives_a_warning() {
    let warnings = |buffer: &str| {
        let overrides = ["nic={}", "transport={ kind = 'dcqcn' }", buffer].map(str::to_owned);
        let scenario = Scenario::parse("lossy.toml", BASE, &overrides).unwrap();
        scenario.plan().unwrap()[0].outline.warnings.join("\n")
    };
    let lossy = warnings("switch.buffer={ kind = 'per-port' }");
    assert!(lossy.starts_with("dcqcn expects a lossless network, but buffers of kind"), "{lossy}");
    assert!(lossy.contains("switch.buffer = { kind = \"pfc\" }"), "{lossy}");
    assert_eq!(warnings("switch.buffer={ kind = 'pfc', bypass = [] }"), "");
    assert_eq!(warnings("switch.buffer={ kind = 'unlimited' }"), "");
}

#[test]
fn axes_that_overwrite_each_other_are_refused() {
    let read = |sweep: &str| Scenario::parse("axes.toml", &format!("{BASE}[sweep]\n{sweep}"), &[]);
    let threshold = "'switch.marking.threshold' = ['60us', '100us']\n";
    let whole = "'switch.marking' = [{ kind = 'tcn' }, { kind = 'ecn-sharp' }]\n";
    let kind = "'switch.marking.kind' = ['tcn', 'codel']\n";
    for (first, second) in [
        (threshold, whole),
        (threshold, kind),
        (whole, kind),
        (
            "'switch.marking' = [{ kind = 'tcn' }]\n",
            "b = [{ switch.marking = { kind = 'codel' } }]\n",
        ),
        ("a = [{ seed = 1, traffic.0.load = 0.3 }]\n", "'traffic.0.load' = [0.5]\n"),
        ("'transport.rto_min' = ['5ms']\n", "transport.kind = ['dcqcn']\n"),
    ] {
        let error = read(&format!("{first}{second}")).unwrap_err().to_string();
        assert!(error.contains("overwrites it"), "{first}{second}{error}");
        assert!(error.contains("axes.toml:"), "{error}");
    }
    // A later axis may change a key of a table, and shared keys survive a change of kind.
    let tcn = "'switch.marking' = [{ kind = 'tcn' }]\n";
    for sweep in [
        format!("{tcn}{threshold}"),
        format!("'switch.marking.kind' = ['tcn']\n{threshold}"),
        "'transport.accounting.per_packet' = [50]\ntransport.kind = ['dcqcn']\n".to_owned(),
        // Setting the file's own kind clears nothing.
        "'switch.marking.threshold' = ['9KB']\n'switch.marking.kind' = ['queue-red']\n".to_owned(),
    ] {
        read(&sweep).unwrap_or_else(|problem| panic!("{sweep}{problem}"));
    }
}

#[test]
fn an_override_is_not_lost_to_another_kind() {
    let read = |kinds: &str, overrides: &[&str]| {
        let text = format!("{BASE}[sweep]\n'switch.marking.kind' = [{kinds}]\n");
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        Scenario::parse("kinds.toml", &text, &overrides)
    };
    let base = "switch.marking={ kind = \"tcn\" }";
    let threshold = "switch.marking.threshold=60us";
    // A whole table replaces the axis itself.
    let scenario = read("'tcn', 'codel'", &[base]).unwrap();
    assert_eq!(scenario.points(), 1);
    let error = read("'codel', 'ecn-sharp'", &[threshold]).unwrap_err().to_string();
    assert!(error.contains("would have no effect"), "{error}");
    assert!(error.contains("--set 'switch.marking={ kind"), "{error}");
    // A replaced sweep undoes nothing, in either order.
    for overrides in
        [[threshold, "switch.marking.kind=tcn"], ["switch.marking.kind=tcn", threshold]]
    {
        let scenario = read("'codel', 'ecn-sharp'", &overrides).unwrap();
        assert_eq!(scenario.points(), 1);
        assert_eq!(scenario.notes.len(), 1, "{:?}", scenario.notes);
    }
    // At the file's own kind the override has an effect.
    let own = read("'queue-red', 'codel'", &["switch.marking.threshold=9KB"]).unwrap();
    assert_eq!(
        own.notes,
        ["`switch.marking.threshold` has no effect at codel: the sweep sets it there"]
    );
}

#[test]
fn an_empty_table_in_a_value_of_a_sweep_is_set() {
    let text = format!(
        "{BASE}[switch.marking]\nkind = 'tcn'\nthreshold = '9us'\n[sweep]\n\
         both = [{{ seed = 2 }}, {{ seed = 3, 'switch.marking' = {{}} }}]\n"
    );
    let scenario = Scenario::parse("empty.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let runs = scenario.plan().unwrap();
    assert_eq!(runs[0].scheme(), "tcn");
    assert_ne!(runs[1].scheme(), "tcn");
    assert_eq!(runs[1].label, "seed 3 marking {}");
    let alone = Scenario::parse("empty.toml", &text, &runs[1].overrides()).unwrap();
    assert_eq!(alone.plan().unwrap()[0].scheme(), runs[1].scheme());
    let nothing = format!("{BASE}[sweep]\n'switch.marking' = [{{ label = 'a' }}]\n");
    let error = Scenario::parse("empty.toml", &nothing, &[]).unwrap_err();
    assert!(error.to_string().contains("sets nothing"), "{error}");
}

#[test]
fn queues_of_hosts_are_observed_by_the_names_of_their_links() {
    use tidegate_sim::observe::Which;

    let observed = |ports: &str, sets: &[&str]| {
        let text = format!("{BASE}[observe]\nports = {ports}\nseries = {{ queues = {ports} }}\n");
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        let scenario = Scenario::parse("hosts.toml", &text, &sets).unwrap();
        let observe = scenario.plan().unwrap().remove(0).build().unwrap().setup.observe;
        let Which::Only(ports) = observe.ports else {
            panic!("{:?} instead of names", observe.ports);
        };
        [ports.len(), observe.series.unwrap().queues.len()]
    };
    // Four links start at hosts, and four at the switch.
    let fifo = ["transport.qdisc=fifo"];
    let fq = ["transport.qdisc=fq"];
    let nic = ["nic={}"];
    for sets in [fifo, fq, nic] {
        assert_eq!(observed("'host2>switch0'", &sets), [1; 2], "{sets:?}");
        assert_eq!(observed("'host*'", &sets), [4; 2], "{sets:?}");
        assert_eq!(observed("'switch0>*'", &sets), [4; 2], "{sets:?}");
    }
    assert_eq!(observed("'*'", &fifo), [4; 2]);
    assert_eq!(observed("'*'", &fq), [8; 2]);
    assert_eq!(observed("'*'", &nic), [8; 2]);
}

#[test]
fn the_outline_describes_buffers_of_switches_and_hosts() {
    let outline = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        let scenario = Scenario::parse("outline.toml", BASE, &sets).unwrap();
        let outline = scenario.plan().unwrap().remove(0).outline;
        [&outline.scheduler, &outline.buffer, &outline.nic].map(Clone::clone)
    };
    assert_eq!(
        outline(&[]),
        [
            "fifo: queues 1",
            "per-port: limit 300KB",
            "fifo: one queue for all connections, no limit"
        ]
    );
    let sets = [
        "switch.scheduler={ kind = 'dwrr', quanta = [1500, 1500, 1500] }",
        "switch.buffer={ kind = 'dynamic-threshold', pool_size = '1536KB', ports_per_pool = 8, \
            alpha = [4, 1, 1] }",
        "transport.profile=linux",
    ];
    let [scheduler, buffer, nic] = outline(&sets);
    assert_eq!(scheduler, "dwrr: quanta 3 × 1500");
    assert!(buffer.starts_with("dynamic-threshold: "), "{buffer}");
    assert!(buffer.contains("pool size 1.536MB") && buffer.contains("alpha 4/1/1"), "{buffer}");
    assert_eq!(nic, "fq: a queue for each connection, limit output 1MiB");
    let sets = [
        "transport.profile=linux",
        "nic={ marking = { kind = 'tcn' }, scheduler = { kind = 'sp', queues = 2 } }",
    ];
    assert_eq!(outline(&sets)[2], "marking tcn; sp: queues 2, order lowest-first; unlimited");
}

#[test]
fn cc_and_its_old_name_rule_are_the_same_table() {
    let with = |text: &str, overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        Scenario::parse("case.toml", &format!("{BASE}{text}"), &overrides)
    };
    let labelled = |text: &str, overrides: &[&str]| {
        let scenario = with(text, overrides).unwrap_or_else(|problem| panic!("{problem}"));
        given(&scenario)
    };
    let old = "[transport.rule]\nkind = 'dctcp'\ngain = '1/8'\n";
    let new = old.replace("rule", "cc");
    // The same runs by either name, also where an override or a sweep uses the other.
    assert_eq!(labelled(old, &[]), labelled(&new, &[]));
    for path in ["transport.rule.gain=1/4", "transport.cc.gain=1/4"] {
        assert_eq!(labelled(old, &[path]), labelled(&old.replace("1/8", "1/4"), &[]));
        assert_eq!(labelled(&new, &[path]), labelled(&old.replace("1/8", "1/4"), &[]));
    }
    let sweep = "[sweep]\n'transport.cc.gain' = ['1/8', '1/4']\n";
    assert_eq!(labelled(&format!("{old}{sweep}"), &[]).len(), 2);
    let replaced = with(&format!("{old}{sweep}"), &["transport.rule.gain=1/2"]).unwrap();
    assert_eq!(replaced.plan().unwrap().len(), 1);
    assert!(replaced.notes[0].contains("no longer swept"), "{:?}", replaced.notes);
    // The text keeps the name that the file has, and the old one where it has none.
    for (text, header) in
        [(old, "[transport.rule]"), (&new, "[transport.cc]"), ("", "[transport.rule]")]
    {
        let resolved = with(text, &[]).unwrap().resolved();
        assert_eq!(resolved.matches("[transport.").count(), 3, "{resolved}");
        assert!(resolved.contains(header), "{resolved}");
    }
    let said = with(&format!("{old}{new}"), &[]).unwrap_err().to_string();
    assert!(said.contains("`rule` and `cc` are both given"), "{said}");
    let value = "{ label = 'x', 'transport.rule.gain' = '1/8', 'transport.cc.gain' = '1/4' }";
    let sweep = format!("{old}[sweep]\nrules = [{value}]\n");
    let said = with(&sweep, &[]).and_then(|scenario| scenario.plan()).unwrap_err().to_string();
    assert!(said.contains("`rule` and `cc` are both given"), "{said}");
}
