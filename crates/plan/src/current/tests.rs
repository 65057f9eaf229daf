//! Settings read from running configurations, and the errors of other files.

use tidegate_units::{Bytes, Span};

use super::*;

fn network() -> Network {
    let text = "fabric = { host_ports = \"48x25Gbps\", uplinks = \"8x100Gbps\" }\n\
                switch = { chip = \"trident3\" }\nrtt = { base = \"30us\" }\n\
                [[queue]]\nid = 0\nweight = 60\n[[queue]]\nid = 3\nweight = 40\ndscp = 26\n";
    Network::parse("a.toml", text).unwrap()
}

fn ramp(min: u64, max: u64, percent: u32) -> Marking {
    Marking::Length(Ramp {
        min: Bytes(min),
        max: Bytes(max),
        probability: Ratio::new(percent, 100).unwrap(),
    })
}

const SONIC: &str = r#"{
  "PORT": { "Ethernet0": { "speed": "25000" }, "Ethernet48": { "speed": "100000" } },
  "WRED_PROFILE": { "AZURE_LOSSLESS": {
    "ecn": "ecn_all", "wred_green_enable": "true",
    "green_min_threshold": "1048576", "green_max_threshold": "2097152", "green_drop_probability": "5" } },
  "QUEUE": {
    "Ethernet0,Ethernet48|3-4": { "scheduler": "scheduler.1", "wred_profile": "[WRED_PROFILE|AZURE_LOSSLESS]" },
    "Ethernet0|0": { "scheduler": "scheduler.0" } },
  "BUFFER_QUEUE": { "Ethernet0|3-4": { "profile": "egress" } },
  "BUFFER_PROFILE": { "egress": { "pool": "p", "size": "0", "dynamic_th": "-3" } }
}"#;

#[test]
fn queues_of_sonic_are_read_with_their_speed_and_alpha() {
    let network = network();
    let current = Current::parse("config_db.json", SONIC, &network).unwrap();
    let rows = current.rows(&Plan::new(&network));
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row.queue.id, row.speed.to_string(), row.marking, row.ports))
        .collect();
    let shipped = ramp(1_048_576, 2_097_152, 5);
    assert_eq!(
        found,
        [
            (0, "25Gbps".to_owned(), Marking::Off, 1),
            (0, "100Gbps".to_owned(), Marking::Off, 1),
            (3, "25Gbps".to_owned(), shipped, 1),
            (3, "100Gbps".to_owned(), shipped, 1),
        ]
    );
    let eighth = Ratio::new(1, 8).unwrap();
    assert_eq!((rows[2].alpha, rows[3].alpha), (eighth, Ratio::ONE));
    assert!(rows[2].verdict.starts_with("adds 336 µs"), "{}", rows[2].verdict);
    assert_eq!(rows[0].name, "no wred_profile");
    assert_eq!(rows[1].name, "no QUEUE row");
}

#[test]
fn settings_that_are_slow_in_simulation_are_reported_as_costly() {
    let text = include_str!("../../../../networks/storage.toml");
    let network = Network::parse("storage.toml", text).unwrap();
    let plan = Plan::new(&network);
    let rdma = |given: &str| {
        let current = Current::read(given, &network).unwrap();
        let rows = current.rows(&plan);
        let row = rows.into_iter().find(|row| row.queue.id == 3).unwrap();
        (row.severity, row.verdict, row.judgement.risks)
    };
    for given in ["3=2MB/10MB/5%", "3=1MiB/2MiB/5%", "3=222KB/2MB/1%"] {
        let (severity, verdict, risks) = rdma(given);
        assert_eq!(severity, Some(Severity::Costly), "{given}: {verdict}");
        let is_tail = |risk: &Risk| risk.text.contains("times the formula's, simulated");
        assert!(risks.iter().any(is_tail), "{given}: {risks:?}");
    }
    // Marks after pauses are a fault on their own.
    let (severity, verdict, _) = rdma("3=8MB/8200KB/100%");
    assert_eq!(severity, Some(Severity::Costly), "{verdict}");
    assert_eq!(
        verdict,
        "pauses come before marks once more than 2 of 64 ports of 100Gbps are congested; with the \
         formula, 40"
    );
    let (severity, verdict, _) = rdma("3=400KB/1600KB/20%");
    assert_eq!((severity, verdict.as_str()), (None, "as the formula says"));
}

#[test]
fn thresholds_for_marks_count_where_they_differ_from_those_for_drops() {
    let marks =
        "\"ecn_green_min_threshold\": \"65000\", \"ecn_green_max_threshold\": \"65000\", \"ecn\"";
    let text = SONIC.replacen("\"ecn\"", marks, 1);
    let current = Current::parse("c", &text, &network()).unwrap();
    assert!(current.settings.iter().any(|setting| setting.marking == ramp(65_000, 65_000, 100)));
}

#[test]
fn a_profile_that_is_not_enabled_marks_nothing() {
    let text = SONIC.replace("\"wred_green_enable\": \"true\"", "\"wred_green_enable\": \"false\"");
    let current = Current::parse("c", &text, &network()).unwrap();
    assert!(current.settings.iter().all(|setting| setting.marking == Marking::Off));
}

const EOS: &str = "! device: leaf1\nqos profile ROCE\n   tx-queue 3\n      bandwidth percent 40\n      \
random-detect ecn minimum-threshold 150 kbytes maximum-threshold 1500 kbytes max-mark-probability 10 weight 0\n      \
random-detect ecn count\n   tx-queue 0\n      random-detect ecn delay threshold 3 milliseconds\n!\n\
interface Ethernet1-2\n   service-profile ROCE\n!\ninterface Ethernet49/1\n   speed 100g-4\n   service-profile ROCE\n   \
tx-queue 3\n      random-detect ecn minimum-threshold 80000 bytes maximum-threshold 80000 bytes\n";

#[test]
fn queues_of_eos_are_read_from_profiles_and_interfaces() {
    let network = network();
    let current = Current::parse("running-config", EOS, &network).unwrap();
    let rows = current.rows(&Plan::new(&network));
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row.queue.id, row.speed.to_string(), row.marking, row.ports))
        .collect();
    let delay = Marking::Sojourn(Span::from_ms(3));
    assert_eq!(
        found,
        [
            (0, "25Gbps".to_owned(), delay, 2),
            (0, "100Gbps".to_owned(), delay, 1),
            (3, "25Gbps".to_owned(), ramp(150_000, 1_500_000, 10), 2),
            (3, "100Gbps".to_owned(), ramp(80_000, 80_000, 100), 1),
        ]
    );
}

#[test]
fn values_are_read_from_the_command_line() {
    let marking = |text: &str| values::read(text).unwrap().settings[0].marking;
    assert_eq!(marking("1MiB/2MiB/5%"), ramp(1_048_576, 2_097_152, 5));
    assert_eq!(marking("80KB"), ramp(80_000, 80_000, 100));
    assert_eq!(marking("85us"), Marking::Sojourn(Span::from_us(85)));
    assert_eq!(marking("off"), Marking::Off);
    let two = values::read("3=150KB/1500KB/10%, 0=80KB").unwrap().settings;
    assert_eq!((two[0].queue, two[1].queue), (Some(3), Some(0)));
}

#[test]
fn unreadable_configurations_are_shown_with_a_caret_and_accepted_forms() {
    let network = network();
    let cases = [
        ("{ \"QUEUE\": ", "this is not JSON: EOF while parsing", (1, 11), "a config_db.json"),
        ("{}", "this is not a config_db.json with queues", (1, 1), "it has a table QUEUE"),
        ("hello\nworld\n", "this is neither SONiC's JSON nor an EOS", (1, 1), "EOS has lines"),
        ("", "this is neither SONiC's JSON nor an EOS", (1, 1), "EOS has lines"),
        (
            "qos profile A\n   tx-queue 1\n      random-detect ecn minimum-threshold 1 cells maximum-threshold 2 cells\n",
            "the unit `cells` is not one of bytes, kbytes, mbytes",
            (3, 7),
            "EOS has lines",
        ),
        (
            "qos profile A\n   tx-queue 1\n      random-detect ecn minimum-threshold 9 bytes maximum-threshold 2 bytes\n",
            "the maximum is below the minimum",
            (3, 7),
            "EOS has lines",
        ),
    ];
    for (text, message, position, help) in cases {
        let problem = Current::parse("c", text, &network).unwrap_err();
        assert!(problem.message().starts_with(message), "{problem}");
        assert_eq!(problem.position(), Some(position), "{problem}");
        assert!(problem.advice().unwrap().starts_with(help), "{problem}");
    }
    let text = SONIC.replace("\"1048576\"", "\"1MiB\"");
    let problem = Current::parse("c", &text, &network).unwrap_err();
    assert_eq!(
        problem.message(),
        "`green_min_threshold` of the WRED profile is `1MiB`, not a number"
    );
    assert_eq!(problem.position(), Some((3, 21)), "{problem}");
    let problem = Current::read("nothing-like-it", &network).unwrap_err();
    assert_eq!(problem.message(), "`nothing-like-it` is neither a file nor a threshold");
    assert_eq!(problem.file(), Some("--current"));
    let problem = Current::read("80KB,9=1KB", &network).unwrap_err();
    assert_eq!(problem.position(), Some((1, 6)), "{problem}");
}

#[test]
fn settings_of_unknown_queues_and_speeds_are_noted() {
    let network = network();
    let current = Current::parse("config_db.json", SONIC, &network).unwrap();
    let note = "queue 4 is set, but the network has no queue 4";
    assert!(current.notes.iter().any(|found| found == note));
    let faster = SONIC.replace("\"100000\"", "\"50000\"");
    let current = Current::parse("config_db.json", &faster, &network).unwrap();
    let note = "ports of 50Gbps are set, but the network has none";
    assert!(current.notes.iter().any(|found| found == note));
    let current = Current::read("5=80KB", &network).unwrap();
    assert_eq!(current.notes.len(), 1);
}

#[test]
fn profiles_of_sonic_without_queues_and_queues_without_profiles_are_noted() {
    let network = network();
    let text = SONIC.replace("\"AZURE_LOSSLESS\":", "\"OTHER\":");
    let current = Current::parse("config_db.json", &text, &network).unwrap();
    let note = "no queue uses the WRED_PROFILE `OTHER`";
    assert!(current.notes.iter().any(|found| found == note));
    let text = "there is no WRED_PROFILE `AZURE_LOSSLESS`, which 1 row of QUEUE refers to";
    let finding = current.findings.iter().find(|finding| finding.text == text);
    assert_eq!(finding.unwrap().severity, Severity::Broken);
}

#[test]
fn a_switch_that_was_never_configured_has_queues_without_marks() {
    let network = network();
    let text = "\u{feff}{ \"PORT\": { \"Ethernet0\": { \"speed\": \"25000\" } } }";
    let current = Current::parse("config_db.json", text, &network).unwrap();
    let rows = current.rows(&Plan::new(&network));
    let names: Vec<_> = rows.iter().map(|row| row.name.as_str()).collect();
    let expected = ["no QUEUE row", "not configured", "no QUEUE row", "not configured"];
    assert_eq!(names, expected);
    assert!(current.tables.is_some(), "a patch can be made of it");
    assert!(Current::parse("a.json", "{}", &network).is_err());
}

#[test]
fn other_tables_of_sonic_are_skipped_and_long_ones_refused_at_their_place() {
    let network = network();
    let routes =
        "{ \"STATIC_ROUTE\": { \"10.0.0.0/8\": [{ \"a\": 1e3 }, null, true] }, \"QUEUE\": {} }";
    let current = Current::parse("c", routes, &network).unwrap();
    assert_eq!(current.tables.unwrap(), serde_json::json!({ "QUEUE": {} }));
    let rows: Vec<String> = (0..125_000).map(|port| format!("\"E{port}|0\": {{}}")).collect();
    let rows = rows.join(",\n");
    let read = |tables: &str| Current::parse("c", tables, &network);
    let twice = format!("{{ \"QUEUE\": {{ {rows} }},\n\"BUFFER_PG\": {{\n{rows} }} }}");
    let problem = read(&twice).unwrap_err();
    let message = "`BUFFER_PG` has too many rows: at most 250000 rows and values are read";
    assert_eq!(problem.message(), message);
    assert_eq!(problem.position().map(|(line, _)| line), Some(250_000));
    let ports: Vec<String> = (0..12_000).map(|port| format!("E{port}")).collect();
    let one = format!("{{ \"QUEUE\": {{\n\"{}|0-23\": {{}} }} }}", ports.join(","));
    let problem = read(&one).unwrap_err();
    assert_eq!(problem.message(), "`QUEUE` names more than 250000 queues");
    assert_eq!(problem.position(), Some((1, 3)));
}

#[test]
fn profiles_of_sonic_that_no_switch_takes_are_shown_at_their_row() {
    let network = network();
    for (good, bad, said) in [
        ("\"2097152\"", "\"9\"", "the maximum is below the minimum"),
        ("\"5\"", "\"101\"", "above 100 percent"),
        ("\"green_min_threshold\": \"1048576\",", "", "is missing"),
    ] {
        let text = SONIC.replace(good, bad);
        let problem = Current::parse("config_db.json", &text, &network).unwrap_err();
        let problem = problem.to_string();
        assert!(problem.contains(said), "{problem}");
        assert!(problem.contains("config_db.json:3:21"), "{problem}");
    }
}

#[test]
fn setting_of_one_queue_overrides_the_setting_of_all() {
    let network = network();
    let current = Current::read("70KB,3=80KB", &network).unwrap();
    let rows = current.rows(&Plan::new(&network));
    let found: Vec<_> = rows.iter().map(|row| (row.queue.id, row.marking)).collect();
    let (all, third) = (ramp(70_000, 70_000, 100), ramp(80_000, 80_000, 100));
    assert_eq!(found, [(0, all), (0, all), (3, third), (3, third)]);
    let twice = Current::read("3=70KB,3=80KB", &network).unwrap_err();
    assert!(twice.to_string().contains("given twice"), "{twice}");
}

#[test]
fn eos_is_read_with_other_statements_port_channels_and_time_thresholds() {
    let network = network();
    let text = "\
hostname leaf
router bgp 65000
   tx-queue is no queue here
!
qos profile WEB
   description random-detect ecn
   tx-queue 0
      random-detect ecn minimum-threshold 2 milliseconds maximum-threshold 2 milliseconds max-mark-probability 100 weight 0
   tx-queue 3
      shape rate 10 percent
      random-detect ecn minimum-threshold 80 kbytes maximum-threshold 80 kbytes
!
interface Ethernet1
   channel-group 1 mode active
   speed forced 99999999999gfull
!
interface Port-Channel1
   service-profile WEB
";
    let current = Current::parse("eos.txt", text, &network).unwrap();
    assert!(current.notes.is_empty(), "{:?}", current.notes);
    let found: Vec<_> =
        current.settings.iter().map(|setting| (setting.queue, setting.marking)).collect();
    let time = Marking::Sojourn(Span::from_us(2000));
    let expected = [(Some(0), time), (Some(3), ramp(80_000, 80_000, 100))];
    assert_eq!(found, expected);
}
