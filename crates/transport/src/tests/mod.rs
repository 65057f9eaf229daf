//! Whole connections.

mod transfer;
