#![doc = include_str!("../README.md")]

mod by_key;
mod calendar;
pub mod capture;
mod connection;
mod fabric;
pub mod flow;
pub mod flow_control;
mod hosts;
pub mod ideal;
pub mod network;
pub mod observe;
pub mod offered;
mod packet;
mod partition;
pub mod pause;
pub mod result;
pub mod routes;
pub mod run;
pub mod setup;
mod slab;
pub mod topology;
pub mod trace;
pub mod workload;
mod world;

pub use fabric::{EngineCounters, LinkCount};
pub use flow::Flow;
pub use hosts::Tally;
pub use network::{Capacity, HostId, Link, LinkId, Network, NodeId};
pub use result::FlowResult;
pub use routes::{Ecmp, Routes};
pub use run::{End, Outcome};
pub use setup::Setup;
