//! Networks that are read, and the errors of those that cannot be.

use tidegate_units::{Bytes, Ratio, Span};

use super::*;

const NETWORK: &str = r#"
fabric = { host_ports = "48x25Gbps", uplinks = "8x100Gbps" }
switch = { chip = "trident3", alpha = "1/8" }
rtt = { mean = "20us", p90 = "30us" }
"#;

fn read(text: &str) -> Result<Network, Problem> {
    Network::parse("a.toml", text)
}

#[test]
fn a_network_of_three_lines_is_complete() {
    let network = read(NETWORK).unwrap();
    assert_eq!(network.name, "a");
    assert_eq!((network.layers, network.hosts), (2, 384));
    assert_eq!(network.oversubscription(), Some(1.5));
    assert_eq!(network.switch.alpha, Ratio::new(1, 8).unwrap());
    assert_eq!(network.switch.cell, 256, "the chip's");
    assert_eq!(network.pool(), Pool { size: Bytes::from_kb(32_000), ports: 56 });
    assert_eq!(network.rtt.p90, Span::from_us(30));
    let queue = &network.queues[0];
    assert_eq!((queue.id, queue.weight, &queue.dscp), (0, Some(100), &vec![0]));
    assert_eq!(queue.lambda.unwrap().0, Ratio::new(18, 25).unwrap());
}

#[test]
fn port_of_a_partitioned_chip_shares_one_partition() {
    let text = NETWORK.replace("trident3", "tomahawk").replace("48x25Gbps", "24x100G");
    let pool = read(&text).unwrap().pool();
    assert_eq!(pool, Pool { size: Bytes::from_kb(4_000), ports: 8 });
}

#[test]
fn range_of_round_trips_means_a_uniform_distribution() {
    let text = NETWORK.replace("mean = \"20us\", p90 = \"30us\"", "min = \"10us\", max = \"40us\"");
    let rtt = read(&text).unwrap().rtt;
    assert_eq!((rtt.mean, rtt.p90), (Span::from_us(25), Span::from_us(37)));
}

#[test]
fn omitted_weights_are_equal_and_sum_to_100() {
    let text = format!("{NETWORK}[[queue]]\nstrict = true\n[[queue]]\n[[queue]]\n[[queue]]\n");
    let queues = read(&text).unwrap().queues;
    let weights: Vec<_> = queues.iter().map(|queue| queue.weight).collect();
    assert_eq!(weights, [None, Some(34), Some(33), Some(33)]);
}

/// Old and new text of a line, the error message, its position and the start of its help.
type Case = (&'static str, &'static str, &'static str, (usize, usize), &'static str);

#[test]
fn errors_show_a_caret_and_accepted_values() {
    let cases: &[Case] = &[
        (
            "mean = \"20us\", p90 = \"30us\"",
            "base = \"0us\"",
            "a round-trip time of zero: nothing travels in no time",
            (4, 16),
            "the time that a ping takes without load, such as 20us",
        ),
        (
            "mean = \"20us\", p90 = \"30us\"",
            "min = \"0s\", max = \"1ps\"",
            "a mean round-trip time of zero: nothing travels in no time",
            (4, 27),
            "the time that a ping takes without load, such as 20us",
        ),
        (
            "chip = \"trident3\"",
            "buffer = \"32KB\"",
            "a buffer of 32KB is smaller than one threshold, 67.5KB",
            (3, 21),
            "λ × 25Gbps × 30us must fit into it; check the buffer's unit and the round-trip time",
        ),
        (
            "trident3",
            "tomahawk6",
            "there is no chip `tomahawk6`",
            (3, 19),
            "known: bcm56538, trident-plus, trident2, trident3, trident4, trident4-x9, tomahawk, ",
        ),
        (
            "trident3",
            "teralynx",
            "there is no chip `teralynx`",
            (3, 19),
            "known: bcm56538, trident-plus, trident2, trident3, trident4, trident4-x9, tomahawk, ",
        ),
        (
            "chip = \"trident3\", ",
            "",
            "the switch has neither `chip` nor `buffer`",
            (3, 10),
            "write switch = { buffer = \"32MB\" }, or a chip: bcm56538, ",
        ),
        (
            "alpha = \"1/8\"",
            "alpha = 0",
            "`alpha` is 0: no queue could hold a packet",
            (3, 39),
            "allowed: above 0",
        ),
        (
            "host_ports = \"48x25Gbps\", ",
            "",
            "the network has no `host_ports`",
            (2, 10),
            "write the ports of a leaf",
        ),
        (
            "48x25Gbps",
            "48",
            "`host_ports`: `48` cannot be read",
            (2, 25),
            "accepted: a number of ports and their speed",
        ),
        ("rtt = {", "rrt = {", "unknown key `rrt`", (4, 1), "did you mean `rtt`?"),
        (
            "mean = \"20us\", p90 = \"30us\"",
            "mean = \"20us\"",
            "the round-trip time is not clear",
            (4, 16),
            "write rtt = { base = ",
        ),
        (
            "mean = \"20us\"",
            "mean = \"40us\"",
            "a mean of 40us is above the 90th percentile, 30us",
            (4, 16),
            "the two may be swapped",
        ),
        (
            "uplinks = \"8x100Gbps\"",
            "layers = 2",
            "`layers` is 2, which does not match the ports",
            (2, 47),
            "a leaf below other switches has `uplinks`",
        ),
    ];
    for &(old, new, message, position, help) in cases {
        assert!(NETWORK.contains(old), "{old}");
        expect(&NETWORK.replace(old, new), message, position, help);
    }
}

#[test]
fn errors_in_queues_and_traffic_show_a_caret_and_accepted_values() {
    let cases = [
        (
            "[[queue]]\nweight = 60\n[[queue]]\nweight = 30\n",
            "the weights sum to 90, not to 100: 60 + 30",
            (8, 10),
            "they are percent of the port",
        ),
        (
            "[[queue]]\nweight = 60\n[[queue]]\nname = \"b\"\n",
            "`b` has no weight, and others have",
            (7, 1),
            "give each queue",
        ),
        (
            "[[queue]]\nweight = 100\nstrict = true\n",
            "a strict queue has no weight",
            (6, 10),
            "leave out",
        ),
        ("[[queue]]\ndscp = 64\n", "there is no DSCP 64", (6, 8), "allowed: 0 to 63"),
        (
            "[[queue]]\ndscp = 8\n[[queue]]\ndscp = [10, 8]\n",
            "DSCP 8 already belongs to `queue 0`",
            (8, 8),
            "each belongs to one queue",
        ),
        (
            "[[queue]]\nname = \"\\u001b[2J\"\n",
            "`name`: `\\u{1b}[2J` cannot be read",
            (6, 8),
            "accepted: a text without control characters",
        ),
        (
            "[[queue]]\ntransport = \"dctpc\"\n",
            "there is no transport `dctpc`",
            (6, 13),
            "did you mean `dctcp`?",
        ),
        (
            "[traffic]\nload = 1.5\n",
            "a load of 3/2 is out of range",
            (6, 8),
            "allowed: above 0 and at most 1",
        ),
    ];
    for (lines, message, position, help) in cases {
        expect(&format!("{NETWORK}{lines}"), message, position, help);
    }
}

fn expect(text: &str, message: &str, position: (usize, usize), help: &str) {
    let problem = read(text).unwrap_err();
    assert_eq!(problem.message(), message, "{problem}");
    assert_eq!(problem.position(), Some(position), "{problem}");
    let advice = problem.advice().unwrap_or_default();
    assert!(advice.starts_with(help), "{problem}");
}

#[test]
fn a_trace_with_impossible_hosts_is_shown_at_its_line() {
    let folder = std::env::temp_dir().join(format!("tidegate-plan-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("net.toml");
    std::fs::write(&file, format!("{NETWORK}traffic = {{ trace = \"flows.csv\" }}\n")).unwrap();
    let trace = |last: &str| {
        let text = format!("id,start_s,src,dst,bytes\na,0,0,383,1000\n{last}\n");
        std::fs::write(folder.join("flows.csv"), text).unwrap();
        Network::read(&file)
    };
    let flows = trace("b,0.5,2,3,1").unwrap().traffic.trace.unwrap().flows;
    assert_eq!(flows.entries.len(), 2);
    let problem = trace("b,0.5,384,2,1000").unwrap_err();
    assert_eq!(problem.message(), "flow `b` names host 384, which the network lacks");
    assert_eq!(problem.position(), Some((3, 1)), "{problem}");
    assert!(problem.advice().unwrap().starts_with("allowed: 0 to 383"), "{problem}");
    let problem = trace("b,0.5").unwrap_err();
    assert_eq!(problem.position(), Some((5, 21)), "{problem}");
    let services = "# two\nid,start_s,src,dst,bytes,service\na,0,0,1,1000,0\nb,0,0,1,1000,5\n";
    std::fs::write(folder.join("flows.csv"), services).unwrap();
    let problem = Network::read(&file).unwrap_err();
    assert_eq!(problem.message(), "flow `b` is of service 5, which has no queue");
    assert_eq!(problem.position(), Some((4, 1)), "{problem}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_guide_has_all_keys_and_chips() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/plan.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    for reference in [reference(), chip::reference()] {
        assert!(guide.contains(&reference), "docs/guide/plan.md should have:\n{reference}");
    }
}

#[test]
fn network_of_one_port_is_refused_without_naming_an_empty_range() {
    let text = NETWORK.replace(
        "host_ports = \"48x25Gbps\", uplinks = \"8x100Gbps\"",
        "host_ports = \"1x25Gbps\"",
    );
    let problem = read(&text).unwrap_err().to_string();
    assert!(problem.contains("at least two hosts"), "{problem}");
    assert!(!problem.contains("2 to 1"), "{problem}");
}

#[test]
fn reserve_larger_than_the_buffer_is_refused() {
    let text = NETWORK.replace("alpha = \"1/8\"", "reserve = \"18000000000GB\"");
    let problem = read(&text).unwrap_err().to_string();
    assert!(problem.contains("smaller than one threshold"), "{problem}");
}

#[test]
fn cables_beyond_a_datacenter_are_refused() {
    let text = NETWORK.replace("8x100Gbps\"", "8x100Gbps\", link_delay = \"18446744s\"");
    let problem = read(&text).unwrap_err().to_string();
    assert!(problem.contains("is longer than 10ms"), "{problem}");
}

#[test]
fn the_fastest_ports_do_not_overflow() {
    let text = NETWORK
        .replace("8x100Gbps\"", "4096x18446744073709551615bps\", link_delay = \"10ms\"")
        .replace("chip = \"trident3\"", "buffer = \"18446744073709551615B\"")
        + "[[queue]]\nlossless = true\ntransport = \"dcqcn\"\n";
    let network = read(&text).unwrap();
    assert!(!crate::Plan::new(&network).works());
}
