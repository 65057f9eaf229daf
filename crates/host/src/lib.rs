#![doc = include_str!("../README.md")]
//!
//! [`algorithm`] names them and their parameters, [`args`] is the command line. The programs
//! themselves are C, in `bpf/`: the rules as plain functions, compared step by step with those of
//! `tidegate-transport` in the tests, and around them what ties them to the kernel's sockets.
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
