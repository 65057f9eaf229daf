//! Results of one or more folders side by side.

mod warnings;

use std::collections::BTreeSet;
use std::path::Path;

use tidegate_report::figures::{self, Titles};
use tidegate_report::folder::{Folder, Manifest, Planned};
use tidegate_report::page::Page;
use tidegate_report::plot::{self, Chart, Theme};
use tidegate_results::record::{End, Flow, Setting};
use tidegate_results::{Brief, Record, RecordedFlow, Summary, View};

use self::warnings::Shared;
use crate::Error;
use crate::text::count;

/// Name of the report page in a folder.
pub const PAGE: &str = "report.html";

/// Results of some folders, or of records in memory.
#[derive(Debug)]
pub struct Comparison<F = Brief> {
    folders: Vec<Folder>,
    manifests: Vec<Manifest>,
    /// Finished runs.
    pub records: Vec<Record<F>>,
    /// Summary of the finished runs.
    pub summary: Summary,
    /// Runs without a record.
    pub missing: Vec<Planned>,
    /// The baseline, if all of its runs are still missing.
    waits: Option<String>,
    /// Title of the scenarios.
    pub title: String,
}

impl Comparison<Flow> {
    /// Reads all finished runs of the folders.
    pub fn of(folders: Vec<Folder>, baseline: Option<&str>) -> Result<Self, Error> {
        Self::read(folders, baseline)
    }
}

impl Comparison {
    /// Reads all finished runs of the folders with packed flows: enough for summaries and pages,
    /// with less memory.
    pub fn packed(folders: Vec<Folder>, baseline: Option<&str>) -> Result<Self, Error> {
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
                let mut record: Record<F> = folder.read(id)?.into();
                if folders.len() > 1 {
                    // Points of different folders may have the same label.
                    record.run.label = format!("{name}: {}", record.run.label);
                }
                records.push(record);
            }
        }
        if records.is_empty() {
            return Err(Error::NoResults(paths(&folders)));
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
    /// Compares records that are in no folder.
    pub fn of_records(
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

    /// Labels of runs without a record.
    pub fn missing(&self) -> Vec<&str> {
        self.missing.iter().map(|run| run.label.as_str()).collect()
    }

    /// The report page.
    pub fn render(&self) -> String {
        self.page().render()
    }

    /// The most informative chart.
    pub fn chart(&self) -> Option<Chart> {
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

    /// Writes the page, and figures if titles are given. A page in its own folder comes with the
    /// folder's summary; a page elsewhere leaves the folders unchanged.
    pub fn write(&self, path: &Path, figures: Option<Titles>) -> Result<(), Error> {
        let page = self.page();
        match self.folders.as_slice() {
            // In full or not at all, like every file of a folder.
            [folder] if path == folder.path().join(PAGE) => {
                folder.write_summary(&self.summary)?;
                folder.write_file(PAGE, page.render().as_bytes())?;
            }
            _ => std::fs::write(path, page.render()).map_err(Error::write(path))?,
        }
        if let Some(titles) = figures {
            figures::write(&path.with_file_name("figures"), &page, titles)?;
        }
        Ok(())
    }

    /// Writes the charts of traced flows as SVG: sequence numbers over time, and samples of the
    /// flow and its queues. Returns the number of charts.
    pub fn write_trace(&self, folder: &Path) -> Result<usize, Error> {
        std::fs::create_dir_all(folder).map_err(Error::write(folder))?;
        let sections = self.page().sections().into_iter();
        let traced = sections.filter(|section| matches!(section.id, "trace" | "time"));
        let mut count = 0;
        for panel in traced.flat_map(|section| section.panels) {
            let path = folder.join(format!("{}.svg", panel.chart.id));
            let drawing = plot::svg(&panel.chart, Theme::Light);
            std::fs::write(&path, drawing).map_err(Error::write(&path))?;
            count += 1;
        }
        Ok(count)
    }

    /// Reasons not to trust some numbers.
    pub fn warnings(&self) -> Vec<String> {
        let mut texts = Vec::new();
        if !self.missing.is_empty() {
            let missing = count(self.missing.len(), "run");
            let paths = paths(&self.folders);
            texts.push(format!(
                "no results for {missing} of {paths}\nhint: run the missing ones with --resume"
            ));
        }
        let waits = self.waits.iter();
        texts.extend(waits.map(|name| {
            format!("no run of the baseline `{name}` is finished, so nothing is compared with it")
        }));
        texts.extend(self.summary.warnings.iter().cloned());
        let points = || self.summary.points.iter();
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

    /// Stalled runs with the reason: they have a record that should not be trusted.
    pub fn stalled(&self) -> Vec<(String, String)> {
        stalled(&self.records)
    }
}

/// Runs that ended because nothing moved any more, with the reason.
pub fn stalled<F>(records: &[Record<F>]) -> Vec<(String, String)> {
    let stalled = records.iter().filter_map(|record| match &record.run.end {
        End::Stalled(why) => Some((record.run.id.clone(), format!("stalled: {why}"))),
        _ => None,
    });
    stalled.collect()
}

fn paths(folders: &[Folder]) -> String {
    let paths = folders.iter().map(|folder| folder.path().display().to_string());
    paths.collect::<Vec<_>>().join(", ")
}

/// The titles of some folders, each once.
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

/// Names that distinguish folders: scenario names, folder names or paths.
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

/// Checks that some point has a name: by its label, a part of it, a value or `key=value`, as
/// [`Summary::new`] looks for it.
pub fn check_baseline<'a>(
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
    Err(Error::UnknownBaseline { name: name.to_owned(), known: labels.join(", ") })
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
