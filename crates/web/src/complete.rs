//! Completions at an offset of a scenario's text: keys of a table, or values of a key.

use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;

/// A completion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Offer {
    /// Text to insert.
    pub(crate) insert: String,
    /// Description.
    pub(crate) words: String,
    /// Number of bytes before the cursor that it replaces.
    pub(crate) replaces: usize,
}

/// Completions at a byte of a text, which may be invalid.
pub(crate) fn complete(text: &str, at: usize) -> Vec<Offer> {
    let schema: Value = serde_json::from_str(&tidegate_scenario::schema()).unwrap_or_default();
    let place = Place::of(&text[..at], &text[at..]);
    let Some(table) = find(&schema, &place) else {
        return Vec::new();
    };
    let prefix = place.prefix.trim_start_matches('"');
    let fits = |name: &str| {
        let plain = |text: &str| text.to_ascii_lowercase().replace('-', "_");
        plain(name).starts_with(&plain(prefix)) && name != prefix
    };
    let mut offers: Vec<Offer> = match &place.key {
        None => table
            .iter()
            .filter(|(name, _)| fits(name) && !place.present.contains(name))
            .map(|(name, of)| Offer {
                insert: format!("{name} = "),
                words: described(of),
                replaces: place.prefix.len(),
            })
            .collect(),
        Some(key) => {
            let values = table.iter().filter(|(name, _)| *name == key);
            let words = values.flat_map(|(_, of)| words(of));
            let words = words.filter(|(word, _)| fits(word));
            words
                .map(|(word, doc)| Offer {
                    insert: format!("\"{word}\""),
                    words: doc,
                    replaces: place.prefix.len(),
                })
                .collect()
        }
    };
    offers.sort_by(|a, b| a.insert.cmp(&b.insert));
    offers.dedup_by(|a, b| a.insert == b.insert);
    offers
}

/// Context of a cursor.
#[derive(Debug, Default, PartialEq, Eq)]
struct Place {
    /// Enclosing tables, outermost first.
    path: Vec<String>,
    /// Kind of the innermost table, if it has one.
    kind: Option<String>,
    /// Keys that the innermost table has.
    present: Vec<String>,
    /// Key whose value is being written, if any.
    key: Option<String>,
    /// Part of the key or value before the cursor.
    prefix: String,
}

impl Place {
    fn of(before: &str, after: &str) -> Self {
        let line_begin = before.rfind('\n').map_or(0, |at| at + 1);
        let header = before[..line_begin].lines().rev().find_map(header);
        let mut path = header.unwrap_or_default();
        // Lines of the same table above and below.
        let above = before[..line_begin].lines().rev();
        let above = above.take_while(|line| header_of(line).is_none());
        let rest = after.find('\n').map_or("", |at| &after[at..]);
        let below = rest.lines().take_while(|line| header_of(line).is_none());
        let around: Vec<&str> = above.chain(below).collect();
        let keys = around.iter().filter_map(|line| line.split_once('='));
        let mut present: Vec<(String, String)> = keys
            .map(|(key, value)| (bare(key), bare(value.split('#').next().unwrap_or_default())))
            .collect();
        let line = &before[line_begin..];
        let (mut rest, mut key) = (line, None);
        // Enters the inline tables that are open on this line.
        while let Some(at) = open_brace(rest) {
            let outside = &rest[..at];
            let name = outside.rsplit(['{', ',', '[']).next().unwrap_or(outside);
            if let Some((name, _)) = name.split_once('=') {
                path.extend(name.trim().split('.').map(bare));
            }
            rest = &rest[at + 1..];
            let closing = after.split(['}', '\n']).next().unwrap_or_default();
            let parts = rest.split(',').chain(closing.split(','));
            present = parts
                .filter_map(|part| part.split_once('='))
                .map(|(key, value)| (bare(key), bare(value)))
                .collect();
        }
        let part =
            if line.len() == rest.len() { rest } else { rest.rsplit(',').next().unwrap_or(rest) };
        let mut prefix = part.trim_start();
        if let Some((name, value)) = part.split_once('=') {
            key = Some(bare(name));
            prefix = value.trim_start();
        }
        let kind = present.iter().find(|(key, _)| key == "kind");
        Self {
            path,
            kind: kind.map(|(_, kind)| kind.clone()),
            present: present.iter().map(|(key, _)| key.clone()).collect(),
            key,
            prefix: prefix.to_owned(),
        }
    }
}

/// Position of the last open brace before the cursor.
fn open_brace(line: &str) -> Option<usize> {
    let mut open = Vec::new();
    for (at, letter) in line.char_indices() {
        match letter {
            '{' => open.push(at),
            '}' => {
                open.pop();
            }
            _ => {}
        }
    }
    open.first().copied()
}

fn header_of(line: &str) -> Option<&str> {
    let line = line.split('#').next().unwrap_or_default().trim();
    line.strip_prefix('[')?.strip_suffix(']')
}

fn header(line: &str) -> Option<Vec<String>> {
    let name = header_of(line)?;
    let name = name.trim_start_matches('[').trim_end_matches(']');
    Some(name.split('.').map(bare).collect())
}

fn bare(text: &str) -> String {
    text.trim().trim_matches('"').to_owned()
}

/// Keys of the table at a cursor, each with its schema.
fn find<'a>(schema: &'a Value, place: &Place) -> Option<Vec<(&'a String, &'a Value)>> {
    let mut tables = vec![schema];
    for step in &place.path {
        // A number is an index of a list, whose items have one schema.
        if step.parse::<usize>().is_ok() {
            continue;
        }
        let inner = tables.iter().filter_map(|table| table["properties"].get(step));
        tables = inner.flat_map(|inner| resolved(schema, inner)).collect();
    }
    if let Some(kind) = &place.kind {
        let of_kind = |table: &&Value| {
            let words = table["properties"]["kind"]["oneOf"].as_array();
            words.is_none_or(|words| words.iter().any(|word| word["const"] == kind.as_str()))
        };
        let known: Vec<&Value> = tables.iter().copied().filter(of_kind).collect();
        // While a kind is being written, all kinds are offered.
        if !known.is_empty() && place.key.as_deref() != Some("kind") {
            tables = known;
        }
    }
    let properties = tables.iter().filter_map(|table| table["properties"].as_object());
    let is_current = |(_, schema): &(&String, &Value)| schema["deprecated"] != true;
    let all: Vec<_> = properties.flatten().filter(is_current).collect();
    (!all.is_empty()).then_some(all)
}

/// Tables that a schema allows, with references and alternatives resolved.
fn resolved<'a>(schema: &'a Value, of: &'a Value) -> Vec<&'a Value> {
    let mut found = Vec::new();
    if of.get("properties").is_some() {
        found.push(of);
    }
    if let Some(name) = of["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        found.extend(resolved(schema, &schema["$defs"][name]));
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let choices = of[key].as_array().into_iter().flatten();
        found.extend(choices.flat_map(|choice| resolved(schema, choice)));
    }
    if let Some(items) = of.get("items") {
        found.extend(resolved(schema, items));
    }
    found
}

/// Allowed values of a schema.
fn words(of: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if let Some(word) = of["const"].as_str() {
        found.push((word.to_owned(), described(of)));
    }
    let listed = of["enum"].as_array().into_iter().flatten();
    found.extend(listed.filter_map(|word| Some((word.as_str()?.to_owned(), String::new()))));
    if let Some(default) = of["default"].as_str() {
        found.push((default.to_owned(), format!("the default. {}", described(of))));
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let choices = of[key].as_array().into_iter().flatten();
        found.extend(choices.flat_map(words));
    }
    found
}

fn described(of: &Value) -> String {
    let mut words = of["description"].as_str().unwrap_or_default().to_owned();
    if let Some(default) = of.get("default") {
        _ = write!(words, " Default: {default}.");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Completions at `|`.
    fn offered(text: &str) -> Vec<String> {
        let at = text.find('|').unwrap();
        let text = text.replacen('|', "", 1);
        let offers = complete(&text, at);
        offers.into_iter().map(|offer| offer.insert).collect()
    }

    #[test]
    fn keys_of_the_table_are_offered() {
        assert_eq!(offered("top|"), ["topology = "]);
        assert!(offered("|").contains(&"traffic = ".to_owned()));
        assert_eq!(offered("[switch]\nmark|"), ["marking = "]);
        assert_eq!(
            offered("[topology]\nkind = \"star\"\nhost_r|"),
            ["host_rate = ", "host_rates = "]
        );
        // Existing keys are not offered again.
        let text = "[topology]\nkind = \"star\"\nhost_r|\nhost_rate = \"1Gbps\"\n[switch]";
        assert_eq!(offered(text), ["host_rates = "]);
        assert_eq!(offered("[switch]\nmarking = { kind = \"tcn\", thr|"), ["threshold = "]);
        assert_eq!(offered("[[traffic]]\nkind = \"burst\"\nfan|"), ["fan_in = "]);
        assert_eq!(offered("[topology]\nkind = \"star\"\nleav|"), [""; 0]);
        assert_eq!(offered("[nonsense]\na|"), [""; 0]);
    }

    #[test]
    fn names_are_completed_in_quotes() {
        assert_eq!(offered("[switch]\nmarking = { kind = \"tc|"), ["\"tcn\""]);
        assert_eq!(offered("[topology]\nkind = \"st|"), ["\"star\""]);
        let kinds = offered("[topology]\nkind = |");
        assert!(kinds.len() > 3 && kinds.contains(&"\"leaf-spine\"".to_owned()), "{kinds:?}");
        assert!(
            offered("[switch]\nmarking = { kind = \"tcn\", clock = |")
                .contains(&"\"exact\"".to_owned())
        );
        assert_eq!(offered("[switch.buffer]\nkind = \"dyn|"), ["\"dynamic-threshold\""]);
    }

    #[test]
    fn completion_does_not_panic_on_any_text() {
        let text =
            "[sweep]\n\"switch.marking\" = [{ kind = \"♯\" }, {{{ = ]\n[[[\n= = #\n[a.\"b\"]\n";
        for at in (0..=text.len()).filter(|&at| text.is_char_boundary(at)) {
            complete(text, at);
        }
    }
}
