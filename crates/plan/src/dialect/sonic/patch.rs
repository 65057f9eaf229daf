//! A fragment as a JSON patch of a running configuration.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::numbers;

/// Tables whose keys may name several ports and queues at once: `Ethernet0,Ethernet4|3-4`.
const OF_QUEUES: [&str; 3] = ["BUFFER_PG", "BUFFER_QUEUE", "QUEUE"];

/// Tables whose rows have fields that are not a plan's business, such as the watchdog of a port.
const SHARED: [&str; 2] = ["FLEX_COUNTER_TABLE", "PORT_QOS_MAP"];

/// A fragment as a patch of a running configuration: what is missing there or differs. Without one, every
/// row, for a switch that has each table.
pub fn patch(fragment: &str, current: Option<&Value>) -> String {
    let tables: Map<String, Value> =
        serde_json::from_str(fragment).expect("the fragment was written here");
    let mut operations = Vec::new();
    for (table, rows) in &tables {
        let rows = rows.as_object().expect("a table has rows");
        match current.map(|current| current[table.as_str()].as_object()) {
            None => {
                let all = rows.iter();
                operations.extend(all.map(|(row, value)| add(&[table, row], value)));
            }
            Some(None) => operations.push(json!({
                "op": "add", "path": path(&[table]), "value": rows,
            })),
            Some(Some(there)) => {
                if OF_QUEUES.contains(&table.as_str()) {
                    separate(table, rows, there, &mut operations);
                }
                for (row, value) in rows {
                    change(table, row, value, there.get(row), &mut operations);
                }
            }
        }
    }
    let text = serde_json::to_string_pretty(&operations);
    text.expect("texts and maps can always be written") + "\n"
}

/// Makes a row what it should be.
fn change(
    table: &str,
    row: &str,
    value: &Value,
    there: Option<&Value>,
    operations: &mut Vec<Value>,
) {
    match (there, value.as_object()) {
        (Some(there), _) if there == value => {}
        (Some(Value::Object(there)), Some(fields)) if SHARED.contains(&table) => {
            let differs = |(name, field): &(&String, &Value)| there.get(*name) != Some(*field);
            let fields = fields.iter().filter(differs);
            operations.extend(fields.map(|(name, field)| add(&[table, row, name], field)));
        }
        _ => operations.push(add(&[table, row], value)),
    }
}

/// Takes rows apart that name queues of the fragment together with others: two rows must not speak of the
/// same queue. What they say of others stays.
fn separate(
    table: &str,
    rows: &Map<String, Value>,
    there: &Map<String, Value>,
    operations: &mut Vec<Value>,
) {
    let ours: BTreeSet<(&str, u8)> = rows.keys().flat_map(|key| queues(key)).collect();
    for (key, value) in there {
        let of_row: Vec<(&str, u8)> = queues(key).collect();
        if rows.contains_key(key) || !of_row.iter().any(|queue| ours.contains(queue)) {
            continue;
        }
        operations.push(json!({ "op": "remove", "path": path(&[table, key]) }));
        for (port, number) in of_row.iter().filter(|queue| !ours.contains(queue)) {
            operations.push(add(&[table, &format!("{port}|{number}")], value));
        }
    }
}

/// The queues that a key names.
fn queues(key: &str) -> impl Iterator<Item = (&str, u8)> {
    let (ports, range) = key.rsplit_once('|').unwrap_or((key, ""));
    let of_port = move |port| numbers(range).map(move |number| (port, number));
    ports.split(',').flat_map(of_port)
}

fn add(place: &[&str], value: &Value) -> Value {
    json!({ "op": "add", "path": path(place), "value": value })
}

/// A JSON pointer (RFC 6901).
fn path(place: &[&str]) -> String {
    let part = |part: &&str| format!("/{}", part.replace('~', "~0").replace('/', "~1"));
    place.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::super::NAME;
    use super::*;

    /// The configuration after a patch (RFC 6902: `add` and `remove`, in order; a parent must exist).
    fn applied(mut tables: Value, text: &str) -> Value {
        let operations: Vec<Value> = serde_json::from_str(text).unwrap();
        for operation in operations {
            let pointer = operation["path"].as_str().unwrap();
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            let name = name.replace("~1", "/").replace("~0", "~");
            let parent = tables.pointer_mut(parent).expect("the parent exists");
            let parent = parent.as_object_mut().unwrap();
            match operation["op"].as_str() {
                Some("add") => drop(parent.insert(name, operation["value"].clone())),
                Some("remove") => drop(parent.remove(&name).expect("it is there")),
                other => panic!("{other:?}"),
            }
        }
        tables
    }

    fn fragment() -> Value {
        json!({
            "QUEUE": {
                "Ethernet0|3": { "scheduler": "TIDEGATE.3", "wred_profile": "TIDEGATE_Q3_25G" },
                "Ethernet4|3": { "scheduler": "TIDEGATE.3", "wred_profile": "TIDEGATE_Q3_25G" },
            },
            "PORT_QOS_MAP": { "Ethernet0": { "dscp_to_tc_map": NAME, "tc_to_queue_map": NAME } },
        })
    }

    #[test]
    fn a_configuration_without_any_table_becomes_the_fragment() {
        let text = fragment().to_string();
        let after = applied(json!({}), &patch(&text, Some(&json!({}))));
        assert_eq!(after, fragment());
    }

    #[test]
    fn rows_of_several_queues_are_taken_apart_and_say_the_same_of_the_others() {
        let old = json!({ "scheduler": "old" });
        let there = json!({ "QUEUE": { "Ethernet0,Ethernet4|3-4": old, "Ethernet8|3-4": old } });
        let text = fragment().to_string();
        let changes = patch(&text, Some(&there));
        let after = applied(there, &changes);
        let mut expected = fragment()["QUEUE"].clone();
        for kept in ["Ethernet0|4", "Ethernet4|4", "Ethernet8|3-4"] {
            expected[kept] = old.clone();
        }
        assert_eq!(after["QUEUE"], expected);
        assert_eq!(patch(&text, Some(&after)), "[]\n");
    }

    #[test]
    fn fields_of_a_port_that_the_plan_does_not_set_stay() {
        let row = json!({ "dscp_to_tc_map": "AZURE", "pfcwd_sw_enable": "3,4" });
        let there = json!({ "PORT_QOS_MAP": { "Ethernet0": row } });
        let after = applied(there.clone(), &patch(&fragment().to_string(), Some(&there)));
        let expected = json!({
            "dscp_to_tc_map": NAME, "tc_to_queue_map": NAME, "pfcwd_sw_enable": "3,4",
        });
        assert_eq!(after["PORT_QOS_MAP"]["Ethernet0"], expected);
    }
}
