//! The commands, one module each. Commands do not import each other: shared code is beside this
//! module, or in the libraries.

pub(crate) mod attach;
pub(crate) mod check;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod kernel;
pub(crate) mod list;
#[cfg(all(target_os = "linux", feature = "live"))]
pub(crate) mod live;
pub(crate) mod merge;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod serve;
#[cfg(all(target_os = "linux", feature = "live"))]
pub(crate) mod testbed;
pub(crate) mod tune;
