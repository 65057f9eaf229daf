//! Sweeps: what is varied, and what overrides leave of it.

pub(crate) mod axis;
mod range;
pub(crate) mod settle;
mod undo;
