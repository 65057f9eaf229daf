//! SONiC's `config_db.json`.

mod audit;
mod tables;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use tidegate_scenario::Problem;
use tidegate_units::{Bytes, Ratio};

use self::tables::MOST_ENTRIES;
use super::{Current, Setting, add};
use crate::dialect::sonic::config_db::{
    ConfigDb, MOST_QUEUES, OF_QUEUES, places, reference, text as field,
};
use crate::marking::{Marking, Ramp};
use crate::network::Network;

pub(super) fn read(name: &str, text: &str, network: &Network) -> Result<Current, Problem> {
    let mut tables = tables::read(name, text)?;
    check_rows(name, text, &mut tables)?;
    let db = ConfigDb::new(&tables);
    // A switch that was never configured has no queues.
    if !["QUEUE", "PORT", "DEVICE_METADATA"].iter().any(|table| db.has(table)) {
        let message = "this is not a config_db.json with queues";
        return Err(Problem::in_text(name, text, 0..1, message).help("it has a table QUEUE"));
    }
    let mut current = Current { source: name.to_owned(), ..Current::default() };
    for (key, _) in db.rows("QUEUE") {
        if places(key).next().is_none() {
            current.notes.push(format!("QUEUE `{key}` names no queue"));
        }
    }
    let mut markings: BTreeMap<&str, Marking> = BTreeMap::new();
    for (profile, fields) in db.rows("WRED_PROFILE") {
        // Only profiles in use must be readable.
        if uses(&db, profile) {
            markings.insert(profile, marking(name, text, profile, fields)?);
        } else {
            let note = format!("no queue uses the WRED_PROFILE `{profile}`");
            current.notes.push(note);
        }
    }
    let mut ports: Vec<&str> = db.ports();
    ports.extend(db.places("QUEUE").map(|((port, _), _)| port.as_str()));
    let mut seen = BTreeSet::new();
    ports.retain(|port| seen.insert(*port));
    for port in ports {
        let Some(speed) = db.speed(network, port) else {
            current.notes.push(format!("the speed of `{port}` is not known"));
            continue;
        };
        for queue in 0..MOST_QUEUES {
            let row = db.of("QUEUE", port, queue);
            let planned = network.queues.iter().find(|planned| planned.id == queue);
            let is_ours = network.speeds().contains(&speed) && !db.is_down(port);
            if row.is_none() && (planned.is_none() || !is_ours) {
                continue;
            }
            let profile = row.and_then(|row| field(row, "wred_profile")).map(reference);
            let marking = profile.and_then(|profile| markings.get(profile).copied());
            let name = match (row, profile) {
                (None, _) => "no QUEUE row".to_owned(),
                (Some(_), None) => "no wred_profile".to_owned(),
                (_, Some(profile)) => profile.to_owned(),
            };
            let is_lossless = planned.is_some_and(|planned| planned.lossless);
            let setting = Setting {
                queue: Some(queue),
                speed: Some(speed),
                ports: 1,
                marking: marking.unwrap_or(Marking::Off),
                alpha: alpha(&db, port, queue, is_lossless),
                name,
            };
            add(&mut current.settings, setting);
        }
    }
    audit::audit(&db, network, &mut current);
    current.notes.sort();
    current.notes.dedup();
    current.tables = Some(tables);
    Ok(current)
}

/// Tables that are read; others are ignored.
const TABLES: [&str; 15] = [
    "BUFFER_PG",
    "BUFFER_POOL",
    "BUFFER_PROFILE",
    "BUFFER_QUEUE",
    "CABLE_LENGTH",
    "DSCP_TO_TC_MAP",
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "PFC_WD",
    "PORT",
    "PORT_QOS_MAP",
    "QUEUE",
    "SCHEDULER",
    "TC_TO_PRIORITY_GROUP_MAP",
    "TC_TO_QUEUE_MAP",
    "WRED_PROFILE",
];

/// Checks that tables have rows, and rows have fields. Numbers become texts, as the switch keeps
/// them.
fn check_rows(name: &str, text: &str, tables: &mut Value) -> Result<(), Problem> {
    let wrong = |what: &str, message: String| {
        let at = text.find(&format!("\"{what}\"")).unwrap_or(0);
        let end = (at + what.len() + 2).min(text.len());
        let end = (end..text.len()).find(|&end| text.is_char_boundary(end)).unwrap_or(text.len());
        Problem::in_text(name, text, at..end, message)
            .help("a table has rows, and a row has fields: { \"TABLE\": { \"row\": { … } } }")
    };
    if tables.get("localhost").is_some_and(|host| host.get("PORT").is_some() || host.is_object())
        && tables.get("PORT").is_none()
        && tables.get("QUEUE").is_none()
    {
        let message = "this file has the configurations of several ASICs".to_owned();
        return Err(
            wrong("localhost", message).help("give the one of a single ASIC, such as asic0")
        );
    }
    let mut named = 0;
    for table in TABLES {
        let Some(rows) = tables.get_mut(table).filter(|rows| !rows.is_null()) else {
            continue;
        };
        let Some(rows) = rows.as_object_mut() else {
            return Err(wrong(table, format!("`{table}` is not a table")));
        };
        for (row, fields) in rows {
            let Some(fields) = fields.as_object_mut() else {
                return Err(wrong(row, format!("row `{row}` of `{table}` has no fields")));
            };
            if OF_QUEUES.contains(&table) {
                named += places(row).take(MOST_ENTRIES + 1).count();
                if named > MOST_ENTRIES {
                    let message = format!("`{table}` names more than {MOST_ENTRIES} queues");
                    return Err(wrong(table, message));
                }
            }
            for value in fields.values_mut().filter(|value| value.is_number()) {
                *value = value.to_string().into();
            }
        }
    }
    Ok(())
}

/// Whether a queue refers to a WRED profile.
fn uses(db: &ConfigDb<'_>, profile: &str) -> bool {
    let references = db.rows("QUEUE").filter_map(|(_, row)| field(row, "wred_profile"));
    references.map(reference).any(|used| used == profile)
}

/// The factor of the dynamic threshold that acts on a queue: the egress profile's or, for a
/// lossless queue, the ingress profile's, because pauses follow the priority group.
fn alpha(db: &ConfigDb<'_>, port: &str, queue: u8, is_lossless: bool) -> Option<Ratio> {
    let profile = if is_lossless {
        db.profile_of("BUFFER_PG", port, db.group_of(port, queue))
    } else {
        db.profile_of("BUFFER_QUEUE", port, queue)
    };
    db.alpha_of(profile?)
}

fn marking(name: &str, text: &str, profile: &str, fields: &Value) -> Result<Marking, Problem> {
    let empty = Map::new();
    let fields = fields.as_object().unwrap_or(&empty);
    let word = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let marks_green = ["ecn_all", "ecn_green", "ecn_green_yellow", "ecn_green_red"];
    if !marks_green.contains(&word("ecn")) || word("wred_green_enable") != "true" {
        return Ok(Marking::Off);
    }
    let wrong = |message: String| {
        // The row itself, below the table; not a reference to it.
        let table = text.find("\"WRED_PROFILE\"").unwrap_or(0);
        let row = text[table..].find(&format!("\"{profile}\""));
        let span = row.map_or(0..1, |at| table + at..table + at + profile.len() + 2);
        Problem::in_text(name, text, span, message)
            .help("bytes, and percent from 0 to 100, as texts such as \"65000\"")
    };
    let number = |key: &str, default: Option<u64>| {
        let value = match fields.get(key) {
            None => default,
            Some(_) => word(key).parse().ok(),
        };
        value.ok_or_else(|| {
            let is = match fields.get(key) {
                None => "missing".to_owned(),
                Some(Value::String(text)) => format!("`{text}`, not a number"),
                Some(other) => format!("`{other}`, not a text"),
            };
            wrong(format!("`{key}` of the WRED profile is {is}"))
        })
    };
    // Newer models have separate thresholds for marks and for drops.
    let (prefix, share) = if fields.contains_key("ecn_green_min_threshold") {
        ("ecn_green", "ecn_green_mark_probability")
    } else {
        ("green", "green_drop_probability")
    };
    let min = number(&format!("{prefix}_min_threshold"), None)?;
    let max = number(&format!("{prefix}_max_threshold"), None)?;
    let percent = number(share, Some(100))?;
    if max < min {
        return Err(wrong("the maximum is below the minimum".to_owned()));
    }
    let percent = u32::try_from(percent).ok().filter(|&percent| percent <= 100);
    let Some(percent) = percent else {
        return Err(wrong(format!("`{share}` is above 100 percent")));
    };
    Ok(Marking::Length(Ramp {
        min: Bytes(min),
        max: Bytes(max),
        probability: Ratio::new(percent, 100).expect("100 is not zero"),
    }))
}
