//! Results as files for other programs: Parquet for large tables, CSV and JSON for summaries.
//!
//! Files are built in memory and written by [`crate::folder`]: a run's tables take a few megabytes,
//! and an error while writing is the disk's own.
//!
//! The same tables are available as columns in memory.

mod cells;
pub mod csv;
mod flow;
mod observed;
mod origin;
mod probe;
mod series;
mod table;
mod trace;
mod words;

pub use cells::{Cells, Texts};
pub use flow::{FLOWS, read_flows, write_flows};
pub use observed::{LINKS, QUEUES, QueueRow, queue_rows};
pub use origin::{ORIGIN, Origin};
pub use probe::{PROBES, read_probes, write_probes};
pub use series::{SERIES, Sample, read_series, samples, write_series};
pub use table::{Field, Malformed};
pub use trace::{TRACE, read_trace, write_trace};
