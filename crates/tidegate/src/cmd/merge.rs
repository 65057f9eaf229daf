//! `tidegate merge`: merges the shards of a command into one results folder.

use std::path::Path;

use tidegate_report::Folder;
use tidegate_study::Comparison;
use tidegate_study::compare::PAGE;
use tidegate_study::study::Opening;
use tidegate_study::text::count;

use crate::args::Merge;
use crate::output::{Error, ExitStatus, Output};
use crate::report::{self, Failed};
use crate::reproduction;
use crate::shards::{self, Part};

pub(crate) fn merge(arguments: &Merge, output: Output) -> Result<ExitStatus, Error> {
    let parts = shards::parts(&arguments.folders)?;
    let is_new = !arguments.out.exists();
    let written = write(&parts, arguments);
    if written.is_err() && is_new {
        // A partial result would block the next attempt.
        _ = std::fs::remove_dir_all(&arguments.out);
    }
    written?;
    output.say(&format!(
        "merged {} of {} into {}",
        count(parts.iter().map(Part::runs).sum(), "run"),
        count(arguments.folders.len(), "folder"),
        arguments.out.display()
    ));
    finish(&parts, &arguments.out, output)
}

fn write(parts: &[Part], arguments: &Merge) -> Result<(), Error> {
    for part in parts {
        part.write(&part.below(&arguments.out), Opening::New)?;
    }
    if shards::is_reproduction(parts) {
        reproduction::merge_requests(&arguments.folders, &arguments.out)?;
    }
    Ok(())
}

/// Writes the pages and prints the results of the merged runs.
fn finish(parts: &[Part], out: &Path, output: Output) -> Result<ExitStatus, Error> {
    let mut status = ExitStatus::Good;
    for part in parts {
        let path = part.below(out);
        let folder = Folder::open(&path).map_err(Error::new)?;
        let baseline = folder.manifest().baseline.clone();
        let comparison = Comparison::packed(vec![folder], baseline.as_deref());
        let comparison = comparison.map_err(Error::new)?;
        let page = path.join(PAGE);
        comparison.write(&page, None).map_err(Error::new)?;
        let stalled = report::stalled(&comparison);
        if !stalled.is_empty() {
            status = ExitStatus::Bad;
        }
        if part.is_whole() {
            report::draw_trace(&comparison, &path, output)?;
            if output.json {
                output.print_json(&serde_json::json!({
                    "folder": out.display().to_string(),
                    "report": page.display().to_string(),
                    "failed": stalled,
                    "summary": comparison.summary,
                }))?;
            } else {
                report::print(&comparison, &page, output)?;
            }
            report::warn(&comparison, output);
            return Ok(status);
        }
        for Failed { run, why } in stalled {
            output.warn(&format!("{}: {why}", part.named(&run)));
        }
    }
    let judged = reproduction::judge_merged(out, output)?;
    Ok(if status == ExitStatus::Bad { status } else { judged })
}
