//! The rules of the dialects that are lines.

#![expect(
    clippy::match_same_arms,
    clippy::too_many_lines,
    reason = "a grammar has one arm for each line that it knows"
)]

use std::collections::BTreeSet;

/// A word of a line that must be a number in a range.
fn number(word: &str, least: u64, most: u64) -> bool {
    word.parse::<u64>().is_ok_and(|value| (least..=most).contains(&value))
}

/// Both thresholds in order.
fn ordered(min: &str, max: &str, least: u64) -> bool {
    match (min.parse::<u64>(), max.parse::<u64>()) {
        (Ok(min), Ok(max)) => min >= least && min <= max,
        _ => false,
    }
}

/// The lines that a rule does not accept. `rule` sees the words of a line, and its indent.
fn refused(text: &str, mut rule: impl FnMut(&[&str], usize) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if !rule(&words, line.len() - line.trim_start().len()) {
            faults.push(line.to_owned());
        }
    }
    faults
}

pub(crate) fn eos(text: &str) -> Vec<String> {
    let mut profiles = BTreeSet::new();
    let mut shares = 0;
    let mut faults = refused(text, |words, indent| match (words, indent) {
        (["!"], 0)
        | (["no", "priority"] | ["priority", "strict"] | ["random-detect", "ecn", "count"], 6)
        | (["priority-flow-control", "on"] | ["qos", "trust", "dscp"], 3) => true,
        (["qos", "map", "dscp", points @ .., "to", "traffic-class", class], 0) => {
            !points.is_empty()
                && points.iter().all(|point| number(point, 0, 63))
                && number(class, 0, 7)
        }
        (["qos", "map", "traffic-class", class, "to", "tx-queue", queue], 0) => {
            number(class, 0, 7) && number(queue, 0, 7)
        }
        (["qos", "profile", name], 0) => {
            shares = 0;
            profiles.insert((*name).to_owned())
        }
        (["tx-queue", queue], 3) => number(queue, 0, 7),
        (["priority-flow-control", "priority", class, "no-drop"], 3) => number(class, 0, 7),
        (["bandwidth", "percent", share], 6) => {
            shares += share.parse::<u64>().unwrap_or(1000);
            number(share, 1, 100) && shares <= 100
        }
        (["random-detect", "ecn", "delay", "threshold", time, "microseconds"], 6) => {
            number(time, 1, 1_000_000_000)
        }
        (
            [
                "random-detect",
                "ecn",
                "minimum-threshold",
                min,
                "bytes",
                "maximum-threshold",
                max,
                "bytes",
                "max-mark-probability",
                probability,
                "weight",
                weight,
            ],
            6,
        ) => ordered(min, max, 1) && number(probability, 1, 100) && number(weight, 0, 15),
        (["interface", name], 0) => name.starts_with("Ethernet"),
        (["service-profile", _], 3) => true,
        _ => false,
    });
    faults.extend(missing(text, "service-profile", &profiles));
    faults
}

/// Names after a word that are not among those defined.
fn missing(text: &str, word: &str, known: &BTreeSet<String>) -> Vec<String> {
    let mut missing = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let named = words.windows(2).filter(|pair| pair[0] == word).map(|pair| pair[1]);
        missing
            .extend(named.filter(|name| !known.contains(*name)).map(|name| format!("no {name}")));
    }
    missing
}

pub(crate) fn junos(text: &str) -> Vec<String> {
    let mut defined: [BTreeSet<String>; 5] = Default::default();
    let [profiles, schedulers, maps, classes, pauses] = &mut defined;
    let mut faults = refused(text, |words, indent| {
        let ["set", "class-of-service", rest @ ..] = words else {
            return false;
        };
        indent == 0
            && match rest {
                ["forwarding-classes", "class", name, "queue-num", queue, lossless @ ..] => {
                    let priority = match lossless {
                        [] => true,
                        ["no-loss", "pfc-priority", priority] => number(priority, 0, 7),
                        _ => false,
                    };
                    classes.insert((*name).to_owned()) && number(queue, 0, 7) && priority
                }
                [
                    "classifiers",
                    "dscp",
                    _,
                    "forwarding-class",
                    _,
                    "loss-priority",
                    "low",
                    "code-points",
                    "[",
                    points @ ..,
                    "]",
                ] => !points.is_empty() && points.iter().all(|point| is_code_point(point)),
                [
                    "drop-profiles",
                    name,
                    "interpolate",
                    "fill-level",
                    "[",
                    low,
                    high,
                    "]",
                    "drop-probability",
                    "[",
                    "0",
                    probability,
                    "]",
                ] => {
                    profiles.insert((*name).to_owned());
                    ordered(low, high, 0)
                        && low != high
                        && number(high, 1, 100)
                        && number(probability, 1, 100)
                }
                ["schedulers", name, more @ ..] => {
                    schedulers.insert((*name).to_owned());
                    match more {
                        ["transmit-rate", "percent", share] => number(share, 1, 100),
                        ["latency-ecn", "threshold", time] => number(time, 1, 1_000_000_000),
                        ["priority", "strict-high"] | ["explicit-congestion-notification"] => true,
                        [
                            "drop-profile-map",
                            "loss-priority",
                            "any",
                            "protocol",
                            "any",
                            "drop-profile",
                            _,
                        ] => true,
                        _ => false,
                    }
                }
                ["scheduler-maps", name, "forwarding-class", _, "scheduler", _] => {
                    maps.insert((*name).to_owned());
                    true
                }
                ["congestion-notification-profile", name, more @ ..] => {
                    pauses.insert((*name).to_owned());
                    match more {
                        ["input", "dscp", "code-point", point, "pfc", "mru", mru] => {
                            is_code_point(point) && number(mru, 64, 16_384)
                        }
                        ["input", "cable-length", metres] => number(metres, 1, u64::MAX),
                        [
                            "output",
                            "ieee-802.1",
                            "code-point",
                            point,
                            "flow-control-queue",
                            queue,
                        ] => point.len() == 3 && number(queue, 0, 7),
                        _ => false,
                    }
                }
                ["interfaces", port, "scheduler-map" | "congestion-notification-profile", _]
                | ["interfaces", port, "unit", "0", "classifiers", "dscp", _] => {
                    port.starts_with("et-0/0/")
                }
                _ => false,
            }
    });
    let [profiles, schedulers, maps, classes, pauses] = &defined;
    faults.extend(missing(text, "drop-profile", profiles));
    faults.extend(missing(text, "scheduler", schedulers));
    faults.extend(missing(text, "scheduler-map", maps));
    faults.extend(missing(text, "forwarding-class", classes));
    faults.extend(missing(text, "congestion-notification-profile", pauses));
    faults
}

fn is_code_point(text: &str) -> bool {
    text.len() == 6 && text.chars().all(|c| c == '0' || c == '1')
}

pub(crate) fn nvue(text: &str) -> Vec<String> {
    let (mut minimum, mut memory) = (0, 0);
    let mut faults = refused(text, |words, indent| {
        if words == ["nv", "config", "apply"] {
            return true;
        }
        let ["nv", "set", rest @ ..] = words else {
            return false;
        };
        indent == 0
            && match rest {
                ["qos", "mapping", _, "trust", "l3"] => true,
                ["qos", "mapping", _, "port-default-sp", class]
                | ["qos", "mapping", _, "dscp", _, "switch-priority", class] => number(class, 0, 7),
                [
                    "qos",
                    "egress-queue-mapping",
                    "default-global",
                    "switch-priority",
                    from,
                    "traffic-class",
                    to,
                ] => number(from, 0, 7) && number(to, 0, 7),
                [
                    "qos",
                    "egress-scheduler",
                    _,
                    "traffic-class",
                    class,
                    "mode",
                    "dwrr" | "strict",
                ] => number(class, 0, 7),
                ["qos", "egress-scheduler", _, "traffic-class", class, "bw-percent", share] => {
                    number(class, 0, 7) && number(share, 1, 100)
                }
                [
                    "qos",
                    "advance-buffer-config",
                    "default-global",
                    "egress-lossy-buffer",
                    "traffic-class",
                    class,
                    "shared-alpha",
                    alpha,
                ] => number(class, 0, 7) && is_alpha(alpha),
                ["qos", "congestion-control", _, "traffic-class", class, key, value] => {
                    number(class, 0, 7)
                        && match *key {
                            "ecn" | "red" => matches!(*value, "enable" | "disable"),
                            "mode" => *value == "relative",
                            "min-threshold-percent" => {
                                minimum = value.parse().unwrap_or(u64::MAX);
                                minimum <= 100
                            }
                            "max-threshold-percent" => number(value, minimum, 100),
                            "probability" => number(value, 0, 100),
                            "min-threshold" => {
                                minimum = value.parse().unwrap_or(u64::MAX);
                                minimum >= 1
                            }
                            "max-threshold" => number(value, minimum, u64::MAX),
                            _ => false,
                        }
                }
                [
                    "qos",
                    "advance-buffer-config",
                    "default-global",
                    "ingress-lossless-buffer",
                    "shared-alpha",
                    alpha,
                ] => is_alpha(alpha),
                [
                    "qos",
                    "traffic-pool",
                    "default-lossless" | "default-lossy",
                    "memory-percent",
                    percent,
                ] => {
                    memory += percent.parse::<u64>().unwrap_or(u64::MAX);
                    number(percent, 1, 100) && memory <= 100
                }
                ["qos", "pfc", _, "cable-length", metres] => number(metres, 1, 100_000),
                ["qos", "pfc", _, "switch-priority", _]
                | ["qos", "pfc", _, "tx" | "rx", "enable"] => true,
                [
                    "interface",
                    ports,
                    "qos",
                    "mapping" | "egress-scheduler" | "congestion-control" | "pfc",
                    "profile",
                    _,
                ] => ports.starts_with("swp"),
                _ => false,
            }
    });
    if !text.ends_with("nv config apply\n") {
        faults.push("not applied".to_owned());
    }
    faults
}

fn is_alpha(name: &str) -> bool {
    let Some(value) = name.strip_prefix("alpha_") else {
        return false;
    };
    let power =
        |text: &str| text.parse::<u32>().is_ok_and(|value| value.is_power_of_two() && value <= 128);
    match value.strip_prefix("1_") {
        Some(below) => power(below),
        None => power(value) && value != "128",
    }
}

pub(crate) fn nxos(text: &str) -> Vec<String> {
    let mut policies = BTreeSet::new();
    let mut shares = 0;
    let mut faults = refused(text, |words, indent| match (words, indent) {
        (["class-map", "type", "qos", "match-any", _], 0) => true,
        (["match", "dscp", points], 2) => points.split(',').all(|point| number(point, 0, 63)),
        (["policy-map", "type", "qos" | "queuing" | "network-qos", name], 0) => {
            shares = 0;
            policies.insert((*name).to_owned())
        }
        (["class", _] | ["class", "type", "queuing" | "network-qos", _], 2) => true,
        (["set", "qos-group", group], 4) => number(group, 0, 7),
        (["bandwidth", "remaining", "percent", share], 4) => {
            shares += share.parse::<u64>().unwrap_or(1000);
            number(share, 1, 100) && shares <= 100
        }
        (["priority", "level", level], 4) => number(level, 1, 8),
        (
            [
                "random-detect",
                "minimum-threshold",
                min,
                "kbytes",
                "maximum-threshold",
                max,
                "kbytes",
                "drop-probability",
                probability,
                "weight",
                weight,
                "ecn",
            ],
            4,
        ) => {
            ordered(min, max, 1)
                && min != max
                && number(probability, 1, 100)
                && number(weight, 0, 15)
        }
        (["pause", "pfc-cos", class], 4) => number(class, 0, 7),
        (["mtu", size], 4) => number(size, 1500, 9216),
        (["system", "qos"], 0) | (["priority-flow-control", "mode", "on"], 2) => true,
        (["service-policy", "type", ..], 2) => true,
        (["interface", name], 0) => name.starts_with("Ethernet1/"),
        _ => false,
    });
    for word in ["input", "output", "network-qos"] {
        let used = text.lines().filter(|line| line.trim_start().starts_with("service-policy"));
        let used: Vec<&str> = used.collect();
        faults.extend(missing(&used.join("\n"), word, &policies));
    }
    faults
}

pub(crate) fn tc(text: &str) -> Vec<String> {
    let mut bands = 0;
    let mut cleared = BTreeSet::new();
    refused(text, |words, indent| match (words, indent) {
        (["qdisc", "replace", "dev", device, "root", "bfifo", "limit", limit], 0) => {
            // First of all: it removes the old tree.
            cleared.insert((*device).to_owned()) && number(limit, 1, u64::from(u32::MAX))
        }
        (["qdisc" | "filter", _, "dev", device, ..], _) if !cleared.contains(*device) => false,
        (
            [
                "qdisc",
                "replace",
                "dev",
                _,
                "root",
                "handle",
                "1:",
                "ets",
                "bands",
                count,
                more @ ..,
            ],
            0,
        ) => {
            bands = count.parse::<usize>().unwrap_or(0);
            let strict = after(more, "strict").map_or(0, |value| value.parse().unwrap_or(99));
            let quanta = more.iter().skip_while(|word| **word != "quanta").skip(1);
            let quanta = quanta.take_while(|word| **word != "priomap").count();
            let places = more.iter().skip_while(|word| **word != "priomap").skip(1);
            let places: Vec<_> = places.collect();
            (1..=16).contains(&bands)
                && strict + quanta == bands
                && places.len() == 16
                && places.iter().all(|place| number(place, 0, bands as u64 - 1))
        }
        (["qdisc", "replace", "dev", _, "root", "handle", "1:", leaf @ ..], 0) => is_leaf(leaf),
        (["qdisc", "replace", "dev", _, "parent", class, "handle", _, leaf @ ..], 0) => {
            is_class(class, bands) && is_leaf(leaf)
        }
        (
            [
                "filter",
                "add",
                "dev",
                _,
                "parent",
                "1:",
                "protocol",
                "ip" | "ipv6",
                "prio",
                _,
                "u32",
                "match",
                ..,
                "classid",
                class,
            ],
            0,
        ) => is_class(class, bands),
        _ => false,
    })
}

fn is_class(class: &str, bands: usize) -> bool {
    class.strip_prefix("1:").is_some_and(|minor| number(minor, 1, bands as u64))
}

fn after<'a>(words: &[&'a str], name: &str) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == name)?;
    words.get(at + 1).copied()
}

fn is_leaf(words: &[&str]) -> bool {
    let value = |name: &str| {
        after(words, name).and_then(|word| word.trim_end_matches("us").parse::<u64>().ok())
    };
    match words.first() {
        Some(&"pfifo") => value("limit") >= Some(1),
        Some(&"codel") => {
            let (ce, target, interval) =
                (value("ce_threshold"), value("target"), value("interval"));
            value("limit") >= Some(1)
                && ce >= Some(1)
                && ce < target
                && target < interval
                && words.ends_with(&["ecn"])
        }
        Some(&"red") => {
            let (Some(min), Some(max), Some(limit), Some(burst), Some(packet)) =
                (value("min"), value("max"), value("limit"), value("burst"), value("avpkt"))
            else {
                return false;
            };
            1 <= min
                && min <= max
                && max < limit
                && u32::try_from(limit).is_ok()
                && red_shift(min, burst, packet).is_some_and(|shift| fits_kernel(max, shift))
                && after(words, "bandwidth").is_some_and(is_rate)
        }
        _ => false,
    }
}

/// The weight of the average that `tc` derives from `burst`, as a power of 1/2; it warns of 10 and
/// above.
#[expect(clippy::cast_precision_loss, reason = "tc computes the same in doubles")]
fn red_shift(min: u64, burst: u64, packet: u64) -> Option<u32> {
    let burst = burst as f64;
    let needed = burst + 1.0 - min as f64 / packet as f64;
    let weight = |shift: u32| 0.5_f64.powf(f64::from(shift));
    let enough = |&shift: &u32| needed <= (1.0 - (1.0 - weight(shift)).powf(burst)) / weight(shift);
    (1..10).find(enough).filter(|_| needed >= 1.0)
}

/// The kernel keeps the average shifted, in 32 bits.
fn fits_kernel(length: u64, shift: u32) -> bool {
    u64::BITS - length.leading_zeros() + shift < 32
}

/// A rate of which `tc` reads 32 bits of bytes a second.
fn is_rate(text: &str) -> bool {
    let (number, unit) = match text.strip_suffix("mbit") {
        Some(number) => (number, 1_000_000),
        None => (text.trim_end_matches("bit"), 1),
    };
    let bits = number.parse::<u64>().map(|number| number * unit);
    bits.is_ok_and(|bits| (8..u64::from(u32::MAX) * 8).contains(&bits))
}
