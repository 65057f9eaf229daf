#![doc = include_str!("../README.md")]
//!
//! [`setup`] writes the library's settings as numbers. The programs are C, in `bpf/`: the schemes
//! and the scheduler as plain functions, and around them the code that connects them to the kernel.
//! The tests compare the functions step by step with `tidegate-dataplane`.
//!
//! There is no unsafe code.

#![forbid(unsafe_code)]

pub mod args;

#[cfg(feature = "bpf")]
pub mod attach;
#[cfg(feature = "bpf")]
pub mod commands;
#[cfg(feature = "bpf")]
pub mod config;
#[cfg(feature = "bpf")]
pub mod counters;
#[cfg(feature = "bpf")]
pub mod device;
#[cfg(feature = "bpf")]
pub mod error;
#[cfg(feature = "bpf")]
pub mod kernel;
#[cfg(feature = "bpf")]
pub mod machine;
#[cfg(feature = "bpf")]
pub mod record;
#[cfg(feature = "bpf")]
pub mod setup;
