//! Scenarios on real packets.

pub mod live;
