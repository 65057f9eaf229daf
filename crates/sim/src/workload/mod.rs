//! Workloads: which flows a run carries, as data, before it starts.

mod draw;
mod exact;
mod size;
mod text;

pub use size::{Distribution, Mean, Rounding, Sampler, Sizes, Table};
pub use text::{Fault, LineError};
