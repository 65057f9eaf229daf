//! From typed settings to a setup of the simulator and its outline.

pub(crate) mod build;
pub(crate) mod outline;
mod select;
