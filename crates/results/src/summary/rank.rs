//! Which of several values is the best, and which cannot be distinguished from it.

use super::{Better, Estimate, Relative};

/// A value and the ends of its interval, which are not a number if they are not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// The value.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
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

/// How a value compares with the others of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// It is better than all others, and its interval meets none of theirs.
    Best,
    /// The best, or one whose interval meets that of the best, so that the order may be chance.
    /// Where the interval of the best is not known, nothing is tied.
    Tied,
    /// The best is better.
    Behind,
}

impl Rank {
    /// The rank of a value in its group, which includes itself. A group in which all are tied has
    /// no ranks, and neither has a metric that only describes.
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
    fn values_whose_intervals_meet_that_of_the_best_are_tied() {
        let group = [extent(3.0, 0.4), extent(1.0, 0.5), extent(2.0, 0.6)];
        let expected = [Rank::Behind, Rank::Tied, Rank::Tied].map(Some);
        assert_eq!(ranks(Better::Lower, &group), expected);
        let expected = [Rank::Tied, Rank::Behind, Rank::Tied].map(Some);
        assert_eq!(ranks(Better::Higher, &group), expected);
        let apart = [extent(3.0, 0.4), extent(1.0, 0.5)];
        let expected = [Rank::Behind, Rank::Best].map(Some);
        assert_eq!(ranks(Better::Lower, &apart), expected);
        let all = [extent(1.2, 0.5), extent(1.0, 0.5)];
        assert_eq!(ranks(Better::Lower, &all), [None, None], "nobody is crowned");
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
