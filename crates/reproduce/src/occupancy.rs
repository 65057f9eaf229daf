//! Occupancy of a port over time: the sum of its queues.

use tidegate_results::record::{Quantity, Series, Trace};
use tidegate_results::statistics::{Percentile, mean};
use tidegate_units::Ratio;

use super::pattern;

/// Bytes in all sampled queues of the matching ports: mean over time, or a percentile.
pub(super) fn port_length(
    series: &Series,
    port: &str,
    percent: Option<(u32, Percentile)>,
) -> Option<f64> {
    let is_queue = |trace: &&Trace| {
        let name = trace.of.rsplit_once(" q").map(|(port, _)| port);
        trace.quantity == Quantity::QueueBytes && name.is_some_and(|name| pattern::fits(port, name))
    };
    let queues: Vec<&Trace> = series.traces.iter().filter(is_queue).collect();
    let count = queues.iter().map(|queue| queue.values.len()).min()?;
    let total = |at: usize| queues.iter().map(|queue| queue.values[at]).sum::<f64>();
    let mut lengths: Vec<f64> = (0..count).map(total).filter(|sum| !sum.is_nan()).collect();
    match percent {
        None => mean(&lengths),
        Some((percent, rule)) => {
            let rank = rule.rank(lengths.len(), Ratio::new(percent, 100)?)?;
            Some(*lengths.select_nth_unstable_by(rank, f64::total_cmp).1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_of_a_port_are_summed_before_the_statistic() {
        let trace = |of: &str, quantity, values: &[f64]| Trace {
            of: of.into(),
            quantity,
            values: values.to_vec(),
        };
        let mut series = Series::default();
        assert_eq!(port_length(&series, "a>b", None), None);
        series.traces = vec![
            trace("a>b q0", Quantity::QueueBytes, &[1.0, 2.0, 3.0, 4.0]),
            trace("a>b q1", Quantity::QueueBytes, &[10.0, 0.0, 0.0, 50.0]),
            trace("a>b q1", Quantity::QueuePackets, &[7.0; 4]),
            trace("a>c q0", Quantity::QueueBytes, &[900.0; 4]),
        ];
        // 11, 2, 3 and 54.
        let percentile = |percent| Some((percent, Percentile::NearestRank));
        assert_eq!(port_length(&series, "a>b", None), Some(17.5));
        assert_eq!(port_length(&series, "a>b", percentile(50)), Some(3.0));
        assert_eq!(port_length(&series, "a>b", percentile(99)), Some(54.0));
        assert_eq!(port_length(&series, "a>d", None), None);
    }
}
