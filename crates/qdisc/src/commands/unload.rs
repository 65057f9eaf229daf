//! `tidegate qdisc unload`.

use std::fmt::Write;

use serde::Serialize;

use super::Output;
use crate::args::Unload;
use crate::attach::{self, Removed};
use crate::counters::Counters;
use crate::error::Error;
use crate::machine;
use crate::record;

/// A port that was removed.
#[derive(Debug, Serialize)]
struct Report {
    device: String,
    /// Counters at the end; none if only the remains of a killed load were there.
    counters: Option<Counters>,
}

pub(super) fn unload(arguments: &Unload, output: Output) -> Result<(), Error> {
    machine::check_privileges(machine::TO_REMOVE)?;
    let pins = &arguments.pins;
    let _lock = machine::lock(pins)?;
    let loaded = record::devices(pins);
    if let Some(name) = arguments.devices.iter().find(|name| !loaded.contains(name)) {
        return Err(Error::NotLoaded(name.clone()));
    }
    let names = if arguments.devices.is_empty() { &loaded } else { &arguments.devices };
    if names.is_empty() {
        return Err(Error::NothingLoaded);
    }
    let mut reports = Vec::new();
    for name in names {
        let Removed { counters } = attach::detach(&record::folder(pins, name))?;
        reports.push(Report { device: name.clone(), counters });
    }
    // It may have other devices.
    let _ = std::fs::remove_dir(pins);
    if output.json {
        return output.print_json(&reports);
    }
    let mut text = String::new();
    for Report { device, counters } in &reports {
        // Writing to a string cannot fail.
        let _ = match counters {
            None => writeln!(text, "removed the remains of a killed load of {device}"),
            Some(counters) => {
                let Counters { received, sent, marked, drops, .. } = counters;
                let dropped: u64 = drops.values().sum();
                writeln!(
                    text,
                    "unloaded {device}: {} packets came, {} went, {marked} of them marked, {dropped} dropped",
                    received.packets, sent.packets
                )
            }
        };
    }
    output.print(&text)
}
