//! `tidegate list`: lists the names that scenario files can use.

use std::fmt::Write;

use serde::Serialize;
use tidegate_study::text::folded;

use crate::args::List;
use crate::catalogue::{self, Kind};
use crate::output::{Error, ExitStatus, Output};

#[derive(Serialize)]
struct Listed<'a> {
    kind: Kind,
    name: &'a str,
    line: &'a str,
}

pub(crate) fn list(arguments: &List, output: Output) -> Result<ExitStatus, Error> {
    let mut entries = catalogue::all();
    entries.retain(|entry| arguments.kind.is_none_or(|kind| kind == entry.kind));
    if output.json {
        let listed = entries.iter().map(|entry| Listed {
            kind: entry.kind,
            name: entry.name,
            line: &entry.line,
        });
        let listed = listed.collect::<Vec<_>>();
        output.print_json(&listed)?;
        return Ok(ExitStatus::Good);
    }
    let mut text = String::new();
    for of_kind in entries.chunk_by(|a, b| a.kind == b.kind) {
        if arguments.kind.is_none() {
            let space = if text.is_empty() { "" } else { "\n" };
            let kind = output.paint.bold(of_kind[0].kind.name());
            _ = writeln!(text, "{space}{kind}");
        }
        let longest = of_kind.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
        for entry in of_kind {
            let space = " ".repeat(longest - entry.name.len());
            let name = output.paint.code(entry.name);
            let lines = folded(&entry.line, output.width.saturating_sub(longest + 4));
            let indent = format!("\n{}", " ".repeat(longest + 4));
            _ = writeln!(text, "  {name}{space}  {}", lines.join(&indent));
        }
    }
    output.print(&text)?;
    output.say("\n`tidegate explain NAME` describes one.");
    Ok(ExitStatus::Good)
}
