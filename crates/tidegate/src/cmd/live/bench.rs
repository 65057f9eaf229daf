//! `tidegate live bench`: what the switch can do on this machine.

use std::fmt::Write;

use tidegate_live::bench::{self, Forwarded, Report};
use tidegate_live::counters::Quantiles;

use crate::args::live::Bench;
use crate::output::{Error, Output, Verdict};

/// `tidegate live bench`.
pub(crate) fn bench(arguments: &Bench, output: Output) -> Result<Verdict, Error> {
    let seconds = arguments.span.as_ns().saturating_mul(6) / 1_000_000_000;
    output.say(&format!(
        "about {} s; nothing else should run meanwhile",
        seconds + 2
    ));
    let report = bench::measure(arguments.span).map_err(Error::new)?;
    if output.json {
        output.print_json(&report)?;
    } else {
        output.print(&table(&report))?;
    }
    Ok(Verdict::Good)
}

fn table(report: &Report) -> String {
    let mut text =
        String::from("forwarding           offered/s received/s  ns of processor a frame\n");
    let rows = [
        ("64 B, switch", report.small.switch),
        ("64 B, bridge", report.small.bridge),
        ("1518 B, switch", report.large.switch),
        ("1518 B, bridge", report.large.bridge),
    ];
    for (name, row) in rows {
        let Forwarded {
            offered_per_second,
            received_per_second,
            processor_ns_per_frame,
        } = row;
        let cost = processor_ns_per_frame.map_or_else(|| "-".into(), |cost| cost.to_string());
        _ = writeln!(
            text,
            "{name:<20}{offered_per_second:>10} {received_per_second:>10} {cost:>24}"
        );
    }
    let shaped = &report.shaped;
    let parts = u128::from(shaped.bits_per_second) * 10_000
        / u128::from(shaped.configured_bits_per_second.max(1));
    _ = writeln!(
        text,
        "\nshaped, TCN          {}.{:02} % of {} Mb/s, {} marked, {} us lost",
        parts / 100,
        parts % 100,
        shaped.configured_bits_per_second / 1_000_000,
        shaped.marked,
        shaped.lost_ns / 1_000,
    );
    let times = |times: &Quantiles| {
        let parts = [times.p50_ns, times.p99_ns, times.p999_ns, times.max_ns];
        parts.map(|ns| format!("{}.{}", ns / 1_000, ns % 1_000 / 100))
    };
    _ = writeln!(
        text,
        "\nmicroseconds             p50       p99     p99.9       max"
    );
    let rows = [
        ("lateness, shaped", &shaped.lateness),
        ("round trip, switch", &report.round_trip),
        ("round trip, bridge", &report.bridge_round_trip),
    ];
    for (name, row) in rows {
        let [p50, p99, p999, max] = times(row);
        _ = writeln!(text, "{name:<19}{p50:>9} {p99:>9} {p999:>9} {max:>9}");
    }
    let (whole, tenth) = (report.stolen / 10, report.stolen % 10);
    _ = writeln!(
        text,
        "\nprocessor time stolen by a hypervisor: {whole}.{tenth} %"
    );
    text
}
