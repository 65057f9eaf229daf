//! Papers: headline claims, and assumptions that figures share.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use super::wrong::Wrong;
use super::{library, quote};

/// Paper whose figures are reproduced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Prefix of the ids of its figures.
    pub id: String,
    /// Name of its scheme.
    pub name: String,
    /// Title.
    pub title: String,
    /// Authors, venue and year.
    pub source: String,
    /// Headline claims, the most important first.
    #[serde(rename = "headline")]
    pub headlines: Vec<Headline>,
    /// Setups that several figures share: testbeds and simulations.
    #[serde(default, rename = "setup")]
    pub setups: Vec<Setup>,
}

/// Headline claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Headline {
    /// Figure and name of the claim, such as `tcn-f8/small-90`.
    pub(super) claim: Spanned<String>,
    /// Cause of the verdict, in a sentence. `{tcn-f8/small-90}` quotes a measured number.
    pub(super) cause: Spanned<String>,
}

/// Assumptions of several figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Name.
    pub name: String,
    /// Figures of the setup.
    pub figures: Vec<Spanned<String>>,
    /// Resolved ambiguities.
    pub assumptions: Vec<String>,
    /// Joint trials: one change for all figures of the setup.
    #[serde(default, rename = "trial")]
    pub joint: Vec<JointTrial>,
    /// Findings of the joint trials. `{ecn-sharp-f9/small-gain@bursts}` quotes a measured number.
    pub decided: Option<Spanned<String>>,
}

/// One change for all figures of a setup. Each figure's `joint` names the claims to judge again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointTrial {
    /// Name.
    pub name: Spanned<String>,
    /// Change in words.
    pub changed: String,
    /// Overrides, as `key=value`.
    pub set: Vec<String>,
}

/// Joint trials of a figure's setup.
pub(super) fn joint_trials(figure: &str) -> Vec<JointTrial> {
    let papers = papers();
    let setup = papers.iter().find_map(|paper| paper.setup_of(figure));
    setup.map_or_else(Vec::new, |setup| setup.joint.clone())
}

/// All papers, ordered by id.
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
        let whole: Whole = toml::from_str(text).map_err(|error| Wrong::of(&error))?;
        Ok(whole.paper)
    }

    /// Checks that headlines and setups refer to existing claims, trials and figures. `names`
    /// returns the names that can be quoted of a figure (`Figure::quotable`), or `None` for an
    /// unknown figure.
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

    /// Setup that a figure shares with others, if any.
    pub fn setup_of(&self, figure: &str) -> Option<&Setup> {
        let has = |setup: &&Setup| setup.figures.iter().any(|own| own.get_ref() == figure);
        self.setups.iter().find(has)
    }
}

impl Setup {
    /// Checks that its figures exist and have its joint trials.
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
}

#[cfg(test)]
mod tests {
    use super::super::figure::Figure;
    use super::*;

    #[test]
    fn every_paper_has_five_to_eight_headlines_about_existing_claims() {
        let names = |id: &str| Some(Figure::of_file(library::file(id)?)?.quotable());
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
