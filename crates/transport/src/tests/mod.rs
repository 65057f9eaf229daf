//! Whole connections.

mod agreement;
mod exchange;
mod garbage;
mod handshake;
mod merged;
mod one_sided;
mod transfer;
