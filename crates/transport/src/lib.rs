//! Transports.
#![no_std]

extern crate alloc;

pub mod pias;
pub mod rate;
