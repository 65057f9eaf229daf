//! Claims of a paper about its figure, as files write them.

mod check;
pub(crate) mod region;

use std::fmt;
use std::ops::Range;

use serde::de::{self, Deserializer, MapAccess, SeqAccess};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toml::Spanned;

pub use self::region::Measured;
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
    /// relative change, 0 for no difference. `tcn-f6: load 0.9, TCN` is a point of another figure.
    pub against: Option<String>,
    /// Choice among the values of several points.
    pub take: Take,
    /// Published statement.
    pub paper: Published,
    /// Reading accuracy of numbers that come from a figure, not the text.
    pub read_off: Option<Number>,
    /// Reason for the tolerance, where it is not obvious.
    pub because: Option<String>,
    /// Reason why the claim is outside the tally: a variant of the base setup, an input,
    /// arithmetic.
    pub untallied: Option<String>,
    /// Whether the tests assert its direction on the reduced version.
    pub is_main: bool,
    /// Location in the file.
    pub(super) span: Range<usize>,
}

/// Published statement about a number.
#[derive(Clone, Debug, PartialEq)]
pub enum Published {
    /// Equal to a number, within a tolerance.
    About {
        /// Number.
        value: Number,
        /// Tolerance: relative to the number, or for changes a difference.
        within: Number,
        /// Value that separates the directions; 0 for changes.
        neutral: Option<Number>,
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
        /// Tolerance outside the range: relative to the nearer end, or for changes a difference.
        within: Option<Number>,
    },
    /// A curve: a number for each text of the first `*`.
    Curve {
        /// Texts and numbers.
        points: Vec<(String, Number)>,
        /// Tolerance of each number.
        within: Number,
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
}

impl Claim {
    /// Whether the number is a relative change.
    pub fn is_change(&self) -> bool {
        self.against.is_some() || self.take == Take::Spread
    }

    /// Lower limit of the number; `None` without one.
    pub(super) fn least(&self) -> Option<f64> {
        match self.take {
            Take::Spread | Take::FirstAboveZero | Take::FirstReaching(_) => Some(0.0),
            _ if self.measure.is_signed() => None,
            _ if self.is_change() => Some(-1.0),
            _ => Some(0.0),
        }
    }

    /// Published statement in words.
    pub fn words(&self) -> String {
        let words = self.paper.words();
        match &self.read_off {
            Some(reach) => format!("{words} (read off the figure, ±{reach})"),
            None => words,
        }
    }

    /// The points of a curve as separate claims.
    pub(super) fn at(&self, text: &str, value: &Number, within: &Number) -> Self {
        let put = |pattern: &String| pattern.replacen('*', text, 1);
        Self {
            of: put(&self.of),
            against: self.against.as_ref().map(put),
            take: Take::Each,
            paper: Published::About { value: value.clone(), within: within.clone(), neutral: None },
            ..self.clone()
        }
    }

    /// The measured part of the claim, as its file writes it: with the points of a curve, without
    /// numbers and tolerances.
    pub(super) fn asked(&self) -> Value {
        let mut asked = json!({ "measure": self.measure, "of": self.of });
        if let Some(against) = &self.against {
            asked["against"] = json!(against);
        }
        if self.take != Take::default() {
            asked["take"] = json!(self.take);
        }
        if let Published::Curve { points, .. } = &self.paper {
            asked["at"] = points.iter().map(|(at, _)| at.as_str()).collect();
        }
        asked
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
            Self::About { value, within, .. } => format!("{value}, within {within}"),
            Self::Bound { side, number, is_strict } => {
                let side = match (side, is_strict) {
                    (Side::AtMost, false) => "at most",
                    (Side::AtMost, true) => "below",
                    (Side::AtLeast, false) => "at least",
                    (Side::AtLeast, true) => "above",
                };
                format!("{side} {number}")
            }
            Self::Between { low, high, within } => match within {
                Some(within) => format!("{low} to {high}, within {within}"),
                None => format!("{low} to {high}"),
            },
            Self::Curve { points, within } => {
                format!("curve of {} points, within {within}", points.len())
            }
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
    #[serde(default)]
    take: Take,
    paper: Option<Spanned<Paper>>,
    points: Option<Spanned<Points>>,
    within: Option<Spanned<Number>>,
    neutral: Option<Spanned<Number>>,
    at_most: Option<Spanned<Number>>,
    at_least: Option<Spanned<Number>>,
    below: Option<Spanned<Number>>,
    above: Option<Spanned<Number>>,
    #[serde(default)]
    no_difference: bool,
    not_testable: Option<String>,
    read_off: Option<Spanned<Number>>,
    because: Option<String>,
    untallied: Option<String>,
    #[serde(default)]
    main: bool,
}

/// Keys of a published statement.
const NEEDED: &str = "`paper` or `points` with `within`, or one of `at_most`, `at_least`, `below`, `above` \
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
            against: self.against,
            take: self.take,
            paper,
            read_off: self.read_off.as_ref().map(|reach| reach.get_ref().clone()),
            because: self.because,
            untallied: self.untallied,
            is_main: self.main,
            span: span.clone(),
        };
        check::check(&claim, self.no_difference, &at)?;
        Ok(claim)
    }

    /// The published statement and its location.
    fn published(&mut self, span: &Range<usize>) -> Result<(Published, Range<usize>), Wrong> {
        let number = |written: Spanned<Number>| (written.span(), written.into_inner());
        let bounds = [
            (self.at_most.take(), Side::AtMost, false),
            (self.at_least.take(), Side::AtLeast, false),
            (self.below.take(), Side::AtMost, true),
            (self.above.take(), Side::AtLeast, true),
        ];
        let bounds = bounds.into_iter().filter_map(|(written, side, is_strict)| {
            let (at, number) = number(written?);
            let bound = Published::Bound { side, number, is_strict };
            Some((bound, at))
        });
        let mut said: Vec<(Published, Range<usize>)> = bounds.collect();
        let within = self.within.take().map(number);
        let is_untestable = self.not_testable.is_some();
        if let Some(reason) = self.not_testable.take() {
            said.push((Published::NotTestable(reason), span.clone()));
        }
        let has_no_tolerance = !said.is_empty();
        // Keys without effect are refused at their location.
        let unused = |key: &str, span: Range<usize>| Wrong {
            message: format!("`{key}` says nothing here: a claim has {NEEDED}"),
            span,
        };
        if let (true, Some((at, _))) = (has_no_tolerance, &within) {
            return Err(unused("within", at.clone()));
        }
        match (self.points.take(), &within) {
            (Some(points), Some((_, within))) => {
                let curve =
                    Published::Curve { within: within.clone(), points: points.get_ref().0.clone() };
                said.push((curve, points.span()));
            }
            (Some(points), None) if has_no_tolerance => {
                return Err(unused("points", points.span()));
            }
            _ => {}
        }
        if let Some(paper) = self.paper.take() {
            let at = paper.span();
            let within = within.as_ref().map(|(_, within)| within.clone());
            match (paper.into_inner(), within) {
                (Paper::Between(low, high), within) => {
                    said.push((Published::Between { low, high, within }, at));
                }
                (Paper::One(value), Some(within)) => {
                    let neutral = self.neutral.take().map(Spanned::into_inner);
                    let about = Published::About { value, within, neutral };
                    said.push((about, at));
                }
                (Paper::One(_), None) if has_no_tolerance && !is_untestable => {
                    return Err(unused("paper", at));
                }
                (Paper::One(_), None) => {}
            }
        }
        let last = said.pop();
        match (last, said.as_slice(), self.neutral.take()) {
            (Some(said), [], None) => Ok(said),
            (Some(_), [], Some(neutral)) => Err(Wrong {
                message: "`neutral` is of a single number with `within`".to_owned(),
                span: neutral.span(),
            }),
            _ => Err(Wrong {
                message: format!("`{}` needs {NEEDED}", self.says),
                span: span.clone(),
            }),
        }
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
