//! Gaps between arrivals as a setting: a table of times, drawn from like sizes.

use std::fmt::Write;

use tidegate_units::{ConfigError, Form, ParseError, Rng, Setting, Span};

use super::file::{CDF, columns, probability};
use super::{Distribution, Knot, LARGEST, ONE, Rounding, Sampler, Unit};
use crate::workload::text::{Fault, LineError, lines};

/// Distribution of gaps between arrivals: knots of time and probability, with straight lines
/// between them. In `0us 0.5; 10ms 0.8; 1s 1`, half of all flows start together with the previous
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gaps(Distribution);

const ACCEPTED: &str = "a table of times and the probability of at most that gap, ending at 1, \
                        such as `0us 0.5; 10ms 0.8; 1s 1`";
const GAP: &str = "gap";
const ROW: &str = "two columns, a time with its unit and the probability of at most that gap, such as \
                   `10ms 0.8`";

impl Gaps {
    /// The same gap between all flows.
    pub fn fixed(gap: Span) -> Self {
        let knot = |cdf| Knot { size: gap.as_ps().min(LARGEST), cdf };
        Self(Distribution { knots: vec![knot(0), knot(ONE)], unit: Unit::Bytes })
    }

    /// Reads a table of two columns, `gap cdf` or `gap, cdf`; `#` starts a comment. Neither column
    /// may fall, the last probability is 1, and no gap is longer than 1000 s.
    pub fn parse(text: &str) -> Result<Self, LineError> {
        let mut knots: Vec<Knot> = Vec::new();
        let mut last = (1, "");
        for (line, row) in lines(text) {
            let wrong = |column, value: &str, fault, accepted: &str| {
                LineError::new(line, column, value, fault, accepted)
            };
            let (gap_text, cdf_text) =
                columns(row).ok_or_else(|| wrong("columns", row, Fault::ColumnCount, ROW))?;
            let accepted = "a time such as 10ms, of at most 1000s";
            let gap = gap_text.parse::<Span>().map(Span::as_ps);
            let gap = gap.map_err(|_| wrong(GAP, gap_text, Fault::NotANumber, accepted))?;
            if gap > LARGEST {
                return Err(wrong(GAP, gap_text, Fault::TooLarge, accepted));
            }
            let cdf = probability(line, cdf_text)?;
            if let Some(before) = knots.last() {
                let accepted = "values that do not fall from line to line";
                if gap < before.size {
                    return Err(wrong(GAP, gap_text, Fault::BelowPrevious, accepted));
                }
                if cdf < before.cdf {
                    return Err(wrong(CDF, cdf_text, Fault::BelowPrevious, accepted));
                }
            }
            knots.push(Knot { size: gap, cdf });
            last = (line, cdf_text);
        }
        let (line, cdf) = last;
        let at_the_end = |column, value: &str, fault, accepted: &str| {
            LineError::new(line, column, value, fault, accepted)
        };
        match knots.last() {
            None => Err(at_the_end("lines", "0 lines", Fault::Empty, ROW)),
            Some(knot) if knot.cdf != ONE => {
                let accepted = "1 on the last line, at the longest gap";
                Err(at_the_end(CDF, cdf, Fault::NotOne, accepted))
            }
            Some(_) => Ok(Self(Distribution { knots, unit: Unit::Bytes })),
        }
    }

    /// Sampler of the gaps.
    pub(in crate::workload) fn sampler(&self) -> Result<GapSampler, ConfigError> {
        // Draws below the first knot get its gap: half of the flows may start with the previous
        // one.
        let mut knots = self.0.knots.clone();
        if let Some(&first) = knots.first().filter(|first| first.cdf > 0) {
            knots.insert(0, Knot { cdf: 0, ..first });
        }
        let all = Distribution { knots, unit: Unit::Bytes };
        let first = all.knots.first().map_or(0, |first| first.size);
        let sampler = all.sampler(Some(Rounding::TruncBytes), 1)?;
        Ok(GapSampler { sampler, first })
    }
}

/// Draws gaps.
pub(in crate::workload) struct GapSampler {
    sampler: Sampler,
    first: u64,
}

impl GapSampler {
    /// Draws a gap in whole picoseconds.
    pub(in crate::workload) fn draw(&self, rng: &mut Rng) -> Span {
        Span::from_ps(self.sampler.draw(rng).max(self.first))
    }
}

impl Setting for Gaps {
    const FORM: Form = Form::Text(ACCEPTED);

    fn read(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        if let Ok(gap) = text.parse::<Span>()
            && gap.as_ps() <= LARGEST
        {
            return Ok(Self::fixed(gap));
        }
        Self::parse(&text.replace(';', "\n")).map_err(|_| ParseError::unreadable(text, ACCEPTED))
    }

    fn write(&self) -> String {
        let mut text = String::new();
        for Knot { size, cdf } in &self.0.knots {
            let separator = if text.is_empty() { "" } else { "; " };
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "{separator}{} {}",
                Span::from_ps(*size),
                super::sizes::probability(*cdf)
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_drawn_from_their_table() {
        let gaps = Gaps::read("0us 0.5; 10ms 0.8; 1s 1").unwrap();
        assert_eq!(Gaps::read(&gaps.write()).unwrap(), gaps);
        let sampler = gaps.sampler().unwrap();
        let mut rng = Rng::new(1, 2);
        let drawn: Vec<u64> = (0..20_000).map(|_| sampler.draw(&mut rng).as_ps()).collect();
        let part = |most: u64| drawn.iter().filter(|&&gap| gap <= most).count();
        assert!((9_800..10_200).contains(&part(0)), "{}", part(0));
        let (tenth, all) = (part(10_000_000_000), part(1_000_000_000_000));
        assert!((15_800..16_200).contains(&tenth), "{tenth}");
        assert_eq!(all, 20_000);
        let same = Gaps::read("3ms").unwrap().sampler().unwrap();
        assert_eq!(same.draw(&mut rng), Span::from_ms(3));
    }

    #[test]
    fn invalid_tables_are_refused_with_their_line() {
        for (text, error) in [
            (
                "0us 0\n1ms 0.9",
                "line 2, cdf: `0.9` is the end of the table, which must be 1; accepted: 1 on \
                 the last line, at the longest gap",
            ),
            (
                "0us 0\n2ms 0.5\n1ms 1",
                "line 3, gap: `1ms` is below the value on the previous line; accepted: values that \
                 do not fall from line to line",
            ),
            (
                "10 1",
                "line 1, gap: `10` is not a number; accepted: a time such as 10ms, of at most 1000s",
            ),
            (
                "2000s 1",
                "line 1, gap: `2000s` is too large; accepted: a time such as 10ms, of at most 1000s",
            ),
        ] {
            assert_eq!(Gaps::parse(text).unwrap_err().to_string(), error);
            assert!(Gaps::read(&text.replace('\n', ";")).is_err());
        }
    }
}
