//! `tidegate report`: compares results in a table, a plot and a page.

use std::path::PathBuf;

use serde_json::json;
use tidegate_report::folder::{self, Folder};
use tidegate_study::Comparison;
use tidegate_study::compare::PAGE;

use crate::args::Report;
use crate::output::{Error, ExitStatus, Output};
use crate::report::{print, warn};

pub(crate) fn report(arguments: &Report, output: Output) -> Result<ExitStatus, Error> {
    let folders = arguments.folders.iter().map(|path| Folder::open(path).map_err(Error::new));
    let folders = folders.collect::<Result<Vec<_>, _>>()?;
    let page = arguments.out.clone().unwrap_or_else(|| match folders.as_slice() {
        [folder] => folder.path().join(PAGE),
        _ => PathBuf::from("tidegate-report.html"),
    });
    let of_folder = match folders.as_slice() {
        [folder] => folder.manifest().baseline.clone(),
        _ => None,
    };
    let baseline = arguments.baseline.clone().or(of_folder);
    let comparison = Comparison::packed(folders, baseline.as_deref()).map_err(Error::new)?;
    let written = comparison.write(&page, arguments.figures.titles());
    written.map_err(|error| unwritten(error, arguments.out.is_some()))?;
    if output.json {
        let value = json!({ "report": page.display().to_string(), "summary": comparison.summary });
        output.print_json(&value)?;
    } else {
        print(&comparison, &page, output)?;
    }
    warn(&comparison, output);
    Ok(ExitStatus::Good)
}

/// Error of a page that cannot be written. If its folder is read-only, the page can be elsewhere.
fn unwritten(error: tidegate_study::Error, is_named: bool) -> Error {
    match error {
        tidegate_study::Error::Folder(folder::Error::Write { path, source }) if !is_named => {
            Error::new(format!(
                "cannot write {}: {source}\nhint: write the page elsewhere with `--out FILE`; \
                 the folder is then left unchanged",
                path.display()
            ))
        }
        error => Error::new(error),
    }
}
