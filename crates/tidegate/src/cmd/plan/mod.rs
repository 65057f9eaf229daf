//! `tidegate plan`: from a network to thresholds, their meaning, and a switch configuration.

mod verify;

use std::collections::BTreeSet;

use serde_json::json;
use tidegate_plan::Plan;
use tidegate_plan::answer;
use tidegate_plan::current::Current;
use tidegate_plan::dialect::{Configuration, HeadroomFrom, Only, Os, Request, Scheme, sonic};
use tidegate_plan::evidence;
use tidegate_plan::screen::screen;
use tidegate_units::Setting;

use self::verify::verify;
use crate::args::plan::Plan as Arguments;
use crate::network::{read, remarks};
use crate::output::{Error, ExitStatus, Output};

pub(crate) fn plan(arguments: &Arguments, output: Output) -> Result<ExitStatus, Error> {
    let mut network = read(&arguments.network)?;
    let current = match &arguments.current {
        Some(given) => Some(Current::read(given, &network).map_err(Error::new)?),
        None => None,
    };
    let headroom = HeadroomFrom::read(&arguments.emission.headroom).map_err(Error::new)?;
    let is_computed = headroom == HeadroomFrom::Computed;
    if let Some(current) = &current
        && !(is_computed && arguments.emission.allow_reduction)
    {
        network.reserve(&current.reservation, is_computed);
    }
    let plan = Plan::new(&network);
    let configuration = match &arguments.emission.emit {
        Some(name) => Some(configuration(arguments, name, &plan, current.as_ref())?),
        None => None,
    };
    let verified = if arguments.verify {
        let Some(verified) = verify(arguments, &plan, current.as_ref(), output)? else {
            return Ok(ExitStatus::Bad);
        };
        Some(verified)
    } else {
        None
    };
    let evidence = verified.as_ref().map(|(evidence, _)| evidence);
    let sheet = || {
        let mut sheet = answer::sheet(&plan, current.as_ref());
        let parts = evidence.map_or_else(Vec::new, evidence::parts);
        // Before the tables of published settings, which are long.
        let mut ids = sheet.parts.iter().map(|part| part.id.as_str());
        let place = ids.position(|id| id.starts_with(answer::OTHERS));
        let place = place.unwrap_or(sheet.parts.len());
        sheet.parts.splice(place..place, parts);
        sheet
    };
    if let Some((_, evaluation)) = &verified {
        evaluation.write_page(verify::PAGE, &sheet().render())?;
        output.say(&format!("page: {}", evaluation.path().join(verify::PAGE).display()));
    }
    if let Some(path) = &arguments.out {
        let mut sheet = sheet();
        if let Some((dialect, configuration)) = &configuration {
            sheet.parts.push(answer::configuration(*dialect, configuration));
        }
        std::fs::write(path, sheet.render()).map_err(Error::write(path))?;
        output.say(&format!("page: {}", path.display()));
    }
    match &configuration {
        Some((dialect, configuration)) => print(*dialect, configuration, output)?,
        None if output.json => {
            let mut value = answer::json(&plan, current.as_ref());
            if let Some(evidence) = evidence {
                value["evidence"] = evidence::json(evidence);
            }
            output.print_json(&value)?;
        }
        None => {
            let bold = |text: &str| output.paint.bold(text);
            let mut parts = answer::ON_SCREEN.to_vec();
            parts.extend(evidence::PARTS);
            let sheet = sheet();
            if arguments.others {
                let ids = sheet.parts.iter().map(|part| part.id.as_str());
                parts.extend(ids.filter(|id| id.starts_with(answer::OTHERS)));
            }
            output.print(&screen(&sheet, &parts, output.width, bold))?;
        }
    }
    let fails = |evidence: &evidence::Evidence| {
        evidence.shows_nothing() || evidence.losses().next().is_some()
    };
    let is_refuted = evidence.is_some_and(fails);
    // The command succeeds if it printed a configuration that repairs the switch.
    let is_broken = configuration.is_none() && current.is_some_and(|today| today.is_broken(&plan));
    Ok(if plan.works() && !is_refuted && !is_broken { ExitStatus::Good } else { ExitStatus::Bad })
}

fn configuration(
    arguments: &Arguments,
    dialect: &str,
    plan: &Plan<'_>,
    current: Option<&Current>,
) -> Result<(Os, Configuration), Error> {
    let dialect = Os::read(dialect).map_err(Error::new)?;
    let scheme = match &arguments.emission.scheme {
        Some(name) => Scheme::read(name).map_err(Error::new)?,
        None => dialect.default_scheme(),
    };
    if arguments.emission.patch && !dialect.has_tables() {
        let text = format!("--patch is for SONiC, and not for {}", dialect.title());
        return Err(Error::new(format!("{text}\nhint: leave it out, or --emit sonic")));
    }
    let only = Only::read(&arguments.emission.only).map_err(Error::new)?;
    let headroom = HeadroomFrom::read(&arguments.emission.headroom).map_err(Error::new)?;
    let is_asked = only != Only::Wred || headroom != HeadroomFrom::Platform;
    if is_asked && !dialect.has_tables() {
        let title = dialect.title();
        return Err(Error::new(format!(
            "--only and --headroom are for SONiC; {title} gets its whole configuration\n\
             hint: leave them out, or --emit sonic"
        )));
    }
    let tables = current.and_then(|current| current.tables.as_ref());
    let request = Request { scheme, only, headroom, current: tables };
    let mut configuration = dialect.emit(plan, &request).map_err(Error::new)?;
    if arguments.emission.patch {
        let unmarked = tables.map_or_else(BTreeSet::new, |tables| sonic::unmarked(plan, tables));
        let text = &configuration.text;
        let patch = sonic::patch(text, tables, &unmarked, arguments.emission.allow_reduction);
        if !patch.reductions.is_empty() && !arguments.emission.allow_reduction {
            return Err(Error::new(format!(
                "the patch would reduce protection:\n  {}\n\
                 hint: --only wred changes thresholds alone; --allow-reduction emits it all the same",
                patch.reductions.join("\n  ")
            )));
        }
        configuration.text = patch.text;
        let label = |label: &str, lines: Vec<String>| {
            lines.into_iter().map(move |line| format!("{label}: {line}")).collect::<Vec<_>>()
        };
        configuration.summary = label("patch", patch.summary);
        if configuration.summary.is_empty() {
            configuration.summary.push("patch: changes nothing".to_owned());
        }
        configuration.summary.extend(label("kept", patch.kept));
        configuration.summary.extend(label("reduced", patch.reductions));
        if tables.is_none() {
            let note = "the patch needs each of its tables on the switch; --current FILE adds those that it has not";
            configuration.notes.push(note.to_owned());
        }
    }
    Ok((dialect, configuration))
}

/// The configuration alone goes to standard output: what rounding changed is said beside it.
fn print(dialect: Os, configuration: &Configuration, output: Output) -> Result<(), Error> {
    if output.json {
        let changes: Vec<_> = configuration
            .changes
            .iter()
            .map(|change| {
                json!({
                    "what": change.what,
                    "asked": change.asked,
                    "emitted": change.emitted,
                    "why": change.why,
                })
            })
            .collect();
        return output.print_json(&json!({
            "dialect": dialect.name(),
            "configuration": configuration.text,
            "changes": changes,
            "summary": configuration.summary,
            "notes": configuration.notes,
        }));
    }
    output.print(&configuration.text)?;
    for remark in remarks(configuration) {
        output.say(&remark);
    }
    Ok(())
}
