//! Ranks: the best of several values, and the values tied with it.

use super::{Better, Estimate, Relative};

/// A value and the ends of its interval, which are NaN if unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// Value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl From<Estimate> for Extent {
    fn from(Estimate { value, low, high, .. }: Estimate) -> Self {
        Self { value, low, high }
    }
}

impl From<Relative> for Extent {
    fn from(Relative { ratio, low, high, .. }: Relative) -> Self {
        Self { value: ratio, low, high }
    }
}

/// Rank of a value in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// Better than all others; its interval overlaps no other.
    Best,
    /// The best value, or a value whose interval overlaps the best one's, so that the order may be
    /// chance. If the interval of the best value is unknown, nothing is tied.
    Tied,
    /// Worse than the best value.
    Behind,
}

impl Rank {
    /// The rank of a value in its group, which includes the value. `None` if all values are tied or
    /// the metric is descriptive.
    pub fn of(own: Extent, better: Better, group: &[Extent]) -> Option<Self> {
        let values = || group.iter().map(|extent| extent.value);
        let (least, most) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
        let best = match better {
            Better::Higher => most,
            Better::Lower => least,
            Better::Neither => return None,
        };
        if least >= most {
            return None;
        }
        let is_best = |extent: &Extent| extent.value.total_cmp(&best).is_eq();
        let leads = |extent: &Extent| {
            let meets = |best: &Extent| extent.low <= best.high && best.low <= extent.high;
            is_best(extent) || group.iter().filter(|other| is_best(other)).any(meets)
        };
        match group.iter().filter(|extent| leads(extent)).count() {
            all if all == group.len() => None,
            _ if !leads(&own) => Some(Self::Behind),
            1 => Some(Self::Best),
            _ => Some(Self::Tied),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(value: f64, reach: f64) -> Extent {
        Extent { value, low: value - reach, high: value + reach }
    }

    fn ranks(better: Better, group: &[Extent]) -> Vec<Option<Rank>> {
        let rank = |own: &Extent| Rank::of(*own, better, group);
        group.iter().map(rank).collect()
    }

    #[test]
    fn values_are_tied_when_intervals_overlap_the_best() {
        let group = [extent(3.0, 0.4), extent(1.0, 0.5), extent(2.0, 0.6)];
        let expected = [Rank::Behind, Rank::Tied, Rank::Tied].map(Some);
        assert_eq!(ranks(Better::Lower, &group), expected);
        let expected = [Rank::Tied, Rank::Behind, Rank::Tied].map(Some);
        assert_eq!(ranks(Better::Higher, &group), expected);
        let apart = [extent(3.0, 0.4), extent(1.0, 0.5)];
        let expected = [Rank::Behind, Rank::Best].map(Some);
        assert_eq!(ranks(Better::Lower, &apart), expected);
        let all = [extent(1.2, 0.5), extent(1.0, 0.5)];
        assert_eq!(ranks(Better::Lower, &all), [None, None], "all are tied");
    }

    #[test]
    fn an_unknown_interval_ties_nothing_and_equals_have_no_best() {
        let group = [extent(1.0, f64::NAN), extent(1.1, 0.5)];
        let expected = [Rank::Best, Rank::Behind].map(Some);
        assert_eq!(ranks(Better::Lower, &group), expected);
        assert_eq!(ranks(Better::Lower, &[extent(1.0, 0.5); 2]), [None, None]);
        assert_eq!(ranks(Better::Neither, &group), [None, None]);
        assert_eq!(ranks(Better::Lower, &group[..1]), [None]);
    }
}
