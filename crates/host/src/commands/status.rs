//! `tidegate host status`.

use std::fmt::Write;

use super::Output;
use crate::args::Status;
use crate::error::Error;
use crate::kernel::{self, Holder, Registered};
use crate::machine;

pub(super) fn status(arguments: &Status, output: Output) -> Result<(), Error> {
    machine::check_privileges(machine::TO_FIND)?;
    let registered = kernel::registered(&arguments.pins)?;
    for algorithm in kernel::leftovers(&arguments.pins) {
        let name = algorithm.name();
        output.warn(format!(
            "a load of {name} was killed half-way\nhint: tidegate host unload {name}"
        ));
    }
    if output.json {
        return output.print_json(&registered);
    }
    if registered.is_empty() {
        output.say("nothing is loaded: tidegate host load tg_dctcp");
        return Ok(());
    }
    let head = ["name", "connections", "without ECN", "opened", "refused ECN", "kept by"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(registered.iter().map(row));
    let mut text = table(&rows);
    for one in &registered {
        let parameters = one.parameters.iter();
        let parameters = parameters.map(|(name, value)| format!(" {name}={value}"));
        let _ = writeln!(text, "{}:{}", one.name, parameters.collect::<String>());
    }
    output.print(&text)
}

fn row(one: &Registered) -> [String; 6] {
    let counters = one.counters;
    [
        one.name.clone(),
        counters.connections.to_string(),
        counters.without_ecn.to_string(),
        counters.opened.to_string(),
        counters.refused_ecn.to_string(),
        holder(&one.holder),
    ]
}

/// Text that names the holder of an algorithm.
pub(super) fn holder(holder: &Holder) -> String {
    match holder {
        Holder::Pin(path) => path.display().to_string(),
        Holder::Processes(processes) if processes.is_empty() => "a pin elsewhere".into(),
        Holder::Processes(processes) => {
            let processes = processes.iter().map(u32::to_string);
            format!("process {}", processes.collect::<Vec<_>>().join(", "))
        }
        Holder::Connections => "its last connections: it was unloaded".into(),
    }
}

/// Formats columns of text: the first and the last aligned left, the others right.
pub(super) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            if column == 0 {
                let _ = write!(line, "{cell:<width$}");
            } else if column + 1 == N {
                let _ = write!(line, "  {cell}");
            } else {
                let _ = write!(line, "  {cell:>width$}");
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}
