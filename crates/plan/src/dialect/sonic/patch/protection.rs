//! Protection of a configuration: reductions by a change, and the larger of two values.

use std::collections::BTreeMap;

use serde_json::Value;

use super::with_rows;
use crate::dialect::sonic::config_db::{ConfigDb, Headroom, metres, priorities, reference, text};

/// The value of a field that protects more, where one of them does.
pub(super) fn larger(table: &str, field: &str, there: &str, wanted: &str) -> String {
    match (table, field) {
        ("BUFFER_PROFILE" | "BUFFER_POOL", "xoff") => {
            let number = |text: &str| text.parse::<u64>().ok();
            // An unreadable value is not replaced.
            let is_larger = number(there).is_none_or(|there| Some(there) >= number(wanted));
            if is_larger { there } else { wanted }.to_owned()
        }
        ("CABLE_LENGTH", _) => {
            let is_longer = metres(there).is_none_or(|there| Some(there) >= metres(wanted));
            if is_longer { there } else { wanted }.to_owned()
        }
        ("PORT_QOS_MAP", "pfc_enable") => {
            let (there_set, wanted_set) = (priorities(there), priorities(wanted));
            if there_set.is_superset(&wanted_set) {
                return there.to_owned();
            }
            let union: Vec<String> = there_set.union(&wanted_set).map(u8::to_string).collect();
            union.join(",")
        }
        _ => wanted.to_owned(),
    }
}

/// Protection that a change reduces: pauses, headroom, marks and cable lengths.
pub(super) fn reductions(before: &Value, after: &Value) -> Vec<String> {
    let (old, new) = (ConfigDb::new(before), ConfigDb::new(after));
    let mut lost: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |what: String, port: &str| lost.entry(what).or_default().push(port.to_owned());
    for port in old.ports() {
        let enabled = old.pfc_enable(port);
        for &priority in &enabled {
            if !new.pfc_enable(port).contains(&priority) {
                add(format!("PFC is switched off for priority {priority}"), port);
            } else if old.paused_queue(port, priority) != new.paused_queue(port, priority) {
                add(format!("a pause of priority {priority} stops another queue"), port);
            }
        }
        for point in 0..64 {
            // A code point is protected if its queue is paused and its group has headroom.
            let queue = old.queue_of(port, point);
            let Some(queue) = queue.filter(|queue| enabled.contains(queue)) else {
                continue;
            };
            let is_lossless = |db: &ConfigDb<'_>| {
                let group = db.group_of_point(port, point);
                group.is_some_and(|group| db.lossless_group(port, group).is_some())
            };
            if new.queue_of(port, point) != Some(queue) {
                add(format!("DSCP {point} leaves lossless queue {queue}"), port);
            } else if is_lossless(&old) && !is_lossless(&new) {
                add(format!("DSCP {point} leaves its lossless priority group"), port);
            }
        }
    }
    for (place, _) in old.places("BUFFER_PG") {
        let (port, group) = (place.0.as_str(), place.1);
        let Some(had) = old.lossless_group(port, group) else {
            continue;
        };
        match (had, new.lossless_group(port, group)) {
            (_, None) => add(format!("priority group {group} is no longer lossless"), port),
            (Headroom::Bytes(had), Some(Headroom::Bytes(has))) if has < had => {
                let what =
                    format!("headroom of priority group {group} falls from {had} to {has} B");
                add(what, port);
            }
            _ => {}
        }
    }
    for (place, _) in old.places("QUEUE") {
        let is_marked = |db: &ConfigDb<'_>| {
            let row = db.of("QUEUE", &place.0, place.1);
            let profile = row.and_then(|row| text(row, "wred_profile")).map(reference);
            profile.is_some_and(|profile| {
                let row = db.row("WRED_PROFILE", profile);
                row.and_then(|row| text(row, "ecn")).is_some_and(|ecn| ecn != "ecn_none")
            })
        };
        if is_marked(&old) && !is_marked(&new) {
            add(format!("queue {} loses its marking profile", place.1), &place.0);
        }
    }
    for (pool, row) in old.rows("BUFFER_POOL") {
        let xoff = |row: &Value| text(row, "xoff")?.parse::<u64>().ok();
        let has = new.row("BUFFER_POOL", pool).and_then(xoff);
        if let Some(had) = xoff(row).filter(|&had| has < Some(had)) {
            add(format!("the shared headroom of `{pool}` falls below {had} B"), "");
        }
    }
    for port in old.ports() {
        let shortest = |db: &ConfigDb<'_>| db.cables(port).map(|(_, length)| metres(length)).min();
        if shortest(&new) < shortest(&old) {
            add("the cable is set shorter".to_owned(), port);
        }
    }
    with_rows(lost)
}
