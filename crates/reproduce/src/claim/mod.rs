//! Claims of a paper about its figure, as files write them.

mod check;
pub(crate) mod region;
mod tolerance;

use std::fmt;
use std::ops::Range;

use serde::de::{self, Deserializer, MapAccess, SeqAccess};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::measure::Measure;
use super::number::Number;
use super::wrong::Wrong;

/// Claim of a paper about its figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Name, for trials, findings and headlines.
    pub name: Option<String>,
    /// Claim in words.
    pub says: String,
    /// Measure.
    pub measure: Measure,
    /// Points of the claim, by a pattern of their labels; `*` matches any text.
    pub of: String,
    /// Points to compare with. A `*` matches the same text as in `of`. The value is then the
    /// relative change, 0 for none. `tcn-f6: load 0.9, TCN` is a point of another figure.
    pub against: Option<String>,
    /// Whether the value is the difference of both, and not the relative change.
    pub is_difference: bool,
    /// Choice among the values of several points.
    pub take: Take,
    /// Point at which the paper's figure shows the direction of the best point too, by the text of
    /// the first `*`: the claim fails if it is reversed there.
    pub also_at: Option<String>,
    /// Name of a claim about the best of several points: this claim is about that point.
    pub at_best_of: Option<String>,
    /// Published statement.
    pub paper: Published,
    /// Accuracy of reading numbers that come from a figure, not the text.
    pub read_off: Option<Number>,
    /// How the text is read, where it is not obvious.
    pub note: Option<String>,
    /// Reason why the claim is outside the tally: a variant of the base setup, an input,
    /// arithmetic.
    pub untallied: Option<String>,
    /// Whether the tests assert its direction on the reduced version.
    pub is_main: bool,
    /// Location in the file.
    pub(super) span: Range<usize>,
}

/// Published statement about a number. The accepted range follows from it by one rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Published {
    /// A number.
    About {
        /// Number.
        value: Number,
        /// Value that means no difference; 0 for changes.
        neutral: Option<Number>,
        /// Whether the paper claims no difference, or a negligible one.
        no_difference: bool,
    },
    /// At most or at least a number.
    Bound {
        /// Side.
        side: Side,
        /// Number.
        number: Number,
        /// Whether the bound is strict.
        is_strict: bool,
    },
    /// Between two numbers.
    Between {
        /// Lower end.
        low: Number,
        /// Upper end.
        high: Number,
        /// Whether the ends are bounds, and not numbers with a tolerance.
        is_bound: bool,
    },
    /// A curve: a number for each text of the first `*`.
    Curve {
        /// Texts and numbers.
        points: Vec<(String, Number)>,
    },
    /// Not testable, for this reason.
    NotTestable(String),
}

/// Side of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Numbers up to the bound.
    AtMost,
    /// Numbers from the bound on.
    AtLeast,
}

/// Choice among the values of several points.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// Every point: the claim holds if it holds at each, and the point that deviates most is shown.
    #[default]
    Each,
    /// The smallest number in the first `*` at which the measure is above zero, such as the fewest
    /// senders that lose packets.
    FirstAboveZero,
    /// The smallest number in the first `*` at which the measure reaches this fraction of its
    /// maximum, such as the lowest threshold with the full rate.
    FirstReaching(Number),
    /// Largest.
    Largest,
    /// Smallest: among changes the best one, as in "up to 94 % lower".
    Smallest,
    /// Relative difference between the largest and the smallest.
    Spread,
    /// Rank correlation of the value with the number in the first `*`: 1 if it rises from point to
    /// point, -1 if it falls.
    Trend,
}

impl Claim {
    /// Whether the number is a relative change.
    pub fn is_change(&self) -> bool {
        let is_compared = self.against.is_some() && !self.is_difference;
        (is_compared && self.take != Take::Trend) || self.take == Take::Spread
    }

    /// Lower limit of the number; `None` without one.
    pub(super) fn least(&self) -> Option<f64> {
        match self.take {
            Take::Spread | Take::FirstAboveZero | Take::FirstReaching(_) => Some(0.0),
            Take::Trend => Some(-1.0),
            _ if self.measure.is_signed() || self.is_difference => None,
            _ if self.is_change() => Some(-1.0),
            _ => Some(0.0),
        }
    }

    /// Upper limit of the number; `None` without one.
    fn most(&self) -> Option<f64> {
        let is_fraction = !self.is_change() && !self.is_difference && !self.joins_points();
        let is_trend = self.take == Take::Trend;
        (is_trend || is_fraction && self.measure.is_fraction()).then_some(1.0)
    }

    /// Whether it is about the best of several points.
    pub fn takes_best(&self) -> bool {
        matches!(self.take, Take::Largest | Take::Smallest)
    }

    /// Whether all points together make one number in each repetition.
    pub fn joins_points(&self) -> bool {
        use Take::{FirstAboveZero, FirstReaching, Spread, Trend};
        matches!(self.take, FirstAboveZero | FirstReaching(_) | Spread | Trend)
    }

    /// Published statement in words.
    pub fn words(&self) -> String {
        let words = self.paper.words();
        match &self.read_off {
            Some(reach) => format!("{words} (read off the figure, ±{reach})"),
            None => words,
        }
    }

    /// The patterns with a text in place of the first `*`.
    pub(super) fn with(&self, text: &str) -> Self {
        let put = |pattern: &String| pattern.replacen('*', text, 1);
        Self { of: put(&self.of), against: self.against.as_ref().map(put), ..self.clone() }
    }

    /// Patterns of labels.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.of).chain(&self.against)
    }
}

impl Published {
    /// A published number, if there is one.
    pub fn number(&self) -> Option<&Number> {
        match self {
            Self::About { value, .. } => Some(value),
            Self::Bound { number, .. } => Some(number),
            Self::Between { low, .. } => Some(low),
            Self::Curve { points, .. } => points.first().map(|(_, number)| number),
            Self::NotTestable(_) => None,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::About { value, .. } => value.to_string(),
            Self::Bound { side, number, is_strict } => {
                let side = match (side, is_strict) {
                    (Side::AtMost, false) => "at most",
                    (Side::AtMost, true) => "below",
                    (Side::AtLeast, false) => "at least",
                    (Side::AtLeast, true) => "above",
                };
                format!("{side} {number}")
            }
            Self::Between { low, high, is_bound: false } => format!("{low} to {high}"),
            Self::Between { low, high, is_bound: true } => format!("between {low} and {high}"),
            Self::Curve { points } => format!("curve of {} points", points.len()),
            Self::NotTestable(_) => "–".to_owned(),
        }
    }
}

/// A claim as files write it: the published statement is a sibling of the other keys, so that it
/// reads as a sentence.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fields {
    name: Option<String>,
    says: String,
    measure: Measure,
    #[serde(default = "crate::pattern::all")]
    of: String,
    against: Option<String>,
    difference: Option<Spanned<bool>>,
    #[serde(default)]
    take: Take,
    also_at: Option<Spanned<String>>,
    at_best_of: Option<String>,
    paper: Option<Spanned<Paper>>,
    between: Option<Spanned<(Number, Number)>>,
    points: Option<Spanned<Points>>,
    neutral: Option<Spanned<Number>>,
    at_most: Option<Spanned<Number>>,
    at_least: Option<Spanned<Number>>,
    below: Option<Spanned<Number>>,
    above: Option<Spanned<Number>>,
    no_difference: Option<Spanned<bool>>,
    not_testable: Option<String>,
    read_off: Option<Spanned<Number>>,
    note: Option<String>,
    untallied: Option<String>,
    #[serde(default)]
    main: bool,
}

/// Keys of a published statement.
const NEEDED: &str = "one of `paper`, `points`, `between`, `at_most`, `at_least`, `below`, `above` \
                      and `not_testable`";

impl Fields {
    /// The claim, if it can both fail and hold.
    pub(super) fn claim(mut self, span: &Range<usize>) -> Result<Claim, Wrong> {
        let (paper, at) = self.published(span)?;
        let claim = Claim {
            name: self.name,
            says: self.says,
            measure: self.measure,
            of: self.of,
            is_difference: self.difference.as_ref().is_some_and(|flag| *flag.get_ref()),
            against: self.against,
            take: self.take,
            also_at: self.also_at.as_ref().map(|text| text.get_ref().clone()),
            at_best_of: self.at_best_of,
            paper,
            read_off: self.read_off.as_ref().map(|reach| reach.get_ref().clone()),
            note: self.note,
            untallied: self.untallied,
            is_main: self.main,
            span: span.clone(),
        };
        if let (Some(difference), None) = (self.difference, &claim.against) {
            let message = "`difference` needs `against`".to_owned();
            return Err(Wrong { message, span: difference.span() });
        }
        if let Some(also_at) = self.also_at {
            check::also_at(&claim, &also_at.span())?;
        }
        check::check(&claim, &at)?;
        Ok(claim)
    }

    /// The published statement and its location.
    fn published(&mut self, span: &Range<usize>) -> Result<(Published, Range<usize>), Wrong> {
        let bounds = [
            (self.at_most.take(), Side::AtMost, false),
            (self.at_least.take(), Side::AtLeast, false),
            (self.below.take(), Side::AtMost, true),
            (self.above.take(), Side::AtLeast, true),
        ];
        let mut said: Vec<(Published, Range<usize>)> = Vec::new();
        for (written, side, is_strict) in bounds {
            let Some(written) = written else { continue };
            let at = written.span();
            said.push((Published::Bound { side, number: written.into_inner(), is_strict }, at));
        }
        if let Some(reason) = self.not_testable.take() {
            said.push((Published::NotTestable(reason), span.clone()));
        }
        if let Some(points) = self.points.take() {
            let at = points.span();
            said.push((Published::Curve { points: points.into_inner().0 }, at));
        }
        if let Some(between) = self.between.take() {
            let at = between.span();
            let (low, high) = between.into_inner();
            said.push((Published::Between { low, high, is_bound: true }, at));
        }
        let neutral = self.neutral.take();
        let no_difference = self.no_difference.take().map(|flag| (flag.span(), flag.into_inner()));
        if let Some(paper) = self.paper.take() {
            let at = paper.span();
            let published = match paper.into_inner() {
                Paper::Between(low, high) => Published::Between { low, high, is_bound: false },
                Paper::One(value) => Published::About {
                    no_difference: no_difference.as_ref().is_some_and(|(_, flag)| *flag),
                    neutral: neutral.as_ref().map(|neutral| neutral.get_ref().clone()),
                    value,
                },
            };
            said.push((published, at));
        }
        let Some(last) = said.pop() else {
            let message = format!("`{}` needs {NEEDED}", self.says);
            return Err(Wrong { message, span: span.clone() });
        };
        if !said.is_empty() {
            let message = format!("a second published statement: a claim has {NEEDED}");
            return Err(Wrong { message, span: last.1 });
        }
        // Keys without effect are refused at their location.
        let is_number = matches!(last.0, Published::About { .. });
        let neutral = neutral.map(|neutral| ("neutral", neutral.span()));
        let of_number = neutral.into_iter().chain(no_difference.map(|at| ("no_difference", at.0)));
        if let (false, Some((key, span))) = (is_number, of_number.into_iter().next()) {
            let message = format!("`{key}` is of a single number in `paper`");
            return Err(Wrong { message, span });
        }
        Ok(last)
    }
}

/// A published number, or the two ends of a range.
enum Paper {
    One(Number),
    Between(Number, Number),
}

impl<'de> Deserialize<'de> for Paper {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Paper;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number such as \"-94.3%\", or two such as [\"-1.38%\", \"-0.72%\"]")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Paper, E> {
                text.parse().map(Paper::One).map_err(de::Error::custom)
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Paper, E> {
                Ok(Paper::One(Number::plain(value)))
            }

            #[expect(clippy::cast_precision_loss, reason = "published numbers are short")]
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Paper, E> {
                self.visit_f64(value as f64)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Paper, A::Error> {
                let (low, high) = (items.next_element()?, items.next_element()?);
                match (low, high, items.next_element::<Number>()?) {
                    (Some(low), Some(high), None) => Ok(Paper::Between(low, high)),
                    _ => Err(de::Error::custom("a range has two ends")),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Keys and numbers, by the number that the key begins with.
#[derive(Clone)]
pub(super) struct Points(pub(super) Vec<(String, Number)>);

impl<'de> Deserialize<'de> for Points {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Points;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
