//! Goals of a search, and limits such as `throughput>95%` or `p99-small<500us`.

use tidegate_units::{Setting, choices};

use super::vary::Quantity;
use crate::evidence::measure::{Better, Measure};

choices! {
    /// Measure to optimize.
    pub enum Goal {
        /// 99th percentile of small flows.
        P99Small = "p99-small",
        /// Throughput of large flows.
        Throughput = "throughput",
        /// Mean completion time of all flows.
        Mean = "mean",
        /// Fewest drops; ties go to the best 99th percentile of small flows.
        NoDrops = "no-drops",
    }
}

impl Goal {
    /// Measure of the goal.
    pub const fn measure(self) -> Measure {
        match self {
            Self::P99Small => Measure::P99Small,
            Self::Throughput => Measure::Throughput,
            Self::Mean => Measure::Mean,
            Self::NoDrops => Measure::Drops,
        }
    }
}

/// A limit that settings must keep in every cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Limited measure.
    pub measure: Measure,
    /// Whether values must be below the bound; else above.
    pub is_below: bool,
    /// Bound.
    pub bound: Bound,
}

/// The bound of a limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A value.
    Value(f64),
    /// A fraction of the formula's value.
    OfFormula(f64),
}

impl Limit {
    /// Reads `METRIC<LIMIT` or `METRIC>LIMIT`; percent are of the formula's value.
    pub fn read(text: &str) -> Result<Self, String> {
        let fail = |why: &str| {
            let names: Vec<String> = Measure::ALL.iter().map(|measure| measure.name()).collect();
            format!(
                "--within {text}: {why}\nhint: METRIC<LIMIT or METRIC>LIMIT, such as p99-small<500us, \
                 throughput>8Gbps, queue<200KB, drops<1 or throughput>95% (of the formula's); metrics: {}",
                names.join(", ")
            )
        };
        let at = text.find(['<', '>']).ok_or_else(|| fail("there is no `<` or `>`"))?;
        let (name, rest) = text.split_at(at);
        let is_below = rest.starts_with('<');
        let bound = rest[1..].trim_start_matches('=').trim();
        let measure = Measure::read(name.trim()).map_err(|_| fail("there is no such metric"))?;
        let quantity = Quantity::read(bound).ok_or_else(|| fail("the limit is not a number"))?;
        if quantity.value < 0.0 {
            return Err(fail("a limit is not negative"));
        }
        let unit = measure.unit();
        let bound = match (bound.ends_with('%'), unit) {
            (true, "%") => Bound::Value(quantity.value * 100.0),
            (true, _) => Bound::OfFormula(quantity.value),
            (false, _) if quantity.unit == unit || unit == "%" && quantity.unit.is_empty() => {
                Bound::Value(quantity.value)
            }
            (false, _) => {
                let needed = match unit {
                    "s" => "a time, such as 500us",
                    "bit/s" => "a rate, such as 8Gbps",
                    "B" => "a size, such as 200KB",
                    _ => "a number",
                };
                return Err(fail(&format!("`{bound}` should be {needed}")));
            }
        };
        Ok(Self { measure, is_below, bound })
    }

    /// Excess of a value over the bound, relative to the bound; 0 if it keeps the limit, infinite
    /// without a value.
    pub fn violation(&self, value: Option<f64>, formula: Option<f64>) -> f64 {
        let bound = match self.bound {
            Bound::Value(bound) => Some(bound),
            Bound::OfFormula(part) => formula.map(|value| value * part),
        };
        let (Some(value), Some(bound)) = (value, bound) else {
            return f64::INFINITY;
        };
        let beyond = if self.is_below { value - bound } else { bound - value };
        // A value on the bound keeps the limit, also if the bound is zero.
        if beyond <= 0.0 { 0.0 } else { beyond / bound.abs().max(1e-12) }
    }
}

/// Whether large values of the goal are good.
pub(super) fn prefers_higher(goal: Goal) -> bool {
    goal.measure().better() == Better::Higher
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_units_or_are_percent_of_the_formula() {
        let limit = Limit::read("p99-small<500us").unwrap();
        assert_eq!((limit.measure, limit.is_below), (Measure::P99Small, true));
        assert!(limit.violation(Some(4e-4), None) <= 0.0);
        assert!((limit.violation(Some(1e-3), None) - 1.0).abs() < 1e-9);
        let limit = Limit::read("throughput >= 95%").unwrap();
        assert_eq!(limit.bound, Bound::OfFormula(0.95));
        assert!(limit.violation(Some(96.0), Some(100.0)) <= 0.0);
        assert!(limit.violation(Some(90.0), Some(100.0)) > 0.0);
        for (value, formula) in [(None, Some(100.0)), (Some(96.0), None)] {
            assert!(limit.violation(value, formula).is_infinite());
        }
        assert_eq!(Limit::read("pauses<1%").unwrap().bound, Bound::Value(1.0));
        assert_eq!(Limit::read("drops<1").unwrap().bound, Bound::Value(1.0));
    }

    #[test]
    fn an_unreadable_limit_is_an_error_that_names_the_metrics() {
        for (text, why) in [
            ("p99-small", "no `<` or `>`"),
            ("p98<1us", "no such metric"),
            ("p99-small<soon", "is not a number"),
            ("p99-small<5KB", "should be a time"),
            ("throughput>5", "should be a rate"),
            ("queue<-1KB", "not negative"),
        ] {
            let error = Limit::read(text).unwrap_err();
            assert!(
                error.contains(why) && error.contains("p99-small, throughput, mean"),
                "{error}"
            );
        }
    }
}
