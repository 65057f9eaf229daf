//! Entry points of the fuzz targets, here so that tests on a stable toolchain call them too.

use tidegate_dataplane::NonEct;
use tidegate_sim::workload::{Distribution, Entry, Hosts, List, Rounding, Sizes, Source, Traffic};
use tidegate_units::Setting;

use crate::connection;
use crate::frames;
use crate::ops::{Drive, Order, Setup, check, decode};
use crate::parts::{self, Choice};
use crate::vector::{run_buffer, run_mark, run_sched};

/// Runs `bytes` as a file of vectors of each kind, which must never panic.
pub fn vectors(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        // Tests check the runners' answers; here it is enough that they answer.
        let _ = run_mark(text);
        let _ = run_sched(text);
        let _ = run_buffer(text);
    }
}

/// Takes a scheme, a scheduler, a buffer and a way of driving from the first four bytes and the
/// operations from the rest. The error names the parts and the violated invariant.
pub fn port(bytes: &[u8]) -> Result<(), String> {
    let Some((&[scheme, scheduler, buffer, setup], rest)) = bytes.split_first_chunk() else {
        return Ok(());
    };
    let scheme = pick(&parts::schemes(), scheme);
    let scheduler = pick(&parts::schedulers(), scheduler);
    let buffer = pick(&parts::buffers(), buffer);
    let drive = [Drive::Lazy, Drive::Present][usize::from(setup & 1)];
    let non_ect = [NonEct::Pass, NonEct::Drop][usize::from(setup >> 1 & 1)];
    run(scheme, scheduler, buffer, (drive, non_ect), rest)
}

/// Checks a port of these parts with the operations encoded in `bytes`. A scheme that cannot work
/// with the scheduler passes.
pub fn run(
    scheme: Choice,
    scheduler: Choice,
    buffer: Choice,
    (drive, non_ect): (Drive, NonEct),
    bytes: &[u8],
) -> Result<(), String> {
    let order = match scheduler.name {
        "fifo" => Order::PerPort,
        _ => Order::PerQueue,
    };
    let setup = Setup { drive, non_ect, order };
    let of_parts =
        |problem: String| format!("{scheme} / {scheduler} / {buffer}, {setup:?}: {problem}");
    let made =
        parts::make(scheme, scheduler, buffer).map_err(|error| of_parts(error.to_string()))?;
    let Some((marker, scheduler, buffer)) = made else {
        return Ok(());
    };
    check(setup, marker, scheduler, buffer, &decode(bytes))
        .map_err(|violation| of_parts(violation.to_string()))
}

/// Takes two ends of a connection from the first bytes and operations from the rest. The error
/// names the operation and the property violated after it.
pub fn transport(bytes: &[u8]) -> Result<(), String> {
    let (ends, ops) = connection::decode(bytes);
    connection::check(&ends, &ops).map_err(|problem| format!("{problem}\n{ends:?}"))
}

/// Takes frames from `bytes` through the live switch. The error names the violated property.
pub fn frames(bytes: &[u8]) -> Result<(), String> {
    frames::check(bytes)
}

/// Reads `bytes` as flow sizes, as a list of flows and as settings. Everything that can be read
/// must work and read back unchanged; the error names the first failure.
pub fn workload(bytes: &[u8]) -> Result<(), String> {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(distribution) = Distribution::parse(&text) {
        // A user's own tables are in bytes; tables in packets are published, and written by their
        // names.
        reads_back(&Sizes::Own(distribution.clone()))?;
        check_sizes(&distribution)?;
    }
    if let Ok(list) = List::parse(&text) {
        check_list(&list)?;
    }
    if let Ok(written) = Sizes::read(&text) {
        reads_back(&written)?;
        check_sizes(&written.distribution())?;
    }
    Hosts::read(&text).map_or(Ok(()), |hosts| reads_back(&hosts))
}

fn check_sizes(distribution: &Distribution) -> Result<(), String> {
    for rounding in [Rounding::CeilBytes, Rounding::CeilPackets, Rounding::TruncBytes] {
        let sampler = distribution.sampler(Some(rounding), 1460);
        let sampler = sampler.map_err(|error| error.to_string())?;
        let quantiles: Vec<u64> = (0..=20).map(|part| sampler.quantile(part, 20)).collect();
        let largest = u128::from(sampler.quantile(1, 1)) * 1_000;
        if !quantiles.is_sorted() || sampler.mean().millibytes() > largest {
            return Err(format!("{rounding:?}: {quantiles:?} {:?}", sampler.mean()));
        }
    }
    Ok(())
}

fn check_list(list: &List) -> Result<(), String> {
    let most = |entry: &Entry| entry.flow.src.0.max(entry.flow.dst.0);
    let highest = list.entries.iter().map(most).max().unwrap_or(0);
    if list.check(highest).is_ok() {
        return Err(format!("host {highest} passes for one of {highest} hosts"));
    }
    let Some(hosts) = highest.checked_add(1) else {
        return Ok(());
    };
    let all = Traffic { sources: vec![Source::List(list.clone())], probes: Vec::new() };
    let plan = all.plan(hosts, &|_| 0, 1);
    let plan = plan.map_err(|error| error.to_string())?;
    let same = |index: usize| list.entries.get(index).map(|entry| entry.flow);
    let kept = plan.iter().all(|one| same(one.index as usize) == Some(one.flow));
    if kept && plan.len() == list.entries.len() && plan.is_sorted_by_key(|one| one.flow.start) {
        Ok(())
    } else {
        Err(format!("{list:?} became {plan:?}"))
    }
}

fn reads_back<T: Setting + PartialEq + std::fmt::Debug>(value: &T) -> Result<(), String> {
    let text = value.write();
    match T::read(&text) {
        Ok(copy) if copy == *value => Ok(()),
        other => Err(format!("{value:?} is written {text} and read as {other:?}")),
    }
}

fn pick(choices: &[Choice], number: u8) -> Choice {
    choices[usize::from(number) % choices.len()]
}
