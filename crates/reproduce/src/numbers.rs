//! Numbers of single runs: what the claims of a figure need, one for each measure, point and
//! repetition. Every claim about these measures and points can be judged by them.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use tidegate_results::Record;

use super::claim::Claim;
use super::measure::Measure;
use super::pattern;

/// Numbers of the runs of a figure or trial.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Numbers(Vec<OfMeasure>);

/// Numbers of a measure.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct OfMeasure {
    measure: Measure,
    points: Vec<OfPoint>,
}

/// Numbers of a point, by repetition.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OfPoint {
    /// Label.
    pub label: String,
    /// Numbers.
    pub runs: Vec<Cell>,
}

/// Number of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// Number, with seven digits.
    Number(f64),
    /// A finished run without such a number, such as a time until something that never happens.
    Nothing,
    /// No results yet.
    Unfinished,
}

/// Runs of a figure or of one of its trials.
#[derive(Clone, Copy, Debug, Default)]
pub struct Runs<'a> {
    /// Records of the finished runs.
    pub records: &'a [Record],
    /// Label of each run without results.
    pub unfinished: &'a [&'a str],
}

impl Numbers {
    /// Measures all that some claims need.
    pub fn new<'a>(claims: impl Iterator<Item = &'a Claim>, runs: Runs<'_>) -> Self {
        let mut numbers = Self::default();
        for claim in claims.filter(|claim| claim.measure.computed().is_none()) {
            let is_needed = |label: &str| claim.patterns().any(|of| pattern::fits(of, label));
            for label in labels(runs).into_iter().filter(|label| is_needed(label)) {
                numbers.add(&claim.measure, label, runs);
            }
        }
        numbers
    }

    fn add(&mut self, measure: &Measure, label: &str, runs: Runs<'_>) {
        let place = match self.0.iter().position(|of| of.measure == *measure) {
            Some(place) => place,
            None => {
                self.0.push(OfMeasure { measure: measure.clone(), points: Vec::new() });
                self.0.len() - 1
            }
        };
        let points = &mut self.0[place].points;
        if points.iter().all(|point| point.label != label) {
            let runs = cells(measure, label, runs);
            points.push(OfPoint { label: label.to_owned(), runs });
        }
    }

    /// Points of a measure, in the order of their runs.
    pub fn of(&self, measure: &Measure) -> &[OfPoint] {
        let own = self.0.iter().find(|of| of.measure == *measure);
        own.map_or(&[], |of| &of.points)
    }

    /// Only the points with some labels.
    #[must_use]
    pub fn at(&self, is_kept: impl Fn(&str) -> bool) -> Self {
        let kept = |of: &OfMeasure| OfMeasure {
            measure: of.measure.clone(),
            points: of.points.iter().filter(|point| is_kept(&point.label)).cloned().collect(),
        };
        Self(self.0.iter().map(kept).collect())
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all runs are finished.
    pub fn is_whole(&self) -> bool {
        let mut cells = self.0.iter().flat_map(|of| &of.points).flat_map(|point| &point.runs);
        !self.is_empty() && cells.all(|cell| *cell != Cell::Unfinished)
    }
}

/// Labels of all runs, each once.
fn labels(runs: Runs<'_>) -> Vec<&str> {
    let finished = runs.records.iter().map(|record| record.run.label.as_str());
    let mut labels: Vec<&str> = Vec::new();
    for label in finished.chain(runs.unfinished.iter().copied()) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels
}

/// Numbers of a point. A repetition without a record is unfinished.
fn cells(measure: &Measure, label: &str, runs: Runs<'_>) -> Vec<Cell> {
    let own: Vec<&Record> = runs.records.iter().filter(|run| run.run.label == label).collect();
    let unfinished = runs.unfinished.iter().filter(|other| **other == label).count();
    let place = |record: &&&Record| record.run.replication as usize;
    let last = own.iter().map(|record| place(&record) + 1).max().unwrap_or(0);
    let cell = |replication: usize| {
        let record = own.iter().find(|record| place(record) == replication);
        record.map_or(Cell::Unfinished, |record| {
            measure.value(record).map_or(Cell::Nothing, |value| Cell::Number(rounded(value)))
        })
    };
    (0..last.max(own.len() + unfinished)).map(cell).collect()
}

/// Seven digits are more than any claim needs, and keep files small.
fn rounded(value: f64) -> f64 {
    format!("{value:.6e}").parse().expect("a formatted number is one")
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(value) => serializer.serialize_f64(*value),
            Self::Nothing => serializer.serialize_none(),
            Self::Unfinished => serializer.serialize_str(UNFINISHED),
        }
    }
}

const UNFINISHED: &str = "unfinished";

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Nothing(()),
            Word(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(value) => Ok(Self::Number(value)),
            Written::Nothing(()) => Ok(Self::Nothing),
            Written::Word(word) if word == UNFINISHED => Ok(Self::Unfinished),
            Written::Word(word) => Err(de::Error::custom(format!("there is no run `{word}`"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_numbers_nothing_and_unfinished_runs() {
        let cells = [Cell::Number(0.1), Cell::Nothing, Cell::Unfinished, Cell::Number(3.0)];
        let text = serde_json::to_string(&cells).unwrap();
        assert_eq!(text, "[0.1,null,\"unfinished\",3.0]");
        assert_eq!(serde_json::from_str::<[Cell; 4]>(&text).unwrap(), cells);
        assert!(serde_json::from_str::<Cell>("\"lost\"").is_err());
    }

    #[test]
    fn numbers_keep_seven_digits() {
        for (value, expected) in [(1.234_567_89e-4, 1.234_568e-4), (0.0, 0.0), (-3.5, -3.5)] {
            assert_eq!(rounded(value).to_string(), expected.to_string());
        }
    }
}
