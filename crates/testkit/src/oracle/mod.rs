//! Slow and obvious reference models for comparison.

pub mod codel;
mod gps;
pub mod mmu;

pub use gps::Gps;
