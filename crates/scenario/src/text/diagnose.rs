//! All that is wrong with a scenario: what is wrong is left out, and the rest is read again.
//!
//! Reading stops at the first mistake, as what follows may hinge on it. What hinges on something
//! that was left out is not shown: it is likely to go away with its cause.

use super::cut::{Cut, cut};
use super::document::Table;
use super::problem::{Location, Problem};

/// More than these at once help nobody.
const MOST: usize = 20;

/// The first problem with all others behind it. `read` reads the scenario that a table is.
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

/// Whether a problem may be one only because something was left out.
fn follows(problem: &Problem, cuts: &[Cut]) -> bool {
    let Some(loc) = problem.location() else {
        return true;
    };
    // What is wrong with the whole may be so for the lack of a part.
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
