//! DuckDB reads the files: an independent check of every value and type.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tidegate_report::Folder;
use tidegate_results::record::Record;

use crate::sample::{awkward, empty, manifest, scratch};

/// Prints the column types of a file, then its rows, one cell per line. Floating-point numbers are
/// printed as bits.
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

/// A Python with the package duckdb: installed by `./test`, or by the user.
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
    let output = Command::new(python()).args(["-c", script]).arg(file).output().unwrap();
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
    if value.is_nan() { "null".to_owned() } else { format!("{:016x}", value.to_bits()) }
}

/// The columns that identify the run of a row, and their cells in each row.
const ORIGIN: [&str; 6] = [
    "point UINTEGER",
    "label VARCHAR",
    "scheme VARCHAR",
    "seed UBIGINT",
    "switch.marking.kind VARCHAR",
    "traffic.0.load VARCHAR",
];

fn origin(record: &Record) -> Vec<String> {
    let run = &record.run;
    let mut cells = vec!["0".to_owned(), quoted(&run.label), quoted(&run.scheme), run.seed.clone()];
    cells.extend(run.point.iter().map(|setting| quoted(&setting.value)));
    cells
}

/// The columns of a table and its rows, as [`READER`] prints them.
fn table<const N: usize>(
    record: &Record,
    columns: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> Vec<String> {
    let columns = ORIGIN.into_iter().chain(columns).map(str::to_owned);
    let rows = rows.flat_map(|row| origin(record).into_iter().chain(row));
    columns.chain(rows).collect()
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
        "rtt_ps UBIGINT",
        "rtt_variation_ps UBIGINT",
    ];
    let rows = record.flows.iter().map(|flow| {
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
            maybe(flow.rtt_ps),
            maybe(flow.rtt_variation_ps),
        ]
    });
    table(record, columns, rows)
}

fn probes(record: &Record) -> Vec<String> {
    let columns = ["series UINTEGER", "at_ps UBIGINT", "rtt_ps UBIGINT"];
    let rows = record
        .probes
        .iter()
        .map(|probe| [probe.series.to_string(), probe.at_ps.to_string(), probe.rtt_ps.to_string()]);
    table(record, columns, rows)
}

fn series(record: &Record) -> Vec<String> {
    let series = &record.series;
    let columns = ["time_ps UBIGINT", "of VARCHAR", "quantity VARCHAR", "value DOUBLE"];
    let rows = series.traces.iter().flat_map(|trace| {
        trace.values.iter().zip(0..).map(|(value, index): (&f64, u64)| {
            [
                (series.from_ps + index * series.interval_ps).to_string(),
                quoted(&trace.of),
                serde_json::to_string(&trace.quantity).unwrap(),
                bits(*value),
            ]
        })
    });
    table(record, columns, rows)
}

#[test]
fn another_program_reads_the_same_values() {
    let path = scratch("duckdb");
    let folder = Folder::create(&path, &manifest(&["a", "b"])).unwrap();
    let mut first = awkward("a");
    // Enough rows for several pages, overflowing dictionaries and more than one row group.
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
    let summary = tidegate_results::Summary::new(&[record], None);
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

/// The reference's Python code up to the end of its query, and a line that prints the result.
fn documented_query(folder: &str) -> String {
    let reference = include_str!("../../../../docs/reference/results.md");
    let begin = reference.find("```python\n").unwrap() + "```python\n".len();
    let end = begin + reference[begin..].find("```").unwrap();
    let script =
        reference[begin..end].replace("tidegate-results/main/runs", &format!("{folder}/runs"));
    let script = script.replace("duckdb.sql(", "found = duckdb.sql(");
    assert!(script.contains(folder), "{script}");
    format!("{script}\nfor row in found.fetchall(): print(*row, sep='|')\n")
}

#[test]
fn the_documented_query_does_not_mix_the_points_of_a_sweep() {
    let path = scratch("duckdb-query");
    let mut planned = manifest(&["tcn-1", "tcn-2", "red-1", "red-2"]);
    let place = |(place, run): (usize, &mut tidegate_report::folder::Planned)| {
        let scheme = if place < 2 { "tcn" } else { "queue-red" };
        run.label = format!("{scheme}, load 0.6");
        run.point[0].value = scheme.to_owned();
        run.seed = (place % 2 + 1).to_string();
    };
    planned.runs.iter_mut().enumerate().for_each(place);
    let folder = Folder::create(&path, &planned).unwrap();
    // Completion times in microseconds; the two schemes differ widely.
    for (place, run) in (0_u64..).zip(&planned.runs) {
        let mut record = empty(&run.id);
        record.run.label.clone_from(&run.label);
        record.run.point.clone_from(&run.point);
        record.run.scheme.clone_from(&run.point[0].value);
        record.run.seed.clone_from(&run.seed);
        let pattern = awkward("x").flows[0].clone();
        record.flows = (1..=100)
            .map(|us| tidegate_results::record::Flow {
                fct_ps: Some((us + if place < 2 { 0 } else { 1_000 }) * 1_000_000),
                ..pattern.clone()
            })
            .collect();
        folder.write(&record).unwrap();
    }
    let rows = run(&documented_query(path.to_str().unwrap()), Path::new("no argument"));
    assert_eq!(
        rows,
        ["tcn, load 0.6|small|2|200|50.5|99.0", "queue-red, load 0.6|small|2|200|1050.5|1099.0",]
    );
}
