//! SONiC's `config_db.json`.

use serde_json::{Map, Value};
use tidegate_scenario::Problem;
use tidegate_units::{Bytes, Rate, Ratio};

use super::{Current, Setting, add, speed_by_place};
use crate::dialect::{alpha_of_exponent, sonic};
use crate::marking::{Marking, Ramp};
use crate::network::Network;

pub(super) fn read(name: &str, text: &str, network: &Network) -> Result<Current, Problem> {
    let tables: Value = serde_json::from_str(text).map_err(|error| {
        let at = place(text, error.line(), error.column());
        Problem::in_text(name, text, at..at + 1, format!("this is no JSON: {error}"))
            .help("a config_db.json, as `show runningconfiguration all` prints it")
    })?;
    let rows = |table: &str| tables[table].as_object();
    // A switch that marks nothing has no profiles, and one that was never configured no queues.
    let none = Map::new();
    let is_switch = || rows("PORT").or(rows("DEVICE_METADATA")).is_some();
    let Some(queues) = rows("QUEUE").or_else(|| is_switch().then_some(&none)) else {
        let message = "this is no config_db.json with queues";
        return Err(Problem::in_text(name, text, 0..1, message).help("it has a table QUEUE"));
    };
    let profiles = rows("WRED_PROFILE").unwrap_or(&none);
    let mut current = Current {
        source: name.to_owned(),
        settings: Vec::new(),
        notes: Vec::new(),
        tables: None,
    };
    for (key, row) in queues {
        let Some((ports, numbers)) = key.rsplit_once('|') else {
            current.notes.push(format!("QUEUE `{key}` names no queue"));
            continue;
        };
        let profile = row["wred_profile"].as_str().map(reference);
        for port in ports.split(',') {
            let speed = speed(&tables, network, port.rsplit('|').next().unwrap_or(port));
            if speed.is_none() {
                current
                    .notes
                    .push(format!("the speed of `{port}` is not known"));
            }
            for queue in sonic::numbers(numbers) {
                let (marking, profile) = match profile {
                    None => (Marking::Off, "no wred_profile"),
                    Some(profile) => match profiles.get(profile) {
                        Some(fields) => (marking(name, text, profile, fields)?, profile),
                        None => {
                            let absent = format!("there is no WRED_PROFILE `{profile}`");
                            current.notes.push(absent);
                            (Marking::Off, profile)
                        }
                    },
                };
                add(
                    &mut current.settings,
                    Setting {
                        queue: Some(queue),
                        speed,
                        ports: 1,
                        marking,
                        alpha: alpha(&tables, port, queue),
                        name: profile.to_owned(),
                    },
                );
            }
        }
    }
    let used = |profile: &str| {
        let mut references = queues
            .values()
            .filter_map(|row| row["wred_profile"].as_str());
        references.any(|text| reference(text) == profile)
    };
    let unused = profiles.keys().filter(|profile| !used(profile));
    let notes = unused.map(|profile| format!("no queue uses the WRED_PROFILE `{profile}`"));
    current.notes.extend(notes);
    current.notes.sort();
    current.notes.dedup();
    current.tables = Some(tables);
    Ok(current)
}

/// The byte at a line and a column, both from one.
fn place(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(line.max(1) - 1)
        .map(str::len)
        .sum();
    (before + column.max(1) - 1).min(text.len())
}

/// The name in a reference: older files have `[TABLE|NAME]`.
fn reference(text: &str) -> &str {
    let inner = text.trim_matches(['[', ']']);
    inner.rsplit('|').next().unwrap_or(inner)
}

/// The speed of a port in `PORT`; else by its name, as emitted here.
fn speed(tables: &Value, network: &Network, port: &str) -> Option<Rate> {
    let megabits = tables["PORT"][port]["speed"]
        .as_str()
        .and_then(|text| text.parse::<u64>().ok());
    if let Some(megabits) = megabits {
        return Rate::from_bps(megabits.saturating_mul(1_000_000));
    }
    speed_by_place(network, sonic::number_of(network, port))
}

/// The factor of the dynamic threshold of a queue.
fn alpha(tables: &Value, port: &str, queue: u8) -> Option<Ratio> {
    let rows = tables["BUFFER_QUEUE"].as_object()?;
    let is_of = |key: &str| {
        key.rsplit_once('|').is_some_and(|(ports, numbers)| {
            ports.split(',').any(|of| of == port) && sonic::numbers(numbers).contains(&queue)
        })
    };
    let row = rows.iter().find(|(key, _)| is_of(key))?.1;
    let profile = reference(row["profile"].as_str()?);
    let exponent: i32 = tables["BUFFER_PROFILE"][profile]["dynamic_th"]
        .as_str()?
        .parse()
        .ok()?;
    (-8..=7)
        .contains(&exponent)
        .then(|| alpha_of_exponent(exponent))
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
        // The row itself, below the table; not who refers to it.
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
                Some(Value::String(text)) => format!("`{text}`, and no number"),
                Some(other) => format!("`{other}`, and no text"),
            };
            wrong(format!("`{key}` of the WRED profile is {is}"))
        })
    };
    // Newer models have thresholds for marks apart from those for drops.
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
    let percent = u32::try_from(percent)
        .ok()
        .filter(|&percent| percent <= 100);
    let Some(percent) = percent else {
        return Err(wrong(format!("`{share}` is above 100 percent")));
    };
    Ok(Marking::Length(Ramp {
        min: Bytes(min),
        max: Bytes(max),
        probability: Ratio::new(percent, 100).expect("100 is not zero"),
    }))
}
