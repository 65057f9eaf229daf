//! A user-space Ethernet switch on Linux, around the same ports that the simulator runs.

pub mod config;
pub mod counters;
pub mod device;
pub mod fdb;
pub mod frame;
pub mod pacer;
pub mod store;
mod switch;

pub use config::Config;
pub use counters::Counters;
pub use switch::Switch;
