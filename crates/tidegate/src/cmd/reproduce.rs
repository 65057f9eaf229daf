//! `tidegate reproduce`: published figures, run again and judged.

mod done;
mod judging;
mod queue;
mod table;

use std::fmt::Write;
use std::path::Path;

use serde_json::json;
use tidegate_lab::files::Embedded;
use tidegate_lab::read_scenario;
use tidegate_lab::reproduce::{Entry, Version, library};

use crate::args::Reproduce;
use crate::output::{Error, Output, Verdict};
use crate::{builtin, catalogue};

pub(crate) fn reproduce(arguments: &Reproduce, output: Output) -> Result<Verdict, Error> {
    let names = names(arguments)?;
    if names.is_empty() {
        return list(output);
    }
    let asked = names.len();
    let done = match &arguments.from {
        Some(folder) => judging::judge_all(&names, folder, output)?,
        None => queue::run_all(&names, arguments, output)?,
    };
    done.write(asked, arguments.write_docs.as_deref(), output)?;
    Ok(done.verdict)
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
