#![doc = include_str!("../README.md")]
//!
//! [`algorithm`] names the algorithms and their parameters, [`args`] is the command line. The
//! programs themselves are C, in `bpf/`: the congestion controls as plain functions, and around
//! them the code that connects them to the kernel's sockets. The tests compare the functions step
//! by step with `tidegate-transport`.
//!
//! There is no unsafe code.

#![forbid(unsafe_code)]

pub mod algorithm;
pub mod args;

#[cfg(feature = "bpf")]
pub mod commands;
#[cfg(feature = "bpf")]
pub mod error;
#[cfg(feature = "bpf")]
pub mod event;
#[cfg(feature = "bpf")]
pub mod kernel;
#[cfg(feature = "bpf")]
pub mod machine;
#[cfg(feature = "bpf")]
pub mod namespaces;
#[cfg(feature = "bpf")]
pub mod watch;
