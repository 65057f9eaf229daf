//! `trace.parquet`: one row for each event of a traced flow. The file exists if a flow was traced.

use bytes::Bytes;
use parquet::data_type::{ByteArray, ByteArrayType};
use tidegate_results::record::{TraceEvent, Traced};

use super::cells::Cells;
use super::origin::Origin;
use super::table::{Cell, Field, Malformed, ROWS_OF_RUN, Reader, Word, Writer, field};

/// The columns of `trace.parquet`.
pub const TRACE: &[Field<TraceEvent>] = &[
    field!(TraceEvent, "event time, in picoseconds of simulated time", at_ps: u64, Rising),
    field!(TraceEvent, "flow number", flow: u32, Words),
    field!(
        TraceEvent,
        "`sent`, `resent`, `lost` (at the time of sending), `arrived` at the receiver, or `acked` at the sender",
        event: Traced,
        Words
    ),
    field!(
        TraceEvent,
        "first byte of the segment, or next byte that the ACK expects",
        seq: u64,
        Rising
    ),
    field!(TraceEvent, "bytes of the segment, or receive window of the ACK", len: u32, Rising),
    field!(
        TraceEvent,
        "CWR of a sent segment, CE of an arrived segment, ECE of an ACK",
        flag: bool
    ),
];

/// The events as a Parquet file.
pub fn write_trace(trace: &[TraceEvent], origin: &Origin) -> Result<Vec<u8>, Malformed> {
    let mut writer = Writer::new("event", origin, TRACE)?;
    writer.rows(trace)?;
    writer.finish()
}

/// The events of a Parquet file.
pub fn read_trace(file: Bytes) -> Result<Vec<TraceEvent>, Malformed> {
    let blank = TraceEvent { at_ps: 0, flow: 0, event: Traced::Sent, seq: 0, len: 0, flag: false };
    Reader::new(file)?.rows(TRACE, &blank, ROWS_OF_RUN)
}

impl Cell for Traced {
    type Physical = ByteArrayType;
    const KIND: &'static str = String::KIND;
    const PARQUET: &'static str = String::PARQUET;

    fn put(&self) -> Option<ByteArray> {
        Some(Bytes::from_static(self.name().as_bytes()).into())
    }
    fn take(stored: Option<ByteArray>) -> Option<Self> {
        let stored = stored?;
        let named = |event: &Self| event.name().as_bytes() == stored.data();
        Self::ALL.into_iter().find(named)
    }

    fn cells<'a>(cells: impl Iterator<Item = &'a Self>) -> Cells {
        Cells::Text(cells.map(|cell| cell.name()).collect())
    }
}

impl Word for Traced {
    fn key(&self) -> u64 {
        *self as u64
    }
}
