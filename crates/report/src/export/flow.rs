//! `flows.parquet`: one row for each flow.

use bytes::Bytes;
use parquet::data_type::{ByteArray, ByteArrayType};

use super::cells::Cells;
use super::origin::Origin;
use super::table::{Cell, Field, Malformed, Reader, Writer, field};
use crate::record::{Class, Flow};

/// The columns of `flows.parquet`.
pub const FLOWS: &[Field<Flow>] = &[
    field!(Flow, "its number, in order of start", number: u32, Rising),
    field!(Flow, "the id of a flow list, otherwise empty", name: String),
    field!(Flow, "the source it comes from, by its place in the scenario", source: u32),
    field!(Flow, "the sending host", src: u32),
    field!(Flow, "the receiving host", dst: u32),
    field!(Flow, "the service, which chooses its queue", service: u8),
    field!(Flow, "its size in bytes; null if it never ends", bytes: Option<u64>),
    field!(Flow, "`small`, `medium` or `large`, by the scenario's convention", class: Class),
    field!(
        Flow,
        "whether it counts: it did not start in the warm-up or after the measurement",
        counts: bool
    ),
    field!(
        Flow,
        "when the application handed it over, in picoseconds of simulated time",
        start_ps: u64,
        Rising
    ),
    field!(
        Flow,
        "its completion time in picoseconds, by the scenario's convention; null if it did not finish",
        fct_ps: Option<u64>
    ),
    field!(
        Flow,
        "the completion time in an empty network, in picoseconds; null if that is not defined",
        ideal_ps: Option<u64>
    ),
    field!(Flow, "segments sent again", retransmissions: u32),
    field!(Flow, "times that its retransmission timer ran out", timeouts: u32),
    field!(Flow, "packets of it that arrived marked", marks: u32),
    field!(
        Flow,
        "bytes that arrived in the observed window; null if it was not observed",
        received: Option<u64>
    ),
    field!(
        Flow,
        "goodput while it was active in the observed window, in bit/s; null if not observed",
        goodput_bps: Option<u64>
    ),
    field!(
        Flow,
        "the sender's smoothed round-trip time at the end, in picoseconds; null if it keeps none",
        rtt_ps: Option<u64>
    ),
    field!(
        Flow,
        "the deviation of round-trip times from it, in picoseconds; null if it keeps none",
        rtt_variation_ps: Option<u64>
    ),
];

/// The flows as a Parquet file.
pub fn write_flows(flows: &[Flow], origin: &Origin) -> Result<Vec<u8>, Malformed> {
    let mut writer = Writer::new("flow", origin, FLOWS)?;
    writer.rows(flows)?;
    writer.finish()
}

/// The flows of a Parquet file.
pub fn read_flows(file: Bytes) -> Result<Vec<Flow>, Malformed> {
    Reader::new(file)?.rows(FLOWS, &blank())
}

/// What the cells of a row are put into.
fn blank() -> Flow {
    Flow {
        number: 0,
        name: String::new(),
        source: 0,
        src: 0,
        dst: 0,
        service: 0,
        bytes: None,
        class: Class::Small,
        counts: false,
        start_ps: 0,
        fct_ps: None,
        ideal_ps: None,
        retransmissions: 0,
        timeouts: 0,
        marks: 0,
        received: None,
        goodput_bps: None,
        rtt_ps: None,
        rtt_variation_ps: None,
    }
}

impl Cell for Class {
    type Physical = ByteArrayType;
    const KIND: &'static str = String::KIND;
    const PARQUET: &'static str = String::PARQUET;

    fn put(&self) -> Option<ByteArray> {
        Some(self.name().into())
    }
    fn take(stored: Option<ByteArray>) -> Option<Self> {
        let stored = stored?;
        let all = [Self::Small, Self::Medium, Self::Large];
        all.into_iter()
            .find(|class| class.name().as_bytes() == stored.data())
    }

    fn cells<'a>(cells: impl Iterator<Item = &'a Self>) -> Cells {
        Cells::Text(cells.map(|cell| cell.name()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow, written without a column and read again.
    fn read_without(column: &str) -> Result<Vec<Flow>, Malformed> {
        let flow = Flow {
            number: 7,
            rtt_ps: Some(3),
            ..blank()
        };
        let fields = FLOWS.iter().filter(|field| field.name != column);
        let fields: Vec<Field<Flow>> = fields.copied().collect();
        let origin = Origin::none();
        let mut writer = Writer::new("flow", &origin, &fields)?;
        writer.rows(&[flow])?;
        read_flows(Bytes::from(writer.finish()?))
    }

    #[test]
    fn tables_of_earlier_versions_may_lack_what_can_be_null() {
        let flows = read_without("rtt_ps").unwrap();
        assert_eq!((flows[0].number, flows[0].rtt_ps), (7, None));
        let error = read_without("marks").unwrap_err();
        assert!(
            error.to_string().contains("there is no column marks"),
            "{error}"
        );
    }
}
