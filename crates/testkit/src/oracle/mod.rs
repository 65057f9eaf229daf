//! Slow and obvious reference models, to compare the fast ones with.

mod gps;
pub mod mmu;

pub use gps::Gps;
