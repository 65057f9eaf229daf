//! The rules of SONiC's YANG models for the tables that are emitted.

use serde_json::{Map, Value};

/// Faults of a `config_db.json` fragment.
pub(crate) fn faults(text: &str) -> Vec<String> {
    let Ok(Value::Object(tables)) = serde_json::from_str(text) else {
        return vec!["no JSON object".to_owned()];
    };
    let mut check = Check { tables: &tables, faults: Vec::new() };
    for (table, rows) in &tables {
        let Some(rows) = rows.as_object() else {
            check.faults.push(format!("{table} is no table"));
            continue;
        };
        for (row, fields) in rows {
            let place = format!("{table}|{row}");
            let Some(fields) = fields.as_object() else {
                check.faults.push(format!("{place} has no fields"));
                continue;
            };
            if fields.values().any(|value| !value.is_string()) {
                check.faults.push(format!("{place} has a value that is no text"));
            }
            check.row(table, row, fields);
        }
    }
    check.faults
}

struct Check<'a> {
    tables: &'a Map<String, Value>,
    faults: Vec<String>,
}

impl Check<'_> {
    fn row(&mut self, table: &str, row: &str, fields: &Map<String, Value>) {
        match table {
            "WRED_PROFILE" => self.profile(row, fields),
            "SCHEDULER" => {
                let kind = word(fields, "type");
                self.expect(["DWRR", "WRR", "STRICT"].contains(&kind), row, "type");
                if kind != "STRICT" {
                    self.number(row, fields, "weight", 1..=100);
                }
            }
            "QUEUE" => {
                if fields.contains_key("scheduler") {
                    self.reference(row, fields, "scheduler", "SCHEDULER");
                }
                if fields.contains_key("wred_profile") {
                    self.reference(row, fields, "wred_profile", "WRED_PROFILE");
                }
                self.key(row);
            }
            "BUFFER_POOL" => {
                self.number(row, fields, "size", 0..=i64::MAX);
                let kind = word(fields, "type");
                self.expect(["ingress", "egress", "both"].contains(&kind), row, "type");
            }
            "BUFFER_PROFILE" => {
                self.reference(row, fields, "pool", "BUFFER_POOL");
                self.number(row, fields, "size", 0..=i64::MAX);
                self.number(row, fields, "dynamic_th", -8..=7);
            }
            "BUFFER_QUEUE" | "BUFFER_PG" => {
                self.reference(row, fields, "profile", "BUFFER_PROFILE");
                self.key(row);
            }
            "DSCP_TO_TC_MAP" => {
                self.expect(fields.len() == 64, row, "64 code points");
                for key in fields.keys() {
                    self.number(row, fields, key, 0..=7);
                }
            }
            "PORT_QOS_MAP" => {
                let maps = [
                    ("dscp_to_tc_map", "DSCP_TO_TC_MAP"),
                    ("tc_to_queue_map", "TC_TO_QUEUE_MAP"),
                    ("tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP"),
                    ("pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE"),
                ];
                for (field, table) in maps {
                    if fields.contains_key(field) {
                        self.reference(row, fields, field, table);
                    }
                }
            }
            "TC_TO_QUEUE_MAP" | "TC_TO_PRIORITY_GROUP_MAP" | "MAP_PFC_PRIORITY_TO_QUEUE" => {
                for key in fields.keys() {
                    self.number(row, fields, key, 0..=7);
                }
            }
            "CABLE_LENGTH" => {
                for (port, length) in fields {
                    let metres = length.as_str().and_then(|text| text.strip_suffix('m'));
                    let is_length = metres.is_some_and(|text| text.parse::<u32>().is_ok());
                    self.expect(port.starts_with("Ethernet") && is_length, row, "length");
                }
            }
            "FLEX_COUNTER_TABLE" => {
                let on = word(fields, "FLEX_COUNTER_STATUS") == "enable";
                self.expect(on, row, "FLEX_COUNTER_STATUS");
            }
            _ => self.faults.push(format!("there is no table {table}")),
        }
    }

    fn profile(&mut self, row: &str, fields: &Map<String, Value>) {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let begins = row.starts_with(|c: char| c.is_ascii_alphanumeric());
        self.expect(begins && row.len() <= 32 && row.chars().all(fits), row, "name");
        self.expect(word(fields, "ecn") == "ecn_all", row, "ecn");
        for colour in ["green", "yellow", "red"] {
            let name = |what: &str| format!("{colour}_{what}");
            let enabled = word(fields, &format!("wred_{colour}_enable")) == "true";
            self.expect(enabled, row, "enable");
            let range = 1..=i64::from(i32::MAX);
            let min = self.number(row, fields, &name("min_threshold"), range.clone());
            let max = self.number(row, fields, &name("max_threshold"), range);
            self.expect(min <= max, row, "max_threshold");
            self.number(row, fields, &name("drop_probability"), 0..=100);
        }
    }

    fn key(&mut self, row: &str) {
        let fits = row.split_once('|').is_some_and(|(port, queue)| {
            port.starts_with("Ethernet") && queue.parse::<u8>().is_ok_and(|queue| queue < 8)
        });
        self.expect(fits, row, "key");
    }

    fn reference(&mut self, row: &str, fields: &Map<String, Value>, field: &str, table: &str) {
        let rows = self.tables.get(table).and_then(Value::as_object);
        let found = rows.is_some_and(|rows| rows.contains_key(word(fields, field)));
        self.expect(found, row, field);
    }

    fn number(
        &mut self,
        row: &str,
        fields: &Map<String, Value>,
        field: &str,
        range: std::ops::RangeInclusive<i64>,
    ) -> i64 {
        let value = word(fields, field).parse().ok().filter(|value| range.contains(value));
        self.expect(value.is_some(), row, field);
        value.unwrap_or(0)
    }

    fn expect(&mut self, holds: bool, row: &str, what: &str) {
        if !holds {
            self.faults.push(format!("{row}: {what}"));
        }
    }
}

fn word<'a>(fields: &'a Map<String, Value>, field: &str) -> &'a str {
    fields.get(field).and_then(Value::as_str).unwrap_or_default()
}
