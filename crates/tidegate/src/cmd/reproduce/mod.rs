//! `tidegate reproduce`: published figures, run again and judged.

mod done;
mod judging;
mod queue;
mod table;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use tidegate_report::{Folder, reading};
use tidegate_reproduce::{Entry, Version, library};
use tidegate_study::files::Embedded;
use tidegate_study::read_scenario;

use crate::args::Reproduce;
use crate::output::{Error, ExitStatus, Output};
use crate::{builtin, catalogue};

pub(crate) fn reproduce(arguments: &Reproduce, output: Output) -> Result<ExitStatus, Error> {
    let names = names(arguments)?;
    if names.is_empty() {
        return list(output);
    }
    let asked = names.len();
    let done = match &arguments.from {
        Some(folder) => {
            // Folders of earlier versions of the program do not say what they were asked for.
            let asked = asked_of(folder).unwrap_or_default();
            judging::judge_all(&names, folder, &asked, output)?
        }
        None => queue::run_all(&names, arguments, output)?,
    };
    if done.is_elsewhere {
        return Ok(done.verdict);
    }
    if let Some(shard) = arguments.share.shard {
        output.say(&format!(
            "shard {shard} is in {}\nhint: merge all shards and judge the claims with `tidegate merge`",
            done.folder.display()
        ));
        return Ok(done.verdict);
    }
    done.write(asked, arguments.write_docs.as_deref(), output)?;
    Ok(done.verdict)
}

/// Judges the figures of a folder that shards were joined in.
pub(crate) fn judge_merged(folder: &Path, output: Output) -> Result<ExitStatus, Error> {
    let asked = asked_of(folder)?;
    let done = judging::judge_all(&asked.figures, folder, &asked, output)?;
    done.write(asked.figures.len(), None, output)?;
    Ok(done.verdict)
}

/// What a reproduction was asked for, in its folder.
const ASKED: &str = "reproduction.json";

#[derive(Default, PartialEq, Serialize, Deserialize)]
struct Asked {
    figures: Vec<String>,
    quick: bool,
    /// The settings that were changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    set: Vec<String>,
}

impl Asked {
    fn version(&self) -> Version {
        if self.quick { Version::Quick } else { Version::Full }
    }
}

/// Writes down which figures were asked for: some of them have no runs, and so no folder.
fn write_asked(folder: &Path, asked: &Asked) -> Result<(), Error> {
    let text = serde_json::to_vec_pretty(asked).map_err(Error::new)?;
    let path = folder.join(ASKED);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
    written.map_err(|error| Error::new(format!("cannot write {}: {error}", path.display())))
}

/// What was asked for in a folder.
fn asked_of(folder: &Path) -> Result<Asked, Error> {
    let path = folder.join(ASKED);
    let cannot =
        |why: &dyn std::fmt::Display| Error::new(format!("cannot read {}: {why}", path.display()));
    let text = reading::bytes(&path, reading::MADE).map_err(|error| cannot(&error))?;
    serde_json::from_slice(&text).map_err(|error| cannot(&error))
}

/// Takes over what shards of a reproduction were asked for.
pub(crate) fn merge_asked(shards: &[PathBuf], whole: &Path) -> Result<(), Error> {
    write_asked(whole, &asked_of_all(shards)?)
}

/// Whether a folder is of a reproduction.
pub(crate) fn is_begun(folder: &Path) -> bool {
    folder.join(ASKED).is_file()
}

/// Where in a folder the results are of all figures and trials that some shards were asked for.
pub(crate) fn places(shards: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let asked = asked_of_all(shards)?;
    let mut places = Vec::new();
    for name in &asked.figures {
        let entry = entry(name, asked.version(), &asked.set)?;
        if !entry.figure.is_computed {
            let own = PathBuf::from(&entry.figure.id);
            let trials = entry.trials.iter();
            places.extend(trials.map(|tried| own.join(judging::TRIALS).join(&tried.trial.name)));
            places.push(own);
        }
    }
    Ok(places)
}

/// What shards were asked for, which has to be the same.
fn asked_of_all(shards: &[PathBuf]) -> Result<Asked, Error> {
    let asked = asked_of(&shards[0])?;
    for other in &shards[1..] {
        if asked_of(other)? != asked {
            let (one, other) = (shards[0].display(), other.display());
            return Err(Error::new(format!(
                "{one} and {other} have different figures or settings"
            )));
        }
    }
    Ok(asked)
}

/// Takes over what a figure's folder says about it, if it is one.
pub(crate) fn copy_note(from: &Path, to: &Folder) -> Result<(), Error> {
    match reading::bytes(&from.join(judging::NOTE), reading::MADE) {
        Ok(note) => to.write_file(judging::NOTE, &note).map_err(Error::new),
        Err(_) => Ok(()),
    }
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
                return Err(Error::new(format!("no figure is called `{id}`\nhint: {hint}")));
            }
        }
    }
    for paper in &arguments.paper {
        let begin = format!("{paper}-");
        // `ecn-sharp` and a paper `ecn` would not be mixed up: a figure's own name has no dash.
        let is_own = |id: &&&str| id.strip_prefix(&begin).is_some_and(|rest| !rest.contains('-'));
        let own: Vec<&&str> = known.iter().filter(is_own).collect();
        if own.is_empty() {
            let mut papers: Vec<&str> =
                known.iter().filter_map(|id| id.rsplit_once('-').map(|(paper, _)| paper)).collect();
            papers.dedup();
            let papers = papers.join(", ");
            return Err(Error::new(format!(
                "no paper is called `{paper}`\nhint: the papers are {papers}"
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
fn list(output: Output) -> Result<ExitStatus, Error> {
    if output.json {
        let figure = |file: &Embedded| json!({ "id": file.id, "title": builtin::title(file.text) });
        let figures: Vec<_> = library::files().into_iter().map(figure).collect();
        output.print_json(&json!({ "figures": figures }))?;
        return Ok(ExitStatus::Good);
    }
    let mut text = String::new();
    for file in library::files() {
        let id = output.paint.code(&format!("{:14}", file.id));
        let title = builtin::title(file.text);
        _ = writeln!(text, "{id}  {title}");
    }
    output.print(&text)?;
    output.say(
        "\nRun one with `tidegate reproduce ID`, a paper's with `--paper NAME`, or all with `--all`.",
    );
    Ok(ExitStatus::Good)
}

fn entry(name: &str, version: Version, set: &[String]) -> Result<Entry, Error> {
    if let Some(entry) = library_entry(name, version, set) {
        return entry;
    }
    let read = |overrides: &[String]| read_scenario(Path::new(name), overrides);
    let entry = Entry::new(&read, version, set).map_err(Error::new)?;
    entry.ok_or_else(|| Error::new(format!("{name} has no table [figure] with claims")))
}

fn library_entry(name: &str, version: Version, set: &[String]) -> Option<Result<Entry, Error>> {
    let entry = Entry::embedded(name, version, set)?;
    Some(entry.map_err(Error::new))
}
