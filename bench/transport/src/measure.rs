//! Instruction counts and times.

use std::env;
use std::io::ErrorKind;
use std::process::Command;
use std::time::Instant;

use crate::case::Case;

/// Cost of one segment.
pub(crate) struct Cost {
    pub(crate) instructions: f64,
    pub(crate) nanoseconds: f64,
}

/// Segments of the two runs whose difference is taken: the window reaches its maximum well before
/// the first ends.
const FEW: u32 = 4_000;
const MANY: u32 = 24_000;

/// Cost of a case, without the loop around it.
pub(crate) fn cost(case: Case) -> Result<Cost, String> {
    let empty = case.empty();
    Ok(Cost {
        instructions: instructions(case)? - instructions(empty)?,
        nanoseconds: nanoseconds(case) - nanoseconds(empty),
    })
}

/// A case as words of the command line.
pub(crate) fn words(case: Case) -> [String; 3] {
    [
        case.cc.unwrap_or("nothing").to_owned(),
        case.per_ack.to_string(),
        u8::from(case.marking).to_string(),
    ]
}

/// Instructions per segment, harness included. The program measures itself: it runs as its own
/// child under callgrind, for two numbers of segments, so that start and end cancel out.
fn instructions(case: Case) -> Result<f64, String> {
    let few = callgrind(case, FEW)?;
    let many = callgrind(case, MANY)?;
    let difference = u32::try_from(many.saturating_sub(few)).unwrap_or(u32::MAX);
    Ok(f64::from(difference) / f64::from(MANY - FEW))
}

fn callgrind(case: Case, segments: u32) -> Result<u64, String> {
    let program = env::current_exe().map_err(|error| format!("the program's path: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .arg("--case")
        .args(words(case))
        .arg(segments.to_string())
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
        .ok_or_else(|| format!("callgrind gave no count for {case:?}:\n{log}"))
}

/// Nanoseconds per segment, harness included: the best of five runs, because disturbances only slow
/// a run.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn nanoseconds(case: Case) -> f64 {
    const SEGMENTS: u32 = 300_000;
    let time = || {
        let start = Instant::now();
        case.run(SEGMENTS);
        start.elapsed().as_secs_f64() * 1e9 / f64::from(SEGMENTS)
    };
    (0..5).map(|_| time()).fold(f64::INFINITY, f64::min)
}
