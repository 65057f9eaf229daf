//! From typed settings to a setup of the simulator, and what it comes to.

pub(crate) mod build;
pub(crate) mod outline;
mod select;
