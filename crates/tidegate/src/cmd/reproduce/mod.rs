//! `tidegate reproduce`: runs published figures and judges their claims.

mod decide;
mod queue;

use std::fmt::Write;
use std::path::Path;

use serde_json::json;
use tidegate_reproduce::library;
use tidegate_study::files::Embedded;
use tidegate_study::text::nearest;

use crate::args::Reproduce;
use crate::builtin;
use crate::output::{Error, ExitStatus, Output};
use crate::reproduction::{ReproductionRequest, judging};

pub(crate) fn reproduce(arguments: &Reproduce, output: Output) -> Result<ExitStatus, Error> {
    let names = names(arguments)?;
    if names.is_empty() {
        return list(output);
    }
    let asked = names.len();
    let done = match &arguments.from {
        Some(folder) => {
            // Folders of earlier versions of the program have no description.
            let asked = ReproductionRequest::read(folder).unwrap_or_default();
            judging::judge_all(&names, folder, &asked, output)?
        }
        None => queue::run_all(&names, arguments, output)?,
    };
    if done.is_elsewhere {
        return Ok(done.status);
    }
    if let Some(shard) = arguments.share.shard {
        output.say(&format!(
            "shard {shard} is in {}\nhint: merge all shards and judge the claims with `tidegate merge`",
            done.folder.display()
        ));
        return Ok(done.status);
    }
    done.write(asked, arguments.write_docs.as_deref(), output)?;
    Ok(done.status)
}

/// Names of the figures to run.
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
                let near = nearest(id, known.iter().copied());
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
        // The part after the paper's name has no dash: `ecn` does not match `ecn-sharp-f2`.
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

/// Lists all figures.
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
