//! Instruction counts and times.

use std::env;
use std::io::ErrorKind;
use std::process::Command;
use std::time::Instant;

use bench_dataplane::Case;

/// Cost of one iteration.
pub(crate) struct Cost {
    pub(crate) instructions: f64,
    pub(crate) nanoseconds: f64,
}

/// Iterations of the two runs whose difference is taken: both are warm well before the first ends.
const FEW: u32 = 2_000;
const MANY: u32 = 12_000;

/// Instructions per iteration, harness included. The program measures itself: it runs as its own
/// child under callgrind, for two numbers of iterations, so that start and end cancel out.
pub(crate) fn instructions(case: usize) -> Result<f64, String> {
    let few = callgrind(case, FEW)?;
    let many = callgrind(case, MANY)?;
    let difference = u32::try_from(many.saturating_sub(few)).unwrap_or(u32::MAX);
    Ok(f64::from(difference) / f64::from(MANY - FEW))
}

fn callgrind(case: usize, iterations: u32) -> Result<u64, String> {
    let program = env::current_exe().map_err(|error| format!("the program's path: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["--case", &case.to_string(), &iterations.to_string()])
        .output()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => "valgrind is not installed; apt-get install valgrind".to_owned(),
            _ => format!("valgrind: {error}"),
        })?;
    let log = String::from_utf8_lossy(&output.stderr);
    log.lines()
        .filter(|_| output.status.success())
        .find_map(|line| line.split_once("Collected : "))
        .and_then(|(_, count)| count.trim().parse().ok())
        .ok_or_else(|| format!("callgrind gave no count for case {case}:\n{log}"))
}

/// Nanoseconds per iteration, harness included: the best of five runs, because disturbances only
/// slow a run.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub(crate) fn nanoseconds(case: Case) -> f64 {
    const ITERATIONS: u32 = 300_000;
    let time = || {
        let start = Instant::now();
        case.run(ITERATIONS);
        start.elapsed().as_secs_f64() * 1e9 / f64::from(ITERATIONS)
    };
    (0..5).map(|_| time()).fold(f64::INFINITY, f64::min)
}
