//! Published numbers, with their units.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Number with its unit, in SI units.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// Value.
    pub value: f64,
    /// Text.
    pub text: String,
}

/// Units of published numbers.
const UNITS: [(&str, f64); 16] = [
    ("", 1.0),
    ("%", 0.01),
    ("ns", 1e-9),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("B", 1.0),
    ("KB", 1e3),
    ("KiB", 1024.0),
    ("MB", 1e6),
    ("MiB", 1024.0 * 1024.0),
    ("bps", 1.0),
    ("Kbps", 1e3),
    ("Mbps", 1e6),
    ("Gbps", 1e9),
    ("pkts", 1.0),
];

impl Number {
    /// Number without a unit.
    pub(super) fn plain(value: f64) -> Self {
        let text = value.to_string();
        Self { value, text }
    }

    /// The unit of the text, in the form of [`tidegate_results::format`], and its value in SI
    /// units; empty without a unit.
    pub fn written_in(&self) -> (&'static str, f64) {
        unit(split(&self.text).1).unwrap_or(("", 1.0))
    }
}

/// Splits a number into its digits and its unit.
fn split(text: &str) -> (&str, &str) {
    let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let end = text.find(|c| !is_digit(c)).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

fn unit(name: &str) -> Option<(&'static str, f64)> {
    let name = if name == "us" { "µs" } else { name };
    UNITS.into_iter().find(|(known, _)| *known == name)
}

impl FromStr for Number {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let (number, unit) = split(trimmed);
        let (_, scale) = self::unit(unit).ok_or_else(|| {
            format!(
                "`{text}` has an unknown unit; accepted: %, ns, us, ms, s, B, KB, KiB, MB, MiB, bps, \
                 Kbps, Mbps, Gbps, pkts"
            )
        })?;
        let value: f64 = number.parse().map_err(|_| {
            format!("`{text}` is not a number with a unit, such as 357us or -94.3%")
        })?;
        Ok(Self { value: value * scale, text: trimmed.to_owned() })
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
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
                Ok(Number::plain(value))
            }

            #[expect(clippy::cast_precision_loss, reason = "published numbers are short")]
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Number, E> {
                self.visit_f64(value as f64)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_their_units() {
        for (text, value, unit) in [
            ("357us", 357e-6, "µs"),
            ("-94.3%", -0.943, "%"),
            ("670 Mbps", 670e6, "Mbps"),
            ("16MiB", 16.0 * 1024.0 * 1024.0, "MiB"),
            ("46", 46.0, ""),
        ] {
            let number: Number = text.parse().unwrap();
            assert!((number.value - value).abs() < 1e-12 * value.abs(), "{text}");
            assert_eq!(number.to_string(), text);
            assert_eq!(number.written_in().0, unit, "{text}");
        }
        assert!("5 furlongs".parse::<Number>().is_err());
        assert!("about 5".parse::<Number>().is_err());
    }
}
