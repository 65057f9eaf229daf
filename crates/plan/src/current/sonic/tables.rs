//! Reader of the tables of a `config_db.json`. It skips other tables, such as routes, without
//! storing them, and limits entries, so that a file takes little more memory than its text.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use tidegate_scenario::Problem;

use super::TABLES;

/// Most values in the tables that are read, with their rows: ten times as many as a switch with 512
/// ports and eight queues has.
pub(super) const MOST_ENTRIES: usize = 250_000;

/// Tables that a patch may change or a message names, beside [`TABLES`].
const OTHERS: [&str; 3] = ["DEVICE_METADATA", "FLEX_COUNTER_TABLE", "localhost"];

/// Reads the tables of a file.
pub(super) fn read(name: &str, text: &str) -> Result<Value, Problem> {
    let mut json = serde_json::Deserializer::from_str(text);
    let tables = json.deserialize_any(File).and_then(|tables| json.end().map(|()| tables));
    tables.map_err(|error| {
        let at = place(text, error.line(), error.column());
        let end = (at + 1..text.len()).find(|&end| text.is_char_boundary(end));
        let at = at..end.unwrap_or(text.len()).max(at);
        let message = error.to_string();
        if error.is_data() {
            let message = message.split(" at line ").next().unwrap_or_default();
            return Problem::in_text(name, text, at, message)
                .help("a switch has a few thousand ports and queues; is this its config_db.json?");
        }
        Problem::in_text(name, text, at, format!("this is not JSON: {message}"))
            .help("a config_db.json, as `show runningconfiguration all` prints it")
    })
}

/// The byte at a line and a column, both from one.
fn place(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.max(1) - 1).map(str::len).sum();
    let at = (before + column.max(1) - 1).min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// A whole file: an object of tables. Anything else has none.
struct File;

impl<'a> Visitor<'a> for File {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tables")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut tables = Map::new();
        let mut left = MOST_ENTRIES;
        while let Some(table) = map.next_key::<String>()? {
            if TABLES.contains(&table.as_str()) || OTHERS.contains(&table.as_str()) {
                let rows = map.next_value_seed(Counted { left: &mut left, table: &table })?;
                tables.insert(table, rows);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Value::Object(tables))
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Null)
    }
}

/// A value of a table, as long as entries are left.
struct Counted<'t> {
    left: &'t mut usize,
    table: &'t str,
}

impl Counted<'_> {
    /// The same for a value in this one.
    fn inner(&mut self) -> Counted<'_> {
        Counted { left: self.left, table: self.table }
    }
}

impl<'a> DeserializeSeed<'a> for Counted<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'a>>(self, json: D) -> Result<Value, D::Error> {
        let Some(left) = self.left.checked_sub(1) else {
            let table = self.table;
            let message = format!(
                "`{table}` has too many rows: at most {MOST_ENTRIES} rows and values are read"
            );
            return Err(D::Error::custom(message));
        };
        *self.left = left;
        json.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Counted<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'a>>(mut self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = map.next_key()? {
            fields.insert(key, map.next_value_seed(self.inner())?);
        }
        Ok(Value::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'a>>(mut self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self.inner())? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}
