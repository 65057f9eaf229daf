//! The schema agrees with its checked-in copy, is made of known words, and fits the scenarios.

use std::path::Path;

use regex_lite::Regex;
use serde_json::Value;

use super::*;
use crate::scenario::Scenario;

/// Set it to write the generated pages instead of comparing them.
const WRITE: &str = "TIDEGATE_WRITE_REFERENCE";

/// Compares a generated page with the one under `docs/reference`.
pub(crate) fn agrees_with_the_page(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/reference")
        .join(name);
    if std::env::var_os(WRITE).is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        return;
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == text,
        "docs/reference/{name} is out of date: run {WRITE}=1 cargo test -p tidegate-lab --lib"
    );
}

#[test]
fn the_schema_is_up_to_date() {
    agrees_with_the_page("scenario.schema.json", &schema());
}

/// What is wrong with `value`, if anything, by those words of JSON Schema that ours uses. Any other
/// word is wrong too.
fn check(schema: &Value, value: &Value, root: &Value) -> Result<(), String> {
    let words = schema
        .as_object()
        .ok_or_else(|| format!("{schema} is no schema"))?;
    for (word, rule) in words {
        let wrong = |what: &str| Err(format!("{value} {what} {rule}"));
        let all = |list: &Value| list.as_array().cloned().unwrap_or_default();
        let fits = |schema: &Value| check(schema, value, root).is_ok();
        match word.as_str() {
            "$schema" | "$defs" | "$comment" | "title" | "description" | "default" => {}
            "$ref" => {
                let path = rule.as_str().unwrap().trim_start_matches('#');
                let found = root
                    .pointer(path)
                    .ok_or_else(|| format!("{rule} is nowhere"))?;
                check(found, value, root)?;
            }
            "const" if rule != value => return wrong("is not"),
            "enum" if !all(rule).contains(value) => return wrong("is none of"),
            "const" | "enum" => {}
            "allOf" => all(rule)
                .iter()
                .try_for_each(|rule| check(rule, value, root))?,
            "anyOf" if !all(rule).iter().any(fits) => return wrong("fits none of"),
            "anyOf" => {}
            "oneOf" => {
                let choices = all(rule);
                if choices.iter().filter(|rule| fits(rule)).count() != 1 {
                    let why: Vec<_> = choices
                        .iter()
                        .filter_map(|rule| check(rule, value, root).err())
                        .collect();
                    return Err(format!("{value} does not fit one: {why:?}"));
                }
            }
            "not" if fits(rule) => return wrong("fits"),
            "not" => {}
            "type" => {
                let kind = match value {
                    Value::Array(_) => "array",
                    Value::Bool(_) => "boolean",
                    Value::Null => "null",
                    Value::Number(number) if number.is_f64() => "number",
                    Value::Number(_) => "integer",
                    Value::Object(_) => "object",
                    Value::String(_) => "string",
                };
                let is = |name: &Value| name == kind || (name == "number" && kind == "integer");
                if !is(rule) && !all(rule).iter().any(is) {
                    return wrong("is not of the type");
                }
            }
            "pattern" => {
                let pattern =
                    Regex::new(rule.as_str().unwrap()).map_err(|error| error.to_string())?;
                if value.as_str().is_some_and(|text| !pattern.is_match(text)) {
                    return wrong("is not like");
                }
            }
            "minimum" if value.as_f64() < rule.as_f64() => return wrong("is below"),
            "maximum"
                if value
                    .as_f64()
                    .is_some_and(|value| value > rule.as_f64().unwrap()) =>
            {
                return wrong("is above");
            }
            "minItems" if value.as_array().is_some_and(Vec::is_empty) => {
                return wrong("is shorter than");
            }
            "minimum" | "maximum" | "minItems" => {}
            "items" => {
                let items = value.as_array().into_iter().flatten();
                items
                    .into_iter()
                    .try_for_each(|item| check(rule, item, root))?;
            }
            "required" => {
                let given = |name: &Value| value.get(name.as_str().unwrap()).is_some();
                if value.is_object() && !all(rule).iter().all(given) {
                    return wrong("lacks one of");
                }
            }
            "properties" => {
                let rules = rule.as_object().ok_or("properties are an object")?;
                for (name, rule) in rules {
                    if let Some(value) = value.get(name) {
                        check(rule, value, root).map_err(|why| format!("{name}: {why}"))?;
                    }
                }
            }
            "additionalProperties" => {
                let known = words.get("properties").and_then(Value::as_object);
                let others = value.as_object().into_iter().flatten();
                for (name, value) in others {
                    match rule {
                        _ if known.is_some_and(|known| known.contains_key(name)) => {}
                        Value::Bool(false) => return Err(format!("`{name}` is unknown")),
                        rule => check(rule, value, root).map_err(|why| format!("{name}: {why}"))?,
                    }
                }
            }
            other => return Err(format!("`{other}` is no word of a schema")),
        }
    }
    Ok(())
}

/// Every schema inside a schema, by way of the words that hold some.
fn every(schema: &Value, found: &mut Vec<Value>) {
    found.push(schema.clone());
    for (word, rule) in schema.as_object().into_iter().flatten() {
        match word.as_str() {
            "anyOf" | "oneOf" | "allOf" => {
                rule.as_array()
                    .unwrap()
                    .iter()
                    .for_each(|rule| every(rule, found));
            }
            "properties" | "$defs" => {
                rule.as_object()
                    .unwrap()
                    .values()
                    .for_each(|rule| every(rule, found));
            }
            "items" | "not" => every(rule, found),
            "additionalProperties" if rule.is_object() => every(rule, found),
            _ => {}
        }
    }
}

fn parsed() -> Value {
    serde_json::from_str(&schema()).unwrap()
}

#[test]
fn every_part_of_the_schema_is_made_of_known_words() {
    let root = parsed();
    let mut all = Vec::new();
    every(&root, &mut all);
    assert!(all.len() > 500, "{}", all.len());
    for schema in all {
        // A value that no word accepts by accident: only unknown words and references may fail.
        let result = check(&schema, &Value::Null, &root);
        let complaint = result.err().unwrap_or_default();
        assert!(!complaint.contains("no word of a schema"), "{complaint}");
        assert!(!complaint.contains("is nowhere"), "{complaint}");
        assert!(!complaint.contains("is no schema"), "{complaint}");
    }
}

fn json_of_toml(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => json!(text),
        toml::Value::Integer(number) => json!(number),
        toml::Value::Float(number) => json!(number),
        toml::Value::Boolean(yes) => json!(yes),
        toml::Value::Datetime(date) => json!(date.to_string()),
        toml::Value::Array(items) => items.into_iter().map(json_of_toml).collect(),
        toml::Value::Table(table) => {
            let entries = table
                .into_iter()
                .map(|(key, value)| (key, json_of_toml(value)));
            Value::Object(entries.collect())
        }
    }
}

fn fits(text: &str) -> Result<(), String> {
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.to_string())?;
    let root = parsed();
    check(&root, &json_of_toml(toml::Value::Table(table)), &root)
}

#[test]
fn scenarios_fit_the_schema_as_written_and_as_resolved() {
    for (name, text) in crate::scenario::examples() {
        // The parser of this test has 64 bits with a sign.
        let text = text.replace("18446744073709551615", "5");
        assert_eq!(fits(&text), Ok(()), "{name}");
        let scenario = Scenario::parse(name, &text, &[]).unwrap();
        assert_eq!(fits(&scenario.resolved()), Ok(()), "{name}");
    }
}

#[test]
fn what_the_parser_refuses_does_not_fit_the_schema_either() {
    for wrong in [
        "nam = 'x'",
        "seed = -1",
        "runs = 1.5",
        "[switch]\nmarking = { kind = 'tcm' }",
        "[switch]\nmarking = { kind = 'tcn', treshold = '78us' }",
        "[switch]\nmarking = { kind = 'tcn', threshold = '78parsecs' }",
        "[switch]\nmarking = { kind = 'tcn', threshold = 78 }",
        "[switch]\nscheduler = { quanta = [1500] }",
        "[topology]\nhost_rate = '-10Gbps'",
        "[transport]\nopening = 'closed'",
        "[[traffic]]\nload = 0.5",
        "[[traffic]]\nkind = 'poisson'\nload = '1/x'",
        "[observe]\nseries = { interval = '10us', limits = 5 }",
        "[sweep]\n'traffic.0.load' = []",
        "[sweep]\n'traffic.0.load' = 0.5",
    ] {
        assert!(fits(wrong).is_err(), "{wrong}");
        assert!(
            Scenario::parse("wrong.toml", wrong, &[]).is_err(),
            "{wrong}"
        );
    }
}
