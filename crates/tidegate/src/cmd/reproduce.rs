//! `tidegate reproduce`: published figures, run again and judged.

mod table;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use tidegate_lab::files::Embedded;
use tidegate_lab::read_scenario;
use tidegate_lab::reproduce::judged::{self, Judged};
use tidegate_lab::reproduce::{Entry, Verdict as Claimed, Version, library};
use tidegate_report::gallery::{Gallery, Shown};
use tidegate_report::{Folder, Record};
use tidegate_scenario::Experiment;

use super::outline;
use super::report::{self, Comparison};
use super::run::{self, Job, place};
use crate::args::Reproduce;
use crate::args::testbed::On;
use crate::markdown::folded;
use crate::output::{Error, Output, Verdict};
use crate::progress::Board;
use crate::{builtin, catalogue};

/// The page of all figures in the results folder.
const GALLERY: &str = "index.html";

/// What a figure's folder says about it.
const NOTE: &str = "figure.json";

/// The version of a figure that a folder holds.
#[derive(Serialize, Deserialize)]
struct Note {
    figure: String,
    version: String,
}

/// A figure, and where it comes from.
struct Wanted {
    /// Its id, or the path of a file.
    name: String,
    entry: Entry,
    plan: Vec<Experiment>,
}

pub(crate) fn reproduce(arguments: &Reproduce, output: Output) -> Result<Verdict, Error> {
    let names = names(arguments)?;
    if names.is_empty() {
        return list(output);
    }
    let asked = names.len();
    let done = match &arguments.from {
        Some(folder) => judge_all(&names, folder, output)?,
        None => run_all(&names, arguments, output)?,
    };
    done.write(asked, arguments.write_docs.as_deref(), output)?;
    Ok(done.verdict)
}

/// What was reproduced.
struct Done {
    folder: PathBuf,
    figures: Vec<Judged>,
    shown: Vec<Shown>,
    revision: String,
    is_interrupted: bool,
    verdict: Verdict,
}

/// The figures that were asked for.
fn names(arguments: &Reproduce) -> Result<Vec<String>, Error> {
    let known = library::ids();
    let mut names = Vec::new();
    for id in &arguments.ids {
        let dashed = id.replace('/', "-");
        let is_known = |id: &&str| known.contains(id);
        match [id.as_str(), &dashed].into_iter().find(is_known) {
            Some(id) => names.push(id.to_owned()),
            None if Path::new(id).is_file() => names.push(id.clone()),
            None => {
                let near = catalogue::nearest(id, known.iter().copied());
                let hint = match near.as_slice() {
                    [] => format!("known: {}", known.join(", ")),
                    near => format!("did you mean {}?", near.join(", ")),
                };
                return Err(Error::new(format!(
                    "no figure is called `{id}`\nhint: {hint}"
                )));
            }
        }
    }
    for paper in &arguments.paper {
        let begin = format!("{paper}-");
        // `ecn-sharp` and a paper `ecn` would not be mixed up: a figure's own name has no dash.
        let is_own = |id: &&&str| {
            id.strip_prefix(&begin)
                .is_some_and(|rest| !rest.contains('-'))
        };
        let own: Vec<&&str> = known.iter().filter(is_own).collect();
        if own.is_empty() {
            let mut papers: Vec<&str> = known
                .iter()
                .filter_map(|id| id.rsplit_once('-').map(|(paper, _)| paper))
                .collect();
            papers.dedup();
            let papers = papers.join(", ");
            return Err(Error::new(format!(
                "no paper is called `{paper}`\nhint: there are {papers}"
            )));
        }
        names.extend(own.into_iter().map(|id| String::from(*id)));
    }
    if arguments.all {
        names.extend(known.into_iter().map(String::from));
    } else if let (Some(folder), true) = (&arguments.from, names.is_empty()) {
        let there = known.into_iter().filter(|id| folder.join(id).is_dir());
        names.extend(there.map(String::from));
        if names.is_empty() {
            let folder = folder.display();
            return Err(Error::new(format!("{folder} holds no results of a figure")));
        }
    }
    let mut seen = Vec::new();
    names.retain(|name| {
        let is_new = !seen.contains(name);
        seen.push(name.clone());
        is_new
    });
    Ok(names)
}

/// All figures, each with a line.
fn list(output: Output) -> Result<Verdict, Error> {
    if output.json {
        let figure = |file: &Embedded| json!({ "id": file.id, "title": builtin::title(file.text) });
        let figures: Vec<_> = library::files().into_iter().map(figure).collect();
        output.print_json(&json!({ "figures": figures }))?;
        return Ok(Verdict::Good);
    }
    let mut text = String::new();
    for file in library::files() {
        let id = output.paint.code(&format!("{:14}", file.id));
        let title = builtin::title(file.text);
        _ = writeln!(text, "{id}  {title}");
    }
    output.print(&text)?;
    output.say(
        "\n`tidegate reproduce ID` runs one of them, `--paper NAME` all of a paper, `--all` all.",
    );
    Ok(Verdict::Good)
}

fn entry(name: &str, version: Version, set: &[String]) -> Result<Entry, Error> {
    if let Some(entry) = library_entry(name, version, set) {
        return entry;
    }
    let read = |overrides: &[String]| read_scenario(Path::new(name), overrides);
    let entry = Entry::new(&read, version, set).map_err(Error::new)?;
    entry.ok_or_else(|| Error::new(format!("{name} has no [figure] that says what is claimed")))
}

fn library_entry(name: &str, version: Version, set: &[String]) -> Option<Result<Entry, Error>> {
    let entry = Entry::embedded(name, version, set)?;
    Some(entry.map_err(Error::new))
}

fn run_all(names: &[String], arguments: &Reproduce, output: Output) -> Result<Done, Error> {
    let version = if arguments.quick {
        Version::Quick
    } else {
        Version::Full
    };
    let folder = place::choose("reproduction", 1, &arguments.target, &[])?;
    if arguments.target.resume && !folder.is_dir() {
        let folder = folder.display();
        return Err(Error::new(format!(
            "there is nothing to go on with: {folder} does not exist\nhint: leave --resume out"
        )));
    }
    // All files are read before the first is run: a mistake in the last one is told at once.
    let wanted = names.iter().map(|name| {
        let entry = entry(name, version, &arguments.set)?;
        let plan = if entry.figure.is_computed {
            Vec::new()
        } else {
            outline::note(&entry.scenario, output);
            entry.scenario.plan().map_err(Error::new)?
        };
        let name = name.clone();
        Ok(Wanted { name, entry, plan })
    });
    let wanted = wanted.collect::<Result<Vec<_>, Error>>()?;
    run::watch(output);
    let mut done = Done {
        folder,
        figures: Vec::new(),
        shown: Vec::new(),
        revision: env!("TIDEGATE_REVISION").to_owned(),
        is_interrupted: false,
        verdict: Verdict::Good,
    };
    let open = |wanted: &Wanted| {
        let path = done.folder.join(&wanted.entry.figure.id);
        let known = arguments.target.resume.then(|| Folder::open(&path).ok());
        let finished = known.flatten().map_or(0, |folder| folder.finished().len());
        wanted.plan.len().saturating_sub(finished)
    };
    let board = Board::new(wanted.iter().map(open).sum(), output);
    for wanted in wanted {
        if run::is_interrupted() {
            done.is_interrupted = true;
            break;
        }
        run_figure(wanted, version, arguments, &mut done, (&board, output))?;
    }
    drop(board);
    if done.is_interrupted {
        done.verdict = Verdict::Bad;
        output.warn(&format!(
            "interrupted: what is finished is kept in {}\nhint: go on with the same command and \
             `--out {0} --resume`",
            done.folder.display()
        ));
    }
    Ok(done)
}

fn run_figure(
    wanted: Wanted,
    version: Version,
    arguments: &Reproduce,
    done: &mut Done,
    (board, output): (&Board, Output),
) -> Result<(), Error> {
    let Wanted { name, entry, plan } = wanted;
    let mut command = format!("tidegate reproduce {}", run::quoted(&name));
    if version == Version::Quick {
        command.push_str(" --quick");
    }
    for change in &arguments.set {
        _ = write!(command, " --set {}", run::quoted(change));
    }
    if entry.figure.is_computed {
        let judged = Judged::new(&entry, version, &command, &[], &[]);
        board.suspend(|| done.add(&entry, judged, &[], None, output));
        return Ok(());
    }
    let job = Job {
        file: name,
        plan,
        scenario: entry.scenario.clone(),
        path: done.folder.join(&entry.figure.id),
        command: command.clone(),
        on: On::default(),
    };
    let manifest = run::manifest(&job);
    // A reproduction that was interrupted may not have come to this figure.
    let folder = if arguments.target.resume && job.path.is_dir() {
        Folder::resume(&job.path, &manifest)
    } else {
        Folder::create(&job.path, &manifest)
    };
    let folder = folder.map_err(Error::new)?;
    let note = Note {
        figure: entry.figure.id.clone(),
        version: version.name().to_owned(),
    };
    let note = serde_json::to_vec_pretty(&note).map_err(Error::new)?;
    folder.write_file(NOTE, &note).map_err(Error::new)?;
    let ran = run::execute(&job, &folder, arguments.jobs, board, output)?;
    if ran.is_interrupted {
        done.is_interrupted = true;
        return Ok(());
    }
    let comparison = Comparison::of(vec![folder], None)?;
    comparison.write(&job.path.join(report::PAGE), None)?;
    let stalled = run::stalled(&comparison.records);
    for failed in ran.failed.iter().chain(&stalled) {
        done.verdict = Verdict::Bad;
        let text = format!("{}: {}", failed.run, failed.why);
        board.suspend(|| output.warn(&text));
    }
    let report = format!("{}/{}", entry.figure.id, report::PAGE);
    let (records, missing) = (&comparison.records, comparison.missing());
    let judged = Judged::new(&entry, version, &command, records, &missing);
    board.suspend(|| done.add(&entry, judged, records, Some(report), output));
    Ok(())
}

/// Judges results that are there.
fn judge_all(names: &[String], root: &Path, output: Output) -> Result<Done, Error> {
    let mut done = Done {
        folder: root.to_owned(),
        figures: Vec::new(),
        shown: Vec::new(),
        revision: String::new(),
        is_interrupted: false,
        verdict: Verdict::Good,
    };
    for name in names {
        let whole = entry(name, Version::Full, &[])?;
        if whole.figure.is_computed {
            let command = format!("tidegate reproduce {}", run::quoted(name));
            let judged = Judged::new(&whole, Version::Full, &command, &[], &[]);
            done.add(&whole, judged, &[], None, output);
            continue;
        }
        let path = root.join(&whole.figure.id);
        let folder = Folder::open(&path).map_err(Error::new)?;
        let version = version_of(&path)?;
        let entry = entry(name, version, &[])?;
        let manifest = folder.manifest().clone();
        let comparison = Comparison::of(vec![folder], None)?;
        report::warn_missing(&comparison, output);
        if !done.revision.contains(&manifest.revision) {
            if !done.revision.is_empty() {
                done.revision.push_str(", ");
            }
            done.revision.push_str(&manifest.revision);
        }
        let report = path.join(report::PAGE).is_file();
        let report = report.then(|| format!("{}/{}", entry.figure.id, report::PAGE));
        let (records, missing) = (&comparison.records, comparison.missing());
        let judged = Judged::new(&entry, version, &manifest.command, records, &missing);
        done.add(&entry, judged, records, report, output);
    }
    Ok(done)
}

/// The version of a figure that a folder holds.
fn version_of(path: &Path) -> Result<Version, Error> {
    let file = path.join(NOTE);
    let wrong =
        |why: &dyn std::fmt::Display| Error::new(format!("cannot read {}: {why}", file.display()));
    let text = std::fs::read(&file).map_err(|error| wrong(&error))?;
    let note: Note = serde_json::from_slice(&text).map_err(|error| wrong(&error))?;
    let versions = [Version::Full, Version::Quick];
    let found = versions
        .into_iter()
        .find(|version| version.name() == note.version);
    found.ok_or_else(|| wrong(&format!("there is no version `{}`", note.version)))
}

impl Done {
    fn add(
        &mut self,
        entry: &Entry,
        judged: Judged,
        records: &[Record],
        report: Option<String>,
        output: Output,
    ) {
        self.shown.push(judged.shown(entry, records, report));
        if !output.json {
            // Told as soon as it is known; a closed pipe is noticed at the end.
            _ = output.print(&table::figure(&judged, output.paint, output.width));
        }
        self.figures.push(judged);
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

    /// Writes the gallery and the page of claims, and says what came out of the figures that were
    /// asked for.
    fn write(&self, asked: usize, docs: Option<&Path>, output: Output) -> Result<(), Error> {
        let cannot = |path: &Path, error: &std::io::Error| {
            Error::new(format!("cannot write {}: {error}", path.display()))
        };
        let claims = || self.figures.iter().flat_map(|figure| &figure.claims);
        let tally = judged::tally(claims());
        let facts = [
            format!("tidegate {} {}", env!("CARGO_PKG_VERSION"), self.revision),
            run::count(self.figures.len(), "figure"),
            run::count(claims().count(), "claim"),
        ];
        let page = self.folder.join(GALLERY);
        let has_figures = !self.figures.is_empty();
        if has_figures {
            let verdicts = tally.map(|(verdict, count)| (verdict.title(), count));
            let gallery = Gallery {
                title: "Published figures, run again",
                facts: &facts,
                verdicts: &verdicts,
                figures: &self.shown,
            };
            std::fs::create_dir_all(&self.folder).map_err(|error| cannot(&self.folder, &error))?;
            std::fs::write(&page, gallery.render()).map_err(|error| cannot(&page, &error))?;
        }
        if let Some(path) = docs {
            let text = judged::markdown(&self.with_others(), &facts);
            std::fs::write(path, text).map_err(|error| cannot(path, &error))?;
        }
        if output.json {
            let value = json!({
                "folder": self.folder.display().to_string(),
                "gallery": has_figures.then(|| page.display().to_string()),
                "interrupted": self.is_interrupted,
                "figures": self.figures,
            });
            return output.print_json(&value);
        }
        if !has_figures {
            return Ok(());
        }
        // What a version leaves out is told only if there is such.
        let told = |(verdict, count): &(_, usize)| *verdict != Claimed::NotRun || *count > 0;
        let told = tally.into_iter().filter(told);
        let words = told.map(|(verdict, count)| format!("{count} {}", verdict.title()));
        let mut text = words.collect::<Vec<_>>().join(" · ");
        if self.figures.len() < asked {
            text = format!("{} of {asked} figures: {text}", self.figures.len());
        }
        let lines = folded(&text, output.width).join("\n");
        output.print(&format!("\n{lines}\ngallery: {}\n", page.display()))
    }
}
