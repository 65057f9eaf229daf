//! Whole connections.

mod agreement;
mod exchange;
mod garbage;
mod one_sided;
mod transfer;
