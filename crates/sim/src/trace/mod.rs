//! What a run records for other tools to read.

pub mod pcapng;
pub mod wire;
