#![doc = include_str!("../README.md")]

pub mod answer;
mod change;
pub mod current;
pub mod dialect;
pub mod evidence;
pub mod formula;
pub mod judge;
pub mod marking;
pub mod network;
pub mod plan;
pub mod printed;
pub mod screen;
pub mod tune;

pub use network::Network;
pub use plan::Plan;
