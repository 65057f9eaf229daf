//! What was reproduced: said, and written as a gallery and as the page of all claims.

use std::path::{Path, PathBuf};

use serde_json::json;
use tidegate_report::gallery::{Gallery, Headlines, Row, Shown};
use tidegate_reproduce::judged::{self, Judged};
use tidegate_reproduce::{Entry, Measurements, Verdict as Claimed, library, page, paper};
use tidegate_results::Record;

use super::super::run;
use super::table;
use crate::markdown::folded;
use crate::output::{Error, ExitStatus, Output};

/// The page of all figures in the results folder.
const GALLERY: &str = "index.html";

/// What was reproduced.
pub(super) struct Done {
    pub(super) folder: PathBuf,
    pub(super) figures: Vec<Judged>,
    pub(super) shown: Vec<Shown>,
    measured: Vec<Measurements>,
    /// Figures whose results are of other settings than they have now.
    pub(super) others: Vec<String>,
    pub(super) revision: String,
    pub(super) is_interrupted: bool,
    /// Whether an engine has its runs, and not all are there.
    pub(super) is_elsewhere: bool,
    pub(super) verdict: ExitStatus,
}

impl Done {
    /// Nothing yet.
    pub(super) fn new(folder: &Path, revision: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            figures: Vec::new(),
            shown: Vec::new(),
            measured: Vec::new(),
            others: Vec::new(),
            revision: revision.to_owned(),
            is_interrupted: false,
            is_elsewhere: false,
            verdict: ExitStatus::Good,
        }
    }

    /// Adds a figure, and says what came out of it.
    pub(super) fn add(
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
        if !output.json {
            // Said as soon as it is known; a closed pipe is noticed at the end.
            _ = output.print(&table::figure(&judged, output.paint, output.width));
        }
        self.figures.push(judged);
    }

    /// Puts the figures into this order; they come as they are finished.
    pub(super) fn sort<'a>(&mut self, ids: impl Iterator<Item = &'a str>) {
        let ids: Vec<&str> = ids.collect();
        let place = |id: &str| ids.iter().position(|other| *other == id);
        self.figures.sort_by_key(|figure| place(&figure.id));
        self.shown.sort_by_key(|figure| place(&figure.id));
    }

    /// Writes the page of all claims, and what was measured into the folder beside it: what is kept
    /// there of figures that were not run is on the page too. Figures of files come last.
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
            } else if !measured.claims.is_empty() && measured.planned > 0 {
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

    /// The headlines of the papers whose figures were asked for.
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

    /// Writes the gallery and the page of claims, and says what came out of the figures that were
    /// asked for.
    pub(super) fn write(
        &self,
        asked: usize,
        docs: Option<&Path>,
        output: Output,
    ) -> Result<(), Error> {
        let cannot = |path: &Path, error: &std::io::Error| {
            Error::new(format!("cannot write {}: {error}", path.display()))
        };
        let claims = || self.figures.iter().flat_map(|figure| &figure.claims);
        let tally = judged::tally(claims());
        let facts = [
            format!("tidegate {} {}", env!("CARGO_PKG_VERSION"), self.revision),
            run::count(self.figures.len(), "figure"),
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
            std::fs::create_dir_all(&self.folder).map_err(|error| cannot(&self.folder, &error))?;
            std::fs::write(&path, gallery.render()).map_err(|error| cannot(&path, &error))?;
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
        // What a version leaves out is reported only if there is such.
        let shown = |(verdict, count): &(_, usize)| *verdict != Claimed::NotRun || *count > 0;
        let shown = tally.into_iter().filter(shown);
        let words = shown.map(|(verdict, count)| format!("{count} {}", verdict.title()));
        let mut text = words.collect::<Vec<_>>().join(" · ");
        if self.figures.len() < asked {
            text = format!("{} of {asked} figures: {text}", self.figures.len());
        }
        let lines = folded(&text, output.width).join("\n");
        output.print(&format!("\n{lines}\ngallery: {}\n", path.display()))
    }
}
