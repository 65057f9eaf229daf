#![doc = include_str!("../README.md")]

pub mod capture;
pub mod files;
pub mod live;
pub mod record;
pub mod reproduce;
pub mod shard;
pub mod sweep;
mod trace;

pub use files::read_scenario;
pub use record::record;
pub use shard::Shard;
