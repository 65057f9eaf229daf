//! Evidence of networks that show nothing, and of packets that are not ECN-capable.

use tidegate_plan::evidence::{self, Evidence, Trial};
use tidegate_plan::{Network, Plan};

use super::records;

fn simulated(text: &str) -> Evidence {
    let network = Network::parse("network.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let plan = Plan::new(&network);
    let trial = Trial::new(&plan, None, (1, 2), 1e5).unwrap();
    let records = records(&trial, &[]);
    Evidence::new(&trial, &records)
}

#[test]
fn evidence_from_short_queues_is_empty_and_suggests_heavier_traffic() {
    let quiet = |incast: u32| {
        format!(
            "fabric = {{ host_ports = \"16x10Gbps\" }}\nswitch = {{ buffer = \"8MB\" }}\n\
             rtt = {{ base = \"40us\" }}\n\
             traffic = {{ workload = \"1KB..3KB\", load = 0.05, incast = {incast} }}\n"
        )
    };
    let evidence = simulated(&quiet(1));
    assert!(evidence.shows_nothing(), "{:?}", evidence.rows);
    assert_eq!(evidence.losses().count(), 0);
    let lines = evidence::parts(&evidence).swap_remove(0).lines;
    assert!(
        lines[0].starts_with("no queue came near a threshold: these runs show nothing"),
        "{lines:?}"
    );
    assert!(lines[1].contains("set traffic.incast = 4"), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("the formula")), "{lines:?}");
    assert_eq!(evidence::json(&evidence)["shows_nothing"], true);
    assert!(lines[1].contains("set traffic.load = 0.86"), "{lines:?}");
    // The advice is good.
    for better in [quiet(4), quiet(1).replace("load = 0.05", "load = 0.86")] {
        let evidence = simulated(&better);
        assert!(!evidence.shows_nothing(), "{better} {:?}", evidence.rows);
    }
}

#[test]
fn packets_that_are_not_ecn_capable_are_dropped_where_the_switch_does_so() {
    let with = |os: &str| {
        format!(
            "fabric = {{ host_ports = \"8x10Gbps\" }}\nswitch = {{ buffer = \"8MB\", os = \"{os}\" }}\n\
             rtt = {{ base = \"40us\" }}\nqueue = [{{ not_ecn = true }}]\n\
             traffic = {{ workload = \"web-search\", load = 0.7, incast = 6 }}\n"
        )
    };
    let [sonic, nvue] = ["sonic", "nvue"].map(|os| simulated(&with(os)));
    let dropped = |evidence: &Evidence| -> Vec<f64> {
        let rows = evidence.not_ecn.iter();
        rows.map(|row| row.dropped.unwrap().value).collect()
    };
    assert!(dropped(&sonic).iter().all(|dropped| *dropped > 0.0), "{:?}", sonic.not_ecn);
    assert_eq!(dropped(&nvue), [0.0; 3]);
    let timeouts = |evidence: &Evidence| evidence.not_ecn[0].timeouts.unwrap().value;
    assert!(timeouts(&sonic) > timeouts(&nvue), "{:?} {:?}", sonic.not_ecn, nvue.not_ecn);
    let parts = evidence::parts(&sonic);
    assert_eq!(parts[1].title, "Packets that are not ECN-capable");
    let note = "drop packets that are not ECN-capable where they mark others";
    assert!(sonic.notes.iter().any(|line| line.contains(note)), "{:?}", sonic.notes);
    // No queue with such packets, no table.
    let plain = with("sonic").replace("not_ecn = true", "");
    assert_eq!(evidence::parts(&simulated(&plain)).len(), 1);
}
