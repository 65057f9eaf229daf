#![doc = include_str!("../README.md")]
//!
//! [`Switch`] is the switch: frames from its [devices](device::Device) are [parsed](frame), learned
//! from ([`fdb`]), classified and offered to a [`dataplane::Port`](tidegate_dataplane::Port) for
//! each egress, which a [`pacer`] drains at the wire's rate. It reads no clock and opens nothing,
//! so that tests run it on [devices in memory](device::memory).
//!
//! [`Live`] runs it in real time on the interfaces of a [`Config`]; [`run()`] does this in one
//! call. All unsafe code is in one private module, `sys`.

pub mod bench;
mod clock;
pub mod config;
pub mod confine;
pub mod counters;
pub mod device;
pub mod endpoint;
mod error;
pub mod fdb;
pub mod frame;
mod lock;
pub mod machine;
pub mod namespace;
pub mod pacer;
pub mod prometheus;
mod reload;
mod run;
pub mod store;
pub mod switch;
mod sys;
pub mod testbed;

pub use config::Config;
pub use counters::Counters;
pub use error::Error;
pub use run::{
    Live, ask_to_end, drop_privileges, lower_priority, raise_priority, reload_on_signal, run,
    stop_on_signals,
};
pub use switch::Switch;
