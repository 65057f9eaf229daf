//! Reference page of scenario files: every section, kind and key with its default, generated from
//! the tables of the parser.

use std::fmt::Write;

use tidegate_units::{Choice, Form};

use crate::layout::{Key, Section, Shape, tidy};

/// The page, as Markdown.
pub fn reference() -> String {
    let mut page = String::from(INTRODUCTION);
    for section in Section::all() {
        write_section(&mut page, section);
    }
    page
}

fn write_section(page: &mut String, section: &Section) {
    // Writing to a string does not fail.
    let _ = write!(page, "\n## {}\n\n{}\n", section.title, tidy(section.doc));
    if let Some(other) = section.same_as {
        let title = other.title;
        let _ = writeln!(page, "\nSame kinds and keys as [{title}](#{}).", anchor(title));
        return;
    }
    let Some(kinds) = section.kinds() else {
        return write_keys(page, &section.keys(""));
    };
    match section.default_kind {
        Some(kind) => {
            let _ = writeln!(page, "\nDefault kind: `{kind}`.");
        }
        None => {
            let _ = writeln!(page, "\n`kind` is required.");
        }
    }
    let common = section.common;
    let of_kind = |kind: &str| -> Vec<Key> {
        let keys = section.keys(kind).into_iter();
        keys.filter(|key| !common.contains(&key.name)).collect()
    };
    if !common.is_empty() {
        let keys = section.keys("").into_iter().filter(|key| common.contains(&key.name));
        let _ = writeln!(page, "\nKeys of all kinds:");
        write_keys(page, &keys.collect::<Vec<_>>());
    }
    for kind in kinds {
        let _ = writeln!(page, "\n### {} `{kind}`", section.name());
        if let Some(doc) = (section.kind_doc)(kind, section.about(kind)) {
            let _ = writeln!(page, "\n{doc}");
        }
        if let Some(base) = (section.same_keys_as)(kind) {
            let changed = changed_defaults(section, kind, base);
            let _ = writeln!(page, "\nThe keys of `{base}`, with other defaults:{changed}");
            continue;
        }
        let keys = of_kind(kind);
        if keys.is_empty() {
            let _ = writeln!(page, "\nNo keys.");
        } else {
            write_keys(page, &keys);
            if let Some(profile) = section.default_profile(kind) {
                let _ = writeln!(page, "\nDefaults: profile `{profile}`.");
            }
        }
    }
}

/// Defaults that differ between two kinds with the same keys.
fn changed_defaults(section: &Section, kind: &str, base: &str) -> String {
    let base = section.keys(base);
    let differs = |key: &&Key| {
        let same = base.iter().find(|other| other.name == key.name);
        same.is_none_or(|other| other.default != key.default)
    };
    let keys = section.keys(kind);
    let changed = keys.iter().filter(differs);
    let text: Vec<String> = changed
        .map(|key| format!("`{} = {}`", key.name, key.default.as_deref().unwrap_or("")))
        .collect();
    format!(" {}.", text.join(", "))
}

fn write_keys(page: &mut String, keys: &[Key]) {
    page.push_str("\n| key | default | description |\n|---|---|---|\n");
    for key in keys {
        let default = match (&key.default, key.shape) {
            (Some(default), _) => format!("`{}`", escaped(default)),
            (None, Shape::Table(..) | Shape::Tables(_)) => "a table".to_owned(),
            (None, _) => String::new(),
        };
        let _ = writeln!(page, "| `{}` | {default} | {} |", key.name, escaped(&explain(key)));
    }
}

/// Doc of a key and of its values.
fn explain(key: &Key) -> String {
    let more = match key.shape {
        Shape::Setting(form) | Shape::Derived(form, _) => words(form),
        Shape::Table(section, _) | Shape::OptionalTable(section) | Shape::Tables(section) => {
            format!("See [{}](#{}).", section.title, anchor(section.title))
        }
        Shape::Profile(_) | Shape::Selection(_) => String::new(),
    };
    if more.is_empty() { key.doc.to_string() } else { format!("{} {more}", key.doc) }
}

/// Values of a form, in words.
fn words(form: Form) -> String {
    let noun = match form {
        Form::Bool => "`true` or `false`",
        Form::Bytes => "bytes",
        Form::Choice(choices) => {
            let word = |choice: &Choice| format!("`{}`: {}", choice.name, tidy(choice.doc));
            let words: Vec<String> = choices.iter().map(word).collect();
            return words.join(" ");
        }
        Form::List(Form::Choice(_) | Form::Text(_)) => "a list",
        Form::List(inner) => return format!("A list, each {}", lower_first(&words(*inner))),
        Form::Number(most) if most >= u64::from(u32::MAX) => "a whole number",
        Form::Number(most) => return format!("A whole number up to {most}."),
        Form::Optional(inner) => return format!("{} Or `none`.", words(*inner)),
        Form::Rate => "a rate",
        Form::Ratio => "a ratio",
        Form::Size => "bytes or packets",
        Form::Span => "a time",
        Form::Text("") => return String::new(),
        Form::Text(accepted) => accepted.trim_end_matches('.'),
    };
    let (first, rest) = noun.split_at(noun.chars().next().map_or(0, char::len_utf8));
    let more = match form {
        Form::List(inner @ (Form::Choice(_) | Form::Text(_))) => format!(" {}", words(*inner)),
        _ => String::new(),
    };
    format!("{}{rest}.{more}", first.to_uppercase())
}

fn lower_first(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    format!("{}{rest}", first.to_lowercase())
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(title: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || *c == ' ' || *c == '-' || *c == '_';
    let text: String = title.chars().filter(kept).collect();
    text.to_lowercase().replace(' ', "-")
}

/// Text escaped for a table cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

const INTRODUCTION: &str = include_str!("reference/introduction.md");

#[cfg(test)]
mod tests {
    use tidegate_dataplane::mark;
    use tidegate_harness::golden;

    use super::*;

    #[test]
    fn the_reference_is_up_to_date() {
        golden::check("docs/reference/scenario.md", &reference());
    }

    #[test]
    fn the_python_package_has_a_type_of_all_schemes() {
        const FILE: &str = "crates/python/python/tidegate/_tidegate.pyi";
        let stub = std::fs::read_to_string(golden::path(FILE)).unwrap();
        let (before, rest) = stub.split_once("_Scheme = Literal[\n").unwrap();
        let (_, after) = rest.split_once("]\n").unwrap();
        let names = mark::Config::NAMES.iter().map(|name| format!("    \"{name}\",\n"));
        let names: String = names.collect();
        golden::check(FILE, &format!("{before}_Scheme = Literal[\n{names}]\n{after}"));
    }

    #[test]
    fn reference_links_lead_to_headings_and_files() {
        let page = reference();
        let headings: Vec<String> = page
            .lines()
            .filter_map(|line| line.strip_prefix("## ").or(line.strip_prefix("### ")))
            .map(anchor)
            .collect();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
        let mut links = 0;
        for link in page.split("](").skip(1) {
            let link = link.split(')').next().unwrap();
            match link.strip_prefix('#') {
                Some(anchor) => assert!(headings.iter().any(|known| known == anchor), "{link}"),
                None => assert!(folder.join(link).exists(), "{link}"),
            }
            links += 1;
        }
        assert!(links > 30, "{links}");
    }
}
