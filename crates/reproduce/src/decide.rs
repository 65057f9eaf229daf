//! Seeds for undecided claims: the cheapest first, as far as a budget reaches.
//!
//! A claim gets the seeds of its next look ([`crate::estimate`]), which doubles them, at its open
//! points only. Both sides of a comparison run with the same new seeds. Then all claims are judged
//! again, and the next round begins with what is left of the budget.

use std::collections::BTreeMap;

use super::claim::{Claim, Published};
use super::entry::Entry;
use super::estimate::Looks;
use super::judged::Judged;
use super::library;
use super::pattern;
use super::verdict::{Finding, Verdict};

/// Point of a figure: the figure's number and the point's label.
pub type Place = (usize, String);

/// Claim that more seeds may decide.
#[derive(Clone, Debug, PartialEq)]
pub struct Undecided {
    /// Points that it needs.
    pub places: Vec<Place>,
    /// Seeds that would decide it, if they vary like the present ones.
    pub decides: usize,
    /// Looks at its figure.
    pub looks: Looks,
}

/// Seeds to run in a round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// Number of seeds of each point, with those that it has.
    pub seeds: BTreeMap<Place, usize>,
    /// Number of claims that they may decide.
    pub claims: usize,
    /// Expected time on one core.
    pub seconds: f64,
}

/// Claims of the tally that more seeds may decide. Claims with runs that lack their number, or that
/// compare with a figure that is not there, are left out.
pub fn undecided(figures: &[(&Entry, &Judged)]) -> Vec<Undecided> {
    let of_figure = |(number, (entry, judged)): (usize, &(&Entry, &Judged))| {
        let claims = entry.figure.claims.iter().zip(&judged.claims);
        let looks = Looks::new(entry.scenario.runs() as usize);
        let one = |(claim, finding): (&Claim, &Finding)| {
            let is_open = finding.verdict == Verdict::Inconclusive
                && finding.untallied.is_none()
                && finding.numberless + finding.unfinished == 0;
            let decides = finding.runs_to_decide.filter(|_| is_open)?;
            let places = places(claim, finding, number, figures)?;
            Some(Undecided { places, decides, looks })
        };
        claims.filter_map(one).collect::<Vec<_>>()
    };
    figures.iter().enumerate().flat_map(of_figure).collect()
}

/// Points that a claim needs, with those that they are compared with.
fn places(
    claim: &Claim,
    finding: &Finding,
    number: usize,
    figures: &[(&Entry, &Judged)],
) -> Option<Vec<Place>> {
    let labels = figures[number].0.scenario.labels();
    let own: Vec<String> = match &claim.paper {
        Published::Curve { .. } => finding.open.iter().map(|text| claim.with(text).of).collect(),
        _ if claim.joins_points() => {
            let fits = labels.iter().filter(|label| pattern::fits(&claim.of, label));
            fits.map(|label| (*label).to_owned()).collect()
        }
        _ => finding.open.clone(),
    };
    let mut places = Vec::new();
    for label in own {
        let captured = pattern::captured(&claim.of, &label)?;
        if let Some(against) = &claim.against {
            let base = match library::of_other_figure(against) {
                Some((id, label)) => {
                    let is_there = |(_, judged): &(&Entry, &Judged)| judged.id == id;
                    (figures.iter().position(is_there)?, label.to_owned())
                }
                None => {
                    let is_base = |other: &&&str| {
                        let other = pattern::captured(against, other);
                        other.is_some_and(|other| captured.starts_with(&other))
                    };
                    (number, (*labels.iter().find(is_base)?).to_owned())
                }
            };
            places.push(base);
        }
        places.push((number, label));
    }
    places.sort();
    places.dedup();
    Some(places)
}

/// The next round: claims in the order of the time that would decide them, as long as the sum fits
/// the budget. `have` is the number of seeds of a point, `cost` the seconds of one of its runs.
pub fn round(
    undecided: &[Undecided],
    have: &dyn Fn(&Place) -> usize,
    cost: &dyn Fn(&Place) -> f64,
    budget: f64,
) -> Round {
    // Time until a claim is decided, beyond seeds that are planned anyway.
    let needed = |claim: &Undecided, planned: &BTreeMap<Place, usize>| {
        let of_place = |place: &Place| {
            let planned = planned.get(place).copied().unwrap_or(0);
            let missing = claim.decides.saturating_sub(planned.max(have(place)));
            real(missing) * cost(place)
        };
        claim.places.iter().map(of_place).sum::<f64>()
    };
    let mut order: Vec<&Undecided> = undecided.iter().collect();
    let alone = BTreeMap::new();
    order.sort_by(|a, b| needed(a, &alone).total_cmp(&needed(b, &alone)));
    let (mut round, mut planned, mut spent) = (Round::default(), BTreeMap::new(), 0.0);
    for claim in order {
        let seconds = needed(claim, &planned);
        if spent + seconds > budget {
            continue;
        }
        spent += seconds;
        round.claims += 1;
        let least = claim.places.iter().map(have).min().unwrap_or(0);
        let next = claim.looks.after(least).next().unwrap_or(least);
        for place in &claim.places {
            let whole = planned.entry(place.clone()).or_insert(0);
            *whole = claim.decides.max(*whole);
            let seeds = round.seeds.entry(place.clone()).or_insert_with(|| have(place));
            *seeds = next.max(*seeds);
        }
    }
    round.seeds.retain(|place, seeds| *seeds > have(place));
    let seconds = |(place, seeds): (&Place, &usize)| real(seeds - have(place)) * cost(place);
    round.seconds = round.seeds.iter().map(seconds).sum();
    round
}

#[expect(clippy::cast_precision_loss, reason = "numbers of seeds are small")]
fn real(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(figure: usize, label: &str) -> Place {
        (figure, label.to_owned())
    }

    fn claim(places: &[Place], decides: usize) -> Undecided {
        Undecided { places: places.to_vec(), decides, looks: Looks::new(5) }
    }

    #[test]
    fn the_cheapest_claims_get_the_seeds_of_their_next_look() {
        let (a, b, c) = (place(0, "A"), place(0, "B"), place(1, "C"));
        let one = std::slice::from_ref;
        let claims = [claim(one(&c), 40), claim(&[a.clone(), b.clone()], 20), claim(one(&b), 10)];
        // Five seeds everywhere; a run of C takes ten seconds, others one.
        let cost = |place: &Place| if place.0 == 1 { 10.0 } else { 1.0 };
        let with = |budget| round(&claims, &|_| 5, &cost, budget);
        // Claims need 350, 30 and 5 seconds; the second shares the seeds of B with the third.
        assert_eq!(with(4.0), Round::default());
        let first = with(5.0);
        assert_eq!((first.claims, first.seconds), (1, 5.0));
        assert_eq!(first.seeds, BTreeMap::from([(b.clone(), 10)]));
        assert_eq!(with(29.0).claims, 1);
        // Twenty seeds would decide it, and it gets ten first.
        let second = with(30.0);
        assert_eq!((second.claims, second.seconds), (2, 10.0));
        assert_eq!(second.seeds, BTreeMap::from([(a.clone(), 10), (b.clone(), 10)]));
        let all = with(380.0);
        assert_eq!((all.claims, all.seeds[&c]), (3, 10));
    }

    #[test]
    fn a_base_with_fewer_seeds_catches_up() {
        let (a, b) = (place(0, "A"), place(0, "B"));
        let have = |place: &Place| if place.1 == "A" { 10 } else { 5 };
        let claims = [claim(&[a, b.clone()], 40)];
        let round = round(&claims, &have, &|_| 1.0, 100.0);
        assert_eq!(round.seeds, BTreeMap::from([(b, 10)]));
    }
}
