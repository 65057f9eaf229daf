//! `tidegate report`: results side by side, as a table, a plot and a page.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use tidegate_lab::scenario;
use tidegate_report::figures::{self, Titles};
use tidegate_report::folder::{Folder, Manifest};
use tidegate_report::page::Page;
use tidegate_report::plot::{self, Colour};
use tidegate_report::record::Setting;
use tidegate_report::{Record, Summary};

use super::run::count;
use crate::args::Report;
use crate::markdown::WIDTH;
use crate::output::{Error, Output, Paint, Verdict};
use crate::table;

/// The name of the page in a folder.
pub(crate) const PAGE: &str = "report.html";

pub(crate) fn report(arguments: &Report, output: Output) -> Result<Verdict, Error> {
    let folders = arguments
        .folders
        .iter()
        .map(|path| Folder::open(path).map_err(Error::new));
    let folders = folders.collect::<Result<Vec<_>, _>>()?;
    let page = arguments
        .out
        .clone()
        .unwrap_or_else(|| match folders.as_slice() {
            [folder] => folder.path().join(PAGE),
            _ => PathBuf::from("tidegate-report.html"),
        });
    let of_folder = match folders.as_slice() {
        [folder] => folder.manifest().baseline.clone(),
        _ => None,
    };
    let baseline = arguments.baseline.clone().or(of_folder);
    let comparison = Comparison::of(folders, baseline.as_deref())?;
    comparison.write(&page, arguments.figures.titles())?;
    if output.json {
        let value = json!({ "report": page.display().to_string(), "summary": comparison.summary });
        output.print_json(&value)?;
    } else {
        print(&comparison, Some(&page), output)?;
    }
    warn(&comparison, output);
    Ok(Verdict::Good)
}

/// The results of some folders.
pub(crate) struct Comparison {
    folders: Vec<Folder>,
    manifests: Vec<Manifest>,
    pub(crate) records: Vec<Record>,
    pub(crate) summary: Summary,
    /// Runs that have no record.
    missing: usize,
}

impl Comparison {
    /// Reads all finished runs of the folders.
    pub(crate) fn of(folders: Vec<Folder>, baseline: Option<&str>) -> Result<Self, Error> {
        let (mut records, mut missing) = (Vec::new(), 0);
        let names = names(&folders);
        for (folder, name) in folders.iter().zip(&names) {
            let finished = folder.finished();
            missing += folder.manifest().runs.len() - finished.len();
            for id in &finished {
                let mut record = folder.read(id).map_err(Error::new)?;
                if folders.len() > 1 {
                    // Points of different folders may have the same label.
                    record.run.label = format!("{name}: {}", record.run.label);
                }
                records.push(record);
            }
        }
        if records.is_empty() {
            let paths = folders
                .iter()
                .map(|folder| folder.path().display().to_string());
            let paths = paths.collect::<Vec<_>>().join(", ");
            return Err(Error::new(format!("no run is finished in {paths}")));
        }
        if let Some(name) = baseline {
            let runs = records.iter().map(|record| &record.run);
            check_baseline(
                name,
                runs.map(|run| (run.label.as_str(), run.point.as_slice())),
            )?;
        }
        Ok(Self {
            summary: Summary::new(&records, baseline),
            manifests: folders
                .iter()
                .map(|folder| folder.manifest().clone())
                .collect(),
            folders,
            records,
            missing,
        })
    }

    fn page(&self) -> Page<'_> {
        Page {
            title: &self.manifests[0].title,
            manifests: &self.manifests,
            records: &self.records,
            summary: &self.summary,
        }
    }

    /// Writes the page, the summary of a single folder, and figures if they are asked for.
    pub(crate) fn write(&self, path: &Path, figures: Option<Titles>) -> Result<(), Error> {
        let page = self.page();
        let cannot = |path: &Path, error: &dyn std::fmt::Display| {
            Error::new(format!("cannot write {}: {error}", path.display()))
        };
        if let [folder] = self.folders.as_slice() {
            folder.write_summary(&self.summary).map_err(Error::new)?;
        }
        match self.folders.as_slice() {
            // In full or not at all, as everything in a folder.
            [folder] if path == folder.path().join(PAGE) => {
                folder
                    .write_file(PAGE, page.render().as_bytes())
                    .map_err(Error::new)?;
            }
            _ => std::fs::write(path, page.render()).map_err(|error| cannot(path, &error))?,
        }
        if let Some(titles) = figures {
            let folder = path.with_file_name("figures");
            std::fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
            figures::write(&folder, &page, titles).map_err(Error::new)?;
        }
        Ok(())
    }
}

/// What tells folders apart: the names of their scenarios, or their paths.
fn names(folders: &[Folder]) -> Vec<String> {
    let names = folders.iter().map(|folder| folder.manifest().name.clone());
    let names = names.collect::<Vec<_>>();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() == names.len() {
        return names;
    }
    folders
        .iter()
        .map(|folder| folder.path().display().to_string())
        .collect()
}

/// That some point is called so: by its label, a part of it, a value or `key=value`, as
/// [`Summary::new`] looks for it.
pub(crate) fn check_baseline<'a>(
    name: &str,
    points: impl Iterator<Item = (&'a str, &'a [Setting])>,
) -> Result<(), Error> {
    let mut labels = Vec::new();
    for (label, settings) in points {
        if scenario::is_called(name, label, settings) {
            return Ok(());
        }
        labels.push(format!("`{label}`"));
    }
    labels.dedup();
    let known = labels.join(", ");
    Err(Error::new(format!(
        "no point is called `{name}`\nhint: there are {known}"
    )))
}

/// Prints the table, a plot, and where the page is.
pub(crate) fn print(
    comparison: &Comparison,
    page: Option<&Path>,
    output: Output,
) -> Result<(), Error> {
    let paint = output.paint;
    let summary = &comparison.summary;
    let runs = summary
        .points
        .iter()
        .map(|point| point.runs)
        .max()
        .unwrap_or(0);
    let mut text = format!("{}\n", paint.bold(comparison.page().title));
    let best = match paint {
        Paint::Plain => "* is the best of a column",
        Paint::Colour => "the best of a column is green",
    };
    let legend = format!(
        "{} of each; ± is a 95 % confidence interval; {best}",
        count(runs as usize, "run")
    );
    _ = writeln!(text, "{}\n", paint.dim(&legend));
    text.push_str(&table::table(summary, paint));
    let metrics = ["fct_small_p99", "fct_mean"].into_iter();
    let mut charts = metrics.filter_map(|metric| comparison.page().chart_of(metric));
    if let Some(chart) = charts.next() {
        let colour = match paint {
            Paint::Plain => Colour::None,
            Paint::Colour => Colour::Ansi,
        };
        text.push('\n');
        text.push_str(plot::terminal(&chart, WIDTH, colour).trim_end());
        text.push('\n');
    }
    if let Some(page) = page {
        _ = writeln!(text, "\nreport: {}", page.display());
    }
    output.print(&text)
}

/// Says how many runs there should be and are not.
pub(crate) fn warn_missing(comparison: &Comparison, output: Output) {
    if comparison.missing > 0 {
        let missing = count(comparison.missing, "run");
        output.warn(&format!(
            "{missing} of the folder left no results\nhint: --resume runs what is missing"
        ));
    }
}

/// Says why some numbers should not be trusted.
pub(crate) fn warn(comparison: &Comparison, output: Output) {
    warn_missing(comparison, output);
    for warning in &comparison.summary.warnings {
        output.warn(warning);
    }
    // What is true of several points is said once.
    let mut told: Vec<(&str, Vec<&str>)> = Vec::new();
    for point in &comparison.summary.points {
        for warning in &point.warnings {
            match told.iter_mut().find(|(text, _)| text == warning) {
                Some((_, labels)) => labels.push(&point.label),
                None => told.push((warning, vec![&point.label])),
            }
        }
    }
    let all = comparison.summary.points.len();
    for (warning, labels) in told {
        match labels.len() {
            count if count == all && all > 1 => output.warn(&format!("all points: {warning}")),
            _ => output.warn(&format!("{}: {warning}", labels.join(", "))),
        }
    }
}
