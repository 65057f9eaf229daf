//! A summary of made-up records.

use tidegate_report::record::{Class, Record};
use tidegate_report::summary::{Better, Estimate, Metric, Point, Relative, Summary};

type Measure = fn(&[&Record]) -> f64;

fn fct(records: &[&Record], class: Option<Class>) -> Vec<f64> {
    let flows = records.iter().flat_map(|record| &record.flows);
    let wanted = flows.filter(|flow| flow.counts && class.is_none_or(|class| flow.class == class));
    let mut values: Vec<f64> = wanted
        .filter_map(|flow| Some(flow.fct_ps? as f64 / 1e12))
        .collect();
    values.sort_by(f64::total_cmp);
    values
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

const METRICS: [(&str, &str, &str, Better, Measure); 7] = [
    ("fct_mean", "overall mean", "s", Better::Lower, |records| {
        mean(&fct(records, None))
    }),
    (
        "fct_small_mean",
        "small mean",
        "s",
        Better::Lower,
        |records| mean(&fct(records, Some(Class::Small))),
    ),
    (
        "fct_small_p99",
        "small p99",
        "s",
        Better::Lower,
        |records| {
            let values = fct(records, Some(Class::Small));
            values[values.len() * 99 / 100]
        },
    ),
    (
        "fct_large_mean",
        "large mean",
        "s",
        Better::Lower,
        |records| mean(&fct(records, Some(Class::Large))),
    ),
    ("marks", "marks", "", Better::Neither, |records| {
        let marks = records
            .iter()
            .flat_map(|record| record.counters.marks.values());
        marks.sum::<u64>() as f64 / records.len() as f64
    }),
    ("drops", "drops", "", Better::Lower, |records| {
        let drops = records
            .iter()
            .flat_map(|record| record.counters.drops.values());
        drops.sum::<u64>() as f64 / records.len() as f64
    }),
    ("timeouts", "timeouts", "", Better::Lower, |records| {
        let timeouts = records.iter().map(|record| record.counters.timeouts);
        timeouts.sum::<u64>() as f64 / records.len() as f64
    }),
];

pub(crate) fn summary(records: &[Record]) -> Summary {
    let mut labels: Vec<&str> = Vec::new();
    for record in records {
        if !labels.contains(&record.run.label.as_str()) {
            labels.push(&record.run.label);
        }
    }
    let mut points: Vec<Point> = labels.iter().map(|label| point(records, label)).collect();
    let Some(first) = points.first() else {
        return Summary {
            metrics: Vec::new(),
            points,
            baseline: None,
            warnings: Vec::new(),
        };
    };
    let base: Vec<Option<f64>> = first
        .estimates
        .iter()
        .map(|estimate| estimate.map(|estimate| estimate.value))
        .collect();
    for point in &mut points {
        for (estimate, base) in point.estimates.iter_mut().zip(&base) {
            if let (Some(estimate), Some(base)) = (estimate, base) {
                estimate.relative = Some(Relative {
                    ratio: estimate.value / base,
                    low: estimate.low / base,
                    high: estimate.high / base,
                });
            }
        }
    }
    Summary {
        metrics: METRICS
            .map(|(name, title, unit, better, _)| Metric {
                name,
                title,
                unit,
                better,
            })
            .into(),
        points,
        baseline: Some(0),
        warnings: vec!["3 seeds are few: intervals from fewer than 5 runs are wide".to_owned()],
    }
}

fn point(records: &[Record], label: &str) -> Point {
    let own: Vec<&Record> = records
        .iter()
        .filter(|record| record.run.label == label)
        .collect();
    let estimates = METRICS.iter().map(|(_, _, _, _, measure)| {
        let each: Vec<f64> = own.iter().map(|record| measure(&[record])).collect();
        let value = mean(&each);
        let spread = each.iter().map(|one| (one - value).powi(2)).sum::<f64>();
        let half = 4.3 * (spread / (each.len() - 1).max(1) as f64 / each.len() as f64).sqrt();
        Some(Estimate {
            value,
            low: value - half,
            high: value + half,
            samples: fct(&own, None).len() as u64,
            relative: None,
        })
    });
    Point {
        label: label.to_owned(),
        settings: own[0].run.point.clone(),
        runs: own.len() as u32,
        commands: own
            .iter()
            .map(|record| record.run.command.clone())
            .collect(),
        estimates: estimates.collect(),
        warnings: if label.contains("0.8") {
            vec!["some flows did not finish: completion times leave them out".to_owned()]
        } else {
            Vec::new()
        },
    }
}
