//! The commands, one file each.

pub(crate) mod check;
pub(crate) mod engine;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod host;
mod laboratory;
pub(crate) mod list;
pub(crate) mod live;
pub(crate) mod merge;
pub(crate) mod outline;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod serve;
mod share;
pub(crate) mod source;
pub(crate) mod testbed;
pub(crate) mod tune;
mod verify;
