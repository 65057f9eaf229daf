//! Measures the switch beside the kernel's bridge on this machine, in namespaces of its own, and
//! prints the result as JSON. Needs root.
//!
//! ```text
//! cargo run --release -p tidegate-live --example bench -- [SECONDS]
//! ```

use std::io::Write;
use std::process::ExitCode;

use tidegate_live::bench;
use tidegate_units::Span;

fn main() -> ExitCode {
    let seconds = std::env::args().nth(1).map_or(Ok(3), |text| text.parse());
    let Ok(seconds) = seconds else {
        eprintln!("usage: bench [SECONDS]");
        return ExitCode::from(2);
    };
    match bench::measure(Span::from_secs(seconds)) {
        Ok(report) => {
            let text = serde_json::to_string_pretty(&report).unwrap_or_default();
            let _ = writeln!(std::io::stdout(), "{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(2)
        }
    }
}
