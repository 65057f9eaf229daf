//! Papers: their headline claims with what became of them, and what their figures assume in common.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::judged::Judged;
use super::library;
use super::quote;
use super::verdict::{Finding, Verdict};

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
    /// Trials that all of these figures have: one change for all of them alike.
    #[serde(default, rename = "trial")]
    pub joint: Vec<JointTrial>,
    /// What the joint trials show. `{ecn-sharp-f9/small-gain@bursts}` in it is a measured number.
    pub decided: Option<Spanned<String>>,
}

/// One change for all figures of a setup. Which claims of a figure are judged again is written
/// there, as `joint`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointTrial {
    /// Its name.
    pub name: Spanned<String>,
    /// What is changed, in words.
    pub changed: String,
    /// The settings that change it, as `key=value`.
    pub set: Vec<String>,
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

/// The trials that the setup of a figure has for all of its figures.
pub(super) fn joint_trials(figure: &str) -> Vec<JointTrial> {
    let papers = papers();
    let setup = papers.iter().find_map(|paper| paper.setup_of(figure));
    setup.map_or_else(Vec::new, |setup| setup.joint.clone())
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

    /// That its headlines and setups are about claims, trials and figures that there are. `names`
    /// has what can be quoted of a figure (`Figure::quotable`), and is `None` of an unknown one.
    pub fn check(&self, names: &dyn Fn(&str) -> Option<Vec<String>>) -> Result<(), Wrong> {
        let check = |key: &str, span: Range<usize>| {
            let (figure, claim) = key.split_once('/').unwrap_or((key, ""));
            let known = names(figure);
            if known.is_some_and(|names| names.iter().any(|name| name == claim)) {
                return Ok(());
            }
            Err(Wrong { message: format!("there is no claim `{key}`"), span })
        };
        let check_quotes = |text: &Spanned<String>| {
            let begin = text.span().start + 1;
            quote::keys(text.get_ref())
                .into_iter()
                .try_for_each(|(from, key)| check(key, begin + from..begin + from + key.len()))
        };
        for headline in &self.headlines {
            check(headline.claim.get_ref(), headline.claim.span())?;
            check_quotes(&headline.cause)?;
        }
        for setup in &self.setups {
            setup.check(names)?;
            setup.decided.iter().try_for_each(check_quotes)?;
        }
        Ok(())
    }

    /// Its headlines with what became of them.
    pub fn answered(&self, figures: &[Judged]) -> Vec<Answered> {
        let answered = |headline: &Headline| {
            let (figure, finding) = find(figures, headline.claim.get_ref())?;
            Some(Answered {
                figure: figure.to_owned(),
                finding: finding.clone(),
                cause: quoted(headline.cause.get_ref(), figures),
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

impl Setup {
    /// That its figures are there, and have its joint trials.
    fn check(&self, names: &dyn Fn(&str) -> Option<Vec<String>>) -> Result<(), Wrong> {
        for figure in &self.figures {
            let id = figure.get_ref();
            let Some(names) = names(id) else {
                return Err(Wrong {
                    message: format!("there is no figure `{id}`"),
                    span: figure.span(),
                });
            };
            let has = |trial: &str| names.iter().any(|name| quote::split(name).1 == Some(trial));
            if let Some(trial) = self.joint.iter().find(|trial| !has(trial.name.get_ref())) {
                return Err(Wrong {
                    message: format!("`{id}` does not judge the trial `{}`", trial.name.get_ref()),
                    span: trial.name.span(),
                });
            }
        }
        Ok(())
    }

    /// What a joint trial made of the claims of each figure; `None` is the setup as assumed.
    pub fn jointly(&self, trial: Option<&str>, figures: &[Judged]) -> Vec<Score> {
        let score = |id: &Spanned<String>| {
            let judged = figures.iter().find(|judged| judged.id == *id.get_ref());
            let varied = judged.map_or(&[][..], |judged| &judged.varied);
            let first = self.joint.first().map(|trial| trial.name.get_ref().as_str());
            let of_trial =
                varied.iter().filter(|varied| Some(varied.trial.as_str()) == trial.or(first));
            let after = of_trial.map(|varied| match trial {
                Some(_) => varied.after.verdict,
                None => varied.before.verdict,
            });
            Score::of(after)
        };
        self.figures.iter().map(score).collect()
    }
}

/// How many claims of a figure are reproduced.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Those that are.
    pub reproduced: usize,
    /// Those that are neither reproduced nor excluded.
    pub inconclusive: usize,
    /// All of them.
    pub claims: usize,
}

impl Score {
    fn of(verdicts: impl Iterator<Item = Verdict>) -> Self {
        verdicts.fold(Self::default(), |sum, verdict| {
            sum + Self {
                reproduced: usize::from(verdict == Verdict::Reproduced),
                inconclusive: usize::from(verdict == Verdict::Inconclusive),
                claims: 1,
            }
        })
    }
}

impl std::ops::Add for Score {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            reproduced: self.reproduced + other.reproduced,
            inconclusive: self.inconclusive + other.inconclusive,
            claims: self.claims + other.claims,
        }
    }
}

/// A text with the measured numbers that it quotes.
pub fn quoted(text: &str, figures: &[Judged]) -> String {
    quote::replaced(text, &|key| Some(find(figures, key)?.1.number()))
}

/// The figure and the claim that a key such as `tcn-f8/small-90` or `tcn-f8/small-90@sack` means.
fn find<'a>(figures: &'a [Judged], key: &str) -> Option<(&'a str, &'a Finding)> {
    let (figure, key) = key.split_once('/')?;
    let (name, trial) = quote::split(key);
    let judged = figures.iter().find(|judged| judged.id == figure)?;
    let is_own = |finding: &&Finding| finding.name.as_deref() == Some(name);
    let finding = match trial {
        None => judged.claims.iter().find(is_own),
        Some(trial) => {
            let of_trial = judged.varied.iter().filter(|varied| varied.trial == trial);
            of_trial.map(|varied| &varied.after).find(is_own)
        }
    };
    Some((&judged.id, finding?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paper_has_five_to_eight_headlines_about_claims_that_there_are() {
        let names = |id: &str| Some(library::figure(library::file(id)?)?.quotable());
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
            [[paper.setup]]\nname = \"all\"\nfigures = [\"FIGURE\"]\nassumptions = []\n\
            decided = \"{x-f1/QUOTED}\"\n\
            [[paper.setup.trial]]\nname = \"TRIAL\"\nchanged = \"c\"\nset = []\n";
        let names = |id: &str| (id == "x-f1").then(|| vec!["mean".into(), "mean@sack".into()]);
        let check_trial = |claim: &str, quoted: &str, figure: &str, trial: &str| {
            let text = text.replace("CLAIM", claim).replace("QUOTED", quoted);
            let text = text.replace("FIGURE", figure).replace("TRIAL", trial);
            let checked = Paper::parse(&text).unwrap().check(&names);
            checked.map_err(|wrong| text[wrong.span].to_owned())
        };
        let check =
            |claim: &str, quoted: &str, figure: &str| check_trial(claim, quoted, figure, "sack");
        assert_eq!(check("mean", "mean", "x-f1"), Ok(()));
        assert_eq!(check("p99", "mean", "x-f1"), Err("\"x-f1/p99\"".into()));
        assert_eq!(check("mean", "p99", "x-f1"), Err("x-f1/p99".into()));
        assert_eq!(check("mean", "mean", "x-f2"), Err("\"x-f2\"".into()));
        assert_eq!(check("mean", "mean@sack", "x-f1"), Ok(()));
        let no_trial = check_trial("mean", "mean", "x-f1", "tso");
        assert_eq!(no_trial, Err("\"tso\"".into()));
    }
}
