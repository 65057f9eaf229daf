//! A fragment as a JSON patch of a running configuration: the smallest that has the effect, and none that
//! protects less without being told to.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::config_db::{ConfigDb, OF_QUEUES, Place, places, priorities, reference, text};

/// A patch, and what it does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The operations as a file.
    pub text: String,
    /// What it adds, changes and removes, a line for each table.
    pub summary: Vec<String>,
    /// What stays as it is because the plan's value protects less.
    pub kept: Vec<String>,
    /// What it takes away of the protection that the switch has.
    pub reductions: Vec<String>,
}

/// A fragment as a patch of a running configuration: what is missing there or differs. Without one, every
/// row, for a switch that has each table. Larger protection stays unless `allow_reduction`; `unmarked` are
/// the queues that the plan does not mark.
pub fn patch(
    fragment: &str,
    current: Option<&Value>,
    unmarked: &BTreeSet<Place>,
    allow_reduction: bool,
) -> Patch {
    let tables: Map<String, Value> =
        serde_json::from_str(fragment).expect("the fragment was written here");
    let before = current.cloned().unwrap_or_else(|| json!({}));
    let mut draft = Draft {
        operations: Vec::new(),
        after: before.clone(),
        kept: BTreeMap::new(),
        allow_reduction,
    };
    if current.is_none() {
        for (table, rows) in &tables {
            draft.after[table] = json!({});
            for (row, value) in rows.as_object().expect("a table has rows") {
                draft.set(&[table, row], value);
            }
        }
    } else {
        let mut tables = tables;
        let later = marks(&mut tables, &before, &mut draft);
        let raised = headroom(&mut tables, &before, &mut draft);
        priority_maps(&mut tables, &before);
        for (table, rows) in &tables {
            let rows = rows.as_object().expect("a table has rows");
            if OF_QUEUES.contains(&table.as_str()) {
                draft.of_queues(table, rows);
            } else {
                draft.rows(table, rows);
            }
        }
        if allow_reduction {
            draft.unmark(unmarked);
        }
        for (path, value) in later.iter().chain(&raised) {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            draft.set(&path, value);
        }
    }
    let text = serde_json::to_string_pretty(&draft.operations);
    Patch {
        text: text.expect("texts and maps can always be written") + "\n",
        summary: summary(&draft.operations),
        reductions: reductions(&before, &draft.after),
        kept: with_rows(draft.kept),
    }
}

/// A value that is set after everything else, by its path.
type Later = Vec<(Vec<String>, Value)>;

/// Where a queue or priority group goes: a profile, by content.
type Wanted<'a> = BTreeMap<Place, (&'a str, &'a Value)>;

/// Chooses for each queue between the profile that it has, changed in place, and one of the fragment. A
/// profile is changed in place for the largest group of its queues that want the same, if the plan has a word for all of
/// them. Returns the changes in place.
fn marks(tables: &mut Map<String, Value>, before: &Value, draft: &mut Draft) -> Later {
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
    // The name of the profile that each queue gets, and what that must be.
    let mut names: BTreeMap<Place, String> = BTreeMap::new();
    let mut in_place: Later = Vec::new();
    // Queues that want the same need one profile only.
    let mut contents: Vec<(&Value, String)> = Vec::new();
    for (profile, users) in &users {
        let Some(there) = db.row("WRED_PROFILE", profile) else {
            continue;
        };
        let mut groups: Vec<(&Value, Vec<&Place>)> = Vec::new();
        let mut are_all_planned = true;
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
        let same = groups.iter().position(|(content, _)| has(there, content));
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
    let has_brackets = db
        .rows("QUEUE")
        .any(|(_, row)| text(row, "wred_profile").is_some_and(|text| text.starts_with('[')));
    for (place, name) in &names {
        let row = &mut queues[format!("{}|{}", place.0, place.1)];
        row["wred_profile"] = if has_brackets {
            format!("[WRED_PROFILE|{name}]").into()
        } else {
            name.clone().into()
        };
    }
    // Profiles come before the queues that refer to them.
    draft.rows("WRED_PROFILE", &needed);
    tables.remove("WRED_PROFILE");
    tables.insert("QUEUE".into(), queues);
    in_place
}

/// The name of a new profile: that of the fragment, unless queues have one of this name.
fn free_name(name: &str, users: &BTreeMap<&str, Vec<Place>>) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut names = [name.to_owned()].into_iter().chain(numbered);
    let free = names.find(|name| !users.contains_key(name.as_str()));
    free.expect("there are more numbers than profiles")
}

/// Keeps the headroom that lossless priority groups have if it is larger, and raises that of a profile in
/// place if all that use it want the same. Returns what is raised.
fn headroom(tables: &mut Map<String, Value>, before: &Value, draft: &mut Draft) -> Later {
    let (Some(profiles), Some(groups)) = (tables.get("BUFFER_PROFILE"), tables.get("BUFFER_PG"))
    else {
        return Vec::new();
    };
    let (mut profiles, mut groups) = (profiles.clone(), groups.clone());
    let db = ConfigDb::new(before);
    let mut raised: Later = Vec::new();
    let wanted: BTreeMap<Place, u64> = groups
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, row)| {
            let profile = profiles.get(text(row, "profile")?)?;
            Some((places(key).next()?, text(profile, "xoff")?.parse().ok()?))
        })
        .collect();
    for (place, &xoff) in &wanted {
        let Some(profile) = db.profile_of("BUFFER_PG", &place.0, place.1) else {
            continue;
        };
        let Some(there) = db.of_profile(profile, "xoff") else {
            continue;
        };
        let key = format!("{}|{}", place.0, place.1);
        if there >= xoff && !draft.allow_reduction {
            draft.keep(
                there > xoff,
                format!("xoff of `{profile}` stays {there} B; the plan has {xoff} B"),
                &place.0,
            );
            groups.as_object_mut().map(|rows| rows.remove(&key));
            continue;
        }
        let users = db
            .places("BUFFER_PG")
            .filter(|(user, _)| db.profile_of("BUFFER_PG", &user.0, user.1) == Some(profile));
        let mut users = users.map(|(user, _)| wanted.get(user).copied());
        if users.all(|wants| wants.is_none_or(|wants| wants == xoff)) {
            let path = ["BUFFER_PROFILE", profile, "xoff"]
                .map(str::to_owned)
                .to_vec();
            let change = (path, Value::from(xoff.to_string()));
            if !raised.contains(&change) {
                raised.push(change);
            }
            groups.as_object_mut().map(|rows| rows.remove(&key));
        }
    }
    let used: BTreeSet<String> = groups
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(_, row)| text(row, "profile").map(str::to_owned))
        .collect();
    if let Some(profiles) = profiles.as_object_mut() {
        profiles.retain(|name, row| row.get("xoff").is_none() || used.contains(name));
    }
    tables.insert("BUFFER_PROFILE".into(), profiles);
    tables.insert("BUFFER_PG".into(), groups);
    raised
}

/// Leaves the maps of priorities at ports where they lead each lossless queue to a group of its own number and
/// back: other priorities may depend on them.
fn priority_maps(tables: &mut Map<String, Value>, before: &Value) {
    let db = ConfigDb::new(before);
    let lossless: Vec<u8> = tables
        .get("MAP_PFC_PRIORITY_TO_QUEUE")
        .and_then(|maps| maps.as_object()?.values().next()?.as_object())
        .into_iter()
        .flatten()
        .filter_map(|(priority, _)| priority.parse().ok())
        .collect();
    let Some(ports) = tables
        .get_mut("PORT_QOS_MAP")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    let mut is_used = false;
    for (port, fields) in ports {
        let works = |queue: &u8| {
            db.group_of(port, *queue) == *queue && db.paused_queue(port, *queue) == Some(*queue)
        };
        let has_maps = ["tc_to_pg_map", "pfc_to_queue_map"]
            .iter()
            .all(|field| db.port_qos(port, field).is_some());
        let fields = fields
            .as_object_mut()
            .expect("a row of the fragment has fields");
        if has_maps && lossless.iter().all(works) {
            fields.remove("tc_to_pg_map");
            fields.remove("pfc_to_queue_map");
        } else {
            is_used |= fields.contains_key("tc_to_pg_map");
        }
    }
    if !is_used {
        tables.remove("TC_TO_PRIORITY_GROUP_MAP");
        tables.remove("MAP_PFC_PRIORITY_TO_QUEUE");
    }
}

/// Whether a row has all these fields.
fn has(row: &Value, fields: &Value) -> bool {
    let mut fields = fields.as_object().into_iter().flatten();
    fields.all(|(field, value)| row.get(field) == Some(value))
}

/// A patch in the making, beside the configuration that it leads to.
struct Draft {
    operations: Vec<Value>,
    after: Value,
    /// Rows by what stays in them.
    kept: BTreeMap<String, Vec<String>>,
    allow_reduction: bool,
}

impl Draft {
    /// Sets a value; its parent exists.
    fn set(&mut self, path: &[&str], value: &Value) {
        let (name, parents) = path.split_last().expect("a path has parts");
        let parent = parents
            .iter()
            .fold(&mut self.after, |at, part| &mut at[*part]);
        let there = parent.get(name).filter(|there| !there.is_null());
        if there == Some(value) {
            return;
        }
        let op = if there.is_some() { "replace" } else { "add" };
        parent[*name] = value.clone();
        self.operations
            .push(json!({ "op": op, "path": pointer(path), "value": value }));
    }

    fn remove(&mut self, path: &[&str]) {
        let (name, parents) = path.split_last().expect("a path has parts");
        let parent = parents
            .iter()
            .fold(&mut self.after, |at, part| &mut at[*part]);
        if parent
            .as_object_mut()
            .and_then(|parent| parent.remove(*name))
            .is_some()
        {
            self.operations
                .push(json!({ "op": "remove", "path": pointer(path) }));
        }
    }

    /// Notes what stays, and in which row.
    fn keep(&mut self, differs: bool, what: String, row: &str) {
        let rows = self.kept.entry(what).or_default();
        if differs && rows.last().is_none_or(|last| last != row) {
            rows.push(row.to_owned());
        }
    }

    /// Adds a table that is missing, as a whole: a switch has no empty ones. Returns whether it did.
    fn add_table(&mut self, table: &str, rows: &Map<String, Value>) -> bool {
        if rows.is_empty() || self.after[table].is_object() {
            return false;
        }
        self.set(&[table], &Value::Object(rows.clone()));
        true
    }

    /// Makes rows what they should be; fields that the fragment does not name stay.
    fn rows(&mut self, table: &str, rows: &Map<String, Value>) {
        if self.add_table(table, rows) {
            return;
        }
        for (row, fields) in rows {
            if !self.after[table][row].is_object() {
                self.set(&[table, row], fields);
                continue;
            }
            for (field, value) in fields.as_object().into_iter().flatten() {
                let there = text(&self.after[table][row], field).map(str::to_owned);
                let value = match (there, value.as_str()) {
                    (Some(there), Some(wanted)) if !self.allow_reduction => {
                        let kept = larger(table, field, &there, wanted);
                        let what =
                            format!("{field} of {table} stays {there}; the plan has {wanted}");
                        self.keep(kept == there && kept != wanted, what, row);
                        kept.into()
                    }
                    _ => value.clone(),
                };
                self.set(&[table, row, field], &value);
            }
            if table == "BUFFER_PROFILE" && fields.get("dynamic_th").is_some() {
                self.remove(&[table, row, "static_th"]);
            }
        }
    }

    /// Makes the rows of queues what they should be. A row that names several is taken apart only if they
    /// want different things: two rows must not speak of the same queue.
    fn of_queues(&mut self, table: &str, rows: &Map<String, Value>) {
        if self.add_table(table, rows) {
            return;
        }
        let mut wanted: BTreeMap<Place, &Value> = rows
            .iter()
            .filter_map(|(key, fields)| Some((places(key).next()?, fields)))
            .collect();
        let there = self.after[table].as_object().cloned().unwrap_or_default();
        for (key, row) in &there {
            let of_row: Vec<Place> = places(key).collect();
            let wants: Vec<Option<&Value>> = of_row
                .iter()
                .map(|place| wanted.remove(place).filter(|fields| !has(row, fields)))
                .collect();
            let Some(first) = wants.iter().flatten().next() else {
                continue;
            };
            if wants.iter().all(|fields| fields.as_ref() == Some(first)) {
                for (field, value) in first.as_object().into_iter().flatten() {
                    self.set(&[table, key, field], value);
                }
                continue;
            }
            self.remove(&[table, key]);
            for ((port, number), fields) in of_row.iter().zip(&wants) {
                let mut row = row.clone();
                for (field, value) in fields.and_then(Value::as_object).into_iter().flatten() {
                    row[field] = value.clone();
                }
                self.set(&[table, &format!("{port}|{number}")], &row);
            }
        }
        for ((port, number), fields) in wanted {
            self.set(&[table, &format!("{port}|{number}")], fields);
        }
    }

    /// Takes the marking profile away from queues that the plan does not mark.
    fn unmark(&mut self, unmarked: &BTreeSet<Place>) {
        let there = self.after["QUEUE"].as_object().cloned().unwrap_or_default();
        for (key, row) in &there {
            let of_row: Vec<Place> = places(key).collect();
            let is_marked = row.get("wred_profile").is_some();
            if !is_marked || !of_row.iter().any(|place| unmarked.contains(place)) {
                continue;
            }
            if of_row.iter().all(|place| unmarked.contains(place)) {
                self.remove(&["QUEUE", key, "wred_profile"]);
                continue;
            }
            self.remove(&["QUEUE", key]);
            for place in &of_row {
                let mut row = row.clone();
                if unmarked.contains(place) {
                    row.as_object_mut().map(|row| row.remove("wred_profile"));
                }
                self.set(&["QUEUE", &format!("{}|{}", place.0, place.1)], &row);
            }
        }
    }
}

/// The value of a field that protects more, where one of them does.
fn larger(table: &str, field: &str, there: &str, wanted: &str) -> String {
    let number = |text: &str| text.trim_end_matches('m').parse::<u64>().ok();
    match (table, field) {
        ("BUFFER_PROFILE" | "BUFFER_POOL", "xoff") | ("CABLE_LENGTH", _) => {
            let is_larger = number(there) >= number(wanted);
            if is_larger { there } else { wanted }.to_owned()
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

/// What a patch adds, changes and removes, a line for each table.
fn summary(operations: &[Value]) -> Vec<String> {
    let mut tables: BTreeMap<String, [BTreeSet<String>; 3]> = BTreeMap::new();
    for operation in operations {
        let path = text(operation, "path").unwrap_or_default();
        let mut parts = path.split('/').skip(1);
        let table = parts.next().unwrap_or_default().to_owned();
        let Some(row) = parts.next() else {
            continue;
        };
        let kind = match (text(operation, "op"), parts.next()) {
            (_, Some(_)) | (Some("replace"), None) => 1,
            (Some("remove"), None) => 2,
            _ => 0,
        };
        tables.entry(table).or_default()[kind].insert(row.to_owned());
    }
    let line = |(table, [added, changed, removed]): (String, [BTreeSet<String>; 3])| {
        let counts = [(added, "adds"), (changed, "changes"), (removed, "removes")];
        let counts = counts.iter().filter(|(rows, _)| !rows.is_empty());
        let counts: Vec<String> = counts
            .map(|(rows, verb)| match rows.len() {
                1 => format!("{verb} 1 row"),
                count => format!("{verb} {count} rows"),
            })
            .collect();
        format!("{table}: {}", counts.join(", "))
    };
    tables.into_iter().map(line).collect()
}

/// What a change of the configuration takes away: pauses, headroom, marks and lengths of cables.
pub(super) fn reductions(before: &Value, after: &Value) -> Vec<String> {
    let (old, new) = (ConfigDb::new(before), ConfigDb::new(after));
    let mut lost: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |what: String, port: &str| lost.entry(what).or_default().push(port.to_owned());
    for port in old.ports() {
        for priority in old.pfc_enable(port).difference(&new.pfc_enable(port)) {
            add(format!("PFC is switched off for priority {priority}"), port);
        }
    }
    for port in old.ports() {
        for point in 0..64 {
            let of = |db: &ConfigDb<'_>| db.queue_of(port, point);
            let Some(queue) = of(&old).filter(|queue| old.pfc_enable(port).contains(queue)) else {
                continue;
            };
            if of(&new).is_none_or(|queue| !new.pfc_enable(port).contains(&queue)) {
                add(format!("DSCP {point} leaves lossless queue {queue}"), port);
            }
        }
    }
    for (place, _) in old.places("BUFFER_PG") {
        let xoff = |db: &ConfigDb<'_>| {
            let profile = db.profile_of("BUFFER_PG", &place.0, place.1)?;
            db.of_profile(profile, "xoff")
        };
        if let Some(had) = xoff(&old) {
            match xoff(&new) {
                Some(has) if has >= had => {}
                Some(has) => {
                    let what = format!(
                        "headroom of priority group {} falls from {had} to {has} B",
                        place.1
                    );
                    add(what, &place.0);
                }
                None => add(
                    format!("priority group {} is no longer lossless", place.1),
                    &place.0,
                ),
            }
        }
    }
    for (place, _) in old.places("QUEUE") {
        let is_marked = |db: &ConfigDb<'_>| {
            let row = db.of("QUEUE", &place.0, place.1);
            let profile = row.and_then(|row| text(row, "wred_profile")).map(reference);
            profile.is_some_and(|profile| {
                let row = db.row("WRED_PROFILE", profile);
                row.and_then(|row| text(row, "ecn"))
                    .is_some_and(|ecn| ecn != "ecn_none")
            })
        };
        if is_marked(&old) && !is_marked(&new) {
            add(
                format!("queue {} loses its marking profile", place.1),
                &place.0,
            );
        }
    }
    for (pool, row) in old.rows("BUFFER_POOL") {
        let xoff = |row: &Value| text(row, "xoff")?.parse::<u64>().ok();
        let has = new.row("BUFFER_POOL", pool).and_then(xoff);
        if let Some(had) = xoff(row).filter(|&had| has < Some(had)) {
            add(
                format!("the shared headroom of `{pool}` falls below {had} B"),
                "",
            );
        }
    }
    for (name, row) in old.rows("CABLE_LENGTH") {
        for (port, length) in row.as_object().into_iter().flatten() {
            let metres =
                |length: &Value| length.as_str()?.trim_end_matches('m').parse::<u64>().ok();
            let has = new
                .row("CABLE_LENGTH", name)
                .and_then(|row| row.get(port))
                .and_then(metres);
            if metres(length) > has {
                add(
                    format!(
                        "the cable is set shorter than {}",
                        length.as_str().unwrap_or("")
                    ),
                    port,
                );
            }
        }
    }
    with_rows(lost)
}

/// Each text with the rows or ports that it is about.
fn with_rows(texts: BTreeMap<String, Vec<String>>) -> Vec<String> {
    let line = |(text, rows): (String, Vec<String>)| match rows.as_slice() {
        [] => None,
        [row] if row.is_empty() => Some(text),
        [row] => Some(format!("{text} ({row})")),
        [first, .., last] => Some(format!("{text} ({} rows: {first} to {last})", rows.len())),
    };
    texts.into_iter().filter_map(line).collect()
}

/// A JSON pointer (RFC 6901).
fn pointer(place: &[&str]) -> String {
    let part = |part: &&str| format!("/{}", part.replace('~', "~0").replace('/', "~1"));
    place.iter().map(part).collect()
}
