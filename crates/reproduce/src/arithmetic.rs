//! Arithmetic measures: the same value in every run.

use serde::{Deserialize, Serialize};
use tidegate_dataplane::mark::ecn_sharp::tofino::Divider;

/// Error of the quotients that ECN♯'s program gets from the chip's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Division {
    /// Dividend, in ticks of the chip.
    interval: u32,
    /// Largest divisor; the smallest is 1.
    counts: u32,
    /// Statistic of the errors.
    take: FromErrors,
}

/// Statistic of errors, which are fractions of the exact quotient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum FromErrors {
    /// Largest absolute error.
    LargestError,
    /// Mean absolute error.
    MeanError,
}

impl Division {
    /// Error, if there is a quotient.
    pub(super) fn value(self) -> Option<f64> {
        let divider = Divider::new(self.interval)?;
        let errors = (1..=self.counts).map(|count| {
            let exact = f64::from(self.interval) / f64::from(count);
            (f64::from(divider.divide(count)) / exact - 1.0).abs()
        });
        match self.take {
            FromErrors::LargestError => errors.reduce(f64::max),
            FromErrors::MeanError => {
                (self.counts > 0).then(|| errors.sum::<f64>() / f64::from(self.counts))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(interval: u32, counts: u32, take: FromErrors) -> Option<f64> {
        let division = Division { interval, counts, take };
        division.value()
    }

    #[test]
    fn errors_match_quotients_computed_by_hand() {
        // The table of 1000 has 125, 112, 100 and 91 for 8 to 11: 1000, 500, 336, 250, 200.
        let largest = value(1000, 5, FromErrors::LargestError).unwrap();
        assert!((largest - (336.0 * 3.0 / 1000.0 - 1.0)).abs() < 1e-12);
        let mean = value(1000, 5, FromErrors::MeanError).unwrap();
        assert!((mean - 0.008 / 5.0).abs() < 1e-12);
    }

    #[test]
    fn error_of_a_zero_quotient_or_divisor_is_undefined() {
        assert_eq!(value(0, 5, FromErrors::LargestError), None);
        assert_eq!(value(1000, 0, FromErrors::LargestError), None);
        assert_eq!(value(1000, 0, FromErrors::MeanError), None);
    }
}
