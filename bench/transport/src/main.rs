//! Prints the cost of a data segment and its ACK, sender and receiver together, without loss.
#![expect(clippy::print_stdout, reason = "the program prints a table")]

mod case;
mod measure;
mod work;

use std::env;
use std::process::ExitCode;

use case::{Case, TARGET};
use measure::{Cost, cost};

const USAGE: &str = "usage: bench-transport [--json]
  --json   one JSON array instead of a table";

const FOOTER: &str = "\
a data segment: polled at the sender, taken in by the receiver, its ACK polled there and taken in
window of 64 segments of 1460 B, the congestion control's own echo rule at the receiver, default settings otherwise
marked: every eighth segment arrives marked
instructions: callgrind, difference of two runs; ns: best of 5 runs
both without the harness: the same loop around no endpoints, measured alike, is subtracted";

struct Row {
    case: Case,
    cost: Cost,
}

impl Row {
    fn verdict(&self) -> &'static str {
        if self.cost.instructions <= f64::from(TARGET) { "met" } else { "missed" }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_json = match words[..] {
        [] => false,
        ["--json"] => true,
        // This process is the program's own child under callgrind.
        ["--case", ..] => return run_child(&arguments[1..]),
        _ => {
            eprintln!("unknown arguments `{}`\n{USAGE}", words.join(" "));
            return ExitCode::from(2);
        }
    };
    let mut rows = Vec::new();
    for case in Case::all() {
        match cost(case) {
            Ok(cost) => rows.push(Row { case, cost }),
            Err(problem) => {
                eprintln!("bench-transport: {problem}");
                return ExitCode::FAILURE;
            }
        }
    }
    if is_json {
        print_json(&rows);
    } else {
        print_table(&rows);
    }
    ExitCode::SUCCESS
}

fn run_child(words: &[String]) -> ExitCode {
    let known = Case::all()
        .into_iter()
        .flat_map(|case| [case, case.empty()])
        .find(|case| words.starts_with(&measure::words(*case)));
    let (Some(case), Some(Ok(segments))) = (known, words.last().map(|word| word.parse())) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    case.run(segments);
    ExitCode::SUCCESS
}

fn print_table(rows: &[Row]) {
    println!("| rule | segments per ACK | marked | instructions | ns | target | |");
    println!("|---|---:|---|---:|---:|---:|---|");
    for row in rows {
        println!(
            "| {} | {} | {} | {:.1} | {:.1} | ≤ {TARGET} | {} |",
            row.case.cc.unwrap_or("–"),
            row.case.per_ack,
            if row.case.marking { "some" } else { "none" },
            row.cost.instructions,
            row.cost.nanoseconds,
            row.verdict(),
        );
    }
    println!("\n{FOOTER}");
}

fn print_json(rows: &[Row]) {
    let objects: Vec<String> = rows
        .iter()
        .map(|row| {
            format!(
                "  {{\"rule\": \"{}\", \"segments_per_ack\": {}, \"marking\": {}, \
                 \"instructions\": {:.1}, \"ns\": {:.1}, \"target\": {TARGET}, \
                 \"verdict\": \"{}\"}}",
                row.case.cc.unwrap_or("nothing"),
                row.case.per_ack,
                row.case.marking,
                row.cost.instructions,
                row.cost.nanoseconds,
                row.verdict(),
            )
        })
        .collect();
    println!("[\n{}\n]", objects.join(",\n"));
}
