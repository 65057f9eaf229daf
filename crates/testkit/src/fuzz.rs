//! What the fuzz targets call. They live here so that tests on a stable toolchain call them too.

use tidegate_dataplane::NonEct;

use crate::ops::{Drive, Order, Setup, check, decode};
use crate::parts::{self, Choice};
use crate::vector::{run_buffer, run_mark, run_sched};

/// Runs `bytes` as a file of vectors of each kind. Whatever it is, that must not panic.
pub fn vectors(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        // What the runners answer is for the tests; here they only have to answer.
        let _ = run_mark(text);
        let _ = run_sched(text);
        let _ = run_buffer(text);
    }
}

/// Takes a scheme, a scheduler, a buffer and a way of driving from the first four bytes and the
/// operations from the rest. The error names the parts and the invariant that broke.
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

/// Checks a port of these parts with the operations that `bytes` stand for. A scheme that cannot
/// work with the scheduler passes.
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
    let setup = Setup {
        drive,
        non_ect,
        order,
    };
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

fn pick(choices: &[Choice], number: u8) -> Choice {
    choices[usize::from(number) % choices.len()]
}
