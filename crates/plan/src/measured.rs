//! Simulated cost of thresholds: ratios to the formula's result, by the factor between a threshold
//! and the formula's.
//!
//! `measured.csv` holds the results, which `tests/measured` reproduces: four long flows keep a port
//! busy, and small flows meet their queue. Values between simulated thresholds are interpolated.

use std::sync::LazyLock;

use tidegate_units::Rate;

use crate::marking::{Ramp, real};
use crate::transport::Transport;

/// The simulations.
const TABLE: &str = include_str!("measured.csv");

/// A ratio to the formula's result with its 95 % interval over traces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// The ratio.
    pub ratio: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end of its interval.
    pub high: f64,
}

impl Change {
    fn between(self, other: Self, part: f64) -> Self {
        // Ratios are interpolated as factors.
        let of =
            |a: f64, b: f64| (a.max(LEAST).ln() * (1.0 - part) + b.max(LEAST).ln() * part).exp();
        Self {
            ratio: of(self.ratio, other.ratio),
            low: of(self.low, other.low),
            high: of(self.high, other.high),
        }
    }
}

/// Least ratio whose logarithm is taken: intervals may reach zero.
const LEAST: f64 = 0.01;

/// Cost of a threshold relative to the formula's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// 99th percentile of the completion times of small flows.
    pub tail: Change,
    /// Goodput of the port.
    pub throughput: Change,
}

/// Least ratio of a costly tail.
pub const TAIL: f64 = 2.0;
/// Greatest ratio of a costly loss of throughput.
pub const THROUGHPUT: f64 = 0.95;

impl Cost {
    /// Whether the tail of small flows is twice the formula's at least.
    pub fn raises_tail(&self) -> bool {
        self.tail.ratio >= TAIL && self.tail.low > 1.0
    }

    /// Whether the port carries 5 % less than with the formula at least.
    pub fn loses_throughput(&self) -> bool {
        self.throughput.ratio <= THROUGHPUT && self.throughput.high < 1.0
    }

    fn between(self, other: Self, part: f64) -> Self {
        Self {
            tail: self.tail.between(other.tail, part),
            throughput: self.throughput.between(other.throughput, part),
        }
    }
}

/// A simulated threshold.
#[derive(Clone, Debug, PartialEq)]
struct Entry {
    transport: Transport,
    gbps: f64,
    /// Length above which all packets are marked, as a factor of the formula's.
    end: f64,
    /// Length at which marks begin, as a fraction of `end`; 1 for a step.
    begin: f64,
    /// Probability at the end, in percent.
    percent: f64,
    cost: Cost,
}

static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| TABLE.lines().skip(1).map(entry).collect());

/// A line of the table; a test reads every line.
fn entry(line: &str) -> Entry {
    let mut cells = line.split(',');
    let name = cells.next().unwrap_or_default();
    let mut number = || {
        let cell = cells.next().and_then(|cell| cell.parse().ok());
        cell.unwrap_or(f64::NAN)
    };
    let [gbps, end, begin, percent] = [number(), number(), number(), number()];
    let mut change = || Change { ratio: number(), low: number(), high: number() };
    Entry {
        transport: tidegate_units::Setting::read(name).unwrap_or(Transport::Reno),
        gbps,
        end,
        begin,
        percent,
        cost: Cost { tail: change(), throughput: change() },
    }
}

/// Cost of a ramp for a queue of this transport at ports of this speed; `None` if the transport
/// ignores marks.
pub fn cost(transport: Transport, speed: Rate, formula: Ramp, set: Ramp) -> Option<Cost> {
    let transport = match transport {
        Transport::Dctcp | Transport::Odctcp => Transport::Dctcp,
        Transport::EcnStar | Transport::Rfc3168 => Transport::Rfc3168,
        Transport::Dcqcn => Transport::Dcqcn,
        _ => return None,
    };
    #[expect(clippy::cast_precision_loss, reason = "speeds and lengths have ten digits")]
    let of = |bytes: u64| bytes as f64;
    let gbps = of(speed.as_bps()) / 1e9;
    let end = of(set.max.0) / of(formula.max.0.max(1));
    let begin = of(set.min.0) / of(set.max.0.max(1));
    let percent = 100.0 * real(set.probability);
    let own: Vec<&Entry> = ENTRIES.iter().filter(|entry| entry.transport == transport).collect();
    // The simulated speed that is nearest.
    let distance = |entry: &&&Entry| (entry.gbps.ln() - gbps.ln()).abs();
    let nearest = own.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))?.gbps;
    let own: Vec<&Entry> =
        own.into_iter().filter(|entry| entry.gbps.total_cmp(&nearest).is_eq()).collect();
    along(
        &own,
        |entry| entry.begin,
        begin,
        |own| {
            // A step has no probability.
            along(
                own,
                |entry| entry.percent.ln(),
                percent.max(LEAST).ln(),
                |own| {
                    along(
                        own,
                        |entry| entry.end.ln(),
                        end.max(LEAST).ln(),
                        |own| Some(own.first()?.cost),
                    )
                },
            )
        },
    )
}

/// The cost at a coordinate, interpolated between the two nearest simulated values; beyond the last
/// one, its cost.
fn along(
    entries: &[&Entry],
    coordinate: impl Fn(&Entry) -> f64,
    value: f64,
    cost: impl Fn(&[&Entry]) -> Option<Cost>,
) -> Option<Cost> {
    let values = || entries.iter().map(|entry| coordinate(entry));
    let below = values().filter(|own| *own <= value).max_by(f64::total_cmp);
    let above = values().filter(|own| *own >= value).min_by(f64::total_cmp);
    let at = |place: f64| {
        let own = entries.iter().filter(|entry| coordinate(entry).total_cmp(&place).is_eq());
        cost(&own.copied().collect::<Vec<_>>())
    };
    match (below, above) {
        (Some(below), Some(above)) if below < above => {
            Some(at(below)?.between(at(above)?, (value - below) / (above - below)))
        }
        (Some(place), _) | (_, Some(place)) => at(place),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use tidegate_units::{Bytes, Ratio};

    use super::*;

    fn ramp(min: u64, max: u64, percent: u32) -> Ramp {
        Ramp { min: Bytes(min), max: Bytes(max), probability: Ratio::new(percent, 100).unwrap() }
    }

    #[test]
    fn cost_of_the_formula_relative_to_itself_is_one() {
        for gbps in [10, 25, 100, 400] {
            let speed = Rate::from_gbps(gbps);
            for (transport, formula) in [
                (Transport::Dctcp, ramp(90_000, 90_000, 100)),
                (Transport::EcnStar, ramp(90_000, 90_000, 100)),
                (Transport::Dcqcn, ramp(400_000, 1_600_000, 20)),
            ] {
                let cost = cost(transport, speed, formula, formula).unwrap();
                for change in [cost.tail, cost.throughput] {
                    assert!((change.ratio - 1.0).abs() < 1e-9, "{transport:?} {gbps}");
                }
            }
            assert_eq!(cost(Transport::Reno, speed, ramp(1, 1, 1), ramp(1, 1, 1)), None);
        }
    }

    #[test]
    fn costs_are_between_the_simulated_neighbours_and_the_last_beyond_them() {
        let formula = ramp(100_000, 100_000, 100);
        let tail = |kilobytes: u64| {
            let bytes = kilobytes * 1_000;
            let cost =
                cost(Transport::Dctcp, Rate::from_gbps(100), formula, ramp(bytes, bytes, 100));
            cost.unwrap().tail.ratio
        };
        assert!(tail(200) < tail(300) && tail(300) < tail(400));
        assert!((tail(300) - tail(400)).abs() > 0.1);
        assert_eq!(tail(1_600).to_bits(), tail(90_000).to_bits());
        assert_eq!(tail(12).to_bits(), tail(1).to_bits());
    }
}
