//! The scenarios of `bench/peers` on Tidegate's simulator: the counterpart of ns-3's program, with
//! the same arguments and output. `../README.md` has the definitions.
#![expect(clippy::print_stdout, reason = "the program prints its results")]

mod flows;
mod measure;
mod options;
mod process;
mod report;
mod scale;
mod scenario;

use std::env;
use std::process::ExitCode;

use tidegate_sim::observe::Window;
use tidegate_units::Time;

use options::{Options, USAGE};

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    if matches!(words.first().map(String::as_str), None | Some("--help")) {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match work(&words) {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("tidegate-bench-peers: {problem}");
            ExitCode::from(2)
        }
    }
}

fn work(words: &[String]) -> Result<ExitCode, String> {
    match words.first().map(String::as_str) {
        Some("--scale") => {
            let is_json = match &words[1..] {
                [] => false,
                [word] if word == "--json" => true,
                _ => return Err("--scale takes --json and nothing else".to_owned()),
            };
            let met = scale::check(is_json)?;
            return Ok(ExitCode::from(u8::from(!met)));
        }
        // This process is the program's own child.
        Some("--scale-case") => {
            scale::run_case(&words[1..])?;
            return Ok(ExitCode::SUCCESS);
        }
        _ => {}
    }
    let options = Options::parse(words)?;
    if !options.text("write-flows")?.is_empty() {
        flows::write(&options)?;
        return Ok(ExitCode::SUCCESS);
    }
    let list = flows::read(&options)?;
    let setup = scenario::setup(&options, list.by_start.clone(), list.spines.clone())?;
    if options.is("once", "yes", "no")? {
        println!("{}", report::hops(&measure::run(&setup)?));
        return Ok(ExitCode::SUCCESS);
    }
    let window = Window {
        from: options.time("from-s")?.unwrap_or(Time::ZERO),
        to: options.time("until-s")?.unwrap_or(Time::MAX),
    };
    let measured = measure::measure(options.scenario()?, &setup, window)?;
    let completions = report::completions(&list, &measured.outcome.flows);
    println!("{}", report::json(&measured, &completions));
    let path = options.text("fct-out")?;
    if !path.is_empty() {
        report::write_completions(path, &list, &completions)?;
    }
    Ok(if completions.iter().all(Option::is_some) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
