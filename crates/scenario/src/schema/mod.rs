//! JSON Schema of scenario files, for editors, generated from the tables of the parser.

use serde_json::{Map, Value, json};
use tidegate_units::{Choice, Form};

use crate::layout::{Key, Section, Shape, tidy};
use crate::sections::ROOT;
use crate::text::document::before;

/// The schema, of draft 2020-12, as JSON text.
pub fn schema() -> String {
    let mut definitions = Definitions::default();
    let mut root = definitions.table(ROOT, "");
    root.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".into(), json!("Tidegate scenario"));
    let properties = root.get_mut("properties").and_then(Value::as_object_mut);
    if let Some(properties) = properties {
        properties.insert("include".into(), include());
        properties.insert("sweep".into(), sweep());
        properties.insert("figure".into(), figure());
    }
    for (name, form) in QUANTITIES {
        definitions.found.insert((*name).into(), quantity(*form));
    }
    root.insert("$defs".into(), Value::Object(definitions.found));
    let mut text = serde_json::to_string_pretty(&Value::Object(root)).unwrap_or_default();
    text.push('\n');
    text
}

/// Definitions of tables, each once.
#[derive(Default)]
struct Definitions {
    found: Map<String, Value>,
}

impl Definitions {
    /// A reference to the schema of a section, which is added on first use.
    fn reference(&mut self, section: &Section) -> Value {
        let name = section.name();
        if !self.found.contains_key(name) {
            // Reserves the name first, since a section may refer to itself.
            self.found.insert(name.into(), Value::Null);
            let made = self.section(section);
            self.found.insert(name.into(), made);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    fn section(&mut self, section: &Section) -> Value {
        let Some(kinds) = section.kinds() else {
            return Value::Object(self.table(section, ""));
        };
        let base = |kind: &&str| (section.same_keys_as)(kind).is_none();
        let of_kind = |kind: &str| {
            let mut table = self.table(section, kind);
            // Kinds with the same keys share one entry; their defaults are in the reference.
            let same = kinds.iter().filter(|other| (section.same_keys_as)(other) == Some(kind));
            let word = |kind: &str| match (section.kind_doc)(kind, section.about(kind)) {
                Some(doc) => json!({ "const": kind, "description": doc }),
                None => json!({ "const": kind }),
            };
            let words: Vec<Value> = [kind].iter().chain(same).map(|kind| word(kind)).collect();
            let properties = table.get_mut("properties").and_then(Value::as_object_mut);
            if let Some(properties) = properties {
                properties.insert("kind".into(), json!({ "oneOf": words }));
            }
            if section.default_kind != Some(kind) {
                table.insert("required".into(), json!(["kind"]));
            }
            table.insert("title".into(), json!(kind));
            Value::Object(table)
        };
        let tables: Vec<Value> = kinds.iter().copied().filter(base).map(of_kind).collect();
        json!({ "type": "object", "oneOf": tables })
    }

    fn table(&mut self, section: &Section, kind: &str) -> Map<String, Value> {
        let mut properties = Map::new();
        for key in section.keys(kind) {
            let schema = self.key(&key);
            if let Some(old) = before(key.name) {
                let mut schema = schema.clone();
                schema["deprecated"] = json!(true);
                properties.insert(old.into(), schema);
            }
            properties.insert(key.name.into(), schema);
        }
        let mut table = Map::new();
        table.insert("type".into(), json!("object"));
        table.insert("additionalProperties".into(), json!(false));
        table.insert("properties".into(), Value::Object(properties));
        table
    }

    fn key(&mut self, key: &Key) -> Value {
        let mut schema = match key.shape {
            Shape::Derived(form, word) => any_of(&[json!({ "const": word }), value(form)]),
            Shape::OptionalTable(section) => {
                any_of(&[json!({ "const": "none" }), self.reference(section)])
            }
            Shape::Profile(names) => json!({ "enum": names }),
            Shape::Selection(words) => any_of(&[
                json!({ "enum": words }),
                json!({ "type": ["string", "integer"] }),
                json!({ "type": "array", "items": { "type": ["string", "integer"] } }),
            ]),
            Shape::Setting(form) => value(form),
            // Some editors drop keywords beside a `$ref`: `allOf` keeps both.
            Shape::Table(section, []) => json!({ "allOf": [self.reference(section)] }),
            Shape::Table(section, words) => {
                any_of(&[json!({ "enum": words }), self.reference(section)])
            }
            Shape::Tables(section) => json!({ "type": "array", "items": self.reference(section) }),
        };
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".into(), json!(key.doc));
            if let Some(default) = key.default.as_deref().and_then(json_of) {
                schema.insert("default".into(), default);
            }
        }
        schema
    }
}

fn any_of(choices: &[Value]) -> Value {
    json!({ "anyOf": choices })
}

/// A TOML default as JSON.
fn json_of(toml: &str) -> Option<Value> {
    serde_json::from_str(toml).ok()
}

/// Quantities shared by many keys.
const QUANTITIES: &[(&str, Form)] = &[
    ("bytes_value", Form::Bytes),
    ("rate_value", Form::Rate),
    ("ratio_value", Form::Ratio),
    ("size_value", Form::Size),
    ("time_value", Form::Span),
];

/// Schema of a setting's value.
fn value(form: Form) -> Value {
    if let Some((name, _)) = QUANTITIES.iter().find(|(_, known)| *known == form) {
        return json!({ "$ref": format!("#/$defs/{name}") });
    }
    match form {
        Form::Bool => json!({ "type": "boolean" }),
        Form::Choice(choices) => {
            let word =
                |choice: &Choice| json!({ "const": choice.name, "description": tidy(choice.doc) });
            json!({ "oneOf": choices.iter().map(word).collect::<Vec<_>>() })
        }
        Form::List(item) => {
            let item = value(*item);
            let list = json!({ "type": "array", "items": item });
            any_of(&[list, item, json!({ "type": "string" })])
        }
        Form::Number(most) => json!({ "type": "integer", "minimum": 0, "maximum": most }),
        Form::Optional(inner) => any_of(&[json!({ "const": "none" }), value(*inner)]),
        Form::Text("") => json!({ "type": "string" }),
        Form::Text(accepted) => json!({
            "type": ["string", "integer", "array"],
            "items": { "type": ["string", "integer"] },
            "$comment": accepted,
        }),
        // The rest are quantities.
        other => quantity(other),
    }
}

/// A number with a unit, or a ratio.
fn quantity(form: Form) -> Value {
    let with_unit = |units: &str| {
        let pattern = format!("^ *[0-9][0-9_]*(\\.[0-9_]+)? *({units}) *$");
        json!({ "type": "string", "pattern": pattern })
    };
    match form {
        Form::Bytes => with_unit(BYTES),
        Form::Rate => with_unit("[TGMKk]?bps|[TGMKk]?b/s"),
        Form::Size => with_unit(&format!("{BYTES}|pkts?")),
        Form::Span => with_unit("ps|ns|us|µs|μs|ms|s|min|h"),
        _ => {
            let pattern = "^ *[0-9][0-9_]*((\\.[0-9_]+)? *%?| */ *[0-9]+) *$";
            any_of(&[
                json!({ "type": "number", "minimum": 0 }),
                json!({ "type": "string", "pattern": pattern }),
            ])
        }
    }
}

const BYTES: &str = "[GMKk]?B|[GMK]iB";

fn include() -> Value {
    json!({
        "description": "Base files, relative to this one: a name, or a list of names.",
        "type": ["string", "array"],
        "items": { "type": "string" },
    })
}

fn figure() -> Value {
    json!({
        "type": "object",
        "description": "A paper's claims about the figure that the scenario reproduces. They \
            change no run: `tidegate reproduce` judges them, and `tidegate check` reports mistakes \
            in them.",
    })
}

fn sweep() -> Value {
    let range = json!({
        "type": "object",
        "properties": {
            "from": { "type": ["number", "string"] },
            "to": { "type": ["number", "string"] },
            "step": { "type": ["number", "string"] },
        },
        "required": ["from", "to", "step"],
        "additionalProperties": false,
    });
    json!({
        "description": SWEEP,
        "type": "object",
        "additionalProperties": {
            "anyOf": [
                { "type": "array", "minItems": 1 },
                range,
                { "type": "object", "not": { "required": ["from"] } },
            ],
        },
    })
}

const SWEEP: &str = "Parameters to vary: a key such as \"traffic.0.load\" with a list of values or \
    a range { from, to, step }; or any name with a list of tables, each of which sets several keys \
    and may have a label.";

#[cfg(test)]
pub(crate) mod tests;
