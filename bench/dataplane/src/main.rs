//! Prints the cost of every marking decision and every path through a port.
#![expect(clippy::print_stdout, reason = "the program prints a table")]

mod measure;

use std::env;
use std::process::ExitCode;

use bench_dataplane::Case;
use measure::{Cost, instructions, nanoseconds};

const USAGE: &str = "usage: bench-dataplane [--json] [--quick]
  --json   one JSON array instead of a table
  --quick  only the cases that have a target";

const FOOTER: &str = "\
decision: on_enqueue + on_dequeue, backlog from 0 to 80 packets, default settings
pair: enqueue + dequeue through a port of 8 queues, 64 packets of 1500 B held, ECT(0), per-port buffer
inlined, called: types chosen at compile time, work compiled into the loop or called through a pointer
served: types chosen when the port is made, one virtual call per 4 packets (dyn Egress, serve)
virtual: the same, one virtual call per packet (dyn Egress, arrive)
any: asked for at every hook (AnyMarker, AnyScheduler)
instructions: callgrind, difference of two runs; ns: best of 5 runs
both without the harness: the same loop around no work, measured alike, is subtracted";

struct Row {
    case: Case,
    cost: Cost,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let cases = Case::all();
    let all = numbered(&cases);
    if let ["--case", number, iterations] = words[..] {
        // This process is the program's own child under callgrind.
        return run_child(&all, number, iterations);
    }
    if let Some(unknown) = words.iter().find(|word| !["--json", "--quick"].contains(word)) {
        eprintln!("unknown argument `{unknown}`\n{USAGE}");
        return ExitCode::from(2);
    }
    let is_quick = words.contains(&"--quick");
    let chosen = |case: &Case| !is_quick || case.target().is_some();
    let mut rows = Vec::new();
    for case in cases.into_iter().filter(chosen) {
        match measure_case(&all, case) {
            Ok(cost) => rows.push(Row { case, cost }),
            Err(problem) => {
                eprintln!("bench-dataplane: {problem}");
                return ExitCode::FAILURE;
            }
        }
    }
    if words.contains(&"--json") {
        print_json(&rows);
    } else {
        print_table(&rows);
    }
    ExitCode::SUCCESS
}

/// The cases, then the empty ones, in the order by which the child identifies them.
fn numbered(cases: &[Case]) -> Vec<Case> {
    let mut all = cases.to_vec();
    for case in cases {
        if !all.contains(&case.empty()) {
            all.push(case.empty());
        }
    }
    all
}

fn measure_case(all: &[Case], case: Case) -> Result<Cost, String> {
    let instructions = |case| {
        let number = all.iter().position(|&other| other == case);
        instructions(number.ok_or("a case without a number")?)
    };
    let empty = case.empty();
    Ok(Cost {
        instructions: instructions(case)? - instructions(empty)?,
        nanoseconds: nanoseconds(case) - nanoseconds(empty),
    })
}

fn run_child(all: &[Case], number: &str, iterations: &str) -> ExitCode {
    let case = number.parse().ok().and_then(|number: usize| all.get(number).copied());
    let (Some(case), Ok(iterations)) = (case, iterations.parse()) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    case.run(iterations);
    ExitCode::SUCCESS
}

fn print_table(rows: &[Row]) {
    println!("| what | scheme | scheduler | form | instructions | ns | target | |");
    println!("|---|---|---|---|---:|---:|---:|---|");
    for Row { case, cost } in rows {
        let target = case.target().map_or_else(String::new, |target| format!("≤ {target}"));
        println!(
            "| {} | {} | {} | {} | {:.1} | {:.1} | {target} | {} |",
            what(*case),
            case.scheme.unwrap_or("–"),
            case.scheduler.unwrap_or("–"),
            case.form.name(),
            cost.instructions,
            cost.nanoseconds,
            verdict(*case, cost).unwrap_or(""),
        );
    }
    println!("\n{FOOTER}");
}

fn print_json(rows: &[Row]) {
    let quoted =
        |text: Option<&str>| text.map_or_else(|| "null".to_owned(), |t| format!("\"{t}\""));
    let objects: Vec<String> = rows
        .iter()
        .map(|Row { case, cost }| {
            format!(
                "  {{\"what\": \"{}\", \"scheme\": {}, \"scheduler\": {}, \"form\": \"{}\", \
                 \"instructions\": {:.1}, \"ns\": {:.1}, \"target\": {}, \"verdict\": {}}}",
                what(*case),
                quoted(case.scheme),
                quoted(case.scheduler),
                case.form.name(),
                cost.instructions,
                cost.nanoseconds,
                case.target().map_or_else(|| "null".to_owned(), |target| target.to_string()),
                quoted(verdict(*case, cost)),
            )
        })
        .collect();
    println!("[\n{}\n]", objects.join(",\n"));
}

const fn what(case: Case) -> &'static str {
    match case.scheduler {
        None => "decision",
        Some(_) => "pair",
    }
}

fn verdict(case: Case, cost: &Cost) -> Option<&'static str> {
    let target = f64::from(case.target()?);
    Some(if cost.instructions <= target { "met" } else { "missed" })
}
