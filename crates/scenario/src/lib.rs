#![doc = include_str!("../README.md")]
//!
//! A scenario is read in steps, each a module that knows only those before it: the tree of keys and
//! values, each with its location (`text`), typed settings (`settings`), the points of the sweep
//! (`sweep`), and setups of the simulator (`setup`). What a file can say is in `layout`, which
//! takes it from the libraries. There is no disk here: whoever reads a scenario of several files
//! hands in its [`Files`].

mod files;
pub mod fuzz;
mod layout;
mod scenario;
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
