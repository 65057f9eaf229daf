//! Loaded algorithms: from an algorithm to programs in the kernel, and back from the kernel's
//! state.
//!
//! The kernel keeps a congestion control registered while its link exists. A link is either pinned,
//! so that it stays, or ends with the process that created it. No other state is kept: everything
//! that `status` shows is found through the link, its table of functions, their programs and their
//! maps.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use libbpf_rs::query::{
    LinkInfoIter, LinkTypeInfo, MapInfoIter, ProgInfoIter, ProgInfoQueryOptions,
};
use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenObject, PrintLevel,
    ProgramType,
};
use serde::Serialize;

use crate::algorithm::Algorithm;
use crate::error::Error;

/// A compiled file of `bpf/`.
macro_rules! object {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".o"))
    };
}

mod fall_back;
pub mod replay;

pub use fall_back::{Reach, Sockets, Walker};

/// Compiled programs of an algorithm.
fn programs(algorithm: &Algorithm) -> &'static [u8] {
    match algorithm {
        Algorithm::Dctcp(_) => object!("tg_dctcp"),
        Algorithm::EcnStar(_) => object!("tg_ecn_star"),
        Algorithm::OdctcpReceiver(_) => object!("tg_odctcp_rcv"),
        Algorithm::OdctcpSender(_) => object!("tg_odctcp_snd"),
    }
}

const PARAMETERS: &str = ".rodata.params";
const COUNTERS: &str = "counters";
const CONTROL: &str = "control";
const EVENTS: &str = "events";

/// An algorithm registered with the kernel. It is unregistered with this value unless it is
/// [pinned](Self::pin).
#[derive(Debug)]
pub struct Loaded {
    links: Vec<(&'static str, Link)>,
    /// Pins through which the links outlive this value.
    pinned: Vec<PathBuf>,
    /// Owner of the maps and programs.
    _object: Object,
}

/// Reads compiled programs. libbpf requires alignment, which a copy has.
fn open(bytes: &[u8], name: &str) -> Result<OpenObject, Error> {
    let aligned = bytes.to_vec();
    let opened =
        ObjectBuilder::default().name(name).and_then(|builder| builder.open_memory(&aligned));
    opened.map_err(Error::system(format!("read the programs of {name}")))
}

/// Sets the initial value of a map before it is loaded.
fn initialise(object: &mut OpenObject, map: &str, value: &[u8]) -> Result<(), Error> {
    let found = object.maps_mut().find(|found| found.name() == map);
    let mut found = found.ok_or_else(|| Error::System {
        action: format!("set {map}"),
        why: "the programs have no such map".into(),
    })?;
    let place = found.initial_value_mut().and_then(|all| all.get_mut(..value.len()));
    match place {
        Some(place) => place.copy_from_slice(value),
        None => {
            return Err(Error::System {
                action: format!("set {map}"),
                why: "it is shorter than its value".into(),
            });
        }
    }
    Ok(())
}

/// Loads an algorithm and registers it.
pub fn load(algorithm: &Algorithm) -> Result<Loaded, Error> {
    let name = algorithm.name();
    let parameters = algorithm
        .encode()
        .map_err(|error| Error::Parameter { text: name.into(), why: error.to_string() })?;
    let mut object = open(programs(algorithm), name)?;
    initialise(&mut object, PARAMETERS, &parameters)?;
    for mut program in object.progs_mut() {
        if program.name() == replay::PROGRAM {
            program.set_autoload(false);
        }
    }
    let object = object.load();
    let mut object = object.map_err(|error| refused(name, &error))?;
    let mut links = Vec::new();
    for &kernel_name in algorithm.kernel_names() {
        let map = object.maps_mut().find(|map| map.name() == kernel_name);
        let mut map = map.ok_or_else(|| Error::NotLoaded(kernel_name.into()))?;
        let link = map.attach_struct_ops().map_err(|error| {
            if error.kind() == libbpf_rs::ErrorKind::AlreadyExists {
                Error::Loaded(name.into())
            } else {
                Error::system(format!("register {kernel_name}"))(error)
            }
        })?;
        links.push((kernel_name, link));
    }
    Ok(Loaded { links, pinned: Vec::new(), _object: object })
}

impl Loaded {
    /// Makes it stay when this process ends. All or nothing: after an error it is unregistered with
    /// this value.
    pub fn pin(&mut self, folder: &Path) -> Result<(), Error> {
        let made = fs::create_dir_all(folder);
        made.map_err(Error::system(format!("make the folder {}", folder.display())))?;
        for (name, link) in &mut self.links {
            let path = folder.join(name);
            if is_stale(&path) {
                // No algorithm of this name is registered, so an existing file is meaningless.
                let _ = fs::remove_file(&path);
            }
            let pinned = link.pin(&path);
            if let Err(error) = pinned {
                self.unpin();
                return Err(Error::system(format!("keep a link as {}", path.display()))(error));
            }
            self.pinned.push(path);
        }
        Ok(())
    }

    /// Reverts [`pin`](Self::pin): it is unregistered with this value.
    pub fn unpin(&mut self) {
        for path in self.pinned.drain(..).rev() {
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether a pin remains of a link that no longer holds a map.
fn is_stale(path: &Path) -> bool {
    path.exists() && link_at(path).is_none()
}

/// Table of functions behind a pinned link.
fn link_at(path: &Path) -> Option<u32> {
    let link = Link::open(path).ok()?;
    match link.info().ok()?.info {
        LinkTypeInfo::StructOps(info) if info.map_id != 0 => Some(info.map_id),
        _ => None,
    }
}

/// One of our algorithms in the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Registered {
    /// Name that users choose.
    pub name: String,
    /// Parameters by name.
    pub parameters: BTreeMap<&'static str, String>,
    /// Holder of the registration.
    pub holder: Holder,
    /// Counters of its connections.
    #[serde(flatten)]
    pub counters: Counters,
    /// Maps of its programs, by name.
    #[serde(skip)]
    pub maps: BTreeMap<String, u32>,
}

/// Holder of an algorithm's registration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holder {
    /// A pin in a BPF file system.
    Pin(PathBuf),
    /// These processes.
    Processes(Vec<u32>),
    /// None: it was unloaded, and its last connections still use it.
    Connections,
}

/// Connections of an algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Current connections.
    pub connections: u64,
    /// Current connections whose peer refused ECN.
    pub without_ecn: u64,
    /// All connections since it was loaded.
    pub opened: u64,
    /// All connections whose peer refused ECN.
    pub refused_ecn: u64,
    /// Samples lost because the observer was too slow.
    pub lost_samples: u64,
}

impl Counters {
    fn read(bytes: &[u8]) -> Option<Self> {
        let number = |place: usize| {
            let bytes = bytes.get(8 * place..8 * place + 8)?;
            Some(u64::from_ne_bytes(bytes.try_into().ok()?))
        };
        Some(Self {
            connections: number(0)?,
            without_ecn: number(1)?,
            opened: number(2)?,
            refused_ecn: number(3)?,
            lost_samples: number(4)?,
        })
    }
}

impl Registered {
    /// One of its maps.
    fn map(&self, name: &str) -> Result<MapHandle, Error> {
        let action = format!("open the map {name} of {}", self.name);
        let id = self.maps.get(name).copied();
        let id =
            id.ok_or_else(|| Error::System { action: action.clone(), why: "it has none".into() })?;
        MapHandle::from_map_id(id).map_err(Error::system(action))
    }

    /// Samples of its connections.
    pub fn events(&self) -> Result<MapHandle, Error> {
        self.map(EVENTS)
    }

    /// Counters of its connections, which change.
    pub fn open_counters(&self) -> Result<MapHandle, Error> {
        self.map(COUNTERS)
    }

    /// Sets the nanoseconds between two samples of a connection: 0 for no samples, 1 for every
    /// step.
    pub fn observe_every(&self, nanoseconds: u64) -> Result<(), Error> {
        let map = self.map(CONTROL)?;
        let updated = map.update(&KEY, &nanoseconds.to_ne_bytes(), MapFlags::ANY);
        updated.map_err(Error::system(format!("observe {}", self.name)))
    }
}

/// Key of maps with one value.
const KEY: [u8; 4] = [0; 4];

/// Reads the counters again.
pub fn counters(map: &MapHandle) -> Counters {
    let value = map.lookup(&KEY, MapFlags::ANY).ok().flatten();
    value.and_then(|bytes| Counters::read(&bytes)).unwrap_or_default()
}

/// All of our algorithms in the kernel. `pins` is the folder of the links.
pub fn registered(pins: &Path) -> Result<Vec<Registered>, Error> {
    let programs = program_maps();
    let links = links();
    let mut found: Vec<Registered> = Vec::new();
    let tables = MapInfoIter::default().filter(|map| map.ty == MapType::StructOps);
    let named = tables.filter_map(|table| Some((table.name.to_str()?.to_owned(), table.id)));
    let mut named: Vec<_> = named.collect();
    // Of two names the one that users choose first. The connections of an unloaded algorithm may
    // have either.
    named.sort_by_key(|(name, _)| !Algorithm::NAMES.contains(&name.as_str()));
    for (name, table) in named {
        let Some(algorithm) = Algorithm::of_kernel_name(&name) else {
            continue;
        };
        let name = algorithm.name();
        let Some(maps) = maps_of(table, &programs) else {
            continue;
        };
        let is_known = |one: &Registered| one.maps.get(PARAMETERS) == maps.get(PARAMETERS);
        if found.iter().any(is_known) {
            continue;
        }
        let link = links.get(&table).copied();
        found.extend(describe(name, maps, link, pins, table));
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn describe(
    name: &str,
    maps: BTreeMap<String, u32>,
    link: Option<u32>,
    pins: &Path,
    table: u32,
) -> Option<Registered> {
    let value = |map: &str| {
        let map = MapHandle::from_map_id(*maps.get(map)?).ok()?;
        map.lookup(&KEY, MapFlags::ANY).ok().flatten()
    };
    let algorithm = Algorithm::decode(name, &value(PARAMETERS)?)?;
    let pin = pins.join(name);
    let holder = match link {
        None => Holder::Connections,
        Some(_) if link_at(&pin) == Some(table) => Holder::Pin(pin),
        Some(link) => Holder::Processes(processes(link)),
    };
    Some(Registered {
        name: name.to_owned(),
        parameters: algorithm.parameters().into_iter().collect(),
        holder,
        counters: Counters::read(&value(COUNTERS)?)?,
        maps,
    })
}

/// Links of congestion controls, by the table of functions that they register.
fn links() -> BTreeMap<u32, u32> {
    let links = LinkInfoIter::default().filter_map(|link| match link.info {
        LinkTypeInfo::StructOps(info) => Some((info.map_id, link.id)),
        _ => None,
    });
    links.collect()
}

/// Maps of all programs of congestion controls.
fn program_maps() -> BTreeMap<u32, Vec<u32>> {
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    let programs = ProgInfoIter::with_query_opts(options);
    let programs = programs.filter(|program| program.ty == ProgramType::StructOps);
    programs.map(|program| (program.id, program.map_ids)).collect()
}

/// Maps behind a table of functions, by name. In the kernel's copy of the table each function is
/// the number of its program.
fn maps_of(table: u32, programs: &BTreeMap<u32, Vec<u32>>) -> Option<BTreeMap<String, u32>> {
    let table = MapHandle::from_map_id(table).ok()?;
    let value = table.lookup(&KEY, MapFlags::ANY).ok().flatten()?;
    let words = value.chunks_exact(8).filter_map(|word| {
        let word = u64::from_ne_bytes(word.try_into().ok()?);
        u32::try_from(word).ok()
    });
    let own: BTreeSet<u32> =
        (words.filter_map(|word| programs.get(&word)).flatten()).copied().collect();
    // A table may not have all programs of its algorithm: programs of the other name share its
    // maps.
    let all = programs.values().filter(|maps| maps.iter().any(|id| own.contains(id)));
    let named = all.flatten().filter_map(|&id| {
        let map = MapHandle::from_map_id(id).ok()?;
        Some((map.name().to_str()?.to_owned(), id))
    });
    Some(named.collect())
}

/// Processes that hold a link open.
fn processes(link: u32) -> Vec<u32> {
    let wanted = format!("link_id:\t{link}");
    let holds = |process: u32| {
        let files = fs::read_dir(format!("/proc/{process}/fdinfo"));
        files.into_iter().flatten().flatten().any(|file| {
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            text.lines().any(|line| line == wanted)
        })
    };
    let mut found: Vec<_> = numbers(Path::new("/proc")).filter(|&process| holds(process)).collect();
    found.sort_unstable();
    found
}

/// Entries of a folder whose names are numbers.
pub(crate) fn numbers(folder: &Path) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Removes the links of an algorithm that are pinned in a folder: it can no longer be chosen.
/// Connections that use it keep it.
pub fn unregister(algorithm: &Algorithm, pins: &Path) -> Result<(), Error> {
    // The name that users choose goes first: without it no connection gets to the other.
    for name in algorithm.kernel_names().iter().rev() {
        let path = pins.join(name);
        if path.exists() {
            let link = Link::open(&path).and_then(|link| link.detach());
            let removed = fs::remove_file(&path);
            removed.map_err(Error::system(format!("remove {}", path.display())))?;
            // Only some kernels support detaching these; dropping the last reference works
            // everywhere.
            drop(link);
        }
    }
    // The folder may contain other links.
    let _ = fs::remove_dir(pins);
    Ok(())
}

/// Pins left by a load or unload that was killed: the name that users choose is pinned last and
/// removed first, so it is missing.
pub fn leftovers(pins: &Path) -> Vec<Algorithm> {
    let all = Algorithm::NAMES.iter().filter_map(|name| Algorithm::named(name));
    let is_left = |algorithm: &Algorithm| {
        let is_there = |name: &&&str| pins.join(name).exists();
        let names = algorithm.kernel_names();
        names.iter().any(|name| is_there(&name)) && !is_there(&&algorithm.name())
    };
    all.filter(is_left).collect()
}

/// Output of libbpf, including the kernel's reasons. Errors quote the end of it.
static PRINTED: Mutex<String> = Mutex::new(String::new());

/// Keeps libbpf's output off the screen.
pub fn silence() {
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
        printed.push_str(&text);
    })));
}

/// Error: the kernel refused the programs of an algorithm.
fn refused(name: &str, error: &libbpf_rs::Error) -> Error {
    let printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut lines: Vec<_> = printed.lines().rev().take(REASONS).collect();
    lines.push("");
    lines.reverse();
    let reasons = lines.join("\n  ");
    Error::System { action: format!("load {name}"), why: format!("{error}{reasons}") }
}

/// Number of lines quoted: the important reasons come last.
const REASONS: usize = 8;
