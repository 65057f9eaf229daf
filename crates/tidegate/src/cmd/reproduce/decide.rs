//! More seeds for undecided claims, in rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tidegate_reproduce::decide::{self, Place, Round};
use tidegate_reproduce::{Entry, Judged, Version};
use tidegate_scenario::Experiment;
use tidegate_study::cost;
use tidegate_study::outline::time;
use tidegate_study::study::{Opening, Options, run_all};
use tidegate_study::text::count;
use tidegate_study::{OpenStudy, Study};

use super::queue::Wanted;
use crate::args::Reproduce;
use crate::interrupt::{INTERRUPT, is_interrupted};
use crate::output::{Error, ExitStatus, Output};
use crate::progress::{Bars, ProgressBoard};
use crate::reproduction::done::FinishedFigures;
use crate::reproduction::entry;
use crate::reproduction::judging::{self, Results, SEEDS};
use crate::version::BUILD;

/// Runs more seeds and judges again until all claims are decided or the budget is spent.
pub(super) fn decide(
    wanted: &[Wanted],
    version: Version,
    arguments: &Reproduce,
    done: &mut FinishedFigures,
    output: Output,
) -> Result<(), Error> {
    let root = done.folder.clone();
    let costs = costs(wanted, &root)?;
    // A point without runs is beyond any budget.
    let cost = |place: &Place| costs.get(place).copied().unwrap_or(1e12);
    #[expect(clippy::cast_precision_loss, reason = "a budget needs no more than 53 bits")]
    let mut budget = arguments.budget.as_ns() as f64 / 1e9;
    let mut changed = BTreeSet::new();
    loop {
        let figures = judged(wanted, done);
        let undecided = decide::undecided(&figures);
        let have = finished(wanted)?;
        let have = |place: &Place| have.get(place).copied().unwrap_or(0);
        let round = decide::round(&undecided, &have, &cost, budget);
        if round.seeds.is_empty() {
            output.say(&format!(
                "{} of the budget left, {} undecided",
                time(budget),
                count(undecided.len(), "claim")
            ));
            break;
        }
        budget -= round.seconds;
        let parts = open(wanted, &round, &have, arguments)?;
        output.say(&format!(
            "{} undecided: more seeds for {}, estimated time {} on one core",
            count(undecided.len(), "claim"),
            count(round.claims, "claim"),
            time(round.seconds)
        ));
        let is_whole = run(&parts, arguments, done, output);
        if is_interrupted() {
            done.is_interrupted = true;
            break;
        }
        // Figures may be compared with others.
        for (number, figure) in wanted.iter().enumerate() {
            let has_more = parts.iter().any(|(of, _)| *of == number);
            if has_more || judging::compares_figures(&figure.entry) {
                judge(figure, version, &root, done)?;
                changed.insert(figure.entry.figure.id.as_str());
            }
        }
        // A run that fails would fail again.
        if !is_whole {
            break;
        }
    }
    for id in changed {
        done.print(id, output);
    }
    Ok(())
}

/// Figures with their present verdicts.
fn judged<'a>(wanted: &'a [Wanted], done: &'a FinishedFigures) -> Vec<(&'a Entry, &'a Judged)> {
    let of = |figure: &'a Wanted| {
        let id = &figure.entry.figure.id;
        let judged = done.figures.iter().find(|judged| judged.id == *id);
        (&figure.entry, judged.expect("all figures are judged"))
    };
    wanted.iter().map(of).collect()
}

/// Expected seconds of a run at each point, learnt from its first seeds.
fn costs(wanted: &[Wanted], root: &Path) -> Result<BTreeMap<Place, f64>, Error> {
    let mut costs: BTreeMap<Place, (f64, f64)> = BTreeMap::new();
    for (number, figure) in wanted.iter().enumerate() {
        let Some(part) = figure.parts.first() else { continue };
        let place = part.path().strip_prefix(root).unwrap_or(part.path());
        let plan = part.study().runs();
        let seconds = cost::seconds(&[(place, plan)], Some(root)).map_err(Error::new)?;
        for (run, seconds) in plan.iter().zip(seconds) {
            let (sum, runs) = costs.entry((number, run.label.clone())).or_default();
            (*sum, *runs) = (*sum + seconds, *runs + 1.0);
        }
    }
    Ok(costs.into_iter().map(|(place, (sum, runs))| (place, sum / runs)).collect())
}

/// Number of finished seeds of each point, up to the first one that is missing.
fn finished(wanted: &[Wanted]) -> Result<BTreeMap<Place, usize>, Error> {
    let mut seeds: BTreeMap<Place, BTreeSet<u32>> = BTreeMap::new();
    for (number, figure) in wanted.iter().enumerate() {
        let Some(part) = figure.parts.first() else { continue };
        let own = std::iter::once(part.folder().clone());
        for folder in own.chain(judging::seeds(part.path())?) {
            let ids: BTreeSet<String> = folder.finished().into_iter().collect();
            for run in folder.manifest().runs.iter().filter(|run| ids.contains(&run.id)) {
                let place = (number, run.label.clone());
                seeds.entry(place).or_default().insert(run.replication);
            }
        }
    }
    let whole = |seeds: BTreeSet<u32>| {
        let gapless = seeds.into_iter().zip(0..).take_while(|(own, expected)| own == expected);
        gapless.count()
    };
    Ok(seeds.into_iter().map(|(place, seeds)| (place, whole(seeds))).collect())
}

/// Opens the folders of a round's runs: one for each figure and number of seeds.
fn open(
    wanted: &[Wanted],
    round: &Round,
    have: &dyn Fn(&Place) -> usize,
    arguments: &Reproduce,
) -> Result<Vec<(usize, OpenStudy)>, Error> {
    let mut parts = Vec::new();
    for (number, figure) in wanted.iter().enumerate() {
        let own = round.seeds.iter().filter(|((of, _), _)| *of == number);
        let own: Vec<(&Place, usize)> = own.map(|(place, seeds)| (place, *seeds)).collect();
        let (Some(first), Some(&most)) = (figure.parts.first(), own.iter().map(|(_, n)| n).max())
        else {
            continue;
        };
        let mut look = figure.entry.scenario.runs() as usize;
        while look < most {
            let before = look;
            look *= 2;
            // The runs of this look that a point lacks.
            let is_new = |run: &Experiment| {
                let replication = run.replication as usize;
                own.iter().any(|(place, seeds)| {
                    place.1 == run.label
                        && (have(place).max(before)..look.min(*seeds)).contains(&replication)
                })
            };
            let study = study(figure, look, arguments)?;
            let runs: Vec<Experiment> =
                study.plan.iter().filter(|run| is_new(run)).cloned().collect();
            if runs.is_empty() {
                continue;
            }
            let mut study = study;
            study.set_shard(runs);
            let path = first.path().join(SEEDS).join(look.to_string());
            let opening = Opening::resume_if(path.is_dir());
            let open = study.open_unlocked(&path, opening, &BUILD).map_err(Error::new)?;
            parts.push((number, open));
        }
    }
    Ok(parts)
}

/// A figure with this many seeds.
fn study(figure: &Wanted, seeds: usize, arguments: &Reproduce) -> Result<Study, Error> {
    let mut set = arguments.set.clone();
    set.push(format!("runs={seeds}"));
    let version = if arguments.quick { Version::Quick } else { Version::Full };
    let entry = entry(&figure.name, version, &set)?;
    let mut study = Study::new(&figure.name, entry.scenario, &[]).map_err(Error::new)?;
    study.command = judging::command(&figure.name, version, &set);
    Ok(study)
}

/// Runs all parts in one queue. Returns whether all runs have finished.
fn run(
    parts: &[(usize, OpenStudy)],
    arguments: &Reproduce,
    done: &mut FinishedFigures,
    output: Output,
) -> bool {
    let runs = parts.iter().map(|(_, part)| part.lacking()).sum();
    let board = ProgressBoard::new(runs, output);
    let studies: Vec<_> = parts.iter().map(|(_, part)| (part, Bars::new(&board))).collect();
    let options = Options { jobs: arguments.jobs, ..Options::new(&INTERRUPT) };
    let failed = std::sync::Mutex::new(Vec::new());
    run_all(&studies, &options, |_, ended| {
        let texts = ended.failures.into_iter().map(|(run, failure)| format!("{run}: {failure}"));
        failed.lock().expect("no thread panics while holding it").extend(texts);
    });
    drop(studies);
    drop(board);
    for text in failed.into_inner().expect("no thread panics while holding it") {
        done.status = ExitStatus::Bad;
        output.warn(&text);
    }
    parts.iter().all(|(_, part)| part.lacking() == 0)
}

/// Judges a figure again.
fn judge(
    figure: &Wanted,
    version: Version,
    root: &Path,
    done: &mut FinishedFigures,
) -> Result<(), Error> {
    let Wanted { name, entry, command, parts } = figure;
    let results = parts.iter().map(|part| part.compare_in_full(None).map(Results::of));
    let mut results = results.collect::<Result<Vec<_>, _>>().map_err(Error::new)?;
    if let (Some(own), Some(part)) = (results.first_mut(), parts.first()) {
        own.add_seeds(part.path())?;
    }
    let made_by = (BUILD.revision, command.as_str());
    let measured = judging::measure((name, entry), version, made_by, &results, root)?;
    let own = results.first().map_or(&[][..], |results| &results.records);
    done.replace(entry, &measured, own, figure.report());
    Ok(())
}
