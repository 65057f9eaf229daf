//! Programs of a port, from their settings to pins in a BPF file system.

use std::fs;
use std::os::fd::AsFd;
use std::path::Path;

use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, OpenObject};

use super::{open, refused};
use crate::counters::Counters;
use crate::error::Error;

/// Pins of a port, in the order in which they are made: its counters.
pub const COUNTERS: &str = "counters";
/// Histograms of sojourn times.
pub const SOJOURN: &str = "sojourn";
/// The pool, if there is one.
pub const POOL: &str = "pool";
/// The program that sets CE.
pub const MARK: &str = "mark";
/// The qdisc.
pub const QDISC: &str = "qdisc";

/// Name of that program.
pub const MARK_PROGRAM: &str = "tg_mark";

/// Text in the object that the qdisc's name replaces.
const PLACEHOLDER: &[u8] = b"tidegate-port\0\0\0";

/// Settings of a port's programs.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// Name of the qdisc.
    pub name: &'a str,
    /// Settings, of [`setup`](crate::setup).
    pub setup: &'a [u8],
    /// Number of queues.
    pub queues: u8,
    /// Whether the scheme has a table of flows.
    pub has_flows: bool,
    /// Pin of the pool that an earlier port has made.
    pub pool: Option<&'a Path>,
}

/// Programs of a port in the kernel. They are removed with this value, unless they are pinned.
#[derive(Debug)]
pub struct Programs {
    object: Object,
    qdisc: Link,
}

impl Programs {
    /// Loads the programs and registers the qdisc.
    pub fn load(settings: &Settings<'_>) -> Result<Self, Error> {
        let programs = include_bytes!(concat!(env!("OUT_DIR"), "/qdisc.o"));
        let mut object = open(settings.name, programs, settings.setup)?;
        prepare(&mut object, settings)?;
        let mut object =
            object.load().map_err(|error| refused("the programs of a port", &error))?;
        let table = object.maps_mut().find(|map| map.name() == TABLE);
        let mut table = table.ok_or_else(|| missing(TABLE))?;
        let qdisc = table.attach_struct_ops();
        let qdisc =
            qdisc.map_err(|error| refused(&format!("the qdisc {}", settings.name), &error))?;
        Ok(Self { object, qdisc })
    }

    /// Keeps everything in a folder. After an error, some pins may be there.
    pub fn pin(&mut self, folder: &Path, has_pool: bool) -> Result<(), Error> {
        let keep = |pin: &str| Error::system(format!("keep {}", folder.join(pin).display()));
        for (pin, map) in [(COUNTERS, COUNTERS_MAP), (SOJOURN, SOJOURN), (POOL, POOL)] {
            if pin == POOL && !has_pool {
                continue;
            }
            let found = self.object.maps_mut().find(|found| found.name() == map);
            found.ok_or_else(|| missing(map))?.pin(folder.join(pin)).map_err(keep(pin))?;
        }
        let mark = self.object.progs_mut().find(|program| program.name() == MARK_PROGRAM);
        let mut mark = mark.ok_or_else(|| missing(MARK_PROGRAM))?;
        mark.pin(folder.join(MARK)).map_err(keep(MARK))?;
        self.qdisc.pin(folder.join(QDISC)).map_err(keep(QDISC))
    }
}

/// Maps of the object.
const TABLE: &str = "tidegate";
const COUNTERS_MAP: &str = ".bss.counters";
const TABLES_OF_FLOWS: [&str; 2] = ["flows", "registers"];

fn missing(name: &str) -> Error {
    Error::system("set up the programs")(format!("{name} is missing"))
}

fn prepare(object: &mut OpenObject, settings: &Settings<'_>) -> Result<(), Error> {
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        let set = match name.as_str() {
            SOJOURN => map.set_max_entries(settings.queues.into()),
            name if TABLES_OF_FLOWS.contains(&name) && !settings.has_flows => {
                map.set_max_entries(1)
            }
            POOL => match settings.pool {
                Some(path) => MapHandle::from_pinned_path(path)
                    .and_then(|shared| map.reuse_fd(shared.as_fd())),
                None => Ok(()),
            },
            TABLE => {
                rename(map.initial_value_mut().unwrap_or_default(), settings.name)?;
                Ok(())
            }
            _ => Ok(()),
        };
        set.map_err(Error::system(format!("set up {name}")))?;
    }
    Ok(())
}

/// Names the qdisc in the table of its functions.
fn rename(table: &mut [u8], name: &str) -> Result<(), Error> {
    let length = PLACEHOLDER.len();
    let place = table.windows(length).position(|bytes| bytes == PLACEHOLDER);
    let place = place.ok_or_else(|| missing("the name of the qdisc"))?;
    let field = &mut table[place..place + length];
    field.fill(0);
    for (byte, letter) in field[..length - 1].iter_mut().zip(name.bytes()) {
        *byte = letter;
    }
    Ok(())
}

/// Reads the counters of a port from its pins.
pub fn counters(folder: &Path) -> Result<Counters, Error> {
    let action = || format!("read the counters in {}", folder.display());
    let open = |pin| MapHandle::from_pinned_path(folder.join(pin)).map_err(Error::system(action()));
    let value = |map: &MapHandle, key: u32| {
        let value = map.lookup(&key.to_ne_bytes(), MapFlags::ANY);
        let value = value.map_err(Error::system(action()))?;
        value.ok_or_else(|| Error::system(action())("they are missing"))
    };
    let sojourn = open(SOJOURN)?;
    let times = (0..sojourn.max_entries()).map(|queue| value(&sojourn, queue));
    let times = times.collect::<Result<Vec<_>, _>>()?;
    let bytes = value(&open(COUNTERS)?, 0)?;
    Counters::read(&bytes, &times)
        .ok_or_else(|| Error::system(action())("they are of another build"))
}

/// Removes the pins of a folder in the reverse order. The qdisc can no longer be chosen; one that
/// is in use works until its device is gone.
pub fn unpin(folder: &Path) -> Result<(), Error> {
    for pin in [QDISC, MARK, POOL, SOJOURN, COUNTERS] {
        let path = folder.join(pin);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::system(format!("remove {}", path.display()))(error));
            }
            _ => {}
        }
    }
    Ok(())
}
