//! Choices of a patch: the switch's own rows that serve, and names for new ones.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Draft, has};
use crate::dialect::sonic::NAME;
use crate::dialect::sonic::config_db::{
    ConfigDb, Headroom, Place, places, priorities, reference, text,
};

/// A value that is set after everything else, by its path.
pub(super) type Later = Vec<(Vec<String>, Value)>;

/// Profile that each queue needs: its name in the fragment and its content.
type Wanted<'a> = BTreeMap<Place, (&'a str, &'a Value)>;

/// Chooses for each queue between its current profile, changed in place, and a profile of the
/// fragment. A profile is changed in place for the largest group of its queues with the same
/// thresholds, if the plan covers all queues that use it. Returns the changes in place.
pub(super) fn marks(tables: &mut Map<String, Value>, before: &Value, draft: &mut Draft) -> Later {
    let (Some(profiles), Some(queues)) = (tables.get("WRED_PROFILE"), tables.get("QUEUE")) else {
        return Vec::new();
    };
    let (profiles, mut queues) = (profiles.clone(), queues.clone());
    let wanted: Wanted<'_> = queues
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, row)| {
            let name = text(row, "wred_profile")?;
            Some((places(key).next()?, (name, profiles.get(name)?)))
        })
        .collect();
    let db = ConfigDb::new(before);
    let mut users: BTreeMap<&str, Vec<Place>> = BTreeMap::new();
    for (place, key) in db.places("QUEUE") {
        let row = db.row("QUEUE", key);
        let profile = row.and_then(|row| text(row, "wred_profile"));
        if let Some(profile) = profile.map(reference) {
            users.entry(profile).or_default().push(place.clone());
        }
    }
    // A row whose queues cannot be read uses its profile too.
    for (key, row) in db.rows("QUEUE") {
        if let Some(profile) = text(row, "wred_profile").map(reference)
            && places(key).next().is_none()
        {
            users.entry(profile).or_default().push((key.to_owned(), u8::MAX));
        }
    }
    // Name of the profile of each queue.
    let mut names: BTreeMap<Place, String> = BTreeMap::new();
    let mut in_place: Later = Vec::new();
    // Queues with the same thresholds share one profile.
    let mut contents: Vec<(&Value, String)> = Vec::new();
    for (profile, users) in &users {
        let Some(there) = db.row("WRED_PROFILE", profile) else {
            continue;
        };
        let mut groups: Vec<(&Value, Vec<&Place>)> = Vec::new();
        // The plan does not set profiles with separate thresholds for marks and for drops.
        let is_plain = there.get("ecn_green_min_threshold").is_none();
        let mut are_all_planned = is_plain;
        for place in users {
            let Some((_, content)) = wanted.get(place) else {
                are_all_planned = false;
                continue;
            };
            match groups.iter_mut().find(|(of, _)| of == content) {
                Some((_, group)) => group.push(place),
                None => groups.push((content, vec![place])),
            }
        }
        let same = groups.iter().position(|(content, _)| is_plain && has(there, content));
        let largest = (0..groups.len()).rev().max_by_key(|&i| groups[i].1.len());
        let stays = same.or(largest.filter(|_| are_all_planned));
        let Some((content, group)) = stays.map(|i| &groups[i]) else {
            continue;
        };
        for place in group {
            names.insert((*place).clone(), (*profile).to_owned());
        }
        if !contents.iter().any(|(of, _)| of == content) {
            contents.push((*content, (*profile).to_owned()));
        }
        let fields = content.as_object().into_iter().flatten();
        for (field, value) in fields.filter(|(field, value)| there.get(*field) != Some(*value)) {
            let path = ["WRED_PROFILE", profile, field].map(str::to_owned);
            in_place.push((path.to_vec(), value.clone()));
        }
    }
    let mut needed = Map::new();
    for (place, (name, content)) in &wanted {
        if names.contains_key(place) {
            continue;
        }
        let known = contents.iter().find(|(of, _)| of == content);
        let name = match known {
            Some((_, name)) => name.clone(),
            None => {
                let name = free_name(name, &users);
                contents.push((content, name.clone()));
                needed.insert(name.clone(), (*content).clone());
                name
            }
        };
        names.insert(place.clone(), name);
    }
    for (place, name) in &names {
        queues[format!("{}|{}", place.0, place.1)]["wred_profile"] = name.clone().into();
    }
    // Profiles come before the queues that refer to them.
    draft.rows("WRED_PROFILE", &needed);
    tables.remove("WRED_PROFILE");
    tables.insert("QUEUE".into(), queues);
    in_place
}

/// Name of a new profile: the fragment's, unless queues use a profile of this name.
fn free_name(name: &str, users: &BTreeMap<&str, Vec<Place>>) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut names = [name.to_owned()].into_iter().chain(numbered);
    let free = names.find(|name| !users.contains_key(name.as_str()));
    free.expect("there are more numbers than profiles")
}

/// Keeps the headroom of lossless priority groups if it is larger or computed by the switch. Raises
/// a profile in place if all its groups need the same headroom. Returns the raised values.
pub(super) fn headroom(
    tables: &mut Map<String, Value>,
    before: &Value,
    draft: &mut Draft,
) -> Later {
    let (Some(profiles), Some(groups)) = (tables.get("BUFFER_PROFILE"), tables.get("BUFFER_PG"))
    else {
        return Vec::new();
    };
    let (mut profiles, groups) = (profiles.clone(), groups.clone());
    let db = ConfigDb::new(before);
    let mut rows = groups.as_object().cloned().unwrap_or_default();
    let wanted: BTreeMap<Place, Option<u64>> = rows
        .iter()
        .filter_map(|(key, row)| {
            let profile = profiles.get(text(row, "profile")?)?;
            let xoff = text(profile, "xoff").and_then(|xoff| xoff.parse().ok());
            Some((places(key).next()?, xoff))
        })
        .collect();
    // The headrooms that the groups of each profile want.
    let mut users: BTreeMap<&str, BTreeSet<Option<u64>>> = BTreeMap::new();
    for (place, _) in db.places("BUFFER_PG") {
        if let Some(profile) = db.profile_of("BUFFER_PG", &place.0, place.1) {
            let wants = wanted.get(place).copied().flatten();
            users.entry(profile).or_default().insert(wants);
        }
    }
    let mut raised: Later = Vec::new();
    for (place, &xoff) in &wanted {
        let key = format!("{}|{}", place.0, place.1);
        let there = match db.lossless_group(&place.0, place.1) {
            None => continue,
            // Headroom computed by the switch stays, and a lossless group does not become lossy.
            Some(Headroom::OfSwitch) => {
                let what = format!("the headroom of priority group {} stays the switch's", place.1);
                draft.keep(xoff.is_some(), what, &place.0);
                rows.remove(&key);
                continue;
            }
            Some(Headroom::Bytes(there)) => there,
        };
        let Some(xoff) = xoff else {
            let what = format!("priority group {} stays lossless", place.1);
            draft.keep(true, what, &place.0);
            rows.remove(&key);
            continue;
        };
        let Some(profile) = db.profile_of("BUFFER_PG", &place.0, place.1) else {
            continue;
        };
        if there >= xoff && !draft.allow_reduction {
            let what = format!("xoff of `{profile}` stays {there} B; the plan has {xoff} B");
            draft.keep(there > xoff, what, &place.0);
            rows.remove(&key);
            continue;
        }
        let others = users.get(profile).into_iter().flatten();
        if others.flatten().all(|&wants| wants == xoff) {
            let path = ["BUFFER_PROFILE", profile, "xoff"].map(str::to_owned).to_vec();
            let change = (path, Value::from(xoff.to_string()));
            if !raised.contains(&change) {
                raised.push(change);
            }
            rows.remove(&key);
        }
    }
    rename_headroom(&db, &mut profiles, &mut rows);
    let used: BTreeSet<&str> = rows.values().filter_map(|row| text(row, "profile")).collect();
    if let Some(profiles) = profiles.as_object_mut() {
        profiles.retain(|name, row| row.get("xoff").is_none() || used.contains(name.as_str()));
    }
    tables.insert("BUFFER_PROFILE".into(), profiles);
    tables.insert("BUFFER_PG".into(), Value::Object(rows));
    leave_pools(&db, tables);
    raised
}

/// Removes shared headroom from pools that have none today: the groups of other queues would get no
/// part of it.
fn leave_pools(db: &ConfigDb<'_>, tables: &mut Map<String, Value>) {
    if let Some(pools) = tables.get_mut("BUFFER_POOL").and_then(Value::as_object_mut) {
        for (name, row) in pools {
            let there = db.row("BUFFER_POOL", name);
            if there.is_some_and(|there| there.get("xoff").is_none()) {
                row.as_object_mut().map(|row| row.remove("xoff"));
            }
        }
    }
}

/// Renames the fragment's headroom profiles where the switch has another headroom under the name.
fn rename_headroom(db: &ConfigDb<'_>, profiles: &mut Value, rows: &mut Map<String, Value>) {
    let taken = |name: &str, xoff: &Value| {
        db.row("BUFFER_PROFILE", name).is_some_and(|there| there.get("xoff") != Some(xoff))
    };
    let names: Vec<(String, String)> = profiles
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, row)| {
            let xoff = row.get("xoff")?;
            let numbered = (2..).map(|number| format!("{name}_{number}"));
            let mut names = [name.clone()].into_iter().chain(numbered);
            Some((name.clone(), names.find(|name| !taken(name, xoff))?))
        })
        .collect();
    for (old, new) in names.iter().filter(|(old, new)| old != new) {
        let profile = profiles.as_object_mut().and_then(|rows| rows.remove(old));
        profiles[new] = profile.unwrap_or_default();
        for row in rows.values_mut().filter(|row| text(row, "profile") == Some(old)) {
            row["profile"] = new.clone().into();
        }
    }
}

/// Chooses the priority maps of each port: the current ones if they lead each lossless queue to the
/// group of its own number and back, else the same with the missing entries.
pub(super) fn priority_maps(tables: &mut Map<String, Value>, before: &Value) {
    let maps = [
        ("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"),
        ("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE"),
    ];
    let db = ConfigDb::new(before);
    // If the fragment has its own classes, class n leads to queue n.
    let has_classes = tables.contains_key("TC_TO_QUEUE_MAP");
    for (field, table) in maps {
        let Some(ours) = tables.remove(table) else {
            continue;
        };
        let ours = ours.as_object().and_then(|maps| maps.values().next()).cloned();
        let ours = ours.unwrap_or_default();
        let Some(ports) = tables.get_mut("PORT_QOS_MAP").and_then(Value::as_object_mut) else {
            continue;
        };
        let mut contents: Vec<(Value, String)> = Vec::new();
        for (port, fields) in ports {
            let fields = fields.as_object_mut().expect("a row of the fragment has fields");
            let enabled = text(&Value::Object(fields.clone()), "pfc_enable").map(priorities);
            let planned = enabled.unwrap_or_default();
            let old = db.port_qos(port, field);
            let there = old.and_then(|name| db.row(table, name));
            let class = |queue: u8| {
                if has_classes { queue } else { db.class_of(port, queue) }
            };
            let key = |queue: u8| {
                if field == "tc_to_pg_map" { class(queue) } else { queue }
            };
            let leads = |map: &Value, queue: u8| {
                text(map, &key(queue).to_string()).is_some_and(|to| to.parse() == Ok(queue))
            };
            if let Some(there) = there
                && planned.iter().all(|&queue| leads(there, queue))
            {
                fields.remove(field);
                continue;
            }
            let mut merged = there.cloned().unwrap_or_else(|| ours.clone());
            for priority in planned.union(&db.pfc_enable(port)) {
                let number = key(*priority).to_string();
                if planned.contains(priority) || merged.get(&number).is_none() {
                    merged[number] = priority.to_string().into();
                }
            }
            let known = contents.iter().find(|(of, _)| *of == merged);
            let name = match known {
                Some((_, name)) => name.clone(),
                None => {
                    let name = free_map(&db, table, &merged, contents.len());
                    contents.push((merged, name.clone()));
                    name
                }
            };
            fields.insert(field.to_owned(), name.into());
        }
        let rows = contents.into_iter().map(|(content, name)| (name, content));
        let rows: Map<String, Value> = rows.collect();
        if !rows.is_empty() {
            tables.insert(table.to_owned(), Value::Object(rows));
        }
    }
}

/// Name of a map with this content: an existing one, or a new one.
fn free_map(db: &ConfigDb<'_>, table: &str, content: &Value, others: usize) -> String {
    if let Some((name, _)) = db.rows(table).find(|(_, row)| *row == content) {
        return name.to_owned();
    }
    let numbered = (others + 1..).map(|number| match number {
        1 => NAME.to_owned(),
        number => format!("{NAME}_{number}"),
    });
    let mut free = numbered.filter(|name| db.row(table, name).is_none());
    free.next().expect("there are more numbers than maps")
}

/// Moves cable lengths to the rows that have the ports.
pub(super) fn cables(tables: &mut Map<String, Value>, before: &Value) {
    let db = ConfigDb::new(before);
    let Some(lengths) = tables.get("CABLE_LENGTH").and_then(Value::as_object) else {
        return;
    };
    let usual = db.rows("CABLE_LENGTH").next().map(|(name, _)| name.to_owned());
    let mut rows: Map<String, Value> = Map::new();
    for (name, ports) in lengths {
        for (port, length) in ports.as_object().into_iter().flatten() {
            let has_port = |(_, row): &(&str, &Value)| row.get(port).is_some();
            let mut owners: Vec<&str> =
                db.rows("CABLE_LENGTH").filter(has_port).map(|(owner, _)| owner).collect();
            if owners.is_empty() {
                owners.push(usual.as_deref().unwrap_or(name));
            }
            for owner in owners {
                let row = rows.entry(owner).or_insert_with(|| Value::Object(Map::new()));
                row[port] = length.clone();
            }
        }
    }
    tables.insert("CABLE_LENGTH".into(), Value::Object(rows));
}

/// Fields that refer to rows of other tables.
const REFERENCES: [(&str, &str); 7] = [
    ("profile", "BUFFER_PROFILE"),
    ("pool", "BUFFER_POOL"),
    ("scheduler", "SCHEDULER"),
    ("wred_profile", "WRED_PROFILE"),
    ("dscp_to_tc_map", "DSCP_TO_TC_MAP"),
    ("tc_to_queue_map", "TC_TO_QUEUE_MAP"),
    ("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"),
];

/// Writes references in the switch's form: older versions have `[TABLE|NAME]`.
pub(super) fn references(tables: &mut Map<String, Value>, before: &Value) {
    let db = ConfigDb::new(before);
    let is_bracketed = |table: &str, field: &str| {
        let mut rows = db.rows(table);
        rows.any(|(_, row)| text(row, field).is_some_and(|text| text.starts_with('[')))
    };
    for (table, rows) in tables.iter_mut() {
        let fields =
            REFERENCES.into_iter().chain([("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE")]);
        for (field, target) in fields.filter(|(field, _)| is_bracketed(table, field)) {
            for row in rows.as_object_mut().into_iter().flat_map(Map::values_mut) {
                if let Some(name) = text(row, field).map(reference) {
                    row[field] = format!("[{target}|{name}]").into();
                }
            }
        }
    }
}
