//! Finds all mistakes of a scenario: removes each mistake and reads the rest again.
//!
//! Reading stops at the first mistake, since later ones may be consequences of it. Problems that
//! may follow from a removed part are not shown: they are likely to go away with their cause.

use super::cut::{Cut, cut};
use super::document::Table;
use super::problem::{Location, Problem};

/// Maximum number of problems shown at once.
const MOST: usize = 20;

/// The first problem followed by all others. `read` reads a table as a scenario.
pub(crate) fn all(
    first: Problem,
    table: &Table,
    read: impl Fn(&Table) -> Result<(), Problem>,
) -> Problem {
    let mut table = table.clone();
    let mut found = vec![first];
    let mut cuts: Vec<Cut> = Vec::new();
    let mut next = found[0].location().cloned();
    while found.len() < MOST {
        let Some(cut) = next.as_ref().and_then(|loc| cut(&mut table, loc)) else {
            break;
        };
        cuts.push(cut);
        let Err(problem) = read(&table) else {
            break;
        };
        next = problem.location().cloned();
        if found.contains(&problem) {
            break;
        }
        if !follows(&problem, &cuts) {
            found.push(problem);
        }
    }
    let by_place = |problem: &Problem| {
        let loc = problem.location();
        loc.map(|loc| (loc.source.name.clone(), loc.span.start))
    };
    found.sort_by_key(by_place);
    let mut all = found.into_iter();
    let first = all.next().expect("there is a first one");
    first.with(all.collect())
}

/// Whether a problem may be a consequence of a removal.
fn follows(problem: &Problem, cuts: &[Cut]) -> bool {
    let Some(loc) = problem.location() else {
        return true;
    };
    // A problem with the whole file may be due to a removed part.
    if loc.span.is_empty() {
        return true;
    }
    cuts.iter().any(|cut| {
        let encloses = |other: &Location| other.is_within(loc);
        let is_beside = cut.kind.as_ref().is_some_and(|kind| loc.is_within(kind));
        let is_above = cut.table.as_ref().is_some_and(encloses);
        encloses(&cut.loc) || is_above || is_beside
    })
}
