#![doc = include_str!("../README.md")]
//!
//! A scenario is read in steps. Each is a module that depends only on the steps before it: the tree
//! of keys and values with their locations (`text`), kinds and keys of sections (`layout`), typed
//! settings (`settings`), every section (`sections`), the points of the sweep (`sweep`), and setups
//! of the simulator (`setup`). The crate does no disk access: callers supply [`Files`].

mod files;
pub mod fuzz;
mod layout;
mod reference;
mod scenario;
mod schema;
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
pub use reference::reference;
pub use scenario::plan::Experiment;
pub use scenario::write::means_same;
pub use scenario::{Scenario, is_called};
pub use schema::schema;
pub use settings::limits::Limits;
pub use settings_file::SettingsTable;
pub use setup::build::Built;
pub use setup::outline::{Assumptions, Outline, Threshold};
pub use sweep::axis::Coordinate;
pub use switch_file::SwitchFile;
pub use text::problem::{Problem, nearest};
