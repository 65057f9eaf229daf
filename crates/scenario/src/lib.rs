#![doc = include_str!("../README.md")]
//!
//! A scenario is read in steps. Each is a module that depends only on the steps before it: the tree
//! of keys and values with their locations (`text`), typed settings (`settings`), the points of the
//! sweep (`sweep`), and setups of the simulator (`setup`). `layout` declares sections and keys,
//! mostly from the libraries. The crate does no disk access: callers supply [`Files`].

mod files;
pub mod fuzz;
mod layout;
mod scenario;
mod sections;
mod settings;
mod settings_file;
mod setup;
mod sweep;
mod switch_file;
#[cfg(test)]
mod tests;
mod text;

pub use files::Files;
pub use layout::reference::reference;
pub use layout::schema::schema;
pub use scenario::plan::Experiment;
pub use scenario::{Scenario, is_called};
pub use settings::limits::Limits;
pub use settings_file::SettingsTable;
pub use setup::build::Built;
pub use setup::outline::{Assumptions, Outline, Threshold};
pub use sweep::axis::Coordinate;
pub use switch_file::SwitchFile;
pub use text::problem::{Problem, nearest};
