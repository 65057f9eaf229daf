//! Papers: their headline claims with what became of them, and what their figures assume in common.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::judged::Judged;
use super::library;
use super::quote;
use super::verdict::Finding;

/// A paper whose figures are reproduced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// What the ids of its figures begin with.
    pub id: String,
    /// What its scheme is called.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Authors, venue and year.
    pub source: String,
    /// Its headline claims, the most important first.
    #[serde(rename = "headline")]
    pub headlines: Vec<Headline>,
    /// Testbeds and simulations that several figures share.
    #[serde(default, rename = "setup")]
    pub setups: Vec<Setup>,
}

/// A claim that a paper is read for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Headline {
    /// The claim: its figure and its name, as `tcn-f8/small-90`.
    claim: Spanned<String>,
    /// Why it came out so, in a sentence. `{tcn-f8/small-90}` in it is a measured number.
    cause: Spanned<String>,
}

/// What several figures assume.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// What it is called.
    pub name: String,
    /// The figures that have it.
    pub figures: Vec<Spanned<String>>,
    /// How ambiguities were resolved.
    pub assumptions: Vec<String>,
}

/// A headline with what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Answered {
    /// The figure.
    pub figure: String,
    /// The claim.
    pub finding: Finding,
    /// Why it came out so.
    pub cause: String,
}

/// What is wrong with a paper's file, and where.
#[derive(Debug, PartialEq)]
pub struct Wrong {
    /// What it is.
    pub message: String,
    /// Where it is.
    pub span: Range<usize>,
}

/// All papers, by their ids.
pub fn papers() -> Vec<Paper> {
    let papers = library::paper_files().filter_map(|file| Paper::parse(file.text).ok());
    papers.collect()
}

impl Paper {
    /// Reads a paper's file.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Whole {
            paper: Paper,
        }
        let whole: Whole = toml::from_str(text).map_err(|error| Wrong {
            message: error.message().trim().replace('\n', ", "),
            span: error.span().unwrap_or(0..0),
        })?;
        Ok(whole.paper)
    }

    /// That its headlines and setups are about claims and figures that there are. `names` has the
    /// names of the claims of a figure, and is `None` of an unknown one.
    pub fn check(&self, names: &dyn Fn(&str) -> Option<Vec<String>>) -> Result<(), Wrong> {
        let check = |key: &str, span: Range<usize>| {
            let (figure, claim) = key.split_once('/').unwrap_or((key, ""));
            let known = names(figure);
            if known.is_some_and(|names| names.iter().any(|name| name == claim)) {
                return Ok(());
            }
            Err(Wrong {
                message: format!("there is no claim `{key}`"),
                span,
            })
        };
        for headline in &self.headlines {
            check(headline.claim.get_ref(), headline.claim.span())?;
            let begin = headline.cause.span().start + 1;
            for (from, key) in quote::keys(headline.cause.get_ref()) {
                check(key, begin + from..begin + from + key.len())?;
            }
        }
        let figures = self.setups.iter().flat_map(|setup| &setup.figures);
        for figure in figures {
            if names(figure.get_ref()).is_none() {
                return Err(Wrong {
                    message: format!("there is no figure `{}`", figure.get_ref()),
                    span: figure.span(),
                });
            }
        }
        Ok(())
    }

    /// Its headlines with what became of them.
    pub fn answered(&self, figures: &[Judged]) -> Vec<Answered> {
        let answered = |headline: &Headline| {
            let (figure, finding) = find(figures, headline.claim.get_ref())?;
            let value = |key: &str| Some(find(figures, key)?.1.number());
            Some(Answered {
                figure: figure.to_owned(),
                finding: finding.clone(),
                cause: quote::replaced(headline.cause.get_ref(), &value),
            })
        };
        self.headlines.iter().filter_map(answered).collect()
    }

    /// The setup of a figure, if it is one of several.
    pub fn setup_of(&self, figure: &str) -> Option<&Setup> {
        let has = |setup: &&Setup| setup.figures.iter().any(|own| own.get_ref() == figure);
        self.setups.iter().find(has)
    }
}

/// The figure and the claim that a key such as `tcn-f8/small-90` means.
fn find<'a>(figures: &'a [Judged], key: &str) -> Option<(&'a str, &'a Finding)> {
    let (figure, name) = key.split_once('/')?;
    let judged = figures.iter().find(|judged| judged.id == figure)?;
    let is_own = |finding: &&Finding| finding.name.as_deref() == Some(name);
    Some((&judged.id, judged.claims.iter().find(is_own)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paper_has_five_to_eight_headlines_about_claims_that_there_are() {
        let names = |id: &str| {
            let figure = library::figure(library::file(id)?)?;
            let names = figure.claims.into_iter().filter_map(|claim| claim.name);
            Some(names.collect())
        };
        let mut ids = Vec::new();
        for file in library::paper_files() {
            let paper = Paper::parse(file.text).unwrap_or_else(|wrong| panic!("{wrong:?}"));
            assert_eq!(paper.check(&names), Ok(()), "{}", file.path);
            let count = paper.headlines.len();
            assert!((5..=8).contains(&count), "{}: {count}", file.path);
            ids.push(paper.id);
        }
        for id in library::ids() {
            let is_own = |paper: &String| id.starts_with(&format!("{paper}-"));
            assert!(ids.iter().any(is_own), "{id} is of no paper");
        }
    }

    #[test]
    fn a_headline_about_no_claim_is_refused_where_it_is_written() {
        let text = "[paper]\nid = \"x\"\nname = \"X\"\ntitle = \"t\"\nsource = \"s\"\n\
            [[paper.headline]]\nclaim = \"x-f1/CLAIM\"\ncause = \"as {x-f1/QUOTED} says\"\n\
            [[paper.setup]]\nname = \"all\"\nfigures = [\"FIGURE\"]\nassumptions = []\n";
        let names = |id: &str| (id == "x-f1").then(|| vec!["mean".to_owned()]);
        let check = |claim: &str, quoted: &str, figure: &str| {
            let text = text.replace("CLAIM", claim).replace("QUOTED", quoted);
            let text = text.replace("FIGURE", figure);
            let checked = Paper::parse(&text).unwrap().check(&names);
            checked.map_err(|wrong| text[wrong.span].to_owned())
        };
        assert_eq!(check("mean", "mean", "x-f1"), Ok(()));
        assert_eq!(check("p99", "mean", "x-f1"), Err("\"x-f1/p99\"".into()));
        assert_eq!(check("mean", "p99", "x-f1"), Err("x-f1/p99".into()));
        assert_eq!(check("mean", "mean", "x-f2"), Err("\"x-f2\"".into()));
    }
}
