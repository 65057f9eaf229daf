//! Numbers that findings quote. They come from the results, so that they agree with the runs beside
//! them.
//!
//! `{name}` quotes the measured number of a claim, `{name@trial}` the number of a trial. Any other
//! number with a unit has to appear in the figure's file: published, assumed or set.

use toml::Spanned;

use super::Figure;
use crate::claim::Published;
use crate::quote::{digits, keys, numbers, split, without_keys};
use crate::wrong::Wrong;

/// Refuses a finding with a number that neither the results nor the file have.
pub(super) fn check(
    finding: &Spanned<String>,
    figure: &Figure,
    labels: &[&str],
) -> Result<(), Wrong> {
    let text = finding.get_ref();
    // After the opening quotation mark.
    let wrong = |message: String, from: usize, length: usize| {
        let start = finding.span().start + 1 + from;
        Err(Wrong { message, span: start..start + length })
    };
    for (from, key) in keys(text) {
        let (name, trial) = split(key);
        let is_claim = figure.claims.iter().any(|claim| claim.name.as_deref() == Some(name));
        if !is_claim {
            let message = format!("no claim of the figure has the name `{name}`");
            return wrong(message, from, key.len());
        }
        if let Some(trial) = trial {
            let own = figure.trials.iter().find(|other| other.name == trial);
            let has_claim =
                own.is_some_and(|own| own.claims.iter().any(|claim| claim.get_ref() == name));
            if !has_claim {
                let message = format!("no trial `{trial}` of the figure judges `{name}`");
                return wrong(message, from, key.len());
            }
        }
    }
    let known = known(figure, labels);
    for (from, number) in numbers(&without_keys(text)) {
        if !known.contains(&number) {
            let message = format!(
                "the finding quotes {number}, which no claim, assumption or trial of the figure has; \
                 `{{name}}` quotes a claim's measured number, `{{name@trial}}` a trial's"
            );
            return wrong(message, from, number.len());
        }
    }
    Ok(())
}

/// All numbers of a figure's file outside its findings.
fn known(figure: &Figure, labels: &[&str]) -> Vec<String> {
    let mut text = labels.join(" ");
    let mut add = |more: &str| {
        text.push(' ');
        text.push_str(more);
    };
    for claim in &figure.claims {
        add(&claim.says);
        add(&claim.words());
        claim.note.iter().for_each(|note| add(note));
        if let Published::Curve { points } = &claim.paper {
            for (at, value) in points {
                add(at);
                add(&value.to_string());
            }
        }
    }
    figure.assumptions.iter().for_each(|assumption| add(assumption));
    for trial in &figure.trials {
        add(&trial.changed);
        trial.set.iter().for_each(|set| add(set));
    }
    digits(&text.replace('-', " ")).into_iter().map(|(_, number)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURE: &str = "[figure]\nid = \"x-f1\"\nshows = \"a\"\nsource = \"b\"\n\
        assumptions = [\"a buffer of 300 KB\"]\nfindings = [\"FINDING\"]\n\
        [[figure.claim]]\nname = \"mean\"\nsays = \"5.1 % less\"\nmeasure = \"fct_mean\"\n\
        of = \"A\"\nbelow = \"9ms\"\n[[figure.claim]]\nname = \"p99\"\nsays = \"b\"\n\
        measure = \"fct_mean\"\nof = \"A\"\nbelow = \"8ms\"\n\
        [[figure.trial]]\nname = \"more\"\nchanged = \"2 ms\"\nset = [\"runs=2\"]\n\
        claims = [\"mean\"]\n";

    fn checked(finding: &str) -> Result<(), (String, String)> {
        let text = FIGURE.replace("FINDING", finding);
        let figure = Figure::parse(&text).unwrap().unwrap();
        let checked = figure.check(&["A"], &[]);
        checked.map_err(|wrong| (wrong.message, text[wrong.span].to_owned()))
    }

    #[test]
    fn finding_may_quote_existing_numbers() {
        for finding in [
            "it is {mean} instead of 5.1 %, and {mean@more} with 2 ms of 300 KB",
            "figure 16 has nothing to do with 44 segments",
        ] {
            assert_eq!(checked(finding), Ok(()), "{finding}");
        }
    }

    #[test]
    fn finding_that_quotes_an_absent_number_is_refused_at_its_place() {
        for (finding, message, place) in [
            ("it is {median}", "has the name `median`", "median"),
            ("it is {mean@less}", "no trial `less`", "mean@less"),
            ("it is {p99@more}", "no trial `more`", "p99@more"),
            ("it was 37.5 % then", "quotes 37.5,", "37.5"),
            ("with {mean} it is 12 ms", "quotes 12,", "12"),
        ] {
            let (said, at) = checked(finding).unwrap_err();
            assert!(said.contains(message), "{said}");
            assert_eq!(at, place, "{finding}");
        }
    }
}
