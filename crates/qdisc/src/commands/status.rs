//! `tidegate qdisc status`.

use std::fmt::Write;

use serde::Serialize;

use super::Output;
use crate::args::Status;
use crate::counters::Counters;
use crate::error::Error;
use crate::kernel::port;
use crate::machine;
use crate::record::{self, Record};

/// A loaded port.
#[derive(Debug, Serialize)]
struct Port {
    #[serde(flatten)]
    record: Record,
    counters: Option<Counters>,
}

pub(super) fn status(arguments: &Status, output: Output) -> Result<(), Error> {
    machine::check_privileges(machine::TO_READ)?;
    let mut ports = Vec::new();
    for device in record::devices(&arguments.pins) {
        let folder = record::folder(&arguments.pins, &device);
        match Record::read(&folder)? {
            Some(record) if record.is_complete => {
                ports.push(Port { record, counters: port::counters(&folder).ok() });
            }
            _ => output.warn(format!(
                "a load of {device} was killed half-way\nhint: tidegate qdisc unload {device}"
            )),
        }
    }
    if output.json {
        return output.print_json(&ports);
    }
    if ports.is_empty() {
        output.say("nothing is loaded: tidegate qdisc load DEV --rate 10Gbps");
        return Ok(());
    }
    let mut text = String::new();
    for Port { record, counters } in &ports {
        let value = |key: &str| record.settings.get(key).map_or("", String::as_str);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}: {} over {} at {}, {}",
            record.device,
            value("scheme"),
            value("scheduler"),
            value("rate"),
            record.name,
        );
        let settings = record.settings.iter().filter(|(key, _)| key.contains('.'));
        for (key, value) in settings.filter(|(_, value)| *value != "none") {
            let _ = writeln!(text, "  {key}={value}");
        }
        if let Some(counters) = counters {
            let _ = writeln!(
                text,
                "  {} packets came, {} went, {} wait, {} marked",
                counters.received.packets,
                counters.sent.packets,
                counters.held(),
                counters.marked
            );
            for (reason, count) in &counters.drops {
                let _ = writeln!(text, "  {count} dropped: {reason}");
            }
        }
    }
    output.print(&text)
}
