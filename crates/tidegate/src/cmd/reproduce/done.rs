//! What was reproduced: said, and written as a gallery and as the page of all claims.

use std::path::{Path, PathBuf};

use serde_json::json;
use tidegate_lab::reproduce::judged::{self, Judged};
use tidegate_lab::reproduce::{Entry, Verdict as Claimed, library, page, paper};
use tidegate_report::Record;
use tidegate_report::gallery::{Gallery, Headlines, Row, Shown};

use super::super::run;
use super::table;
use crate::builtin;
use crate::markdown::folded;
use crate::output::{Error, Output, Verdict};

/// The page of all figures in the results folder.
const GALLERY: &str = "index.html";

/// What was reproduced.
pub(super) struct Done {
    pub(super) folder: PathBuf,
    pub(super) figures: Vec<Judged>,
    pub(super) shown: Vec<Shown>,
    pub(super) revision: String,
    pub(super) is_interrupted: bool,
    pub(super) verdict: Verdict,
}

impl Done {
    /// Nothing yet.
    pub(super) fn new(folder: &Path, revision: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            figures: Vec::new(),
            shown: Vec::new(),
            revision: revision.to_owned(),
            is_interrupted: false,
            verdict: Verdict::Good,
        }
    }

    /// Adds a figure, and says what came out of it.
    pub(super) fn add(
        &mut self,
        entry: &Entry,
        judged: Judged,
        records: &[Record],
        report: Option<String>,
        output: Output,
    ) {
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

    /// All figures of the program in their order, those that were not run without results, and then
    /// those of files.
    fn with_others(&self) -> Vec<Judged> {
        let own = |id: &str| self.figures.iter().find(|figure| figure.id == id).cloned();
        let files = library::files();
        let known = files.iter().filter_map(|file| {
            own(file.id).or_else(|| {
                let figure = library::figure(file)?;
                Some(Judged::without_results(&figure, builtin::title(file.text)))
            })
        });
        let is_other = |figure: &&Judged| files.iter().all(|file| file.id != figure.id);
        let others = self.figures.iter().filter(is_other).cloned();
        known.chain(others).collect()
    }

    /// The headlines of the papers whose figures were asked for.
    fn headlines(&self) -> Vec<Headlines> {
        let of = |paper: &paper::Paper| Headlines {
            title: format!("{}: what became of its main claims", paper.name),
            claims: (paper.answered(&self.figures).into_iter())
                .map(|answered| {
                    let row = Row {
                        note: Some(answered.cause),
                        ..answered.finding.row()
                    };
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
            counted(&self.figures),
        ];
        let path = self.folder.join(GALLERY);
        let has_figures = !self.figures.is_empty();
        if has_figures {
            let verdicts = tally.map(|(verdict, count)| (verdict.title(), count));
            let gallery = Gallery {
                title: "Published figures, run again",
                facts: &facts,
                verdicts: &verdicts,
                headlines: &self.headlines(),
                figures: &self.shown,
            };
            std::fs::create_dir_all(&self.folder).map_err(|error| cannot(&self.folder, &error))?;
            std::fs::write(&path, gallery.render()).map_err(|error| cannot(&path, &error))?;
        }
        if let Some(path) = docs {
            let text = page::markdown(&paper::papers(), &self.with_others(), &facts);
            std::fs::write(path, text).map_err(|error| cannot(path, &error))?;
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

/// How many claims there are, and how many of them are outside the tally.
fn counted(figures: &[Judged]) -> String {
    let count = |counted| {
        figures
            .iter()
            .flat_map(|figure| figure.claims(counted))
            .count()
    };
    let claims = run::count(count(true), "claim");
    match count(false) {
        0 => claims,
        outside => format!("{claims}, and {outside} outside the tally"),
    }
}
