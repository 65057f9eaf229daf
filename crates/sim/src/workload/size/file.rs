//! A user's own distribution: lines of `size cdf`.

use super::{Distribution, Knot, LARGEST, ONE, Unit};
use crate::workload::text::{Fault, LineError, lines, scaled, whole};

const SIZE: &str = "size";
pub(super) const CDF: &str = "cdf";
const ROW: &str = "two columns, a size in bytes and the probability of at most that size, \
                   such as `10000 0.15` or `10000, 0.15`";

impl Distribution {
    /// Reads a table of two columns, `size cdf` or `size, cdf`; `#` starts a comment. Sizes are
    /// whole bytes. Neither column may fall, and the last probability is 1. Probabilities are
    /// rounded to 18 decimals.
    ///
    /// ```
    /// use tidegate_sim::workload::Distribution;
    ///
    /// let sizes = Distribution::parse("1000 0  # uniform\n2000 0.5\n10000 1\n").unwrap();
    /// let sampler = sizes.sampler(None, 1460).unwrap();
    /// assert_eq!(sampler.quantile(1, 4), 1500);
    /// assert_eq!(sampler.linear_mean().millibytes(), 3_750_000);
    ///
    /// let error = Distribution::parse("0 0\n500 0.7\n600 0.6\n700 1").unwrap_err();
    /// assert_eq!(error.to_string(), "line 3, cdf: `0.6` is below the value on the previous line; \
    ///     accepted: a probability that does not fall from line to line: at least 0.7");
    /// ```
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let mut knots: Vec<Knot> = Vec::new();
        let mut last = (1, "", "");
        for (line, row) in lines(text) {
            let wrong = |column, value: &str, fault, accepted: &str| {
                LineError::new(line, column, value, fault, accepted)
            };
            let (size_text, cdf_text) =
                columns(row).ok_or_else(|| wrong("columns", row, Fault::ColumnCount, ROW))?;
            let size = whole(size_text).and_then(|size| match size {
                0..=LARGEST => Ok(size),
                _ => Err(Fault::TooLarge),
            });
            let accepted = "a whole number of bytes from 0 to 1000000000000000";
            let size = size.map_err(|fault| wrong(SIZE, size_text, fault, accepted))?;
            let cdf = probability(line, cdf_text)?;
            if let Some(before) = knots.last() {
                let (_, size_before, cdf_before) = last;
                if size < before.size {
                    let accepted = format!(
                        "a size that does not fall from line to line: at least {size_before}"
                    );
                    return Err(wrong(SIZE, size_text, Fault::BelowPrevious, &accepted));
                }
                if cdf < before.cdf {
                    let accepted = format!(
                        "a probability that does not fall from line to line: at least {cdf_before}"
                    );
                    return Err(wrong(CDF, cdf_text, Fault::BelowPrevious, &accepted));
                }
            }
            knots.push(Knot { size, cdf });
            last = (line, size_text, cdf_text);
        }
        let (line, _, cdf) = last;
        let at_the_end = |column, value: &str, fault, accepted: &str| {
            LineError::new(line, column, value, fault, accepted)
        };
        match knots.last() {
            _ if knots.len() < 2 => {
                let found = format!("{} lines of numbers", knots.len());
                let accepted = "at least two lines of size and probability; a size S that all \
                                flows have is `S 0` and `S 1`";
                Err(at_the_end("lines", &found, Fault::Empty, accepted))
            }
            Some(knot) if knot.cdf != ONE => {
                let accepted = "1 on the last line, at the largest size";
                Err(at_the_end(CDF, cdf, Fault::NotOne, accepted))
            }
            // Sizes do not fall, so the last is the largest.
            Some(knot) if knot.size == 0 => {
                let accepted = "at least one size above 0";
                Err(at_the_end(SIZE, "0", Fault::Zero, accepted))
            }
            _ => Ok(Self { knots, unit: Unit::Bytes }),
        }
    }
}

/// The two columns of a row, if it has exactly two.
pub(super) fn columns(row: &str) -> Option<(&str, &str)> {
    let (first, second) = row.split_once(',').or_else(|| row.split_once(char::is_whitespace))?;
    let (first, second) = (first.trim(), second.trim());
    let one = |text: &str| !text.is_empty() && !text.contains([',', ' ', '\t']);
    (one(first) && one(second)).then_some((first, second))
}

/// Probability in the second column.
pub(super) fn probability(line: u32, text: &str) -> Result<u64, LineError> {
    let cdf = scaled(text, 18).and_then(|cdf| match cdf {
        0..=ONE => Ok(cdf),
        _ => Err(Fault::TooLarge),
    });
    let accepted = "a probability from 0 to 1; divide percentages by 100";
    cdf.map_err(|fault| LineError::new(line, CDF, text, fault, accepted))
}
