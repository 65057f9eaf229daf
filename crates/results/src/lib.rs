#![doc = include_str!("../README.md")]
//!
//! A [`Record`] holds the results of one run. [`outcome::record`] builds it from a simulation's
//! outcome. A [`Summary`] compares many records.

mod brief;
pub mod format;
pub mod outcome;
pub mod record;
pub mod statistics;
pub mod summary;

pub use brief::{Brief, PackedRecord, RecordedFlow, View};
pub use record::Record;
pub use summary::Summary;
