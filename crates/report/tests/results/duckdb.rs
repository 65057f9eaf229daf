//! What DuckDB reads of the files: an outside judge of every value and type.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tidegate_report::Folder;
use tidegate_report::record::Record;

use crate::sample::{awkward, empty, manifest, scratch};

/// Prints the types of a file's columns and then its rows, a cell a line. Numbers of floating point are
/// printed as their bits.
const READER: &str = r"
import duckdb, json, struct, sys
def text(cell):
    if isinstance(cell, float):
        return '%016x' % struct.unpack('<Q', struct.pack('<d', cell))
    return json.dumps(cell, ensure_ascii=False)
found = duckdb.sql('select * from read_parquet($$' + sys.argv[1] + '$$)')
for name, kind in zip(found.columns, found.types):
    print(name, kind)
for row in found.fetchall():
    for cell in row:
        print(text(cell))
";

/// Prints some columns of the rows of a summary.
const SUMMARY_READER: &str = r"
import duckdb, json, struct, sys
found = duckdb.sql('''select label, metric, value, low from read_csv($$''' + sys.argv[1] + '''$$,
    types={'value': 'DOUBLE', 'low': 'DOUBLE'})''')
def text(cell):
    return 'null' if cell is None else '%016x' % struct.unpack('<Q', struct.pack('<d', cell))
for label, metric, value, low in found.fetchall():
    print(json.dumps(label), metric, text(value), text(low))
";

/// A Python that has the package duckdb: that of `./test`, or the user's own.
fn python() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python3");
    let pythons = [own, PathBuf::from("python3")];
    let has_reader = |python: &PathBuf| {
        let import = Command::new(python).args(["-c", "import duckdb"]).output();
        import.is_ok_and(|output| output.status.success())
    };
    let found = pythons.into_iter().find(has_reader);
    found.expect("Python with the package duckdb is needed; ./test installs it")
}

fn read(file: &Path) -> Vec<String> {
    run(READER, file)
}

fn run(script: &str, file: &Path) -> Vec<String> {
    let output = Command::new(python())
        .args(["-c", script])
        .arg(file)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", file.display());
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn maybe(number: Option<u64>) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.to_string())
}

fn bits(value: f64) -> String {
    if value.is_nan() {
        "null".to_owned()
    } else {
        format!("{:016x}", value.to_bits())
    }
}

fn flows(record: &Record) -> Vec<String> {
    let columns = [
        "number UINTEGER",
        "name VARCHAR",
        "source UINTEGER",
        "src UINTEGER",
        "dst UINTEGER",
        "service UTINYINT",
        "bytes UBIGINT",
        "class VARCHAR",
        "counts BOOLEAN",
        "start_ps UBIGINT",
        "fct_ps UBIGINT",
        "ideal_ps UBIGINT",
        "retransmissions UINTEGER",
        "timeouts UINTEGER",
        "marks UINTEGER",
        "received UBIGINT",
        "goodput_bps UBIGINT",
    ];
    let rows = record.flows.iter().flat_map(|flow| {
        [
            flow.number.to_string(),
            quoted(&flow.name),
            flow.source.to_string(),
            flow.src.to_string(),
            flow.dst.to_string(),
            flow.service.to_string(),
            maybe(flow.bytes),
            serde_json::to_string(&flow.class).unwrap(),
            flow.counts.to_string(),
            flow.start_ps.to_string(),
            maybe(flow.fct_ps),
            maybe(flow.ideal_ps),
            flow.retransmissions.to_string(),
            flow.timeouts.to_string(),
            flow.marks.to_string(),
            maybe(flow.received),
            maybe(flow.goodput_bps),
        ]
    });
    columns.into_iter().map(str::to_owned).chain(rows).collect()
}

fn probes(record: &Record) -> Vec<String> {
    let columns = ["series UINTEGER", "at_ps UBIGINT", "rtt_ps UBIGINT"];
    let rows = record.probes.iter().flat_map(|probe| {
        [
            probe.series.to_string(),
            probe.at_ps.to_string(),
            probe.rtt_ps.to_string(),
        ]
    });
    columns.into_iter().map(str::to_owned).chain(rows).collect()
}

fn series(record: &Record) -> Vec<String> {
    let series = &record.series;
    let columns = [
        "time_ps UBIGINT",
        "of VARCHAR",
        "quantity VARCHAR",
        "value DOUBLE",
    ];
    let rows = series.traces.iter().flat_map(|trace| {
        trace
            .values
            .iter()
            .zip(0..)
            .flat_map(|(value, index): (&f64, u64)| {
                [
                    (series.from_ps + index * series.interval_ps).to_string(),
                    quoted(&trace.of),
                    serde_json::to_string(&trace.quantity).unwrap(),
                    bits(*value),
                ]
            })
    });
    columns.into_iter().map(str::to_owned).chain(rows).collect()
}

#[test]
fn another_program_reads_the_same_values() {
    let path = scratch("duckdb");
    let folder = Folder::create(&path, &manifest(&["a", "b"])).unwrap();
    let mut first = awkward("a");
    // Enough rows for pages, dictionaries that overflow and more than one group.
    let pattern = first.flows.clone();
    first.flows.extend((0..2_000_u32).map(|number| {
        let mut flow = pattern[number as usize % pattern.len()].clone();
        flow.number = number;
        flow.start_ps = u64::from(number).pow(5);
        flow
    }));
    for record in [first, empty("b")] {
        folder.write(&record).unwrap();
        let place = path.join("runs").join(&record.run.id);
        assert_eq!(read(&place.join("flows.parquet")), flows(&record));
        assert_eq!(read(&place.join("probes.parquet")), probes(&record));
        assert_eq!(read(&place.join("series.parquet")), series(&record));
    }
}

#[test]
fn another_program_reads_the_summary() {
    let path = scratch("duckdb-summary");
    let folder = Folder::create(&path, &manifest(&["a"])).unwrap();
    let mut record = awkward("a");
    record.run.label = "a, \"quoted\"\nlabel".to_owned();
    let summary = tidegate_report::Summary::new(&[record], None);
    folder.write_summary(&summary).unwrap();
    let rows = run(SUMMARY_READER, &path.join("summary.csv"));
    let estimates = summary.metrics.iter().zip(&summary.points[0].estimates);
    let expected: Vec<_> = estimates
        .map(|(metric, estimate)| {
            let estimate = estimate.unwrap();
            let label = quoted(&summary.points[0].label);
            let (value, low) = (bits(estimate.value), bits(estimate.low));
            format!("{label} {} {value} {low}", metric.name)
        })
        .collect();
    assert!(!expected.is_empty());
    assert_eq!(rows, expected);

    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(path.join("summary.json")).unwrap()).unwrap();
    assert_eq!(json["format"], 1);
    assert_eq!(json["points"][0]["runs"], 1);
}
