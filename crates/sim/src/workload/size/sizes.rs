//! Flow sizes as a setting: a published table by name, one size, a range, or an inline table.

use std::fmt::Write;

use tidegate_units::{Bytes, Form, ParseError, Setting};

use super::{Distribution, Knot, LARGEST, ONE, Table, Unit};

/// Sizes of flows.
///
/// | text | meaning |
/// |---|---|
/// | `web-search` | a published [`Table`] |
/// | `28KB` | all alike |
/// | `3KB..60KB` | uniform between the two |
/// | `0 0; 10000 0.15; 30000 1` | a table written out: [`Distribution::parse`] with `;` between lines |
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// A user's own distribution.
    Own(Distribution),
    /// A published distribution.
    Published(Table),
    /// Uniform between two sizes; constant if they are equal.
    Uniform(Bytes, Bytes),
}

const ACCEPTED: &str = "a table (web-search, data-mining, hadoop, cache, or one of these with \
                        -packets), a size such as 28KB, a range such as 3KB..60KB, or a table \
                        written out such as `0 0; 10000 0.15; 30000 1`";

impl Sizes {
    /// The same size for all flows.
    pub const fn fixed(bytes: Bytes) -> Self {
        Self::Uniform(bytes, bytes)
    }

    /// The distribution.
    pub fn distribution(&self) -> Distribution {
        match self {
            Self::Own(distribution) => distribution.clone(),
            Self::Published(table) => table.distribution(),
            &Self::Uniform(Bytes(from), Bytes(to)) => Distribution {
                knots: vec![Knot { size: from, cdf: 0 }, Knot { size: to.max(from), cdf: ONE }],
                unit: Unit::Bytes,
            },
        }
    }
}

impl Setting for Sizes {
    const FORM: Form = Form::Text(ACCEPTED);

    fn read(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        let unreadable = || ParseError::unreadable(text, ACCEPTED);
        if let Ok(table) = Table::read(text) {
            return Ok(Self::Published(table));
        }
        if text.contains(';') {
            return Distribution::parse(&text.replace(';', "\n"))
                .map(Self::Own)
                .map_err(|_| unreadable());
        }
        let (from, to) = text.split_once("..").unwrap_or((text, text));
        let size = |text: &str| text.parse::<Bytes>().map_err(|_| unreadable());
        match (size(from)?, size(to)?) {
            (from, to) if from <= to && (1..=LARGEST).contains(&to.0) => {
                Ok(Self::Uniform(from, to))
            }
            _ => Err(unreadable()),
        }
    }

    fn write(&self) -> String {
        match self {
            Self::Own(distribution) => {
                let mut text = String::new();
                for Knot { size, cdf } in &distribution.knots {
                    let separator = if text.is_empty() { "" } else { "; " };
                    // Writing to a string cannot fail.
                    let _ = write!(text, "{separator}{size} {}", probability(*cdf));
                }
                text
            }
            Self::Published(table) => table.write(),
            Self::Uniform(from, to) if from == to => from.to_string(),
            Self::Uniform(from, to) => format!("{from}..{to}"),
        }
    }
}

/// Formats a probability as a decimal number.
pub(super) fn probability(cdf: u64) -> String {
    let (whole, rest) = (cdf / ONE, cdf % ONE);
    let decimals = format!("{whole}.{rest:018}");
    let shortest = decimals.trim_end_matches('0').trim_end_matches('.');
    shortest.to_owned()
}
