//! Results as files that other programs read: Parquet for what has many rows, CSV and JSON for
//! summaries.
//!
//! Files are made in memory and written by [`crate::folder`]: a run's tables take a few megabytes, and
//! what goes wrong while writing is then the disk's own message.

pub mod csv;
mod flow;
mod origin;
mod probe;
mod series;
mod table;
mod trace;
mod words;

pub use flow::{FLOWS, read_flows, write_flows};
pub use origin::{ORIGIN, Origin};
pub use probe::{PROBES, read_probes, write_probes};
pub use series::{SERIES, read_series, write_series};
pub use table::{Field, Malformed};
pub use trace::{TRACE, read_trace, write_trace};
