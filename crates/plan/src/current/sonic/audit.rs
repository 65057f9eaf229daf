//! Faults of a `config_db.json` beside its thresholds: lossless queues that lose packets, and
//! packets that reach the wrong queue.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_scenario::nearest;
use tidegate_units::{Bytes, Rate};

use crate::current::{Current, Finding};
use crate::dialect::sonic::config_db::{ConfigDb, Headroom, reference, text};
use crate::formula::headroom;
use crate::judge::Severity;
use crate::marking::bytes;
use crate::network::{Network, Queue};

/// Settings that are not checked.
const UNCHECKED: [&str; 5] = [
    "SCHEDULER: weights and priorities",
    "BUFFER_POOL: sizes and modes",
    "BUFFER_QUEUE: the limits of lossless queues where packets leave",
    "WRED_PROFILE: the thresholds of yellow and red packets",
    "settings at the other end of each cable",
];

/// Faults by their text, each with its ports in order.
#[derive(Default)]
struct Faults {
    found: BTreeMap<(Severity, String), Vec<String>>,
}

impl Faults {
    fn at(&mut self, severity: Severity, port: &str, text: String) {
        let ports = self.found.entry((severity, text)).or_default();
        if ports.last().is_none_or(|last| last != port) {
            ports.push(port.to_owned());
        }
    }
}

/// Adds the faults of a configuration and the headroom that it reserves.
pub(super) fn audit(db: &ConfigDb<'_>, network: &Network, current: &mut Current) {
    let mut faults = Faults::default();
    references(db, &mut faults);
    let mut counts: BTreeMap<Rate, u32> = BTreeMap::new();
    let mut users: BTreeMap<&str, BTreeSet<Rate>> = BTreeMap::new();
    for port in db.ports() {
        let Some(speed) = db.speed(network, port) else {
            continue;
        };
        *counts.entry(speed).or_default() += 1;
        if !network.speeds().contains(&speed) || db.is_down(port) {
            continue;
        }
        pauses(db, network, port, &mut faults);
        for queue in &network.queues {
            code_points(db, port, queue, &mut faults);
        }
        for queue in network.lossless() {
            let reserved = group(db, network, port, speed, queue, &mut faults);
            if let Some((profile, reserved)) = reserved {
                current.reservation.of_ports.entry(speed).or_default().push(reserved);
                users.entry(profile).or_default().insert(speed);
            }
        }
        if network.lossless().next().is_some() {
            watchdog(db, port, &mut faults);
        }
    }
    if network.lossless().next().is_some() {
        current.reservation.pool = shared_headroom(db);
    }
    for (profile, speeds) in users.into_iter().filter(|(_, speeds)| speeds.len() > 1) {
        let speeds: Vec<String> = speeds.iter().map(ToString::to_string).collect();
        let text =
            format!("ports of {} share the headroom profile `{profile}`", speeds.join(" and "));
        faults.found.insert((Severity::Costly, text), Vec::new());
    }
    if db.has("PORT") {
        for (_, ports) in network.ports() {
            let there = counts.get(&ports.speed).copied().unwrap_or(0);
            let planned: u32 = network
                .ports()
                .filter(|(_, other)| other.speed == ports.speed)
                .map(|(_, other)| other.count)
                .sum();
            if there != planned {
                let speed = ports.speed;
                let note = format!("PORT has {there} ports of {speed}, the network file {planned}");
                if !current.notes.contains(&note) {
                    current.notes.push(note);
                }
            }
        }
    }
    let finding = |((severity, text), ports)| Finding { severity, text, ports };
    current.findings = faults.found.into_iter().map(finding).collect();
    current.unchecked = UNCHECKED.map(str::to_owned).to_vec();
}

/// References to rows that do not exist, such as a misspelt profile.
fn references(db: &ConfigDb<'_>, faults: &mut Faults) {
    let fields = [
        ("QUEUE", "wred_profile", "WRED_PROFILE"),
        ("QUEUE", "scheduler", "SCHEDULER"),
        ("BUFFER_QUEUE", "profile", "BUFFER_PROFILE"),
        ("BUFFER_PG", "profile", "BUFFER_PROFILE"),
        ("BUFFER_PROFILE", "pool", "BUFFER_POOL"),
        ("PORT_QOS_MAP", "dscp_to_tc_map", "DSCP_TO_TC_MAP"),
        ("PORT_QOS_MAP", "tc_to_queue_map", "TC_TO_QUEUE_MAP"),
        ("PORT_QOS_MAP", "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"),
        ("PORT_QOS_MAP", "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE"),
    ];
    for (table, field, target) in fields {
        let mut missing: BTreeMap<&str, u32> = BTreeMap::new();
        for (_, row) in db.rows(table) {
            let Some(name) = text(row, field).map(reference) else {
                continue;
            };
            // `NULL` leaves a profile to the switch.
            if !matches!(name, "NULL" | "") && db.row(target, name).is_none() {
                *missing.entry(name).or_default() += 1;
            }
        }
        for (name, count) in missing {
            let near = nearest(name, db.rows(target).map(|(known, _)| known));
            let meant = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let rows = if count == 1 { "row of" } else { "rows of" };
            let refer = if count == 1 { "refers to" } else { "refer to" };
            let text = format!(
                "there is no {target} `{name}`, which {count} {rows} {table} {refer}{meant}"
            );
            faults.found.insert((Severity::Broken, text), Vec::new());
        }
    }
}

/// The priorities that a port pauses, beside the lossless queues of the network.
fn pauses(db: &ConfigDb<'_>, network: &Network, port: &str, faults: &mut Faults) {
    let enabled = db.pfc_enable(port);
    let planned: BTreeSet<u8> = network.lossless().map(|queue| queue.id).collect();
    for queue in planned.difference(&enabled) {
        let text = format!(
            "PFC is off for lossless queue {queue}: `pfc_enable` of PORT_QOS_MAP lacks {queue}, and its \
             packets are dropped"
        );
        faults.at(Severity::Broken, port, text);
    }
    for priority in enabled.difference(&planned) {
        let text = format!(
            "`pfc_enable` of PORT_QOS_MAP pauses priority {priority}, but the network has no lossless \
             queue {priority}"
        );
        faults.at(Severity::Costly, port, text);
    }
}

/// The priority group of a lossless queue at a port; returns its profile and the headroom that it
/// reserves.
fn group<'a>(
    db: &ConfigDb<'a>,
    network: &Network,
    port: &str,
    speed: Rate,
    queue: &Queue,
    faults: &mut Faults,
) -> Option<(&'a str, Bytes)> {
    let id = queue.id;
    let number = db.group_of(port, id);
    if db.paused_queue(port, id) != Some(id) {
        let text = format!(
            "a pause of priority {id} does not stop queue {id}: see `pfc_to_queue_map` of PORT_QOS_MAP"
        );
        faults.at(Severity::Broken, port, text);
    }
    let Some(profile) = db.profile_of("BUFFER_PG", port, number) else {
        if is_left_to_platform(db, port) {
            let text = format!(
                "headroom of queue {id} is the platform's: CABLE_LENGTH has the port, and no row of BUFFER_PG \
                 is lossless"
            );
            faults.at(Severity::Note, port, text);
            return None;
        }
        let text = format!(
            "lossless queue {id} has no priority group: BUFFER_PG has no row for group {number}, and \
             nothing is paused"
        );
        faults.at(Severity::Broken, port, text);
        return None;
    };
    if profile == "NULL" || db.lossless_group(port, number) == Some(Headroom::OfSwitch) {
        // The switch computes it.
        return None;
    }
    db.row("BUFFER_PROFILE", profile)?;
    let Some(xoff) = db.of_profile(profile, "xoff").map(Bytes) else {
        let text = format!(
            "lossless queue {id} has a lossy priority group: `{profile}` of BUFFER_PROFILE has no `xoff`"
        );
        faults.at(Severity::Broken, port, text);
        return None;
    };
    let of_other = speed_in_name(profile).filter(|&named| named != speed);
    let needed = network.computed_headroom(speed);
    if let Some(named) = of_other {
        let text = format!(
            "ports of {speed} have the headroom profile of {named}, `{profile}`: {} where {} are computed",
            bytes(xoff),
            bytes(needed)
        );
        let severity = if xoff < needed { Severity::Broken } else { Severity::Costly };
        faults.at(severity, port, text);
    } else {
        size(network, speed, profile, xoff, port, faults);
    }
    Some((profile, xoff))
}

/// Checks that the headroom of a profile is enough.
fn size(
    network: &Network,
    speed: Rate,
    profile: &str,
    xoff: Bytes,
    port: &str,
    faults: &mut Faults,
) {
    let is = format!("the headroom of `{profile}` is {} at {speed}", bytes(xoff));
    let least = headroom::least(speed, network.link_delay, network.mtu);
    let chip = network.switch.chip;
    let shipped = chip.and_then(|chip| chip.shipped_headroom(speed, network.link_delay));
    let (severity, than) = match shipped {
        _ if xoff < least => {
            let than = format!("cables and the standard alone need {}", bytes(least));
            (Severity::Broken, than)
        }
        Some((most, platform)) if xoff < most => {
            let than = format!("SONiC ships up to {} with this chip ({platform})", bytes(most));
            (Severity::Note, than)
        }
        None if xoff < network.computed_headroom(speed) => {
            let needed = bytes(network.computed_headroom(speed));
            (Severity::Costly, format!("{needed} are computed ({})", headroom::SECTION))
        }
        _ => return,
    };
    faults.at(severity, port, format!("{is}, and {than}"));
}

/// Whether the switch makes the lossless priority groups itself, from the lengths of cables: no
/// port of the file has one.
fn is_left_to_platform(db: &ConfigDb<'_>, port: &str) -> bool {
    let is_lossless = |row| {
        let profile = text(row, "profile").map(reference);
        profile.is_some_and(|profile| db.of_profile(profile, "xoff").is_some())
    };
    let length = db.rows("CABLE_LENGTH").find_map(|(_, row)| text(row, port));
    length.is_some_and(|length| length != "0m")
        && !db.rows("BUFFER_PG").any(|(_, row)| is_lossless(row))
}

/// The speed in the name of a platform's headroom profile: `pg_lossless_100000_40m_profile`.
fn speed_in_name(profile: &str) -> Option<Rate> {
    let rest = profile.strip_prefix("pg_lossless_")?;
    let number = rest.split('_').next()?;
    let bps = match number.strip_suffix('G') {
        Some(gigabits) => gigabits.parse::<u64>().ok()?.checked_mul(1_000_000_000)?,
        None => number.parse::<u64>().ok()?.checked_mul(1_000_000)?,
    };
    Rate::from_bps(bps)
}

/// Headroom pool that all ports share, if the switch has one.
fn shared_headroom(db: &ConfigDb<'_>) -> Option<Bytes> {
    let pools = db.rows("BUFFER_POOL");
    let of_pool = |row| text(row, "xoff")?.parse::<u64>().ok();
    let shared = pools.filter_map(|(_, row)| of_pool(row)).fold(0_u64, u64::saturating_add);
    (shared > 0).then_some(Bytes(shared))
}

/// Checks that the code points of a queue lead to it.
fn code_points(db: &ConfigDb<'_>, port: &str, queue: &Queue, faults: &mut Faults) {
    let (Some(points), Some(queues)) =
        (db.port_qos(port, "dscp_to_tc_map"), db.port_qos(port, "tc_to_queue_map"))
    else {
        let text = "no map leads code points to queues: PORT_QOS_MAP lacks `dscp_to_tc_map` or \
                    `tc_to_queue_map`";
        return faults.at(Severity::Costly, port, text.to_owned());
    };
    let (Some(to_class), Some(to_queue)) =
        (db.row("DSCP_TO_TC_MAP", points), db.row("TC_TO_QUEUE_MAP", queues))
    else {
        // The reference is reported already.
        return;
    };
    let id = queue.id.to_string();
    for point in &queue.dscp {
        let led = text(to_class, &point.to_string()).and_then(|class| text(to_queue, class));
        if led.and_then(|led| led.parse().ok()) == Some(queue.id) {
            continue;
        }
        let severity = if queue.lossless { Severity::Broken } else { Severity::Costly };
        let to = led.map_or_else(|| "to no queue".to_owned(), |led| format!("to queue {led}"));
        let text = format!(
            "DSCP {point} leads {to}, but the network has it in queue {id} (`{points}` of DSCP_TO_TC_MAP, \
             `{queues}` of TC_TO_QUEUE_MAP)"
        );
        faults.at(severity, port, text);
    }
}

/// Checks the PFC watchdog of a port.
fn watchdog(db: &ConfigDb<'_>, port: &str, faults: &mut Faults) {
    if db.row("PFC_WD", port).is_none() {
        let text = "no PFC watchdog (PFC_WD): a host that never stops pausing blocks its neighbours; see \
                    `pfcwd start_default`";
        faults.at(Severity::Note, port, text.to_owned());
    }
}
