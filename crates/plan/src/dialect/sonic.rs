//! SONiC: tables of `config_db.json`, in which every value is a text.
//!
//! SONiC marks on the instantaneous length of a queue, so that equal thresholds with 100 % are the step
//! that DCTCP wants.

mod patch;

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};
use tidegate_units::{Bytes, Rate};

use super::{Draft, Refusal, default_queue, rows, short};
use crate::formula::headroom;
use crate::judge;
use crate::marking::{Marking, Ramp};
use crate::network::{Network, Queue};
use crate::plan::{Plan, Row};

pub use patch::patch;

/// What the agent on the switch can read of a threshold: it reads them as signed 32-bit numbers.
const LONGEST: u64 = 2_147_483_647;

/// The exponents of two that `α` can be set to.
pub(super) const EXPONENTS: RangeInclusive<i32> = -8..=7;

/// The name of maps and prefixes.
const NAME: &str = "TIDEGATE";

/// The room that a queue or a priority group has for itself unless the plan says otherwise: one packet.
const LEAST_RESERVE: u64 = 1518;

pub(super) fn emit(plan: &Plan<'_>, out: &mut Draft) -> Result<(), Refusal> {
    let mut tables = Map::new();
    for row in &plan.rows {
        if let Marking::Length(ramp) = row.marking {
            let profile = profile(row, &ramp, out)?;
            put(&mut tables, "WRED_PROFILE", &profile_name(row), profile);
        }
    }
    maps(plan, &mut tables);
    for queue in &plan.network.queues {
        let scheduler = match queue.weight {
            Some(weight) => json!({ "type": "DWRR", "weight": weight.to_string() }),
            None => json!({ "type": "STRICT" }),
        };
        put(&mut tables, "SCHEDULER", &scheduler_name(queue), scheduler);
    }
    buffers(plan, &mut tables, out);
    for (port, speed) in port_names(plan.network) {
        of_port(plan, speed, &port, &mut tables);
    }
    for group in ["WRED_ECN_QUEUE", "WRED_ECN_PORT"] {
        let on = json!({ "FLEX_COUNTER_STATUS": "enable" });
        put(&mut tables, "FLEX_COUNTER_TABLE", group, on);
    }
    out.note("ports are named by their first lane (Ethernet0, Ethernet4, …): compare with PORT");
    out.note("marks show in: show queue wredcounters");
    let text = serde_json::to_string_pretty(&Value::Object(tables));
    out.line(text.expect("texts and maps can always be written"));
    Ok(())
}

fn put(tables: &mut Map<String, Value>, table: &str, row: &str, value: Value) {
    let rows = tables.entry(table).or_insert_with(|| json!({}));
    rows[row] = value;
}

fn profile_name(row: &Row<'_>) -> String {
    format!("{NAME}_Q{}_{}", row.queue.id, short(row.speed))
}

fn scheduler_name(queue: &Queue) -> String {
    format!("{NAME}.{}", queue.id)
}

fn profile(row: &Row<'_>, ramp: &Ramp, out: &mut Draft) -> Result<Value, Refusal> {
    let (min, max, percent) = out.ramp(row, ramp);
    if max > LONGEST {
        let what = format!("SONiC has no threshold of {max} B");
        return Err(Refusal::new(what, format!("the nearest is {LONGEST} B")));
    }
    let mut profile = json!({ "ecn": "ecn_all" });
    for colour in ["green", "yellow", "red"] {
        profile[format!("wred_{colour}_enable")] = "true".into();
        profile[format!("{colour}_min_threshold")] = min.to_string().into();
        profile[format!("{colour}_max_threshold")] = max.to_string().into();
        profile[format!("{colour}_drop_probability")] = percent.to_string().into();
    }
    Ok(profile)
}

/// From code points to traffic classes to queues, all of the same number.
fn maps(plan: &Plan<'_>, tables: &mut Map<String, Value>) {
    let queues = &plan.network.queues;
    let mut dscp = Map::new();
    for point in 0..64_u8 {
        let owner = queues.iter().find(|queue| queue.dscp.contains(&point));
        let queue = owner.unwrap_or_else(|| default_queue(plan));
        dscp.insert(point.to_string(), queue.id.to_string().into());
    }
    put(tables, "DSCP_TO_TC_MAP", NAME, Value::Object(dscp));
    let same = |queue: &Queue| (queue.id.to_string(), Value::from(queue.id.to_string()));
    let identity: Map<String, Value> = queues.iter().map(same).collect();
    put(tables, "TC_TO_QUEUE_MAP", NAME, Value::Object(identity));
    if plan.headroom.is_some() {
        let lossy = lossy_group(plan.network);
        let group = |queue: &Queue| {
            let group = if queue.lossless { queue.id } else { lossy };
            (queue.id.to_string(), Value::from(group.to_string()))
        };
        let groups: Map<String, Value> = queues.iter().map(group).collect();
        put(
            tables,
            "TC_TO_PRIORITY_GROUP_MAP",
            NAME,
            Value::Object(groups),
        );
        let lossless: Map<String, Value> = plan.network.lossless().map(same).collect();
        put(
            tables,
            "MAP_PFC_PRIORITY_TO_QUEUE",
            NAME,
            Value::Object(lossless),
        );
    }
}

/// The priority group of what may be dropped: the first that no lossless queue has, so that none of it is paused
/// or takes headroom. There is one if there is a lossy queue.
fn lossy_group(network: &Network) -> u8 {
    let is_free = |group: &u8| network.lossless().all(|queue| queue.id != *group);
    (0..8).find(is_free).unwrap_or(0)
}

fn buffers(plan: &Plan<'_>, tables: &mut Map<String, Value>, out: &mut Draft) {
    let network = plan.network;
    let exponent = out.exponent(network.switch.alpha, EXPONENTS).to_string();
    let shared = Bytes(judge::shared_memory(network).0 * u64::from(network.switch.parts));
    let reserve = network.switch.reserve.0.max(LEAST_RESERVE).to_string();
    let has_lossy = network.queues.iter().any(|queue| !queue.lossless);
    if has_lossy {
        let pool = json!({ "type": "egress", "mode": "dynamic", "size": shared.0.to_string() });
        put(tables, "BUFFER_POOL", "egress_lossy_pool", pool);
        let profile = json!({
            "pool": "egress_lossy_pool", "size": reserve, "dynamic_th": exponent,
        });
        put(tables, "BUFFER_PROFILE", "egress_lossy_profile", profile);
    }
    let Some(room) = &plan.headroom else {
        return;
    };
    let all = room.all.0 * u64::from(network.switch.parts);
    let pool = json!({
        "type": "ingress", "mode": "dynamic",
        "size": shared.0.to_string(), "xoff": all.to_string(),
    });
    put(tables, "BUFFER_POOL", "ingress_lossless_pool", pool);
    let pool = json!({ "type": "egress", "mode": "dynamic", "size": (shared.0 + all).to_string() });
    put(tables, "BUFFER_POOL", "egress_lossless_pool", pool);
    // An output must not drop what the inputs are paused for.
    let profile = json!({ "pool": "egress_lossless_pool", "size": reserve, "dynamic_th": "7" });
    put(tables, "BUFFER_PROFILE", "egress_lossless_profile", profile);
    if has_lossy {
        // An input must not drop what the outputs have room for.
        let profile = json!({ "pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "7" });
        put(tables, "BUFFER_PROFILE", "ingress_lossy_profile", profile);
    }
    for &(speed, headroom) in &room.of_port {
        let name = format!("pg_lossless_{}_profile", short(speed));
        let xoff = out.cells_above(&format!("headroom at {speed}"), headroom);
        let profile = json!({
            "pool": "ingress_lossless_pool",
            "size": reserve,
            "xon": reserve,
            "xoff": xoff.0.to_string(),
            "dynamic_th": exponent,
        });
        put(tables, "BUFFER_PROFILE", &name, profile);
    }
    out.note(format!(
        "headroom by {}; a platform with its own tables (pg_profile_lookup.ini) may ask for more",
        headroom::SECTION
    ));
}

/// What each port refers to.
fn of_port(plan: &Plan<'_>, speed: Rate, port: &str, tables: &mut Map<String, Value>) {
    for row in rows(plan, speed) {
        let key = format!("{port}|{}", row.queue.id);
        let mut queue = json!({ "scheduler": scheduler_name(row.queue) });
        if matches!(row.marking, Marking::Length(_)) {
            queue["wred_profile"] = profile_name(row).into();
        }
        put(tables, "QUEUE", &key, queue);
        let kind = if row.queue.lossless {
            "lossless"
        } else {
            "lossy"
        };
        let profile = json!({ "profile": format!("egress_{kind}_profile") });
        put(tables, "BUFFER_QUEUE", &key, profile);
        if row.queue.lossless {
            let profile = json!({ "profile": format!("pg_lossless_{}_profile", short(speed)) });
            put(tables, "BUFFER_PG", &key, profile);
        }
    }
    let has_lossy = plan.network.queues.iter().any(|queue| !queue.lossless);
    if plan.headroom.is_some() && has_lossy {
        let key = format!("{port}|{}", lossy_group(plan.network));
        let profile = json!({ "profile": "ingress_lossy_profile" });
        put(tables, "BUFFER_PG", &key, profile);
    }
    let mut map = json!({ "dscp_to_tc_map": NAME, "tc_to_queue_map": NAME });
    if plan.headroom.is_some() {
        let numbers: Vec<String> = plan
            .network
            .lossless()
            .map(|queue| queue.id.to_string())
            .collect();
        map["tc_to_pg_map"] = NAME.into();
        map["pfc_to_queue_map"] = NAME.into();
        map["pfc_enable"] = numbers.join(",").into();
    }
    put(tables, "PORT_QOS_MAP", port, map);
}

/// The queues of a key: `3`, or `3-4`.
pub(crate) fn numbers(text: &str) -> std::ops::Range<u8> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok::<u8, _>(last)) if last < 64 => first..last + 1,
        _ => 0..0,
    }
}

/// How many lanes a port of this speed has, which its name is counted in.
fn lanes(speed: Rate) -> u32 {
    match speed.as_bps() / 1_000_000_000 {
        0..=25 => 1,
        50..=99 => 2,
        26..=399 => 4,
        _ => 8,
    }
}

/// The name of each port with its speed.
fn port_names(network: &Network) -> Vec<(String, Rate)> {
    let mut lane = 0;
    let mut names = Vec::new();
    for (_, ports) in network.ports() {
        for _ in 0..ports.count {
            names.push((format!("Ethernet{lane}"), ports.speed));
            lane += lanes(ports.speed);
        }
    }
    names
}

/// The number of a port by its name as given here, from 0 with the hosts' first.
pub(crate) fn number_of(network: &Network, port: &str) -> Option<u32> {
    let place = port_names(network)
        .iter()
        .position(|(name, _)| name == port)?;
    u32::try_from(place).ok()
}
