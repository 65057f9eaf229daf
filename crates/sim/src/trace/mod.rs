//! Records of a run for other tools.

pub mod flow;
pub mod pcapng;
pub mod wire;
