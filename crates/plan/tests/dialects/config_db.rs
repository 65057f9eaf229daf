//! A realistic `config_db.json` with faults: each is named, and patches of it are small and lower
//! nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tidegate_plan::current::Current;
use tidegate_plan::dialect::{HeadroomFrom, Only, Os, Request, Scheme, sonic};
use tidegate_plan::judge::Severity;
use tidegate_plan::{Network, Plan};

/// 48 x 100G and 8 x 400G with RoCE, best effort and a control queue.
const NETWORK: &str = r#"
mtu = 9100
fabric = { host_ports = "48x100Gbps", uplinks = "8x400Gbps", link_delay = "200ns" }
switch = { chip = "trident4-x9", alpha = "1/8", os = "sonic" }
rtt = { base = "12us" }
queue = [
  { id = 0, name = "best effort", dscp = 0, weight = 40, transport = "dctcp" },
  { id = 3, name = "roce", dscp = 26, weight = 60, transport = "roce", lossless = true },
  { id = 6, name = "control", dscp = 48, strict = true },
]
"#;

/// Ports in the order of their lanes: hosts at 100G first.
fn ports() -> Vec<(String, &'static str)> {
    let hosts = (0..48).map(|i| (format!("Ethernet{}", 2 * i), "100000"));
    let uplinks = (0..8).map(|i| (format!("Ethernet{}", 96 + 8 * i), "400000"));
    hosts.chain(uplinks).collect()
}

fn wred(min: u64, max: u64, percent: u32) -> Value {
    let mut profile = json!({ "ecn": "ecn_all" });
    for colour in ["green", "yellow", "red"] {
        profile[format!("wred_{colour}_enable")] = "true".into();
        profile[format!("{colour}_min_threshold")] = min.to_string().into();
        profile[format!("{colour}_max_threshold")] = max.to_string().into();
        profile[format!("{colour}_drop_probability")] = percent.to_string().into();
    }
    profile
}

/// A switch as it comes from its maker, without faults but for its thresholds.
fn sound() -> Value {
    let mut tables = json!({
        "WRED_PROFILE": {
            "AZURE_LOSSLESS": wred(1_048_576, 2_097_152, 5),
            "LOSSY": wred(108_000, 108_000, 100),
        },
        "SCHEDULER": {
            "scheduler.0": { "type": "DWRR", "weight": "14" },
            "scheduler.1": { "type": "DWRR", "weight": "15" },
        },
        "BUFFER_POOL": {
            "ingress_lossless_pool": { "type": "ingress", "mode": "dynamic", "size": "59001152" },
            "egress_lossy_pool": { "type": "egress", "mode": "dynamic", "size": "57189204" },
            "egress_lossless_pool": { "type": "egress", "mode": "static", "size": "81943704" },
        },
        "BUFFER_PROFILE": {
            "pg_lossless_100000_40m_profile": {
                "pool": "ingress_lossless_pool", "size": "1248", "xon": "2288", "xoff": "181896",
                "dynamic_th": "-3",
            },
            "pg_lossless_400000_40m_profile": {
                "pool": "ingress_lossless_pool", "size": "1248", "xon": "2288", "xoff": "600000",
                "dynamic_th": "-3",
            },
            "ingress_lossy_profile": { "pool": "ingress_lossless_pool", "size": "0", "static_th": "81943704" },
            "egress_lossless_profile": { "pool": "egress_lossless_pool", "size": "0", "static_th": "81943704" },
            "egress_lossy_profile": { "pool": "egress_lossy_pool", "size": "1792", "dynamic_th": "-1" },
        },
        "DSCP_TO_TC_MAP": { "AZURE": {} },
        "TC_TO_QUEUE_MAP": { "AZURE": {} },
        "TC_TO_PRIORITY_GROUP_MAP": { "AZURE": {} },
        "MAP_PFC_PRIORITY_TO_QUEUE": { "AZURE": {} },
        "PFC_WD": { "GLOBAL": { "POLL_INTERVAL": "400" } },
        "CABLE_LENGTH": { "AZURE": {} },
        "FEATURE": { "bgp": { "state": "enabled" } },
    });
    for point in 0..64 {
        let class = match point {
            26 => "3",
            28 => "4",
            48 => "6",
            _ => "0",
        };
        tables["DSCP_TO_TC_MAP"]["AZURE"][point.to_string()] = class.into();
    }
    for class in 0..8_u8 {
        let same = class.to_string();
        tables["TC_TO_QUEUE_MAP"]["AZURE"][&same] = same.clone().into();
        tables["MAP_PFC_PRIORITY_TO_QUEUE"]["AZURE"][&same] = same.clone().into();
        let group = if matches!(class, 3 | 4) { &same } else { "0" };
        tables["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"][&same] = group.into();
    }
    for (port, speed) in ports() {
        tables["PORT"][&port] = json!({ "speed": speed, "lanes": "1,2" });
        tables["CABLE_LENGTH"]["AZURE"][&port] = "40m".into();
        tables["PFC_WD"][&port] = json!({ "action": "drop", "detection_time": "200" });
        tables["PORT_QOS_MAP"][&port] = json!({
            "dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE",
            "pfc_to_queue_map": "AZURE", "pfc_enable": "3,4", "pfcwd_sw_enable": "3,4",
        });
        let profile = format!("pg_lossless_{speed}_40m_profile");
        tables["BUFFER_PG"][format!("{port}|3-4")] = json!({ "profile": profile });
        tables["BUFFER_PG"][format!("{port}|0")] = json!({ "profile": "ingress_lossy_profile" });
        tables["BUFFER_QUEUE"][format!("{port}|3-4")] =
            json!({ "profile": "egress_lossless_profile" });
        tables["BUFFER_QUEUE"][format!("{port}|0-2")] =
            json!({ "profile": "egress_lossy_profile" });
        tables["QUEUE"][format!("{port}|0")] =
            json!({ "scheduler": "scheduler.0", "wred_profile": "LOSSY" });
        tables["QUEUE"][format!("{port}|3")] =
            json!({ "scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS" });
        tables["QUEUE"][format!("{port}|4")] =
            json!({ "scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS" });
        tables["QUEUE"][format!("{port}|6")] = json!({ "scheduler": "scheduler.0" });
    }
    tables
}

fn network() -> Network {
    Network::parse("leaf.toml", NETWORK).unwrap()
}

fn read(tables: &Value, network: &Network) -> Current {
    Current::parse("config_db.json", &tables.to_string(), network).unwrap()
}

/// The faults of a configuration, with the number of ports of each.
fn broken(tables: &Value) -> Vec<(String, usize)> {
    let findings = read(tables, &network()).findings.into_iter();
    let broken = findings.filter(|finding| finding.severity == Severity::Broken);
    broken.map(|finding| (finding.text, finding.ports.len())).collect()
}

/// The configuration after a patch: RFC 6902 in a table of rows, where each parent must exist.
fn applied(mut tables: Value, patch: &str) -> Value {
    let operations: Vec<Value> = serde_json::from_str(patch).unwrap();
    for operation in operations {
        let pointer = operation["path"].as_str().unwrap();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let name = name.replace("~1", "/").replace("~0", "~");
        let parent = tables.pointer_mut(parent).expect("the parent exists");
        let parent = parent.as_object_mut().unwrap();
        match operation["op"].as_str() {
            Some("add") => drop(parent.insert(name, operation["value"].clone())),
            Some("replace") => {
                let there = parent.insert(name, operation["value"].clone());
                assert!(there.is_some(), "{pointer} is there");
            }
            Some("remove") => drop(parent.remove(&name).expect("it is there")),
            other => panic!("{other:?}"),
        }
    }
    tables
}

struct Patched {
    after: Value,
    patch: sonic::Patch,
    operations: usize,
}

fn patched(tables: &Value, only: Only, headroom: HeadroomFrom, allow_reduction: bool) -> Patched {
    let mut network = network();
    let current = read(tables, &network);
    network.reserve(&current.reservation, headroom == HeadroomFrom::Computed);
    let plan = Plan::new(&network);
    let request =
        Request { only, headroom, current: Some(tables), ..Request::smallest(Scheme::QueueRed) };
    let fragment = Os::Sonic.emit(&plan, &request).unwrap().text;
    let unmarked = sonic::unmarked(&plan, tables);
    let patch = sonic::patch(&fragment, Some(tables), &unmarked, allow_reduction);
    let operations: Vec<Value> = serde_json::from_str(&patch.text).unwrap();
    Patched { after: applied(tables.clone(), &patch.text), patch, operations: operations.len() }
}

fn xoff(tables: &Value, port: &str) -> u64 {
    let rows = tables["BUFFER_PG"].as_object().unwrap();
    let is_of = |key: &&String| **key == format!("{port}|3") || **key == format!("{port}|3-4");
    let key = rows.keys().find(is_of).unwrap();
    let profile = tables["BUFFER_PG"][key]["profile"].as_str().unwrap();
    let xoff = tables["BUFFER_PROFILE"][profile]["xoff"].as_str().unwrap();
    xoff.parse().unwrap()
}

/// The threshold at which a queue begins to mark, by following its references.
fn threshold(tables: &Value, place: &str) -> Option<u64> {
    let profile = tables["QUEUE"][place]["wred_profile"].as_str()?;
    let fields = &tables["WRED_PROFILE"][profile];
    fields["green_min_threshold"].as_str()?.parse().ok()
}

#[test]
fn a_sound_switch_has_no_broken_setting_but_its_thresholds() {
    assert_eq!(broken(&sound()), []);
    let current = read(&sound(), &network());
    // Priority 4 is paused, and the network has no lossless queue 4.
    assert_eq!(current.findings.len(), 1, "{:?}", current.findings);
    assert_eq!(current.findings[0].severity, Severity::Costly);
    assert!(!current.unchecked.is_empty());
}

#[test]
fn every_fault_is_named_with_its_ports() {
    let mut tables = sound();
    let (first, second, uplink) = ("Ethernet0", "Ethernet2", "Ethernet96");
    // PFC is off at one port, and enabled for another priority at the next.
    tables["PORT_QOS_MAP"][first]["pfc_enable"] = "".into();
    tables["PORT_QOS_MAP"][second]["pfc_enable"] = "4".into();
    // Two ports have no lossless priority group, one a lossy one.
    for port in ["Ethernet4", "Ethernet6"] {
        let groups = tables["BUFFER_PG"].as_object_mut().unwrap();
        groups.remove(&format!("{port}|3-4")).unwrap();
    }
    tables["BUFFER_PG"]["Ethernet8|3-4"]["profile"] = "ingress_lossy_profile".into();
    // Uplinks have the headroom of hosts, one port too little of its own.
    for (port, _) in ports().iter().filter(|(_, speed)| *speed == "400000") {
        tables["BUFFER_PG"][format!("{port}|3-4")]["profile"] =
            "pg_lossless_100000_40m_profile".into();
    }
    let mut small = tables["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"].clone();
    small["xoff"] = "30000".into();
    tables["BUFFER_PROFILE"]["mine"] = small;
    tables["BUFFER_PG"]["Ethernet10|3-4"]["profile"] = "mine".into();
    // A misspelt profile, a queue without a row, a code point in the wrong queue.
    tables["QUEUE"]["Ethernet12|3"]["wred_profile"] = "AZURE_LOSLESS".into();
    tables["QUEUE"].as_object_mut().unwrap().remove("Ethernet14|3").unwrap();
    let mut other = tables["DSCP_TO_TC_MAP"]["AZURE"].clone();
    other["26"] = "0".into();
    tables["DSCP_TO_TC_MAP"]["OTHER"] = other;
    tables["PORT_QOS_MAP"]["Ethernet16"]["dscp_to_tc_map"] = "OTHER".into();
    tables["PFC_WD"] = json!({ "GLOBAL": { "POLL_INTERVAL": "400" } });

    let found = broken(&tables);
    let expected = [
        ("PFC is off for lossless queue 3", 2),
        ("lossless queue 3 has no priority group: BUFFER_PG has no row for group 3", 2),
        ("lossless queue 3 has a lossy priority group: `ingress_lossy_profile`", 1),
        ("ports of 400Gbps have the headroom profile of 100Gbps", 8),
        ("the headroom of `mine` is 30 KB at 100Gbps", 1),
        (
            "there is no WRED_PROFILE `AZURE_LOSLESS`, which 1 row of QUEUE refers to; did you mean `AZURE_LOSSLESS`?",
            0,
        ),
        ("DSCP 26 leads to queue 0, but the network has it in queue 3", 1),
    ];
    for (text, ports) in expected {
        let matches = found.iter().filter(|(found, _)| found.starts_with(text));
        let counts: Vec<usize> = matches.map(|(_, ports)| *ports).collect();
        assert_eq!(counts, [ports], "{text}\n{found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    let network = network();
    let current = read(&tables, &network);
    let has = |text: &str| current.findings.iter().any(|finding| finding.text.starts_with(text));
    assert!(has("no PFC watchdog"), "{:?}", current.findings);
    // The port without a row is a row of the table, and it is broken.
    let plan = Plan::new(&network);
    let rows = current.rows(&plan);
    let unset = rows.iter().find(|row| row.queue.id == 3 && row.name == "no QUEUE row");
    assert_eq!(unset.map(|row| (row.ports, row.severity)), Some((1, Some(Severity::Broken))));
    assert!(current.is_broken(&plan));
    assert!(!uplink.is_empty());
}

#[test]
fn thresholds_change_in_place_and_nothing_else_does() {
    let mut tables = sound();
    // The network has no queue 4: its rows stay.
    for (port, _) in ports() {
        tables["QUEUE"].as_object_mut().unwrap().remove(&format!("{port}|4"));
    }
    let Patched { after, patch, operations } =
        patched(&tables, Only::Wred, HeadroomFrom::Platform, false);
    // Each profile is used at two speeds: 100G changes in place, 400G gets one of its own.
    assert!(operations < 45, "{operations}: {:?}", patch.summary);
    assert_eq!(threshold(&after, "Ethernet0|3"), Some(400_000_u64.div_ceil(318) * 318));
    assert_eq!(threshold(&after, "Ethernet96|3"), Some(1_600_000_u64.div_ceil(318) * 318 - 318));
    assert!(threshold(&after, "Ethernet0|0").is_some());
    for table in [
        "PORT_QOS_MAP",
        "DSCP_TO_TC_MAP",
        "BUFFER_PG",
        "BUFFER_PROFILE",
        "BUFFER_POOL",
        "SCHEDULER",
        "FEATURE",
        "CABLE_LENGTH",
    ] {
        assert_eq!(after[table], tables[table], "{table}");
    }
    assert_eq!(after["QUEUE"]["Ethernet0|3"], tables["QUEUE"]["Ethernet0|3"]);
    assert_eq!(patch.reductions, [""; 0]);
    assert!(
        patch.summary.iter().any(|line| line.starts_with("QUEUE: changes")),
        "{:?}",
        patch.summary
    );
    // Once more there is nothing to do.
    assert_eq!(patched(&after, Only::Wred, HeadroomFrom::Platform, false).operations, 0);
}

#[test]
fn a_profile_that_other_queues_use_keeps_its_thresholds_for_them() {
    let tables = sound();
    let Patched { after, .. } = patched(&tables, Only::Wred, HeadroomFrom::Platform, false);
    assert_eq!(after["WRED_PROFILE"]["AZURE_LOSSLESS"], tables["WRED_PROFILE"]["AZURE_LOSSLESS"]);
    assert_eq!(threshold(&after, "Ethernet0|4"), Some(1_048_576));
    assert_ne!(threshold(&after, "Ethernet0|3"), Some(1_048_576));
}

#[test]
fn no_patch_lowers_a_value_unless_lowering_is_allowed() {
    let mut tables = sound();
    tables["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"]["xoff"] = "300000".into();
    tables["BUFFER_PROFILE"]["pg_lossless_400000_40m_profile"]["xoff"] = "100000".into();
    for only in [Only::Wred, Only::Buffers, Only::Pfc, Only::All] {
        for headroom in [HeadroomFrom::Platform, HeadroomFrom::Computed] {
            let Patched { after, patch, .. } = patched(&tables, only, headroom, false);
            for (port, _) in ports() {
                let name = format!("{only:?} {headroom:?} {port}");
                assert!(xoff(&after, &port) >= xoff(&tables, &port), "{name}");
                let enabled = after["PORT_QOS_MAP"][&port]["pfc_enable"].as_str().unwrap();
                assert_eq!(enabled, "3,4", "{name}");
                assert!(threshold(&after, &format!("{port}|3")).is_some(), "{name}");
            }
            // Maps of code points are replaced by `all` alone, and that is refused where a lossless
            // priority loses one.
            assert_eq!(patch.reductions.is_empty(), only != Only::All, "{:?}", patch.reductions);
        }
    }
    let Patched { after, patch, .. } =
        patched(&tables, Only::Buffers, HeadroomFrom::Computed, false);
    assert_eq!(xoff(&after, "Ethernet0"), 300_000);
    assert!(xoff(&after, "Ethernet96") >= 536_148);
    // Ports are in the order of their numbers.
    let mut more = sound();
    more["BUFFER_PROFILE"]["pg_lossless_400000_40m_profile"]["xoff"] = "700000".into();
    let kept = patched(&more, Only::Buffers, HeadroomFrom::Computed, false).patch.kept;
    let rows = "(8 rows: Ethernet96 to Ethernet152)";
    assert!(kept.iter().any(|line| line.ends_with(rows)), "{kept:?}");
    let kept = "xoff of `pg_lossless_100000_40m_profile` stays 300000 B; the plan has ";
    assert!(patch.kept.iter().any(|line| line.starts_with(kept)), "{:?}", patch.kept);
    let Patched { patch, .. } = patched(&tables, Only::Pfc, HeadroomFrom::Platform, false);
    let kept = "pfc_enable of PORT_QOS_MAP stays 3,4; the plan has 3 (56 rows";
    let is_kept = patch.kept.iter().any(|line| line.starts_with(kept));
    assert!(is_kept, "{:?}", patch.kept);
    let Patched { after, patch, .. } = patched(&tables, Only::All, HeadroomFrom::Platform, true);
    assert_eq!(after["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"], "3");
    let has = |text: &str| patch.reductions.iter().any(|line| line.starts_with(text));
    assert!(has("PFC is switched off for priority 4 (56 rows"), "{:?}", patch.reductions);
    assert!(has("DSCP 28 leaves lossless queue 4"), "{:?}", patch.reductions);
}

#[test]
fn random_switches_are_patched_without_losing_protection() {
    let mut state = 1_u64;
    let mut draw = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut changed = 0;
    for _ in 0..8 {
        let mut tables = sound();
        for (port, _) in ports() {
            match draw(9) {
                0 => {
                    tables["PORT_QOS_MAP"][&port]["pfc_enable"] =
                        ["", "3", "4", "3,4,5"][draw(4) as usize].into();
                }
                1 => drop(
                    tables["BUFFER_PG"].as_object_mut().unwrap().remove(&format!("{port}|3-4")),
                ),
                2 => {
                    let row = tables["QUEUE"]
                        .as_object_mut()
                        .unwrap()
                        .remove(&format!("{port}|3"))
                        .unwrap();
                    tables["QUEUE"].as_object_mut().unwrap().remove(&format!("{port}|4")).unwrap();
                    tables["QUEUE"][format!("{port}|3-4")] = row;
                }
                3 => {
                    tables["CABLE_LENGTH"]["AZURE"][&port] =
                        ["5m", "300m"][draw(2) as usize].into();
                }
                4 => tables["QUEUE"][format!("{port}|6")]["wred_profile"] = "LOSSY".into(),
                _ => {}
            }
        }
        for profile in ["pg_lossless_100000_40m_profile", "pg_lossless_400000_40m_profile"] {
            tables["BUFFER_PROFILE"][profile]["xoff"] = (20_000 + draw(800_000)).to_string().into();
        }
        for only in [Only::Wred, Only::Buffers, Only::Pfc] {
            for headroom in [HeadroomFrom::Platform, HeadroomFrom::Computed] {
                let Patched { after, patch, operations } = patched(&tables, only, headroom, false);
                assert_eq!(patch.reductions, [""; 0], "{only:?} {headroom:?}");
                changed += operations;
                let again = patched(&after, only, headroom, false);
                assert_eq!(again.operations, 0, "{only:?} {headroom:?}: {}", again.patch.text);
                // No two rows speak of the same queue.
                for table in ["QUEUE", "BUFFER_PG", "BUFFER_QUEUE"] {
                    let mut seen: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
                    for key in after[table].as_object().unwrap().keys() {
                        let (port, range) = key.split_once('|').unwrap();
                        let (first, last) = range.split_once('-').unwrap_or((range, range));
                        for queue in first.parse::<u64>().unwrap()..=last.parse().unwrap() {
                            assert!(
                                seen.entry(port.to_owned()).or_default().insert(queue),
                                "{table} {key}"
                            );
                        }
                    }
                }
            }
        }
    }
    assert!(changed > 500, "{changed}");
}

/// Applies a patch and checks the properties of every patch.
fn held(tables: &Value, only: Only, headroom: HeadroomFrom) -> Patched {
    let patched = patched(tables, only, headroom, false);
    assert_eq!(patched.patch.reductions, [""; 0], "{only:?}");
    let again = self::patched(&patched.after, only, headroom, false);
    assert_eq!(again.operations, 0, "{only:?}: {}", again.patch.text);
    patched
}

#[test]
fn row_for_several_ports_is_read_as_one_row_per_port() {
    let mut tables = sound();
    let ports = ports().into_iter().map(|(port, _)| port).collect::<Vec<_>>();
    let row = tables["PORT_QOS_MAP"]["Ethernet0"].clone();
    tables["PORT_QOS_MAP"] = json!({ ports.join(","): row });
    assert_eq!(broken(&tables), []);
    let patched = held(&tables, Only::Pfc, HeadroomFrom::Platform);
    assert_eq!(patched.operations, 0, "{}", patched.patch.text);
}

#[test]
fn incomplete_priority_maps_get_only_the_missing_field() {
    let mut tables = sound();
    for (port, _) in ports() {
        let row = tables["PORT_QOS_MAP"][&port].as_object_mut().unwrap();
        row.remove("pfc_to_queue_map").unwrap();
    }
    let after = held(&tables, Only::Pfc, HeadroomFrom::Platform).after;
    let row = &after["PORT_QOS_MAP"]["Ethernet0"];
    assert_eq!((&row["tc_to_pg_map"], &row["pfc_enable"]), (&json!("AZURE"), &json!("3,4")));
    let map = row["pfc_to_queue_map"].as_str();
    // Priority 4 is paused too, and its queue stays the same; a map that the switch has serves if
    // it is one.
    let map = &after["MAP_PFC_PRIORITY_TO_QUEUE"][map.unwrap_or("AZURE")];
    assert_eq!((&map["3"], &map["4"]), (&json!("3"), &json!("4")));
}

#[test]
fn classes_that_differ_from_their_queue_keep_their_priority_group() {
    // DSCP 26 is class 5, which leads to queue 3 and group 3.
    let mut tables = sound();
    tables["DSCP_TO_TC_MAP"]["AZURE"]["26"] = "5".into();
    tables["DSCP_TO_TC_MAP"]["AZURE"]["28"] = "0".into();
    tables["TC_TO_QUEUE_MAP"]["AZURE"]["5"] = "3".into();
    tables["TC_TO_QUEUE_MAP"]["AZURE"]["3"] = "1".into();
    tables["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["5"] = "3".into();
    tables["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]["3"] = "0".into();
    assert_eq!(broken(&tables), []);
    let after = held(&tables, Only::All, HeadroomFrom::Platform).after;
    assert_eq!(broken(&after), []);
}

#[test]
fn cable_lengths_stay_in_their_row_and_are_never_shortened() {
    let mut tables = sound();
    let lengths = tables["CABLE_LENGTH"]["AZURE"].clone();
    tables["CABLE_LENGTH"] = json!({ "TOR": lengths });
    tables["CABLE_LENGTH"]["TOR"]["Ethernet0"] = "300m".into();
    tables["CABLE_LENGTH"]["TOR"]["Ethernet2"] = "300.0m".into();
    tables["CABLE_LENGTH"]["TOR"]["Ethernet4"] = "5m".into();
    let after = held(&tables, Only::Pfc, HeadroomFrom::Platform).after;
    let row = &after["CABLE_LENGTH"]["TOR"];
    let lengths = ["Ethernet0", "Ethernet2", "Ethernet4"].map(|port| row[port].clone());
    assert_eq!(lengths, ["300m", "300.0m", "40m"].map(Value::from));
    assert_eq!(after["CABLE_LENGTH"].as_object().unwrap().len(), 1);
}

#[test]
fn headroom_computed_by_the_switch_is_not_replaced() {
    let mut tables = sound();
    for (port, _) in ports() {
        tables["BUFFER_PG"][format!("{port}|3-4")]["profile"] = "NULL".into();
    }
    assert_eq!(broken(&tables), []);
    for headroom in [HeadroomFrom::Platform, HeadroomFrom::Computed] {
        let after = held(&tables, Only::Buffers, headroom).after;
        assert_eq!(after["BUFFER_PG"], tables["BUFFER_PG"]);
    }
    let mut typed = sound();
    let profile = &mut typed["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"];
    profile.as_object_mut().unwrap().remove("xoff");
    profile["headroom_type"] = "dynamic".into();
    assert_eq!(broken(&typed), []);
    // A lossless group 0 does not become the lossy one.
    let mut first = sound();
    for (port, _) in ports() {
        first["BUFFER_PG"][format!("{port}|0")]["profile"] = "NULL".into();
        first["PORT_QOS_MAP"][&port]["pfc_enable"] = "0,3,4".into();
    }
    let after = held(&first, Only::Buffers, HeadroomFrom::Platform).after;
    assert_eq!(after["BUFFER_PG"]["Ethernet0|0"]["profile"], "NULL");
}

#[test]
fn numbers_and_brackets_are_read_and_written_as_the_switch_has_them() {
    let mut numbers = sound();
    numbers["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"]["xoff"] = 300_000.into();
    numbers["PORT"]["Ethernet0"]["speed"] = 100_000.into();
    let after = patched(&numbers, Only::Buffers, HeadroomFrom::Computed, false).after;
    assert_eq!(after["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"]["xoff"], 300_000);
    let mut brackets = sound();
    for (table, field, target) in [
        ("QUEUE", "wred_profile", "WRED_PROFILE"),
        ("BUFFER_PG", "profile", "BUFFER_PROFILE"),
        ("BUFFER_QUEUE", "profile", "BUFFER_PROFILE"),
        ("BUFFER_PROFILE", "pool", "BUFFER_POOL"),
    ] {
        for row in brackets[table].as_object_mut().unwrap().values_mut() {
            if let Some(name) = row[field].as_str().map(str::to_owned) {
                row[field] = format!("[{target}|{name}]").into();
            }
        }
    }
    assert_eq!(broken(&brackets), []);
    for only in [Only::Wred, Only::Buffers] {
        let after = held(&brackets, only, HeadroomFrom::Platform).after;
        for row in after["QUEUE"].as_object().unwrap().values() {
            let reference = row.get("wred_profile").and_then(Value::as_str);
            assert!(reference.is_none_or(|name| name.starts_with("[WRED_PROFILE|")), "{row}");
        }
        for row in after["BUFFER_PG"].as_object().unwrap().values() {
            assert!(row["profile"].as_str().unwrap().starts_with("[BUFFER_PROFILE|"), "{row}");
        }
    }
}

#[test]
fn profiles_of_unreadable_rows_or_with_separate_mark_thresholds_are_unchanged() {
    for odd in ["Ethernet500|3,4", "Ethernet500|all", "Ethernet500|3-100", "Ethernet500|"] {
        let mut tables = sound();
        for (port, _) in ports() {
            tables["QUEUE"].as_object_mut().unwrap().remove(&format!("{port}|4"));
        }
        tables["QUEUE"][odd] = json!({ "wred_profile": "AZURE_LOSSLESS" });
        let after = held(&tables, Only::Wred, HeadroomFrom::Platform).after;
        assert_eq!(
            after["WRED_PROFILE"]["AZURE_LOSSLESS"],
            tables["WRED_PROFILE"]["AZURE_LOSSLESS"]
        );
    }
    let mut tables = sound();
    for (port, _) in ports() {
        tables["QUEUE"].as_object_mut().unwrap().remove(&format!("{port}|4"));
    }
    for field in ["ecn_green_min_threshold", "ecn_green_max_threshold"] {
        tables["WRED_PROFILE"]["AZURE_LOSSLESS"][field] = "5000000".into();
    }
    let after = held(&tables, Only::Wred, HeadroomFrom::Platform).after;
    let network = network();
    let plan = Plan::new(&network);
    let rows = read(&after, &network).rows(&plan);
    let marked = rows.iter().filter(|row| row.queue.id == 3);
    assert!(marked.clone().count() >= 2);
    for row in marked {
        assert!(row.verdict.starts_with("as the formula"), "{}", row.verdict);
    }
}

#[test]
fn valid_unusual_configurations_have_no_broken_settings() {
    // Ports that are switched off, two classes of one queue, and a text beside the tables.
    let mut tables = sound();
    tables["bgpraw"] = "router bgp 65000".into();
    for (port, _) in &ports()[..2] {
        tables["PORT"][port]["admin_status"] = "down".into();
        for table in ["PORT_QOS_MAP", "PFC_WD"] {
            tables[table].as_object_mut().unwrap().remove(port).unwrap();
        }
        for table in ["QUEUE", "BUFFER_PG"] {
            tables[table]
                .as_object_mut()
                .unwrap()
                .retain(|key, _| !key.starts_with(&format!("{port}|")));
        }
    }
    tables["TC_TO_QUEUE_MAP"]["AZURE"]["1"] = "3".into();
    assert_eq!(broken(&tables), []);
    let network = network();
    assert!(!read(&tables, &network).is_broken(&Plan::new(&network)));
}

#[test]
fn switches_whose_ports_are_not_known_are_not_patched() {
    let network = network();
    let plan = Plan::new(&network);
    let refused = |tables: &Value| {
        let request = Request { current: Some(tables), ..Request::smallest(Scheme::QueueRed) };
        Os::Sonic.emit(&plan, &request).unwrap_err().what
    };
    let mut none = sound();
    none.as_object_mut().unwrap().remove("PORT").unwrap();
    none["QUEUE"]["Ethernet1000|3"] = json!({ "wred_profile": "LOSSY" });
    assert!(refused(&none).contains("no table PORT"), "{}", refused(&none));
    let mut chassis = sound();
    chassis["QUEUE"]["host1|asic0|Ethernet0|3"] = json!({ "wred_profile": "LOSSY" });
    assert!(refused(&chassis).contains("chassis"), "{}", refused(&chassis));
    let several = json!({ "localhost": { "PORT": {} }, "asic0": { "PORT": {} } });
    let problem = Current::parse("a", &several.to_string(), &network).unwrap_err();
    assert!(problem.message().contains("several ASICs"), "{problem}");
}
