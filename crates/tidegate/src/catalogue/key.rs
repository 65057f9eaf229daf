//! Keys of scenario files by name, in any table.

use serde::Serialize;
use serde_json::Value;

use super::alias::plain;

/// Key of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Key {
    /// Table, such as `marking`.
    pub(crate) table: String,
    /// Kinds of the table that have the key, if not all do.
    pub(crate) kinds: Vec<String>,
    pub(crate) name: String,
    pub(crate) default: Option<String>,
    pub(crate) doc: String,
    /// Accepted words of a choice.
    pub(crate) words: Vec<(String, String)>,
}

/// All keys with this name, in the form of [`plain`].
pub(crate) fn named(name: &str) -> Vec<Key> {
    let schema = tidegate_scenario::schema();
    // The text is the program's own.
    let schema: Value = serde_json::from_str(&schema).unwrap_or_default();
    let mut keys = Vec::new();
    collect("scenario", &schema, name, &mut keys);
    let tables = schema["$defs"].as_object();
    for (table, value) in tables.into_iter().flatten() {
        collect(table, value, name, &mut keys);
    }
    keys
}

fn collect(table: &str, value: &Value, name: &str, keys: &mut Vec<Key>) {
    let properties = value["properties"].as_object();
    let own = properties.into_iter().flatten().filter(|(key, _)| plain(key) == name);
    for (key, about) in own {
        // A key that only refers to a table has no text.
        let Some(doc) = about["description"].as_str() else {
            continue;
        };
        let kinds = words(&value["properties"]["kind"]).into_iter();
        let kinds = kinds.map(|(kind, _)| kind);
        keys.push(Key {
            table: table.to_owned(),
            kinds: kinds.collect(),
            name: key.clone(),
            default: default(&about["default"]),
            doc: doc.to_owned(),
            words: words(about),
        });
    }
    for choice in ["oneOf", "anyOf", "allOf"] {
        for variant in value[choice].as_array().into_iter().flatten() {
            collect(table, variant, name, keys);
        }
    }
}

fn default(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    }
}

fn words(about: &Value) -> Vec<(String, String)> {
    let choices = about["oneOf"].as_array().into_iter().flatten();
    let word = |choice: &Value| {
        let name = choice["const"].as_str()?.to_owned();
        let doc = choice["description"].as_str().unwrap_or_default();
        Some((name, doc.to_owned()))
    };
    choices.filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_every_table_that_has_them() {
        let ecmp = named("ecmp");
        assert_eq!(ecmp.len(), 1, "{ecmp:?}");
        assert_eq!((ecmp[0].table.as_str(), ecmp[0].words.len()), ("switch", 3));
        let thresholds = named("threshold");
        let of_tcn = thresholds.iter().find(|key| key.kinds.iter().any(|kind| kind == "tcn"));
        assert_eq!(of_tcn.and_then(|key| key.default.as_deref()), Some("78us"));
        assert!(named("qwertyuiop").is_empty());
    }
}
