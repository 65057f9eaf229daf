//! A figure with verdicts on its claims.

use std::io;
use std::path::Path;

use serde::Serialize;
use tidegate_report::gallery::{NOT_RUN, Row, Shown};
use tidegate_results::Record;
use tidegate_results::format;

use super::chart;
use super::entry::{Entry, Version};
use super::library;
use super::measurements::{Measurements, NOT_RUN_YET};
use super::quote;
use super::varied::Varied;
use super::verdict::{CHANGE, Finding, Fit, Measured, Verdict, judge};

/// A figure with verdicts on its claims.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// Name.
    pub id: String,
    /// Title.
    pub title: String,
    /// Subject.
    pub shows: String,
    /// Source.
    pub source: String,
    /// Version that was run.
    pub version: String,
    /// Revision of the program.
    pub revision: String,
    /// Reductions of this version.
    pub cut: Vec<String>,
    /// Resolved ambiguities of the figure itself, without its setup's.
    pub assumptions: Vec<String>,
    /// Findings about claims that do not hold.
    pub findings: Vec<String>,
    /// Trials behind the findings, and their effects.
    pub varied: Vec<Varied>,
    /// Number of finished runs.
    pub runs: usize,
    /// Number of planned runs.
    pub planned: usize,
    /// Claims.
    pub claims: Vec<Finding>,
    /// Command that makes the figure.
    pub command: String,
}

impl Judged {
    /// Judges the claims of a figure by their measurements.
    pub fn new(entry: &Entry, measured: &Measurements) -> Self {
        let figure = &entry.figure;
        let trials = figure.trials.iter();
        let varied = trials.filter_map(|trial| {
            let of_trial = measured.of_trial(trial)?;
            Some(Varied::of(entry, trial, measured, of_trial))
        });
        let varied: Vec<Varied> = varied.flatten().collect();
        let claims = judged(entry, measured);
        let is_run = measured.version != NOT_RUN_YET;
        let findings = figure.findings.iter().filter(|_| is_run);
        let findings = findings.map(|text| filled(text.get_ref(), &claims, &varied));
        Self {
            id: figure.id.clone(),
            title: entry.scenario.title.clone(),
            shows: figure.shows.clone(),
            source: figure.source.clone(),
            version: if figure.is_computed {
                "computed".to_owned()
            } else {
                measured.version.clone()
            },
            revision: measured.revision.clone(),
            cut: measured.cut.clone(),
            assumptions: figure.assumptions.clone(),
            findings: findings.collect(),
            varied,
            runs: measured.runs,
            planned: measured.planned,
            claims,
            command: measured.command.clone(),
        }
    }

    /// All built-in figures in order, with their measurements kept in a folder.
    pub fn kept(folder: &Path) -> io::Result<Vec<Self>> {
        library::files().into_iter().map(|file| Self::kept_one(folder, file.id)).collect()
    }

    /// A built-in figure with its measurements kept in a folder.
    pub fn kept_one(folder: &Path, id: &str) -> io::Result<Self> {
        let entry = Entry::embedded(id, Version::Full, &[]).and_then(Result::ok);
        let entry = entry.expect("figures of the program are valid");
        let measured = Measurements::read(folder, id)?;
        let measured = measured.unwrap_or_else(|| Measurements::none(&entry));
        Ok(Self::new(&entry, &measured))
    }

    /// Version that was run, with the number of finished runs if some are missing.
    pub fn extent(&self) -> String {
        if self.runs == self.planned {
            return self.version.clone();
        }
        format!("{}, {} of {} runs finished", self.version, self.runs, self.planned)
    }

    /// Claims inside or outside the tally.
    pub fn claims(&self, counted: bool) -> impl Iterator<Item = &Finding> {
        let claims = self.claims.iter();
        claims.filter(move |claim| claim.untallied.is_none() == counted)
    }

    /// The figure for the gallery.
    pub fn shown(&self, entry: &Entry, records: &[Record], report: Option<String>) -> Shown {
        let intro = format!("{}; {} (version: {}).", self.shows, self.source, self.extent());
        Shown {
            id: self.id.clone(),
            title: self.title.clone(),
            intro: capitalised(&intro),
            charts: chart::charts(&entry.figure, records),
            claims: self.claims(true).map(Finding::row).collect(),
            outside: self.claims(false).map(Finding::row).collect(),
            remarks: vec![
                ("Reductions", self.cut.clone()),
                ("Findings", self.findings.clone()),
                (VARIED, self.varied.iter().map(Varied::line).collect()),
                ("Assumptions", self.assumptions.clone()),
            ],
            command: self.command.clone(),
            report,
        }
    }
}

fn judged(entry: &Entry, measured: &Measurements) -> Vec<Finding> {
    let figure = &entry.figure;
    let one = |claim| {
        let answer = measured.answer(entry, claim);
        let finding = judge(claim, &answer);
        let untallied = finding.untallied.clone();
        let note = match finding.verdict {
            Verdict::NotRun if measured.version == NOT_RUN_YET => Some(NOT_RUN_YET.to_owned()),
            _ => finding.note.clone(),
        };
        Finding { untallied: untallied.or_else(|| figure.untallied.clone()), note, ..finding }
    };
    figure.claims.iter().map(one).collect()
}

/// Heading of the trials.
pub(super) const VARIED: &str = "One assumption changed";

/// Numbers of claims in words: all, and outside the tally.
pub fn counted(figures: &[Judged]) -> String {
    let count = |counted| {
        let claims = figures.iter().flat_map(|figure| figure.claims(counted));
        claims.count()
    };
    let claims = match count(true) {
        1 => "1 claim".to_owned(),
        claims => format!("{claims} claims"),
    };
    match count(false) {
        0 => claims,
        outside => format!("{claims}, and {outside} outside the tally"),
    }
}

/// Number of claims with each verdict, of the tally.
pub fn tally<'a>(
    findings: impl Iterator<Item = &'a Finding>,
) -> [(Verdict, usize); Verdict::ALL.len()] {
    let mut counts = Verdict::ALL.map(|verdict| (verdict, 0));
    for finding in findings.filter(|finding| finding.untallied.is_none()) {
        for (verdict, count) in &mut counts {
            *count += usize::from(*verdict == finding.verdict);
        }
    }
    counts
}

impl Verdict {
    /// Name in style sheets.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Inconclusive => "inconclusive",
            Self::SameDirection => "same-direction",
            Self::NotReproduced => "not-reproduced",
            Self::NotTestable => "not-testable",
            Self::NotRun => NOT_RUN,
        }
    }
}

impl Finding {
    /// Verdict in words.
    pub fn answer(&self) -> String {
        if self.verdict == Verdict::NotRun && self.unfinished > 0 {
            return "not finished".to_owned();
        }
        let title = self.verdict.title();
        match (self.verdict, self.runs_to_decide) {
            // The note names the missing numbers. More runs may not provide them.
            (Verdict::Inconclusive, _) if self.numberless > 0 => title.to_owned(),
            (Verdict::Inconclusive, Some(runs)) => format!("{title}: {runs} runs would decide"),
            (Verdict::Inconclusive, None) => format!("{title}: more runs would not decide"),
            _ => title.to_owned(),
        }
    }

    /// Measured number with its interval; with its point if there are several, and for a curve its
    /// fit.
    pub fn shown(&self) -> String {
        let Some(measured) = &self.measured else {
            return format::NOTHING.to_owned();
        };
        let number = self.with_interval(measured);
        match (&self.curve, &self.at) {
            (Some(fit), at) => self.fit(fit, at.as_deref().unwrap_or_default()),
            (None, Some(at)) => format!("{number} at {at}"),
            (None, None) => number,
        }
    }

    fn fit(&self, fit: &Fit, at: &str) -> String {
        let mut text = format!("{} of {} points inside", fit.inside, fit.points.len());
        if let Some(worst) = fit.points.iter().find(|point| point.at == at) {
            let number = self.with_interval(&worst.measured);
            text = format!("{text}; farthest at {at}: {number}, published {}", worst.paper);
        }
        match fit.rank_correlation {
            Some(shape) => format!("{text}; rank correlation {shape:.2}"),
            None => text,
        }
    }

    /// Measured number with its interval.
    pub fn with_interval(&self, measured: &Measured) -> String {
        let shown = |value| self.in_unit(value);
        match measured.interval {
            None => shown(measured.value),
            Some((low, high)) => {
                format!("{} [{}, {}]", shown(measured.value), shown(low), shown(high))
            }
        }
    }

    /// Measured number alone, for a sentence.
    pub fn number(&self) -> String {
        match (&self.curve, &self.measured) {
            (Some(fit), _) if fit.points.len() > 1 => {
                format!("{} of {} points inside", fit.inside, fit.points.len())
            }
            (_, Some(measured)) => self.in_unit(measured.value),
            (_, None) => format::NOTHING.to_owned(),
        }
    }

    fn in_unit(&self, value: f64) -> String {
        match (self.unit, self.written_in) {
            (CHANGE, _) if value == f64::INFINITY => "+∞ %".to_owned(),
            (CHANGE, _) => format::change(1.0 + value),
            // In the unit of the published number, so that both compare at a glance.
            (_, (unit, scale)) if !unit.is_empty() => {
                format!("{} {unit}", format::three_digits(value / scale))
            }
            (unit, _) => format::quantity(value, unit),
        }
    }

    /// Row of the gallery.
    pub fn row(&self) -> Row {
        let reason = self.untallied.as_ref();
        let reason = reason.map(|reason| format!("outside the tally: {reason}"));
        let notes: Vec<String> = reason.into_iter().chain(self.note.clone()).collect();
        Row {
            claim: self.claim.clone(),
            paper: self.paper.clone(),
            measured: self.shown(),
            verdict: self.answer(),
            class: self.verdict.class(),
            note: (!notes.is_empty()).then(|| notes.join("; ")),
        }
    }
}

pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Inserts the numbers of a finding, or a dash for a number that was not measured.
fn filled(text: &str, claims: &[Finding], varied: &[Varied]) -> String {
    quote::replaced(text, &|key| {
        let (name, trial) = quote::split(key);
        let is_own = |finding: &&Finding| finding.name.as_deref() == Some(name);
        match trial {
            None => claims.iter().find(is_own).map(Finding::number),
            Some(trial) => {
                let mut of_trial = varied.iter().filter(|varied| varied.trial == trial);
                of_trial.find_map(|varied| Some(&varied.after).filter(is_own).map(Finding::number))
            }
        }
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn finding(value: f64, unit: &'static str) -> Finding {
        Finding {
            claim: "a | b".into(),
            name: Some("mean".into()),
            paper: "-38%".into(),
            accepted: None,
            measured: Some(Measured {
                value,
                interval: Some((value - 0.01, value + 0.01)),
                runs: 3,
            }),
            at: None,
            curve: None,
            unit,
            written_in: ("", 1.0),
            verdict: Verdict::Reproduced,
            runs_to_decide: None,
            open: Vec::new(),
            unfinished: 0,
            numberless: 0,
            note: None,
            untallied: None,
            is_main: false,
        }
    }

    #[test]
    fn numbers_are_shown_in_their_units_with_their_intervals() {
        assert_eq!(finding(-0.38, CHANGE).shown(), "-38.0 % [-39.0 %, -37.0 %]");
        assert_eq!(finding(0.05, "s").shown(), "50.0 ms [40.0 ms, 60.0 ms]");
        let at = Finding { at: Some("load 0.3".into()), ..finding(-0.38, CHANGE) };
        assert_eq!(at.shown(), "-38.0 % [-39.0 %, -37.0 %] at load 0.3");
        assert_eq!(at.number(), "-38.0 %");
    }

    #[test]
    fn a_number_has_the_unit_of_the_published_one_beside_it() {
        let kibibytes = Finding {
            written_in: ("KiB", 1024.0),
            measured: Some(Measured { value: 87_400.0, interval: None, runs: 1 }),
            ..finding(0.0, "B")
        };
        assert_eq!(kibibytes.shown(), "85.4 KiB");
        let micros = Finding { written_in: ("µs", 1e-6), ..finding(0.05, "s") };
        assert_eq!(micros.shown(), "50 000 µs [40 000 µs, 60 000 µs]");
        // A relative change has its sign and its own unit.
        let change = Finding { written_in: ("%", 0.01), ..finding(-0.38, CHANGE) };
        assert_eq!(change.shown(), "-38.0 % [-39.0 %, -37.0 %]");
    }

    #[test]
    fn inconclusive_claim_says_how_many_runs_would_decide() {
        let open = Finding {
            verdict: Verdict::Inconclusive,
            runs_to_decide: Some(7),
            ..finding(-0.38, CHANGE)
        };
        assert_eq!(open.answer(), "inconclusive: 7 runs would decide");
    }

    #[test]
    fn claims_outside_the_tally_are_not_counted() {
        let outside = Finding { untallied: Some("a variant".into()), ..finding(-0.38, CHANGE) };
        let counts = tally([finding(-0.38, CHANGE), outside].iter());
        assert_eq!(counts[0], (Verdict::Reproduced, 1));
    }
}
