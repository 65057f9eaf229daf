//! `series.parquet`: one row for each sample, in long form, trace after trace.
//!
//! A note in the file lists the traces and their lengths, so that a reader needs only the values,
//! and an empty trace is not lost.

use bytes::Bytes;
use parquet::data_type::ByteArray;
use serde::{Deserialize, Serialize};
use tidegate_results::record::{Quantity, Series, Trace};

use super::origin::Origin;
use super::table::{Field, GROUP, Malformed, ROWS_OF_RUN, Reader, Writer, field};

/// The columns of `series.parquet`.
pub const SERIES: &[Field<Sample>] = &[
    field!(Sample, "sample time, in picoseconds of simulated time", time_ps: u64, Rising),
    field!(Sample, "owner: `leaf0>host3 q0`, `flow 7` or `network`", of: ByteArray, Words),
    field!(Sample, "quantity, see below", quantity: ByteArray, Words),
    field!(
        Sample,
        "value, in the unit of the quantity; null if missing",
        value: Option<f64>
    ),
];

/// A row of `series.parquet`.
#[derive(Clone, Default)]
pub struct Sample {
    time_ps: u64,
    of: ByteArray,
    quantity: ByteArray,
    value: Option<f64>,
}

/// Metadata that the rows do not show.
#[derive(Serialize, Deserialize)]
struct Note {
    from_ps: u64,
    interval_ps: u64,
    traces: Vec<NotedTrace>,
}

#[derive(Serialize, Deserialize)]
struct NotedTrace {
    of: String,
    quantity: Quantity,
    samples: usize,
}

const NOTE: &str = "tidegate.series";

/// The rows of series, trace after trace.
pub fn samples(series: &Series) -> impl Iterator<Item = Sample> {
    series.traces.iter().flat_map(|trace| {
        let of = ByteArray::from(trace.of.as_str());
        let quantity = ByteArray::from(trace.quantity.name());
        let from = series.from_ps;
        let times =
            std::iter::successors(Some(from), |time| Some(time.saturating_add(series.interval_ps)));
        times.zip(&trace.values).map(move |(time_ps, &value)| Sample {
            time_ps,
            of: of.clone(),
            quantity: quantity.clone(),
            value: (!value.is_nan()).then_some(value),
        })
    })
}

/// The series as a Parquet file.
pub fn write_series(series: &Series, origin: &Origin) -> Result<Vec<u8>, Malformed> {
    let mut writer = Writer::new("sample", origin, SERIES)?;
    let mut rows = Vec::new();
    for row in samples(series) {
        rows.push(row);
        if rows.len() == GROUP {
            writer.rows(&rows)?;
            rows.clear();
        }
    }
    writer.rows(&rows)?;
    let note = Note {
        from_ps: series.from_ps,
        interval_ps: series.interval_ps,
        traces: series.traces.iter().map(NotedTrace::new).collect(),
    };
    let note = serde_json::to_string(&note).expect("a note is plain text and numbers");
    writer.note(NOTE, note);
    writer.finish()
}

/// The series of a Parquet file.
pub fn read_series(file: Bytes) -> Result<Series, Malformed> {
    let reader = Reader::new(file)?;
    let note = reader.note(NOTE).ok_or_else(|| Malformed(format!("there is no note {NOTE}")))?;
    let note: Note =
        serde_json::from_str(note).map_err(|error| Malformed(format!("note {NOTE}: {error}")))?;
    let values = SERIES.iter().filter(|field| field.name == "value");
    let mut rows = Vec::new();
    for value in values {
        rows = reader.rows(std::slice::from_ref(value), &Sample::default(), ROWS_OF_RUN)?;
    }
    let mut rows = rows.into_iter().map(|row| row.value.unwrap_or(f64::NAN));
    let mut traces = Vec::new();
    for NotedTrace { of, quantity, samples } in note.traces {
        let values: Vec<_> = rows.by_ref().take(samples).collect();
        if values.len() < samples {
            return Err(Malformed(format!("samples of {of} are missing")));
        }
        traces.push(Trace { of, quantity, values });
    }
    if rows.next().is_some() {
        return Err(Malformed("samples of no trace".to_owned()));
    }
    Ok(Series { from_ps: note.from_ps, interval_ps: note.interval_ps, traces })
}

impl NotedTrace {
    fn new(trace: &Trace) -> Self {
        Self { of: trace.of.clone(), quantity: trace.quantity, samples: trace.values.len() }
    }
}
