#![doc = include_str!("../README.md")]

pub mod answer;
mod change;
pub mod current;
pub mod dialect;
pub mod evidence;
pub mod formula;
pub mod judge;
pub mod marking;
pub mod measured;
pub mod network;
mod os;
pub mod plan;
pub mod printed;
mod row;
pub mod screen;
mod threshold;
mod transport;
pub mod tune;

pub use network::Network;
pub use plan::Plan;
