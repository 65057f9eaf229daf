//! Studies: the runs of a scenario in a results folder.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use tidegate_study::{files, sweep};
//!
//! let incast = files::FILES.iter().find(|file| file.id == "incast").unwrap();
//! let overrides = ["sweep={}", "runs=1", "measure.end=20ms"].map(str::to_owned);
//! let scenario = incast.scenario(&overrides).unwrap();
//! let experiment = &scenario.plan().unwrap()[0];
//! let built = experiment.build().unwrap();
//! let never = AtomicBool::new(false);
//! let record = sweep::simulate(experiment, built, String::new(), &never, &mut |_| {}).unwrap();
//! assert!(record.flows.iter().any(|flow| flow.fct_ps.is_some()));
//! ```

pub mod capture;
pub mod files;
pub mod shard;
pub mod sweep;
mod trace;

pub use files::read_scenario;
pub use shard::Shard;
