//! The directory of one run: `run.json` and the tables. It is written under a temporary name and
//! renamed when complete. `run.json` holds the length and checksum of each table, so that a
//! truncated copy is detected before use.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tidegate_results::record::Record;
use twox_hash::XxHash64;

use super::disk::{self, Create};
use super::error::Error;
use super::{FORMAT, check_format};
use crate::export::{self, Origin};

const RUN: &str = "run.json";
const FLOWS: &str = "flows.parquet";
const PROBES: &str = "probes.parquet";
const SERIES: &str = "series.parquet";
const TRACE: &str = "trace.parquet";

/// Content of `run.json`.
#[derive(Serialize)]
struct Written<'a> {
    format: u32,
    files: BTreeMap<&'static str, Sum>,
    #[serde(flatten)]
    record: &'a Record,
}

/// The list of tables in `run.json`.
#[derive(Deserialize)]
struct Files {
    files: BTreeMap<String, Sum>,
}

/// Length and checksum of a file: XXH64 with seed 0, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Sum {
    bytes: u64,
    xxh64: String,
}

impl Sum {
    fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u64, xxh64: format!("{:016x}", XxHash64::oneshot(0, bytes)) }
    }
}

/// Writes the record into `directory` atomically. `point` is the number of its point in the sweep.
pub(super) fn write(
    directory: &Path,
    record: &Record,
    point: u32,
    create: Create,
) -> Result<(), Error> {
    let partial = disk::beside(directory);
    let written =
        fill(&partial, record, point, create).and_then(|()| exchange(&partial, directory));
    let written = written.and_then(|()| disk::sync_parent(directory));
    if written.is_err() {
        // The remains may fill the disk; the first error is reported.
        drop(fs::remove_dir_all(&partial));
    }
    written
}

fn fill(partial: &Path, record: &Record, point: u32, create: Create) -> Result<(), Error> {
    fs::create_dir(partial).map_err(Error::write(partial))?;
    let origin = Origin::new(&record.run, point).map_err(|error| Error::broken(partial, error))?;
    let tables = [
        (FLOWS, export::write_flows(&record.flows, &origin)),
        (PROBES, export::write_probes(&record.probes, &origin)),
        (SERIES, export::write_series(&record.series, &origin)),
    ];
    let traced =
        (!record.trace.is_empty()).then(|| (TRACE, export::write_trace(&record.trace, &origin)));
    let mut files = BTreeMap::new();
    for (name, table) in tables.into_iter().chain(traced) {
        let path = partial.join(name);
        let table = table.map_err(|error| Error::broken(&path, error))?;
        disk::write(&path, &table, create)?;
        files.insert(name, Sum::of(&table));
    }
    let path = partial.join(RUN);
    let written = Written { format: FORMAT, files, record };
    let mut text =
        serde_json::to_vec_pretty(&written).map_err(|error| Error::broken(&path, error))?;
    text.push(b'\n');
    disk::write(&path, &text, create)?;
    disk::sync(partial)
}

/// Copies a run's directory and verifies its checksums. Files never change once written, so both
/// places can share them through hard links; if that is impossible, they are copied.
pub(super) fn copy(from: &Path, to: &Path, create: Create) -> Result<(), Error> {
    let partial = disk::beside(to);
    let fill = || {
        fs::create_dir(&partial).map_err(Error::write(&partial))?;
        let (text, files) = header(from)?;
        for (name, sum) in files {
            let bytes = summed(from, &name, &sum)?;
            disk::link(&from.join(&name), &partial.join(name), &bytes, create)?;
        }
        disk::link(&from.join(RUN), &partial.join(RUN), &text, create)
    };
    let copied = fill().and_then(|()| exchange(&partial, to));
    if copied.is_err() {
        drop(fs::remove_dir_all(&partial));
    }
    copied
}

/// Whether two directories have the same run: `run.json` holds the checksums of all other files.
pub(super) fn same(one: &Path, other: &Path) -> Result<bool, Error> {
    Ok(header(one)?.0 == header(other)?.0)
}

/// Checks that every file of a run is unchanged.
pub(super) fn verify(directory: &Path) -> Result<(), Error> {
    for (name, sum) in header(directory)?.1 {
        summed(directory, &name, &sum)?;
    }
    Ok(())
}

/// Compares all files of two runs byte by byte.
pub(super) fn is_copy(one: &Path, other: &Path) -> Result<bool, Error> {
    let ((text, files), (other_text, _)) = (header(one)?, header(other)?);
    if text != other_text {
        return Ok(false);
    }
    for (name, sum) in files {
        if summed(one, &name, &sum)? != summed(other, &name, &sum)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The bytes of a file of a run, if unchanged.
fn summed(directory: &Path, name: &str, sum: &Sum) -> Result<Vec<u8>, Error> {
    let path = directory.join(name);
    let bytes = disk::read_table(&path, sum.bytes)?;
    if Sum::of(&bytes) == *sum {
        Ok(bytes)
    } else {
        Err(Error::broken(&path, "its bytes have changed"))
    }
}

/// Replaces an existing directory by the new one.
fn exchange(new: &Path, place: &Path) -> Result<(), Error> {
    let is_taken = |error: &io::Error| {
        use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty};
        matches!(error.kind(), AlreadyExists | DirectoryNotEmpty)
    };
    match fs::rename(new, place) {
        Err(error) if is_taken(&error) => {}
        renamed => return renamed.map_err(Error::write(place)),
    }
    // Another program may have been faster with the same run.
    if check(place).is_ok() && same(new, place)? {
        return fs::remove_dir_all(new).map_err(Error::write(new));
    }
    let old = disk::beside(place);
    fs::rename(place, &old).map_err(Error::write(place))?;
    fs::rename(new, place).map_err(Error::write(place))?;
    fs::remove_dir_all(&old).map_err(Error::write(&old))
}

/// Checks that all files of the run exist with their recorded length.
pub(super) fn check(directory: &Path) -> Result<(), Error> {
    let (_, files) = header(directory)?;
    for (name, sum) in files {
        let path = directory.join(name);
        let found = fs::metadata(&path).map_err(Error::read(&path))?.len();
        if found != sum.bytes {
            let what = format!("it has {found} bytes of {}", sum.bytes);
            return Err(Error::broken(&path, what));
        }
    }
    Ok(())
}

/// The text of `run.json` and its list of tables.
fn header(directory: &Path) -> Result<(Vec<u8>, BTreeMap<String, Sum>), Error> {
    let path = directory.join(RUN);
    let text = disk::read(&path)?;
    check_format(&path, &text)?;
    let Files { files, .. } =
        serde_json::from_slice(&text).map_err(|error| Error::broken(&path, error))?;
    // The folder may come from an untrusted source: no name may lead out of it.
    match files.keys().find(|name| !disk::is_plain(name)) {
        Some(name) => Err(Error::broken(&path, format!("{name:?} is no name of a file"))),
        None => Ok((text, files)),
    }
}

/// Reads the record in `directory`.
pub(super) fn read(directory: &Path) -> Result<Record, Error> {
    let (text, files) = header(directory)?;
    let path = directory.join(RUN);
    let mut record: Record =
        serde_json::from_slice(&text).map_err(|error| Error::broken(&path, error))?;
    record.flows = table(directory, FLOWS, &files, export::read_flows)?;
    check_times(&record).map_err(|what| Error::broken(&directory.join(FLOWS), what))?;
    record.probes = table(directory, PROBES, &files, export::read_probes)?;
    record.series = table(directory, SERIES, &files, export::read_series)?;
    if files.contains_key(TRACE) {
        record.trace = table(directory, TRACE, &files, export::read_trace)?;
    }
    Ok(record)
}

/// Refuses negative times written as unsigned numbers: no run is longer than half of the range.
fn check_times(record: &Record) -> Result<(), String> {
    let is_negative = |time: u64| time > i64::MAX.cast_unsigned();
    if is_negative(record.run.ended_at_ps) {
        return Ok(());
    }
    for (flow, row) in record.flows.iter().zip(1..) {
        let times = [
            ("start_ps", Some(flow.start_ps)),
            ("fct_ps", flow.fct_ps),
            ("ideal_ps", flow.ideal_ps),
        ];
        for (column, time) in times {
            if time.is_some_and(is_negative) {
                return Err(format!("column {column}, row {row}: a negative value"));
            }
        }
    }
    Ok(())
}

fn table<T>(
    directory: &Path,
    name: &str,
    files: &BTreeMap<String, Sum>,
    read: fn(Bytes) -> Result<T, export::Malformed>,
) -> Result<T, Error> {
    let path = directory.join(name);
    let sum = files.get(name);
    let sum = sum.ok_or_else(|| Error::broken(&path, "run.json does not name it"))?;
    let bytes = summed(directory, name, sum)?;
    read(bytes.into()).map_err(|error| Error::broken(&path, error))
}
