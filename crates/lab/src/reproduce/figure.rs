//! What a scenario file says about the published figure that it reproduces: claims, plots, and how the
//! run may be cut short.
//!
//! All of it is in the table `[figure]`, which the scenario itself does not read.

use std::ops::Range;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess};
use tidegate_report::record::Quantity;
use tidegate_scenario::{Problem, Scenario};
use toml::Spanned;

use super::measure::Measure;
use super::number::Number;
use super::pattern;
use super::trial::Trial;

/// A published figure or table, and what is claimed with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name, such as `tcn-f10`.
    pub id: String,
    /// What it shows, in a line.
    pub shows: String,
    /// Where it is: paper, section, figure.
    pub source: String,
    /// Whether its numbers are arithmetic, so that nothing is run.
    pub is_computed: bool,
    /// How ambiguities were resolved, and what is modelled otherwise than published.
    pub assumptions: Vec<String>,
    /// What was found out about claims that do not hold.
    pub findings: Vec<String>,
    /// What was varied to find it out.
    pub trials: Vec<Trial>,
    /// The version that takes minutes with all others together.
    pub quick: Cut,
    /// The version that takes seconds, for the tests.
    pub reduced: Cut,
    /// What is claimed: one for each point of a curve.
    pub claims: Vec<Claim>,
    /// What is drawn.
    pub plots: Vec<Plot>,
}

/// A shorter version of a figure.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// Settings that differ, as `key=value`.
    #[serde(default)]
    pub set: Vec<String>,
    /// The points that are kept, by patterns of their labels. Empty: all.
    #[serde(default)]
    pub only: Vec<String>,
    /// Repetitions, if fewer.
    pub runs: Option<u32>,
}

impl Cut {
    /// Whether the point of this label is kept.
    pub fn keeps(&self, label: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| pattern::fits(only, label))
    }
}

/// Something that a paper says about its figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name, by which trials mean it.
    pub name: Option<String>,
    /// The claim in words.
    pub says: String,
    /// What is measured.
    pub measure: Measure,
    /// The points that it is about, by a pattern of their labels; `*` matches any text.
    pub of: String,
    /// The points that they are compared with: those whose `*`, as far as it has some, match the
    /// same texts. The value is then the relative change, 0 for no difference.
    pub against: Option<String>,
    /// Which value counts if the pattern has several points.
    pub take: Take,
    /// What the paper says.
    pub paper: Published,
    /// Why that much tolerance, where it is not obvious.
    pub because: Option<String>,
    /// Whether the tests assert its direction on the reduced version.
    pub is_main: bool,
    /// The curve that it is a point of, if it is of one.
    pub curve: Option<Curve>,
    /// Where it is written.
    span: Range<usize>,
}

/// A curve whose points are claims, each at another text in place of the first `*`.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The pattern of the whole curve.
    pub of: String,
    /// The text of this point.
    pub at: String,
}

/// What a paper says of a number.
#[derive(Clone, Debug, PartialEq)]
pub enum Published {
    /// It is about this.
    About {
        /// The number.
        value: Number,
        /// How far the measured one may be from it: a part of it, or for changes a difference.
        within: Number,
        /// The value that separates the directions; for changes it is 0.
        neutral: Option<Number>,
    },
    /// It is at least this.
    AtLeast(Number),
    /// It is at most this.
    AtMost(Number),
    /// It is not testable, for this reason.
    NotTestable(String),
}

impl Published {
    /// The number that is published, if there is one.
    pub const fn number(&self) -> Option<&Number> {
        match self {
            Self::About { value, .. } => Some(value),
            Self::AtLeast(number) | Self::AtMost(number) => Some(number),
            Self::NotTestable(_) => None,
        }
    }

    /// It in words.
    pub fn words(&self) -> String {
        match self {
            Self::AtLeast(least) => format!("at least {least}"),
            Self::AtMost(most) => format!("at most {most}"),
            Self::About { value, within, .. } => format!("{value}, within {within}"),
            Self::NotTestable(_) => "–".to_owned(),
        }
    }
}

/// Which value counts if there are several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// The smallest number in place of the first `*` at which the measure is above zero, such as the
    /// fewest senders that lose packets.
    FirstAboveZero,
    /// The largest.
    Largest,
    /// Their mean.
    #[default]
    Mean,
    /// The smallest: of changes, the best one, as in "up to 94 % lower".
    Smallest,
    /// How much the largest is above the smallest, as a part of it.
    Spread,
}

/// Something that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// The points that are drawn, by a pattern of their labels.
    pub of: String,
    /// What is drawn.
    pub draws: Draws,
}

/// What a plot draws.
#[derive(Clone, Debug, PartialEq)]
pub enum Draws {
    /// The distribution of completion times or probes.
    Cdf(CdfOf),
    /// A measure against a number of the sweep, a line for each of the rest.
    Line {
        /// The measure.
        y: Measure,
        /// The key that the sweep varies.
        x: String,
        /// The part of labels, such as `TCN` or `load 0.4`, whose points others are divided by.
        normalise: Option<String>,
        /// Published points of each line: the value of `x` and that of the axis.
        published: Vec<(String, Vec<(Number, Number)>)>,
    },
    /// Samples over time.
    Series {
        /// Which number.
        quantity: Quantity,
        /// Of what; `*` matches any text.
        subject: String,
        /// The time of the first sample that is drawn.
        from: Option<Number>,
        /// The time of the last.
        to: Option<Number>,
    },
}

/// What a distribution can be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CdfOf {
    /// Completion times of all flows.
    Fct,
    /// Those of large ones.
    FctLarge,
    /// Those of small ones.
    FctSmall,
    /// Round trips of probes.
    Rtt,
}

/// What is wrong with a `[figure]`, and where.
#[derive(Debug, PartialEq)]
pub(super) struct Wrong {
    message: String,
    span: Range<usize>,
}

impl Figure {
    /// What a scenario says of the figure that it represents; `None` if it says nothing.
    pub fn of(scenario: &Scenario) -> Result<Option<Self>, Problem> {
        let figure = scenario.figure().map_or(Ok(None), Self::parse);
        figure.map_err(|wrong| scenario.figure_problem(wrong.message, wrong.span))
    }

    /// That claims and plots are about points of the scenario.
    pub fn check_points(&self, scenario: &Scenario) -> Result<(), Problem> {
        let checked = self.check(&scenario.labels(), &scenario.keys());
        checked.map_err(|wrong| scenario.figure_problem(wrong.message, wrong.span))
    }

    /// Reads `[figure]` of a scenario file; `None` if it has none.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, Wrong> {
        #[derive(Deserialize)]
        struct Whole {
            figure: Option<Figure>,
        }
        toml::from_str(text)
            .map(|whole: Whole| whole.figure)
            .map_err(|error| Wrong {
                message: format!("[figure]: {}", error.message().trim().replace('\n', ", ")),
                span: error.span().unwrap_or(0..0),
            })
    }

    /// That claims, plots and cuts are about points of the scenario, by their labels and keys.
    fn check(&self, labels: &[&str], keys: &[&str]) -> Result<(), Wrong> {
        let fits = |of: &str| labels.iter().any(|label| pattern::fits(of, label));
        let known = || format!("; there are: {}", labels.join(" · "));
        for claim in self.claims.iter().filter(|_| !self.is_computed) {
            let patterns = [Some(&claim.of), claim.against.as_ref()];
            if let Some(wrong) = patterns.into_iter().flatten().find(|of| !fits(of)) {
                return Err(Wrong {
                    message: format!("no point of the sweep fits `{wrong}`{}", known()),
                    span: claim.span.clone(),
                });
            }
        }
        self.check_trials(&known, &fits)?;
        let wrong = |message: String| Wrong {
            message,
            span: 0..0,
        };
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
                && !labels
                    .iter()
                    .any(|label| label.split(", ").any(|part| part == base))
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

    /// That trials are about claims that there are, and run points.
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
            if let (Some(only), Some(name)) = (
                trial.only.iter().find(|only| !fits(only)),
                trial.claims.first(),
            ) {
                return Err(Wrong {
                    message: format!("no point fits `{only}` of a trial{}", known()),
                    span: name.span(),
                });
            }
        }
        Ok(())
    }
}

fn all() -> String {
    "*".to_owned()
}

/// A figure as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureFields {
    id: String,
    shows: String,
    source: String,
    #[serde(default)]
    computed: bool,
    #[serde(default)]
    assumptions: Vec<String>,
    #[serde(default)]
    findings: Vec<String>,
    #[serde(default)]
    quick: Cut,
    #[serde(default)]
    reduced: Cut,
    #[serde(default)]
    claim: Vec<Spanned<ClaimFields>>,
    #[serde(default)]
    plot: Vec<Plot>,
    #[serde(default)]
    trial: Vec<Trial>,
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = FigureFields::deserialize(deserializer)?;
        let claims = fields.claim.into_iter().flat_map(|claim| {
            let span = claim.span();
            claim.into_inner().claims(&span)
        });
        Ok(Self {
            id: fields.id,
            shows: fields.shows,
            source: fields.source,
            is_computed: fields.computed,
            assumptions: fields.assumptions,
            findings: fields.findings,
            trials: fields.trial,
            quick: fields.quick,
            reduced: fields.reduced,
            claims: claims.collect(),
            plots: fields.plot,
        })
    }
}

/// A claim as it is written: what the paper says stands beside the rest, so that it reads as a
/// sentence.
struct ClaimFields {
    raw: RawClaim,
    paper: Vec<(Option<String>, Published)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClaim {
    name: Option<String>,
    says: String,
    measure: Measure,
    #[serde(default = "all")]
    of: String,
    against: Option<String>,
    #[serde(default)]
    take: Take,
    paper: Option<Number>,
    points: Option<Points>,
    within: Option<Number>,
    neutral: Option<Number>,
    at_most: Option<Number>,
    at_least: Option<Number>,
    not_testable: Option<String>,
    because: Option<String>,
    #[serde(default)]
    main: bool,
}

impl<'de> Deserialize<'de> for ClaimFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut raw = RawClaim::deserialize(deserializer)?;
        let about = |value, within: &Number| Published::About {
            value,
            within: within.clone(),
            neutral: raw.neutral.clone(),
        };
        let said = (
            raw.paper.take(),
            raw.points.take(),
            raw.at_most.take(),
            raw.at_least.take(),
            raw.not_testable.take(),
        );
        let paper = match (said, &raw.within) {
            ((Some(value), None, None, None, None), Some(within)) => {
                vec![(None, about(value, within))]
            }
            ((None, Some(points), None, None, None), Some(within)) => {
                if !raw.of.contains('*') {
                    let message = "`points` are texts in place of the first `*` of `of`";
                    return Err(de::Error::custom(message));
                }
                let points = points.0.into_iter();
                points
                    .map(|(at, value)| (Some(at), about(value, within)))
                    .collect()
            }
            ((None, None, Some(most), None, None), None) => vec![(None, Published::AtMost(most))],
            ((None, None, None, Some(least), None), None) => {
                vec![(None, Published::AtLeast(least))]
            }
            ((_, None, None, None, Some(why)), None) => vec![(None, Published::NotTestable(why))],
            _ => {
                return Err(de::Error::custom(format!(
                    "`{}` needs `paper` or `points` with `within`, or one of `at_most`, `at_least` \
                     and `not_testable`",
                    raw.says
                )));
            }
        };
        Ok(Self { raw, paper })
    }
}

impl ClaimFields {
    /// One claim, or one for each point of a curve.
    fn claims(self, span: &Range<usize>) -> Vec<Claim> {
        let Self { raw, paper } = self;
        let put = |text: &str, at: &Option<String>| match at {
            Some(at) => text.replacen('*', at, 1),
            None => text.to_owned(),
        };
        let claim = |(at, paper): (Option<String>, Published)| Claim {
            name: raw.name.clone(),
            says: match &at {
                Some(at) if !raw.says.contains('*') => format!("{} at {at}", raw.says),
                _ => put(&raw.says, &at),
            },
            measure: raw.measure.clone(),
            of: put(&raw.of, &at),
            against: raw.against.as_ref().map(|against| put(against, &at)),
            take: raw.take,
            paper,
            because: raw.because.clone(),
            is_main: raw.main,
            curve: at.map(|at| Curve {
                of: raw.of.clone(),
                at,
            }),
            span: span.clone(),
        };
        paper.into_iter().map(claim).collect()
    }
}

/// Keys and numbers, by the number that the key begins with.
struct Points(Vec<(String, Number)>);

impl<'de> Deserialize<'de> for Points {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Points;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a table such as { \"0.4\" = \"7.1%\", \"0.5\" = \"5.4%\" }")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Points, A::Error> {
                let mut points = Vec::new();
                while let Some(point) = map.next_entry::<String, Number>()? {
                    points.push(point);
                }
                let number = |key: &str| key.parse::<Number>().map_or(0.0, |number| number.value);
                points.sort_by(|a, b| number(&a.0).total_cmp(&number(&b.0)));
                Ok(Points(points))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

/// A plot as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlotFields {
    kind: PlotKind,
    title: String,
    #[serde(default = "all")]
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
        let draws = match (
            fields.kind,
            fields.x,
            fields.y,
            fields.quantity,
            fields.subject,
        ) {
            (PlotKind::Cdf, None, None, Some(quantity), None) => {
                Draws::Cdf(match quantity.as_str() {
                    "fct" => CdfOf::Fct,
                    "fct-large" => CdfOf::FctLarge,
                    "fct-small" => CdfOf::FctSmall,
                    "rtt" => CdfOf::Rtt,
                    _ => {
                        let known = ["fct", "fct-large", "fct-small", "rtt"];
                        return Err(de::Error::custom(unknown(&quantity, &known)));
                    }
                })
            }
            (PlotKind::Line, Some(x), Some(y), None, None) => Draws::Line {
                y,
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
        Ok(Self {
            title: fields.title,
            of: fields.of,
            draws,
        })
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
    let found = Quantity::ALL
        .into_iter()
        .find(|quantity| quantity.name() == name);
    found.ok_or_else(|| unknown(name, &Quantity::ALL.map(Quantity::name)))
}

fn unknown(word: &str, known: &[&str]) -> String {
    format!("there is no `{word}`; known: {}", known.join(", "))
}

#[cfg(test)]
mod tests;
