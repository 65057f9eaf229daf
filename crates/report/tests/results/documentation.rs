//! The reference documents every column with its type and meaning.

use tidegate_report::export::{FLOWS, Field, LINKS, ORIGIN, PROBES, QUEUES, SERIES, TRACE};
use tidegate_results::record::Quantity;
use tidegate_results::summary::Metric;

const REFERENCE: &str = include_str!("../../../../docs/reference/results.md");

fn rows<Row>(fields: &[Field<Row>]) -> Vec<String> {
    let row =
        |field: &Field<Row>| format!("| `{}` | {} | {} |\n", field.name, field.kind, field.doc);
    fields.iter().map(row).collect()
}

#[test]
fn the_reference_describes_every_column_of_every_table() {
    let quantity = |quantity: Quantity| {
        let unit = if quantity.unit().is_empty() { "–" } else { quantity.unit() };
        format!("| `{}` | {unit} | ", quantity.name())
    };
    let metric = |metric: Metric| {
        let unit = if metric.unit.is_empty() { "–" } else { metric.unit };
        format!("| `{}` | {} | {unit} | ", metric.name, metric.title)
    };
    let origin = ORIGIN.map(|(name, kind, doc)| format!("| `{name}` | {kind} | {doc} |\n"));
    let tables = [
        origin.to_vec(),
        rows(FLOWS),
        rows(PROBES),
        rows(SERIES),
        rows(TRACE),
        rows(QUEUES),
        rows(LINKS),
    ]
    .concat();
    let quantities = Quantity::ALL.map(quantity);
    let metrics = Metric::all()
        .chain(Metric::of_services())
        .chain(Metric::of_sizes())
        .chain(Metric::of_queues())
        .map(metric);
    for row in tables.into_iter().chain(quantities).chain(metrics) {
        assert!(REFERENCE.contains(&row), "docs/reference/results.md lacks the row\n{row}");
    }
}
