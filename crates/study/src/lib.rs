//! Studies: the runs of a scenario and their results folder.
//!
//! A [`Study`] plans the runs, and may be reduced to a shard. It locks and opens its results
//! folder. The [`OpenStudy`] then runs the missing runs and compares the results.
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
//! let record = sweep::simulate(experiment, built, String::new(), &never, &mut |_| {});
//! let record = record.unwrap().expect("nothing interrupts it");
//! assert!(record.flows.iter().any(|flow| flow.fct_ps.is_some()));
//! ```

pub mod capture;
pub mod compare;
pub mod cost;
pub mod engine;
mod error;
pub mod files;
pub mod lock;
pub mod log;
mod outcome;
pub mod outline;
pub mod process;
pub mod shard;
pub mod status;
pub mod study;
pub mod sweep;
pub mod terminal;
pub mod text;
mod trace;

pub use compare::Comparison;
pub use error::Error;
pub use files::read_scenario;
pub use shard::Shard;
pub use study::{OpenStudy, Study};
