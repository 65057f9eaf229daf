//! Sweeps: axes, ranges, and overrides of swept keys.

pub(crate) mod axis;
mod range;
pub(crate) mod settle;
mod undo;
