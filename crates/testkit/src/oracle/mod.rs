//! Slow and obvious reference models, to compare the fast ones with.

pub mod mmu;
