//! `flows.parquet`: one row for each flow.

use bytes::Bytes;
use parquet::data_type::{ByteArray, ByteArrayType};
use tidegate_results::record::{Class, Flow};

use super::cells::Cells;
use super::origin::Origin;
use super::table::{Cell, FLOWS_OF_RUN, Field, Malformed, Reader, Writer, field};

/// The columns of `flows.parquet`.
pub const FLOWS: &[Field<Flow>] = &[
    field!(Flow, "flow number, in order of start", number: u32, Rising),
    field!(Flow, "id from a flow list, otherwise empty", name: String),
    field!(Flow, "traffic source, by its index in the scenario", source: u32),
    field!(Flow, "sending host", src: u32),
    field!(Flow, "receiving host", dst: u32),
    field!(Flow, "class of service, which selects the queue", service: u8),
    field!(Flow, "size in bytes; null for an endless flow", bytes: Option<u64>),
    field!(Flow, "size class by the scenario's convention: `small`, `medium` or `large`", class: Class),
    field!(
        Flow,
        "whether the flow counts: it started after the warm-up and before the end of the measurement",
        counts: bool
    ),
    field!(
        Flow,
        "start time (the application hands the flow over), in picoseconds of simulated time",
        start_ps: u64,
        Rising
    ),
    field!(
        Flow,
        "completion time in picoseconds, by the scenario's convention; null if unfinished",
        fct_ps: Option<u64>
    ),
    field!(
        Flow,
        "completion time in an empty network, in picoseconds; null if undefined",
        ideal_ps: Option<u64>
    ),
    field!(Flow, "retransmitted segments", retransmissions: u32),
    field!(Flow, "retransmission timeouts", timeouts: u32),
    field!(Flow, "packets that arrived marked", marks: u32),
    field!(
        Flow,
        "bytes received in the observed window; null if not observed",
        received: Option<u64>
    ),
    field!(
        Flow,
        "goodput while active in the observed window, in bit/s; null if not observed",
        goodput_bps: Option<u64>
    ),
    field!(
        Flow,
        "smoothed round-trip time of the sender at the end, in picoseconds; null if the transport has none",
        rtt_ps: Option<u64>
    )
    .later(),
    field!(
        Flow,
        "round-trip time variation of the sender at the end, in picoseconds; null if the transport has none",
        rtt_variation_ps: Option<u64>
    )
    .later(),
];

/// The flows as a Parquet file.
pub fn write_flows(flows: &[Flow], origin: &Origin) -> Result<Vec<u8>, Malformed> {
    let mut writer = Writer::new("flow", origin, FLOWS)?;
    writer.rows(flows)?;
    writer.finish()
}

/// The flows of a Parquet file.
pub fn read_flows(file: Bytes) -> Result<Vec<Flow>, Malformed> {
    Reader::new(file)?.rows(FLOWS, &blank(), FLOWS_OF_RUN)
}

/// A flow without values.
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
        all.into_iter().find(|class| class.name().as_bytes() == stored.data())
    }

    fn cells<'a>(cells: impl Iterator<Item = &'a Self>) -> Cells {
        Cells::Text(cells.map(|cell| cell.name()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow written without one column and read back.
    fn read_without(column: &str) -> Result<Vec<Flow>, Malformed> {
        let flow = Flow { number: 7, rtt_ps: Some(3), ..blank() };
        let fields = FLOWS.iter().filter(|field| field.name != column);
        let fields: Vec<Field<Flow>> = fields.copied().collect();
        let origin = Origin::none();
        let mut writer = Writer::new("flow", &origin, &fields)?;
        writer.rows(&[flow])?;
        read_flows(Bytes::from(writer.finish()?))
    }

    #[test]
    fn tables_of_earlier_versions_may_lack_nullable_columns() {
        let flows = read_without("rtt_ps").unwrap();
        assert_eq!((flows[0].number, flows[0].rtt_ps), (7, None));
        for column in ["marks", "fct_ps", "ideal_ps", "received"] {
            let error = read_without(column).unwrap_err().to_string();
            assert_eq!(error, format!("there is no column {column}"));
        }
    }

    /// Two flows, the second with this time, in a table whose column of that name has another type.
    fn read_with(column: &str, parquet: &'static str, time: i64) -> Result<Vec<Flow>, Malformed> {
        let time = time.cast_unsigned();
        let flow = Flow { start_ps: time, fct_ps: Some(time), ..blank() };
        let fields = FLOWS.iter().map(|&field| {
            let parquet = if field.name == column { parquet } else { field.parquet };
            Field { parquet, ..field }
        });
        let fields: Vec<Field<Flow>> = fields.collect();
        let origin = Origin::none();
        let mut writer = Writer::new("flow", &origin, &fields)?;
        writer.rows(&[blank()])?;
        writer.rows(&[flow])?;
        read_flows(Bytes::from(writer.finish()?))
    }

    #[test]
    fn negative_values_name_their_column_and_row() {
        for (column, plain, signed) in [
            ("fct_ps", "optional int64 #;", "optional int64 # (INTEGER(64,true));"),
            ("start_ps", "required int64 #;", "required int64 # (INTEGER(64,true));"),
        ] {
            for parquet in [plain, signed] {
                let error = read_with(column, parquet, -5).unwrap_err().to_string();
                assert_eq!(error, format!("column {column}, row 2: a negative value"));
                assert_eq!(read_with(column, parquet, 5).unwrap()[1].fct_ps, Some(5));
            }
        }
    }

    #[test]
    fn rows_are_counted_before_any_is_read() {
        let table = |rows: usize| {
            let number = [FLOWS[0]];
            let origin = Origin::none();
            let mut writer = Writer::new("flow", &origin, &number).unwrap();
            writer.rows(&vec![blank(); rows]).unwrap();
            (number, Reader::new(Bytes::from(writer.finish().unwrap())).unwrap())
        };
        let (number, reader) = table(3);
        assert_eq!(reader.rows(&number, &blank(), 3).unwrap().len(), 3);
        let error = reader.rows(&number, &blank(), 2).unwrap_err().to_string();
        assert_eq!(error, "it has 3 rows, more than the 2 that a run has at most");
        let (number, reader) = table((1 << 20) + 1);
        let error = reader.rows(&number, &blank(), usize::MAX).unwrap_err().to_string();
        assert!(error.starts_with("it says that it has 1048577 rows, for which its "), "{error}");
    }
}
