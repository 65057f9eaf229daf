//! Every dialect on random networks: the configuration follows the rules of its switches, or is
//! refused with the nearest alternative.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod config_db;
mod lines;
mod networks;
mod sonic;

use std::collections::BTreeSet;

use tidegate_plan::current::Current;
use tidegate_plan::dialect::{self, HeadroomFrom, Os, Request, Scheme};
use tidegate_plan::judge::Severity;
use tidegate_plan::marking::Marking;
use tidegate_plan::{Network, Plan};

/// Faults of a configuration by the rules of its switches.
fn faults(os: Os, text: &str) -> Vec<String> {
    match os {
        Os::Sonic => sonic::faults(text),
        Os::Eos => lines::eos(text),
        Os::Junos => lines::junos(text),
        Os::Nvue => lines::nvue(text),
        Os::Nxos => lines::nxos(text),
        Os::Tc => lines::tc(text),
    }
}

#[test]
fn random_networks_give_a_valid_configuration_or_a_named_refusal() {
    let (mut valid, mut refused, mut unread) = (0, 0, 0);
    for seed in 0..150 {
        let text = networks::random(seed);
        let network = match Network::parse("random.toml", &text) {
            Ok(network) => network,
            Err(problem) => {
                assert!(problem.position().is_some() && problem.advice().is_some(), "{problem}");
                unread += 1;
                continue;
            }
        };
        let plan = Plan::new(&network);
        for dialect in Os::ALL {
            for scheme in Scheme::ALL {
                match dialect.emit(&plan, &Request::whole(scheme)) {
                    Ok(configuration) => {
                        let faults = faults(dialect, &configuration.text);
                        assert_eq!(faults, [""; 0], "{dialect:?} {scheme:?} of\n{text}");
                        assert_eq!(
                            dialect.emit(&plan, &Request::whole(scheme)).unwrap(),
                            configuration
                        );
                        valid += 1;
                    }
                    Err(refusal) => {
                        let nearest = &refusal.nearest;
                        let names = nearest.contains("nearest") || nearest.contains("change");
                        assert!(names && !refusal.what.is_empty(), "{refusal}");
                        refused += 1;
                    }
                }
            }
        }
    }
    // Each outcome occurs often enough.
    assert!(valid > 300 && refused > 300 && unread < 100, "{valid} {refused} {unread}");
}

#[test]
fn emitted_thresholds_read_back_unchanged() {
    let mut compared = 0;
    for seed in 0..100 {
        let Ok(network) = Network::parse("random.toml", &networks::random(seed)) else {
            continue;
        };
        let plan = Plan::new(&network);
        for dialect in [Os::Sonic, Os::Eos] {
            let Ok(configuration) = dialect.emit(&plan, &Request::whole(Scheme::QueueRed)) else {
                continue;
            };
            let current = Current::parse("emitted", &configuration.text, &network).unwrap();
            for row in current.rows(&plan) {
                compared += 1;
                let near = |a: u64, b: u64| a.abs_diff(b) <= u64::from(network.switch.cell);
                match (row.marking, row.formula) {
                    (Marking::Off, Marking::Off) => {}
                    (Marking::Length(read), Marking::Length(asked)) => {
                        let same = near(read.min.0, asked.min.0) && near(read.max.0, asked.max.0);
                        assert!(same, "{dialect:?}: {read:?} of {asked:?}");
                        if network.switch.cell == 1 {
                            assert_eq!(read, asked, "{dialect:?}");
                        }
                    }
                    other => panic!("{dialect:?}: {other:?}"),
                }
            }
        }
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn emitted_configurations_read_back_with_the_same_judgement_and_headroom() {
    let (mut compared, mut lossless) = (0, 0);
    for seed in 0..150 {
        let text = networks::random(seed);
        let Ok(network) = Network::parse("random.toml", &text) else {
            continue;
        };
        let plan = Plan::new(&network);
        for dialect in [Os::Sonic, Os::Eos] {
            let Ok(emitted) = dialect.emit(&plan, &COMPUTED) else {
                continue;
            };
            let current = Current::parse("emitted", &emitted.text, &network).unwrap();
            // A rounded value is another setting.
            let is_rounded =
                |change: &dialect::Change| change.what == "α" || change.what.contains(" of queue ");
            if emitted.changes.iter().any(is_rounded) {
                continue;
            }
            let mut read = network.clone();
            read.reserve(&current.reservation, false);
            let again = Plan::new(&read);
            for (row, planned) in current.rows(&again).iter().zip(&plan.rows) {
                assert_eq!(row.judgement, planned.judgement, "{dialect:?} of\n{text}");
                assert_eq!(row.alpha, network.switch.alpha, "{dialect:?} of\n{text}");
                compared += 1;
                lossless += u32::from(row.queue.lossless && dialect == Os::Sonic);
            }
            let broken = current.findings.iter();
            let broken = broken.filter(|finding| finding.severity == Severity::Broken);
            assert_eq!(broken.count(), 0, "{:?} of\n{text}", current.findings);
        }
    }
    assert!(compared > 100 && lossless > 10, "{compared} {lossless}");
}

#[test]
fn a_patch_without_differences_is_empty() {
    let text = "fabric = { host_ports = \"4x25G\" }\nswitch = { buffer = \"16MB\" }\nrtt = { base = \"20us\" }\n";
    let network = Network::parse("a.toml", text).unwrap();
    let plan = Plan::new(&network);
    let whole = Request::whole(Scheme::QueueRed);
    let text = Os::Sonic.emit(&plan, &whole).unwrap().text;
    let tables: serde_json::Value = serde_json::from_str(&text).unwrap();
    let patch = |current| dialect::sonic::patch(&text, current, &BTreeSet::new(), false);
    assert_eq!(patch(Some(&tables)).text, "[]\n");
    assert!(patch(Some(&tables)).summary.is_empty());
    let mut other = tables.clone();
    other["WRED_PROFILE"]["TIDEGATE_Q0_25G"]["green_min_threshold"] = "1048576".into();
    other["SCHEDULER"] = serde_json::Value::Null;
    let operations: Vec<serde_json::Value> =
        serde_json::from_str(&patch(Some(&other)).text).unwrap();
    let paths: Vec<_> = operations.iter().map(|one| one["path"].clone()).collect();
    // The profile changes in place: no queue is touched.
    let expected = ["/SCHEDULER", "/WRED_PROFILE/TIDEGATE_Q0_25G/green_min_threshold"];
    assert_eq!(paths, expected);
    let whole: serde_json::Value = serde_json::from_str(&patch(None).text).unwrap();
    assert!(whole.as_array().unwrap().iter().all(|one| one["op"] == "add"));
}

#[test]
fn the_rules_find_each_planted_fault() {
    let network = "fabric = { host_ports = \"2x25G\" }\nswitch = { buffer = \"16MB\" }\nrtt = { base = \"20us\" }\n\
                   [[queue]]\nweight = 60\n[[queue]]\nweight = 40\ndscp = 8\n";
    let network = Network::parse("a.toml", network).unwrap();
    let plan = Plan::new(&network);
    let spoilt: [(Os, &str, &str); 14] = [
        (Os::Sonic, "\"green_max_threshold\": \"45000\"", "\"green_max_threshold\": \"44999\""),
        (Os::Sonic, "\"red_drop_probability\": \"100\"", "\"red_drop_probability\": \"101\""),
        (Os::Sonic, "\"wred_profile\": \"TIDEGATE_Q0_25G\"", "\"wred_profile\": \"missing\""),
        (Os::Sonic, "\"weight\": \"60\"", "\"weight\": 60"),
        (Os::Sonic, "\"dynamic_th\": \"0\"", "\"dynamic_th\": \"8\""),
        (Os::Eos, "weight 0", "weight 16"),
        (Os::Eos, "max-mark-probability 100", "max-mark-probability 101"),
        (Os::Eos, "45000 bytes", "45000 cells"),
        (Os::Junos, "fill-level [ 1 2 ]", "fill-level [ 2 2 ]"),
        (Os::Junos, "percent 60", "percent 160"),
        (Os::Nvue, "max-threshold 45000", "max-threshold 44999"),
        (Os::Nvue, "alpha_1", "alpha_3"),
        (Os::Nxos, "minimum-threshold 45", "minimum-threshold 46"),
        (Os::Tc, "quanta 1500 2250", "quanta 1500"),
    ];
    for (dialect, old, new) in spoilt {
        let text = dialect.emit(&plan, &Request::whole(dialect.default_scheme())).unwrap().text;
        assert_eq!(faults(dialect, &text), [""; 0], "{text}");
        assert!(text.contains(old), "{old} in {text}");
        let spoilt = text.replacen(old, new, 1);
        assert!(!faults(dialect, &spoilt).is_empty(), "{dialect:?}: {new}");
    }
}

/// Everything, with headroom by the formula.
const COMPUTED: Request<'_> =
    Request { headroom: HeadroomFrom::Computed, ..Request::whole(Scheme::QueueRed) };

#[test]
fn headroom_is_rounded_up_and_reported_as_emitted() {
    for speed in ["10G", "25G", "100G"] {
        let text = format!(
            "fabric = {{ host_ports = \"4x{speed}\" }}\nswitch = {{ buffer = \"16MB\", cell = 256 }}\n\
             rtt = {{ base = \"20us\" }}\n[[queue]]\nlossless = true\ntransport = \"dcqcn\"\n"
        );
        let network = Network::parse("a.toml", &text).unwrap();
        let plan = Plan::new(&network);
        let emitted = Os::Sonic.emit(&plan, &COMPUTED).unwrap();
        let tables: serde_json::Value = serde_json::from_str(&emitted.text).unwrap();
        let profile = &tables["BUFFER_PROFILE"][format!("pg_lossless_{speed}_profile")];
        let xoff: u64 = profile["xoff"].as_str().unwrap().parse().unwrap();
        assert!(xoff >= plan.headroom.as_ref().unwrap().of_port[0].1.0);
        let is_headroom = |change: &&dialect::Change| change.what.starts_with("headroom");
        for change in emitted.changes.iter().filter(is_headroom) {
            assert_eq!(change.emitted, format!("{xoff} B"), "{speed}");
        }
    }
}

#[test]
fn a_ramp_that_is_too_narrow_for_trident_3_is_noted() {
    let notes = |speed: &str| {
        let text = format!(
            "fabric = {{ host_ports = \"4x{speed}\" }}\nswitch = {{ chip = \"trident3\" }}\n\
             rtt = {{ base = \"20us\" }}\ntransport = \"dcqcn\"\n"
        );
        let network = Network::parse("a.toml", &text).unwrap();
        let emitted = Os::Sonic.emit(&Plan::new(&network), &Request::whole(Scheme::QueueRed));
        emitted.unwrap().notes
    };
    let narrow =
        "ramp of queue 0 at 10Gbps: 469 cells between the thresholds, and Trident 3 requires 500";
    assert!(notes("10G").iter().any(|note| note == narrow), "{:?}", notes("10G"));
    assert!(notes("25G").iter().all(|note| !note.starts_with("ramp")));
}

#[test]
fn an_alpha_that_can_only_be_set_too_small_is_refused_with_the_next() {
    // K is 67.5 KB: a queue alone may hold 74.9 KB at α = 3, and 66.7 KB at 2.
    let text = "fabric = { host_ports = \"4x25G\" }\nswitch = { buffer = \"100KB\", alpha = 3 }\n\
                rtt = { base = \"30us\" }\n";
    let network = Network::parse("a.toml", text).unwrap();
    let plan = Plan::new(&network);
    assert!(plan.works());
    for dialect in [Os::Sonic, Os::Nvue] {
        let refusal = dialect.emit(&plan, &Request::whole(Scheme::QueueRed)).unwrap_err();
        assert!(refusal.what.starts_with("α of 3 can be set to 2 only"));
        assert_eq!(refusal.nearest, "the nearest is alpha = \"4\"");
    }
    assert!(Os::Eos.emit(&plan, &Request::whole(Scheme::QueueRed)).is_ok());
}

#[test]
fn eos_refuses_a_strict_queue_below_one_with_a_weight() {
    let emit = |strict: u8, weighted: u8| {
        let text = format!(
            "fabric = {{ host_ports = \"4x25G\" }}\nswitch = {{ buffer = \"16MB\" }}\n\
             rtt = {{ base = \"30us\" }}\n[[queue]]\nid = {strict}\nstrict = true\n\
             [[queue]]\nid = {weighted}\nweight = 100\n"
        );
        let network = Network::parse("a.toml", &text).unwrap();
        Os::Eos.emit(&Plan::new(&network), &Request::whole(Scheme::QueueRed))
    };
    assert!(emit(5, 3).is_ok());
    let refusal = emit(2, 3).unwrap_err();
    assert!(refusal.what.ends_with("queue 2 is below 3"), "{refusal}");
}

#[test]
fn every_code_point_has_a_queue_under_any_default_of_the_switch() {
    let text = "fabric = { host_ports = \"4x25G\" }\nswitch = { buffer = \"16MB\" }\n\
                rtt = { base = \"30us\" }\n[[queue]]\ndscp = 0\n[[queue]]\ndscp = [10, 12]\n";
    let network = Network::parse("a.toml", text).unwrap();
    let plan = Plan::new(&network);
    let emitted = Os::Nvue.emit(&plan, &Request::whole(Scheme::QueueRed)).unwrap().text;
    let mut mapped = std::collections::BTreeMap::new();
    for line in emitted.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["nv", "set", "qos", "mapping", _, "dscp", points, "switch-priority", queue] =
            words[..]
        {
            let points = points.split(',').map(|point| point.parse::<u8>().unwrap());
            mapped.extend(points.map(|point| (point, queue)));
        }
    }
    assert_eq!(mapped.len(), 64);
    let second: Vec<_> = mapped.iter().filter(|&(_, queue)| *queue == "1").collect();
    assert_eq!(second, [(&10, &"1"), (&12, &"1")]);
}

/// A network of one port speed with these queues.
fn with_queues(queues: &str) -> Network {
    let text = format!(
        "mtu = 4200\nfabric = {{ host_ports = \"8x100G\", link_delay = \"301ns\" }}\n\
         switch = {{ buffer = \"32MB\", alpha = 4 }}\nrtt = {{ base = \"12us\" }}\n{queues}"
    );
    Network::parse("a.toml", &text).unwrap()
}

const LOSSY: &str = "[[queue]]\nid = 0\ndscp = 0\n";
const LOSSLESS: &str = "[[queue]]\nid = 3\ndscp = 26\nlossless = true\ntransport = \"dcqcn\"\n";

#[test]
fn nvue_has_memory_headroom_and_alpha_for_a_lossless_queue() {
    let network = with_queues(&[LOSSY, LOSSLESS].concat());
    let plan = Plan::new(&network);
    let emitted = Os::Nvue.emit(&plan, &Request::whole(Scheme::QueueRed)).unwrap();
    let has = |line: &str| emitted.text.lines().any(|emitted| emitted == line);
    // 301 ns are 60.2 m.
    assert!(has("nv set qos pfc TIDEGATE cable-length 61"));
    assert!(has(
        "nv set qos advance-buffer-config default-global ingress-lossless-buffer shared-alpha alpha_4"
    ));
    let percent = |pool: &str| {
        let path = format!("nv set qos traffic-pool {pool} memory-percent ");
        let mut lines = emitted.text.lines();
        let percent = lines.find_map(|line| line.strip_prefix(&path)).unwrap();
        percent.parse::<u32>().unwrap()
    };
    assert_eq!(percent("default-lossless") + percent("default-lossy"), 100);
    assert!(
        emitted.changes.iter().any(|change| change.what == "pool default-lossless"),
        "{:?}",
        emitted.changes
    );
    // Without one, all memory stays where it is.
    let network = with_queues(LOSSY);
    let text = Os::Nvue.emit(&Plan::new(&network), &Request::whole(Scheme::QueueRed));
    let text = text.unwrap().text;
    assert!(!text.contains("traffic-pool") && !text.contains("pfc") && !text.contains("lossless"));
}

#[test]
fn nvue_divides_memory_so_that_marks_still_come_first() {
    // The lossless queue marks from 400 KB: of 4 MB it needs far more than half.
    let text = "fabric = { host_ports = \"8x100G\" }\nswitch = { buffer = \"4MB\", alpha = 4, pipeline = \"0s\", \
                small_packets = 0 }\n\
                rtt = { base = \"12us\" }\n";
    let text = format!("{text}{LOSSY}{LOSSLESS}");
    let network = Network::parse("a.toml", &text).unwrap();
    let plan = Plan::new(&network);
    let emitted = Os::Nvue.emit(&plan, &Request::whole(Scheme::QueueRed)).unwrap();
    let pool = emitted.text.lines().find(|line| line.contains("default-lossless"));
    let percent: u32 = pool.unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!((60..90).contains(&percent), "{percent}");
    let note = "marks come first in every queue while at most";
    assert!(emitted.notes.iter().any(|one| one.contains(note)), "{:?}", emitted.notes);
    // 583 KB after headroom are enough for either queue, and not for 500 KB and 135 KB apart.
    let network = Network::parse("a.toml", &text.replace("4MB", "850KB")).unwrap();
    let plan = Plan::new(&network);
    assert!(plan.works());
    let refusal = Os::Nvue.emit(&plan, &Request::whole(Scheme::QueueRed)).unwrap_err();
    assert!(refusal.what.contains("separate pool"), "{refusal}");
}

#[test]
fn relative_thresholds_are_of_the_quota_that_the_emitted_alpha_leaves() {
    // α of 3 becomes 2: a queue alone may hold two thirds, not three quarters.
    let text = "fabric = { host_ports = \"8x100G\" }\nswitch = { buffer = \"3MB\", alpha = 3 }\n\
                rtt = { base = \"12us\" }\n";
    let network = Network::parse("a.toml", text).unwrap();
    let plan = Plan::new(&network);
    let text = Os::Nvue.emit(&plan, &Request::whole(Scheme::Bcc)).unwrap().text;
    let line = text.lines().find(|line| line.contains("min-threshold-percent"));
    // 108 KB of 2 MB are 5.4 %, of 2.25 MB they would be 4.8 %.
    assert!(line.unwrap().ends_with(" 6"), "{line:?}");
}

#[test]
fn junos_has_a_lossless_class_with_the_code_points_of_its_classifier() {
    // The lossless queue is the default one: code points that no queue claims lead to it.
    let queues = "[[queue]]\nid = 1\ndscp = 10\n[[queue]]\nid = 3\ndscp = 0\nlossless = true\n\
                  transport = \"dcqcn\"\n";
    let network = with_queues(queues);
    let emitted = Os::Junos.emit(&Plan::new(&network), &Request::whole(Scheme::QueueRed));
    let text = emitted.unwrap().text;
    let has = |line: &str| {
        let line = format!("set class-of-service {line}");
        text.lines().any(|emitted| emitted == line)
    };
    assert!(has("forwarding-classes class TIDEGATE-Q1 queue-num 1"));
    assert!(has("forwarding-classes class TIDEGATE-Q3 queue-num 3 no-loss pfc-priority 3"));
    let profile = "congestion-notification-profile TIDEGATE";
    assert!(has(&format!("{profile} input cable-length 61")));
    assert!(has(&format!("{profile} output ieee-802.1 code-point 011 flow-control-queue 3")));
    for point in (0..64).filter(|&point| point != 10) {
        let line = format!("{profile} input dscp code-point {point:06b} pfc mru 4222");
        assert!(has(&line), "{line}");
    }
    assert!(!text.contains("code-point 001010 pfc"));
}

#[test]
fn junos_names_no_profile_that_it_does_not_define() {
    let queues =
        "[[queue]]\nid = 0\ndscp = 0\n[[queue]]\nid = 3\nlossless = true\ntransport = \"dcqcn\"\n";
    let network = with_queues(queues);
    let emitted = Os::Junos.emit(&Plan::new(&network), &Request::whole(Scheme::QueueRed));
    let emitted = emitted.unwrap();
    assert!(!emitted.text.contains("congestion-notification-profile"));
    let note = "queue 3 is lossless, but no code point leads to it";
    assert!(emitted.notes.iter().any(|one| one.starts_with(note)), "{:?}", emitted.notes);
}

#[test]
fn missing_headroom_is_noted() {
    let network = with_queues(&[LOSSY, LOSSLESS].concat());
    let plan = Plan::new(&network);
    let needed = plan.headroom.as_ref().unwrap().of_port[0].1.0;
    let note = format!(
        "headroom is not set: each port needs {needed} B at 100Gbps for each lossless class"
    );
    for dialect in [Os::Eos, Os::Nxos] {
        let notes = dialect.emit(&plan, &Request::whole(Scheme::QueueRed)).unwrap().notes;
        assert!(notes.contains(&note), "{dialect:?}: {notes:?}");
    }
    let network = with_queues(LOSSY);
    let notes = Os::Eos.emit(&Plan::new(&network), &Request::whole(Scheme::QueueRed));
    assert!(notes.unwrap().notes.iter().all(|note| !note.contains("headroom")));
}

#[test]
fn lossy_and_lossless_queues_have_separate_priority_groups() {
    let emit = |lossless: u8, lossy: u8| {
        let queues = format!(
            "[[queue]]\nid = {lossless}\ndscp = 26\nlossless = true\ntransport = \"dcqcn\"\n\
             [[queue]]\nid = {lossy}\ndscp = 0\n"
        );
        let network = with_queues(&queues);
        let emitted = Os::Sonic.emit(&Plan::new(&network), &COMPUTED);
        let text = emitted.unwrap().text;
        assert_eq!(sonic::faults(&text), [""; 0]);
        let tables: serde_json::Value = serde_json::from_str(&text).unwrap();
        let groups = &tables["TC_TO_PRIORITY_GROUP_MAP"]["TIDEGATE"];
        let group = |queue: u8| groups[queue.to_string()].as_str().unwrap().to_owned();
        for queue in [lossless, lossy] {
            let profile = &tables["BUFFER_PG"][format!("Ethernet0|{}", group(queue))]["profile"];
            let expected = if queue == lossless {
                "pg_lossless_100G_profile"
            } else {
                "ingress_lossy_profile"
            };
            assert_eq!(profile, expected);
        }
        (group(lossless), group(lossy))
    };
    let groups = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(emit(3, 0), groups("3", "0"));
    assert_eq!(emit(0, 3), groups("0", "1"));
}
