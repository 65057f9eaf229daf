//! `tidegate live bench`: performance of the switch on this machine.

use std::fmt::Write;

use tidegate_live::bench::{self, Forwarded, Minute, Report, Second, Steady};
use tidegate_live::counters::Quantiles;
use tidegate_live::stop_on_signals;
use tidegate_units::Span;

use crate::args::live::Bench;
use crate::output::{Error, ExitStatus, Output};

/// `tidegate live bench`.
pub(crate) fn bench(arguments: &Bench, output: Output) -> Result<ExitStatus, Error> {
    if let Some(span) = arguments.steady {
        return steady(span, output);
    }
    if let Some(span) = arguments.soak {
        return soak(span, output);
    }
    let seconds = arguments.span.as_ns().saturating_mul(6) / 1_000_000_000;
    output.say(&format!("takes about {} s; keep the machine otherwise idle", seconds + 2));
    let report = bench::measure(arguments.span).map_err(Error::new)?;
    if output.json {
        output.print_json(&report)?;
    } else {
        output.print(&table(&report))?;
    }
    Ok(ExitStatus::Good)
}

/// `tidegate live bench --steady`. An interrupt ends it early.
fn steady(span: Span, output: Output) -> Result<ExitStatus, Error> {
    let seconds = span.as_ns() / 1_000_000_000;
    output
        .say(&format!("takes {seconds} s; keep the machine otherwise idle; Ctrl-C ends it early"));
    let measured = bench::steady(span, stop_on_signals()).map_err(Error::new)?;
    if output.json {
        output.print_json(&measured)?;
    } else {
        output.print(&steady_table(&measured))?;
    }
    Ok(ExitStatus::Good)
}

/// `tidegate live bench --soak`. An interrupt ends it early.
fn soak(span: Span, output: Output) -> Result<ExitStatus, Error> {
    output.say("one line per minute; Ctrl-C ends it early");
    let head = "minute    offered  forwarded    dropped  missed  lost  flaps reloads storms mtus scrapes    KiB";
    if !output.json {
        output.print(&format!("{head}\n"))?;
    }
    let mut printed = Ok(());
    let minutes = bench::soak(span, stop_on_signals(), |minute| {
        if !output.json && printed.is_ok() {
            printed = output.print(&soak_line(minute));
        }
    });
    let minutes = minutes.map_err(Error::new)?;
    printed?;
    if output.json {
        output.print_json(&minutes)?;
    }
    let broken = minutes.iter().filter(|minute| !minute.is_whole());
    for minute in broken.clone() {
        output.warn(&format!(
            "minute {}: {} frames unaccounted for in the switch, {} lost before it, {} lost behind it, \
             {} clients without an answer",
            minute.number,
            minute.imbalance,
            minute.lost_before,
            minute.lost_behind,
            minute.chaos.failed_scrapes
        ));
    }
    Ok(if broken.count() == 0 { ExitStatus::Good } else { ExitStatus::Bad })
}

fn soak_line(minute: &Minute) -> String {
    let Minute {
        number,
        offered,
        forwarded,
        dropped,
        missed,
        chaos,
        imbalance,
        lost_before,
        lost_behind,
        memory,
    } = minute;
    let lost = imbalance + i128::from(*lost_before) + i128::from(*lost_behind);
    format!(
        "{number:>6} {offered:>10} {forwarded:>10} {dropped:>10} {missed:>7} {lost:>5} {:>6} {:>7} \
         {:>6} {:>4} {:>7} {memory:>6}\n",
        chaos.flaps, chaos.reloads, chaos.storms, chaos.mtu_changes, chaos.scrapes
    )
}

fn steady_table(measured: &Steady) -> String {
    let configured = measured.configured_bits_per_second;
    let mut text = format!(
        "wire shaped to {} Mb/s with TCN, second by second\n\n\
         {:<24}{:>8}  {:>15}  {:>21}\n{:<24}{:>8}  {:>7} {:>7}  {:>10} {:>10}\n",
        configured / 1_000_000,
        "",
        "",
        "% of the rate",
        "lateness p99, us",
        "",
        "seconds",
        "median",
        "least",
        "median",
        "most",
    );
    let seconds = &measured.seconds;
    let mut row = |name: &str, seconds: &[Second]| {
        let mut rates: Vec<u64> = seconds.iter().map(|it| it.bits_per_second).collect();
        let mut late: Vec<u64> = seconds.iter().map(|it| it.lateness_p99_ns).collect();
        rates.sort_unstable();
        late.sort_unstable();
        let rate = |bits: Option<&u64>| {
            bits.map_or_else(|| "-".into(), |&bits| per_cent(bits, configured))
        };
        let time = |ns: Option<&u64>| ns.map_or_else(|| "-".into(), |&ns| microseconds(ns));
        let middle = seconds.len() / 2;
        _ = writeln!(
            text,
            "{name:<24}{:>8}  {:>7} {:>7}  {:>10} {:>10}",
            seconds.len(),
            rate(rates.get(middle)),
            rate(rates.first()),
            time(late.get(middle)),
            time(late.last()),
        );
    };
    let calm = |seconds: &[Second]| -> Vec<Second> {
        let calm = seconds.iter().filter(|second| second.stolen == 0);
        calm.copied().collect()
    };
    row("all", seconds);
    row("nothing stolen", &calm(seconds));
    for (minute, seconds) in (1..).zip(seconds.chunks(60)) {
        row(&format!("  of minute {minute}"), &calm(seconds));
    }
    let stolen: u64 = seconds.iter().map(|it| u64::from(it.stolen)).sum();
    let stolen = stolen / (seconds.len() as u64).max(1);
    let port = &measured.port;
    _ = writeln!(
        text,
        "\nframes in a second: {} offered, {} received; {} marked, {} us of wire lost",
        measured.forwarded.offered_per_second,
        measured.forwarded.received_per_second,
        port.marked,
        port.lost_ns / 1_000,
    );
    tell_stolen(&mut text, stolen);
    text
}

/// In parts of a thousand.
fn tell_stolen(text: &mut String, stolen: u64) {
    let (whole, tenth) = (stolen / 10, stolen % 10);
    _ = writeln!(text, "processor time stolen by a hypervisor: {whole}.{tenth} %");
}

/// With two decimals.
fn per_cent(part: u64, whole: u64) -> String {
    let parts = u128::from(part) * 10_000 / u128::from(whole.max(1));
    format!("{}.{:02}", parts / 100, parts % 100)
}

/// With one decimal.
fn microseconds(ns: u64) -> String {
    format!("{}.{}", ns / 1_000, ns % 1_000 / 100)
}

fn table(report: &Report) -> String {
    let mut text =
        String::from("forwarding           offered/s received/s  processor ns per frame\n");
    let rows = [
        ("64 B, switch", report.small.switch),
        ("64 B, bridge", report.small.bridge),
        ("1518 B, switch", report.large.switch),
        ("1518 B, bridge", report.large.bridge),
    ];
    for (name, row) in rows {
        let Forwarded { offered_per_second, received_per_second, processor_ns_per_frame } = row;
        let cost = processor_ns_per_frame.map_or_else(|| "-".into(), |cost| cost.to_string());
        _ = writeln!(
            text,
            "{name:<20}{offered_per_second:>10} {received_per_second:>10} {cost:>24}"
        );
    }
    let shaped = &report.shaped;
    _ = writeln!(
        text,
        "\nshaped, TCN          {} % of {} Mb/s, {} marked, {} us lost",
        per_cent(shaped.bits_per_second, shaped.configured_bits_per_second),
        shaped.configured_bits_per_second / 1_000_000,
        shaped.marked,
        shaped.lost_ns / 1_000,
    );
    let times = |times: &Quantiles| {
        let parts = [times.p50_ns, times.p99_ns, times.p999_ns, times.max_ns];
        parts.map(microseconds)
    };
    _ = writeln!(text, "\nmicroseconds             p50       p99     p99.9       max");
    let rows = [
        ("lateness, shaped", &shaped.lateness),
        ("round trip, switch", &report.round_trip),
        ("round trip, bridge", &report.bridge_round_trip),
    ];
    for (name, row) in rows {
        let [p50, p99, p999, max] = times(row);
        _ = writeln!(text, "{name:<19}{p50:>9} {p99:>9} {p999:>9} {max:>9}");
    }
    text.push('\n');
    tell_stolen(&mut text, report.stolen.into());
    text
}
