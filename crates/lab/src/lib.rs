//! The laboratory: scenario files, sweeps over them, and what becomes of their runs.

pub mod scenario;

pub use scenario::Scenario;
