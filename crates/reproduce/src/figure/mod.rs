//! Description of the published figure that a scenario reproduces: claims, plots, and shorter
//! versions.
//!
//! It is in the table `[figure]`, which the scenario itself ignores.

mod findings;
mod trial;

use serde::Deserialize;
use serde::de::{self, Deserializer};
use tidegate_results::record::Quantity;
use tidegate_scenario::{Problem, Scenario};
use tidegate_study::files::Embedded;
use toml::Spanned;

pub use self::trial::Trial;
use super::claim::{self, Claim, Points, Published};
use super::measure::Measure;
use super::number::Number;
use super::wrong::Wrong;
use super::{library, paper, pattern};

/// Published figure or table with its claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name, such as `tcn-f10`.
    pub id: String,
    /// Subject, in a line.
    pub shows: String,
    /// Source: paper, section, figure.
    pub source: String,
    /// Whether its numbers are arithmetic and need no run.
    pub is_computed: bool,
    /// Reason why its claims are outside the tally: inputs, arithmetic, a variant of another
    /// figure.
    pub untallied: Option<String>,
    /// Resolved ambiguities, and differences from the publication.
    pub assumptions: Vec<String>,
    /// Findings about claims that do not hold. `{name}` quotes the measured number of a claim,
    /// `{name@trial}` the number of a trial.
    pub findings: Vec<Spanned<String>>,
    /// Trials behind the findings.
    pub trials: Vec<Trial>,
    /// Version for minutes with all other figures together.
    pub quick: Cut,
    /// Version for seconds, for the tests.
    pub reduced: Cut,
    /// Claims.
    pub claims: Vec<Claim>,
    /// Plots.
    pub plots: Vec<Plot>,
}

/// A shorter version of a figure.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// Overrides, as `key=value`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Points to keep, by patterns of their labels. Empty: all.
    #[serde(default)]
    pub only: Vec<String>,
    /// Repetitions, if reduced.
    pub runs: Option<u32>,
}

impl Cut {
    /// Whether the point with this label is kept.
    pub fn keeps(&self, label: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| pattern::fits(only, label))
    }
}

/// Plot of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Title.
    pub title: String,
    /// Points to draw, by a pattern of their labels.
    pub of: String,
    /// Contents.
    pub draws: Draws,
}

/// Contents of a plot.
#[derive(Clone, Debug, PartialEq)]
pub enum Draws {
    /// Distribution of completion times, probes or active flows.
    Cdf(CdfOf),
    /// A measure over a swept number, with a line for each of the other settings.
    Line {
        /// Measure.
        y: Box<Measure>,
        /// Swept key.
        x: String,
        /// Part of labels, such as `TCN` or `load 0.4`, whose points are the base of the others.
        normalise: Option<String>,
        /// Published points of each line: values of both axes.
        published: Vec<(String, Vec<(Number, Number)>)>,
    },
    /// Samples over time.
    Series {
        /// Quantity.
        quantity: Quantity,
        /// Subject; `*` matches any text.
        subject: String,
        /// Time of the first sample.
        from: Option<Number>,
        /// Time of the last sample.
        to: Option<Number>,
    },
}

/// Quantity of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CdfOf {
    /// Active flows over time at ports that distinguish flows.
    ActiveFlows,
    /// Completion times of all flows.
    Fct,
    /// Completion times of large flows.
    FctLarge,
    /// Completion times of small flows.
    FctSmall,
    /// Round trips of probes.
    Rtt,
}

impl Figure {
    /// The figure that a scenario reproduces; `None` without `[figure]`.
    pub fn of(scenario: &Scenario) -> Result<Option<Self>, Problem> {
        let figure = scenario.figure().map_or(Ok(None), Self::parse);
        figure.map_err(|wrong| scenario.figure_problem(wrong.message, wrong.span))
    }

    /// The figure of a built-in file.
    pub fn of_file(file: &Embedded) -> Option<Self> {
        Self::parse(file.text).ok().flatten()
    }

    /// Names that a text can quote: `name` of a claim, `name@trial` of a trial that judges it
    /// again.
    pub fn quotable(&self) -> Vec<String> {
        let claims = self.claims.iter().filter_map(|claim| claim.name.clone());
        let of_trial = |trial: &Trial| {
            let name = |claim: &Spanned<String>| format!("{}@{}", claim.get_ref(), trial.name);
            trial.claims.iter().map(name).collect::<Vec<_>>()
        };
        claims.chain(self.trials.iter().flat_map(of_trial)).collect()
    }

    /// Checks that claims and plots refer to points of the scenario.
    pub fn check_points(&self, scenario: &Scenario) -> Result<(), Problem> {
        let checked = self.check(&scenario.labels(), &scenario.keys());
        checked.map_err(|wrong| scenario.figure_problem(wrong.message, wrong.span))
    }

    /// Reads `[figure]` of a scenario file; `None` if it has none.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, Wrong> {
        #[derive(Deserialize)]
        struct Whole {
            figure: Option<FigureFields>,
        }
        let whole: Whole = toml::from_str(text).map_err(|error| {
            let Wrong { message, span } = Wrong::of(&error);
            Wrong { message: format!("[figure]: {message}"), span }
        })?;
        whole.figure.map(FigureFields::figure).transpose()
    }

    /// Checks that claims, plots and cuts refer to points of the scenario, by their labels and
    /// keys.
    pub(super) fn check(&self, labels: &[&str], keys: &[&str]) -> Result<(), Wrong> {
        let fits = |of: &str| labels.iter().any(|label| pattern::fits(of, label));
        let known = || format!("; there are: {}", labels.join(" · "));
        self.check_claims(&known, &fits)?;
        for finding in &self.findings {
            findings::check(finding, self, labels)?;
        }
        self.check_trials(&known, &fits)?;
        let wrong = |message: String| Wrong { message, span: 0..0 };
        for plot in &self.plots {
            if !fits(&plot.of) {
                let message = format!("no point of the sweep fits the plot's `{}`", plot.of);
                return Err(wrong(format!("{message}{}", known())));
            }
            let Draws::Line { x, normalise, .. } = &plot.draws else {
                continue;
            };
            if !keys.contains(&x.as_str()) {
                let message = format!("`{x}` of the plot `{}` is not swept", plot.title);
                return Err(wrong(format!("{message}; there are: {}", keys.join(", "))));
            }
            if let Some(base) = normalise
                && !labels.iter().any(|label| label.split(", ").any(|part| part == base))
            {
                return Err(wrong(format!("no label has the part `{base}`{}", known())));
            }
        }
        let cuts = self.quick.only.iter().chain(&self.reduced.only);
        match cuts.into_iter().find(|of| !fits(of)) {
            Some(only) => Err(wrong(format!("no point fits `{only}` of a cut{}", known()))),
            None => Ok(()),
        }
    }

    /// Checks that the points of claims exist, including each point of a curve.
    fn check_claims(
        &self,
        known: &dyn Fn() -> String,
        fits: &dyn Fn(&str) -> bool,
    ) -> Result<(), Wrong> {
        for (number, claim) in self.claims.iter().enumerate() {
            let wrong = |message| Wrong { message, span: claim.span.clone() };
            let is_same = |other: &Claim| claim.name.is_some() && other.name == claim.name;
            if let (Some(name), true) = (&claim.name, self.claims[..number].iter().any(is_same)) {
                return Err(wrong(format!("two claims have the name `{name}`")));
            }
            if self.is_computed {
                continue;
            }
            let mut patterns: Vec<String> = claim.patterns().cloned().collect();
            if let Published::Curve { points, .. } = &claim.paper {
                let own = points.iter().map(|(at, _)| claim.of.replacen('*', at, 1));
                patterns.extend(own);
            }
            let is_wrong = |of: &&String| !fits(of) && library::of_other_figure(of).is_none();
            if let Some(wrong_one) = patterns.iter().find(is_wrong) {
                let message = format!("no point of the sweep fits `{wrong_one}`{}", known());
                return Err(wrong(message));
            }
            if let Some(text) = &claim.also_at
                && !fits(&claim.with(text).of)
            {
                let message = format!("no point fits `{}`{}", claim.with(text).of, known());
                return Err(wrong(message));
            }
            let is_best = |other: &Claim| other.name == claim.at_best_of && other.takes_best();
            if let (Some(name), false) = (&claim.at_best_of, self.claims.iter().any(is_best)) {
                let message = format!("no claim about a best point has the name `{name}`");
                return Err(wrong(message));
            }
        }
        Ok(())
    }

    /// Checks that trials refer to existing claims and run points.
    fn check_trials(
        &self,
        known: &dyn Fn() -> String,
        fits: &dyn Fn(&str) -> bool,
    ) -> Result<(), Wrong> {
        for trial in &self.trials {
            let is_name = |name: &&Spanned<String>| {
                let mut claims = self.claims.iter();
                !claims.any(|claim| claim.name.as_ref() == Some(name.get_ref()))
            };
            if let Some(name) = trial.claims.iter().find(is_name) {
                return Err(Wrong {
                    message: format!("no claim of the figure has the name `{}`", name.get_ref()),
                    span: name.span(),
                });
            }
            if let (Some(only), Some(name)) =
                (trial.only.iter().find(|only| !fits(only)), trial.claims.first())
            {
                return Err(Wrong {
                    message: format!("no point fits `{only}` of a trial{}", known()),
                    span: name.span(),
                });
            }
        }
        Ok(())
    }
}

/// A figure as files write it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureFields {
    id: String,
    shows: String,
    source: String,
    #[serde(default)]
    computed: bool,
    untallied: Option<String>,
    #[serde(default)]
    assumptions: Vec<String>,
    #[serde(default)]
    findings: Vec<Spanned<String>>,
    #[serde(default)]
    quick: Cut,
    #[serde(default)]
    reduced: Cut,
    #[serde(default)]
    claim: Vec<Spanned<claim::Fields>>,
    #[serde(default)]
    plot: Vec<Plot>,
    #[serde(default)]
    trial: Vec<Trial>,
    joint: Option<Spanned<Joint>>,
}

/// Claims to judge again in the trials that all figures of a setup share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Joint {
    claims: Vec<Spanned<String>>,
    #[serde(default)]
    only: Vec<String>,
}

impl FigureFields {
    /// Trials of the figure, then of its setup.
    fn trials(&mut self) -> Result<Vec<Trial>, Wrong> {
        let mut trials = std::mem::take(&mut self.trial);
        let Some(joint) = self.joint.take() else {
            return Ok(trials);
        };
        let of_setup = paper::joint_trials(&self.id);
        if of_setup.is_empty() {
            let message =
                format!("`{}` is of no setup whose figures have trials in common", self.id);
            return Err(Wrong { message, span: joint.span() });
        }
        let Joint { claims, only } = joint.into_inner();
        trials.extend(of_setup.into_iter().map(|trial| Trial {
            name: trial.name.into_inner(),
            changed: trial.changed,
            set: trial.set,
            only: only.clone(),
            claims: claims.clone(),
        }));
        Ok(trials)
    }

    fn figure(mut self) -> Result<Figure, Wrong> {
        let trials = self.trials()?;
        let claims = self.claim.into_iter().map(|claim| {
            let span = claim.span();
            claim.into_inner().claim(&span)
        });
        Ok(Figure {
            claims: claims.collect::<Result<_, _>>()?,
            id: self.id,
            shows: self.shows,
            source: self.source,
            is_computed: self.computed,
            untallied: self.untallied,
            assumptions: self.assumptions,
            findings: self.findings,
            trials,
            quick: self.quick,
            reduced: self.reduced,
            plots: self.plot,
        })
    }
}

/// A plot as files write it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlotFields {
    kind: PlotKind,
    title: String,
    #[serde(default = "pattern::all")]
    of: String,
    y: Option<Measure>,
    x: Option<String>,
    normalise: Option<String>,
    #[serde(default)]
    published: std::collections::BTreeMap<String, Points>,
    quantity: Option<String>,
    subject: Option<String>,
    from: Option<Number>,
    to: Option<Number>,
}

impl PlotFields {
    /// Checks keys of other kinds of plots. The match below requires or refuses the rest.
    fn unused(&self) -> Option<String> {
        let of_line =
            [("normalise", self.normalise.is_some()), ("published", !self.published.is_empty())];
        let of_series = [("from", self.from.is_some()), ("to", self.to.is_some())];
        let first = |keys: &[(&'static str, bool)]| {
            let mut given = keys.iter().filter(|(_, is_given)| *is_given);
            given.next().map(|(key, _)| *key)
        };
        let line = |key: &str| format!("`{key}` is of a `line`, and says nothing here");
        let series = |key: &str| format!("`{key}` is of a `series`, and says nothing here");
        match self.kind {
            PlotKind::Line => first(&of_series).map(series),
            PlotKind::Series => first(&of_line).map(line),
            PlotKind::Cdf => first(&of_line).map(line).or_else(|| first(&of_series).map(series)),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum PlotKind {
    Cdf,
    Line,
    Series,
}

impl<'de> Deserialize<'de> for Plot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = PlotFields::deserialize(deserializer)?;
        if let Some(message) = fields.unused() {
            return Err(de::Error::custom(message));
        }
        let draws = match (fields.kind, fields.x, fields.y, fields.quantity, fields.subject) {
            (PlotKind::Cdf, None, None, Some(quantity), None) => {
                Draws::Cdf(match quantity.as_str() {
                    "active-flows" => CdfOf::ActiveFlows,
                    "fct" => CdfOf::Fct,
                    "fct-large" => CdfOf::FctLarge,
                    "fct-small" => CdfOf::FctSmall,
                    "rtt" => CdfOf::Rtt,
                    _ => {
                        let known = ["active-flows", "fct", "fct-large", "fct-small", "rtt"];
                        return Err(de::Error::custom(unknown(&quantity, &known)));
                    }
                })
            }
            (PlotKind::Line, Some(x), Some(y), None, None) => Draws::Line {
                y: Box::new(y),
                x,
                normalise: fields.normalise,
                published: points(fields.published).map_err(de::Error::custom)?,
            },
            (PlotKind::Series, None, None, Some(quantity), Some(subject)) => Draws::Series {
                quantity: read_quantity(&quantity).map_err(de::Error::custom)?,
                subject,
                from: fields.from,
                to: fields.to,
            },
            (PlotKind::Cdf, ..) => return Err(de::Error::custom("a `cdf` needs `quantity` only")),
            (PlotKind::Line, ..) => return Err(de::Error::custom("a `line` needs `x` and `y`")),
            (PlotKind::Series, ..) => {
                let message = "a `series` needs `quantity` and `subject`";
                return Err(de::Error::custom(message));
            }
        };
        Ok(Self { title: fields.title, of: fields.of, draws })
    }
}

type Lines = Vec<(String, Vec<(Number, Number)>)>;

fn points(written: std::collections::BTreeMap<String, Points>) -> Result<Lines, String> {
    let line = |(name, points): (String, Points)| {
        let points = points.0.into_iter();
        let points = points.map(|(x, y)| Ok((x.parse()?, y)));
        Ok((name, points.collect::<Result<_, String>>()?))
    };
    written.into_iter().map(line).collect()
}

fn read_quantity(name: &str) -> Result<Quantity, String> {
    let found = Quantity::ALL.into_iter().find(|quantity| quantity.name() == name);
    found.ok_or_else(|| unknown(name, &Quantity::ALL.map(Quantity::name)))
}

fn unknown(word: &str, known: &[&str]) -> String {
    format!("there is no `{word}`; known: {}", known.join(", "))
}

#[cfg(test)]
mod tests;
