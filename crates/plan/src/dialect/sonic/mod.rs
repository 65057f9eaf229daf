//! SONiC: tables of `config_db.json`, in which every value is a text.
//!
//! SONiC marks on the instantaneous length of a queue, so equal thresholds with 100 % are the step
//! that DCTCP needs.

pub(crate) mod config_db;
mod patch;

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};
use tidegate_units::{Bytes, Rate, Setting};

use self::config_db::{ConfigDb, OF_QUEUES};
use super::draft::{Draft, cable_metres, rows, short};
use super::{Dialect, HeadroomFrom, NotEcn, Only, Refusal, Request, Scheme, Support};
use crate::marking::{Marking, Ramp};
use crate::network::{Network, Queue};
use crate::plan::{Plan, Row};

pub use patch::{Patch, patch};

/// Greatest threshold: the agent on the switch reads signed 32-bit numbers.
const LONGEST: u64 = 2_147_483_647;

/// The exponents of two that `α` can be set to.
const EXPONENTS: RangeInclusive<i32> = -8..=7;

/// Name of maps, and prefix of other names.
const NAME: &str = "TIDEGATE";

/// Default memory reserved for a queue or a priority group: one packet.
const LEAST_RESERVE: u64 = 1518;

/// SONiC.
pub(super) struct Sonic;

impl Dialect for Sonic {
    fn title(&self) -> &'static str {
        "SONiC"
    }

    fn support(&self, scheme: Scheme) -> Support {
        match scheme {
            Scheme::QueueRed => Support::Yes("WRED_PROFILE, on the instantaneous length"),
            Scheme::Tcn => Support::No("queue-red: K is T at the speed of each port"),
            Scheme::EcnSharp => {
                Support::No("queue-red at λ·C·RTT of the 90th percentile, its instantaneous part")
            }
            Scheme::Bcc => {
                Support::No("queue-red; on Tomahawk 5 with dynamic ECN (D-ECN) beside it")
            }
        }
    }

    fn not_ecn(&self) -> NotEcn {
        NotEcn::Dropped(
            "a WRED profile drops them at the thresholds at which it marks the others (SAI): give them a queue \
             without `wred_profile`",
        )
    }

    fn exponents(&self) -> Option<RangeInclusive<i32>> {
        Some(EXPONENTS)
    }

    fn replaces_ports(&self) -> bool {
        false
    }

    fn has_tables(&self) -> bool {
        true
    }

    fn emit(&self, plan: &Plan<'_>, request: &Request<'_>, out: &mut Draft) -> Result<(), Refusal> {
        if let Some(current) = request.current {
            check_ports(plan.network, &ConfigDb::new(current))?;
        }
        let tables = tables(plan, request, out)?;
        if request.current.is_none() {
            out.note(
                "ports are named by their first lane (Ethernet0, Ethernet4, …): compare with PORT",
            );
        }
        if request.only != Only::All {
            out.note(format!(
                "tables beside `{}` stay as they are; --only all emits maps, schedulers, buffers and PFC too",
                request.only.write()
            ));
        }
        out.note("marks show in: show queue wredcounters");
        let text = serde_json::to_string_pretty(&Value::Object(tables));
        out.line(text.expect("texts and maps can always be written"));
        Ok(())
    }
}

/// Checks that ports are known by name and speed, and that all rows belong to one switch.
fn check_ports(network: &Network, db: &ConfigDb<'_>) -> Result<(), Refusal> {
    let keys = OF_QUEUES.into_iter().flat_map(|table| db.rows(table));
    if let Some((key, _)) = keys.into_iter().find(|(key, _)| key.matches('|').count() > 1) {
        return Err(Refusal::new(
            format!("rows of a chassis such as `{key}` cannot be patched"),
            "the nearest is a fragment without --current, for each line card",
        ));
    }
    let guessed = port_names(network);
    let is_guessed = |port: &&str| guessed.iter().any(|(name, _)| name == port);
    if db.has("PORT") || db.ports().iter().all(is_guessed) {
        return Ok(());
    }
    Err(Refusal::new(
        "the configuration has no table PORT, so the speeds of its ports are not known",
        "the nearest is the whole file, as `show runningconfiguration all` prints it",
    ))
}

/// The requested tables.
fn tables(
    plan: &Plan<'_>,
    request: &Request<'_>,
    out: &mut Draft,
) -> Result<Map<String, Value>, Refusal> {
    let only = request.only;
    let mut tables = Map::new();
    if only.has_wred() {
        for row in &plan.rows {
            if let Marking::Length(ramp) = row.marking {
                let profile = profile(row, &ramp, out)?;
                put(&mut tables, "WRED_PROFILE", &profile_name(row), profile);
            }
        }
    }
    if only.has_pfc() && plan.headroom.is_some() {
        pause_maps(plan, &mut tables);
    }
    if only == Only::All {
        maps(plan, &mut tables);
        for queue in &plan.network.queues {
            let scheduler = match queue.weight {
                Some(weight) => json!({ "type": "DWRR", "weight": weight.to_string() }),
                None => json!({ "type": "STRICT" }),
            };
            put(&mut tables, "SCHEDULER", &scheduler_name(queue), scheduler);
        }
        for group in ["WRED_ECN_QUEUE", "WRED_ECN_PORT"] {
            let on = json!({ "FLEX_COUNTER_STATUS": "enable" });
            put(&mut tables, "FLEX_COUNTER_TABLE", group, on);
        }
    }
    if only.has_buffers() {
        buffers(plan, request.headroom, &mut tables, out);
    }
    if only.has_pfc() && request.headroom == HeadroomFrom::Platform {
        cables(plan, request, &mut tables, out);
    }
    for (port, speed) in ports(plan.network, request.current) {
        of_port(plan, request, speed, &port, &mut tables);
    }
    Ok(tables)
}

/// Ports to configure: the switch's own with a speed of the network, else ports with the usual
/// names.
fn ports(network: &Network, current: Option<&Value>) -> Vec<(String, Rate)> {
    let Some(db) = current.map(ConfigDb::new).filter(|db| db.has("PORT")) else {
        return port_names(network);
    };
    let speeds = network.speeds();
    let named = db.ports().into_iter().filter_map(|port| {
        let speed = db.speed(network, port)?;
        speeds.contains(&speed).then(|| (port.to_owned(), speed))
    });
    named.collect()
}

/// Queues of the switch's ports that the plan leaves unmarked.
pub fn unmarked(plan: &Plan<'_>, current: &Value) -> BTreeSet<(String, u8)> {
    let of_port = |(port, speed): (String, Rate)| {
        let rows = rows(plan, speed).filter(|row| row.marking == Marking::Off);
        rows.map(move |row| (port.clone(), row.queue.id))
    };
    ports(plan.network, Some(current)).into_iter().flat_map(of_port).collect()
}

/// Cable lengths in metres for which most platforms have a row of headroom.
const CABLES: [u64; 3] = [5, 40, 300];

/// Cable lengths, from which the platform derives headroom.
fn cables(
    plan: &Plan<'_>,
    request: &Request<'_>,
    tables: &mut Map<String, Value>,
    out: &mut Draft,
) {
    if plan.headroom.is_none() {
        return;
    }
    let metres = cable_metres(plan);
    let length = CABLES.into_iter().find(|&length| length >= metres).unwrap_or(metres);
    if length != metres {
        out.change(
            "cable length".to_owned(),
            format!("{metres} m"),
            format!("{length} m"),
            "platforms have rows for 5, 40 and 300 m",
        );
    }
    let ports = ports(plan.network, request.current);
    let lengths = ports.into_iter().map(|(port, _)| (port, Value::from(format!("{length}m"))));
    put(tables, "CABLE_LENGTH", "AZURE", Value::Object(lengths.collect()));
    out.note(
        "headroom is left to the platform: it reads CABLE_LENGTH and its own pg_profile_lookup.ini; \
         --headroom computed sets it by the formula",
    );
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
        let queue = owner.unwrap_or_else(|| plan.network.default_queue());
        dscp.insert(point.to_string(), queue.id.to_string().into());
    }
    put(tables, "DSCP_TO_TC_MAP", NAME, Value::Object(dscp));
    let same = |queue: &Queue| (queue.id.to_string(), Value::from(queue.id.to_string()));
    let identity: Map<String, Value> = queues.iter().map(same).collect();
    put(tables, "TC_TO_QUEUE_MAP", NAME, Value::Object(identity));
}

/// From traffic classes to priority groups, and from priorities of pauses to queues.
fn pause_maps(plan: &Plan<'_>, tables: &mut Map<String, Value>) {
    let queues = &plan.network.queues;
    let same = |queue: &Queue| (queue.id.to_string(), Value::from(queue.id.to_string()));
    let lossy = lossy_group(plan.network);
    let group = |queue: &Queue| {
        let group = if queue.lossless { queue.id } else { lossy };
        (queue.id.to_string(), Value::from(group.to_string()))
    };
    let groups: Map<String, Value> = queues.iter().map(group).collect();
    put(tables, "TC_TO_PRIORITY_GROUP_MAP", NAME, Value::Object(groups));
    let lossless: Map<String, Value> = plan.network.lossless().map(same).collect();
    put(tables, "MAP_PFC_PRIORITY_TO_QUEUE", NAME, Value::Object(lossless));
}

/// Priority group of lossy queues: the first that no lossless queue has, so that it is neither
/// paused nor takes headroom. There is one if there is a lossy queue.
fn lossy_group(network: &Network) -> u8 {
    let is_free = |group: &u8| network.lossless().all(|queue| queue.id != *group);
    (0..8).find(is_free).unwrap_or(0)
}

fn buffers(
    plan: &Plan<'_>,
    headroom: HeadroomFrom,
    tables: &mut Map<String, Value>,
    out: &mut Draft,
) {
    let network = plan.network;
    let exponent = out.exponent(network.switch.alpha, EXPONENTS).to_string();
    let shared = Bytes(network.shared_memory().0 * u64::from(network.switch.parts));
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
    if plan.headroom.is_none() {
        return;
    }
    let all = network.headroom_of_switch().0;
    let pool = json!({
        "type": "ingress", "mode": "dynamic",
        "size": shared.0.to_string(), "xoff": all.to_string(),
    });
    put(tables, "BUFFER_POOL", "ingress_lossless_pool", pool);
    let pool = json!({ "type": "egress", "mode": "dynamic", "size": (shared.0 + all).to_string() });
    put(tables, "BUFFER_POOL", "egress_lossless_pool", pool);
    // An output must not drop packets that pauses protect at the inputs.
    let profile = json!({ "pool": "egress_lossless_pool", "size": reserve, "dynamic_th": "7" });
    put(tables, "BUFFER_PROFILE", "egress_lossless_profile", profile);
    if has_lossy {
        // An input must not drop packets that fit at the outputs.
        let profile = json!({ "pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "7" });
        put(tables, "BUFFER_PROFILE", "ingress_lossy_profile", profile);
    }
    if headroom == HeadroomFrom::Platform {
        return;
    }
    for speed in network.speeds() {
        let headroom = network.computed_headroom(speed);
        let xoff = out.cells_above(&format!("headroom at {speed}"), headroom);
        let profile = json!({
            "pool": "ingress_lossless_pool",
            "size": reserve,
            "xon": reserve,
            "xoff": xoff.0.to_string(),
            "dynamic_th": exponent,
        });
        put(tables, "BUFFER_PROFILE", &headroom_name(speed), profile);
    }
}

/// Name of the profile of lossless priority groups at ports of a speed.
fn headroom_name(speed: Rate) -> String {
    format!("pg_lossless_{}_profile", short(speed))
}

/// References of a port to profiles and maps.
fn of_port(
    plan: &Plan<'_>,
    request: &Request<'_>,
    speed: Rate,
    port: &str,
    tables: &mut Map<String, Value>,
) {
    let only = request.only;
    let is_computed = request.headroom == HeadroomFrom::Computed;
    for row in rows(plan, speed) {
        let key = format!("{port}|{}", row.queue.id);
        let mut queue = Map::new();
        if only == Only::All {
            queue.insert("scheduler".into(), scheduler_name(row.queue).into());
        }
        if only.has_wred() && matches!(row.marking, Marking::Length(_)) {
            queue.insert("wred_profile".into(), profile_name(row).into());
        }
        if !queue.is_empty() {
            put(tables, "QUEUE", &key, Value::Object(queue));
        }
        if !only.has_buffers() {
            continue;
        }
        let kind = if row.queue.lossless { "lossless" } else { "lossy" };
        let profile = json!({ "profile": format!("egress_{kind}_profile") });
        put(tables, "BUFFER_QUEUE", &key, profile);
        if row.queue.lossless && is_computed {
            let profile = json!({ "profile": headroom_name(speed) });
            put(tables, "BUFFER_PG", &key, profile);
        }
    }
    let has_lossy = plan.network.queues.iter().any(|queue| !queue.lossless);
    if only.has_buffers() && plan.headroom.is_some() && has_lossy {
        let key = format!("{port}|{}", lossy_group(plan.network));
        let profile = json!({ "profile": "ingress_lossy_profile" });
        put(tables, "BUFFER_PG", &key, profile);
    }
    let mut map = Map::new();
    if only == Only::All {
        map.insert("dscp_to_tc_map".into(), NAME.into());
        map.insert("tc_to_queue_map".into(), NAME.into());
    }
    if only.has_pfc() && plan.headroom.is_some() {
        let numbers = plan.network.lossless().map(|queue| queue.id.to_string());
        map.insert("tc_to_pg_map".into(), NAME.into());
        map.insert("pfc_to_queue_map".into(), NAME.into());
        let enabled = numbers.collect::<Vec<_>>().join(",");
        map.insert("pfc_enable".into(), enabled.into());
    }
    if !map.is_empty() {
        put(tables, "PORT_QOS_MAP", port, Value::Object(map));
    }
}

/// Lanes of a port of this speed; port names count lanes.
fn lanes(speed: Rate) -> u32 {
    match speed.as_bps() / 1_000_000_000 {
        0..=25 => 1,
        50..=99 => 2,
        26..=399 => 4,
        _ => 8,
    }
}

/// Usual port names with their speeds.
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

/// Number of a port by its usual name, from 0 with host ports first.
pub(crate) fn number_of(network: &Network, port: &str) -> Option<u32> {
    let place = port_names(network).iter().position(|(name, _)| name == port)?;
    u32::try_from(place).ok()
}
