//! A switch as a TOML file: a table `[switch]` for what all ports do, a table `[[port]]` for each.
//!
//! ```toml
//! [switch]
//! marking = { kind = "tcn", threshold = "256us" }
//! scheduler = { kind = "dwrr", quanta = [1500, 3000] }
//! buffer = { kind = "per-port", limit = "96KB" }
//! dscp = { queues = "46:0, 10:1", unknown = "last" }
//! non_ect = "pass"
//!
//! [[port]]
//! interface = "veth0"
//! rate = "1Gbps"
//! delay = "50us"
//! ```
//!
//! What is left out is as in [`Config::new`]. The keys of `marking`, `scheduler` and `buffer` besides
//! `kind` are the settings of what it names; `[switch]` has all [`Options`](crate::config::Options).

use std::collections::BTreeMap;

use serde::Deserialize;
use tidegate_dataplane::{buffer, mark, sched};
use tidegate_units::{ConfigError, ParseError, Rate, Setting, Settings};
use toml::{Spanned, Value};

use crate::config::{Config, PortSettings};
use crate::error::Error;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    switch: Table,
    #[serde(default)]
    port: Vec<Table>,
}

type Table = BTreeMap<String, Spanned<Value>>;

/// Something wrong with the value of a key.
struct Problem {
    key: String,
    /// Where the value begins in the file.
    at: usize,
    text: String,
}

impl Config {
    /// Reads a switch from the text of a file that is called `name` in errors.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let file: File = toml::from_str(text)
            .map_err(|error| Error::File(format!("{name}: {}", error.to_string().trim_end())))?;
        read(&file).map_err(
            |Problem {
                 key,
                 at,
                 text: problem,
             }| {
                let line = 1 + text.bytes().take(at).filter(|&byte| byte == b'\n').count();
                Error::File(format!("{name}:{line}: {key}: {problem}"))
            },
        )
    }
}

fn read(file: &File) -> Result<Config, Problem> {
    let mut config = Config::new();
    for (key, value) in &file.switch {
        let wrong = |text: String| problem(text, key, value);
        let table = |fields: &'static str| {
            let table = value.get_ref().as_table();
            table.ok_or_else(|| wrong(format!("must be a table, such as {fields}")))
        };
        match key.as_str() {
            "marking" => {
                let table = table("{ kind = \"tcn\", threshold = \"78us\" }")?;
                let made = Made {
                    named: mark::Config::named,
                    names: mark::Config::NAMES,
                    set: mark::Config::set,
                };
                config.marking = made.read(table).map_err(wrong)?;
            }
            "scheduler" => {
                let table = table("{ kind = \"dwrr\", quanta = [1500, 3000] }")?;
                let made = Made {
                    named: sched::Config::named,
                    names: sched::Config::NAMES,
                    set: sched::Config::set,
                };
                config.scheduling = made.read(table).map_err(wrong)?;
            }
            "buffer" => {
                let table = table("{ kind = \"per-port\", limit = \"96KB\" }")?;
                let made = Made {
                    named: buffer::Config::named,
                    names: buffer::Config::NAMES,
                    set: buffer::Config::set,
                };
                config.buffer = made.read(table).map_err(wrong)?;
            }
            "dscp" => {
                for (field, value) in table("{ queues = \"46:0, 10:1\" }")? {
                    let text = scalar(value).map_err(wrong)?;
                    let set = config.dscp.set(field, &text);
                    set.map_err(|error| wrong(error.to_string()))?;
                }
            }
            _ => {
                let text = scalar(value.get_ref()).map_err(wrong)?;
                let set = config.options.set(key, &text);
                set.map_err(|error| wrong(switch_error(&error)))?;
            }
        }
    }
    for port in &file.port {
        config.ports.push(read_port(port)?);
    }
    Ok(config)
}

fn read_port(table: &Table) -> Result<PortSettings, Problem> {
    let mut port = PortSettings::new("", Rate::from_gbps(1));
    for (key, value) in table {
        let wrong = |text: String| problem(text, key, value);
        let text = scalar(value.get_ref()).map_err(wrong)?;
        let unreadable = |error: ParseError| wrong(error.to_string());
        match key.as_str() {
            "interface" => port.interface = text,
            "rate" => port.rate = text.parse().map_err(unreadable)?,
            "device" => port.device = Setting::read(&text).map_err(unreadable)?,
            "uplink" => port.uplink = Some(text.parse().map_err(unreadable)?),
            "delay" => port.delay = text.parse().map_err(unreadable)?,
            "stations" => port.stations = Setting::read(&text).map_err(unreadable)?,
            _ => {
                let known = "unknown; known: interface, rate, device, uplink, delay, stations";
                return Err(wrong(known.into()));
            }
        }
    }
    Ok(port)
}

fn problem(text: String, key: &str, value: &Spanned<Value>) -> Problem {
    Problem {
        key: key.into(),
        at: value.span().start,
        text,
    }
}

/// An error of the options, with all keys of the table in it.
fn switch_error(error: &ConfigError) -> String {
    match error {
        ConfigError::UnknownField { .. } => {
            format!("{error}, marking, scheduler, buffer, dscp")
        }
        other => other.to_string(),
    }
}

/// How parameters are made by name.
struct Made<T> {
    named: fn(&str) -> Option<T>,
    names: &'static [&'static str],
    set: fn(&mut T, &str, &str) -> Result<(), ConfigError>,
}

impl<T> Made<T> {
    fn read(&self, table: &toml::Table) -> Result<T, String> {
        let known = || format!("known: {}", self.names.join(", "));
        let kind = table.get("kind").and_then(Value::as_str);
        let kind = kind.ok_or_else(|| format!("has no `kind`; {}", known()))?;
        let made = (self.named)(kind);
        let mut made = made.ok_or_else(|| format!("there is no `{kind}`; {}", known()))?;
        for (field, value) in table.iter().filter(|(field, _)| *field != "kind") {
            (self.set)(&mut made, field, &scalar(value)?).map_err(|error| error.to_string())?;
        }
        Ok(made)
    }
}

/// The text form of a value: as settings are written.
fn scalar(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(truth) => Ok(truth.to_string()),
        Value::Array(values) => {
            let values = values.iter().map(scalar);
            Ok(values.collect::<Result<Vec<_>, _>>()?.join(", "))
        }
        other => Err(format!("a {} cannot be a value here", other.type_str())),
    }
}

#[cfg(test)]
mod tests {
    use tidegate_units::Span;

    use super::*;
    use crate::config::DeviceKind;

    const PORT: &str = "[[port]]\ninterface = \"a\"\nrate = \"995Mbps\"\n";

    fn error(text: &str) -> String {
        Config::parse("a.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn a_whole_file_is_read() {
        let text = "[switch]\n\
            marking = { kind = \"tcn\", threshold = \"78us\" }\n\
            scheduler = { kind = \"dwrr\", quanta = [1500, 3000] }\n\
            buffer = { kind = \"dynamic-threshold\", pool_size = \"1MB\", alpha = [1, 0.5] }\n\
            dscp = { queues = \"46:0\", unknown = \"last\" }\n\
            non_ect = \"drop\"\nseed = 7\n\
            [[port]]\ninterface = \"a\"\nrate = \"995Mbps\"\n\
            [[port]]\ninterface = \"b\"\ndevice = \"tap\"\nuplink = \"1Gbps\"\ndelay = \"50us\"\n\
            stations = 16\n";
        let config = Config::parse("a.toml", text).unwrap();
        assert_eq!(config.marking.value("threshold").unwrap(), "78us");
        assert_eq!(config.scheduling.value("quanta").unwrap(), "1500, 3000");
        assert_eq!(config.buffer.value("alpha").unwrap(), "1, 1/2");
        assert_eq!(config.dscp.value("queues").unwrap(), "46:0");
        assert_eq!(config.options.seed, 7);
        assert_eq!(config.options.ageing, Span::from_secs(300), "left out");
        assert_eq!(config.ports[0].rate.as_bps(), 995_000_000);
        assert_eq!(config.ports[1].interface, "b");
        assert_eq!(config.ports[1].device, DeviceKind::Tap);
        assert_eq!(config.ports[1].uplink, Some(Rate::from_gbps(1)));
        let stations = [0, 1].map(|port: usize| config.ports[port].stations);
        assert_eq!(stations, [None, Some(16)]);
        let delays = [0, 1].map(|port: usize| config.ports[port].delay);
        assert_eq!(delays, [Span::ZERO, Span::from_us(50)]);
    }

    #[test]
    fn what_is_left_out_is_the_default() {
        let config = Config::parse("a.toml", PORT).unwrap();
        let expected = Config {
            ports: config.ports.clone(),
            ..Config::new()
        };
        assert_eq!(config, expected);
    }

    #[test]
    fn errors_name_file_line_key_and_what_would_work() {
        let cases = [
            (
                "marking = { kind = \"tcm\" }",
                "a.toml:2: marking: there is no `tcm`; known: bcc",
            ),
            (
                "marking = \"tcn\"",
                "a.toml:2: marking: must be a table, such as { kind",
            ),
            (
                "marking = { threshold = \"1us\" }",
                "a.toml:2: marking: has no `kind`; known",
            ),
            (
                "seed = 1\nmarking = { kind = \"tcn\", treshold = \"1us\" }",
                "a.toml:3: marking: there is no setting `treshold`; known: threshold",
            ),
            (
                "buffer = { kind = \"per-port\", limit = \"1\" }",
                "a.toml:2: buffer: limit: `1`",
            ),
            (
                "sead = 1",
                "a.toml:2: sead: there is no setting `sead`; known: non_ect",
            ),
            (
                "dscp = { queues = \"x\" }",
                "a.toml:2: dscp: queues: `x` cannot be read",
            ),
            (
                "dscp = { queues = { a = 1 } }",
                "a.toml:2: dscp: a table cannot be a value",
            ),
        ];
        for (line, expected) in cases {
            let found = error(&format!("[switch]\n{line}\n{PORT}"));
            assert!(found.starts_with(expected), "{found}");
        }
        let found = error("[[port]]\ninterface = \"a\"\nrate = \"fast\"\n");
        assert!(
            found.starts_with("a.toml:3: rate: `fast` cannot be read"),
            "{found}"
        );
        let found = error("[[port]]\nname = \"a\"\n");
        assert!(
            found.ends_with("known: interface, rate, device, uplink, delay, stations"),
            "{found}"
        );
        assert!(error("[swich]\n").contains("swich"));
        assert!(error("[switch\n").starts_with("a.toml: "));
    }
}
