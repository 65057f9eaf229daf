//! Whole connections.

mod exchange;
mod garbage;
mod one_sided;
mod transfer;
