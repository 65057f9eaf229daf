//! Edits of a scenario's text that keep the rest of it unchanged.

use std::ops::Range;

use crate::tree::{Entry, Node, Value};

/// Sets the value at a path, written as TOML. An error says why that is impossible.
pub(crate) fn set(text: &str, path: &[String], value: &str) -> Result<String, String> {
    let wrong = || "the text has to be right before a control can change it".to_owned();
    let tree = Node::parse(text).ok_or_else(wrong)?;
    let changed = changed(text, &tree, path, value);
    // The table may be written in an unexpected way: the edit must read back.
    let wanted = Node::parse(&format!("value = {value}"));
    let is_there = changed.as_deref().and_then(Node::parse).is_some_and(|tree| {
        let found = tree.get(path).map(content);
        let wanted = wanted.as_ref().and_then(|tree| tree.child("value"));
        found.is_some() && found == wanted.map(content)
    });
    match changed {
        Some(changed) if is_there => Ok(changed),
        _ => Err(format!(
            "`{}` is written in a way that a control cannot change: change it in the text",
            path.join(".")
        )),
    }
}

/// A value without its spans.
fn content(node: &Node) -> String {
    match &node.value {
        Value::List(items) => {
            format!("[{}]", items.iter().map(content).collect::<Vec<_>>().join(","))
        }
        Value::Scalar(text) => format!("{text:?}"),
        Value::Table(entries) => {
            let mut entries: Vec<String> = entries
                .iter()
                .map(|entry| format!("{}={}", entry.key, content(&entry.node)))
                .collect();
            entries.sort_unstable();
            format!("{{{}}}", entries.join(","))
        }
    }
}

fn changed(text: &str, tree: &Node, path: &[String], value: &str) -> Option<String> {
    if let Some(node) = tree.get(path) {
        return Some(match &node.value {
            Value::Table(entries) if !is_inline(text, node) => {
                with_other_entries(text, entries, value)?
            }
            _ => spliced(text, node.span.clone(), value),
        });
    }
    let (last, parents) = path.split_last()?;
    let line = format!("{} = {value}", written(last));
    let Some(parent) = tree.get(parents) else {
        let names: Vec<String> = parents.iter().map(|name| written(name)).collect();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        return Some(format!("{text}{end}\n[{}]\n{line}\n", names.join(".")));
    };
    let entries = match &parent.value {
        Value::Table(entries) => entries,
        Value::List(_) | Value::Scalar(_) => return None,
    };
    if is_inline(text, parent) {
        let inside = text[parent.span.clone()].trim_end_matches('}').trim_end();
        let comma = if entries.is_empty() { "" } else { "," };
        let inside = inside.trim_end_matches(',');
        let table = format!("{inside}{comma} {line} }}");
        return Some(spliced(text, parent.span.clone(), &table));
    }
    // Behind the last line of the table that has a value, or at the very start.
    let at = match lines(text, entries).last() {
        Some(entry) => line_end(text, entry.node.span.end),
        None if parents.is_empty() => return Some(format!("{line}\n{text}")),
        None => line_end(text, header(text, parents)?),
    };
    Some(spliced(text, at..at, &format!("\n{line}")))
}

/// End of the header of an empty table.
fn header(text: &str, path: &[String]) -> Option<usize> {
    let names: Vec<String> = path.iter().map(|name| written(name)).collect();
    let header = format!("[{}]", names.join("."));
    text.find(&header).map(|at| at + header.len())
}

/// Replaces the entries of a table below a header by the entries of an inline table.
fn with_other_entries(text: &str, entries: &[Entry], value: &str) -> Option<String> {
    let new = Node::parse(&format!("value = {value}"))?;
    let shift = "value = ".len();
    let new = new.child("value")?;
    let part = |span: &Range<usize>| &value[span.start - shift..span.end - shift];
    let new = new.entries().iter();
    let new: Vec<String> = new
        .map(|entry| format!("{} = {}", part(&entry.key_span), part(&entry.node.span)))
        .collect();
    let old: Vec<&Entry> = lines(text, entries).collect();
    let (first, rest) = old.split_first()?;
    let mut out = text.to_owned();
    for entry in rest.iter().rev() {
        let begin = line_begin(text, entry.key_span.start);
        let end = line_end(text, entry.node.span.end);
        out.replace_range(begin.saturating_sub(1)..end, "");
    }
    let span = first.key_span.start..first.node.span.end;
    Some(spliced(&out, span, &new.join("\n")))
}

/// Adds a second scheme beside the only one, as a sweep of two points.
pub(crate) fn compared(text: &str) -> Result<String, String> {
    let tree = Node::parse(text).ok_or("the text has to be right first")?;
    if tree.child("sweep").is_some() {
        return Err("the scenario has a sweep already: add a point to it in the text".into());
    }
    let marking = tree.get(&["switch", "marking"]);
    let first = marking.map_or_else(
        || "{ kind = \"queue-red\" }".to_owned(),
        |node| match &node.value {
            Value::Table(entries) if !is_inline(text, node) => {
                let entries = lines(text, entries).map(|entry| {
                    let value = &text[entry.node.span.clone()];
                    format!("{} = {value}", &text[entry.key_span.clone()])
                });
                format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
            }
            _ => text[node.span.clone()].to_owned(),
        },
    );
    let kind = marking.and_then(|node| node.child("kind"));
    let second = match kind.and_then(Node::scalar) {
        Some("tcn") => "{ kind = \"queue-red\" }",
        _ => "{ kind = \"tcn\" }",
    };
    let end = if text.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{text}{end}\n[sweep]\n\"switch.marking\" = [\n  {first},\n  {second},\n]\n"))
}

/// Entries on lines of their own, with the value behind the key.
fn lines<'a>(text: &'a str, entries: &'a [Entry]) -> impl Iterator<Item = &'a Entry> {
    entries.iter().filter(|entry| {
        let between = text.get(entry.key_span.end..entry.node.span.start);
        between.is_some_and(|between| between.trim() == "=")
    })
}

fn is_inline(text: &str, node: &Node) -> bool {
    text[node.span.clone()].starts_with('{')
}

fn spliced(text: &str, span: Range<usize>, with: &str) -> String {
    let mut out = text.to_owned();
    out.replace_range(span, with);
    out
}

fn line_begin(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |found| found + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |found| at + found)
}

/// A key as TOML, with quotes if it needs them.
fn written(key: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if !key.is_empty() && key.chars().all(is_bare) { key.to_owned() } else { format!("{key:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, path: &str, value: &str) -> Result<String, String> {
        let path: Vec<String> = path.split('/').map(str::to_owned).collect();
        set(text, &path, value)
    }

    const TEXT: &str = r#"name = "x" # a name

[switch]
marking = { kind = "tcn", threshold = "78us" } # why
[switch.buffer]
kind = "per-port"
limit = "300KB"

[[traffic]]
load = 0.5

[sweep]
"switch.marking" = [{ kind = "tcn" }, { kind = "codel", label = "C" }]
"#;

    #[test]
    fn only_the_value_is_changed() {
        for (path, value, from, to) in [
            ("switch/marking/threshold", "\"40us\"", "\"78us\"", "\"40us\""),
            ("switch/buffer/limit", "\"1MB\"", "\"300KB\"", "\"1MB\""),
            ("traffic/0/load", "0.9", "0.5", "0.9"),
            (
                "sweep/switch.marking/1",
                "{ kind = \"bcc\" }",
                "{ kind = \"codel\", label = \"C\" }",
                "{ kind = \"bcc\" }",
            ),
            (
                "sweep/switch.marking/0/kind",
                "\"codel\"",
                "[{ kind = \"tcn\"",
                "[{ kind = \"codel\"",
            ),
        ] {
            assert_eq!(edited(TEXT, path, value).unwrap(), TEXT.replacen(from, to, 1), "{path}");
        }
    }

    #[test]
    fn missing_key_is_inserted() {
        for (path, value, from, to) in [
            (
                "sweep/switch.marking/0/threshold",
                "\"9us\"",
                "{ kind = \"tcn\" },",
                "{ kind = \"tcn\", threshold = \"9us\" },",
            ),
            ("traffic/0/flows", "7", "load = 0.5", "load = 0.5\nflows = 7"),
            ("seed", "7", "# a name", "# a name\nseed = 7"),
            (
                "topology/host-delay",
                "\"5us\"",
                "\"C\" }]\n",
                "\"C\" }]\n\n[topology]\nhost-delay = \"5us\"\n",
            ),
        ] {
            assert_eq!(edited(TEXT, path, value).unwrap(), TEXT.replacen(from, to, 1), "{path}");
        }
        assert_eq!(edited("", "seed", "2").unwrap(), "seed = 2\n");
        assert_eq!(edited("[a]\n[b]\n", "b/c", "1").unwrap(), "[a]\n[b]\nc = 1\n");
    }

    #[test]
    fn table_below_a_header_is_replaced_line_by_line() {
        let text = edited(TEXT, "switch/buffer", "{ kind = \"unlimited\", x = [1, 2] }").unwrap();
        let expected = TEXT
            .replace("kind = \"per-port\"\nlimit = \"300KB\"", "kind = \"unlimited\"\nx = [1, 2]");
        assert_eq!(text, expected);
    }

    #[test]
    fn impossible_edits_are_refused() {
        for (text, path, value) in [
            ("a = [", "a", "1"),
            ("a = 1", "a/b", "1"),
            ("a = [1]", "a/3", "1"),
            ("a.b = 1", "a/c", "{"),
        ] {
            assert!(edited(text, path, value).is_err(), "{text} {path}");
        }
    }

    #[test]
    fn second_scheme_makes_a_sweep() {
        let text = TEXT.split("\n[sweep]").next().unwrap();
        let compared = compared(text).unwrap();
        assert!(compared.ends_with(
            "[sweep]\n\"switch.marking\" = [\n  { kind = \"tcn\", threshold = \"78us\" },\n  { kind = \"queue-red\" },\n]\n"
        ), "{compared}");
        assert!(super::compared(&compared).is_err());
    }
}
