//! `tidegate live top`: the counters of a running switch at regular intervals.

use std::io::IsTerminal;
use std::time::Duration;

use tidegate_live::endpoint;

use super::view::{self, Sample};
use crate::args::live::Top;
use crate::output::{Error, ExitStatus, Output};

/// Moves the cursor home and clears the screen.
const CLEAR: &str = "\u{1b}[H\u{1b}[J";

/// `tidegate live top`.
pub(crate) fn top(arguments: &Top, output: Output) -> Result<ExitStatus, Error> {
    let every = Duration::from_nanos(arguments.every.as_ns());
    let is_redrawn = std::io::stdout().is_terminal() && !output.json;
    let mut before: Option<Sample> = None;
    let mut shown = 0_u32;
    loop {
        let text = endpoint::fetch(arguments.at);
        let text = text.map_err(|error| {
            let hint = "hint: `tidegate live run FILE` prints its address; pass it with --at";
            Error::new(format!("no switch answers at {}: {error}\n{hint}", arguments.at))
        })?;
        if output.json {
            output.print(&format!("{text}\n"))?;
        } else {
            let sample = Sample::read(&text);
            let sample = sample.map_err(|error| {
                Error::new(format!("the server at {} is not a switch: {error}", arguments.at))
            })?;
            let table = view::table(before.as_ref(), &sample, output.paint);
            let between = match shown {
                _ if is_redrawn => CLEAR,
                0 => "",
                _ => "\n",
            };
            output.print(&format!("{between}{table}"))?;
            before = Some(sample);
        }
        shown = shown.saturating_add(1);
        if arguments.count.is_some_and(|count| shown >= count) {
            return Ok(ExitStatus::Good);
        }
        std::thread::park_timeout(every);
    }
}
