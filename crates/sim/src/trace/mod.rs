//! What a run records for other tools to read.

pub mod flow;
pub mod pcapng;
pub mod wire;
