//! Slow and obvious reference models, to compare the fast ones with.

pub mod codel;
mod gps;
pub mod mmu;

pub use gps::Gps;
