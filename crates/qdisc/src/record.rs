//! Records of loaded ports: a map in the BPF file system for each, pinned before the first change
//! and removed after the last, so that `unload` finds everything after a load that was killed.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, libbpf_sys};
use serde::{Deserialize, Serialize};

use crate::args::Way;
use crate::error::Error;

/// A loaded port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Name of the device when it was loaded.
    pub device: String,
    /// Number of the device.
    pub index: u64,
    /// Number of the device's network namespace.
    pub namespace: u64,
    /// Name of the qdisc and of its device.
    pub name: String,
    /// Way in which it queues and marks.
    pub way: Way,
    /// Whether the device's `clsact` was added for it.
    pub adds_clsact: bool,
    /// Whether the load was completed.
    pub is_complete: bool,
    /// Settings, as text.
    pub settings: BTreeMap<String, String>,
}

/// Pin of the record.
const RECORD: &str = "record";

/// Bytes of a record.
const BYTES: u32 = 4096;

const KEY: [u8; 4] = [0; 4];

/// Folder of a device's pins. Names of devices have no slash, but may begin with a dot.
pub fn folder(pins: &Path, device: &str) -> PathBuf {
    pins.join(device)
}

impl Record {
    /// Makes the record, before anything else.
    pub fn pin(&self, folder: &Path) -> Result<(), Error> {
        let made = fs::create_dir_all(folder);
        made.map_err(Error::system(format!("make the folder {}", folder.display())))?;
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
            ..Default::default()
        };
        let made = MapHandle::create(MapType::Array, Some("tidegate_port"), 4, BYTES, 1, &options);
        let mut map = made.map_err(Error::system("make a record"))?;
        self.write(&map)?;
        map.pin(folder.join(RECORD)).map_err(Error::system("keep a record"))
    }

    /// Replaces the record.
    pub fn update(&self, folder: &Path) -> Result<(), Error> {
        let map = MapHandle::from_pinned_path(folder.join(RECORD));
        self.write(&map.map_err(Error::system("open a record"))?)
    }

    fn write(&self, map: &MapHandle) -> Result<(), Error> {
        let mut value = serde_json::to_vec(self).map_err(Error::system("write a record"))?;
        if value.len() > BYTES as usize {
            return Err(Error::system("write a record")("it is too long"));
        }
        value.resize(BYTES as usize, b' ');
        map.update(&KEY, &value, MapFlags::ANY).map_err(Error::system("write a record"))
    }

    /// Reads the record in a folder; `None` if it has none.
    pub fn read(folder: &Path) -> Result<Option<Self>, Error> {
        let path = folder.join(RECORD);
        if !path.exists() {
            return Ok(None);
        }
        let action = || format!("read {}", path.display());
        let map = MapHandle::from_pinned_path(&path).map_err(Error::system(action()))?;
        let value = map.lookup(&KEY, MapFlags::ANY).map_err(Error::system(action()))?;
        let record = serde_json::from_slice(&value.unwrap_or_default());
        record.map(Some).map_err(Error::system(action()))
    }

    /// Removes the record and its folder, after everything else.
    pub fn remove(folder: &Path) -> Result<(), Error> {
        let removed = |result: std::io::Result<()>| match result {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        let path = folder.join(RECORD);
        removed(fs::remove_file(&path))
            .and_then(|()| removed(fs::remove_dir(folder)))
            .map_err(Error::system(format!("remove {}", folder.display())))
    }
}

/// Number of this thread's network namespace.
pub fn namespace() -> Result<u64, Error> {
    let data = fs::metadata("/proc/thread-self/ns/net");
    data.map(|data| data.ino()).map_err(Error::system("find this network namespace"))
}

/// Names of the devices that have a folder.
pub fn devices(pins: &Path) -> Vec<String> {
    let entries = fs::read_dir(pins).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}
