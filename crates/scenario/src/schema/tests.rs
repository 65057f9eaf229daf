//! The schema agrees with its committed copy, uses known keywords, and accepts the scenarios.

use regex_lite::Regex;
use serde_json::Value;

use super::*;
use crate::Scenario;

#[test]
fn the_schema_is_up_to_date() {
    tidegate_harness::golden::check("docs/reference/scenario.schema.json", &schema());
}

/// Checks `value` by the keywords of JSON Schema that ours uses. Any other keyword is an error too.
fn check(schema: &Value, value: &Value, root: &Value) -> Result<(), String> {
    let words = schema.as_object().ok_or_else(|| format!("{schema} is no schema"))?;
    for (word, rule) in words {
        let known = check_choice(word, rule, value, root)?
            || check_size(word, rule, value)?
            || check_parts(word, rule, value, words, root)?;
        let says_nothing =
            ["$schema", "$defs", "$comment", "title", "description", "default", "deprecated"];
        if !known && !says_nothing.contains(&word.as_str()) {
            return Err(format!("`{word}` is no word of a schema"));
        }
    }
    Ok(())
}

fn list(rule: &Value) -> &[Value] {
    rule.as_array().map_or(&[], Vec::as_slice)
}

fn hold(condition: bool, value: &Value, what: &str, rule: &Value) -> Result<bool, String> {
    if condition { Ok(true) } else { Err(format!("{value} {what} {rule}")) }
}

/// Words that choose among schemas or values; whether it is one of them.
fn check_choice(word: &str, rule: &Value, value: &Value, root: &Value) -> Result<bool, String> {
    let fits = |schema: &&Value| check(schema, value, root).is_ok();
    match word {
        "$ref" => {
            let path = rule.as_str().unwrap().trim_start_matches('#');
            let found = root.pointer(path);
            check(found.ok_or_else(|| format!("{rule} is nowhere"))?, value, root).map(|()| true)
        }
        "const" => hold(rule == value, value, "is not", rule),
        "enum" => hold(list(rule).contains(value), value, "is none of", rule),
        "allOf" => {
            let mut rules = list(rule).iter();
            rules.try_for_each(|rule| check(rule, value, root)).map(|()| true)
        }
        "anyOf" => hold(list(rule).iter().any(|rule| fits(&rule)), value, "fits none of", rule),
        "oneOf" => {
            let fitting = list(rule).iter().filter(fits).count();
            hold(fitting == 1, value, "does not fit exactly one of", rule)
        }
        "not" => hold(!fits(&rule), value, "fits", rule),
        _ => Ok(false),
    }
}

/// Words about a value alone.
fn check_size(word: &str, rule: &Value, value: &Value) -> Result<bool, String> {
    match word {
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
            let fits = is(rule) || list(rule).iter().any(is);
            hold(fits, value, "is not of the type", rule)
        }
        "pattern" => {
            let pattern = Regex::new(rule.as_str().unwrap()).map_err(|error| error.to_string())?;
            let fits = value.as_str().is_none_or(|text| pattern.is_match(text));
            hold(fits, value, "is not like", rule)
        }
        "minimum" | "maximum" => {
            let bound = rule.as_f64().unwrap();
            let fits = value.as_f64().is_none_or(|value| match word {
                "minimum" => value >= bound,
                _ => value <= bound,
            });
            hold(fits, value, "is beyond", rule)
        }
        "minItems" => {
            let least = rule.as_u64().unwrap();
            let fits = value.as_array().is_none_or(|items| items.len() as u64 >= least);
            hold(fits, value, "is shorter than", rule)
        }
        _ => Ok(false),
    }
}

/// Words about the parts of a value.
fn check_parts(
    word: &str,
    rule: &Value,
    value: &Value,
    words: &Map<String, Value>,
    root: &Value,
) -> Result<bool, String> {
    let named = |name: &str, why: String| format!("{name}: {why}");
    match word {
        "items" => {
            list(value).iter().try_for_each(|item| check(rule, item, root))?;
        }
        "required" => {
            let given = |name: &Value| value.get(name.as_str().unwrap()).is_some();
            let fits = !value.is_object() || list(rule).iter().all(given);
            hold(fits, value, "lacks one of", rule)?;
        }
        "properties" => {
            for (name, rule) in rule.as_object().ok_or("properties are an object")? {
                if let Some(value) = value.get(name) {
                    check(rule, value, root).map_err(|why| named(name, why))?;
                }
            }
        }
        "additionalProperties" => {
            let known = words.get("properties").and_then(Value::as_object);
            let is_known = |name: &String| known.is_some_and(|known| known.contains_key(name));
            let others = value.as_object().into_iter().flatten();
            for (name, value) in others.filter(|(name, _)| !is_known(name)) {
                match rule {
                    Value::Bool(false) => return Err(format!("`{name}` is unknown")),
                    rule => check(rule, value, root).map_err(|why| named(name, why))?,
                }
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Every schema inside a schema, by way of the words that hold some.
fn every(schema: &Value, found: &mut Vec<Value>) {
    found.push(schema.clone());
    for (word, rule) in schema.as_object().into_iter().flatten() {
        match word.as_str() {
            "anyOf" | "oneOf" | "allOf" => {
                rule.as_array().unwrap().iter().for_each(|rule| every(rule, found));
            }
            "properties" | "$defs" => {
                rule.as_object().unwrap().values().for_each(|rule| every(rule, found));
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
            let entries = table.into_iter().map(|(key, value)| (key, json_of_toml(value)));
            Value::Object(entries.collect())
        }
    }
}

fn fits(text: &str) -> Result<(), String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let root = parsed();
    check(&root, &json_of_toml(toml::Value::Table(table)), &root)
}

#[test]
fn scenarios_fit_the_schema_as_written_and_as_resolved() {
    for (name, text) in crate::tests::FILES {
        // The parser of this test has 64 bits with a sign.
        let text = text.replace("18446744073709551615", "5");
        assert_eq!(fits(&text), Ok(()), "{name}");
        let scenario = Scenario::parse(name, &text, &[]).unwrap();
        assert_eq!(fits(&scenario.resolved()), Ok(()), "{name}");
    }
}

#[test]
fn scenarios_refused_by_the_parser_violate_the_schema() {
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
        assert!(Scenario::parse("wrong.toml", wrong, &[]).is_err(), "{wrong}");
    }
}
