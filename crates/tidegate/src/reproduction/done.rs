//! Finished figures: printed, and written as a gallery and as the page of all claims.

use std::path::{Path, PathBuf};

use serde_json::json;
use tidegate_report::gallery::{Gallery, Headlines, Row, Shown};
use tidegate_reproduce::judged::{self, Judged};
use tidegate_reproduce::{Entry, Measurements, Verdict, library, page, paper};
use tidegate_results::Record;
use tidegate_study::text::{count, folded};

use super::table;
use crate::output::{Error, ExitStatus, Output};

/// Gallery of all figures, in the results folder.
const GALLERY: &str = "index.html";

/// Finished figures of a reproduction.
pub(crate) struct FinishedFigures {
    pub(crate) folder: PathBuf,
    pub(crate) figures: Vec<Judged>,
    pub(crate) shown: Vec<Shown>,
    measured: Vec<Measurements>,
    /// Figures whose results have different settings than the figures have now.
    pub(crate) others: Vec<String>,
    pub(crate) revision: String,
    pub(crate) is_interrupted: bool,
    /// Whether runs of an engine are missing.
    pub(crate) is_elsewhere: bool,
    pub(crate) status: ExitStatus,
}

impl FinishedFigures {
    /// No figures yet.
    pub(crate) fn new(folder: &Path, revision: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            figures: Vec::new(),
            shown: Vec::new(),
            measured: Vec::new(),
            others: Vec::new(),
            revision: revision.to_owned(),
            is_interrupted: false,
            is_elsewhere: false,
            status: ExitStatus::Good,
        }
    }

    /// Judges a figure, prints the verdicts and adds it.
    pub(crate) fn add(
        &mut self,
        entry: &Entry,
        measured: Measurements,
        records: &[Record],
        report: Option<String>,
        output: Output,
    ) {
        let judged = Judged::new(entry, &measured);
        self.measured.push(measured);
        self.shown.push(judged.shown(entry, records, report));
        let id = judged.id.clone();
        self.figures.push(judged);
        self.print(&id, output);
    }

    /// Judges a figure again, with more runs.
    pub(crate) fn replace(
        &mut self,
        entry: &Entry,
        measured: &Measurements,
        records: &[Record],
        report: Option<String>,
    ) {
        let judged = Judged::new(entry, measured);
        let shown = judged.shown(entry, records, report);
        for other in self.measured.iter_mut().filter(|other| other.figure == judged.id) {
            other.clone_from(measured);
        }
        for other in self.shown.iter_mut().filter(|other| other.id == judged.id) {
            other.clone_from(&shown);
        }
        for other in self.figures.iter_mut().filter(|other| other.id == judged.id) {
            other.clone_from(&judged);
        }
    }

    /// Prints the verdicts on a figure.
    pub(crate) fn print(&self, id: &str, output: Output) {
        let figure = self.figures.iter().find(|figure| figure.id == id);
        if let (Some(judged), false) = (figure, output.json) {
            // A closed pipe is noticed at the end.
            _ = output.print(&table::figure(judged, output.paint, output.width));
        }
    }

    /// Sorts the figures, which are in the order of their ends.
    pub(crate) fn sort<'a>(&mut self, ids: impl Iterator<Item = &'a str>) {
        let ids: Vec<&str> = ids.collect();
        let position = |id: &str| ids.iter().position(|other| *other == id);
        self.figures.sort_by_key(|figure| position(&figure.id));
        self.shown.sort_by_key(|figure| position(&figure.id));
    }

    /// Writes the page of all claims, and the measurements into the folder beside it. The page also
    /// has figures whose measurements are kept there from earlier runs. Figures of files come last.
    fn write_docs(&self, page: &Path, output: Output) -> Result<(), Error> {
        let folder = page.with_extension("");
        let cannot = |error: std::io::Error| {
            let (page, folder) = (page.display(), folder.display());
            Error::new(format!("cannot write {page} from the measurements in {folder}: {error}"))
        };
        let is_known = |id: &str| library::file(id).is_some();
        let (mut left_out, mut own) = (self.others.clone(), Vec::new());
        for measured in &self.measured {
            let id = &measured.figure;
            if measured.command.contains(" --set ") && is_known(id) {
                left_out.push(id.clone());
            }
            if left_out.contains(id) {
                output.warn(&format!(
                    "{id} was run with different settings and is left out of the page"
                ));
            } else if is_known(id) {
                own.push(measured);
            }
        }
        for measured in own {
            let id = &measured.figure;
            let kept = Measurements::read(&folder, id).map_err(cannot)?;
            if kept.is_some_and(|kept| kept.is_whole()) && !measured.is_whole() {
                output.warn(&format!(
                    "{id} stays unchanged on the page, which has a full run with the same settings"
                ));
            } else if measured.planned > 0 {
                measured.write(&folder).map_err(cannot)?;
            }
        }
        let mut figures = Judged::kept(&folder).map_err(cannot)?;
        let others = self.figures.iter().filter(|figure| !is_known(&figure.id));
        let others = others.filter(|figure| !left_out.contains(&figure.id));
        figures.extend(others.cloned());
        let text = page::markdown(&paper::papers(), &figures);
        std::fs::write(page, text).map_err(cannot)
    }

    /// Headlines of the papers of these figures.
    fn headlines(&self) -> Vec<Headlines> {
        let of = |paper: &paper::Paper| Headlines {
            title: format!("{}: verdicts on its main claims", paper.name),
            claims: (paper.answered(&self.figures).into_iter())
                .map(|answered| {
                    let row = Row { note: Some(answered.cause), ..answered.finding.row() };
                    (answered.figure, row)
                })
                .collect(),
        };
        paper::papers().iter().map(of).collect()
    }

    /// Writes the gallery and the page of claims, and prints the numbers of verdicts.
    pub(crate) fn write(
        &self,
        asked: usize,
        docs: Option<&Path>,
        output: Output,
    ) -> Result<(), Error> {
        let claims = || self.figures.iter().flat_map(|figure| &figure.claims);
        let tally = judged::tally(claims());
        let facts = [
            format!("tidegate {} {}", env!("CARGO_PKG_VERSION"), self.revision),
            count(self.figures.len(), "figure"),
            judged::counted(&self.figures),
        ];
        let path = self.folder.join(GALLERY);
        let has_figures = !self.figures.is_empty();
        if has_figures {
            let verdicts = tally.map(|(verdict, count)| (verdict.title(), count));
            let gallery = Gallery {
                title: "Published figures, reproduced",
                facts: &facts,
                verdicts: &verdicts,
                headlines: &self.headlines(),
                figures: &self.shown,
            };
            std::fs::create_dir_all(&self.folder).map_err(Error::write(&self.folder))?;
            std::fs::write(&path, gallery.render()).map_err(Error::write(&path))?;
        }
        if let Some(path) = docs {
            self.write_docs(path, output)?;
        }
        if output.json {
            let value = json!({
                "folder": self.folder.display().to_string(),
                "gallery": has_figures.then(|| path.display().to_string()),
                "interrupted": self.is_interrupted,
                "figures": self.figures,
            });
            return output.print_json(&value);
        }
        if !has_figures {
            return Ok(());
        }
        // Claims that were not run are reported only if there are some.
        let shown = |(verdict, count): &(_, usize)| *verdict != Verdict::NotRun || *count > 0;
        let shown = tally.into_iter().filter(shown);
        let counts = shown.map(|(verdict, count)| format!("{count} {}", verdict.title()));
        let mut text = counts.collect::<Vec<_>>().join(" · ");
        if self.figures.len() < asked {
            text = format!("{} of {asked} figures: {text}", self.figures.len());
        }
        let lines = folded(&text, output.width).join("\n");
        output.print(&format!("\n{lines}\ngallery: {}\n", path.display()))
    }
}
