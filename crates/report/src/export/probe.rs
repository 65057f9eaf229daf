//! `probes.parquet`: one row for each answered probe.

use bytes::Bytes;
use tidegate_results::record::Probe;

use super::origin::Origin;
use super::table::{Field, Malformed, ROWS_OF_RUN, Reader, Writer, field};

/// The columns of `probes.parquet`.
pub const PROBES: &[Field<Probe>] = &[
    field!(Probe, "number of the probe series", series: u32),
    field!(Probe, "arrival time of the answer, in picoseconds of simulated time", at_ps: u64, Rising),
    field!(Probe, "round-trip time, in picoseconds", rtt_ps: u64),
];

/// The probes as a Parquet file.
pub fn write_probes(probes: &[Probe], origin: &Origin) -> Result<Vec<u8>, Malformed> {
    let mut writer = Writer::new("probe", origin, PROBES)?;
    writer.rows(probes)?;
    writer.finish()
}

/// The probes of a Parquet file.
pub fn read_probes(file: Bytes) -> Result<Vec<Probe>, Malformed> {
    let blank = Probe { series: 0, at_ps: 0, rtt_ps: 0 };
    Reader::new(file)?.rows(PROBES, &blank, ROWS_OF_RUN)
}
