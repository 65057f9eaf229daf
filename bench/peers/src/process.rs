//! Cost of the run for this process, as counted by the kernel.

use std::fs;
use std::thread;
use std::time::Duration;

/// CPU time of this process so far, in seconds: user and system. It has one thread.
pub(crate) fn cpu_seconds() -> Result<f64, String> {
    // The kernel updates its count at scheduling points.
    thread::yield_now();
    let path = "/proc/self/schedstat";
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let first = text.split_whitespace().next();
    let nanoseconds = first.and_then(|word| word.parse().ok());
    let nanoseconds = nanoseconds.ok_or_else(|| format!("{path} does not begin with a number"))?;
    Ok(Duration::from_nanos(nanoseconds).as_secs_f64())
}

/// Peak memory of this process, in KiB.
pub(crate) fn peak_memory_kib() -> Result<u64, String> {
    let path = "/proc/self/status";
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| format!("{path} has no VmHWM"))
}
