//! Runs the switch of a TOML file until Ctrl-C, then prints its counters as JSON.
//!
//! ```text
//! cargo run --release -p tidegate-live --example switch -- FILE [--for SECONDS] [--every SECONDS]
//! ```

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use tidegate_live::{Config, Live, drop_privileges, raise_priority, stop_on_signals};
use tidegate_units::Span;

/// What is asked for on the command line.
struct Arguments {
    file: String,
    /// How long to run.
    limit: Option<Span>,
    /// How often to print the counters.
    every: Option<Span>,
}

fn main() -> ExitCode {
    let Some(arguments) = arguments(std::env::args().skip(1)) else {
        eprintln!("usage: switch FILE [--for SECONDS] [--every SECONDS]");
        return ExitCode::from(2);
    };
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("switch: {error}");
            ExitCode::from(2)
        }
    }
}

fn arguments(mut given: impl Iterator<Item = String>) -> Option<Arguments> {
    let mut arguments = Arguments {
        file: given.next()?,
        limit: None,
        every: None,
    };
    while let Some(flag) = given.next() {
        let seconds = given.next()?.parse().ok().map(Span::from_secs)?;
        match flag.as_str() {
            "--for" => arguments.limit = Some(seconds),
            "--every" => arguments.every = Some(seconds),
            _ => return None,
        }
    }
    Some(arguments)
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let file = &arguments.file;
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let config = Config::parse(file, &text)?;
    let mut live = Live::open(&config)?;
    if let Err(error) = raise_priority() {
        eprintln!("switch: {error}");
    }
    drop_privileges()?;
    let stop = stop_on_signals();
    let mut next_print = arguments.every.map(Span::as_ns);
    live.run(|live| {
        let is_over = arguments.limit.is_some_and(|limit| live.uptime() >= limit);
        if is_over || stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let (every, uptime) = (arguments.every.unwrap_or_default(), live.uptime().as_ns());
        if next_print.is_some_and(|next| uptime >= next) {
            next_print = Some(uptime + every.as_ns());
            print(live);
        }
        ControlFlow::Continue(())
    })?;
    print(&live);
    Ok(())
}

/// One line of JSON. A reader that went away does not matter to the switch.
fn print(live: &Live) {
    use std::io::Write;

    if let Ok(line) = serde_json::to_string(&live.counters()) {
        let _ = writeln!(std::io::stdout(), "{line}");
    }
}
