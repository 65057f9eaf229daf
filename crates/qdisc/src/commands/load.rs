//! `tidegate qdisc load`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tidegate_dataplane::{buffer, mark};

use super::Output;
use crate::args::{Load, Way};
use crate::attach::{self, Plan};
use crate::config::{Request, Requested};
use crate::device::{Device, Side};
use crate::error::Error;
use crate::machine;
use crate::record::{self, Record};

/// A port that was loaded, or would be.
#[derive(Debug, Serialize)]
struct Report<'a> {
    device: &'a str,
    way: Way,
    settings: &'a BTreeMap<String, String>,
    pins: PathBuf,
    /// Commands that are run, with the names of a first port.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<String>,
    dry_run: bool,
}

pub(super) fn load(arguments: &Load, output: Output) -> Result<(), Error> {
    let request = Request::new(arguments)?;
    machine::check_privileges(machine::TO_LOAD)?;
    let offered = machine::way(&arguments.types)?;
    let way = arguments.way.unwrap_or(offered);
    if way == Way::Qdisc && offered != Way::Qdisc {
        return Err(Error::NoBpfQdisc);
    }
    let pins = &arguments.pins;
    let _lock = machine::lock(pins)?;
    let plans = plans(arguments, &request)?;
    if arguments.dry_run {
        return report(&plans, way, arguments, output);
    }
    let mut loaded: Vec<&Plan> = Vec::new();
    for plan in &plans {
        let folder = record::folder(pins, &plan.device.name);
        if folder.exists() {
            output.say(format!("removing the remains of a killed load of {}", plan.device.name));
            attach::detach(&folder)?;
        }
        let pool = loaded.first().filter(|_| plan.has_pool);
        let pool = pool.map(|first| record::folder(pins, &first.device.name));
        if let Err(error) = attach::attach(plan, pins, pool.as_deref()) {
            // All or nothing.
            for plan in loaded {
                attach::detach(&record::folder(pins, &plan.device.name))?;
            }
            let _ = std::fs::remove_dir(pins);
            return Err(error);
        }
        loaded.push(plan);
    }
    report(&plans, way, arguments, output)
}

/// All ports, checked before the first is loaded.
fn plans(arguments: &Load, request: &Request) -> Result<Vec<Plan>, Error> {
    let mut plans: Vec<Plan> = Vec::new();
    for requested in &request.ports {
        if plans.iter().all(|plan| plan.device.name != requested.device) {
            plans.push(plan(arguments, request, requested)?);
        }
    }
    Ok(plans)
}

fn plan(arguments: &Load, request: &Request, requested: &Requested) -> Result<Plan, Error> {
    let device = Device::named(&requested.device)?;
    check_loaded(&arguments.pins, &device)?;
    let rate = requested.rate.map_or_else(|| device.rate(), Ok)?;
    let port = request.port(rate)?;
    Ok(Plan {
        setup: port.encode()?,
        queues: request.queues()?,
        has_flows: matches!(request.marking, mark::Config::DiffEcn(_)),
        has_pool: matches!(request.buffer, buffer::Config::DynamicThreshold(_)),
        adds_clsact: check_qdiscs(&device, arguments.replace)?,
        settings: request.describe(rate),
        device,
    })
}

/// Refuses a device that is already loaded.
fn check_loaded(pins: &Path, device: &Device) -> Result<(), Error> {
    match Record::read(&record::folder(pins, &device.name))? {
        Some(record) if record.namespace != record::namespace()? => {
            Err(Error::Elsewhere(record.device, record.namespace))
        }
        Some(record) if record.is_complete => Err(Error::Loaded(record.device)),
        _ => Ok(()),
    }
}

/// Refuses a device whose qdisc would queue beside the port. Returns whether it has no `clsact`.
fn check_qdiscs(device: &Device, replace: bool) -> Result<bool, Error> {
    let found = device.qdiscs()?;
    if let Some(root) = found.root.filter(|_| !replace) {
        return Err(Error::HasQdisc {
            device: device.name.clone(),
            kind: root.kind,
            handle: root.handle,
            effect: "keeps it behind the port, which must be the slower of the two",
        });
    }
    let Some(filters) = found.filters else {
        return Ok(true);
    };
    let refuse = |what: String, hint: String| {
        Err(Error::HasFilters { device: device.name.clone(), what, hint })
    };
    if filters.kind != "clsact" {
        let what = format!("the qdisc {} {}", filters.kind, filters.handle);
        return refuse(what, format!("tc qdisc replace dev {} clsact", device.name));
    }
    match device.filters(Side::Egress)?.first() {
        Some(filter) => refuse(
            format!("the egress filter {filter}"),
            format!("tc filter show dev {} egress", device.name),
        ),
        None => Ok(false),
    }
}

fn report(plans: &[Plan], way: Way, arguments: &Load, output: Output) -> Result<(), Error> {
    let name = attach::free_name(&arguments.pins)?;
    let reports = plans.iter().map(|plan| {
        let folder = record::folder(&arguments.pins, &plan.device.name);
        let steps = attach::steps(plan, &name, &folder);
        let steps = steps.iter().filter(|_| arguments.dry_run).map(ToString::to_string);
        Report {
            device: &plan.device.name,
            way,
            settings: &plan.settings,
            steps: steps.collect(),
            pins: folder,
            dry_run: arguments.dry_run,
        }
    });
    let reports: Vec<_> = reports.collect();
    if output.json {
        return output.print_json(&reports);
    }
    let mut text = String::new();
    for Report { device, settings, pins, steps, dry_run, .. } in &reports {
        let verb = if *dry_run { "would load" } else { "loaded" };
        let way = match way {
            Way::Qdisc => "a BPF qdisc",
            Way::Edt => "departure times at fq",
        };
        let value = |key: &str| settings.get(key).map_or("", String::as_str);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{verb} {device} by {way}, {} over {} at {}, pinned at {}",
            value("scheme"),
            value("scheduler"),
            value("rate"),
            pins.display()
        );
        for step in steps {
            let _ = writeln!(text, "  {step}");
        }
    }
    output.print(&text)
}
