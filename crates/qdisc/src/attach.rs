//! A port on a device: everything that `load` makes, in an order in which `unload` finds it after a
//! kill at any moment, and its removal.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::args::Way;
use crate::counters::Counters;
use crate::device::{self, Device, Step};
use crate::error::Error;
use crate::kernel::port::{self, Programs};
use crate::record::{self, Record};

/// A port to be loaded.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its device.
    pub device: Device,
    /// Settings, of [`setup`](crate::setup).
    pub setup: Vec<u8>,
    /// Number of queues.
    pub queues: u8,
    /// Whether the scheme has a table of flows.
    pub has_flows: bool,
    /// Whether the buffer is a pool.
    pub has_pool: bool,
    /// Whether the device has no `clsact` yet.
    pub adds_clsact: bool,
    /// Settings, as text.
    pub settings: BTreeMap<String, String>,
}

/// Result of a removal.
#[derive(Clone, Debug, PartialEq)]
pub struct Removed {
    /// Counters at the end, if the port had any.
    pub counters: Option<Counters>,
}

/// Loads a port. After an error nothing is left of it.
///
/// `pool` is the folder of an earlier port whose pool it shares.
pub fn attach(plan: &Plan, pins: &Path, pool: Option<&Path>) -> Result<(), Error> {
    let folder = record::folder(pins, &plan.device.name);
    let mut record = Record {
        device: plan.device.name.clone(),
        index: plan.device.index,
        namespace: record::namespace()?,
        name: free_name(pins)?,
        way: Way::Qdisc,
        adds_clsact: plan.adds_clsact,
        is_complete: false,
        settings: plan.settings.clone(),
    };
    let made = record.pin(&folder).and_then(|()| {
        build(plan, &record, &folder, pool)?;
        record.is_complete = true;
        record.update(&folder)
    });
    made.map_err(|error| match detach(&folder) {
        Ok(_) => error,
        // The removal's own error would hide the reason.
        Err(left) => Error::System {
            action: format!("load {}", plan.device.name),
            why: format!("{error}\n{left}"),
        },
    })
}

fn build(plan: &Plan, record: &Record, folder: &Path, pool: Option<&Path>) -> Result<(), Error> {
    let pool = pool.map(|folder| folder.join(port::POOL));
    let settings = port::Settings {
        name: &record.name,
        setup: &plan.setup,
        queues: plan.queues,
        has_flows: plan.has_flows,
        pool: pool.as_deref(),
    };
    let mut programs = Programs::load(&settings)?;
    programs.pin(folder, plan.has_pool)?;
    device::load_driver();
    steps(plan, &record.name, folder).iter().try_for_each(Step::run)
}

/// Changes of devices that a load makes.
pub fn steps(plan: &Plan, name: &str, folder: &Path) -> Vec<Step> {
    let device = &plan.device.name;
    let mut steps = device::add_qdisc_device(name).to_vec();
    if plan.adds_clsact {
        steps.push(device::add_clsact(device));
    }
    steps.push(device::add_program(device, &folder.join(port::MARK)));
    // From here on packets go through the port.
    steps.push(device::add_redirect(device, name));
    steps
}

/// A name that no device and no other port has.
pub fn free_name(pins: &Path) -> Result<String, Error> {
    let devices = record::devices(pins);
    let records = devices.iter().map(|device| Record::read(&record::folder(pins, device)));
    let mut taken = Vec::new();
    for record in records {
        taken.extend(record?.map(|record| record.name));
    }
    let mut number = 0;
    loop {
        let name = format!("tidegate{number}");
        if !taken.contains(&name) && !device::exists(&name)? {
            return Ok(name);
        }
        number += 1;
    }
}

/// Removes a port, or the remains of a load that was killed. Packets that wait are sent first.
pub fn detach(folder: &Path) -> Result<Removed, Error> {
    let Some(record) = Record::read(folder)? else {
        Record::remove(folder)?;
        return Ok(Removed { counters: None });
    };
    if record.namespace != record::namespace()? {
        return Err(Error::Elsewhere(record.device, record.namespace));
    }
    // It may have been removed, or renamed.
    let device = Device::numbered(record.index)?;
    if let Some(device) = &device {
        device.remove_redirect(&record.name)?;
        drain(folder);
        device.remove_program(port::MARK_PROGRAM)?;
        if record.adds_clsact {
            device.remove_clsact()?;
        }
    }
    device::remove_qdisc_device(&record.name)?;
    let counters = port::counters(folder).ok();
    port::unpin(folder)?;
    Record::remove(folder)?;
    Ok(Removed { counters })
}

/// Waits until a port is empty, or for as long as it can take.
fn drain(folder: &Path) {
    for _ in 0..DRAIN.as_millis() {
        match port::counters(folder) {
            Ok(counters) if counters.held() > 0 => thread::park_timeout(Duration::from_millis(1)),
            _ => return,
        }
    }
}

/// Longer than a port takes to send what waits, unless its rate is far too low.
const DRAIN: Duration = Duration::from_secs(5);
