//! What a scenario file says about the published figure that it stands for: claims, plots, and how the
//! run may be cut short.
//!
//! All of it is in the table `[figure]`, which the scenario itself does not read.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, de};

use tidegate_report::record::Quantity;

use super::measure::Measure;

/// A published figure or table, and what is claimed with it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its name, such as `tcn-f10`.
    pub id: String,
    /// What it shows, in a line.
    pub shows: String,
    /// Where it is: paper, section, figure.
    pub source: String,
    /// Why it cannot be tested, if it cannot.
    pub not_testable: Option<String>,
    /// How ambiguities were resolved, and what is modelled otherwise than published.
    #[serde(default)]
    pub assumptions: Vec<String>,
    /// What was found out about claims that do not hold.
    #[serde(default)]
    pub findings: Vec<String>,
    /// The version that takes minutes with all others together.
    pub quick: Cut,
    /// The version that takes seconds, for the tests.
    pub reduced: Cut,
    /// What is claimed.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// What is drawn.
    #[serde(default, rename = "plot")]
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

/// Something that a paper says about its figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "ClaimFields")]
pub struct Claim {
    /// The claim in words.
    pub says: String,
    /// What is measured.
    pub measure: Measure,
    /// The points that it is about, by a pattern of their labels; `*` stands for any text.
    pub of: String,
    /// The points that they are compared with: with `*`, those whose `*` is the same text. The value is
    /// then the relative change, 0 for no difference.
    pub against: Option<String>,
    /// Which value counts if the pattern has several points.
    pub take: Take,
    /// What the paper says.
    pub paper: Published,
    /// Why that much tolerance, where it is not obvious.
    pub because: Option<String>,
    /// Whether the tests assert its direction on the reduced version.
    pub main: bool,
}

/// What a paper says of a number.
#[derive(Clone, Debug, PartialEq)]
pub enum Published {
    /// It is at most this.
    AtMost(Number),
    /// It is at least this.
    AtLeast(Number),
    /// It is about this.
    About {
        /// The number.
        value: Number,
        /// How far the measured one may be from it: a part of it, or for changes a difference.
        within: f64,
        /// The value that separates the directions; for changes it is 0.
        neutral: Option<Number>,
    },
    /// It is not testable, for this reason.
    NotTestable(String),
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

/// A number with its unit, in the units of the International System.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Its value.
    pub value: f64,
    /// As it was written.
    pub text: String,
}

/// Something that is drawn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Plot {
    /// The distribution of completion times or probes.
    Cdf {
        /// What it shows.
        title: String,
        /// The points that are drawn, by a pattern of their labels.
        #[serde(default = "all")]
        of: String,
        /// The distribution of what.
        quantity: CdfOf,
    },
    /// A measure against a number of the sweep, a line for each of the rest.
    Line {
        /// What it shows.
        title: String,
        /// The points that are drawn, by a pattern of their labels.
        #[serde(default = "all")]
        of: String,
        /// The measure.
        y: Measure,
        /// The key that the sweep varies.
        x: String,
        /// The label, without its part of `x`, that others are divided by.
        normalise: Option<String>,
    },
    /// Samples over time.
    Series {
        /// What it shows.
        title: String,
        /// The points that are drawn, by a pattern of their labels.
        #[serde(default = "all")]
        of: String,
        /// Which number.
        quantity: Quantity,
        /// Of what; `*` stands for any text.
        subject: String,
    },
}

/// What a distribution can be of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

fn all() -> String {
    "*".to_owned()
}

/// A claim as it is written: what the paper says stands beside the rest, so that it reads as a
/// sentence.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimFields {
    says: String,
    measure: Measure,
    #[serde(default = "all")]
    of: String,
    against: Option<String>,
    #[serde(default)]
    take: Take,
    paper: Option<Number>,
    within: Option<Number>,
    neutral: Option<Number>,
    at_most: Option<Number>,
    at_least: Option<Number>,
    not_testable: Option<String>,
    because: Option<String>,
    #[serde(default)]
    main: bool,
}

impl TryFrom<ClaimFields> for Claim {
    type Error = String;

    fn try_from(fields: ClaimFields) -> Result<Self, Self::Error> {
        let bounds = (
            fields.paper,
            fields.at_most,
            fields.at_least,
            fields.not_testable,
        );
        let paper = match (bounds, fields.within) {
            ((Some(value), None, None, None), Some(within)) => Published::About {
                value,
                within: within.value,
                neutral: fields.neutral,
            },
            ((None, Some(most), None, None), None) => Published::AtMost(most),
            ((None, None, Some(least), None), None) => Published::AtLeast(least),
            ((_, None, None, Some(why)), None) => Published::NotTestable(why),
            _ => {
                return Err(format!(
                    "`{}` needs `paper` and `within`, or one of `at_most`, `at_least` and \
                     `not_testable`",
                    fields.says
                ));
            }
        };
        Ok(Self {
            says: fields.says,
            measure: fields.measure,
            of: fields.of,
            against: fields.against,
            take: fields.take,
            paper,
            because: fields.because,
            main: fields.main,
        })
    }
}

impl FromStr for Number {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+')))
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let scale = match unit.trim() {
            "" => 1.0,
            "%" => 0.01,
            "ns" => 1e-9,
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "B" | "bps" | "pkts" => 1.0,
            "KB" | "Kbps" => 1e3,
            "MB" | "Mbps" => 1e6,
            "Gbps" => 1e9,
            _ => {
                return Err(format!(
                    "`{text}` has an unknown unit; accepted: %, ns, us, ms, s, B, KB, MB, bps, Kbps, \
                     Mbps, Gbps, pkts"
                ));
            }
        };
        let value: f64 = number
            .parse()
            .map_err(|_| format!("`{text}` is not a number with a unit, such as 357us or -94.3%"))?;
        Ok(Self {
            value: value * scale,
            text: trimmed.to_owned(),
        })
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a text with a unit such as \"357us\" or \"-94.3%\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
                text.parse().map_err(de::Error::custom)
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Number, E> {
                let text = value.to_string();
                Ok(Number { value, text })
            }

            #[expect(clippy::cast_precision_loss, reason = "published numbers are short")]
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Number, E> {
                self.visit_f64(value as f64)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
