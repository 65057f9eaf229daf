//! `tidegate report`: results side by side, as a table, a plot and a page.

mod warnings;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::json;
use tidegate_report::figures::{self, Titles};
use tidegate_report::folder::{self, Folder, Manifest, Planned};
use tidegate_report::page::Page;
use tidegate_report::plot::{self, Chart, Colour, Theme};
use tidegate_results::record::{Flow, Setting};
use tidegate_results::{Brief, Record, RecordedFlow, Summary, View};

use self::warnings::Shared;
use super::run::count;
use crate::args::Report;
use crate::labels;
use crate::markdown::folded;
use crate::output::{Error, ExitStatus, Output, Paint};
use crate::table::{self, Look, Tables};

/// The name of the page in a folder.
pub(crate) const PAGE: &str = "report.html";

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
    let comparison = Comparison::packed(folders, baseline.as_deref())?;
    let written = comparison.write(&page, arguments.figures.titles());
    written.map_err(|error| with_way_out(error, arguments.out.is_some()))?;
    if output.json {
        let value = json!({ "report": page.display().to_string(), "summary": comparison.summary });
        output.print_json(&value)?;
    } else {
        print(&comparison, Some(&page), output)?;
    }
    warn(&comparison, output);
    Ok(ExitStatus::Good)
}

/// A folder that cannot be written to need not be: its page can be elsewhere.
fn with_way_out(error: Unwritten, is_named: bool) -> Error {
    match error {
        Unwritten::Folder(folder::Error::Write { path, source }) if !is_named => {
            Error::new(format!(
                "cannot write {}: {source}\nhint: write the page elsewhere with `--out FILE`; \
                 the folder is then left unchanged",
                path.display()
            ))
        }
        error => error.into(),
    }
}

/// Why a page was not written.
pub(crate) enum Unwritten {
    /// A results folder could not be written to.
    Folder(folder::Error),
    /// Another file could not be.
    Other(Error),
}

impl From<Unwritten> for Error {
    fn from(error: Unwritten) -> Self {
        match error {
            Unwritten::Folder(error) => Self::new(error),
            Unwritten::Other(error) => error,
        }
    }
}

/// The results of some folders.
pub(crate) struct Comparison<F = Brief> {
    folders: Vec<Folder>,
    manifests: Vec<Manifest>,
    pub(crate) records: Vec<Record<F>>,
    pub(crate) summary: Summary,
    /// Runs that have no record.
    pub(crate) missing: Vec<Planned>,
    /// The baseline, if none of its runs is finished and some are planned.
    waits: Option<String>,
    title: String,
}

impl Comparison<Flow> {
    /// Reads all finished runs of the folders.
    pub(crate) fn of(folders: Vec<Folder>, baseline: Option<&str>) -> Result<Self, Error> {
        Self::read(folders, baseline)
    }
}

impl Comparison {
    /// Reads the finished runs of the folders packed: enough for summaries and pages, and little
    /// memory for very many runs.
    pub(crate) fn packed(folders: Vec<Folder>, baseline: Option<&str>) -> Result<Self, Error> {
        Self::read(folders, baseline)
    }
}

impl<F: RecordedFlow> Comparison<F>
where
    Record<F>: From<Record>,
{
    fn read(folders: Vec<Folder>, baseline: Option<&str>) -> Result<Self, Error> {
        let (mut records, mut missing) = (Vec::new(), Vec::new());
        let names = names(&folders);
        for (folder, name) in folders.iter().zip(&names) {
            let finished = folder.finished();
            let runs = folder.manifest().runs.iter();
            missing.extend(runs.filter(|run| !finished.contains(&run.id)).cloned());
            for id in &finished {
                let mut record: Record<F> = folder.read(id).map_err(Error::new)?.into();
                if folders.len() > 1 {
                    // Points of different folders may have the same label.
                    record.run.label = format!("{name}: {}", record.run.label);
                }
                records.push(record);
            }
        }
        if records.is_empty() {
            let paths = folders.iter().map(|folder| folder.path().display().to_string());
            let paths = paths.collect::<Vec<_>>().join(", ");
            return Err(Error::new(format!("no finished run in {paths}")));
        }
        let manifests = folders.iter().map(|folder| folder.manifest().clone());
        let manifests: Vec<Manifest> = manifests.collect();
        let waits = baseline.filter(|name| is_to_come(name, &records, &missing));
        let baseline = baseline.filter(|_| waits.is_none());
        let comparison = Self::of_records(records, manifests, baseline)?;
        Ok(Self { folders, missing, waits: waits.map(str::to_owned), ..comparison })
    }
}

impl<F: RecordedFlow> Comparison<F> {
    /// The same of records that are in no folder.
    pub(crate) fn of_records(
        records: Vec<Record<F>>,
        manifests: Vec<Manifest>,
        baseline: Option<&str>,
    ) -> Result<Self, Error> {
        if let Some(name) = baseline {
            let runs = records.iter().map(|record| &record.run);
            check_baseline(
                name,
                runs.map(|run| (run.label.as_str(), run.point.iter().map(pair).collect())),
            )?;
        }
        Ok(Self {
            summary: Summary::new(&records, baseline),
            title: title(&manifests),
            folders: Vec::new(),
            manifests,
            records,
            missing: Vec::new(),
            waits: None,
        })
    }

    /// The labels of runs that have no record.
    pub(crate) fn missing(&self) -> Vec<&str> {
        self.missing.iter().map(|run| run.label.as_str()).collect()
    }

    /// The report.
    pub(crate) fn render(&self) -> String {
        self.page().render()
    }

    /// The chart that says most.
    pub(crate) fn chart(&self) -> Option<Chart> {
        let metrics = ["fct_small_p99", "fct_mean"].into_iter();
        let mut charts = metrics.filter_map(|metric| self.page().chart_of(metric));
        charts.next()
    }

    fn page(&self) -> Page<'_> {
        Page {
            title: &self.title,
            manifests: &self.manifests,
            records: self.records.iter().map(View::from).collect(),
            summary: &self.summary,
        }
    }

    /// Writes the page, and figures if they are asked for. A page in its own folder comes with the
    /// folder's summary; for one elsewhere, folders are only read.
    pub(crate) fn write(&self, path: &Path, figures: Option<Titles>) -> Result<(), Unwritten> {
        let page = self.page();
        let cannot = |path: &Path, error: &dyn std::fmt::Display| {
            let text = format!("cannot write {}: {error}", path.display());
            Unwritten::Other(Error::new(text))
        };
        match self.folders.as_slice() {
            // In full or not at all, as everything in a folder.
            [folder] if path == folder.path().join(PAGE) => {
                folder
                    .write_summary(&self.summary)
                    .and_then(|()| folder.write_file(PAGE, page.render().as_bytes()))
                    .map_err(Unwritten::Folder)?;
            }
            _ => std::fs::write(path, page.render()).map_err(|error| cannot(path, &error))?,
        }
        if let Some(titles) = figures {
            let folder = path.with_file_name("figures");
            std::fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
            let written = figures::write(&folder, &page, titles);
            written.map_err(|error| Unwritten::Other(Error::new(error)))?;
        }
        Ok(())
    }

    /// Writes the charts of traced flows as SVG: time and sequence, and what was sampled of the
    /// flow and its queues. Returns how many there are.
    pub(crate) fn write_trace(&self, folder: &Path) -> Result<usize, Error> {
        let cannot = |path: &Path, error: std::io::Error| {
            Error::new(format!("cannot write {}: {error}", path.display()))
        };
        std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
        let sections = self.page().sections().into_iter();
        let traced = sections.filter(|section| matches!(section.id, "trace" | "time"));
        let mut count = 0;
        for panel in traced.flat_map(|section| section.panels) {
            let path = folder.join(format!("{}.svg", panel.chart.id));
            let drawing = plot::svg(&panel.chart, Theme::Light);
            std::fs::write(&path, drawing).map_err(|error| cannot(&path, error))?;
            count += 1;
        }
        Ok(count)
    }
}

/// The title of some folders: that of all, or each once.
fn title(manifests: &[Manifest]) -> String {
    let mut titles: Vec<&str> = Vec::new();
    for manifest in manifests {
        let title = manifest.title.as_str();
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    titles.join(" · ")
}

/// What distinguishes folders: the names of their scenarios, their own names, or their paths.
fn names(folders: &[Folder]) -> Vec<String> {
    let namings: [fn(&Folder) -> String; 2] = [
        |folder| folder.manifest().name.clone(),
        |folder| {
            let name = folder.path().file_name().unwrap_or_default();
            name.to_string_lossy().into_owned()
        },
    ];
    let is_distinct = |names: &Vec<String>| {
        let distinct = names.iter().collect::<BTreeSet<_>>();
        distinct.len() == names.len() && !names.iter().any(String::is_empty)
    };
    let mut names = namings.iter().map(|naming| folders.iter().map(naming).collect());
    names.find(is_distinct).unwrap_or_else(|| {
        let paths = folders.iter().map(Folder::path);
        paths.map(|path| path.display().to_string()).collect()
    })
}

fn pair(setting: &Setting) -> (&str, &str) {
    (&setting.key, &setting.value)
}

/// That some point is called so: by its label, a part of it, a value or `key=value`, as
/// [`Summary::new`] looks for it.
pub(crate) fn check_baseline<'a>(
    name: &str,
    points: impl Iterator<Item = (&'a str, Vec<(&'a str, &'a str)>)>,
) -> Result<(), Error> {
    let mut labels = Vec::new();
    for (label, settings) in points {
        if tidegate_scenario::is_called(name, label, settings) {
            return Ok(());
        }
        labels.push(format!("`{label}`"));
    }
    labels.dedup();
    let known = labels.join(", ");
    Err(Error::new(format!("no point is called `{name}`\nhint: the points are {known}")))
}

/// Whether a point has planned runs and no finished one.
fn is_to_come<F>(name: &str, records: &[Record<F>], missing: &[Planned]) -> bool {
    let is_called = |label: &str, point: &[Setting]| {
        tidegate_scenario::is_called(name, label, point.iter().map(pair).collect::<Vec<_>>())
    };
    let mut finished = records.iter().map(|record| &record.run);
    !finished.any(|run| is_called(&run.label, &run.point))
        && missing.iter().any(|run| is_called(&run.label, &run.point))
}

/// Prints the table, a plot, and where the page is.
pub(crate) fn print(
    comparison: &Comparison,
    page: Option<&Path>,
    output: Output,
) -> Result<(), Error> {
    let mut text = shown(comparison, output.paint, output.width);
    if let Some(page) = page {
        _ = writeln!(text, "\nreport: {}", page.display());
    }
    output.print(&text)
}

/// The table and a plot.
pub(crate) fn shown(
    comparison: &Comparison<impl RecordedFlow>,
    paint: Paint,
    width: usize,
) -> String {
    let tables = table::tables(&comparison.summary, Look { paint, width });
    let mut text = String::new();
    for line in folded(&comparison.title, width) {
        _ = writeln!(text, "{}", paint.bold(&line));
    }
    for line in folded(&legend(&comparison.summary, &tables), width) {
        _ = writeln!(text, "{}", paint.dim(&line));
    }
    text.push('\n');
    text.push_str(&tables.text);
    if let Some(mut chart) = comparison.chart() {
        let colour = match paint {
            Paint::Plain => Colour::None,
            Paint::Colour => Colour::Ansi,
        };
        shorten_names(&mut chart, width);
        text.push('\n');
        text.push_str(plot::terminal(&chart, width, colour).trim_end());
        text.push('\n');
    }
    text
}

/// How the tables are to be read.
fn legend(summary: &Summary, tables: &Tables) -> String {
    let runs = || summary.points.iter().map(|point| point.runs as usize);
    let (least, most) = (runs().min().unwrap_or(0), runs().max().unwrap_or(0));
    let runs = if least == most { count(most, "run") } else { format!("{least} to {most} runs") };
    let mut legend = format!("{runs} per point; ± is half of a 95 % confidence interval");
    if tables.has_best {
        let among = if tables.has_groups { "group" } else { "column" };
        _ = write!(legend, "; * is the best in its {among}");
    }
    if tables.has_tied {
        legend.push_str("; ~ ties with the best (95 % intervals overlap)");
    }
    legend
}

/// Lines and rows of a plot have a third of the screen for their names.
fn shorten_names(chart: &mut Chart, width: usize) {
    let room = width / 3;
    if let plot::Scale::Names(names) = &mut chart.x.scale {
        let whole = names.iter().map(String::as_str).collect::<Vec<_>>();
        *names = labels::shortened(&whole, room);
    }
    let whole = chart.lines.iter().map(|line| line.name.as_str());
    let names = labels::shortened(&whole.collect::<Vec<_>>(), room);
    for (line, name) in chart.lines.iter_mut().zip(names) {
        line.name = name;
    }
}

/// How many runs there should be and are not.
fn missing<F>(comparison: &Comparison<F>) -> Option<String> {
    if comparison.missing.is_empty() {
        return None;
    }
    let missing = count(comparison.missing.len(), "run");
    let paths = comparison.folders.iter().map(Folder::path);
    let paths = paths.map(|path| path.display().to_string());
    Some(format!(
        "no results for {missing} of {}\nhint: run the missing ones with --resume",
        paths.collect::<Vec<_>>().join(", ")
    ))
}

/// Why some numbers should not be trusted.
pub(crate) fn warnings<F>(comparison: &Comparison<F>) -> Vec<String> {
    let mut texts: Vec<String> = missing(comparison).into_iter().collect();
    let waits = comparison.waits.iter();
    texts.extend(waits.map(|name| {
        format!("no run of the baseline `{name}` is finished, so nothing is compared with it")
    }));
    texts.extend(comparison.summary.warnings.iter().cloned());
    let points = || comparison.summary.points.iter();
    let of_points = points().flat_map(|point| {
        let texts = point.warnings.iter();
        texts.map(|text| (point.label.as_str(), text.as_str()))
    });
    let all = points().count();
    for Shared { text, labels } in warnings::merged(of_points) {
        texts.push(match labels.len() {
            count if count == all && all > 1 => format!("all points: {text}"),
            _ => format!("{}: {text}", labels.join(", ")),
        });
    }
    texts
}

/// Says why some numbers should not be trusted.
pub(crate) fn warn<F>(comparison: &Comparison<F>, output: Output) {
    for text in warnings(comparison) {
        output.warn(&text);
    }
}
